/* The table of containers and their moves; see containers.h. */
#include "agent/containers/core/containers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/table.h"

struct container {
	UT_hash_handle hh; /* by id */
	struct container *parent;
	struct list children;
	struct list link; /* in parent->children */
	enum container_stage stage;
	bool destroyed;	    /* the agent wants it to end */
	bool tells_started; /* FINDING: the agent does not know its pid */
	int64_t pid;	    /* RUNNING */
	bool known;	    /* ENDING, CLEANING: the status is */
	int status;
	char id[];
};

struct containers {
	const struct container_backend *backend;
	void *context;
	void (*report)(void *context, const struct agent_event *event);
	void *report_context;
	struct container *table;
	struct containers_counters counters;
};

/* ---- moves ----------------------------------------------------------------- */

#define BIT(stage) (1u << CONTAINER_##stage)

static const unsigned moves[CONTAINER_STAGES] = {
	[CONTAINER_PREPARING] = BIT(FETCHING) | BIT(RUNNING),
	[CONTAINER_FETCHING] = BIT(RUNNING),
	[CONTAINER_FINDING] = BIT(RUNNING) | BIT(ENDING),
	[CONTAINER_RUNNING] = BIT(ENDING),
	[CONTAINER_ENDING] = BIT(CLEANING),
};

static void container_move(struct container *container, enum container_stage to)
{
	bool allowed = moves[container->stage] & (1u << to);

	assert(allowed);
	(void)allowed;
	container->stage = to;
}

/* ---- the table --------------------------------------------------------------- */

static struct container *container_find(const struct containers *c, const char *id)
{
	struct container *container;

	HASH_FIND_STR(c->table, id, container);
	return container;
}

static bool is_inside(const char *id)
{
	return strchr(id, '.') != NULL;
}

/* NULL: it is not there, or there is none. */
static struct container *parent_of(const struct containers *c, const char *id)
{
	const char *dot = strrchr(id, '.');
	struct container *parent = NULL;

	if (dot)
		HASH_FIND(hh, c->table, id, (unsigned)(dot - id), parent);
	return parent;
}

static struct container *container_add(struct containers *c, const char *id,
				       enum container_stage stage)
{
	struct container *container = xcalloc(1, sizeof(*container) + strlen(id) + 1);

	strcpy(container->id, id);
	container->stage = stage;
	list_init(&container->children);
	list_init(&container->link);
	container->parent = parent_of(c, id);
	if (container->parent)
		list_append(&container->parent->children, &container->link);
	HASH_ADD_STR(c->table, id, container);
	return container;
}

static void report_exited(struct containers *c, const char *id, bool known, int status)
{
	struct agent_event event = {.type = AGENT_CONTAINER_EXITED,
				    .container_exited = {id, known, status}};

	c->report(c->report_context, &event);
}

static void report_failed(struct containers *c, const char *id, enum agent_start_stage stage,
			  const char *text)
{
	struct agent_event event = {.type = AGENT_CONTAINER_FAILED,
				    .container_failed = {id, stage, text}};

	c->report(c->report_context, &event);
}

/* Nothing is left of it, but its id for a last report. */
static void container_over(struct containers *c, struct container *container)
{
	list_remove(&container->link);
	HASH_DEL(c->table, container);
	c->backend->forget(c->context, container->id, true);
}

static void container_clean(struct containers *c, struct container *container)
{
	container_move(container, CONTAINER_CLEANING);
	c->backend->clean(c->context, container->id);
}

/* Frees it, after its last report. */
static void container_free(struct containers *c, struct container *container)
{
	struct container *parent = container->parent;

	free(container);
	if (parent && parent->stage == CONTAINER_ENDING && list_empty(&parent->children))
		container_clean(c, parent);
}

static void end_with(struct containers *c, struct container *container, bool known, int status)
{
	container_over(c, container);
	report_exited(c, container->id, known, status);
	container_free(c, container);
}

/* ---- what the backend answers -------------------------------------------------- */

static void container_start(struct containers *c, struct container *container)
{
	if (container->destroyed)
		end_with(c, container, false, 0);
	else
		c->backend->start(c->context, container->id);
}

void containers_prepared(struct containers *c, const char *id, bool fetches)
{
	struct container *container = container_find(c, id);

	if (fetches && !container->destroyed) {
		container_move(container, CONTAINER_FETCHING);
		c->backend->fetch(c->context, id);
	} else {
		container_start(c, container);
	}
}

void containers_fetched(struct containers *c, const char *id)
{
	struct container *container = container_find(c, id);

	c->counters.fetches_succeeded++;
	container_start(c, container);
}

void containers_failed(struct containers *c, const char *id, enum agent_start_stage stage,
		       const char *text)
{
	struct container *container = container_find(c, id);

	if (container->stage == CONTAINER_FETCHING)
		c->counters.fetches_failed++;
	if (container->destroyed) {
		end_with(c, container, false, 0);
		return;
	}
	container_over(c, container);
	report_failed(c, container->id, stage, text);
	container_free(c, container);
}

