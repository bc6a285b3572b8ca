/* What befalls the servers, and the ways to them. */
#include "lab/keeper/keeper_internal.h"

static struct keeper_session *session_drawn(struct keeper *keeper, uint64_t draw)
{
	struct keeper_session *s, *next;
	uint64_t count = 0;

	list_for_each (s, next, &keeper->sessions, link)
		count += s->process && s->alive;
	if (!count)
		return NULL;
	count = draw % count;
	list_for_each (s, next, &keeper->sessions, link) {
		if (s->process && s->alive && count-- == 0)
			return s;
	}
	return NULL;
}

void keeper_disturb(struct keeper *keeper)
{
	keeper->disturbed = true;
}

bool keeper_disturbed(const struct keeper *keeper)
{
	return keeper->disturbed;
}

void keeper_stop(struct keeper *keeper, int64_t span)
{
	int64_t until = keeper->world->now + span;

	keeper->stopped_until = until > keeper->stopped_until ? until : keeper->stopped_until;
	world_log(keeper->world, "ZooKeeper's servers are down until %.3f",
		  (double)(keeper->stopped_until - keeper->world->begin) / SECOND);
}

void keeper_cut(struct keeper *keeper, uint64_t draw)
{
	struct keeper_session *s = session_drawn(keeper, draw);

	if (s && !process_paused(s->process))
		keeper_session_lose(s);
}

static void session_cut_off(struct keeper_session *s, int64_t span)
{
	struct world *w = keeper_world(s);

	s->cut_until = w->now + span;
	world_log(w, "%s does not reach the servers until %.3f", keeper_owner(s),
		  (double)(s->cut_until - w->begin) / SECOND);
}

static void session_expire(struct keeper_session *s)
{
	world_log(keeper_world(s), "the session of %s is taken for over", keeper_owner(s));
	keeper_session_end(s);
	if (s->connected && !process_paused(s->process))
		keeper_turn_after(
			s, world_between(keeper_world(s), KEEPER_DELAY_LOW, KEEPER_RECONNECT_HIGH));
}

void keeper_cut_off(struct keeper *keeper, uint64_t draw, int64_t span)
{
	struct keeper_session *s = session_drawn(keeper, draw);

	if (s)
		session_cut_off(s, span);
}

void keeper_expire(struct keeper *keeper, uint64_t draw)
{
	struct keeper_session *s = session_drawn(keeper, draw);

	if (s)
		session_expire(s);
}

void keeper_cut_off_process(struct keeper *keeper, const struct process *process, int64_t span)
{
	struct keeper_session *s, *next;

	list_for_each (s, next, &keeper->sessions, link) {
		if (s->process == process)
			session_cut_off(s, span);
	}
}

void keeper_expire_process(struct keeper *keeper, const struct process *process)
{
	struct keeper_session *s, *next;

	list_for_each (s, next, &keeper->sessions, link) {
		if (s->process == process && s->alive)
			session_expire(s);
	}
}

void keeper_mend(struct keeper *keeper)
{
	struct keeper_session *s, *next;

	keeper->disturbed = false;
	if (!keeper_is_up(keeper))
		keeper->stopped_until = keeper->world->now;
	list_for_each (s, next, &keeper->sessions, link)
		s->cut_until = 0;
}
