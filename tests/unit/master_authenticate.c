/* Drivers and agents that authenticate with the master: what each of the two sides says, what waits
 * for it, and whatever strangers try. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auth/cram_md5.h"
#include "base/base64.h"
#include "master/core/authenticate.h"
#include "master/core/objects.h"
#include "tests/unit/master_v0.h"

#define TYPE(name) &mesos__internal__##name##_message__descriptor
#define CLIENT1 "crammd5-authenticatee(1)@127.0.0.1:6001"
#define CLIENT2 "crammd5-authenticatee(1)@127.0.0.1:6002"
#define SESSION "crammd5-authenticator-session("

static struct driver *d;
static struct credentials *known;
static struct acls *acls;

static void set_up(void)
{
	char path[] = "/tmp/mesita-credentials-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	struct err err = {""};

	fputs("{\"credentials\":[{\"principal\":\"p\",\"secret\":\"s\"},"
	      "{\"principal\":\"q\",\"secret\":\"t\"}]}",
	      file);
	fclose(file);
	cr_assert_eq(credentials_load(path, "credentials", &known, &err), 0, "%s", err.text);
	remove(path);
	d = driver_prepare();
	d->options.credentials = known;
	d->options.authenticate_frameworks = d->options.authenticate_agents = true;
	d->options.authentication_timeout = 15 * SECOND;
	driver_start(d);
	driver_forget(d);
}

static void tear_down(void)
{
	driver_destroy(d);
	credentials_free(known);
	acls_free(acls);
	acls = NULL;
}

TestSuite(master_authenticate, .init = set_up, .fini = tear_down);

/* ---- the client's part ------------------------------------------------------------------- */

/* The session that spoke last, as a heap copy. */
static char *session(void)
{
	const char *found = NULL;

	for (const char *at = d->trace.data; at && (at = strstr(at, SESSION)); at++)
		found = at;
	cr_assert(found, "no session");
	return xstrndup(found, strcspn(found, " "));
}

static void begin(const char *client, const char *pid)
{
	driver_forget(d);
	driver_message(d, client, TYPE(authenticate), "{\"pid\":\"%s\"}", pid);
}

static void start(const char *client, const char *actor)
{
	d->to = actor;
	driver_message(d, client, TYPE(authentication_start), "{\"mechanism\":\"CRAM-MD5\"}");
	d->to = NULL;
}

static void step(const char *client, const char *actor, const char *data, size_t len)
{
	struct buf text = BUF_INIT;

	base64_encode(&text, data, len);
	d->to = actor;
	driver_message(d, client, TYPE(authentication_step), "{\"data\":\"%s\"}", text.data);
	d->to = NULL;
	buf_free(&text);
}

/* Takes the challenge that came last and answers it. */
static void answer(const char *client, const char *actor, const char *principal, const char *secret)
{
	const char *base64 = driver_last_bytes(d, "AuthenticationStepMessage");
	Mesos__Internal__AuthenticationStepMessage *message;
	struct arena arena;
	char bytes[1024], *text;
	long size;

	cr_assert(base64, "no challenge");
	size = base64_decode(base64, strlen(base64), bytes);
	arena_init(&arena);
	message = proto_unpack(&mesos__internal__authentication_step_message__descriptor, &arena,
			       bytes, (size_t)size, NULL);
	cr_assert(message);
	text = cram_md5_answer(&arena, principal, secret,
			       (struct slice){(const char *)message->data.data, message->data.len});
	step(client, actor, text, strlen(text));
	arena_free(&arena);
}

static void authenticate_as(const char *client, const char *pid, const char *principal,
			    const char *secret)
{
	char *actor;

	begin(client, pid);
	expect(d, "-> ", "AuthenticationMechanismsMessage", "{\"mechanisms\":[\"CRAM-MD5\"]}");
	actor = session();
	start(client, actor);
	expect(d, "AuthenticationStepMessage");
	answer(client, actor, principal, secret);
	free(actor);
}

#define INFO(principal) "\"principal\":\"" principal "\""

/* ---- drivers -------------------------------------------------------------------------------- */

Test(master_authenticate, a_driver_that_knows_its_secret)
{
	authenticate_as(CLIENT1, P1, "p", "s");
	expect(d, "-> " CLIENT1, "AuthenticationCompletedMessage {}");
	cr_expect_str_eq(authenticated_principal(d->m, P1), "p");
	v0_subscribe(d, P1, NULL, false, NULL);
	expect(d, "-> " P1 " FrameworkRegisteredMessage");
	cr_expect_str_eq(d->m->frameworks->info->principal, "p", "who it is, it need not say");
}

