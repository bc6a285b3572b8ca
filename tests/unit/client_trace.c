#include "client_trace.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define TICK_MS 2

char trace[4096];
static pthread_mutex_t trace_mutex = PTHREAD_MUTEX_INITIALIZER;
static uv_timer_t ticker;
static atomic_bool beside_done;

int note(const char *format, ...)
{
	va_list args;
	size_t len;

	pthread_mutex_lock(&trace_mutex);
	len = strlen(trace);
	va_start(args, format);
	vsnprintf(trace + len, sizeof(trace) - len, format, args);
	va_end(args);
	pthread_mutex_unlock(&trace_mutex);
	return 0;
}

bool noted(const char *words)
{
	bool found;

	pthread_mutex_lock(&trace_mutex);
	found = strstr(trace, words) != NULL;
	pthread_mutex_unlock(&trace_mutex);
	return found;
}

void trace_clear(void)
{
	pthread_mutex_lock(&trace_mutex);
	memset(trace, 0, sizeof(trace));
	pthread_mutex_unlock(&trace_mutex);
}

static void tick_cb(uv_timer_t *timer)
{
}

void ticks_begin(struct fake *fake)
{
	uv_timer_init(&fake->loop, &ticker);
	uv_timer_start(&ticker, tick_cb, TICK_MS, TICK_MS);
}

void ticks_end(void)
{
	uv_close((uv_handle_t *)&ticker, NULL);
}

static void *beside_main(void *argument)
{
	void (*const *run)(void) = argument;

	(*run)();
	beside_done = true;
	return NULL;
}

void run_beside(struct fake *fake, void (*run)(void))
{
	pthread_t thread;

	beside_done = false;
	pthread_create(&thread, NULL, beside_main, &run);
	until(fake, beside_done);
	pthread_join(thread, NULL);
}
