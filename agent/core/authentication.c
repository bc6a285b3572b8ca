#include "agent/core/authentication.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/registration.h"
#include "auth/cram_md5.h"

static void authentication_send(struct agent *agent, const char *to, void *message)
{
	struct agent_action *action = agent_emit(agent, AGENT_SEND_MESSAGE);

	action->send_message.actor = arena_strdup(&agent->out->arena, agent->proof.actor);
	action->send_message.to = arena_strdup(&agent->out->arena, to);
	action->send_message.message = message;
}

/* ---- attempts ------------------------------------------------------------------------ */

static void ask(struct agent *agent)
{
	const struct agent_options *o = &agent->options;
	struct proof *proof = &agent->proof;
	Mesos__Internal__AuthenticateMessage *message =
		agent_new(agent, Mesos__Internal__AuthenticateMessage,
			  mesos__internal__authenticate_message__descriptor);
	double span = (double)(proof->patience - o->authentication_timeout_min);

	free(proof->actor);
	free(proof->session);
	proof->actor =
		xprintf("crammd5-authenticatee(%llu)", (unsigned long long)++proof->attempts);
	proof->session = NULL;
	proof->state = PROOF_ASKED;
	message->pid = arena_strdup(&agent->out->arena, agent->pid);
	authentication_send(agent, agent->master, message);
	timers_start(&agent->timers, &proof->timer,
		     agent->now + o->authentication_timeout_min +
			     (int64_t)(span * rng_unit(o->rng)));
}

bool agent_authenticate(struct agent *agent)
{
	const struct agent_options *o = &agent->options;

	if (!o->principal)
		return false;
	agent->proof.patience =
		o->authentication_timeout_min + 2 * o->authentication_backoff_factor;
	if (agent->proof.patience > o->authentication_timeout_max)
		agent->proof.patience = o->authentication_timeout_max;
	agent_link(agent, AGENT_LINK, agent->master);
	ask(agent);
	return true;
}

bool agent_authenticating(const struct agent *agent)
{
	return agent->proof.state != PROOF_NONE;
}

void agent_authentication_stop(struct agent *agent)
{
	agent->proof.state = PROOF_NONE;
	timers_stop(&agent->timers, &agent->proof.timer);
}

void agent_authentication_hurry(struct agent *agent)
{
	const struct agent_options *o = &agent->options;

	if (agent_authenticating(agent))
		timers_start(&agent->timers, &agent->proof.timer,
			     agent->now + (int64_t)((double)o->authentication_backoff_factor *
						    rng_unit(o->rng)));
}

void agent_authentication_timeout(struct agent *agent)
{
	const struct agent_options *o = &agent->options;
	struct proof *proof = &agent->proof;

	if (!agent_authenticating(agent) || !agent->master)
		return;
	log_warning("Master %s did not authenticate this agent in time; trying again",
		    agent->master);
	proof->patience += proof->patience - o->authentication_timeout_min;
	if (proof->patience > o->authentication_timeout_max)
		proof->patience = o->authentication_timeout_max;
	/* A dead address must be linked to anew. */
	agent_link(agent, AGENT_LINK, agent->master);
	agent->link_broken = false;
	ask(agent);
}

void agent_authentication_free(struct agent *agent)
{
	free(agent->proof.actor);
	free(agent->proof.session);
}

/* ---- answers ------------------------------------------------------------------------- */

static void authentication_start(struct agent *agent, const char *from,
				 const Mesos__Internal__AuthenticationMechanismsMessage *in)
{
	Mesos__Internal__AuthenticationStartMessage *message;
	bool known = false;

	if (agent->proof.state != PROOF_ASKED)
		return;
	for (size_t i = 0; i < in->n_mechanisms; i++)
		known = known || !strcmp(in->mechanisms[i], CRAM_MD5);
	if (!known) {
		log_warning("Master %s offers no mechanism of authentication that is known here",
			    agent->master);
		return;
	}
	agent->proof.session = xstrdup(from);
	agent->proof.state = PROOF_STARTED;
	message = agent_new(agent, Mesos__Internal__AuthenticationStartMessage,
			    mesos__internal__authentication_start_message__descriptor);
	message->mechanism = (char *)CRAM_MD5;
	message->has_data = 1;
	authentication_send(agent, from, message);
}

static void authentication_answer(struct agent *agent, const char *from,
				  const Mesos__Internal__AuthenticationStepMessage *in)
{
	Mesos__Internal__AuthenticationStepMessage *message;
	char *answer;

	if (agent->proof.state != PROOF_STARTED)
		return;
	answer =
		cram_md5_answer(&agent->out->arena, agent->options.principal, agent->options.secret,
				(struct slice){(const char *)in->data.data, in->data.len});
	agent->proof.state = PROOF_ANSWERED;
	message = agent_new(agent, Mesos__Internal__AuthenticationStepMessage,
			    mesos__internal__authentication_step_message__descriptor);
	message->data.data = (uint8_t *)answer;
	message->data.len = strlen(answer);
	authentication_send(agent, from, message);
}

static void completed(struct agent *agent)
{
	if (agent->proof.state != PROOF_ANSWERED)
		return;
	log_info("Successfully authenticated with master %s", agent->master);
	agent_authentication_stop(agent);
	agent_register_proved(agent);
}

static void refused(struct agent *agent)
{
	if (agent->proof.state != PROOF_ANSWERED)
		return;
	agent_authentication_stop(agent);
	agent_emit_exit(
		agent, 1,
		arena_printf(&agent->out->arena,
			     "Master %s refused authentication: the principal or the secret "
			     "of --credential is wrong",
			     agent->master));
}

/* The timer of the attempt makes the next one. */
static void went_wrong(struct agent *agent,
		       const Mesos__Internal__AuthenticationErrorMessage *message)
{
	log_warning("Authentication error at master %s: %s", agent->master,
		    message->error ? message->error : "");
}

static bool authentication_expected(struct agent *agent, const char *from, const char *to)
{
	const char *at = from ? strchr(from, '@') : NULL;
	const char *master = agent->master ? strchr(agent->master, '@') : NULL;

	if (!agent_authenticating(agent) || !at || !master || strcmp(at, master) || !to ||
	    strcmp(to, agent->proof.actor))
		return false;
	return !agent->proof.session || !strcmp(agent->proof.session, from);
}

bool agent_handle_authentication(struct agent *agent, const char *from, const char *to,
				 const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;
#define IS(name) (type == &mesos__internal__authentication_##name##_message__descriptor)
	if (!IS(mechanisms) && !IS(step) && !IS(completed) && !IS(failed) && !IS(error))
		return false;
	if (!authentication_expected(agent, from, to))
		log_warning("Dropped %s from %s: it is not expected", type->short_name, from);
	else if (IS(mechanisms))
		authentication_start(agent, from, (const void *)message);
	else if (IS(step))
		authentication_answer(agent, from, (const void *)message);
	else if (IS(completed))
		completed(agent);
	else if (IS(failed))
		refused(agent);
	else
		went_wrong(agent, (const void *)message);
#undef IS
	return true;
}
