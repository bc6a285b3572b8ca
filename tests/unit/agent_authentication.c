/* An agent with a credential: what it says to its master before it registers, and when that says
 * no, or nothing. */
#include "agent_harness.h"

#include <stdio.h>
#include <string.h>

#include "auth/cram_md5.h"

static struct rig rig;

static void start(void)
{
	rig_init(&rig);
	rig.options.principal = "p";
	rig.options.secret = "s";
	rig.options.authentication_backoff_factor = SECOND;
	rig.options.authentication_timeout_min = 5 * SECOND;
	rig.options.authentication_timeout_max = MINUTE;
	rig_start(&rig);
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_authentication, .init = start, .fini = stop);

#define SESSION "crammd5-authenticator-session(7)@10.0.0.1:5050"
#define OTHER "crammd5-authenticator-session(8)@10.0.0.1:5050"
#define ACTOR "crammd5-authenticatee(1)"
#define CHALLENGE "<1896.697170952@postoffice.reston.mci.net>"
#define ASKS "link " RIG_MASTER "\n" ACTOR ": send master AuthenticateMessage\n"

static void offer(const char *from, const char *to, const char *mechanism)
{
	Mesos__Internal__AuthenticationMechanismsMessage *message =
		PROTO_NEW(&rig.arena, Mesos__Internal__AuthenticationMechanismsMessage,
			  mesos__internal__authentication_mechanisms_message__descriptor);

	proto_push(&rig.arena, message->n_mechanisms, message->mechanisms, (char *)mechanism);
	rig_message_to(&rig, from, to, message);
}

static void challenge(const char *from, const char *to)
{
	Mesos__Internal__AuthenticationStepMessage *message =
		PROTO_NEW(&rig.arena, Mesos__Internal__AuthenticationStepMessage,
			  mesos__internal__authentication_step_message__descriptor);

	message->data.data = (uint8_t *)CHALLENGE;
	message->data.len = strlen(CHALLENGE);
	rig_message_to(&rig, from, to, message);
}

static void complete(const char *from, const char *to)
{
	rig_message_to(&rig, from, to,
		       PROTO_NEW(&rig.arena, Mesos__Internal__AuthenticationCompletedMessage,
				 mesos__internal__authentication_completed_message__descriptor));
}

static void fail(const char *from, const char *to)
{
	rig_message_to(&rig, from, to,
		       PROTO_NEW(&rig.arena, Mesos__Internal__AuthenticationFailedMessage,
				 mesos__internal__authentication_failed_message__descriptor));
}

static void ask(void)
{
	rig_detect(&rig, RIG_MASTER);
	rig_next(&rig);
	rig_expect(&rig, ASKS);
}

static void answer(void)
{
	char line[256], digest[CRAM_MD5_DIGEST];

	offer(SESSION, ACTOR, "CRAM-MD5");
	rig_expect(&rig, ACTOR ": send " SESSION " AuthenticationStartMessage\n");
	challenge(SESSION, ACTOR);
	cram_md5_digest("s", (struct slice){CHALLENGE, strlen(CHALLENGE)}, digest);
	snprintf(line, sizeof(line), ACTOR ": send " SESSION " AuthenticationStepMessage p %s\n",
		 digest);
	rig_expect(&rig, line);
}

Test(agent_authentication, comes_before_registration)
{
	ask();
	answer();
	complete(SESSION, ACTOR);
	rig_expect(&rig, "link " RIG_MASTER "\nsend master RegisterSlaveMessage\n");
}

/* Nor is anybody heard who was not asked, or who was answered. */
Test(agent_authentication, ends_with_its_last_word)
{
	offer(SESSION, ACTOR, "CRAM-MD5");
	complete(SESSION, ACTOR);
	rig_expect(&rig, "");
	ask();
	answer();
	complete(SESSION, ACTOR);
	rig_take(&rig);
	offer(SESSION, ACTOR, "CRAM-MD5");
	challenge(SESSION, ACTOR);
	complete(SESSION, ACTOR);
	fail(SESSION, ACTOR);
	rig_expect(&rig, "");
}

