/* The value of --resources: "cpus:4;mem(role):1024;ports:[1-10]", or a JSON array of
 * Resource messages. Fails with Mesos' words; then nothing comes of the text. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resources/resource_internal.h"

/* The next part of *text between any of `separators`, skipping empty ones; false at the end. */
static bool next_token(const char **text, const char *separators, struct slice *token)
{
	*text += strspn(*text, separators);
	token->data = *text;
	token->len = strcspn(*text, separators);
	*text += token->len;
	return token->len;
}

static char *resource_parse_trimmed(struct arena *arena, const char *data, size_t len)
{
	static const char space[] = " \t\n\r";

	while (len && strchr(space, data[0])) {
		data++;
		len--;
	}
	while (len && strchr(space, data[len - 1]))
		len--;
	return arena_strndup(arena, data, len);
}

/* ---- values --------------------------------------------------------------------------- */

static bool brackets_match(const char *text, char open, char close)
{
	long depth = 0;

	for (; *text && depth >= 0; text++)
		depth += (*text == open) - (*text == close);
	return depth == 0;
}

static bool read_uint(struct slice token, uint64_t *out)
{
	uint64_t value = 0;

	for (size_t i = 0; i < token.len; i++) {
		if (token.data[i] < '0' || token.data[i] > '9' ||
		    __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(token.data[i] - '0'), &value))
			return false;
	}
	*out = value;
	return token.len;
}

static int parse_ranges(struct arena *arena, const char *text, Mesos__Resource *resource,
			struct err *err)
{
	static const char separators[] = "[]-,\n";
	struct slice token, end;
	const char *at = text;
	size_t tokens = 0;

	while (next_token(&at, separators, &token))
		tokens++;
	if (tokens % 2)
		return err_set(err, ERR_INVALID, "Expecting one or more \"ranges\"");
	resource->type = MESOS__VALUE__TYPE__RANGES;
	resource->ranges = PROTO_NEW(arena, Mesos__Value__Ranges, mesos__value__ranges__descriptor);
	while (next_token(&text, separators, &token) && next_token(&text, separators, &end)) {
		Mesos__Value__Range *range =
			PROTO_NEW(arena, Mesos__Value__Range, mesos__value__range__descriptor);

		if (!read_uint(token, &range->begin) || !read_uint(end, &range->end))
			return err_set(err, ERR_INVALID,
				       "Expecting non-negative integers in '%.*s'", (int)token.len,
				       token.data);
		proto_push(arena, resource->ranges->n_range, resource->ranges->range, range);
	}
	return 0;
}

/* Mesos merges the ranges of a text before it looks at them, so overlaps are allowed. */
static void coalesce_message(Mesos__Value__Ranges *ranges)
{
	struct resource_range *copy = xcalloc(ranges->n_range + 1, sizeof(*copy));
	bool sane = true;

	for (size_t i = 0; i < ranges->n_range; i++) {
		copy[i] = (struct resource_range){ranges->range[i]->begin, ranges->range[i]->end};
		sane = sane && copy[i].begin <= copy[i].end; /* else validation refuses it */
	}
	if (sane) {
		ranges->n_range = ranges_coalesce(copy, (uint32_t)ranges->n_range);
		for (size_t i = 0; i < ranges->n_range; i++) {
			ranges->range[i]->begin = copy[i].begin;
			ranges->range[i]->end = copy[i].end;
		}
	}
	free(copy);
}

static void parse_set(struct arena *arena, const char *text, Mesos__Resource *resource)
{
	struct slice token;

	resource->type = MESOS__VALUE__TYPE__SET;
	resource->set = PROTO_NEW(arena, Mesos__Value__Set, mesos__value__set__descriptor);
	while (next_token(&text, "{},\n", &token))
		proto_push(arena, resource->set->n_item, resource->set->item,
			   arena_strndup(arena, token.data, token.len));
}