Test(master_authenticate, a_driver_that_does_not)
{
	v0_subscribe(d, P1, NULL, false, NULL);
	expect(d, "Framework at " P1 " is not authenticated");
	authenticate_as(CLIENT1, P1, "p", "t");
	expect(d, "-> " CLIENT1, "AuthenticationFailedMessage {}");
	authenticate_as(CLIENT1, P1, "nobody", "s");
	expect(d, "AuthenticationFailedMessage {}");
	driver_forget(d);
	v0_subscribe(d, P1, NULL, false, NULL);
	expect(d, "Framework at " P1 " is not authenticated");
	cr_expect_null(d->m->frameworks);
}

Test(master_authenticate, whoever_it_claims_to_be)
{
	authenticate_as(CLIENT1, P1, "p", "s");
	v0_subscribe(d, P1, NULL, false, INFO("q"));
	expect(d, "Framework principal 'q' does not match authenticated principal 'p'");
	v0_subscribe(d, P1, NULL, false, INFO("p"));
	expect(d, "FrameworkRegisteredMessage");
}

Test(master_authenticate, need_not_where_it_is_not_asked)
{
	d->m->options.authenticate_frameworks = false;
	v0_subscribe(d, P2, NULL, false, INFO("q"));
	expect(d, "-> " P2 " FrameworkRegisteredMessage");
	authenticate_as(CLIENT1, P1, "p", "s");
	v0_subscribe(d, P1, NULL, false, INFO("q"));
	expect(d, "does not match authenticated principal 'p'");
}

Test(master_authenticate, each_connection_anew)
{
	authenticate_as(CLIENT1, P1, "p", "s");
	v0_subscribe(d, P1, NULL, false, "\"failover_timeout\":1000");
	driver_exited(d, P1);
	cr_expect_null(authenticated_principal(d->m, P1));
	driver_forget(d);
	v0_subscribe(d, P1, "M-0000", false, INFO("p"));
	expect(d, "is not authenticated");
	authenticate_as(CLIENT1, P1, "p", "s");
	v0_subscribe(d, P1, "M-0000", false, INFO("p"));
	expect(d, "FrameworkReregisteredMessage");
}

/* ---- what comes too early ----------------------------------------------------------------------
 */

Test(master_authenticate, registrations_wait_for_the_end)
{
	char *actor;

	begin(CLIENT1, P1);
	actor = session();
	v0_subscribe(d, P1, NULL, false, NULL);
	start(CLIENT1, actor);
	refute(d, "FrameworkErrorMessage");
	refute(d, "FrameworkRegisteredMessage");
	answer(CLIENT1, actor, "p", "s");
	expect(d, "AuthenticationCompletedMessage");
	expect(d, "-> " P1 " FrameworkRegisteredMessage");
	free(actor);
}

Test(master_authenticate, and_are_lost_with_one_that_fails)
{
	char *actor;

	begin(CLIENT1, P1);
	actor = session();
	for (int i = 0; i < 10; i++)
		v0_subscribe(d, P1, NULL, false, NULL);
	start(CLIENT1, actor);
	answer(CLIENT1, actor, "p", "wrong");
	expect(d, "AuthenticationFailedMessage");
	refute(d, "Framework");
	free(actor);
	/* What is no registration does not wait. */
	begin(CLIENT1, P1);
	v0_send(d, P1, revive_offers, "{" FID "}");
	cr_expect_eq(d->m->counters.dropped_messages, 7, "six subscriptions and this one");
}

Test(master_authenticate, no_longer_than_the_timeout)
{
	char *actor;

	begin(CLIENT1, P1);
	actor = session();
	v0_subscribe(d, P1, NULL, false, NULL);
	driver_pass(d, 14 * SECOND);
	cr_expect_not_null(d->m->sessions);
	driver_pass(d, 2 * SECOND);
	cr_expect_null(d->m->sessions);
	driver_forget(d);
	start(CLIENT1, actor);
	cr_expect_eq(d->trace.len, 0, "%s", d->trace.data);
	v0_subscribe(d, P1, NULL, false, NULL);
	expect(d, "is not authenticated");
	free(actor);
}

/* ---- what is out of turn, and strangers
 * ----------------------------------------------------------- */

Test(master_authenticate, messages_out_of_turn)
{
	char *actor;

	begin(CLIENT1, P1);
	actor = session();
	step(CLIENT1, actor, "p x", 3);
	expect(d, "AuthenticationErrorMessage", "Unexpected authentication 'step' received");
	free(actor);
	begin(CLIENT1, P1);
	actor = session();
	start(CLIENT1, actor);
	start(CLIENT1, actor);
	expect(d, "AuthenticationErrorMessage", "Unexpected authentication 'start' received");
	free(actor);
	begin(CLIENT1, P1);
	actor = session();
	d->to = actor;
	driver_message(d, CLIENT1, TYPE(authentication_start), "{\"mechanism\":\"PLAIN\"}");
	d->to = NULL;
	expect(d, "AuthenticationErrorMessage", "Unsupported authentication mechanism");
	cr_expect_null(d->m->sessions);
	free(actor);
}

