#include "cli/job/run_container.h"

#include <string.h>

#include "base/flags/daemon_flags.h"

const char *run_image(const struct run_flags *flags)
{
	return flags->image ? flags->image : flags->docker_image;
}

bool run_image_is_of_mesos(const struct run_flags *flags)
{
	return !strcmp(flags->containerizer, "mesos");
}

/* NULL in *out if the flag was not given. */
static int read_message(struct arena *arena, const char *flag, const char *value,
			const ProtobufCMessageDescriptor *type, void *out, struct err *err)
{
	struct json *json;
	void *message;

	if (!value)
		return 0;
	if (daemon_flags_json(arena, flag, value, &json, err) < 0)
		return ERR_INVALID;
	message = json_to_proto(type, json, SPELL_V1, arena, err);
	memcpy(out, &message, sizeof(message));
	return message ? 0 : err_wrap(err, ERR_INVALID, "--%s", flag);
}

static int add_volumes(struct arena *arena, const char *value, Mesos__ContainerInfo *info,
		       struct err *err)
{
	struct json *list;

	if (!value)
		return 0;
	if (daemon_flags_json(arena, "volumes", value, &list, err) < 0)
		return ERR_INVALID;
	if (list->type != JSON_ARRAY)
		return err_set(err, ERR_INVALID, "--volumes is no array");
	for (size_t i = 0; i < list->count; i++) {
		Mesos__Volume *volume = json_to_proto(&mesos__volume__descriptor, &list->items[i],
						      SPELL_V1, arena, err);

		if (!volume)
			return err_wrap(err, ERR_INVALID, "--volumes");
		proto_push(arena, info->n_volumes, info->volumes, volume);
	}
	return 0;
}

static void add_networks(struct arena *arena, const char *names, Mesos__ContainerInfo *info)
{
	while (*names) {
		size_t len = strcspn(names, ",");
		Mesos__NetworkInfo *network =
			PROTO_NEW(arena, Mesos__NetworkInfo, mesos__network_info__descriptor);

		network->name = arena_printf(arena, "%.*s", (int)len, names);
		if (len)
			proto_push(arena, info->n_network_infos, info->network_infos, network);
		names += len + (names[len] == ',');
	}
}

static void set_image(struct arena *arena, Mesos__ContainerInfo *info,
		      const struct run_flags *flags)
{
	const char *name = run_image(flags);
	Mesos__Image *image;

	if (!run_image_is_of_mesos(flags)) {
		info->type = MESOS__CONTAINER_INFO__TYPE__DOCKER;
		info->docker = PROTO_NEW(arena, Mesos__ContainerInfo__DockerInfo,
					 mesos__container_info__docker_info__descriptor);
		info->docker->image = (char *)name;
		return;
	}
	image = PROTO_NEW(arena, Mesos__Image, mesos__image__descriptor);
	image->type = MESOS__IMAGE__TYPE__DOCKER;
	image->docker = PROTO_NEW(arena, Mesos__Image__Docker, mesos__image__docker__descriptor);
	image->docker->name = (char *)name;
	info->mesos = PROTO_NEW(arena, Mesos__ContainerInfo__MesosInfo,
				mesos__container_info__mesos_info__descriptor);
	info->mesos->image = image;
}

int run_container_make(struct arena *arena, const struct run_flags *flags,
		       Mesos__ContainerInfo **out, struct err *err)
{
	bool capable = flags->effective_capabilities || flags->bounding_capabilities;
	Mesos__ContainerInfo *info;

	*out = NULL;
	if (!run_image(flags) && !flags->volumes && !flags->rlimits && !capable && !flags->tty &&
	    !flags->networks)
		return 0;
	info = *out = PROTO_NEW(arena, Mesos__ContainerInfo, mesos__container_info__descriptor);
	info->type = MESOS__CONTAINER_INFO__TYPE__MESOS;
	if (run_image(flags))
		set_image(arena, info, flags);
	if (flags->networks)
		add_networks(arena, flags->networks, info);
	if (flags->tty)
		info->tty_info = PROTO_NEW(arena, Mesos__TTYInfo, mesos__ttyinfo__descriptor);
	if (capable)
		info->linux_info =
			PROTO_NEW(arena, Mesos__LinuxInfo, mesos__linux_info__descriptor);
	if (add_volumes(arena, flags->volumes, info, err) < 0 ||
	    read_message(arena, "rlimits", flags->rlimits, &mesos__rlimit_info__descriptor,
			 &info->rlimit_info, err) < 0)
		return ERR_INVALID;
	if (!capable)
		return 0;
	return read_message(arena, "effective_capabilities", flags->effective_capabilities,
			    &mesos__capability_info__descriptor,
			    &info->linux_info->effective_capabilities, err) < 0 ||
			       read_message(arena, "bounding_capabilities",
					    flags->bounding_capabilities,
					    &mesos__capability_info__descriptor,
					    &info->linux_info->bounding_capabilities, err) < 0
		       ? ERR_INVALID
		       : 0;
}
