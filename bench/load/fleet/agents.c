/* See agents.h: registration and wires. What an agent says is in agent_messages.c, its tasks
 * are in runs.c. */
#include "bench/load/fleet/agents.h"

#include <stdlib.h>
#include <string.h>

#include "bench/load/fleet/actor.h"
#include "bench/load/fleet/agents_internal.h"

#define PREFIX "mesos.internal."
void fleet_send(struct fleet *f, uint32_t agent, const char *to, const char *name)
{
	char full[96];

	snprintf(full, sizeof(full), PREFIX "%s", name);
	wires_send(f->wires, agent, to, full, (struct slice){f->body.data, f->body.len});
	f->load->books.from_agents++;
}

/* ---- registration ---------------------------------------------------------- */

static void ask(struct fleet *f, uint32_t agent, int64_t now)
{
	struct actor *a = &f->agents[agent];

	buf_clear(&f->body);
	agent_message_register(&f->load->plan, agent, wires_port(f->wires, agent), &f->load->rng,
			       &f->body);
	wires_link(f->wires, agent, f->master);
	fleet_send(f, agent, f->master, "RegisterSlaveMessage");
	timers_start(&f->timers, &a->again, now + FLEET_REGISTER_AGAIN);
}

static void ask_more(struct fleet *f, int64_t now)
{
	while (f->asked < f->load->plan.agents && f->asked < f->registered + FLEET_OUTSTANDING)
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
	case ORDER_REREGISTERED:
		fleet_returned_one(f, agent, &order, now);
		break;
	case ORDER_KILL:
		fleet_kill(f, order.id, now);
		break;
	case ORDER_RUN:
		fleet_run(f, agent, &order, now);
		break;
	case ORDER_ACKNOWLEDGED:
		fleet_acknowledged(f, &order, now);
		break;
	case ORDER_PING:
		if (!order.connected && f->agents[agent].id && !f->leaving &&
		    f->load->phase != PHASE_RETURNING)
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

static void on_request(void *context, struct http_request *request)
{
	struct fleet *f = context;
	struct libprocess_message message;
	uint32_t agent;

	if (!libprocess_is_message(request) || !libprocess_parse(request, &message)) {
		http_reply_text(request, 400, NULL);
		return;
	}
	if (!actor_find(message.to, "slave", f->load->plan.agents, &agent) ||
	    !str_has_prefix(message.name, PREFIX)) {
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
	struct actor *a;

	switch (timer->kind) {
	case TIMER_REGISTER:
		a = container_of(timer, struct actor, again);
		if (a->id)
			fleet_ask_back(f, (uint32_t)(a - f->agents), now);
		else
			ask(f, (uint32_t)(a - f->agents), now);
		break;
	case TIMER_END:
		fleet_run_over(f, container_of(timer, struct run, end), now);
		break;
	case TIMER_UPDATE:
		fleet_update_again(f, container_of(timer, struct run, again), now);
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

	if (!f->leaving && !load_broke(f->load))
		load_fail(f->load, "the link to %s broke", pid);
}

/* ---- life ------------------------------------------------------------------- */

static void free_fleet(struct fleet *f)
{
	if (--f->open_handles > 0)
		return;
	fleet_free_runs(f);
	for (int64_t i = 0; i < f->load->plan.schedulers + f->load->plan.probes; i++)
		proto_free(f->frameworks[i]);
	free(f->frameworks);
	for (int64_t i = 0; i < f->load->plan.agents; i++)
		free(f->agents[i].id);
	timers_free(&f->timers);
	buf_free(&f->body);
	free(f->agents);
	free(f);
}

static void handle_closed_cb(uv_handle_t *handle)
{
	free_fleet(handle->data);
}

static void wires_closed_cb(void *context)
{
	free_fleet(context);
}

int fleet_create(struct load *load, struct fleet **out, struct err *err)
{
	struct fleet *f = xcalloc(1, sizeof(*f));

	f->load = load;
	f->frameworks = xcalloc((size_t)(load->plan.schedulers + load->plan.probes),
				sizeof(Mesos__FrameworkInfo *));
	f->agents = xcalloc((size_t)load->plan.agents, sizeof(*f->agents));
	for (int64_t i = 0; i < load->plan.agents; i++)
		f->agents[i].again.kind = TIMER_REGISTER;
	snprintf(f->master, sizeof(f->master), "master@%s:%d", load->plan.host, load->plan.port);
	uv_timer_init(&load->loop, &f->alarm);
	uv_prepare_init(&load->loop, &f->arm);
	f->alarm.data = f->arm.data = f;
	*out = f;
	return wires_open(&(struct wires_options){.load = load,
						  .handler = on_request,
						  .exited = exited_cb,
						  .closed = wires_closed_cb,
						  .context = f},
			  &f->wires, err);
}

void fleet_start(struct fleet *f)
{
	uv_prepare_start(&f->arm, arm_cb);
	ask_more(f, clock_now());
}

uint32_t fleet_registered(const struct fleet *f)
{
	return f->registered;
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

void fleet_close(struct fleet *f)
{
	f->leaving = true;
	f->open_handles = 3;
	uv_close((uv_handle_t *)&f->alarm, handle_closed_cb);
	uv_close((uv_handle_t *)&f->arm, handle_closed_cb);
	wires_close(f->wires);
}
