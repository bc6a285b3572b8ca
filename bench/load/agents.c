/* See agents.h. What an agent says is in agent_messages.c. */
#include "bench/load/agents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/timer.h"
#include "bench/load/agent_messages.h"
#include "net/http.h"
#include "net/libprocess.h"

#define PREFIX "mesos.internal."
#define BODY_MAX (64 * 1024 * 1024)
#define OUTSTANDING 5000 /* registrations at a time */
#define REGISTER_AGAIN (10 * SECOND)
#define UPDATE_AGAIN_MIN (10 * SECOND) /* as a real agent does */
#define UPDATE_AGAIN_MAX (10 * MINUTE)

enum { TIMER_REGISTER, TIMER_END, TIMER_UPDATE };

struct actor {
	struct timer again; /* registration */
	char *id;	    /* NULL before the master gave one */
};

/* A task on its agent. */
struct run {
	union {
		struct timer end; /* while it runs */
		struct run *next_free;
	};
	struct timer again; /* the update that waits for its acknowledgement */
	struct list link;
	int64_t pause;
	uint32_t agent;
	uint32_t number;
	Mesos__TaskState state; /* of the update under way */
	bool over;		/* its time is up */
	bool told;		/* TASK_RUNNING was acknowledged */
	uint8_t uuid[UUID_BYTES];
};

struct fleet {
	struct load *load;
	struct messenger *messenger;
	struct http_server **servers;
	size_t server_count;
	size_t open_servers;
	struct timers timers;
	uv_timer_t alarm;
	uv_prepare_t arm; /* sets the alarm before the loop sleeps */
	char master[PID_MAX];
	struct actor *agents;
	uint32_t asked;
	uint32_t registered;
	uint32_t running;
	uint64_t foreign;
	struct list runs;
	struct run *free_runs;
	struct buf body;
	bool leaving;
	int open_handles;
};

static void fleet_send(struct fleet *f, uint32_t agent, const char *to, const char *name)
{
	char from[PID_MAX], full[96];

	snprintf(from, sizeof(from), "slave(%u)@%s:%d", agent + 1, f->load->plan.ip,
		 http_server_port(f->servers[agent % f->server_count]));
	snprintf(full, sizeof(full), PREFIX "%s", name);
	messenger_send(f->messenger, from, to, full, f->body.data, f->body.len);
	f->load->books.from_agents++;
}

/* ---- registration ---------------------------------------------------------- */

static void ask(struct fleet *f, uint32_t agent, int64_t now)
{
	struct actor *a = &f->agents[agent];

	buf_clear(&f->body);
	agent_message_register(&f->load->plan, agent,
			       http_server_port(f->servers[agent % f->server_count]), &f->load->rng,
			       &f->body);
	fleet_send(f, agent, f->master, "RegisterSlaveMessage");
	timers_start(&f->timers, &a->again, now + REGISTER_AGAIN);
}

static void ask_more(struct fleet *f, int64_t now)
{
	while (f->asked < f->load->plan.agents && f->asked < f->registered + OUTSTANDING)
		ask(f, f->asked++, now);
}

static void on_registered(struct fleet *f, uint32_t agent, const char *id, int64_t now)
{
	struct actor *a = &f->agents[agent];

	if (a->id && strcmp(a->id, id) != 0)
		load_fail(f->load, "agent %u was %s and is now to be %s", agent + 1, a->id, id);
	if (a->id)
		return;
	a->id = xstrdup(id);
	f->registered++;
	timers_stop(&f->timers, &a->again);
	ask_more(f, now);
}

/* ---- tasks ----------------------------------------------------------------- */