void containers_started(struct containers *c, const char *id, int64_t pid, uint64_t start_ticks)
{
	struct container *container = container_find(c, id);
	struct agent_event event = {.type = AGENT_CONTAINER_STARTED,
				    .container_started = {container->id, pid, start_ticks}};
	bool tells = container->stage != CONTAINER_FINDING || container->tells_started;

	container_move(container, CONTAINER_RUNNING);
	container->pid = pid;
	if (container->destroyed)
		c->backend->kill(c->context, id);
	if (tells)
		c->report(c->report_context, &event);
}

void containers_networked(struct containers *c, const char *id,
			  const Mesos__ContainerStatus *status)
{
	const struct agent_event event = {.type = AGENT_CONTAINER_NETWORKED,
					  .container_networked = {id, status}};

	if (!container_find(c, id)->destroyed)
		c->report(c->report_context, &event);
}

void containers_limited(struct containers *c, const struct agent_event *event)
{
	const struct container *container = container_find(c, event->container_limited.container);

	/* What ends because it was asked to needs no reason. */
	if (container && !container->destroyed)
		c->report(c->report_context, event);
}

static void destroy_children(struct containers *c, const struct container *container)
{
	struct container *child, *next;

	list_for_each (child, next, &container->children, link)
		containers_destroy(c, child->id);
}

void containers_ended(struct containers *c, const char *id, bool known, int status)
{
	struct container *container = container_find(c, id);

	container_move(container, CONTAINER_ENDING);
	container->known = known;
	container->status = status;
	if (list_empty(&container->children))
		container_clean(c, container);
	else
		destroy_children(c, container);
}

void containers_cleaned(struct containers *c, const char *id, bool clean)
{
	struct container *container = container_find(c, id);

	if (!clean) {
		log_error("Processes that container %s left behind cannot be killed", id);
		c->counters.destroy_errors++;
	}
	end_with(c, container, container->known, container->status);
}

/* ---- what the agent asks -------------------------------------------------------- */

static bool takes_children(const struct container *parent)
{
	return parent && parent->stage == CONTAINER_RUNNING && !parent->destroyed;
}

void containers_launch(struct containers *c, const struct agent_launch *launch)
{
	if (container_find(c, launch->container)) {
		log_error("container %s was to be launched twice", launch->container);
		return;
	}
	if (is_inside(launch->container) && !takes_children(parent_of(c, launch->container))) {
		report_failed(c, launch->container, AGENT_STAGE_LAUNCH,
			      "Parent container does not run");
		return;
	}
	if (*launch->executor_id)
		log_info("Starting container %s of executor '%s' of framework %s",
			 launch->container, launch->executor_id, launch->framework_id);
	else
		log_info("Starting container %s", launch->container);
	container_add(c, launch->container, CONTAINER_PREPARING);
	c->backend->prepare(c->context, launch);
}

void containers_reattach(struct containers *c, const char *id, int64_t pid, uint64_t start_ticks)
{
	struct container *container;

	if (container_find(c, id)) {
		log_error("container %s was to be reattached to twice", id);
		return;
	}
	container = container_add(c, id, CONTAINER_FINDING);
	container->tells_started = !pid;
	/* Its parent is over: it must not run on. */
	container->destroyed = is_inside(id) && !container->parent;
	c->backend->find(c->context, container->id, pid, start_ticks);
}

void containers_destroy(struct containers *c, const char *id)
{
	struct container *container = container_find(c, id);

	if (!container) {
		report_exited(c, id, false, 0);
		return;
	}
	if (container->stage == CONTAINER_ENDING || container->stage == CONTAINER_CLEANING)
		return;
	log_info("Destroying container %s", id);
	if (container->stage == CONTAINER_PREPARING && !container->destroyed && c->backend->give_up)
		c->backend->give_up(c->context, container->id);
	container->destroyed = true;
	destroy_children(c, container);
	/* The others end when they are ready. */
	if (container->stage == CONTAINER_RUNNING || container->stage == CONTAINER_FETCHING)
		c->backend->kill(c->context, container->id);
}

void containers_limit(struct containers *c, const char *id, const struct agent_limits *limits)
{
	const struct container *container = container_find(c, id);

	if (container && !container->destroyed && container->stage <= CONTAINER_RUNNING)
		c->backend->limit(c->context, id, limits);
}

void containers_signal(struct containers *c, const char *id, int signal)
{
	if (containers_pid(c, id))
		c->backend->signal(c->context, id, signal);
}

void containers_clear(struct containers *c, const char *id)
{
	if (!container_find(c, id))
		c->backend->clear(c->context, id);
}

int64_t containers_pid(const struct containers *c, const char *id)
{
	const struct container *container = container_find(c, id);

	return container && container->stage == CONTAINER_RUNNING ? container->pid : 0;
}

struct containers_counters *containers_counters(struct containers *c)
{
	return &c->counters;
}

/* ---- life ------------------------------------------------------------------------ */

struct containers *containers_create(const struct container_backend *backend, void *context,
				     void (*report)(void *context, const struct agent_event *event),
				     void *report_context)
{
	struct containers *c = xcalloc(1, sizeof(*c));

	*c = (struct containers){
		.backend = backend,
		.context = context,
		.report = report,
		.report_context = report_context,
	};
	return c;
}

void containers_destroy_all(struct containers *c)
{
	struct container *container, *next;

	HASH_ITER (hh, c->table, container, next) {
		HASH_DEL(c->table, container);
		c->backend->forget(c->context, container->id, false);
		free(container);
	}
	free(c);
}
