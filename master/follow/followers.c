/* See followers.h. */
#include "master/follow/followers.h"

#include <stdlib.h>
#include <string.h>

#include "auth/digest.h"
#include "base/log/log.h"
#include "base/memory/arena.h"
#include "proto/proto.h"

#define SLICE_BYTES (256 * 1024)	 /* of the beginning, at a time */
#define BEHIND_BYTES (16u * 1024 * 1024) /* more than that waits: it begins anew later */
#define STREAM_BYTES (4 * BEHIND_BYTES)	 /* never reached: that is a fault of ours */
#define ADDRESS_MAX 256

struct follower {
	struct list link;
	struct followers *owner;
	struct http_stream *http;
	char id[UUID_TEXT];
	char address[ADDRESS_MAX]; /* "" of one that did not tell */
	struct warm_cursor cursor; /* of the beginning */
	bool whole;		   /* all of the beginning was told */
	bool behind;		   /* it is told nothing more until it begins anew */
	bool answered;		   /* it has all of the beginning */
	bool counted;
	uint64_t acked;
	uint64_t mark; /* it is up to date if it has this one */
	int64_t heard; /* uv_hrtime of its last word */
	int64_t echo;
};

struct followers {
	struct followers_options o;
	struct list all;
	size_t count;
	uint64_t last; /* batch that was told */
	uv_timer_t beat;
	struct buf packed, chunk;
};

void follow_proof(const char *credentials, const char *leader, char proof[DIGEST_TEXT])
{
	char *text = xprintf("follow\n%s\n%s", credentials ? credentials : "", leader);

	digest_text(text, strlen(text), proof);
	free(text);
}

/* ---- telling ------------------------------------------------------------------------- */

static void record_send(struct follower *f, const Mesita__FollowRecord *record)
{
	struct buf *packed = &f->owner->packed;

	proto_pack(record, packed);
	http_stream_record(f->http, packed->data, packed->len);
	buf_recycle(packed);
}

static void pairs_add(struct arena *arena, Mesita__FollowRecord *record, struct slice key,
		      struct slice value)
{
	Mesita__FollowRecord__Pair *pair = PROTO_NEW(arena, Mesita__FollowRecord__Pair,
						     mesita__follow_record__pair__descriptor);

	pair->key = (ProtobufCBinaryData){key.len, (uint8_t *)key.data};
	pair->has_value = value.data != NULL;
	pair->value = (ProtobufCBinaryData){value.len, (uint8_t *)value.data};
	proto_push(arena, record->n_pairs, record->pairs, pair);
}

/* The next part of what there is; it goes on when that is out of our hands. */
static void beginning_goes_on(void *context, struct http_stream *stream)
{
	Mesita__FollowRecord record = MESITA__FOLLOW_RECORD__INIT;
	struct follower *f = context;
	struct arena arena = {0};
	struct slice key, value;
	size_t bytes = 0;
	bool more = true;

	(void)stream;
	if (f->whole || f->behind)
		return;
	while (bytes < SLICE_BYTES && (more = warm_cursor_next(&f->cursor, &key, &value))) {
		pairs_add(&arena, &record, key, value);
		bytes += key.len + value.len;
	}
	if (!more) {
		f->whole = true;
		f->mark = f->owner->last;
		record.has_whole = record.whole = true;
		record.has_number = true;
		record.number = f->owner->last;
	}
	record_send(f, &record);
	arena_free(&arena);
	if (more)
		http_stream_when_drained(f->http, beginning_goes_on);
}

static void beginning_send(struct follower *f)
{
	Mesita__FollowRecord record = MESITA__FOLLOW_RECORD__INIT;
	uint8_t uuid[UUID_BYTES];

	f->whole = f->behind = f->answered = false;
	f->acked = 0;
	/* Words about an earlier beginning are nobody's. */
	uuid_make(f->owner->o.rng, uuid);
	uuid_format(uuid, f->id);
	record.holder = (char *)f->owner->o.holder;
	record.follower = f->id;
	record_send(f, &record);
	warm_cursor_begin(&f->cursor, f->owner->o.table);
	http_stream_when_drained(f->http, beginning_goes_on);
}

static void count_no_more(struct follower *f, const char *why)
{
	if (!f->counted)
		return;
	f->counted = false;
	log_warning("nothing waits for follower %s any more: %s", f->id, why);
}

void followers_tell(struct followers *followers, const struct store_op *ops, size_t count,
		    uint64_t number)
{
	Mesita__FollowRecord record = MESITA__FOLLOW_RECORD__INIT;
	struct arena arena = {0};
	struct follower *f, *next;

	followers->last = number;
	if (list_empty(&followers->all))
		return;
	for (size_t i = 0; i < count; i++)
		pairs_add(&arena, &record, ops[i].key, ops[i].value);
	record.has_number = true;
	record.number = number;
	proto_pack(&record, &followers->packed);
	http_chunk_record(&followers->chunk, followers->packed.data, followers->packed.len);
	list_for_each (f, next, &followers->all, link) {
		if (!f->behind && http_stream_waiting(f->http) > BEHIND_BYTES) {
			count_no_more(f, "it does not read");
			warm_cursor_end(&f->cursor);
			f->behind = true;
		}
		if (!f->behind)
			http_stream_pass(f->http, followers->chunk.data, followers->chunk.len);
	}
	buf_recycle(&followers->packed);
	buf_recycle(&followers->chunk);
	arena_free(&arena);
}

/* ---- who is counted --------------------------------------------------------------------- */

