/* Names of roles. */
#include <string.h>

#include "proto/resources.h"

#define STRINGIFY_(text) #text
#define STRINGIFY(text) STRINGIFY_(text)

/* One component between slashes, `len` bytes of `role`. */
static bool component_valid(const char *role, const char *component, size_t len, struct err *err)
{
	static const char *const reserved[] = {".", "..", "*"};

	for (size_t i = 0; i < 3; i++) {
		if (len != strlen(reserved[i]) || memcmp(component, reserved[i], len))
			continue;
		err_set(err, ERR_INVALID, "Role '%s' cannot include '%s' as a component", role,
			reserved[i]);
		return false;
	}
	if (*component == '-') {
		err_set(err, ERR_INVALID,
			"Role component '%.*s' is invalid because it starts with a dash", (int)len,
			component);
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		if (!strchr("\x09\x0a\x0b\x0c\x0d\x20\x7f", component[i]))
			continue;
		err_set(err, ERR_INVALID,
			"Role component '%.*s' is invalid because it contains backspace or "
			"whitespace",
			(int)len, component);
		return false;
	}
	return true;
}

/* Each component is a node in the allocator's tree and an ancestor to account for. */
static bool too_deep(const char *role)
{
	size_t slashes = 0;

	for (; *role; role++)
		slashes += *role == '/';
	return slashes >= ROLE_COMPONENTS_MAX;
}

bool role_valid(const char *role, struct err *err)
{
	const char *why = NULL;
	size_t len = strlen(role);

	if (!strcmp(role, "*"))
		return true;
	if (!len) {
		err_set(err, ERR_INVALID, "Role names cannot be the empty string");
		return false;
	}
	if (role[0] == '/')
		why = "start with a slash";
	else if (role[len - 1] == '/')
		why = "end with a slash";
	else if (strstr(role, "//"))
		why = "contain two adjacent slashes";
	else if (len > ROLE_LENGTH_MAX)
		why = "have more than " STRINGIFY(ROLE_LENGTH_MAX) " bytes";
	else if (too_deep(role))
		why = "have more than " STRINGIFY(ROLE_COMPONENTS_MAX) " components";
	if (why) {
		err_set(err, ERR_INVALID, "Role '%.300s' cannot %s", role, why);
		return false;
	}
	for (const char *at = role; *at; at += *at == '/') {
		size_t part = strcspn(at, "/");

		if (!component_valid(role, at, part, err))
			return false;
		at += part;
	}
	return true;
}

bool role_is_strict_subrole(const char *role, const char *ancestor)
{
	size_t len = strlen(ancestor);

	return !strncmp(role, ancestor, len) && role[len] == '/';
}
