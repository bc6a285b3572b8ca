/* The contract of the scheduler driver; see scheduler.h. */
#include "client/libmesos/scheduler.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "client/libmesos/master.h"
#include "client/libmesos/scheduler_internal.h"

#define HOSTNAME_BYTES 256

static const struct driver_methods methods = {
	.tell = scheduler_tell,
	.begin = scheduler_begin,
	.end = scheduler_end,
	.error = scheduler_tell_error,
};

/* As libmesos: who runs this, and where. */
Mesos__FrameworkInfo *scheduler_complete_info(const Mesos__FrameworkInfo *info)
{
	Mesos__FrameworkInfo filled = *info;
	char host[HOSTNAME_BYTES] = "", buffer[4096];
	struct passwd entry, *found = NULL;

	if (!filled.user || !*filled.user) {
		getpwuid_r(geteuid(), &entry, buffer, sizeof(buffer), &found);
		filled.user = found ? found->pw_name : (char *)"nobody";
	}
	if (!filled.hostname || !*filled.hostname) {
		gethostname(host, sizeof(host) - 1);
		filled.hostname = host;
	}
	return proto_copy(&filled);
}

struct creation {
	const struct libmesos_scheduler_options *options;
	struct libmesos_scheduler *s;
};

static void create_guarded(void *context)
{
	struct creation *c = context;
	struct libmesos_scheduler *s = xcalloc(1, sizeof(*s));

	s->master = xstrdup(c->options->master);
	s->info = scheduler_complete_info(c->options->info);
	s->suppressed_role_count = c->options->suppressed_role_count;
	s->suppressed_roles = xcalloc(s->suppressed_role_count + 1, sizeof(char *));
	for (size_t i = 0; i < s->suppressed_role_count; i++)
		s->suppressed_roles[i] = xstrdup(c->options->suppressed_roles[i]);
	s->implicit = c->options->implicit_acknowledgements;
	s->principal = c->options->principal ? xstrdup(c->options->principal) : NULL;
	s->secret = c->options->secret ? xstrdup(c->options->secret) : NULL;
	c->s = s;
}

struct libmesos_scheduler *
libmesos_scheduler_new(const struct libmesos_scheduler_options *options,
		       const struct libmesos_scheduler_handlers *handlers, void *context)
{
	struct creation c = {options, NULL};

	if (!libmesos_guard(create_guarded, &c))
		return NULL;
	pthread_mutex_init(&c.s->start_mutex, NULL);
	c.s->handlers = *handlers;
	c.s->context = context;
	driver_init(&c.s->driver, &methods, context, handlers->thread_begins,
		    handlers->thread_ends);
	return c.s;
}

void libmesos_scheduler_free(struct libmesos_scheduler *s)
{
	driver_finish(&s->driver);
	pthread_mutex_destroy(&s->start_mutex);
	free(s->master);
	free(s->address);
	proto_free(s->info);
	for (size_t i = 0; i < s->suppressed_role_count; i++)
		free(s->suppressed_roles[i]);
	free(s->suppressed_roles);
	free(s->principal);
	free(s->secret);
	free(s);
}

struct start {
	struct libmesos_scheduler *s;
	char *address;
	struct err err;
};

static void find_address(void *context)
{
	struct start *start = context;

	if (libmesos_master_parse(start->s->master, &start->address, &start->err) < 0)
		start->address = NULL;
}

/* Several threads may start the driver: the address is found once. */
enum libmesos_status libmesos_scheduler_start(struct libmesos_scheduler *s)
{
	struct start start = {s, NULL, {"out of memory"}};
	bool found;

	pthread_mutex_lock(&s->start_mutex);
	if (!s->address) {
		libmesos_guard(find_address, &start);
		s->address = start.address;
	}
	found = s->address != NULL;
	pthread_mutex_unlock(&s->start_mutex);
	return driver_start(&s->driver, found ? NULL : start.err.text);
}

enum libmesos_status libmesos_scheduler_stop(struct libmesos_scheduler *s, bool failover)
{
	enum libmesos_status status;

	if (driver_status(&s->driver) == DRIVER_RUNNING)
		s->tear_down = !failover;
	status = driver_stop(&s->driver);
	if (status == DRIVER_ABORTED && !failover && s->address &&
	    !libmesos_master_is_local(s->master))
		driver_again(&s->driver, scheduler_tear_down);
	return status;
}

enum libmesos_status libmesos_scheduler_abort(struct libmesos_scheduler *s)
{
	return driver_abort(&s->driver);
}

enum libmesos_status libmesos_scheduler_join(struct libmesos_scheduler *s)
{
	return driver_join(&s->driver);
}

enum libmesos_status libmesos_scheduler_status(struct libmesos_scheduler *s)
{
	return driver_status(&s->driver);
}
