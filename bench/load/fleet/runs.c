/* Tasks on the agents of the fleet: each tells TASK_RUNNING and, once that is acknowledged
 * and its time is up, its end. An update is repeated until it is acknowledged. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load/fleet/agents_internal.h"
#include "bench/load/mix.h"

#define UPDATE_AGAIN_MIN (10 * SECOND) /* as a real agent does */
#define UPDATE_AGAIN_MAX (10 * MINUTE)
/* No end has come. */
#define NO_END MESOS__TASK_STATE__TASK_RUNNING

/* ---- updates ---------------------------------------------------------------- */

static void send_update(struct fleet *f, struct run *run, int64_t now)
{
	char task_id[TASK_ID_MAX];
	struct record *record;
	uint32_t number;

	books_task_id(&f->load->books, run->number, task_id);
	record = books_find(&f->load->books, task_id, &number);
	buf_clear(&f->body);
	agent_message_update(
		&(struct agent_update){.framework = load_framework_id(f->load, record->scheduler),
				       .agent = f->agents[run->agent].id,
				       .task = task_id,
				       .state = run->state,
				       .uuid = run->uuid,
				       .time = now,
				       .number = run->agent,
				       .ip = wires_ip(f->wires, run->agent),
				       .port = wires_port(f->wires, run->agent)},
		&f->body);
	fleet_send(f, run->agent, f->master, "StatusUpdateMessage");
	timers_start(&f->timers, &run->again, now + run->pause);
}

static void begin_update(struct fleet *f, struct run *run, Mesos__TaskState state, int64_t now)
{
	char task_id[TASK_ID_MAX];
	uint32_t number;

	run->state = state;
	run->pause = UPDATE_AGAIN_MIN;
	uuid_make(&f->load->rng, run->uuid);
	books_task_id(&f->load->books, run->number, task_id);
	books_find(&f->load->books, task_id, &number)->sent = now;
	send_update(f, run, now);
}

void fleet_update_again(struct fleet *f, struct run *run, int64_t now)
{
	run->pause = 2 * run->pause < UPDATE_AGAIN_MAX ? 2 * run->pause : UPDATE_AGAIN_MAX;
	f->load->books.retries++;
	send_update(f, run, now);
}

/* ---- life of a task ---------------------------------------------------------- */

/* Normal by Box and Muller, nothing below zero. */
static int64_t choose_length(struct fleet *f, uint32_t number)
{
	const struct plan *plan = &f->load->plan;
	double length = (double)plan->task_length;

	/* Those before it were ended; it comes late. */
	if (plan->cut && f->load->phase == PHASE_DRAINING)
		return 0;
	if (plan->mix)
		return mix_life(number);
	if (plan->task_spread > 0)
		length += (double)plan->task_spread * sqrt(-2 * log(1 - rng_unit(&f->load->rng))) *
			  cos(2 * M_PI * rng_unit(&f->load->rng));
	return length > 0 ? (int64_t)length : 0;
}

static struct run *new_run(struct fleet *f, uint32_t agent)
{
	struct run *run = f->free_runs, **first = &f->agents[agent].runs;

	if (run) {
		f->free_runs = run->next;
		memset(run, 0, sizeof(*run));
	} else {
		run = xcalloc(1, sizeof(*run));
	}
	run->agent = agent;
	run->next = *first;
	run->place = first;
	if (run->next)
		run->next->place = &run->next;
	*first = run;
	f->running++;
	return run;
}

static void end_run(struct fleet *f, struct run *run)
{
	timers_stop(&f->timers, &run->end);
	timers_stop(&f->timers, &run->again);
	*run->place = run->next;
	if (run->next)
		run->next->place = run->place;
	f->running--;
	f->told -= run->told;
	run->next = f->free_runs;
	f->free_runs = run;
}

static void begin_end(struct fleet *f, struct run *run, Mesos__TaskState state, int64_t now)
{
	if (run->wanted != NO_END)
		return;
	run->wanted = state;
	if (run->told)
		begin_update(f, run, state, now);
}

/* A task that is to be killed or held has no length. */
static void plan_end(struct fleet *f, struct run *run, enum fate fate, int64_t now)
{
	int64_t length;

	run->wanted = NO_END;
	run->doomed = fate == FATE_KILL;
	if (fate == FATE_KILL || f->load->plan.hold)
		return;
	length = choose_length(f, run->number);
	if (length == 0)
		run->wanted = MESOS__TASK_STATE__TASK_FINISHED;
	else
		timers_start(&f->timers, &run->end, now + length);
}