uint64_t followers_durable(const struct followers *followers)
{
	uint64_t durable = followers->last;

	for (const struct list *at = followers->all.next; at != &followers->all; at = at->next) {
		const struct follower *f = list_entry(at, struct follower, link);

		if (f->counted && f->acked < durable)
			durable = f->acked;
	}
	return durable;
}

size_t followers_counted(const struct followers *followers)
{
	size_t count = 0;

	for (const struct list *at = followers->all.next; at != &followers->all; at = at->next)
		count += list_entry(at, struct follower, link)->counted;
	return count;
}

size_t followers_addresses(const struct followers *followers, const char **out, size_t max)
{
	size_t count = 0;

	for (const struct list *at = followers->all.next; at != &followers->all; at = at->next) {
		const struct follower *f = list_entry(at, struct follower, link);

		if (*f->address && count < max)
			out[count++] = f->address;
	}
	return count;
}

static void judge(struct follower *f)
{
	bool speaks = (int64_t)uv_hrtime() - f->heard <= FOLLOW_PATIENCE;

	if (f->counted && !speaks) {
		count_no_more(f, "it says nothing");
	} else if (!f->counted && speaks && f->answered && !f->behind && f->acked >= f->mark) {
		f->counted = true;
		log_info("follower %s is up to date", f->id);
	}
	f->mark = f->owner->last;
}

static void beat_cb(uv_timer_t *timer)
{
	struct followers *followers = timer->data;
	struct follower *f, *next;

	list_for_each (f, next, &followers->all, link) {
		Mesita__FollowRecord record = MESITA__FOLLOW_RECORD__INIT;

		judge(f);
		record.has_counted = record.has_echo = record.has_number = true;
		record.counted = f->counted;
		record.echo = f->echo;
		record.number = followers->last;
		record.has_number = !f->behind;
		record_send(f, &record);
		if (f->behind && http_stream_waiting(f->http) < SLICE_BYTES)
			beginning_send(f);
	}
	followers->o.progress(followers->o.context);
}

/* ---- they come and go --------------------------------------------------------------------- */

static void follower_free(struct follower *f)
{
	warm_cursor_end(&f->cursor);
	list_remove(&f->link);
	f->owner->count--;
	free(f);
}

static void follower_left(void *context, struct http_stream *stream)
{
	struct follower *f = context;
	struct followers *owner = f->owner;

	(void)stream;
	log_info("follower %s left", f->id);
	follower_free(f);
	owner->o.progress(owner->o.context);
}

/* It is shown to people, and goes into headers and links: a host and a port it must be. */
static void note_address(struct follower *f, const struct http_request *request)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    ".-:[]";
	const char *address = http_header(request, FOLLOW_ADDRESS);
	size_t len = address ? strlen(address) : 0;

	if (len > 0 && len < ADDRESS_MAX && strspn(address, plain) == len)
		memcpy(f->address, address, len + 1);
}

void followers_add(struct followers *followers, struct http_request *request)
{
	struct follower *f;

	if (followers->count >= FOLLOWERS_MAX) {
		http_reply_text(request, 503, "Too many masters follow this one");
		return;
	}
	log_info("a master at %s follows", http_peer(request));
	f = xcalloc(1, sizeof(*f));
	f->owner = followers;
	f->heard = (int64_t)uv_hrtime();
	list_init(&f->cursor.link);
	note_address(f, request);
	f->http = http_stream_open(request, "application/x-protobuf", NULL, STREAM_BYTES,
				   follower_left, f);
	list_append(&followers->all, &f->link);
	followers->count++;
	beginning_send(f);
}

static struct follower *follower_find(const struct followers *followers, const char *id)
{
	struct follower *f, *next;

	list_for_each (f, next, &followers->all, link)
		if (strcmp(f->id, id) == 0)
			return f;
	return NULL;
}

void followers_hear(struct followers *followers, struct http_request *request)
{
	struct err err = {""};
	const Mesita__FollowWord *word =
		proto_unpack(&mesita__follow_word__descriptor, &request->arena, request->body.data,
			     request->body.len, &err);
	struct follower *f = word ? follower_find(followers, word->follower) : NULL;

	if (!f || word->number > followers->last) {
		http_reply_text(request, f ? 400 : 404, "No such follower");
		return;
	}
	f->acked = word->number;
	f->answered = word->whole;
	f->echo = word->time;
	f->heard = (int64_t)uv_hrtime();
	http_reply(request, 202, NULL, NULL, 0, NULL);
	if (f->counted)
		followers->o.progress(followers->o.context);
}

/* ---- life --------------------------------------------------------------------------------- */

struct followers *followers_create(const struct followers_options *options)
{
	struct followers *followers = xcalloc(1, sizeof(*followers));

	followers->o = *options;
	followers->o.holder = xstrdup(options->holder);
	list_init(&followers->all);
	uv_timer_init(options->loop, &followers->beat);
	followers->beat.data = followers;
	uv_timer_start(&followers->beat, beat_cb, FOLLOW_BEAT / MILLISECOND,
		       FOLLOW_BEAT / MILLISECOND);
	return followers;
}

static void closed_cb(uv_handle_t *handle)
{
	struct followers *followers = handle->data;

	buf_free(&followers->packed);
	buf_free(&followers->chunk);
	free((char *)followers->o.holder);
	free(followers);
}

void followers_close(struct followers *followers)
{
	struct follower *f, *next;

	list_for_each (f, next, &followers->all, link)
		follower_free(f);
	uv_close((uv_handle_t *)&followers->beat, closed_cb);
}
