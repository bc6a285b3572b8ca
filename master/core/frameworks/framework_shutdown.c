/* See framework_shutdown.h. Agents are in the order in which they came; those that come meanwhile
 * are told as well, and have nothing of it. One that comes back is told when it does so
 * (rejoin.c). */
#include "master/core/frameworks/framework_shutdown.h"

#include <stdlib.h>
#include <string.h>

#include "master/core/emit.h"

struct framework_shutdown {
	struct list link;
	struct agent *next; /* to be told; never NULL */
	char id[];
};

void framework_shutdown_tell(struct master *m, struct agent *a, const char *id)
{
	Mesos__Internal__ShutdownFrameworkMessage *message =
		STEP_NEW(m, Mesos__Internal__ShutdownFrameworkMessage,
			 mesos__internal__shutdown_framework_message__descriptor);

	message->framework_id = master_framework_id(m, id);
	master_send_agent(m, a, message);
}

static void move_on(struct framework_shutdown *s)
{
	s->next = s->next->hh.next;
	if (s->next)
		return;
	list_remove(&s->link);
	free(s);
}

void framework_shutdown_go_on(struct master *m)
{
	struct framework_shutdown *s;
	int left = master_part(m);

	while (left-- > 0 && (s = list_first(&m->shutdowns, struct framework_shutdown, link))) {
		if (agent_registered(s->next))
			framework_shutdown_tell(m, s->next, s->id);
		move_on(s);
	}
	if (!list_empty(&m->shutdowns))
		timers_start(&m->timers, &m->shutdown_part, master_later(m, MASTER_PART_PAUSE));
}

void framework_shutdown_begin(struct master *m, const char *id)
{
	struct framework_shutdown *s;
	bool under_way = !list_empty(&m->shutdowns);

	if (!m->agents)
		return;
	s = xcalloc(1, sizeof(*s) + strlen(id) + 1);
	strcpy(s->id, id);
	s->next = m->agents;
	list_append(&m->shutdowns, &s->link);
	if (!under_way)
		framework_shutdown_go_on(m);
}

void framework_shutdown_forget(struct master *m, const struct agent *a)
{
	struct framework_shutdown *s, *next;

	list_for_each (s, next, &m->shutdowns, link) {
		if (s->next == a)
			move_on(s);
	}
}

void framework_shutdown_free(struct master *m)
{
	struct framework_shutdown *s, *next;

	list_for_each (s, next, &m->shutdowns, link)
		free(s);
}
