#include "lab/seams/seams.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "base/random.h"

static void free_closed(struct sim_loop *loop)
{
	uv_timer_t *timer;

	while ((timer = list_first(&loop->closing, uv_timer_t, closing))) {
		list_remove(&timer->closing);
		timer->closed(timer);
	}
	sim_http_clients_free(loop);
}

static void on_end_of_turn(struct happening *h)
{
	free_closed(container_of(h, struct sim_loop, end_of_turn));
}

void sim_loop_init(struct sim_loop *loop, struct process *process, uint64_t *next_call)
{
	*loop = (struct sim_loop){.process = process, .next_call = next_call};
	list_init(&loop->clients);
	list_init(&loop->closed_clients);
	list_init(&loop->streams);
	list_init(&loop->closing);
	loop->end_of_turn.run = on_end_of_turn;
}

void sim_loop_later(struct sim_loop *loop)
{
	world_after(loop->process->world, &loop->end_of_turn, 0);
}

void sim_loop_free(struct sim_loop *loop)
{
	world_cancel(loop->process->world, &loop->end_of_turn);
	free_closed(loop);
	free(loop->stream_id);
	loop->stream_id = NULL;
}

/* ---- timers -------------------------------------------------------------------------------- */

static void sim_timer_arm(uv_timer_t *timer, uint64_t ms)
{
	world_after(timer->loop->process->world, &timer->happening, (int64_t)ms * MILLISECOND);
}

static void on_due(struct happening *h)
{
	uv_timer_t *timer = container_of(h, uv_timer_t, happening);

	if (process_holds(timer->loop->process, h))
		return;
	if (timer->repeat)
		sim_timer_arm(timer, timer->repeat);
	timer->due(timer);
}

int uv_timer_init(uv_loop_t *loop, uv_timer_t *timer)
{
	*timer = (uv_timer_t){.loop = loop, .happening.run = on_due};
	list_init(&timer->closing);
	return 0;
}

int uv_timer_start(uv_timer_t *timer, void (*due)(uv_timer_t *timer), uint64_t timeout,
		   uint64_t repeat)
{
	timer->due = due;
	timer->repeat = repeat;
	sim_timer_arm(timer, timeout);
	return 0;
}

int uv_timer_stop(uv_timer_t *timer)
{
	world_cancel(timer->loop->process->world, &timer->happening);
	return 0;
}

int uv_timer_again(uv_timer_t *timer)
{
	if (timer->repeat)
		sim_timer_arm(timer, timer->repeat);
	return 0;
}

int uv_is_active(const uv_handle_t *handle)
{
	return timer_running(&handle->happening.timer);
}

void uv_close(uv_handle_t *handle, void (*closed)(uv_handle_t *handle))
{
	uv_timer_stop(handle);
	handle->closed = closed;
	list_append(&handle->loop->closing, &handle->closing);
	sim_loop_later(handle->loop);
}

/* ---- time and environment -------------------------------------------------------------------- */

static struct {
	struct world *world;
	char *const *environment;
} self;

void sim_be(const struct process *process, char *const *environment)
{
	self.world = process->world;
	self.environment = environment;
}

int64_t clock_wall(void)
{
	return self.world->now;
}

int64_t clock_now(void)
{
	return self.world->now;
}

int64_t clock_steady(void)
{
	return self.world->now;
}

uint64_t uv_hrtime(void)
{
	return (uint64_t)(self.world->now - self.world->begin);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int64_t now = clock == CLOCK_REALTIME ? self.world->now : (int64_t)uv_hrtime();

	*out = (struct timespec){now / SECOND, now % SECOND};
	return 0;
}

uint64_t rng_entropy(void)
{
	return rng_next(&self.world->rng);
}

char *getenv(const char *name)
{
	size_t len = strlen(name);

	for (char *const *at = self.environment; at && *at; at++) {
		if (!strncmp(*at, name, len) && (*at)[len] == '=')
			return *at + len + 1;
	}
	return NULL;
}