static void send_update(struct fleet *f, struct run *run, int64_t now)
{
	const char *framework;
	char task_id[TASK_ID_MAX];
	struct record *record;
	uint32_t number;

	books_task_id(&f->load->books, run->number, task_id);
	record = books_find(&f->load->books, task_id, &number);
	framework = load_framework_id(f->load, record->scheduler);
	buf_clear(&f->body);
	agent_message_update(
		&(struct agent_update){
			.framework = framework,
			.agent = f->agents[run->agent].id,
			.task = task_id,
			.state = run->state,
			.uuid = run->uuid,
			.time = now,
			.number = run->agent,
			.ip = f->load->plan.ip,
			.port = http_server_port(f->servers[run->agent % f->server_count])},
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

/* Normal by Box and Muller, nothing below zero. */
static int64_t choose_length(struct fleet *f)
{
	const struct plan *plan = &f->load->plan;
	double length = (double)plan->task_length;

	if (plan->task_spread > 0)
		length += (double)plan->task_spread * sqrt(-2 * log(1 - rng_unit(&f->load->rng))) *
			  cos(2 * M_PI * rng_unit(&f->load->rng));
	return length > 0 ? (int64_t)length : 0;
}

static struct run *new_run(struct fleet *f)
{
	struct run *run = f->free_runs;

	if (!run)
		return xcalloc(1, sizeof(*run));
	f->free_runs = run->next_free;
	memset(run, 0, sizeof(*run));
	return run;
}

static void on_run(struct fleet *f, uint32_t agent, const char *task_id, int64_t now)
{
	struct books *books = &f->load->books;
	uint32_t number;
	struct record *record = books_find(books, task_id, &number);
	struct run *run;

	if (!record || !f->agents[agent].id) {
		f->foreign++;
		return;
	}
	if (!books_arrive(books, number, now))
		return;
	run = new_run(f);
	run->agent = agent;
	run->number = number;
	run->end.kind = TIMER_END;
	run->again.kind = TIMER_UPDATE;
	list_append(&f->runs, &run->link);
	record->run = run;
	f->running++;
	int64_t length = choose_length(f);
	if (length == 0)
		run->over = true;
	else
		timers_start(&f->timers, &run->end, now + length);
	begin_update(f, run, MESOS__TASK_STATE__TASK_RUNNING, now);
}

static void end_run(struct fleet *f, struct run *run)
{
	timers_stop(&f->timers, &run->end);
	timers_stop(&f->timers, &run->again);
	list_remove(&run->link);
	f->running--;
	run->next_free = f->free_runs;
	f->free_runs = run;
}

static void on_acknowledged(struct fleet *f, const char *task_id, ProtobufCBinaryData uuid,
			    int64_t now)
{
	uint32_t number;
	struct record *record = books_find(&f->load->books, task_id, &number);
	struct run *run = record ? record->run : NULL;

	/* The acknowledgement of an update that was heard twice comes twice. */
	if (!run || uuid.len != UUID_BYTES || memcmp(uuid.data, run->uuid, UUID_BYTES) != 0)
		return;
	timers_stop(&f->timers, &run->again);
	if (run->state == MESOS__TASK_STATE__TASK_FINISHED) {
		record->run = NULL;
		end_run(f, run);
		books_finish(&f->load->books, number, now);
		return;
	}
	run->told = true;
	if (run->over)
		begin_update(f, run, MESOS__TASK_STATE__TASK_FINISHED, now);
}

/* ---- messages in ------------------------------------------------------------ */

static void pong(struct fleet *f, uint32_t agent, const char *from)
{
	buf_clear(&f->body);
	fleet_send(f, agent, from, "PongSlaveMessage");
}

static void take(struct fleet *f, uint32_t agent, const char *from, const char *name,
		 struct slice body, struct arena *arena)
{
	int64_t now = clock_now();
	struct agent_order order;

	f->load->books.to_agents++;
	if (!agent_message_parse(name, body, arena, &order)) {
		load_fail(f->load, "agent %u: %s cannot be read", agent + 1, name);
		return;
	}
	switch (order.kind) {
	case ORDER_REGISTERED:
		on_registered(f, agent, order.id, now);
		break;
	case ORDER_RUN:
		on_run(f, agent, order.id, now);
		break;
	case ORDER_ACKNOWLEDGED:
		on_acknowledged(f, order.id, order.uuid, now);
		break;
	case ORDER_PING:
		if (!order.connected && f->agents[agent].id && !f->leaving)
			load_fail(f->load, "the master holds agent %u for disconnected", agent + 1);
		pong(f, agent, from);
		break;
	case ORDER_SHUTDOWN:
		if (!f->leaving)
			load_fail(f->load, "the master sends agent %u away: %s", agent + 1,
				  order.id);
		break;
	case ORDER_OTHER:
		break;
	}
}

/* "slave(12)" -> 11; false for what is none of ours. */
static bool find_agent(const struct fleet *f, const char *id, uint32_t *out)
{
	char *end;
	unsigned long number;

	if (!str_has_prefix(id, "slave("))
		return false;
	number = strtoul(id + 6, &end, 10);
	if (strcmp(end, ")") != 0 || number < 1 || number > (unsigned long)f->load->plan.agents)
		return false;
	*out = (uint32_t)number - 1;
	return true;
}

static void on_request(void *context, struct http_request *request)
{
	struct fleet *f = context;
	struct libprocess_message message;
	uint32_t agent;

	if (!libprocess_is_message(request) || !libprocess_parse(request, &message)) {
		http_reply_text(request, 400, NULL);
		return;
	}
	if (!find_agent(f, message.to, &agent) || !str_has_prefix(message.name, PREFIX)) {
		http_reply_text(request, 404, NULL);
		return;
	}
	if (f->load->phase < PHASE_OVER)
		take(f, agent, message.from, message.name + strlen(PREFIX), message.body,
		     &request->arena);
	http_reply(request, 202, NULL, NULL, 0, NULL);
}

/* ---- time ------------------------------------------------------------------- */

static void fire(struct fleet *f, struct timer *timer, int64_t now)
{
	struct run *run;

	switch (timer->kind) {
	case TIMER_REGISTER:
		ask(f, (uint32_t)(container_of(timer, struct actor, again) - f->agents), now);
		break;
	case TIMER_END:
		run = container_of(timer, struct run, end);
		run->over = true;
		if (run->told)
			begin_update(f, run, MESOS__TASK_STATE__TASK_FINISHED, now);
		break;
	case TIMER_UPDATE:
		run = container_of(timer, struct run, again);
		run->pause = 2 * run->pause < UPDATE_AGAIN_MAX ? 2 * run->pause : UPDATE_AGAIN_MAX;
		f->load->books.retries++;
		send_update(f, run, now);
		break;
	}
}

static void alarm_cb(uv_timer_t *alarm)
{
	struct fleet *f = alarm->data;
	int64_t now = clock_now();
	struct timer *timer;

	while (!f->leaving && (timer = timers_pop(&f->timers, now)))
		fire(f, timer, now);
}

static void arm_cb(uv_prepare_t *arm)
{
	struct fleet *f = arm->data;
	int64_t next = timers_next(&f->timers), wait;

	if (next == TIME_NEVER || f->leaving) {
		uv_timer_stop(&f->alarm);
		return;
	}
	wait = (next - clock_now() + MILLISECOND - 1) / MILLISECOND;
	uv_timer_start(&f->alarm, alarm_cb, wait > 0 ? (uint64_t)wait : 0, 0);
}

static void exited_cb(void *context, const char *pid)
{
	struct fleet *f = context;

	if (!f->leaving)
		load_fail(f->load, "the link to %s broke", pid);
}

/* ---- life ------------------------------------------------------------------- */

static int open_server(struct fleet *f, struct err *err)
{
	struct http_server_options options = {
		.loop = &f->load->loop,
		.ip = f->load->plan.ip,
		.body_max = BODY_MAX,
		.handler = on_request,
		.context = f,
	};
	int rv = http_server_create(&options, &f->servers[f->server_count], err);

	if (rv == 0)
		f->server_count++;
	return rv;
}

int fleet_create(struct load *load, struct fleet **out, struct err *err)
{
	struct fleet *f = xcalloc(1, sizeof(*f));
	int rv = 0;

	f->load = load;
	list_init(&f->runs);
	f->agents = xcalloc((size_t)load->plan.agents, sizeof(*f->agents));
	for (int64_t i = 0; i < load->plan.agents; i++)
		f->agents[i].again.kind = TIMER_REGISTER;
	f->servers = xcalloc((size_t)load->plan.ports, sizeof(*f->servers));
	snprintf(f->master, sizeof(f->master), "master@%s:%d", load->plan.host, load->plan.port);
	f->messenger = messenger_create(&load->loop, exited_cb, f);
	uv_timer_init(&load->loop, &f->alarm);
	uv_prepare_init(&load->loop, &f->arm);
	f->alarm.data = f->arm.data = f;
	*out = f;
	while (rv == 0 && f->server_count < (size_t)load->plan.ports)
		rv = open_server(f, err);
	return rv;
}

void fleet_start(struct fleet *f)
{
	uv_prepare_start(&f->arm, arm_cb);
	messenger_link(f->messenger, f->master);
	ask_more(f, clock_now());
}

uint32_t fleet_registered(const struct fleet *f)
{
	return f->registered;
}

uint32_t fleet_running(const struct fleet *f)
{
	return f->running;
}

uint64_t fleet_foreign(const struct fleet *f)
{
	return f->foreign;
}

void fleet_unregister(struct fleet *f)
{
	f->leaving = true;
	for (uint32_t i = 0; i < f->asked; i++) {
		if (!f->agents[i].id)
			continue;
		buf_clear(&f->body);
		agent_message_unregister(f->agents[i].id, &f->body);
		fleet_send(f, i, f->master, "UnregisterSlaveMessage");
	}
}

static void free_fleet(struct fleet *f)
{
	struct run *run;

	if (f->open_servers > 0 || f->open_handles > 0)
		return;
	while ((run = list_first(&f->runs, struct run, link)))
		end_run(f, run);
	while ((run = f->free_runs)) {
		f->free_runs = run->next_free;
		free(run);
	}
	for (int64_t i = 0; i < f->load->plan.agents; i++)
		free(f->agents[i].id);
	timers_free(&f->timers);
	buf_free(&f->body);
	free(f->agents);
	free(f->servers);
	free(f);
}

static void handle_closed_cb(uv_handle_t *handle)
{
	struct fleet *f = handle->data;

	f->open_handles--;
	free_fleet(f);
}

static void server_closed_cb(void *context)
{
	struct fleet *f = context;

	f->open_servers--;
	free_fleet(f);
}

void fleet_close(struct fleet *f)
{
	f->leaving = true;
	messenger_close(f->messenger);
	f->open_handles = 2;
	f->open_servers = f->server_count;
	uv_close((uv_handle_t *)&f->alarm, handle_closed_cb);
	uv_close((uv_handle_t *)&f->arm, handle_closed_cb);
	for (size_t i = 0; i < f->server_count; i++)
		http_server_close(f->servers[i], server_closed_cb, f);
}