Test(master_authenticate, the_latest_session_counts)
{
	char *first, *second;

	begin(CLIENT1, P1);
	first = session();
	begin(CLIENT1, P1);
	second = session();
	cr_expect_str_neq(first, second);
	driver_forget(d);
	start(CLIENT1, first);
	cr_expect_eq(d->trace.len, 0);
	start(CLIENT1, second);
	answer(CLIENT1, second, "p", "s");
	cr_expect_not_null(authenticated_principal(d->m, P1));
	free(first);
	free(second);
}

Test(master_authenticate, strangers_neither_speak_for_others_nor_stop_them)
{
	char *actor;

	/* On another machine than the pid. */
	begin("crammd5-authenticatee(1)@127.0.0.2:6001", P1);
	cr_expect_eq(d->trace.len, 0);
	begin(CLIENT2, "x");
	cr_expect_eq(d->trace.len, 0);
	/* Into another's session. */
	begin(CLIENT1, P1);
	actor = session();
	driver_forget(d);
	start(CLIENT2, actor);
	start(CLIENT1, "master");
	start(CLIENT1, SESSION "1)");
	cr_expect_eq(d->trace.len, 0, "%s", d->trace.data);
	start(CLIENT1, actor);
	answer(CLIENT2, actor, "q", "t");
	cr_expect_null(authenticated_principal(d->m, P1));
	answer(CLIENT1, actor, "p", "s");
	cr_expect_str_eq(authenticated_principal(d->m, P1), "p");
	free(actor);
	/* One that is begun in the name of somebody who is known takes nothing from them. */
	begin(CLIENT1, P1);
	v0_subscribe(d, P1, NULL, false, NULL);
	expect(d, "FrameworkRegisteredMessage");
}

Test(master_authenticate, so_many_sessions_and_no_more)
{
	char pid[64], *first, *second;

	begin(CLIENT1, P1);
	first = session();
	begin(CLIENT2, P2);
	second = session();
	for (int i = 0; i < 9999; i++) {
		snprintf(pid, sizeof(pid), "s-%d@127.0.0.1:6002", i);
		begin(CLIENT2, pid);
	}
	driver_forget(d);
	start(CLIENT1, first);
	cr_expect_eq(d->trace.len, 0, "the oldest made room");
	start(CLIENT2, second);
	expect(d, "AuthenticationStepMessage");
	free(first);
	free(second);
	driver_pass(d, MINUTE);
	cr_expect_null(d->m->sessions);
}

Test(master_authenticate, answers_come_from_where_the_client_reaches_us)
{
	char *actor;

	d->local = "10.1.2.3:5050";
	begin(CLIENT1, P1);
	expect(d, ")@10.1.2.3:5050 -> " CLIENT1 " AuthenticationMechanismsMessage");
	actor = session();
	*strchr(actor, '@') = '\0';
	start(CLIENT1, actor);
	expect(d, ")@10.1.2.3:5050 -> " CLIENT1 " AuthenticationStepMessage");
	d->local = NULL;
	free(actor);
}

/* ---- agents
 * ------------------------------------------------------------------------------------------ */

#define AGENT_CLIENT "crammd5-authenticatee(1)@127.0.0.1:5001"

Test(master_authenticate, agents_that_must)
{
	driver_agent(d, AGENT1);
	cr_expect_null(d->m->agents);
	driver_reregister(d, AGENT1, "M-S7", NULL);
	cr_expect_null(d->m->agents);
	authenticate_as(AGENT_CLIENT, AGENT1, "p", "s");
	driver_agent(d, AGENT1);
	cr_expect_not_null(d->m->agents);
	driver_exited(d, AGENT1);
	driver_reregister(d, AGENT1, "M-S0", NULL);
	cr_expect_not(agent_connected(d->m->agents));
	authenticate_as(AGENT_CLIENT, AGENT1, "p", "s");
	driver_reregister(d, AGENT1, "M-S0", NULL);
	cr_expect(agent_connected(d->m->agents));
}

Test(master_authenticate, agents_that_may_not)
{
	static const char text[] =
		"{\"register_agents\":[{\"principals\":{\"values\":[\"p\"]},"
		"\"agents\":{\"type\":\"ANY\"}},{\"principals\":{\"type\":\"ANY\"},"
		"\"agents\":{\"type\":\"NONE\"}}]}";
	struct err err = {""};

	cr_assert_eq(acls_parse(text, strlen(text), &acls, &err), 0, "%s", err.text);
	d->m->options.acls = acls;
	authenticate_as(AGENT_CLIENT, AGENT1, "q", "t");
	driver_agent(d, AGENT1);
	cr_expect_null(d->m->agents);
	authenticate_as(AGENT_CLIENT, AGENT1, "p", "s");
	driver_agent(d, AGENT1);
	cr_expect_not_null(d->m->agents);
	driver_exited(d, AGENT1);
	authenticate_as(AGENT_CLIENT, AGENT1, "q", "t");
	driver_reregister(d, AGENT1, "M-S0", NULL);
	cr_expect_not(agent_connected(d->m->agents));
}
