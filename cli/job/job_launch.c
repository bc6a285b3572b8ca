/* Offers and tasks: what `mesita run` launches where. */
#include <stdlib.h>
#include <string.h>

#include "cli/job/job.h"

#define LAUNCHES_MAX 10		 /* of one task, when its launches come to nothing */
#define REFUSE_WHILE_PENDING 0.2 /* s: freed resources are wanted at once */
#define REFUSE_AT_LAST 3600.0

static const char *const scalars[] = {"cpus", "mem", "disk", "gpus"};

#define SCALARS (sizeof(scalars) / sizeof(*scalars))

int64_t job_available(Mesos__Resource *const *list, size_t count, const char *name)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i]->name, name) && list[i]->scalar &&
		    list[i]->n_reservations == 0 && !list[i]->revocable)
			sum += list[i]->scalar->value;
	return sum < 0 ? 0 : sum > 1e12 ? INT64_MAX / 2 : (int64_t)(sum * 1000 + 0.5);
}

/* Whether one more task fits into what is left; takes it out if so. */
static bool take_share(int64_t left[SCALARS], const int64_t want[SCALARS])
{
	for (size_t i = 0; i < SCALARS; i++)
		if (want[i] > left[i])
			return false;
	for (size_t i = 0; i < SCALARS; i++)
		left[i] -= want[i];
	return true;
}

static struct job_task *next_pending(struct job *job)
{
	while (job->next_pending < job->options->instances &&
	       job->tasks[job->next_pending].progress != JOB_PENDING)
		job->next_pending++;
	return job->next_pending < job->options->instances ? &job->tasks[job->next_pending] : NULL;
}

static void set_text(char **text, char *value)
{
	free(*text);
	*text = value;
}

static void remember_agent(struct job_task *task, const Mesos__Offer *offer)
{
	const Mesos__Address *address = offer->url ? offer->url->address : NULL;

	set_text(&task->agent_id, xstrdup(offer->agent_id->value));
	set_text(&task->agent_name, address ? xprintf("%s:%d", offer->hostname, address->port)
					    : xstrdup(offer->hostname));
	set_text(&task->agent_address,
		 address ? xprintf("%s:%d", address->ip ? address->ip : address->hostname,
				   address->port)
			 : NULL);
}

static Mesos__TaskInfo *job_launch_make_task(struct arena *arena, struct job_task *task,
					     const Mesos__Offer *offer)
{
	Mesos__TaskInfo *info = proto_copy_to(arena, task->job->options->task);

	info->task_id = PROTO_NEW(arena, Mesos__TaskID, mesos__task_id__descriptor);
	info->task_id->value = task->id;
	if (task->job->options->instances > 1)
		info->name = task->id;
	info->agent_id = offer->agent_id;
	return info;
}

static void remember_offer(struct job *job, const Mesos__Offer *offer)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < SCALARS; i++) {
		double amount =
			(double)job_available(offer->resources, offer->n_resources, scalars[i]) /
			1000;

		if (amount > 0)
			buf_printf(&text, "%s%s:%g", text.len ? ";" : "", scalars[i], amount);
	}
	set_text(&job->last_offer, buf_take(&text));
}

/* An offer, what is left of it, and what is launched on it. */
struct share {
	Mesos__Offer *offer;
	int64_t left[SCALARS];
	Mesos__Offer__Operation__Launch launch;
};

static struct share *make_shares(struct arena *arena, Mesos__Scheduler__Event__Offers *offers)
{
	struct share *shares = arena_alloc(arena, (offers->n_offers + 1) * sizeof(*shares));

	for (size_t i = 0; i < offers->n_offers; i++) {
		Mesos__Offer *offer = offers->offers[i];

		shares[i].offer = offer;
		mesos__offer__operation__launch__init(&shares[i].launch);
		for (size_t k = 0; k < SCALARS; k++)
			shares[i].left[k] =
				job_available(offer->resources, offer->n_resources, scalars[k]);
	}
	return shares;
}

void job_launch_note(struct job_task *task, const Mesos__Offer *offer)
{
	task->progress = JOB_LAUNCHED;
	task->launches++;
	remember_agent(task, offer);
	job_report_launch(task);
}

static void assign(struct job_task *task, struct share *share, struct arena *arena)
{
	proto_push(arena, share->launch.n_task_infos, share->launch.task_infos,
		   job_launch_make_task(arena, task, share->offer));
	job_launch_note(task, share->offer);
}

