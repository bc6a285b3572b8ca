#include "lab/ensemble/master_place.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/ensemble/shared_registry.h"
#include "master/follow/candidacy.h"
#include "master/follow/followers.h"
#include "master/follow/registry_copy.h"
#include "net/masters/election.h"

/* Leaders often die when others are about to rely on them: soon after they lead, or have a note
 * written. */
#define FRAIL 0.2 /* chance */
#define FRAIL_LEADS_HIGH (300 * MILLISECOND)
#define FRAIL_NOTE_HIGH (20 * MILLISECOND)

enum standing { CANDIDATE, LOADING, LEADER };

struct master_place {
	struct ensemble *ensemble;
	struct sim_loop *loop;
	struct rng *rng;
	struct place_handlers handlers;
	void *context;
	enum standing standing;
	struct candidacy *candidacy;
	struct shared_registry *registry; /* once it was elected */
	struct followers *followers;	  /* once it leads */
	struct warm_table warm;
	struct registry_copy *registry_copy; /* once it leads */
	bool cached;			     /* it did not read the registry */
	uint64_t warm_last;
	char *warm_copy; /* heap: what the table is called if it is a copy */
	char *holder;	 /* heap: our opening */
	char *address;
	bool goes_on;  /* with what the leader before knew */
	uint64_t note; /* number of the last one that it wanted written */
	struct contents loaded[STORE_LINES];
	struct epoch *epochs[STORE_LINES];
	struct happening telling;
	struct happening frailty;
	char *why; /* heap: the process must end */
};

static struct world *world_of(const struct master_place *place)
{
	return place->ensemble->world;
}

static void tell_later(struct master_place *place)
{
	world_after(world_of(place), &place->telling, 0);
}

/* From the loop, and not from inside of what notices. */
static void must_end(struct master_place *place, const char *why)
{
	if (place->why)
		return;
	place->why = xstrdup(why);
	tell_later(place);
}

static void on_frailty(struct happening *h)
{
	struct process *p = container_of(h, struct master_place, frailty)->loop->process;

	p->ops->kill(p);
}

static void be_frail(struct master_place *place, int64_t high)
{
	struct world *w = world_of(place);

	if (keeper_disturbed(place->ensemble->keeper) && world_chance(w, FRAIL))
		world_after(w, &place->frailty, world_between(w, 0, high));
}

/* ---- what is stored ------------------------------------------------------------------------ */

static void place_stored(struct master_place *place, int line, uint64_t durable)
{
	epoch_durable(place->epochs[line], durable);
	place->handlers.stored(place->context, line, durable);
}

static uint64_t warm_durable(const struct master_place *place)
{
	return place->followers ? followers_durable(place->followers) : place->warm_last;
}

static void on_place_tells(struct happening *h)
{
	struct master_place *place = container_of(h, struct master_place, telling);

	if (process_holds(place->loop->process, h))
		return;
	if (place->why)
		place->handlers.over(place->context, place->why);
	else if (place->standing == LEADER)
		place_stored(place, LINE_WARM, warm_durable(place));
}

static void followers_progress(void *context)
{
	tell_later(context);
}

static uint64_t followers_note(void *context, const char *text)
{
	struct master_place *place = context;
	struct ensemble *e = place->ensemble;

	/* One that was taken over from writes none any more. */
	if (!epoch_is_over(place->epochs[LINE_REGISTRY])) {
		free(e->note);
		e->note = xstrdup(text);
		e->noted = false;
	}
	be_frail(place, FRAIL_NOTE_HIGH);
	return place->note = shared_registry_note(place->registry, text);
}

static void tell_unawaited(void *context, const struct store_op *ops, size_t count)
{
	struct master_place *place = context;

	if (place->followers)
		followers_tell(place->followers, ops, count, place->warm_last);
}

static void tell_mark(struct master_place *place)
{
	char mark[STORE_MARK_MAX];
	uint64_t number = shared_registry_mark(place->registry, mark);

	registry_copy_durable(place->registry_copy, number, mark, tell_unawaited, place);
}