/* TEXT, which no resource may be, for what is no number. */
static int parse_scalar(struct arena *arena, const char *text, Mesos__Resource *resource,
			struct err *err)
{
	char *end;
	double value;
	bool number = !text[strspn(text, "0123456789+-.eE")];

	errno = 0;
	value = number ? strtod(text, &end) : 0;
	if (number && !*end && end != text && fpclassify(value) == FP_SUBNORMAL)
		return err_set(err, ERR_INVALID, "Subnormal values not supported");
	if (!number || *end || end == text || !isfinite(value) || value < 0) {
		resource->type = MESOS__VALUE__TYPE__TEXT;
		return 0;
	}
	resource->type = MESOS__VALUE__TYPE__SCALAR;
	resource->scalar = PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	resource->scalar->value = value;
	return 0;
}

static int parse_value(struct arena *arena, const char *text, Mesos__Resource *resource,
		       struct err *err)
{
	char *bare = arena_strdup(arena, text), *to = bare;

	for (const char *from = text; *from; from++)
		if (*from != ' ')
			*to++ = *from;
	*to = 0;
	if (!*bare)
		return err_set(err, ERR_INVALID, "Expecting non-empty string");
	if (!brackets_match(bare, '{', '}') || !brackets_match(bare, '[', ']') ||
	    !brackets_match(bare, '(', ')'))
		return err_set(err, ERR_INVALID, "Mismatched brackets");
	if (*bare == '[') {
		int rv = parse_ranges(arena, bare, resource, err);

		if (!rv)
			coalesce_message(resource->ranges);
		return rv;
	}
	if (strchr(bare, '['))
		return err_set(err, ERR_INVALID, "Unexpected '[' found");
	if (*bare == '{') {
		parse_set(arena, bare, resource);
		return 0;
	}
	if (strchr(bare, '{'))
		return err_set(err, ERR_INVALID, "Unexpected '{' found");
	return parse_scalar(arena, bare, resource, err);
}

/* ---- items ---------------------------------------------------------------------------- */

static Mesos__Resource *parse_pair(struct arena *arena, char *name, const char *value, char *role,
				   struct err *err)
{
	Mesos__Resource *resource = PROTO_NEW(arena, Mesos__Resource, mesos__resource__descriptor);
	struct err why = {""};

	resource->name = name;
	if (parse_value(arena, value, resource, &why)) {
		err_set(err, ERR_INVALID, "Failed to parse resource %s value %s error %s", name,
			value, why.text);
		return NULL;
	}
	if (resource->type == MESOS__VALUE__TYPE__TEXT) {
		err_set(err, ERR_INVALID, "Bad type for resource %s value %s type TEXT", name,
			value);
		return NULL;
	}
	if (strcmp(role, "*"))
		resource->role = role;
	return resource;
}

static Mesos__Resource *parse_item(struct arena *arena, const char *item, const char *default_role,
				   struct err *err)
{
	const char *at = item, *open, *close;
	char *role = arena_strdup(arena, default_role);
	struct slice left, right, more;
	char *name;

	if (!next_token(&at, ":", &left) || !next_token(&at, ":", &right) ||
	    next_token(&at, ":", &more)) {
		err_set(err, ERR_INVALID, "Bad value for resources, missing or extra ':' in %s",
			item);
		return NULL;
	}
	open = memchr(left.data, '(', left.len);
	close = memchr(left.data, ')', left.len);
	if (!open) {
		name = resource_parse_trimmed(arena, left.data, left.len);
	} else if (!close || close < open) {
		err_set(err, ERR_INVALID, "Bad value for resources, mismatched parentheses in %s",
			item);
		return NULL;
	} else {
		name = resource_parse_trimmed(arena, left.data, (size_t)(open - left.data));
		role = resource_parse_trimmed(arena, open + 1, (size_t)(close - open - 1));
	}
	return parse_pair(arena, name, arena_strndup(arena, right.data, right.len), role, err);
}

