/* Detection of resources and host facts; see host.h. */
#include "agent/host.h"

#include <ctype.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/json/json.h"

#define MB (1024.0 * 1024.0)
#define GB_IN_MB 1024.0

/* Mesos' guesses when the system does not tell. */
#define FALLBACK_MEM_MB 1024.0
#define FALLBACK_DISK_MB 10240.0

/* ---- resources ----------------------------------------------------------- */

static double detected_cpus(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count > 0 ? (double)count : 1;
}

/* Leaves the system a part: a big one loses `reserve`, a small one half. */
static double minus_reserve(double total, double big, double reserve)
{
	double rest = total >= big ? total - reserve : total / 2;

	return (double)(long long)rest;
}

static double detected_mem(void)
{
	struct sysinfo info;

	if (sysinfo(&info))
		return FALLBACK_MEM_MB;
	return minus_reserve((double)info.totalram * info.mem_unit / MB, 2 * GB_IN_MB, GB_IN_MB);
}

static double detected_disk(const char *path)
{
	struct statvfs fs;

	if (statvfs(path, &fs))
		return FALLBACK_DISK_MB;
	return minus_reserve((double)fs.f_blocks * fs.f_frsize / MB, 10 * GB_IN_MB, 5 * GB_IN_MB);
}

/* Given even if its amount is zero, which leaves no trace in the parsed resources. */
static bool is_given(const struct resources *given, const char *text, const char *name)
{
	size_t len = strlen(name);

	if (resources_quantity(given, name) > 0)
		return true;
	for (const char *at = text; at && (at = strstr(at, name)); at += len) {
		bool starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');

		if (starts && (at[len] == ':' || at[len] == '(' || at[len] == '"'))
			return true;
	}
	return false;
}

int host_resources(struct resource_shapes *shapes, const char *text, const char *role,
		   const char *work_dir, struct resources *out, struct err *err)
{
	struct buf missing = BUF_INIT;
	struct resources detected = RESOURCES_INIT;
	int rv;

	*out = RESOURCES_INIT;
	rv = text ? resources_parse(shapes, text, role, out, err) : 0;
	if (rv < 0)
		return err_wrap(err, rv, "Invalid value for --resources");
	if (!is_given(out, text, "cpus"))
		buf_printf(&missing, "cpus:%.0f;", detected_cpus());
	if (!is_given(out, text, "mem"))
		buf_printf(&missing, "mem:%.0f;", detected_mem());
	if (!is_given(out, text, "disk"))
		buf_printf(&missing, "disk:%.0f;", detected_disk(work_dir));
	if (!is_given(out, text, "ports"))
		buf_puts(&missing, "ports:[31000-32000]");
	if (missing.len) {
		rv = resources_parse(shapes, missing.data, role, &detected, err);
		if (rv == 0)
			resources_add(out, &detected);
		resources_free(&detected);
	}
	buf_free(&missing);
	if (rv < 0)
		return err_wrap(err, rv, "Invalid resources detected with --default_role=%s", role);
	return 0;
}

/* ---- attributes ---------------------------------------------------------- */

static char *host_trimmed(struct arena *arena, const char *text, size_t len)
{
	while (len && isspace((unsigned char)*text)) {
		text++;
		len--;
	}
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return arena_strndup(arena, text, len);
}

