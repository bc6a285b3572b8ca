/* From the names that a container says to the configurations of networks, which are files (.conf
 * and .json: one plugin; .conflist: several, one after the other), read when they are asked for. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/containers/network/network_internal.h"
#include "base/memory/buf.h"

bool network_wanted(const Mesos__ContainerInfo *info)
{
	for (size_t i = 0;
	     info && info->type == MESOS__CONTAINER_INFO__TYPE__MESOS && i < info->n_network_infos;
	     i++)
		if (info->network_infos[i]->name)
			return true;
	return false;
}

char *network_file(struct arena *arena, const char *runtime_dir, const char *id, const char *name)
{
	return arena_printf(arena, "%s/networks/%.*s/%s", runtime_dir, (int)strcspn(id, "."), id,
			    name);
}

/* ---- files ------------------------------------------------------------------------ */

int network_json_read(const char *path, struct arena *arena, struct json **out, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct buf text = BUF_INIT;
	char piece[16384];
	ssize_t got = -1;
	int rv;

	while (fd >= 0 && (got = read(fd, piece, sizeof(piece))) > 0 && text.len < NETWORK_FILE_MAX)
		buf_append(&text, piece, (size_t)got);
	if (got != 0)
		rv = err_set(err, ERR_IO, "Cannot read '%s': %s", path,
			     got < 0 ? strerror(errno) : "it is too long");
	else
		rv = json_parse_up_to(PROTO_VALUES_MAX, arena, text.data ? text.data : "", text.len,
				      out, err);
	if (fd >= 0)
		close(fd);
	buf_free(&text);
	return rv < 0 ? rv : 0;
}

int network_file_write(const char *path, struct slice text, struct err *err)
{
	char *fresh = xprintf("%s.new", path);
	int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), rv = 0;

	if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len || rename(fresh, path))
		rv = err_set(err, ERR_IO, "Cannot write '%s': %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(fresh);
	return rv;
}

/* ---- configurations ---------------------------------------------------------------- */

static bool is_configuration(const char *file)
{
	const char *dot = strrchr(file, '.');

	return file[0] != '.' && dot &&
	       (!strcmp(dot, ".conf") || !strcmp(dot, ".json") || !strcmp(dot, ".conflist"));
}

/* Others of the directory, which are not well-formed, harm nobody. */
static const struct json *find_configuration(const char *directory, const char *name,
					     struct arena *arena, struct err *err)
{
	const struct json *found = NULL;
	DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && !found && (entry = readdir(dir))) {
		struct err ignored;
		struct json *one;
		char *path;

		if (!is_configuration(entry->d_name))
			continue;
		path = xprintf("%s/%s", directory, entry->d_name);
		if (network_json_read(path, arena, &one, &ignored) == 0 &&
		    !strcmp(json_get_string(one, "name"), name))
			found = one;
		free(path);
	}
	if (dir)
		closedir(dir);
	if (!found)
		err_set(err, ERR_INVALID, "Unknown CNI network '%s'", name);
	return found;
}

static void put_kept(struct json_writer *w, const struct json *object, const char *const *dropped)
{
	for (size_t i = 0; i < object->count; i++) {
		const char *const *name = dropped;

		while (*name && !slice_eq(object->keys[i], *name))
			name++;
		if (*name)
			continue;
		jw_key(w, object->keys[i].data);
		jw_value(w, &object->items[i]);
	}
}

/* As Mesos tells its plugins. */
static void put_args(struct json_writer *w, const struct json *plugin,
		     const Mesos__NetworkInfo *info)
{
	const struct json *args = json_get(plugin, "args");
	struct buf text = BUF_INIT;

	jw_key(w, "args");
	jw_begin_object(w);
	if (args && args->type == JSON_OBJECT)
		put_kept(w, args, (const char *const[]){"org.apache.mesos", NULL});
	jw_key(w, "org.apache.mesos");
	jw_begin_object(w);
	jw_key(w, "network_info");
	proto_to_json(info, SPELL_V1, &text);
	jw_raw(w, text.data, text.len);
	jw_end_object(w);
	jw_end_object(w);
	buf_free(&text);
}

