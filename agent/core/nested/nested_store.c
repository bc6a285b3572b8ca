/* What is stored of containers inside of others, and of standalone ones:
 *   nested/<id>/launch   LaunchContainer
 *   nested/<id>/state    "<state> <s|c> <pid> <start ticks> <known> <status>"; s: a session
 *   nested/<id>/broken   WaitContainer: the limit that it broke, or that could not be set
 * whether or not the framework checkpoints: what it leaves behind must be found. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/executors.h"
#include "agent/core/nested/nested.h"
#include "agent/core/store/checkpoint.h"

static char *nested_key(struct agent *agent, const struct nested *nested, const char *what)
{
	return agent_key(agent, "nested/%s/%s", nested->id, what);
}

void agent_store_nested(struct agent *agent, struct nested *nested)
{
	if (nested->state == NESTED_RECORDED)
		agent_put(agent, nested_key(agent, nested, "launch"), nested->launch);
	agent_put_text(agent, nested_key(agent, nested, "state"),
		       agent_key(agent, "%d %c %" PRId64 " %" PRIu64 " %d %d", nested->state,
				 nested->session ? 's' : 'c', nested->process_id,
				 nested->start_ticks, nested->known, nested->status));
	nested->ticket = agent_ticket(agent);
}

void agent_store_nested_broken(struct agent *agent, struct nested *nested)
{
	agent_put(agent, nested_key(agent, nested, "broken"), nested->broken);
}

void agent_forget_nested(struct agent *agent, const struct nested *nested)
{
	if (nested->broken)
		agent_delete(agent, nested_key(agent, nested, "broken"));
	agent_delete(agent, nested_key(agent, nested, "launch"));
	agent_delete(agent, nested_key(agent, nested, "state"));
}

/* ---- loading ---------------------------------------------------------------- */

static int load_state(struct nested *nested, const char *text, struct err *err)
{
	int state, known;
	char kind;

	if (sscanf(text, "%d %c %" SCNd64 " %" SCNu64 " %d %d", &state, &kind, &nested->process_id,
		   &nested->start_ticks, &known, &nested->status) != 6 ||
	    state < NESTED_RECORDED || state > NESTED_ENDED)
		return err_set(err, ERR_INVALID, "it holds no state of a container");
	nested->state = (enum nested_state)state;
	nested->session = kind == 's';
	nested->known = known != 0;
	return 0;
}

int agent_load_nested(struct agent *agent, const char *id, const char *what, struct slice value,
		      struct err *err)
{
	struct nested *nested = agent_nested_find(agent, id);
	char *text;
	int rv;

	if (!nested)
		nested = agent_nested_create(agent, id);
	if (strcmp(what, "launch") == 0) {
		proto_free(nested->launch);
		nested->launch = proto_unpack_heap(
			&mesos__agent__call__launch_container__descriptor, value.data, value.len);
		return nested->launch && nested->launch->command
			       ? 0
			       : err_set(err, ERR_INVALID, "it holds no launch of a container");
	}
	if (strcmp(what, "broken") == 0) {
		proto_free(nested->broken);
		nested->broken = proto_unpack_heap(
			&mesos__agent__response__wait_container__descriptor, value.data, value.len);
		return nested->broken ? 0 : err_set(err, ERR_INVALID, "it holds no broken limit");
	}
	text = xstrndup(value.data, value.len);
	rv = load_state(nested, text, err);
	free(text);
	return rv;
}

/* ---- going on ---------------------------------------------------------------- */

static void nested_reattach(struct agent *agent, struct nested *nested)
{
	struct agent_action *action = agent_emit(agent, AGENT_REATTACH);
	char *id = arena_strdup(&agent->out->arena, nested->id);

	if (nested->state == NESTED_RECORDED)
		nested->state = NESTED_ASKED;
	action->reattach.container = id;
	action->reattach.sandbox = "";
	action->reattach.pid = nested->process_id;
	action->reattach.start_ticks = nested->start_ticks;
	/* A session's client is gone; and who has no executor has nobody, but standalone ones. */
	if (nested->session || (!nested->executor && !nested->standalone))
		agent_emit(agent, AGENT_DESTROY)->destroy.container = id;
}

/* It ended with the machine; its sandbox is there until it is removed. */
static void nested_lost(struct agent *agent, struct nested *nested)
{
	nested->state = NESTED_ENDED;
	nested->known = false;
	nested->status = 0;
	agent_store_nested(agent, nested);
}

static void nested_revive(struct agent *agent, struct nested *nested, bool rebooted)
{
	char *root = xstrndup(nested->id, strcspn(nested->id, "."));
	struct executor *executor = agent_container_find(agent, root);

	free(root);
	if (nested->launch &&
	    (executor || !strchr(nested->id, '.') || agent_standalone_find(agent, nested->id)))
		agent_nested_adopt(agent, nested, executor);
	if (nested->standalone && rebooted && nested->state != NESTED_ENDED)
		nested_lost(agent, nested);
	else if (!nested->executor && !nested->standalone &&
		 (rebooted || nested->state == NESTED_ENDED))
		agent_nested_forget(agent, nested);
	else if (!rebooted && nested->state != NESTED_ENDED)
		nested_reattach(agent, nested);
}

static int by_id(const struct nested *a, const struct nested *b)
{
	return strcmp(a->id, b->id);
}

void agent_nested_revive(struct agent *agent, bool rebooted)
{
	struct nested *nested, *next;

	/* Parents come first. */
	HASH_SORT(agent->nested, by_id);
	HASH_ITER (hh, agent->nested, nested, next)
		nested_revive(agent, nested, rebooted);
}