/* The master may have lost what it knew. */
Test(agent_authentication, is_repeated_with_registration)
{
	ask();
	answer();
	complete(SESSION, ACTOR);
	rig_take(&rig);
	rig_next(&rig);
	rig_expect(&rig, "link " RIG_MASTER
			 "\ncrammd5-authenticatee(2): send master AuthenticateMessage\n");
	rig_register(&rig);
	cr_expect(agent_registered(rig.agent));
	rig_tick(&rig, 70 * SECOND);
	rig_expect(&rig, "");
}

Test(agent_authentication, refused_ends_the_agent)
{
	ask();
	answer();
	fail(SESSION, ACTOR);
	rig_expect(&rig, "exit 1 Master " RIG_MASTER
			 " refused authentication: the principal or the secret of --credential is "
			 "wrong\n");
}

Test(agent_authentication, without_an_answer_tries_again)
{
	int64_t begin, waits[40], longest = 0;

	ask();
	for (int i = 0; i < 40; i++) {
		begin = rig.now;
		rig_next(&rig);
		waits[i] = rig.now - begin;
		if (waits[i] > longest)
			longest = waits[i];
		cr_expect(strstr(rig_take(&rig), "AuthenticateMessage"));
	}
	cr_expect_gt(longest, 40 * SECOND, "each may take longer than the one before");
	/* 5 to 7 s, 5 to 9, 5 to 13 ... 5 to 60. */
	for (int i = 0; i < 40; i++)
		cr_expect(waits[i] >= 5 * SECOND &&
				  waits[i] <= (i > 4 ? 60 : 5 + (2 << i)) * SECOND,
			  "%d: %lld", i, (long long)waits[i]);
}

Test(agent_authentication, a_master_that_died_is_asked_again_soon)
{
	struct agent_event event = {.type = AGENT_EXITED, .exited = {RIG_MASTER}};

	ask();
	rig_step(&rig, &event);
	cr_expect_leq(agent_next_timeout(rig.agent), rig.now + SECOND);
	rig_next(&rig);
	cr_expect(strstr(rig_take(&rig), "crammd5-authenticatee(2): send master Authenticate"));
}

Test(agent_authentication, an_error_is_waited_out)
{
	Mesos__Internal__AuthenticationErrorMessage *message =
		PROTO_NEW(&rig.arena, Mesos__Internal__AuthenticationErrorMessage,
			  mesos__internal__authentication_error_message__descriptor);

	ask();
	message->error = (char *)"No authenticator loaded";
	rig_message_to(&rig, RIG_MASTER, ACTOR, message);
	rig_expect(&rig, "");
	rig_next(&rig);
	cr_expect(strstr(rig_take(&rig), "AuthenticateMessage"));
}

Test(agent_authentication, listens_to_its_session_alone)
{
	ask();
	offer("crammd5-authenticator-session(7)@10.0.0.9:5050", ACTOR, "CRAM-MD5");
	offer(SESSION, "crammd5-authenticatee(2)", "CRAM-MD5");
	offer(SESSION, "slave(1)", "CRAM-MD5");
	offer(SESSION, ACTOR, "PLAIN");
	challenge(SESSION, ACTOR);
	complete(SESSION, ACTOR);
	fail(SESSION, ACTOR);
	rig_expect(&rig, "");
	answer();
	challenge(OTHER, ACTOR);
	challenge(SESSION, ACTOR);
	complete(OTHER, ACTOR);
	fail(OTHER, ACTOR);
	fail(SESSION, "crammd5-authenticatee(0)");
	rig_expect(&rig, "");
	complete(SESSION, ACTOR);
	cr_expect(strstr(rig_take(&rig), "RegisterSlaveMessage"));
	/* It is over. */
	complete(SESSION, ACTOR);
	fail(SESSION, ACTOR);
	rig_expect(&rig, "");
}

Test(agent_authentication, another_master_is_told_anew)
{
	ask();
	answer();
	rig_detect(&rig, "master@10.0.0.2:5050");
	rig_expect(&rig, "unlink " RIG_MASTER "\n");
	complete(SESSION, ACTOR);
	rig_expect(&rig, "");
	rig_next(&rig);
	rig_expect(&rig,
		   "link master@10.0.0.2:5050\n"
		   "crammd5-authenticatee(2): send master@10.0.0.2:5050 AuthenticateMessage\n");
	rig_detect(&rig, NULL);
	rig_take(&rig);
	cr_expect_eq(agent_next_timeout(rig.agent), TIME_NEVER);
}