/* One task to each offer in turn, as long as any has room: agents share the work. */
static void distribute(struct job *job, struct share *shares, size_t count, struct arena *arena)
{
	const Mesos__TaskInfo *model = job->options->task;
	int64_t want[SCALARS];
	bool assigned = true;

	for (size_t k = 0; k < SCALARS; k++)
		want[k] = job_available(model->resources, model->n_resources, scalars[k]);
	while (assigned) {
		assigned = false;
		for (size_t i = 0; i < count; i++) {
			struct job_task *task = next_pending(job);

			if (!task || !take_share(shares[i].left, want))
				continue;
			assign(task, &shares[i], arena);
			assigned = true;
		}
	}
}

static void fill_filters(struct job *job, Mesos__Filters *filters)
{
	filters->has_refuse_seconds = 1;
	filters->refuse_seconds = next_pending(job) ? REFUSE_WHILE_PENDING : REFUSE_AT_LAST;
}

void job_launch_accept(struct job *job, Mesos__Offer *offer, Mesos__Offer__Operation *operation)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Accept body = MESOS__SCHEDULER__CALL__ACCEPT__INIT;
	Mesos__Filters filters = MESOS__FILTERS__INIT;

	operation->has_type = 1;
	fill_filters(job, &filters);
	body.n_offer_ids = 1;
	body.offer_ids = &offer->id;
	body.n_operations = 1;
	body.operations = &operation;
	body.filters = &filters;
	call.type = MESOS__SCHEDULER__CALL__TYPE__ACCEPT;
	call.accept = &body;
	scheduler_driver_call(job->driver, &call);
}

static void launch_on(struct job *job, Mesos__Offer *offer, Mesos__Offer__Operation__Launch *launch)
{
	Mesos__Offer__Operation operation = MESOS__OFFER__OPERATION__INIT;

	operation.type = MESOS__OFFER__OPERATION__TYPE__LAUNCH;
	operation.launch = launch;
	job_launch_accept(job, offer, &operation);
}

static void job_launch_decline(struct job *job, Mesos__Scheduler__Call__Decline *body)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Filters filters = MESOS__FILTERS__INIT;

	fill_filters(job, &filters);
	body->filters = &filters;
	call.type = MESOS__SCHEDULER__CALL__TYPE__DECLINE;
	call.decline = body;
	scheduler_driver_call(job->driver, &call);
}

static void suppress_when_done(struct job *job)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;

	if (job->suppressed || next_pending(job))
		return;
	job->suppressed = true;
	call.type = MESOS__SCHEDULER__CALL__TYPE__SUPPRESS;
	scheduler_driver_call(job->driver, &call);
}

void job_launch_on(struct job *job, Mesos__Scheduler__Event__Offers *offers)
{
	Mesos__Scheduler__Call__Decline unused = MESOS__SCHEDULER__CALL__DECLINE__INIT;
	struct share *shares;
	struct arena arena;

	arena_init(&arena);
	shares = make_shares(&arena, offers);
	if (!job->options->group)
		distribute(job, shares, offers->n_offers, &arena);
	for (size_t i = 0; i < offers->n_offers; i++) {
		if (job->options->group && job_group_launch(job, shares[i].offer, &arena))
			continue;
		if (shares[i].launch.n_task_infos) {
			launch_on(job, shares[i].offer, &shares[i].launch);
			continue;
		}
		remember_offer(job, shares[i].offer);
		proto_push(&arena, unused.n_offer_ids, unused.offer_ids, shares[i].offer->id);
	}
	if (unused.n_offer_ids)
		job_launch_decline(job, &unused);
	suppress_when_done(job);
	arena_free(&arena);
}

bool job_launch_again(struct job_task *task)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	struct job *job = task->job;
	int index = (int)(task - job->tasks);

	if (task->launches >= LAUNCHES_MAX)
		return false;
	task->progress = JOB_PENDING;
	task->state = MESOS__TASK_STATE__TASK_STAGING;
	if (index < job->next_pending)
		job->next_pending = index;
	if (job->suppressed) {
		job->suppressed = false;
		call.type = MESOS__SCHEDULER__CALL__TYPE__REVIVE;
		scheduler_driver_call(job->driver, &call);
	}
	return true;
}

void job_kill(struct job_task *task)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Kill kill = MESOS__SCHEDULER__CALL__KILL__INIT;
	Mesos__TaskID task_id = MESOS__TASK_ID__INIT;

	job_report_kill(task);
	task_id.value = task->id;
	kill.task_id = &task_id;
	call.type = MESOS__SCHEDULER__CALL__TYPE__KILL;
	call.kill = &kill;
	scheduler_driver_call(task->job->driver, &call);
}
