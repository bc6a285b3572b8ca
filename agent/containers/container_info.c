/* Refusing what containers cannot do; see container_info.h.
 *
 * What changes nothing for a program that does not look for it passes: resource limits of
 * processes, capabilities, a terminal. Mesos without the isolators for them does the same. */
#include "agent/containers/container_info.h"

#include "base/log/log.h"

int container_info_check(const struct room_options *rooms, const Mesos__ContainerInfo *info,
			 bool nested, enum agent_start_stage *stage, struct err *err)
{
	*stage = AGENT_STAGE_LAUNCH;
	if (!info)
		return 0;
	if (info->type == MESOS__CONTAINER_INFO__TYPE__MESOS)
		return room_check(rooms, info, nested, err);
	*stage = AGENT_STAGE_TYPE;
	/* Mesos' whole answer, which says nothing. */
	log_warning(
		"A container of type %s was asked for: there is no containerizer for it, as in a "
		"Mesos agent with --containerizers=mesos",
		proto_enum_name(&mesos__container_info__type__descriptor, info->type, SPELL_V1));
	return err_set(err, ERR_INVALID, "unknown container");
}

#define TYPE(name) MESOS__RLIMIT_INFO__RLIMIT__TYPE__RLMT_##name

static const int rlimits[] = {
	[TYPE(AS)] = RLIMIT_AS,
	[TYPE(CORE)] = RLIMIT_CORE,
	[TYPE(CPU)] = RLIMIT_CPU,
	[TYPE(DATA)] = RLIMIT_DATA,
	[TYPE(FSIZE)] = RLIMIT_FSIZE,
	[TYPE(LOCKS)] = RLIMIT_LOCKS,
	[TYPE(MEMLOCK)] = RLIMIT_MEMLOCK,
	[TYPE(MSGQUEUE)] = RLIMIT_MSGQUEUE,
	[TYPE(NICE)] = RLIMIT_NICE,
	[TYPE(NOFILE)] = RLIMIT_NOFILE,
	[TYPE(NPROC)] = RLIMIT_NPROC,
	[TYPE(RSS)] = RLIMIT_RSS,
	[TYPE(RTPRIO)] = RLIMIT_RTPRIO,
	[TYPE(RTTIME)] = RLIMIT_RTTIME,
	[TYPE(SIGPENDING)] = RLIMIT_SIGPENDING,
	[TYPE(STACK)] = RLIMIT_STACK,
};

int container_rlimit(const Mesos__RLimitInfo__RLimit *wanted, int *resource, struct rlimit *value,
		     struct err *err)
{
	unsigned type = wanted->has_type ? (unsigned)wanted->type : 0;

	if (!type || type >= sizeof(rlimits) / sizeof(rlimits[0]))
		return err_set(err, ERR_INVALID, "Unknown rlimit type");
	if (wanted->has_soft != wanted->has_hard)
		return err_set(
			err, ERR_INVALID,
			"Both the soft and the hard limit of an rlimit must be set, or none");
	if (wanted->has_soft && wanted->soft > wanted->hard)
		return err_set(err, ERR_INVALID,
			       "The soft limit of an rlimit exceeds the hard one");
	*resource = rlimits[type];
	value->rlim_cur = wanted->has_soft ? wanted->soft : RLIM_INFINITY;
	value->rlim_max = wanted->has_hard ? wanted->hard : RLIM_INFINITY;
	return 0;
}