/* What plugins that can map ports are told, as others than Mesos tell them. */
static void put_ports(struct json_writer *w, const struct json *plugin,
		      const Mesos__NetworkInfo *info)
{
	const struct json *can = json_get(plugin, "capabilities");
	const struct json *maps = can ? json_get(can, "portMappings") : NULL;

	if (!maps || maps->type != JSON_BOOL || !maps->boolean || !info->n_port_mappings)
		return;
	jw_key(w, "runtimeConfig");
	jw_begin_object(w);
	jw_key(w, "portMappings");
	jw_begin_array(w);
	for (size_t i = 0; i < info->n_port_mappings; i++) {
		const Mesos__NetworkInfo__PortMapping *map = info->port_mappings[i];

		jw_begin_object(w);
		jw_kv_int(w, "hostPort", map->host_port);
		jw_kv_int(w, "containerPort", map->container_port);
		jw_kv_string(w, "protocol", map->protocol ? map->protocol : "tcp");
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_end_object(w);
}

static void put_plugin(struct json_writer *w, const struct json *plugin, const char *version,
		       const Mesos__NetworkInfo *info)
{
	static const char *const ours[] = {"name",	    "cniVersion", "args",
					   "runtimeConfig", "prevResult", NULL};

	jw_begin_object(w);
	jw_kv_string(w, "name", info->name);
	if (*version)
		jw_kv_string(w, "cniVersion", version);
	put_kept(w, plugin, ours);
	put_args(w, plugin, info);
	put_ports(w, plugin, info);
	jw_end_object(w);
}

static int put_network(struct json_writer *w, const char *directory, const Mesos__NetworkInfo *info,
		       int number, struct err *err)
{
	struct arena arena;
	const struct json *found, *plugins;
	char interface[16];

	arena_init(&arena);
	found = find_configuration(directory, info->name, &arena, err);
	plugins = found ? json_get(found, "plugins") : NULL;
	if (found) {
		struct buf text = BUF_INIT;
		const char *version = json_get_string(found, "cniVersion");

		snprintf(interface, sizeof(interface), "eth%d", number);
		jw_begin_object(w);
		jw_kv_string(w, "interface", interface);
		jw_key(w, "info");
		proto_to_json(info, SPELL_V1, &text);
		jw_raw(w, text.data, text.len);
		buf_free(&text);
		jw_key(w, "plugins");
		jw_begin_array(w);
		if (!plugins)
			put_plugin(w, found, version, info);
		for (size_t i = 0; plugins && i < plugins->count; i++)
			put_plugin(w, &plugins->items[i], version, info);
		jw_end_array(w);
		jw_end_object(w);
	}
	arena_free(&arena);
	return found ? 0 : ERR_INVALID;
}

static int make_plan(const struct networks_options *options, const char *id,
		     const Mesos__ContainerInfo *info, struct buf *out, struct err *err)
{
	struct json_writer w;
	int rv = 0, number = 0;

	jw_init(&w, out);
	jw_begin_object(&w);
	jw_kv_string(&w, "container", id);
	jw_kv_string(&w, "hostname", info->hostname ? info->hostname : id);
	jw_kv_string(&w, "plugins", options->plugins);
	jw_key(&w, "networks");
	jw_begin_array(&w);
	for (size_t i = 0; i < info->n_network_infos && rv == 0; i++)
		if (info->network_infos[i]->name)
			rv = put_network(&w, options->configurations, info->network_infos[i],
					 number++, err);
	jw_end_array(&w);
	jw_end_object(&w);
	return rv;
}

int network_plan_write(const struct networks_options *options, const char *id,
		       const Mesos__ContainerInfo *info, struct err *err)
{
	struct buf text = BUF_INIT;
	char *above = xprintf("%s/networks", options->runtime_dir);
	char *directory = xprintf("%s/%s", above, id), *path = xprintf("%s/plan", directory);
	int rv = make_plan(options, id, info, &text, err);

	if (rv == 0 && ((mkdir(above, 0755) && errno != EEXIST) ||
			(mkdir(directory, 0755) && errno != EEXIST)))
		rv = err_set(err, ERR_IO, "Cannot make '%s': %s", directory, strerror(errno));
	if (rv == 0)
		rv = network_file_write(path, (struct slice){text.data, text.len}, err);
	free(path);
	free(directory);
	free(above);
	buf_free(&text);
	return rv;
}

/* ---- results -------------------------------------------------------------------------- */

static void read_failure(const char *directory, struct err *err)
{
	char *path = xprintf("%s/failure", directory), text[1024] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		snprintf(text, sizeof(text), "it ended before it said why");
	if (fd >= 0)
		close(fd);
	free(path);
	err_set(err, ERR_IO, "%s", text);
}

Mesos__ContainerStatus *network_result_read(const char *directory, struct err *err)
{
	char *path = xprintf("%s/result", directory);
	Mesos__ContainerStatus *status = NULL, *copy = NULL;
	struct arena arena;
	struct json *json;

	arena_init(&arena);
	if (access(path, F_OK))
		read_failure(directory, err);
	else if (network_json_read(path, &arena, &json, err) == 0)
		status = json_to_proto(&mesos__container_status__descriptor, json, SPELL_V1, &arena,
				       err);
	if (status)
		copy = proto_copy(status);
	arena_free(&arena);
	free(path);
	return copy;
}