static void registry_progress(void *context)
{
	struct master_place *place = context;

	if (place->why)
		return;
	if (shared_registry_noted(place->registry) == place->note &&
	    !epoch_is_over(place->epochs[LINE_REGISTRY]))
		place->ensemble->noted = true;
	tell_mark(place);
	followers_noted(place->followers, shared_registry_noted(place->registry));
	place_stored(place, LINE_REGISTRY, shared_registry_durable(place->registry));
}

uint64_t place_store(struct master_place *place, int line, enum store_class class,
		     const struct store_op *ops, size_t count)
{
	uint64_t number;

	if (line == LINE_REGISTRY) {
		number = shared_registry_write(place->registry, class, ops, count);
		registry_copy_wrote(place->registry_copy, number, ops, count);
	} else {
		for (size_t i = 0; i < count; i++)
			warm_table_apply(&place->warm, &ops[i]);
		number = ++place->warm_last;
		if (place->followers)
			followers_tell(place->followers, ops, count, number);
		tell_later(place);
	}
	epoch_write(place->epochs[line], number, ops, count);
	return number;
}

/* ---- becoming the leader ----------------------------------------------------------------- */

static int load_pair(struct master_place *place, int line, struct slice key, struct slice value)
{
	const struct store_op op = {key, value};

	contents_put(&place->loaded[line], &op);
	return place->handlers.pair(place->context, key, value);
}

static int registry_pair(void *context, struct slice key, struct slice value)
{
	struct master_place *place = context;

	if (!place->cached)
		registry_copy_put(&place->warm, key, value);
	return load_pair(place, LINE_REGISTRY, key, value);
}

static int warm_pair(void *context, struct slice key, struct slice value)
{
	return registry_copy_is(key) ? 0 : load_pair(context, LINE_WARM, key, value);
}

static void registry_opened(void *context, const char *holder, const char *note, bool cached)
{
	struct master_place *place = context;

	place->holder = xstrdup(holder);
	place->goes_on = place->warm_copy && follow_note_names(note, place->warm_copy);
	place->cached = cached;
	if (!cached)
		registry_copy_drop(&place->warm);
	if (!place->goes_on)
		registry_copy_keep(&place->warm);
	warm_table_each(&place->warm, warm_pair, place);
}

/* Whether nobody has opened the registry after it. */
static bool is_last(const struct master_place *place)
{
	char *head = keeper_peek(place->ensemble->keeper, ENSEMBLE_REGISTRY "/head");
	bool last = head && strstr(head, place->holder);

	free(head);
	return last;
}

static void begin_epochs(struct master_place *place)
{
	struct ensemble *e = place->ensemble;
	bool last = is_last(place);

	if (last && !place->goes_on && e->noted && place->warm_copy &&
	    follow_note_names(e->note, place->warm_copy))
		world_fail(e->world,
			   "durable: %s has all that the leader before it knew, and begins "
			   "without",
			   place->loop->process->name);
	for (int i = 0; i < STORE_LINES; i++)
		place->epochs[i] =
			epoch_begin(&e->lines[i], place->loop->process->name, &place->loaded[i],
				    !last				? TOO_LATE
				    : i == LINE_WARM && !place->goes_on ? FORGETS
									: GOES_ON);
	e->kept += last && place->goes_on;
	e->cached += last && place->cached;
	e->forgotten += last && !place->goes_on;
	world_log(e->world, "%s leads, %s", place->loop->process->name,
		  place->goes_on ? "and knows what the one before knew"
				 : "without what the one before knew");
}

static void registry_loaded(void *context)
{
	struct master_place *place = context;
	const struct followers_options options = {
		.loop = place->loop,
		.rng = place->rng,
		.table = &place->warm,
		.holder = place->holder,
		.note = followers_note,
		.progress = followers_progress,
		.context = place,
	};

	if (place->why)
		return;
	begin_epochs(place);
	place->standing = LEADER;
	place->registry_copy = registry_copy_create(&place->warm);
	tell_mark(place);
	place->followers = followers_create(&options);
	be_frail(place, FRAIL_LEADS_HIGH);
	place->handlers.leads(place->context);
}

/* Another one has taken over, or the servers are out of reach: what is right is not refused. */
static void registry_failed(void *context, const char *why)
{
	struct master_place *place = context;

	if (strstr(why, "cannot write"))
		world_fail(world_of(place), "%s %s", place->loop->process->name, why);
	must_end(place, why);
}

