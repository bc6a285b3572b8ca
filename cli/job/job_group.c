/* A group of tasks, launched as one on an offer that has room for all of it, with an executor that
 * is Mesos' own, the default one. */
#include <stdlib.h>
#include <string.h>

#include "cli/job/job.h"

/* What mesos-execute gives such an executor. */
static const struct {
	const char *name;
	double amount;
} of_executor[] = {{"cpus", 0.1}, {"mem", 32}, {"disk", 32}};

#define EXECUTOR_RESOURCES (sizeof(of_executor) / sizeof(of_executor[0]))

static bool group_fits(const Mesos__TaskGroupInfo *group, const Mesos__Offer *offer)
{
	static const char *const scalars[] = {"cpus", "mem", "disk", "gpus"};

	for (size_t k = 0; k < sizeof(scalars) / sizeof(*scalars); k++) {
		int64_t want = k < EXECUTOR_RESOURCES ? (int64_t)(of_executor[k].amount * 1000) : 0;

		for (size_t i = 0; i < group->n_tasks; i++)
			want += job_available(group->tasks[i]->resources,
					      group->tasks[i]->n_resources, scalars[k]);
		if (want > job_available(offer->resources, offer->n_resources, scalars[k]))
			return false;
	}
	return true;
}

static Mesos__ExecutorInfo *make_executor(struct job *job, struct arena *arena)
{
	Mesos__ExecutorInfo *info =
		PROTO_NEW(arena, Mesos__ExecutorInfo, mesos__executor_info__descriptor);

	info->has_type = 1;
	info->type = MESOS__EXECUTOR_INFO__TYPE__DEFAULT;
	info->executor_id = PROTO_NEW(arena, Mesos__ExecutorID, mesos__executor_id__descriptor);
	info->executor_id->value = job->executor;
	info->framework_id = PROTO_NEW(arena, Mesos__FrameworkID, mesos__framework_id__descriptor);
	info->framework_id->value = (char *)scheduler_driver_id(job->driver);
	for (size_t k = 0; k < EXECUTOR_RESOURCES; k++) {
		Mesos__Resource *r = PROTO_NEW(arena, Mesos__Resource, mesos__resource__descriptor);

		r->name = (char *)of_executor[k].name;
		r->type = MESOS__VALUE__TYPE__SCALAR;
		r->scalar =
			PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
		r->scalar->value = of_executor[k].amount;
		proto_push(arena, info->n_resources, info->resources, r);
	}
	return info;
}

/* One whose launch came to nothing is told so for each of its tasks, one after the other. */
static bool is_pending(const struct job *job)
{
	for (int i = 0; i < job->options->instances; i++)
		if (job->tasks[i].progress != JOB_PENDING)
			return false;
	return true;
}

bool job_group_launch(struct job *job, Mesos__Offer *offer, struct arena *arena)
{
	Mesos__Offer__Operation operation = MESOS__OFFER__OPERATION__INIT;
	Mesos__Offer__Operation__LaunchGroup launch = MESOS__OFFER__OPERATION__LAUNCH_GROUP__INIT;

	if (!is_pending(job) || !group_fits(job->options->group, offer))
		return false;
	free(job->executor);
	job->executor = xprintf("%s-%d", job->options->name, ++job->groups);
	operation.type = MESOS__OFFER__OPERATION__TYPE__LAUNCH_GROUP;
	operation.launch_group = &launch;
	launch.executor = make_executor(job, arena);
	launch.task_group = proto_copy_to(arena, job->options->group);
	for (int i = 0; i < job->options->instances; i++) {
		launch.task_group->tasks[i]->agent_id = offer->agent_id;
		job_launch_note(&job->tasks[i], offer);
	}
	job_launch_accept(job, offer, &operation);
	return true;
}
