/* Containers inside of executors' containers: launched, waited for, killed and removed by calls of
 * the operator API, as the default executor makes them for the tasks of a group; and standalone
 * ones, which are in no executor's, with what is inside of them.
 *
 * Happy path: LAUNCH -> recorded -> started, answered 200 -> it ends, which is stored and then told
 * to who WAITs -> REMOVE, or the end of the executor, forgets it. A debug container (a "session")
 * is launched for one client, and killed when that leaves or the agent ends.
 * Failures: one that cannot be started is answered 400 and forgotten. After a restart of the agent
 * all of them are found again; one whose executor is not is destroyed. A standalone one is kept
 * until it is removed, as is its sandbox, "<work_dir>/containers/<id>".
 */
#ifndef AGENT_CORE_NESTED_NESTED_H
#define AGENT_CORE_NESTED_NESTED_H

#include "agent/core/objects.h"

struct nested *agent_nested_find(const struct agent *agent, const char *id);
/* Makes one that is RECORDED, and has no executor yet. */
struct nested *agent_nested_create(struct agent *agent, const char *id);
/* The one that it is inside of; NULL: the executor's own, or none. */
const struct nested *agent_nested_parent(const struct agent *agent, const struct nested *nested);
/* Sets whose it is, and where it works: inside of the executor's container, or of a standalone one.
 */
void agent_nested_adopt(struct agent *agent, struct nested *nested, struct executor *executor);
/* The standalone container that the id is, or is inside of; or NULL. */
struct nested *agent_standalone_find(const struct agent *agent, const char *id);
/* It is no more: it leaves the store. Frees it. */
void agent_nested_forget(struct agent *agent, struct nested *nested);
void agent_nested_free_all(struct agent *agent);

/* What waited for its ticket. */
void agent_nested_follow(struct agent *agent, const char *id);
/* False: the container is none of these. */
bool agent_nested_started(struct agent *agent, const struct agent_event *event);
bool agent_nested_failed(struct agent *agent, const struct agent_event *event);
bool agent_nested_exited(struct agent *agent, const struct agent_event *event);
bool agent_nested_limited(struct agent *agent, const struct agent_event *event);
void agent_nested_collected(struct agent *agent, const char *path);
/* The executor is over, and all that was inside of it. */
void agent_nested_over(struct agent *agent, struct executor *executor);

/* -- nested_volumes.c -- */

/* Those of the parent's sandbox become links; what else there is stays in the launch's info, for
 * the backend to say that it cannot make them. `above`: the parent's sandbox. */
void agent_nested_share(struct arena *arena, struct agent_launch *launch, const char *above);

/* -- nested_calls.c -- */

void agent_handle_container_call(struct agent *agent, const struct agent_event *event);
void agent_handle_session_closed(struct agent *agent, const char *id);
void agent_answer(struct agent *agent, uint64_t number, int status, const char *text);
/* Tells who waits, of one that ended. */
void agent_nested_tell_end(struct agent *agent, struct nested *nested);
void agent_nested_drop_waits(struct agent *agent, struct nested *nested);

/* -- nested_store.c -- */

void agent_store_nested(struct agent *agent, struct nested *nested);
void agent_store_nested_broken(struct agent *agent, struct nested *nested);
void agent_forget_nested(struct agent *agent, const struct nested *nested);
int agent_load_nested(struct agent *agent, const char *id, const char *what, struct slice value,
		      struct err *err);
/* After the executors were revived. */
void agent_nested_revive(struct agent *agent, bool rebooted);

#endif