static const struct shared_registry_handlers shared_registry_handlers = {
	.opened = registry_opened,
	.pair = registry_pair,
	.loaded = registry_loaded,
	.progress = registry_progress,
	.failed = registry_failed,
};

static void place_elected(void *context, char *copy)
{
	struct master_place *place = context;
	struct store_cache cache;

	world_log(world_of(place), "%s is elected", place->loop->process->name);
	place->warm_copy = copy;
	if (place->why)
		return;
	place->standing = LOADING;
	if (copy)
		registry_copy_offer(&place->warm, &cache);
	place->registry = shared_registry_open(place->loop->process, copy ? &cache : NULL,
					       &shared_registry_handlers, place);
}

static void place_over(void *context, const char *why)
{
	must_end(context, why);
}

static void place_failed(void *context, const char *why)
{
	struct master_place *place = context;

	world_fail(world_of(place), "%s cannot take part in the election: %s",
		   place->loop->process->name, why);
}

/* ---- calls ------------------------------------------------------------------------------------
 */

static void place_hear_follower(void *context, struct http_request *request)
{
	followers_hear(((struct master_place *)context)->followers, request);
}

static void place_add_follower(void *context, struct http_request *request)
{
	followers_add(((struct master_place *)context)->followers, request);
}

static void lead_away(struct master_place *place, struct conn *conn, const struct letter *letter)
{
	const char *leader = candidacy_leader(place->candidacy);
	char *where = leader ? xprintf("//%s", leader) : NULL;

	sim_answer(place->loop, conn, letter, where ? 307 : 503,
		   where ? where : "No leader elected");
	free(where);
}

bool place_receive(struct master_place *place, struct conn *conn, const struct letter *letter)
{
	bool call = letter->kind == LETTER_CALL;

	if (sim_loop_receive(place->loop, conn, letter))
		return true;
	if (place->standing != LEADER) {
		if (call)
			lead_away(place, conn, letter);
		return true;
	}
	if (!call || !letter->path)
		return false;
	sim_serve(place->loop, conn, letter,
		  strstr(letter->path, "followed") ? place_hear_follower : place_add_follower,
		  place);
	return true;
}

bool place_leads(const struct master_place *place)
{
	return place->standing == LEADER && !place->why;
}

/* ---- life ---------------------------------------------------------------------------------------
 */

struct master_place *place_begin(struct ensemble *ensemble, struct sim_loop *loop, struct rng *rng,
				 const Mesos__MasterInfo *info,
				 const struct place_handlers *handlers, void *context)
{
	static const struct candidacy_handlers candidacy = {
		.elected = place_elected,
		.over = place_over,
		.failed = place_failed,
	};
	static const struct zk_url group = {.servers = "keeper:2181", .path = "/mesos"};
	struct master_place *place = xcalloc(1, sizeof(*place));
	struct candidacy_options options = {
		.loop = loop,
		.group = &group,
		.session_timeout_ms = ELECTION_SESSION_TIMEOUT_MS,
		.info = info,
		.handlers = &candidacy,
	};

	place->ensemble = ensemble;
	place->loop = loop;
	place->rng = rng;
	place->handlers = *handlers;
	place->context = context;
	place->telling.run = on_place_tells;
	place->frailty.run = on_frailty;
	place->address = xstrdup(loop->process->address);
	warm_table_init(&place->warm);
	sim_be(loop->process, NULL);
	options.table = &place->warm;
	options.address = place->address;
	options.context = place;
	place->candidacy = candidacy_open(&options);
	return place;
}

void place_end(struct master_place *place)
{
	candidacy_close(place->candidacy);
	sim_serve_end(place->loop);
	if (place->followers)
		followers_close(place->followers);
	if (place->registry)
		shared_registry_drop(place->registry);
	for (int i = 0; i < STORE_LINES; i++)
		contents_free(&place->loaded[i]);
	world_cancel(world_of(place), &place->telling);
	world_cancel(world_of(place), &place->frailty);
	registry_copy_free(place->registry_copy);
	warm_table_clear(&place->warm);
	free(place->warm_copy);
	free(place->holder);
	free(place->address);
	free(place->why);
	free(place);
}
