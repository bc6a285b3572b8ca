/* See election.h.
 *
 * Steps: the group's node is made, part by part -> the candidate's is made -> the children are read
 * and watched -> the leader's is read. Each step asks for one thing and its answer takes the next;
 * what fails for now starts over from what is known to be there.
 */
#include "net/masters/election.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/zk/zk_handle.h"
#include "net/masters/member.h"
#include "net/masters/zk.h"

#define RETRY_FIRST_MS 2000
#define RETRY_LAST_MS 60000

struct election {
	struct zk *zk;
	uv_timer_t retry;
	struct election_handlers handlers;
	void *context;
	char *group;	 /* path */
	size_t made;	 /* bytes of the path that are known to be there */
	struct buf says; /* the candidate; empty: none */
	char *member;	 /* its node, without the path; NULL: not made in this session */
	char *leader;	 /* node of the leader that was read last; NULL: none */
	bool told;	 /* whether a leader is known, or none; once it was told */
	bool asking;	 /* an answer is awaited */
	bool changed;	 /* meanwhile, so the children are read once more */
	bool failed;
	uint64_t pause_ms;
};

static void election_proceed(struct election *e);

/* ---- what is told ------------------------------------------------------------------ */

static void tell_leader(struct election *e, const Mesos__MasterInfo *leader)
{
	e->told = true;
	e->handlers.leader(e->context, leader,
			   leader && e->member && !strcmp(e->leader, e->member));
}

static void tell_none(struct election *e)
{
	bool known = e->told && !e->leader;

	free(e->leader);
	e->leader = NULL;
	if (!known)
		tell_leader(e, NULL);
}

static void tell_lost(struct election *e)
{
	bool stood = e->member != NULL;

	free(e->member);
	e->member = NULL;
	if (stood && e->handlers.lost)
		e->handlers.lost(e->context);
}

static void election_fail(struct election *e, const char *why)
{
	if (e->failed)
		return;
	e->failed = true;
	uv_timer_stop(&e->retry);
	e->handlers.failed(e->context, why);
}

/* ---- failures ------------------------------------------------------------------------ */

static void election_retry_cb(uv_timer_t *timer)
{
	election_proceed(timer->data);
}

/* False: the code is no failure. */
static bool election_failure(struct election *e, int code, const char *what)
{
	char *why;

	if (code == ZOK)
		return false;
	if (zk_is_passing(code)) {
		uv_timer_start(&e->retry, election_retry_cb, e->pause_ms, 0);
		e->pause_ms = e->pause_ms * 2 > RETRY_LAST_MS ? RETRY_LAST_MS : e->pause_ms * 2;
		return true;
	}
	why = xprintf("Failed to %s '%s' in ZooKeeper: %s", what, e->group, zk_text(code));
	election_fail(e, why);
	free(why);
	return true;
}

/* Whether it is there is not known, and the session must not have two. */
static void candidate_undecided(struct election *e)
{
	log_warning("ZooKeeper did not tell whether the candidate is there: in a new session "
		    "again");
	zk_renew(e->zk);
}

/* ---- steps ----------------------------------------------------------------------------- */

static void group_made(void *context, const struct zk_result *result)
{
	struct election *e = context;

	e->asking = false;
	/* Who may not make what is there, may read it. */
	if (result->code == ZOK || result->code == ZNODEEXISTS || result->code == ZNOAUTH) {
		e->made += 1 + strcspn(e->group + e->made + 1, "/");
		election_proceed(e);
	} else {
		election_failure(e, result->code, "make");
	}
}

static void make_group(struct election *e)
{
	char *path = xstrndup(e->group, e->made + 1 + strcspn(e->group + e->made + 1, "/"));

	zk_create(e->zk, path, SLICE(""), 0, group_made);
	free(path);
}

static void member_made(void *context, const struct zk_result *result)
{
	struct election *e = context;

	e->asking = false;
	if (zk_is_passing(result->code)) {
		candidate_undecided(e);
	} else if (result->code == ZNONODE) {
		e->made = 0; /* somebody removed the group */
		election_failure(e, ZOPERATIONTIMEOUT, "");
	} else if (!election_failure(e, result->code, "join")) {
		e->member = xstrdup(strrchr(result->name, '/') + 1);
		log_info("candidate '%s' of '%s'", e->member, e->group);
		election_proceed(e);
	}
}

static void make_member(struct election *e)
{
	char *path = xprintf("%s/" MEMBER_PREFIX, e->group);

	zk_create(e->zk, path, (struct slice){e->says.data, e->says.len},
		  ZOO_EPHEMERAL | ZOO_SEQUENCE, member_made);
	free(path);
}

