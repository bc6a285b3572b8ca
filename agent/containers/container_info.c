/* Refusing what containers cannot do; see container_info.h.
 *
 * What changes nothing for a program that does not look for it passes: resource limits of
 * processes, capabilities, a terminal. Mesos without the isolators for them does the same. */
#include "agent/containers/container_info.h"

#include "base/log/log.h"

static int refuse_mesos(const Mesos__ContainerInfo *info, struct err *err)
{
	if (info->mesos && info->mesos->image)
		return err_set(err, ERR_INVALID, "Unsupported container image type: %s",
			       proto_enum_name(&mesos__image__type__descriptor,
					       info->mesos->image->type, SPELL_V1));
	if (info->n_volumes)
		return err_set(err, ERR_INVALID, "Volumes in ContainerInfo is not supported");
	for (size_t i = 0; i < info->n_network_infos; i++)
		if (info->network_infos[i]->name)
			return err_set(err, ERR_INVALID, "Unknown CNI network '%s'",
				       info->network_infos[i]->name);
	return 0;
}

int container_info_check(const Mesos__ContainerInfo *info, enum agent_start_stage *stage,
			 struct err *err)
{
	*stage = AGENT_STAGE_LAUNCH;
	if (!info)
		return 0;
	if (info->type == MESOS__CONTAINER_INFO__TYPE__MESOS)
		return refuse_mesos(info, err);
	*stage = AGENT_STAGE_TYPE;
	/* Mesos' whole answer, which says nothing. */
	log_warning(
		"A container of type %s was asked for: there is no containerizer for it, as in a "
		"Mesos agent with --containerizers=mesos",
		proto_enum_name(&mesos__container_info__type__descriptor, info->type, SPELL_V1));
	return err_set(err, ERR_INVALID, "unknown container");
}
