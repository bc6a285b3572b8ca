/* The master's shell: one libuv loop around the core.
 *
 * Happy path: bytes -> net/ makes a whole request -> a handler decodes it and calls
 * shell_step() -> the core's actions are carried out in their order: events to
 * streams, messages to agents, batches to the store. Everything written in one loop
 * turn leaves in one flush (net/ gathers writes).
 *
 * Failure: a store that cannot write ends the process (what was not written was not
 * acknowledged); a stream or peer that breaks is an event for the core.
 */
#include "master/server.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/flags/daemon_flags.h"
#include "base/log/log.h"
#include "base/open_files.h"
#include "base/time/clock.h"
#include "master/shell.h"
#include "net/fanout.h"

static void terminate_cb(uv_signal_t *handle, int signal)
{
	log_info("ending on signal %d (%s)", signal, strsignal(signal));
	shell_stop(handle->data, 0);
}

static void flush_log(uv_prepare_t *turn)
{
	(void)turn;
	log_flush();
}

static void init_loop(struct shell *shell)
{
	static const int signals[2] = {SIGTERM, SIGINT};

	uv_loop_init(&shell->loop);
	list_init(&shell->watchers);
	list_init(&shell->audiences);
	list_init(&shell->passings);
	shell->fanout = fanout_create(&shell->loop);
	uv_timer_init(&shell->loop, &shell->watch_beat);
	shell->watch_beat.data = shell;
	uv_timer_init(&shell->loop, &shell->tick);
	shell->tick.data = shell;
	shell->offload = offload_create(&shell->loop);
	verbosity_init(&shell->verbosity, &shell->loop);
	hangup_init(&shell->hangup, &shell->loop);
	/* After what a turn does, before it sleeps. */
	uv_prepare_init(&shell->loop, &shell->turn);
	uv_prepare_start(&shell->turn, flush_log);
	uv_unref((uv_handle_t *)&shell->turn);
	log_gather(true);
	uv_async_init(&shell->loop, &shell->stored, shell_store_told);
	shell->stored.data = shell;
	for (int i = 0; i < 2; i++) {
		uv_signal_init(&shell->loop, &shell->terminate[i]);
		shell->terminate[i].data = shell;
		uv_signal_start(&shell->terminate[i], terminate_cb, signals[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	/* A write beyond `ulimit -f` fails, and says so. */
	signal(SIGXFSZ, SIG_IGN);
	open_files_raise(&(struct rlimit){0});
}

/* The address that agents and schedulers are told, for a master that listens on
 * all interfaces: that of the host's name, or loopback. */
static char *advertised_ip(const struct master_flags *flags)
{
	char name[256], text[64] = "127.0.0.1";
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;

	if (flags->advertise_ip)
		return xstrdup(flags->advertise_ip);
	if (flags->ip && strcmp(flags->ip, "0.0.0.0"))
		return xstrdup(flags->ip);
	if (!gethostname(name, sizeof(name)) && !getaddrinfo(name, NULL, &hints, &found)) {
		getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof(text), NULL, 0,
			    NI_NUMERICHOST);
		freeaddrinfo(found);
	}
	return xstrdup(text);
}

static char *advertised_hostname(const struct master_flags *flags, const char *ip)
{
	char name[NI_MAXHOST];
	struct addrinfo hints = {.ai_family = AF_INET, .ai_flags = AI_NUMERICHOST}, *found;
	int rv;

	if (flags->hostname)
		return xstrdup(flags->hostname);
	if (!flags->hostname_lookup || getaddrinfo(ip, NULL, &hints, &found))
		return xstrdup(ip);
	rv = getnameinfo(found->ai_addr, found->ai_addrlen, name, sizeof(name), NULL, 0, 0);
	freeaddrinfo(found);
	return xstrdup(rv ? ip : name);
}

/* --domain, into memory that lives as long as the shell. */
static int parse_domain(struct shell *shell, Mesos__DomainInfo **out, struct err *err)
{
	const char *text = shell->flags->domain;
	struct json *json;

	*out = NULL;
	if (!text)
		return 0;
	if (json_parse(&shell->arena, text, strlen(text), &json, err) < 0 ||
	    !(*out = json_to_proto(&mesos__domain_info__descriptor, json, SPELL_V1, &shell->arena,
				   err)))
		return err_wrap(err, ERR_INVALID, "Invalid value for --domain");
	if (!(*out)->fault_domain)
		return err_set(err, ERR_INVALID, "`domain` must define `fault_domain`");
	return 0;
}

/* Nothing waits below some 4,000 changes a second: 1,000 in a quarter of a second cost 5 ms, far
 * less than what anybody waits for. At full load, some 200,000, many tasks come and go while
 * their records wait. */
#define WARM_COST (5 * MICROSECOND)
#define WARM_DELAY (5 * MILLISECOND)
#define WARM_TASK_DELAY (250 * MILLISECOND)

static int create_core(struct shell *shell, const char *ip, int port, struct err *err)
{
	const struct master_flags *f = shell->flags;
	uint8_t uuid[UUID_BYTES];
	char id[UUID_TEXT];
	struct master_options options = {
		.id = id,
		.ip = ip,
		.port = port,
		.hostname = shell->hostname,
		.version = MESITA_VERSION,
		.rng = &shell->rng,
		.agent_ping_timeout = f->agent_ping_timeout,
		.max_agent_ping_timeouts = (int)f->max_agent_ping_timeouts,
		.agent_reregister_timeout = f->agent_reregister_timeout,
		.offer_timeout = f->offer_timeout,
		.allocation_interval = f->allocation_interval,
		.on_cycle = shell_time_cycle,
		.context = shell,
		.agent_recovery_factor = f->allocator_agent_recovery_factor,
		.allocation_recovery_timeout = f->allocator_recovery_timeout,
		.min_allocatable_resources = f->min_allocatable_resources,
		.fair_sharing_excluded = f->fair_sharing_excluded_resource_names,
		.roles = f->roles,
		.weights = f->weights,
		.random_sorter = !strcmp(f->role_sorter, "random"),
		.filter_gpu_resources = f->filter_gpu_resources,
		.root_submissions = f->root_submissions,
		.require_agent_domain = f->require_agent_domain,
		.acls = f->allowed,
		.credentials = f->known,
		.authenticate_agents = f->authenticate_agents,
		.authenticate_frameworks = f->authenticate_frameworks,
		.authentication_timeout = f->authentication_v0_timeout,
		.max_completed_frameworks = (int)f->max_completed_frameworks,
		.max_completed_tasks_per_framework = (int)f->max_completed_tasks_per_framework,
		.max_unreachable_tasks_per_framework = (int)f->max_unreachable_tasks_per_framework,
		.agent_removals_per_second = f->agent_removals_per_second,
		/* "90%", as its check has seen. */
		.recovery_removal_limit = strtod(f->recovery_agent_removal_limit, NULL),
		.warm_delay = WARM_DELAY,
		.warm_task_delay = WARM_TASK_DELAY,
		.warm_cost = WARM_COST,
		.registry_gc_interval = f->registry_gc_interval,
		.registry_max_agent_age = f->registry_max_agent_age,
		.registry_max_agent_count = (int)f->registry_max_agent_count,
	};
	int rv = parse_domain(shell, &options.domain, err);

	if (rv < 0)
		return rv;
	uuid_make(&shell->rng, uuid);
	uuid_format(uuid, id);
	return master_create(&options, &shell->steps.core, err);
}

static void exited_cb(void *context, const char *pid)
{
	struct shell *shell = context;
	struct master_event event = {.type = MASTER_EXITED, .exited = {.pid = pid}};

	if (!shell->steps.over)
		shell_step(shell, &event);
}

/* Who is asked who it is. */
static void guard_realms(struct shell *shell)
{
	const struct master_flags *f = shell->flags;
	const struct {
		enum realm realm;
		const char *name;
		bool asks;
	} realms[] = {
		{REALM_READONLY, MASTER_REALM_READONLY, f->authenticate_http_readonly},
		{REALM_READWRITE, MASTER_REALM_READWRITE, f->authenticate_http_readwrite},
		{REALM_FRAMEWORKS, MASTER_REALM_FRAMEWORKS, f->authenticate_http_frameworks},
	};

	for (size_t i = 0; i < sizeof(realms) / sizeof(*realms); i++)
		shell->router.guards[realms[i].realm] = (struct realm_guard){
			.name = realms[i].name, .credentials = realms[i].asks ? f->known : NULL};
}

static int listen_http(struct shell *shell, struct err *err)
{
	struct http_server_options options = {
		.loop = &shell->loop,
		.ip = shell->flags->ip ? shell->flags->ip : "0.0.0.0",
		.port = (int)shell->flags->port,
		.body_max = REQUEST_BODY_MAX,
		.later = true,
		.connections_max = open_files_connections(),
		.handler = shell_take_request,
		.context = shell,
		.tls = shell->hangup.tls,
	};

	return http_server_create(&options, &shell->http, err);
}

/* Written whole or not at all: a reader never sees half a number. */
static int write_port_file(const struct shell *shell, struct err *err)
{
	const char *path = shell->flags->port_file;
	char *temporary;
	FILE *file;
	int rv = 0;

	if (!path)
		return 0;
	temporary = xprintf("%s.new", path);
	file = fopen(temporary, "w");
	if (file)
		fprintf(file, "%d\n", http_server_port(shell->http));
	/* What could not be written is told by fclose(). */
	if (!file || fclose(file) || rename(temporary, path))
		rv = err_set(err, ERR_IO, "cannot write --port_file=%s: %s", path, strerror(errno));
	free(temporary);
	return rv;
}

/* Clients may come, and are told where we are. */
static int serve(struct shell *shell, struct err *err)
{
	int rv = http_server_accept(shell->http, err);

	log_info("master %s started on %s", MESITA_VERSION, shell->address);
	return rv < 0 ? rv : write_port_file(shell, err);
}

/* We lead, and the core has what the stores held. Candidates are served all the time. */
static void led(struct shell *shell, const struct err *failure)
{
	struct err err = failure ? *failure : (struct err){{0}};

	if (!failure) {
		master_steps_begin(&shell->steps);
		whitelist_start(shell);
		if (shell->candidacy || serve(shell, &err) == 0)
			return;
	}
	log_error("the master cannot start: %s", err.text);
	shell_stop(shell, 1);
}

static int start(struct shell *shell, struct err *err)
{
	char *ip;
	int port, rv;

	init_loop(shell);
	rv = hangup_secure(&shell->hangup, err);
	if (rv == 0)
		rv = listen_http(shell, err);
	if (rv < 0)
		return rv;
	ip = advertised_ip(shell->flags);
	port = shell->flags->advertise_port ? (int)shell->flags->advertise_port
					    : http_server_port(shell->http);
	shell->address = xprintf("%s:%d", ip, port);
	shell->pid = xprintf("master@%s", shell->address);
	shell->hostname = advertised_hostname(shell->flags, ip);
	shell->messenger = messenger_create(&shell->loop, shell->hangup.tls, exited_cb, shell);
	rv = rate_limits_create(&shell->loop, shell->flags->rates, &shell_rate_handlers, shell,
				&shell->rate_limits, err);
	if (rv == 0)
		rv = create_core(shell, ip, port, err);
	free(ip);
	if (rv < 0)
		return rv;
	shell->router = (struct router){.delegate = "master",
					.disabled = shell->flags->disabled,
					.processes = shell_processes,
					.routes = shell_routes,
					.admits = leadership_admits,
					.context = shell};
	guard_realms(shell);
	if (shell->flags->zk)
		rv = serve(shell, err);
	if (rv == 0)
		leadership_seek(shell, led);
	return rv;
}

static void close_handle_cb(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void refuse_waiting(struct shell *shell)
{
	struct shell_waiting *waiting, *later;

	HASH_ITER (hh, shell->waiting, waiting, later) {
		HASH_DEL(shell->waiting, waiting);
		http_reply_text(waiting->request, 503,
				"The master is ending; what was asked may be done or not");
		free(waiting);
	}
}

static void stop(struct shell *shell)
{
	shell->steps.over = true;
	/* Nothing is done any more: the next one may lead while this one tidies up. */
	leadership_leave(shell);
	refuse_waiting(shell);
	page_stop(shell);
	if (shell->messenger)
		messenger_close(shell->messenger);
	offload_close(shell->offload);
	if (shell->http)
		http_server_close(shell->http, NULL, NULL);
	whitelist_stop(shell);
	uv_close((uv_handle_t *)&shell->tick, NULL);
	verbosity_close(&shell->verbosity);
	for (int i = 0; i < 2; i++)
		uv_close((uv_handle_t *)&shell->terminate[i], NULL);
	hangup_close(&shell->hangup);
	rate_limits_close(shell->rate_limits);
	/* Threads of the stores may wake us until they are closed. */
	shell_store_close(shell);
	uv_close((uv_handle_t *)&shell->stored, NULL);
	uv_run(&shell->loop, UV_RUN_NOWAIT);
	event_streams_free(&shell->streams);
	if (shell->followers)
		followers_close(shell->followers);
	uv_run(&shell->loop, UV_RUN_DEFAULT);
	/* Those who watched are gone. */
	fanout_close(shell->fanout);
	uv_walk(&shell->loop, close_handle_cb, NULL);
	uv_run(&shell->loop, UV_RUN_DEFAULT);
	uv_loop_close(&shell->loop);
	hangup_free(&shell->hangup);
	whitelist_free(shell);
	if (shell->steps.core)
		master_destroy(shell->steps.core);
	master_steps_free(&shell->steps);
	buf_free(&shell->packed);
	arena_free(&shell->arena);
	free((char *)shell->address);
	free((char *)shell->pid);
	free((char *)shell->hostname);
	free(shell->public_address);
}

/* Where the log is, it is served from. */
static int start_log(struct shell *shell, struct err *err)
{
	const struct master_flags *f = shell->flags;
	struct daemon_log log = {
		.logging_level = f->logging_level,
		.log_format = f->log_format,
		.log_dir = f->log_dir,
		.file = "mesos-master.INFO",
		.external_log_file = f->external_log_file,
		.quiet = f->quiet,
	};
	char *path = NULL;
	int rv = daemon_log_start(&log, &shell->verbosity.start, &path, err);

	shell->log_file = path ? arena_strdup(&shell->arena, path) : NULL;
	free(path);
	return rv;
}

int master_main(int argc, char **argv)
{
	struct master_flags flags;
	struct shell shell = {
		.flags = &flags,
		.start_time = clock_now(),
		.began = (int64_t)uv_hrtime(),
		.store_timing.window = DAY,
		.allocation_timing.window = HOUR,
		.latency_timing.window = HOUR,
	};
	struct err err = {{0}};
	int rv = master_flags_parse(&flags, argc, argv, &err);

	if (rv > 0) {
		master_flags_free(&flags);
		return 0;
	}
	if (rv < 0) {
		fprintf(stderr, "mesita master: %s\nSee `mesita master --help` for the flags.\n",
			err.text);
		master_flags_free(&flags);
		return 1;
	}
	warm_table_init(&shell.warm);
	arena_init(&shell.arena);
	if (start_log(&shell, &err) < 0) {
		fprintf(stderr, "mesita master: %s\n", err.text);
		arena_free(&shell.arena);
		master_flags_free(&flags);
		return 1;
	}
	rng_seed(&shell.rng, rng_entropy());
	shell.streams = (struct event_streams){.backlog_max = STREAM_BACKLOG_MAX,
					       .closed = shell_stream_closed,
					       .context = &shell};
	master_steps_init(&shell.steps, &shell_outlet, &shell);
	if (start(&shell, &err) < 0) {
		log_error("the master cannot start: %s", err.text);
		shell.exit_status = 1;
	} else if (!shell.steps.over) {
		uv_run(&shell.loop, UV_RUN_DEFAULT);
	}
	stop(&shell);
	log_gather(false);
	master_flags_free(&flags);
	return shell.exit_status;
}