/* A task of a scheduler that is not ours ends at once, if the plan says so. Nothing is kept of it:
 * the update is not repeated. */
static void end_foreign(struct fleet *f, uint32_t agent, const struct agent_order *order,
			int64_t now)
{
	uint8_t uuid[UUID_BYTES];

	f->foreign++;
	if (!f->load->plan.others || !order->framework || !order->framework->id)
		return;
	uuid_make(&f->load->rng, uuid);
	buf_clear(&f->body);
	agent_message_update(&(struct agent_update){.framework = order->framework->id->value,
						    .agent = f->agents[agent].id,
						    .task = order->id,
						    .state = MESOS__TASK_STATE__TASK_FINISHED,
						    .uuid = uuid,
						    .time = now,
						    .number = agent,
						    .ip = wires_ip(f->wires, agent),
						    .port = wires_port(f->wires, agent)},
			     &f->body);
	fleet_send(f, agent, f->master, "StatusUpdateMessage");
}

void fleet_run(struct fleet *f, uint32_t agent, const struct agent_order *order, int64_t now)
{
	struct books *books = &f->load->books;
	struct record *record;
	struct run *run;
	uint32_t number;

	record = books_find(books, order->id, &number);
	if (!record || !f->agents[agent].id) {
		end_foreign(f, agent, order, now);
		return;
	}
	if (!books_arrive(books, number, now))
		return;
	if (!f->frameworks[record->scheduler])
		f->frameworks[record->scheduler] = proto_copy(order->framework);
	run = new_run(f, agent);
	run->number = number;
	run->end.kind = TIMER_END;
	run->again.kind = TIMER_UPDATE;
	record->run = run;
	plan_end(f, run, record->fate, now);
	begin_update(f, run, MESOS__TASK_STATE__TASK_RUNNING, now);
}

void fleet_run_over(struct fleet *f, struct run *run, int64_t now)
{
	begin_end(f, run, MESOS__TASK_STATE__TASK_FINISHED, now);
}

void fleet_kill(struct fleet *f, const char *task_id, int64_t now)
{
	uint32_t number;
	struct record *record = books_find(&f->load->books, task_id, &number);

	if (!record)
		f->foreign++;
	else if (record->fate != FATE_KILL)
		books_violate(&f->load->books, "task %u is killed, nobody wanted that", number);
	else if (record->run)
		begin_end(f, record->run, MESOS__TASK_STATE__TASK_KILLED, now);
}

void fleet_acknowledged(struct fleet *f, const struct agent_order *order, int64_t now)
{
	uint32_t number;
	struct record *record = books_find(&f->load->books, order->id, &number);
	struct run *run = record ? record->run : NULL;

	/* The acknowledgement of an update that was heard twice comes twice. */
	if (!run || order->uuid.len != UUID_BYTES ||
	    memcmp(order->uuid.data, run->uuid, UUID_BYTES) != 0)
		return;
	timers_stop(&f->timers, &run->again);
	if (run->state != MESOS__TASK_STATE__TASK_RUNNING) {
		record->run = NULL;
		end_run(f, run);
		books_finish(&f->load->books, number, now);
		return;
	}
	f->told += !run->told;
	run->told = true;
	if (run->wanted != NO_END)
		begin_update(f, run, run->wanted, now);
}

/* ---- all of them --------------------------------------------------------------- */

uint32_t fleet_running(const struct fleet *f)
{
	return f->running;
}

uint32_t fleet_told(const struct fleet *f)
{
	return f->told;
}

void fleet_end_runs(struct fleet *f, uint32_t max, int64_t now)
{
	uint32_t agents = (uint32_t)f->load->plan.agents;
	struct run *run;

	while (max > 0 && f->ending < agents) {
		for (run = f->agents[f->ending].runs; run; run = run->next) {
			if (!run->doomed)
				fleet_run_over(f, run, now);
			max -= max > 0;
		}
		f->ending++;
	}
}

void fleet_free_runs(struct fleet *f)
{
	struct run *run;

	for (int64_t i = 0; i < f->load->plan.agents; i++)
		while (f->agents[i].runs)
			end_run(f, f->agents[i].runs);
	while ((run = f->free_runs)) {
		f->free_runs = run->next;
		free(run);
	}
}
