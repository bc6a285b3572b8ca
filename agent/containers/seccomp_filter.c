/* Profiles of docker become filters, by libseccomp; see seccomp_filter.h. */
#include "agent/containers/seccomp_filter.h"

#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"
#include "base/json/json.h"
#include "proto/proto.h"

#define PROFILE_MAX (4 * 1024 * 1024)
#define CAPABILITY_FIRST 1000 /* number of the first one in CapabilityInfo */
#define ARGUMENTS_MAX 6

/* ---- words of profiles ---------------------------------------------------------- */

struct word {
	const char *text;
	uint32_t value;
};

static const struct word actions[] = {
	{"SCMP_ACT_KILL", SCMP_ACT_KILL},
	{"SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD},
	{"SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS},
	{"SCMP_ACT_TRAP", SCMP_ACT_TRAP},
	{"SCMP_ACT_LOG", SCMP_ACT_LOG},
	{"SCMP_ACT_ALLOW", SCMP_ACT_ALLOW},
	{NULL, 0},
};

static const struct word operators[] = {
	{"SCMP_CMP_NE", SCMP_CMP_NE},
	{"SCMP_CMP_LT", SCMP_CMP_LT},
	{"SCMP_CMP_LE", SCMP_CMP_LE},
	{"SCMP_CMP_EQ", SCMP_CMP_EQ},
	{"SCMP_CMP_GE", SCMP_CMP_GE},
	{"SCMP_CMP_GT", SCMP_CMP_GT},
	{"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ},
	{NULL, 0},
};

static const struct word architectures[] = {
	{"SCMP_ARCH_X86", SCMP_ARCH_X86},	  {"SCMP_ARCH_X86_64", SCMP_ARCH_X86_64},
	{"SCMP_ARCH_X32", SCMP_ARCH_X32},	  {"SCMP_ARCH_ARM", SCMP_ARCH_ARM},
	{"SCMP_ARCH_AARCH64", SCMP_ARCH_AARCH64}, {NULL, 0},
};

static bool find_word(const struct word *words, const char *text, uint32_t *value)
{
	for (; words->text; words++) {
		if (strcmp(words->text, text) != 0)
			continue;
		*value = words->value;
		return true;
	}
	return false;
}

/* An errno goes with one of them. */
static int read_action(const struct json *where, const char *key, const char *errno_key,
		       uint32_t *action, struct err *err)
{
	const char *text = json_get_string(where, key);
	const struct json *number = json_get(where, errno_key);
	int64_t code = EPERM;

	if (number && (!json_integer(number, &code) || code < 0 || code > 4095))
		return err_set(err, ERR_INVALID, "'%s' is no error number", errno_key);
	if (!strcmp(text, "SCMP_ACT_ERRNO"))
		*action = SCMP_ACT_ERRNO((uint32_t)code);
	else if (!strcmp(text, "SCMP_ACT_TRACE"))
		*action = SCMP_ACT_TRACE((uint32_t)code);
	else if (!find_word(actions, text, action))
		return err_set(err, ERR_INVALID, "'%s' is no action", text);
	return 0;
}

/* ---- which rules count ------------------------------------------------------------- */

static const char *own_architecture(void)
{
	return seccomp_arch_native() == SCMP_ARCH_AARCH64 ? "arm64" : "amd64";
}

static bool has_capability(uint64_t capabilities, const char *name)
{
	const ProtobufCEnumValue *value;

	if (!strncmp(name, "CAP_", 4))
		name += 4;
	value = protobuf_c_enum_descriptor_get_value_by_name(
		&mesos__capability_info__capability__descriptor, name);
	return value && value->value >= CAPABILITY_FIRST &&
	       (capabilities >> (value->value - CAPABILITY_FIRST)) & 1;
}

/* Whether one of the list is ours, if it is a list of something. */
static bool names_us(const struct json *list, bool of_capabilities, uint64_t capabilities)
{
	for (size_t i = 0; list && list->type == JSON_ARRAY && i < list->count; i++) {
		const char *text =
			list->items[i].type == JSON_STRING ? list->items[i].text.data : "";

		if (of_capabilities ? has_capability(capabilities, text)
				    : !strcmp(text, own_architecture()))
			return true;
	}
	return false;
}

static bool is_empty(const struct json *list)
{
	return !list || list->type != JSON_ARRAY || !list->count;
}

static bool counts(const struct json *rule, uint64_t capabilities)
{
	const struct json *with = json_get(rule, "includes"), *without = json_get(rule, "excludes");
	const struct json *caps = json_get(with, "caps"), *arches = json_get(with, "arches");

	return (is_empty(caps) || names_us(caps, true, capabilities)) &&
	       (is_empty(arches) || names_us(arches, false, 0)) &&
	       !names_us(json_get(without, "caps"), true, capabilities) &&
	       !names_us(json_get(without, "arches"), false, 0);
}

/* ---- rules ---------------------------------------------------------------------------- */

static uint64_t read_number(const struct json *json)
{
	/* Masks have all 64 bits. */
	return json && json->type == JSON_NUMBER ? strtoull(json->text.data, NULL, 10) : 0;
}

static int read_arguments(const struct json *list, struct scmp_arg_cmp *out, unsigned *count,
			  struct err *err)
{
	*count = 0;
	for (size_t i = 0; !is_empty(list) && i < list->count; i++) {
		const struct json *one = &list->items[i];
		uint64_t index = read_number(json_get(one, "index"));
		uint32_t op;

		if (index >= ARGUMENTS_MAX || *count == ARGUMENTS_MAX ||
		    !find_word(operators, json_get_string(one, "op"), &op))
			return err_set(err, ERR_INVALID, "It compares an argument badly");
		out[(*count)++] = (struct scmp_arg_cmp){
			.arg = (unsigned)index,
			.op = (enum scmp_compare)op,
			.datum_a = read_number(json_get(one, "value")),
			.datum_b = read_number(json_get(one, "valueTwo")),
		};
	}
	return 0;
}

static int add_call(scmp_filter_ctx context, const char *name, uint32_t action,
		    const struct scmp_arg_cmp *arguments, unsigned count, struct err *err)
{
	int number = seccomp_syscall_resolve_name(name), rv;

	/* Profiles name what other kernels and machines have. */
	if (number == __NR_SCMP_ERROR)
		return 0;
	rv = seccomp_rule_add_array(context, action, number, count, arguments);
	/* -EACCES: it says no more than the default. */
	return rv && rv != -EACCES && rv != -EEXIST
		       ? err_set(err, ERR_INVALID, "Its rule for '%s' cannot be kept: %s", name,
				 strerror(-rv))
		       : 0;
}

static int add_rule(scmp_filter_ctx context, const struct json *rule, uint64_t capabilities,
		    struct err *err)
{
	struct scmp_arg_cmp arguments[ARGUMENTS_MAX];
	const struct json *names = json_get(rule, "names");
	const char *name = json_get_string(rule, "name");
	uint32_t action;
	unsigned count;
	int rv;

	if (!counts(rule, capabilities))
		return 0;
	rv = read_action(rule, "action", "errnoRet", &action, err);
	if (rv == 0)
		rv = read_arguments(json_get(rule, "args"), arguments, &count, err);
	if (rv == 0 && *name)
		rv = add_call(context, name, action, arguments, count, err);
	for (size_t i = 0; rv == 0 && !is_empty(names) && i < names->count; i++)
		if (names->items[i].type == JSON_STRING)
			rv = add_call(context, names->items[i].text.data, action, arguments, count,
				      err);
	return rv;
}

/* ---- profiles -------------------------------------------------------------------------- */

/* Those that run on this machine beside its own. */
static void add_architectures(scmp_filter_ctx context, const struct json *list)
{
	uint32_t value;

	for (size_t i = 0; !is_empty(list) && i < list->count; i++)
		if (list->items[i].type == JSON_STRING &&
		    find_word(architectures, list->items[i].text.data, &value))
			seccomp_arch_add(context, value);
}

static const struct json *own_architectures(const struct json *profile)
{
	const struct json *map = json_get(profile, "archMap");
	const char *own = seccomp_arch_native() == SCMP_ARCH_AARCH64 ? "SCMP_ARCH_AARCH64"
								     : "SCMP_ARCH_X86_64";

	for (size_t i = 0; !is_empty(map) && i < map->count; i++)
		if (!strcmp(json_get_string(&map->items[i], "architecture"), own))
			return json_get(&map->items[i], "subArchitectures");
	return json_get(profile, "architectures");
}

static int export_filter(scmp_filter_ctx context, struct buf *out, struct err *err)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	char data[4096];
	ssize_t got = -1;

	if (fd >= 0 && !seccomp_export_bpf(context, fd) && !lseek(fd, 0, SEEK_SET))
		while ((got = read(fd, data, sizeof(data))) > 0)
			buf_append(out, data, (size_t)got);
	if (fd >= 0)
		close(fd);
	return got ? err_set(err, ERR_IO, "No filter can be made of it") : 0;
}

static int compile(const struct json *profile, uint64_t capabilities, struct buf *out,
		   struct err *err)
{
	const struct json *rules = json_get(profile, "syscalls");
	scmp_filter_ctx context;
	uint32_t otherwise;
	int rv = read_action(profile, "defaultAction", "defaultErrnoRet", &otherwise, err);

	if (rv < 0)
		return rv;
	context = seccomp_init(otherwise);
	if (!context)
		return err_set(err, ERR_INVALID, "This kernel has no such default action");
	add_architectures(context, own_architectures(profile));
	for (size_t i = 0; rv == 0 && !is_empty(rules) && i < rules->count; i++)
		rv = add_rule(context, &rules->items[i], capabilities, err);
	if (rv == 0)
		rv = export_filter(context, out, err);
	seccomp_release(context);
	return rv;
}

int seccomp_filter_make(const char *directory, const char *name, uint64_t capabilities,
			struct buf *out, struct err *err)
{
	char *path = xprintf("%s/%s", directory, name);
	struct buf text = BUF_INIT;
	struct json *profile;
	struct arena arena;
	int rv;

	arena_init(&arena);
	rv = strchr(name, '/') || *name == '.' ? err_set(err, ERR_INVALID, "It is no name")
					       : file_read(path, PROFILE_MAX, &text, err);
	if (rv == 0)
		rv = json_parse(&arena, text.data ? text.data : "", text.len, &profile, err);
	if (rv == 0)
		rv = compile(profile, capabilities, out, err);
	buf_free(&text);
	arena_free(&arena);
	free(path);
	return rv < 0 ? err_wrap(err, ERR_INVALID, "Cannot use the seccomp profile '%s'", name) : 0;
}
