/* `mesita network join|leave DIRECTORY`; see network.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/containers/network/network_internal.h"
#include "base/log/log.h"

#define NETWORKS_MAX 32 /* of a container */

struct membership {
	const char *directory;
	struct arena arena;
	struct json *plan;
	const struct json *networks;
	const struct json *results[NETWORKS_MAX];
};

static char *in_directory(struct membership *m, const char *name)
{
	return arena_printf(&m->arena, "%s/%s", m->directory, name);
}

/* Nobody joins while somebody leaves. The descriptor is kept to the end. */
static int take_lock(const struct membership *m, struct err *err)
{
	int fd = open(m->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX))
		return err_set(err, ERR_IO, "Cannot lock '%s': %s", m->directory, strerror(errno));
	return 0;
}

static int read_plan(struct membership *m, struct err *err)
{
	int rv = network_json_read(in_directory(m, "plan"), &m->arena, &m->plan, err);

	m->networks = rv == 0 ? json_get(m->plan, "networks") : NULL;
	if (rv == 0 && (!m->networks || m->networks->type != JSON_ARRAY))
		rv = err_set(err, ERR_INVALID, "The plan says no networks");
	if (rv == 0 && m->networks->count > NETWORKS_MAX)
		rv = err_set(err, ERR_INVALID, "A container joins %d networks at most",
			     NETWORKS_MAX);
	return rv;
}

/* ---- the namespace ----------------------------------------------------------------- */

static int raise_loopback(struct err *err)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int failed = fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request);

	if (failed)
		err_set(err, ERR_IO, "Cannot raise the loopback interface: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return failed ? ERR_IO : 0;
}

/* We are in it for a moment only: plugins work outside. */
static int make_namespace(struct membership *m, struct err *err)
{
	char *path = in_directory(m, "ns");
	int ours = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int file = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0444), rv = 0;

	if (ours < 0 || file < 0 || unshare(CLONE_NEWNET) ||
	    mount("/proc/self/ns/net", path, NULL, MS_BIND, NULL))
		rv = err_set(err, ERR_IO, "Cannot make a network namespace at '%s': %s", path,
			     strerror(errno));
	else
		rv = raise_loopback(err);
	if (rv == 0 && setns(ours, CLONE_NEWNET))
		rv = err_set(err, ERR_IO, "Cannot leave a network namespace: %s", strerror(errno));
	if (file >= 0)
		close(file);
	if (ours >= 0)
		close(ours);
	return rv;
}

/* ---- joining ------------------------------------------------------------------------- */

static struct network_call new_call(struct membership *m, const char *command,
				    const struct json *network)
{
	struct network_call call = {
		.command = command,
		.container = json_get_string(m->plan, "container"),
		.namespace = in_directory(m, "ns"),
		.interface = json_get_string(network, "interface"),
		.plugins = json_get_string(m->plan, "plugins"),
		.network = network,
	};

	return call;
}

static size_t plugin_count(const struct json *network)
{
	const struct json *plugins = json_get(network, "plugins");

	return plugins && plugins->type == JSON_ARRAY ? plugins->count : 0;
}

/* What a network said last, which its plugins are told when it is left. */
static char *said_path(struct membership *m, size_t number)
{
	return arena_printf(&m->arena, "%s/joined-%zu", m->directory, number);
}

static int join_network(struct membership *m, size_t number, struct err *err)
{
	const struct json *network = &m->networks->items[number];
	struct network_call call = new_call(m, "ADD", network);
	struct buf text = BUF_INIT;
	struct json_writer w;
	int rv = 0;

	for (; call.plugin < plugin_count(network) && rv == 0; call.plugin++) {
		struct json *result;

		rv = network_plugin_run(&call, &m->arena, &result, err);
		if (rv == 0 && result)
			call.before = result;
	}
	if (rv == 0 && !call.before)
		rv = err_set(err, ERR_INVALID, "The CNI network '%s' tells no result",
			     json_get_string(json_get(network, "info"), "name"));
	if (rv < 0)
		return rv;
	m->results[number] = call.before;
	jw_init(&w, &text);
	jw_value(&w, call.before);
	rv = network_file_write(said_path(m, number), (struct slice){text.data, text.len}, err);
	buf_free(&text);
	return rv;
}