/* After an answer: once more, if they changed meanwhile. */
static void election_rest(struct election *e)
{
	if (e->changed && !e->failed)
		election_proceed(e);
}

static void leader_read(void *context, const struct zk_result *result)
{
	struct election *e = context;
	Mesos__MasterInfo *leader;
	struct arena arena;
	struct err err;
	char *why;

	e->asking = false;
	if (result->code == ZNONODE) {
		tell_none(e); /* who follows is seen by the watch */
		election_rest(e);
		return;
	}
	if (result->code != ZOK) {
		free(e->leader);
		e->leader = NULL;
		e->told = false;
		election_failure(e, result->code, "read the leader of");
		return;
	}
	arena_init(&arena);
	leader = member_decode(e->leader, result->data, &arena, &err);
	if (leader) {
		tell_leader(e, leader);
	} else {
		why = xprintf("Failed to read the leading master '%s/%s': %s", e->group, e->leader,
			      err.text);
		election_fail(e, why);
		free(why);
	}
	arena_free(&arena);
	election_rest(e);
}

static bool is_among(const char *name, char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void read_leader(struct election *e, const char *name)
{
	char *path = xprintf("%s/%s", e->group, name);

	free(e->leader);
	e->leader = xstrdup(name);
	e->asking = true;
	zk_get(e->zk, path, leader_read);
	free(path);
}

static void children_read(void *context, const struct zk_result *result)
{
	struct election *e = context;
	const char *leader;

	e->asking = false;
	if (result->code == ZNONODE) {
		e->made = 0;
		tell_lost(e);
		tell_none(e);
		election_failure(e, ZOPERATIONTIMEOUT, "");
		return;
	}
	if (election_failure(e, result->code, "list"))
		return;
	e->pause_ms = RETRY_FIRST_MS;
	if (e->member && !is_among(e->member, result->names, result->count)) {
		log_warning("the candidate '%s' was removed", e->member);
		tell_lost(e);
		e->changed = true; /* it is put up again */
	}
	leader = member_leader(result->names, result->count);
	if (!leader)
		tell_none(e);
	else if (!e->leader || strcmp(leader, e->leader))
		read_leader(e, leader);
	if (!e->asking)
		election_rest(e);
}

static void election_proceed(struct election *e)
{
	if (e->asking || e->failed)
		return;
	uv_timer_stop(&e->retry);
	e->asking = true;
	if (e->group[e->made]) {
		make_group(e);
	} else if (e->says.len && !e->member) {
		make_member(e);
	} else {
		e->changed = false;
		zk_children(e->zk, e->group, children_read);
	}
}

/* ---- the session ------------------------------------------------------------------------ */

static void election_connected(void *context, bool fresh)
{
	struct election *e = context;

	/* What was asked on the connection that broke was answered, but not in another session. */
	if (fresh)
		e->asking = false;
	e->pause_ms = RETRY_FIRST_MS;
	election_proceed(e);
}

static void election_expired(void *context)
{
	struct election *e = context;

	e->asking = false;
	e->made = 0;
	uv_timer_stop(&e->retry);
	tell_lost(e);
	if (!e->failed)
		tell_none(e);
}

static void election_changed(void *context)
{
	struct election *e = context;

	e->changed = true;
	election_proceed(e);
}

static void session_failed(void *context, const char *why)
{
	election_fail(context, why);
}

/* ---- life ---------------------------------------------------------------------------------- */

struct election *election_open(uv_loop_t *loop, const struct zk_url *url, int timeout_ms,
			       const Mesos__MasterInfo *candidate,
			       const struct election_handlers *handlers, void *context)
{
	static const struct zk_handlers session = {
		.connected = election_connected,
		.expired = election_expired,
		.changed = election_changed,
		.failed = session_failed,
	};
	struct election *e = xcalloc(1, sizeof(*e));

	e->handlers = *handlers;
	e->context = context;
	e->group = xstrdup(url->path);
	e->pause_ms = RETRY_FIRST_MS;
	if (candidate)
		member_encode(candidate, &e->says);
	uv_timer_init(loop, &e->retry);
	e->retry.data = e;
	e->zk = zk_open(loop, url, timeout_ms, &session, e);
	return e;
}

static void election_freed_cb(uv_handle_t *handle)
{
	struct election *e = handle->data;

	buf_free(&e->says);
	free(e->group);
	free(e->member);
	free(e->leader);
	free(e);
}

void election_close(struct election *e)
{
	e->failed = true;
	zk_close(e->zk);
	uv_close((uv_handle_t *)&e->retry, election_freed_cb);
}