static bool parse_ranges(struct arena *arena, char *text, Mesos__Value__Ranges *ranges)
{
	char *save = NULL;

	text[strlen(text) - 1] = '\0';
	for (char *part = strtok_r(text + 1, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		unsigned long long begin, end;
		Mesos__Value__Range *range;
		char more[2];

		if (strchr(part, '-') != strrchr(part, '-') ||
		    sscanf(part, " %llu - %llu %1s", &begin, &end, more) != 2 || begin > end)
			return false;
		range = PROTO_NEW(arena, Mesos__Value__Range, mesos__value__range__descriptor);
		range->begin = begin;
		range->end = end;
		proto_push(arena, ranges->n_range, ranges->range, range);
	}
	return true;
}

static bool is_number(const char *text, double *value)
{
	char *end;

	if (!isdigit((unsigned char)*text) && !strchr("+-.", *text))
		return false;
	*value = strtod(text, &end);
	return end != text && !*end;
}

static Mesos__Attribute *parse_attribute(struct arena *arena, const char *pair, size_t len,
					 struct err *err)
{
	Mesos__Attribute *a = PROTO_NEW(arena, Mesos__Attribute, mesos__attribute__descriptor);
	const char *colon = memchr(pair, ':', len);
	char *value;
	double number;

	if (!colon || colon == pair || colon == pair + len - 1) {
		err_set(err, ERR_INVALID,
			"Invalid value for --attributes: '%.*s' is not of the form name:value",
			(int)len, pair);
		return NULL;
	}
	a->name = host_trimmed(arena, pair, (size_t)(colon - pair));
	value = host_trimmed(arena, colon + 1, len - (size_t)(colon - pair) - 1);
	if (*value == '[' && str_has_suffix(value, "]")) {
		a->type = MESOS__VALUE__TYPE__RANGES;
		a->ranges =
			PROTO_NEW(arena, Mesos__Value__Ranges, mesos__value__ranges__descriptor);
		if (!parse_ranges(arena, arena_strdup(arena, value), a->ranges)) {
			err_set(err, ERR_INVALID,
				"Invalid value for --attributes: '%s' of '%s' is no list of ranges "
				"such as [1-5,8-10]",
				value, a->name);
			return NULL;
		}
	} else if (*value && is_number(value, &number)) {
		a->type = MESOS__VALUE__TYPE__SCALAR;
		a->scalar =
			PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
		a->scalar->value = number;
	} else {
		a->type = MESOS__VALUE__TYPE__TEXT;
		a->text = PROTO_NEW(arena, Mesos__Value__Text, mesos__value__text__descriptor);
		a->text->value = value;
	}
	return a;
}

int host_attributes(struct arena *arena, const char *text, Mesos__Attribute ***list, size_t *count,
		    struct err *err)
{
	*list = NULL;
	*count = 0;
	while (text && *text) {
		size_t len = strcspn(text, ";\n");
		size_t blank = strspn(text, " \t");

		if (blank < len) {
			Mesos__Attribute *attribute = parse_attribute(arena, text, len, err);

			if (!attribute)
				return ERR_INVALID;
			proto_push(arena, *count, *list, attribute);
		}
		text += len + (text[len] != '\0');
	}
	return 0;
}

/* ---- other flags that are JSON ------------------------------------------- */

int host_domain(struct arena *arena, const char *text, Mesos__DomainInfo **domain, struct err *err)
{
	struct json *json;
	int rv;

	*domain = NULL;
	if (!text)
		return 0;
	rv = json_parse(arena, text, strlen(text), &json, err);
	if (rv == 0) {
		*domain =
			json_to_proto(&mesos__domain_info__descriptor, json, SPELL_V1, arena, err);
		rv = *domain ? 0 : ERR_INVALID;
	}
	if (rv == 0 && !(*domain)->fault_domain)
		rv = err_set(err, ERR_INVALID, "`domain` must define `fault_domain`");
	if (rv < 0)
		return err_wrap(err, rv, "Invalid value for --domain");
	return 0;
}

/* How we are to be spoken to: executors connect to us as everybody does. */
static size_t inherit_tls(const char **pairs)
{
	size_t count = 0;

	for (char **pair = environ; *pair; pair++) {
		if (!str_has_prefix(*pair, "LIBPROCESS_SSL_"))
			continue;
		if (pairs)
			pairs[count] = *pair;
		count++;
	}
	return count;
}

int host_environment(struct arena *arena, const char *text, const char *const **list,
		     struct err *err)
{
	struct json *json;
	const char **pairs;
	size_t count = inherit_tls(NULL);
	int rv;

	text = text ? text : "{}";
	rv = json_parse(arena, text, strlen(text), &json, err);
	if (rv < 0)
		return err_wrap(err, rv, "Invalid value for --executor_environment_variables");
	if (json->type != JSON_OBJECT)
		return err_set(
			err, ERR_INVALID,
			"Invalid value for --executor_environment_variables: expected a JSON "
			"object of strings");
	pairs = arena_alloc(arena, (count + json->count + 1) * sizeof(*pairs));
	inherit_tls(pairs);
	for (size_t i = 0; i < json->count; i++) {
		const struct json *value = &json->items[i];

		if (value->type != JSON_STRING)
			return err_set(
				err, ERR_INVALID,
				"Invalid value for --executor_environment_variables: the value "
				"of '%s' is no string",
				json->keys[i].data);
		pairs[count + i] =
			arena_printf(arena, "%s=%s", json->keys[i].data, value->text.data);
	}
	*list = pairs;
	return 0;
}

/* ---- names and addresses ------------------------------------------------- */

char *host_advertised_ip(const char *ip)
{
	char name[256], text[64] = "127.0.0.1";
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;

	if (ip && strcmp(ip, "0.0.0.0"))
		return xstrdup(ip);
	if (!gethostname(name, sizeof(name)) && !getaddrinfo(name, NULL, &hints, &found)) {
		getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof(text), NULL, 0,
			    NI_NUMERICHOST);
		freeaddrinfo(found);
	}
	return xstrdup(text);
}

char *host_name_of(const char *ip, bool lookup)
{
	char name[NI_MAXHOST];
	struct addrinfo hints = {.ai_family = AF_INET, .ai_flags = AI_NUMERICHOST}, *found;
	int rv;

	if (!lookup || getaddrinfo(ip, NULL, &hints, &found))
		return xstrdup(ip);
	rv = getnameinfo(found->ai_addr, found->ai_addrlen, name, sizeof(name), NULL, 0, 0);
	freeaddrinfo(found);
	return xstrdup(rv ? ip : name);
}

char *host_native_library(const char *program)
{
	static const char *const variables[] = {"MESOS_NATIVE_JAVA_LIBRARY",
						"MESOS_NATIVE_LIBRARY"};
	static const char *const places[] = {"libmesos.so", "../lib/libmesos.so"};
	const char *slash = strrchr(program, '/');

	for (size_t i = 0; i < 2; i++)
		if (getenv(variables[i]))
			return xstrdup(getenv(variables[i]));
	for (size_t i = 0; slash && i < 2; i++) {
		char *path = xprintf("%.*s/%s", (int)(slash - program), program, places[i]);
		char *real = realpath(path, NULL);

		free(path);
		if (real)
			return real;
	}
	return NULL;
}

char *host_boot_id(void)
{
	char text[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file) {
		if (!fgets(text, sizeof(text), file))
			text[0] = '\0';
		fclose(file);
	}
	text[strcspn(text, "\n")] = '\0';
	return xstrdup(text);
}
