#include "master/core/authenticate.h"

#include <stdlib.h>
#include <string.h>

#include "auth/cram_md5.h"
#include "base/log/log.h"
#include "master/core/agents/pid.h"
#include "master/core/authorize.h"
#include "master/core/emit.h"
#include "master/core/operator.h"

/* Strangers begin sessions, and leave pids that never register. */
#define SESSIONS_MAX 10000
#define AUTHENTICATED_MAX 100000
#define HELD_MAX 4 /* messages of a session */

enum session_state {
	SESSION_OFFERED,    /* it was told which mechanisms there are */
	SESSION_CHALLENGED, /* it was sent the challenge */
};

struct auth_session {
	char *pid;    /* which it speaks for */
	char *client; /* who asked: an actor on the same machine */
	char *local;  /* where it reaches us, or NULL */
	char *actor;  /* ours */
	enum session_state state;
	char *challenge;
	struct timer expiry;
	struct list held;	 /* struct held_message.link */
	UT_hash_handle hh;	 /* master.sessions, by pid */
	UT_hash_handle hh_actor; /* master.sessions_by_actor */
};

/* A registration that waits. */
struct held_message {
	struct list link;
	ProtobufCMessage *message;
	char *local;
	bool force;
};

struct authenticated {
	char *pid, *principal;
	UT_hash_handle hh; /* master.authenticated, by pid */
};

/* ---- who is known -------------------------------------------------------------------- */

static struct authenticated *find_authenticated(const struct master *m, const char *pid)
{
	struct authenticated *known;

	HASH_FIND_STR(m->authenticated, pid, known);
	return known;
}

const char *authenticated_principal(const struct master *m, const char *pid)
{
	const struct authenticated *known = find_authenticated(m, pid);

	return known ? known->principal : NULL;
}

static void drop_authenticated(struct master *m, struct authenticated *known)
{
	HASH_DEL(m->authenticated, known);
	free(known->pid);
	free(known->principal);
	free(known);
}

void authenticate_forget(struct master *m, const char *pid)
{
	struct authenticated *known = find_authenticated(m, pid);

	if (known)
		drop_authenticated(m, known);
}

static void note_authenticated(struct master *m, const char *pid, const char *principal)
{
	struct authenticated *known = xcalloc(1, sizeof(*known));

	authenticate_forget(m, pid);
	/* The oldest of so many is one that never registered, or has long done so. */
	if (HASH_COUNT(m->authenticated) >= AUTHENTICATED_MAX)
		drop_authenticated(m, m->authenticated);
	known->pid = xstrdup(pid);
	known->principal = xstrdup(principal);
	HASH_ADD_KEYPTR(hh, m->authenticated, known->pid, strlen(known->pid), known);
}

int authenticate_framework(const struct master *m, const char *pid,
			   const Mesos__FrameworkInfo *info, struct err *err)
{
	const char *principal = authenticated_principal(m, pid);

	if (m->options.authenticate_frameworks && !principal)
		return err_set(err, ERR_INVALID, "Framework at %s is not authenticated", pid);
	if (principal && info->principal && strcmp(info->principal, principal))
		return err_set(err, ERR_INVALID,
			       "Framework principal '%s' does not match authenticated principal "
			       "'%s'",
			       info->principal, principal);
	return 0;
}

bool authenticate_agent(const struct master *m, const char *pid)
{
	const char *principal = authenticated_principal(m, pid);

	if (m->options.authenticate_agents && !principal) {
		log_warning("refused an agent at %s: it is not authenticated; start it with "
			    "--credential",
			    pid);
		return false;
	}
	if (authorize(m, ACL_REGISTER_AGENT, principal, NULL))
		return true;
	log_warning("refused an agent at %s: --acls does not let %s register agents", pid,
		    principal ? principal : "who does not say who they are");
	return false;
}

/* ---- sessions --------------------------------------------------------------------------- */

static struct auth_session *find_session(const struct master *m, const char *pid)
{
	struct auth_session *s;

	HASH_FIND_STR(m->sessions, pid, s);
	return s;
}

static struct auth_session *find_actor(const struct master *m, const char *actor)
{
	struct auth_session *s;

	HASH_FIND(hh_actor, m->sessions_by_actor, actor, strlen(actor), s);
	return s;
}

static void free_held(struct held_message *held)
{
	list_remove(&held->link);
	proto_free(held->message);
	free(held->local);
	free(held);
}

/* It is found no more. */
static void detach_session(struct master *m, struct auth_session *s)
{
	timers_stop(&m->timers, &s->expiry);
	HASH_DEL(m->sessions, s);
	HASH_DELETE(hh_actor, m->sessions_by_actor, s);
}

