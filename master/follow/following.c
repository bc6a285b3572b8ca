/* See following.h. */
#include "master/follow/following.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"
#include "master/follow/followers.h"
#include "net/client.h"
#include "proto/proto.h"

#define PATH "/master/follow"
#define WORD_PATH "/master/followed"
#define HEAD_MS 10000
#define WORD_MS 10000
#define RETRY (SECOND / 2)
#define REFUSED_RETRY (10 * SECOND)

struct following {
	uv_loop_t *loop;
	struct warm_table *table;
	const char *credentials, *address;
	uv_timer_t beat;
	char *host; /* heap; NULL: there is nobody to follow */
	int port;
	char *leader;		    /* "host:port" */
	struct http_client *stream; /* NULL: not now */
	struct http_client *words;
	bool word_is_out;
	uint64_t next_try; /* uv_hrtime */
	uint64_t pause;	   /* ns, before the next try */
	int refusal;	   /* HTTP status that was logged last */

	/* What the copy is. */
	char *holder, *id; /* heap; NULL: there is none */
	uint64_t number, told;
	bool whole, counted;
};

/* ---- words ------------------------------------------------------------------------------ */

static void word_say(struct following *f);

static void word_answered(void *context, const struct http_answer *answer)
{
	struct following *f = context;

	(void)answer; /* what was not heard is said again with the next */
	f->word_is_out = false;
	if (f->number != f->told)
		word_say(f);
}

static void word_say(struct following *f)
{
	static const char *const headers[] = {"Content-Type", "application/x-protobuf", NULL};
	Mesita__FollowWord word = MESITA__FOLLOW_WORD__INIT;
	struct buf packed = BUF_INIT;

	if (f->word_is_out || !f->id || !f->words || !f->stream)
		return;
	word.follower = f->id;
	word.number = f->told = f->number;
	word.whole = f->whole;
	proto_pack(&word, &packed);
	f->word_is_out = true;
	http_client_send(f->words, "POST", WORD_PATH, headers, packed.data, packed.len, WORD_MS,
			 word_answered, f);
	buf_free(&packed);
}

/* ---- what is told ----------------------------------------------------------------------- */

static void copy_begin(struct following *f, const Mesita__FollowRecord *record)
{
	warm_table_clear(f->table);
	free(f->holder);
	free(f->id);
	f->holder = xstrdup(record->holder);
	f->id = xstrdup(record->follower ? record->follower : "");
	f->number = f->told = 0;
	f->whole = f->counted = false;
}

static void record_take(struct following *f, const Mesita__FollowRecord *record)
{
	if (record->holder)
		copy_begin(f, record);
	for (size_t i = 0; i < record->n_pairs; i++) {
		const Mesita__FollowRecord__Pair *pair = record->pairs[i];
		struct store_op op = {.key = {(char *)pair->key.data, pair->key.len}};

		/* A value may be empty, and is there. */
		if (pair->has_value)
			op.value = (struct slice){pair->value.data ? (char *)pair->value.data : "",
						  pair->value.len};
		warm_table_apply(f->table, &op);
	}
	if (record->has_number)
		f->number = record->number;
	if (record->whole) {
		f->whole = true;
		log_info("copied %zu records of the leading master's", warm_table_count(f->table));
	}
	if (record->has_counted && f->whole) {
		if (f->counted != record->counted)
			log_info("the copy of the leading master's records is %s",
				 record->counted ? "up to date" : "not up to date");
		f->counted = record->counted;
	}
	if (f->number != f->told || record->whole)
		word_say(f);
}

static void stream_opened(void *context, const struct http_answer *answer)
{
	struct following *f = context;

	f->pause = answer->status == 0 || answer->status == 503 ? RETRY : REFUSED_RETRY;
	/* 503: it begins to lead, and can be followed soon. */
	if (answer->status && answer->status != 200 && answer->status != 503 &&
	    answer->status != f->refusal)
		log_info("the leading master %s cannot be followed (status %d): if this one is "
			 "elected, it learns of frameworks and tasks when they come back",
			 f->leader, answer->status);
	f->refusal = answer->status;
}

static void stream_record(void *context, struct slice data)
{
	struct following *f = context;
	struct arena arena = {0};
	struct err err = {""};
	const Mesita__FollowRecord *record =
		proto_unpack(&mesita__follow_record__descriptor, &arena, data.data, data.len, &err);

	if (record && (f->id || record->holder))
		record_take(f, record);
	else
		log_warning("the leading master's record cannot be read: %s", err.text);
	arena_free(&arena);
}

static void clients_close(struct following *f)
{
	if (f->stream)
		http_client_close(f->stream);
	if (f->words)
		http_client_close(f->words);
	f->stream = f->words = NULL;
	f->word_is_out = false;
}

static void stream_ended(void *context, const char *why)
{
	struct following *f = context;

	(void)why;
	clients_close(f);
	f->next_try = uv_hrtime() + f->pause;
}

/* ---- whom to follow -------------------------------------------------------------------------- */

static void stream_open(struct following *f)
{
	static const struct http_stream_handlers handlers = {
		.opened = stream_opened,
		.record = stream_record,
		.ended = stream_ended,
	};
	char proof[DIGEST_TEXT];
	const char *headers[] = {"Content-Type",
				 "application/x-protobuf",
				 FOLLOW_PROOF,
				 proof,
				 FOLLOW_ADDRESS,
				 f->address,
				 NULL};

	follow_proof(f->credentials, f->leader, proof);
	f->pause = RETRY;
	f->stream = http_client_create(f->loop, f->host, f->port);
	f->words = http_client_create(f->loop, f->host, f->port);
	http_client_stream(f->stream, PATH, headers, "", 0, HEAD_MS, &handlers, f);
}

static void beat_cb(uv_timer_t *timer)
{
	struct following *f = timer->data;

	if (f->stream)
		word_say(f);
	else if (f->host && uv_hrtime() >= f->next_try)
		stream_open(f);
}

void following_turn(struct following *f, const char *leader)
{
	const char *colon = leader ? strrchr(leader, ':') : NULL;

	if (leader && f->leader && strcmp(leader, f->leader) == 0)
		return;
	if (f->stream)
		stream_ended(f, "");
	free(f->host);
	free(f->leader);
	f->host = colon ? xstrndup(leader, (size_t)(colon - leader)) : NULL;
	f->leader = colon ? xstrdup(leader) : NULL;
	f->port = colon ? atoi(colon + 1) : 0;
	f->refusal = 0;
	f->next_try = 0;
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct following *following_create(uv_loop_t *loop, struct warm_table *table,
				   const char *credentials, const char *address)
{
	struct following *f = xcalloc(1, sizeof(*f));

	f->loop = loop;
	f->table = table;
	f->credentials = credentials;
	f->address = address;
	uv_timer_init(loop, &f->beat);
	f->beat.data = f;
	uv_timer_start(&f->beat, beat_cb, 0, FOLLOW_BEAT / MILLISECOND);
	return f;
}

static void closed_cb(uv_handle_t *handle)
{
	free(handle->data);
}

void following_close(struct following *f)
{
	clients_close(f);
	free(f->host);
	free(f->leader);
	free(f->holder);
	free(f->id);
	uv_close((uv_handle_t *)&f->beat, closed_cb);
}

char *following_finish(struct following *f)
{
	char *copy = f->whole ? xprintf("%s %s", f->holder, f->id) : NULL;

	following_close(f);
	return copy;
}