static void add_address(void *context, const char *address, bool ipv6)
{
	struct json_writer *w = context;

	jw_begin_object(w);
	jw_kv_string(w, "protocol", ipv6 ? "IPv6" : "IPv4");
	jw_key(w, "ip_address");
	jw_string_n(w, address, strcspn(address, "/"));
	jw_end_object(w);
}

/* A ContainerStatus: what was asked for, with the addresses that were given. */
static int write_result(struct membership *m, struct err *err)
{
	struct buf text = BUF_INIT;
	struct json_writer w;
	int rv;

	jw_init(&w, &text);
	jw_begin_object(&w);
	jw_key(&w, "network_infos");
	jw_begin_array(&w);
	for (size_t i = 0; i < m->networks->count; i++) {
		const struct json *info = json_get(&m->networks->items[i], "info");

		jw_begin_object(&w);
		for (size_t k = 0; info && k < info->count; k++) {
			if (slice_eq(info->keys[k], "ip_addresses"))
				continue;
			jw_key(&w, info->keys[k].data);
			jw_value(&w, &info->items[k]);
		}
		jw_key(&w, "ip_addresses");
		jw_begin_array(&w);
		network_each_address(m->results[i], add_address, &w);
		jw_end_array(&w);
		jw_end_object(&w);
	}
	jw_end_array(&w);
	jw_end_object(&w);
	rv = network_file_write(in_directory(m, "result"), (struct slice){text.data, text.len},
				err);
	buf_free(&text);
	return rv;
}

static int join(struct membership *m, struct err *err)
{
	int rv = make_namespace(m, err);

	for (size_t i = 0; i < m->networks->count && rv == 0; i++)
		rv = join_network(m, i, err);
	if (rv == 0)
		rv = network_files_write(m->directory, json_get_string(m->plan, "hostname"),
					 m->results, m->networks->count, err);
	return rv < 0 ? rv : write_result(m, err);
}

/* ---- leaving ----------------------------------------------------------------------- */

/* The last first; what fails is told, and the rest is done. */
static void leave_network(struct membership *m, size_t number)
{
	const struct json *network = &m->networks->items[number];
	struct network_call call = new_call(m, "DEL", network);
	struct err err;
	struct json *said, *ignored;

	if (network_json_read(said_path(m, number), &m->arena, &said, &err) == 0)
		call.before = said;
	for (call.plugin = plugin_count(network); call.plugin-- > 0;)
		if (network_plugin_run(&call, &m->arena, &ignored, &err) < 0)
			log_warning("%s", err.text);
}

static void remove_files(struct membership *m)
{
	static const char *const names[] = {"result", "failure",     "hosts", "hostname",
					    "plan",   "resolv.conf", "ns"};

	umount2(in_directory(m, "ns"), MNT_DETACH);
	for (size_t i = 0; i < m->networks->count; i++)
		unlink(said_path(m, i));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(in_directory(m, names[i]));
	rmdir(m->directory);
}

static int leave(struct membership *m, struct err *err)
{
	(void)err;
	for (size_t i = m->networks->count; i-- > 0;)
		leave_network(m, i);
	remove_files(m);
	return 0;
}

/* ---- the process ---------------------------------------------------------------------- */

static void tell(struct membership *m, const struct err *err)
{
	struct err ignored;

	log_error("%s", err->text);
	network_file_write(in_directory(m, "failure"), slice_of(err->text), &ignored);
}

int network_main(int argc, char **argv)
{
	struct membership m = {0};
	struct err err = {""};
	sigset_t child;
	bool joins;
	int rv;

	if (argc != 2 || (strcmp(argv[0], "join") && strcmp(argv[0], "leave"))) {
		fputs("usage: mesita network join|leave DIRECTORY\n", stderr);
		return 1;
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	joins = !strcmp(argv[0], "join");
	m.directory = argv[1];
	arena_init(&m.arena);
	rv = take_lock(&m, &err);
	if (rv == 0)
		rv = read_plan(&m, &err);
	/* One that was killed before it had a plan joined nothing. */
	if (rv < 0 && !joins)
		rmdir(m.directory);
	if (rv == 0)
		rv = joins ? join(&m, &err) : leave(&m, &err);
	if (rv < 0)
		tell(&m, &err);
	arena_free(&m.arena);
	return rv < 0 ? 1 : 0;
}