static void free_session(struct auth_session *s)
{
	struct held_message *held, *next;

	list_for_each (held, next, &s->held, link)
		free_held(held);
	free(s->pid);
	free(s->client);
	free(s->local);
	free(s->actor);
	free(s->challenge);
	free(s);
}

static void end_session(struct master *m, struct auth_session *s)
{
	detach_session(m, s);
	free_session(s);
}

static void session_tell(struct master *m, const struct auth_session *s, void *message)
{
	const char *from = s->local ? arena_join(&m->out->arena, s->actor, "@", s->local, NULL)
				    : master_text(m, s->actor);

	master_emit_message(m, from, s->client, message);
}

#define NEW(m, Type, name)                                                                         \
	STEP_NEW(m, Mesos__Internal__##Type, mesos__internal__##name##__descriptor)

static void tell_error(struct master *m, const char *from, const char *local, const char *text)
{
	Mesos__Internal__AuthenticationErrorMessage *message =
		NEW(m, AuthenticationErrorMessage, authentication_error_message);

	message->error = master_text(m, text);
	master_emit_message(m,
			    local ? arena_join(&m->out->arena, "master@", local, NULL) : "master",
			    from, message);
}

static void session_error(struct master *m, struct auth_session *s, const char *text)
{
	Mesos__Internal__AuthenticationErrorMessage *message =
		NEW(m, AuthenticationErrorMessage, authentication_error_message);

	log_warning("authentication of %s failed: %s", s->pid, text);
	message->error = master_text(m, text);
	session_tell(m, s, message);
	end_session(m, s);
}

void authenticate_expired(struct master *m, struct timer *timer)
{
	struct auth_session *s = container_of(timer, struct auth_session, expiry);

	log_warning("authentication of %s timed out", s->pid);
	end_session(m, s);
}

static struct auth_session *begin_session(struct master *m, const char *pid,
					  const struct master_event *event)
{
	struct auth_session *s = xcalloc(1, sizeof(*s));

	if (HASH_COUNT(m->sessions) >= SESSIONS_MAX)
		end_session(m, m->sessions);
	s->pid = xstrdup(pid);
	s->client = xstrdup(event->message.from);
	s->local = event->message.local ? xstrdup(event->message.local) : NULL;
	/* Nobody else can guess it. */
	s->actor = xprintf("crammd5-authenticator-session(%llu)",
			   (unsigned long long)(rng_next(m->options.rng) >> 1));
	s->expiry.kind = TIMER_AUTHENTICATION;
	list_init(&s->held);
	HASH_ADD_KEYPTR(hh, m->sessions, s->pid, strlen(s->pid), s);
	HASH_ADD_KEYPTR(hh_actor, m->sessions_by_actor, s->actor, strlen(s->actor), s);
	timers_start(&m->timers, &s->expiry, master_later(m, m->options.authentication_timeout));
	return s;
}

/* What waited is handled as if it came now. */
static void release(struct master *m, struct auth_session *s)
{
	struct held_message *held, *next;

	detach_session(m, s);
	list_for_each (held, next, &s->held, link) {
		struct master_event event = {
			.type = MASTER_MESSAGE,
			.message = {.from = master_text(m, s->pid),
				    .to = "master",
				    .message = STEP_COPY(m, held->message),
				    .local = held->local ? master_text(m, held->local) : NULL,
				    .force = held->force},
		};

		master_handle_message(m, &event);
	}
	free_session(s);
}

/* ---- messages ---------------------------------------------------------------------------- */

/* Drivers in Go authenticate at a port of their own. */
static bool same_machine(const char *pid, const char *other)
{
	char ip[64], other_ip[64];

	pid_ip(pid, ip, sizeof(ip));
	pid_ip(other, other_ip, sizeof(other_ip));
	return !strcmp(ip, other_ip);
}

static void authenticate(struct master *m, const struct master_event *event)
{
	const Mesos__Internal__AuthenticateMessage *in = (const void *)event->message.message;
	const char *from = event->message.from;
	Mesos__Internal__AuthenticationMechanismsMessage *message;
	struct auth_session *s;

	m->counters.messages_authenticate++;
	if (!m->options.credentials) {
		log_warning("%s has a credential, but this master authenticates nobody: it will "
			    "not register; start it without one",
			    from);
		tell_error(m, from, event->message.local, "No authenticator loaded");
		return;
	}
	if (!pid_valid(in->pid) || !same_machine(in->pid, from)) {
		log_warning("ignored %s, which wants to authenticate '%s' on another machine", from,
			    in->pid);
		m->counters.dropped_messages++;
		return;
	}
	s = find_session(m, in->pid);
	if (s)
		end_session(m, s);
	s = begin_session(m, in->pid, event);
	message = NEW(m, AuthenticationMechanismsMessage, authentication_mechanisms_message);
	proto_push(&m->out->arena, message->n_mechanisms, message->mechanisms, (char *)CRAM_MD5);
	session_tell(m, s, message);
}

static void start(struct master *m, struct auth_session *s,
		  const Mesos__Internal__AuthenticationStartMessage *in)
{
	Mesos__Internal__AuthenticationStepMessage *message;

	if (s->state != SESSION_OFFERED) {
		session_error(m, s, "Unexpected authentication 'start' received");
		return;
	}
	if (strcmp(in->mechanism, CRAM_MD5)) {
		session_error(m, s, "Unsupported authentication mechanism");
		return;
	}
	s->state = SESSION_CHALLENGED;
	s->challenge = xstrdup(
		cram_md5_challenge(&m->out->arena, m->options.rng, m->now, m->options.hostname));
	message = NEW(m, AuthenticationStepMessage, authentication_step_message);
	message->data.data = arena_memdup(&m->out->arena, s->challenge, strlen(s->challenge));
	message->data.len = strlen(s->challenge);
	session_tell(m, s, message);
}

static void step(struct master *m, struct auth_session *s,
		 const Mesos__Internal__AuthenticationStepMessage *in)
{
	const char *principal;

	if (s->state != SESSION_CHALLENGED) {
		session_error(m, s, "Unexpected authentication 'step' received");
		return;
	}
	principal = cram_md5_check(&m->out->arena, m->options.credentials, s->challenge,
				   (struct slice){(const char *)in->data.data, in->data.len});
	if (!principal) {
		log_warning("refused %s: the secret or the principal is wrong", s->pid);
		session_tell(m, s,
			     NEW(m, AuthenticationFailedMessage, authentication_failed_message));
		authenticate_forget(m, s->pid);
		end_session(m, s);
		return;
	}
	log_info("authenticated %s at %s", principal, s->pid);
	note_authenticated(m, s->pid, principal);
	session_tell(m, s,
		     NEW(m, AuthenticationCompletedMessage, authentication_completed_message));
	release(m, s);
}

bool authenticate_message(struct master *m, const struct master_event *event)
{
	const ProtobufCMessageDescriptor *type = event->message.message->descriptor;
	const void *message = event->message.message;
	bool starts = type == &mesos__internal__authentication_start_message__descriptor;
	bool steps = type == &mesos__internal__authentication_step_message__descriptor;
	struct auth_session *s;

	if (type == &mesos__internal__authenticate_message__descriptor) {
		if (pid_valid(event->message.from))
			authenticate(m, event);
		return true;
	}
	if (!starts && !steps)
		return false;
	s = event->message.to ? find_actor(m, event->message.to) : NULL;
	if (!s || strcmp(s->client, event->message.from)) {
		log_warning("ignored %s from %s: it has no session", type->short_name,
			    event->message.from);
		m->counters.dropped_messages++;
	} else if (starts) {
		start(m, s, message);
	} else {
		step(m, s, message);
	}
	return true;
}

static bool registers(const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;

	if (type == &mesos__scheduler__call__descriptor) {
		const Mesos__Scheduler__Call *call = (const void *)message;

		return call->has_type && call->type == MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE;
	}
	return type == &mesos__internal__register_slave_message__descriptor ||
	       type == &mesos__internal__reregister_slave_message__descriptor ||
	       type == &mesos__internal__register_framework_message__descriptor ||
	       type == &mesos__internal__reregister_framework_message__descriptor;
}

static size_t count_held(const struct auth_session *s)
{
	size_t count = 0;

	for (const struct list *at = s->held.next; at != &s->held; at = at->next)
		count++;
	return count;
}

bool authenticate_holds(struct master *m, const struct master_event *event)
{
	struct auth_session *s;
	struct held_message *held;

	if (!m->sessions || !registers(event->message.message))
		return false;
	s = find_session(m, event->message.from);
	/* Who is known need not wait: a stranger could begin a session in its name. */
	if (!s || find_authenticated(m, event->message.from))
		return false;
	if (count_held(s) == HELD_MAX) {
		m->counters.dropped_messages++;
		return true;
	}
	held = xcalloc(1, sizeof(*held));
	held->message = proto_copy(event->message.message);
	held->local = event->message.local ? xstrdup(event->message.local) : NULL;
	held->force = event->message.force;
	list_append(&s->held, &held->link);
	return true;
}

void authenticate_free(struct master *m)
{
	struct authenticated *known, *next_known;
	struct auth_session *s, *next;

	HASH_ITER (hh, m->sessions, s, next)
		end_session(m, s);
	HASH_ITER (hh, m->authenticated, known, next_known)
		drop_authenticated(m, known);
}