static int parse_text(struct arena *arena, const char *text, const char *default_role,
		      size_t *count, Mesos__Resource ***list, struct err *err)
{
	struct slice token;

	while (next_token(&text, ";", &token)) {
		char *item = arena_strndup(arena, token.data, token.len);
		Mesos__Resource *resource;

		if (!item[strspn(item, " \t\n\r")])
			continue;
		resource = parse_item(arena, item, default_role, err);
		if (!resource)
			return ERR_INVALID;
		proto_push(arena, *count, *list, resource);
	}
	return 0;
}

static int parse_json(struct arena *arena, const struct json *json, const char *default_role,
		      size_t *count, Mesos__Resource ***list, struct err *err)
{
	for (size_t i = 0; i < json->count; i++) {
		Mesos__Resource *resource = json_to_proto(&mesos__resource__descriptor,
							  &json->items[i], SPELL_V1, arena, err);

		if (!resource)
			return err_wrap(err, ERR_INVALID,
					"Some JSON resources were not formatted properly");
		if (!PROTO_HAS(resource, role, mesos__resource__role__default_value) &&
		    !resource->n_reservations)
			resource->role = arena_strdup(arena, default_role);
		proto_push(arena, *count, *list, resource);
	}
	return 0;
}

int resources_parse_messages(struct arena *arena, const char *text, const char *default_role,
			     size_t *count, Mesos__Resource ***list, struct err *err)
{
	struct json *json;
	int rv;

	*count = 0;
	*list = NULL;
	if (!json_parse(arena, text, strlen(text), &json, NULL) && json->type == JSON_ARRAY)
		rv = parse_json(arena, json, default_role, count, list, err);
	else
		rv = parse_text(arena, text, default_role, count, list, err);
	/* A reservation without a role would be lost by the upgrade: validation must see it. */
	for (size_t i = 0; !rv && i < *count; i++)
		if (!resource_validate((*list)[i], NULL))
			resource_upgrade(arena, (*list)[i]);
	return rv;
}

/* What only programs may ask for. */
static int validate_command_line(const struct resources *r, struct err *err)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_shape *shape = r->pieces[i].shape;

		if (resource_shape_persistence(shape))
			return err_set(
				err, ERR_INVALID,
				"Persistent volumes cannot be specified at the command line");
		if (resource_shape_revocable(shape))
			return err_set(
				err, ERR_INVALID,
				"Revocable resources cannot be specified at the command line; "
				"do not include a 'revocable' key in the resources JSON");
		if (resource_shape_dynamic(shape))
			return err_set(
				err, ERR_INVALID,
				"Dynamic reservations cannot be specified at the command line; "
				"do not include a reservation with DYNAMIC type in the "
				"resources JSON");
		for (uint32_t j = 0; j < i; j++) {
			const struct resource_shape *other = r->pieces[j].shape;

			if (!strcmp(resource_shape_name(other), resource_shape_name(shape)) &&
			    resource_shape_type(other) != resource_shape_type(shape))
				return err_set(err, ERR_INVALID,
					       "Resources with the same name ('%s') but different "
					       "types are not allowed",
					       resource_shape_name(shape));
		}
	}
	return 0;
}

int resources_parse(struct resource_shapes *shapes, const char *text, const char *default_role,
		    struct resources *out, struct err *err)
{
	Mesos__Resource **list;
	struct arena arena;
	size_t count;
	int rv;

	*out = RESOURCES_INIT;
	arena_init(&arena);
	rv = resources_parse_messages(&arena, text, default_role, &count, &list, err);
	if (!rv)
		rv = resources_check_size(list, count, err);
	for (size_t i = 0; !rv && i < count; i++) {
		rv = resource_validate(list[i], err);
		if (!rv)
			resources_add_message(shapes, out, list[i]);
	}
	if (!rv)
		rv = validate_command_line(out, err);
	if (rv)
		resources_free(out);
	arena_free(&arena);
	return rv;
}
