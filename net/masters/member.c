/* See member.h. */
#include "net/masters/member.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

#define PID_PREFIX "master@"

/* The number behind the last '_', or all of the name. False: it is no member. */
static bool member_number(const char *name, int32_t *number)
{
	const char *last = strrchr(name, '_'), *digits = last ? last + 1 : name;
	char *end;
	long long value;

	if (!*digits || !strchr("-0123456789", *digits))
		return false;
	errno = 0;
	value = strtoll(digits, &end, 10);
	if (errno || *end || value < INT32_MIN || value > INT32_MAX)
		return false;
	*number = (int32_t)value;
	return true;
}

const char *member_leader(char *const *names, size_t count)
{
	const char *leader = NULL;
	int32_t least = 0, number;

	for (size_t i = 0; i < count; i++) {
		if (!member_number(names[i], &number) || (leader && number >= least))
			continue;
		leader = names[i];
		least = number;
	}
	return leader;
}

static bool pid_is_whole(const char *pid)
{
	char host[INET_ADDRSTRLEN], *end;
	const char *start = pid + strlen(PID_PREFIX), *colon;
	struct in_addr address;
	long port;

	if (strncmp(pid, PID_PREFIX, strlen(PID_PREFIX)) || !(colon = strchr(start, ':')) ||
	    (size_t)(colon - start) >= sizeof(host))
		return false;
	memcpy(host, start, (size_t)(colon - start));
	host[colon - start] = '\0';
	port = strtol(colon + 1, &end, 10);
	return inet_pton(AF_INET, host, &address) == 1 && end != colon + 1 && !*end && port > 0 &&
	       port <= 65535;
}

/* Writers of other libraries may leave the pid out, but say the address. */
static int complete_pid(Mesos__MasterInfo *info, struct arena *arena, struct err *err)
{
	const Mesos__Address *address = info->address;
	char ip[INET_ADDRSTRLEN];

	if (!info->pid && address && address->ip)
		info->pid = arena_printf(arena, PID_PREFIX "%s:%d", address->ip, address->port);
	else if (!info->pid && inet_ntop(AF_INET, &info->ip, ip, sizeof(ip)))
		info->pid = arena_printf(arena, PID_PREFIX "%s:%" PRIu32, ip, info->port);
	if (!pid_is_whole(info->pid))
		return err_set(err, ERR_INVALID, "'%s' is no address of a master", info->pid);
	return 0;
}

static Mesos__MasterInfo *decode_json(struct slice data, struct arena *arena, struct err *err)
{
	struct json *json;

	if (json_parse(arena, data.data ? data.data : "", data.len, &json, err) < 0)
		return NULL;
	return json_to_proto(&mesos__master_info__descriptor, json, SPELL_V0, arena, err);
}

static Mesos__MasterInfo *decode_pid(struct slice data, struct arena *arena)
{
	Mesos__MasterInfo *info = arena_alloc(arena, sizeof(*info));

	mesos__master_info__init(info);
	info->id = (char *)"";
	info->pid = arena_strndup(arena, data.data ? data.data : "", data.len);
	return info;
}

static bool has_label(const char *name, const char *label)
{
	const char *end = strchr(name, '_');

	return end && strlen(label) == (size_t)(end - name) && !memcmp(name, label, strlen(label));
}

Mesos__MasterInfo *member_decode(const char *name, struct slice data, struct arena *arena,
				 struct err *err)
{
	Mesos__MasterInfo *info;

	if (!strchr(name, '_')) {
		info = decode_pid(data, arena);
	} else if (has_label(name, "json.info")) {
		info = decode_json(data, arena, err);
	} else if (has_label(name, "info")) {
		info = proto_unpack(&mesos__master_info__descriptor, arena, data.data, data.len,
				    err);
	} else {
		err_set(err, ERR_INVALID, "its label is not known");
		return NULL;
	}
	return info && complete_pid(info, arena, err) == 0 ? info : NULL;
}

void member_encode(const Mesos__MasterInfo *info, struct buf *out)
{
	proto_to_json(info, SPELL_V0, out);
}
