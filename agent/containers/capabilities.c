#include "agent/containers/capabilities.h"

#include <string.h>

#include "base/json/json.h"

#define FIRST MESOS__CAPABILITY_INFO__CAPABILITY__CHOWN /* capability 0 */

static int set_of(const Mesos__CapabilityInfo *info, uint64_t *set, struct err *err)
{
	*set = 0;
	for (size_t i = 0; i < info->n_capabilities; i++) {
		int number = (int)info->capabilities[i] - (int)FIRST;

		if (number < 0 || number > 63)
			return err_set(err, ERR_INVALID, "Unknown capability");
		*set |= 1ULL << number;
	}
	return 0;
}

int capabilities_parse(const char *text, uint64_t *set, struct err *err)
{
	const Mesos__CapabilityInfo *info = NULL;
	struct arena arena;
	struct json *json;
	int rv = ERR_INVALID;

	arena_init(&arena);
	if (json_parse(&arena, text, strlen(text), &json, err) == 0)
		info = json_to_proto(&mesos__capability_info__descriptor, json, SPELL_V1, &arena,
				     err);
	if (info)
		rv = set_of(info, set, err);
	arena_free(&arena);
	return rv;
}

static int take(const Mesos__CapabilityInfo *info, bool *has, uint64_t *set, struct err *err)
{
	if (!info)
		return 0;
	*has = true;
	return set_of(info, set, err);
}

int capabilities_of(const Mesos__ContainerInfo *info, const struct capabilities *of_agent,
		    struct capabilities *out, struct err *err)
{
	const Mesos__LinuxInfo *asked = info ? info->linux_info : NULL;
	int rv = 0;

	*out = *of_agent;
	if (asked)
		rv = take(asked->effective_capabilities ? asked->effective_capabilities
							: asked->capability_info,
			  &out->has_effective, &out->effective, err);
	if (asked && rv == 0)
		rv = take(asked->bounding_capabilities, &out->has_bounding, &out->bounding, err);
	if (rv < 0)
		return rv;
	if (out->has_effective && !out->has_bounding)
		out->bounding = out->effective;
	if (out->has_bounding && !out->has_effective)
		out->effective = out->bounding;
	out->has_effective = out->has_bounding = out->has_effective || out->has_bounding;
	if (of_agent->has_bounding && (out->bounding & ~of_agent->bounding))
		return err_set(err, ERR_INVALID,
			       "The capabilities that the container asks for are not allowed");
	if (out->effective & ~out->bounding)
		return err_set(err, ERR_INVALID,
			       "The effective capabilities are not a subset of the bounding ones");
	return 0;
}
