#include "net/daemon/firewall.h"

#include <string.h>

int firewall_parse(struct arena *arena, const struct json *rules, const char *const **paths,
		   struct err *err)
{
	const struct json *disabled = json_get(rules, "disabled_endpoints");
	const struct json *list = json_get(disabled, "paths");
	const char **out;

	if (rules->type != JSON_OBJECT || (disabled && disabled->type != JSON_OBJECT) ||
	    (list && list->type != JSON_ARRAY))
		return err_set(err, ERR_INVALID,
			       "expected {\"disabled_endpoints\": {\"paths\": [..]}}");
	out = arena_alloc(arena, ((list ? list->count : 0) + 1) * sizeof(*out));
	for (size_t i = 0; list && i < list->count; i++) {
		const struct json *path = &list->items[i];

		if (path->type != JSON_STRING || *path->text.data != '/')
			return err_set(err, ERR_INVALID, "'%s' is no path: it must start with '/'",
				       path->type == JSON_STRING ? path->text.data : "");
		out[i] = arena_strdup(arena, path->text.data);
	}
	*paths = out;
	return 0;
}

bool firewall_stops(const char *const *paths, struct http_request *request, const char *path)
{
	for (; paths && *paths; paths++) {
		if (strcmp(*paths, path))
			continue;
		http_reply_text(request, 403,
				arena_printf(&request->arena, "Endpoint '%s' is disabled", path));
		return true;
	}
	return false;
}
