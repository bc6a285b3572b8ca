/* See followers.h. */
#include "master/follow/followers.h"

#include <stdlib.h>
#include <string.h>

#include "auth/digest.h"
#include "base/log/log.h"
#include "base/memory/arena.h"
#include "proto/proto.h"

/* The simulator has less to tell, and takes smaller ones. */
#ifndef FOLLOW_SLICE_BYTES
#define FOLLOW_SLICE_BYTES (256 * 1024)
#define FOLLOW_BEHIND_BYTES (16u * 1024 * 1024)
#endif
#define SLICE_BYTES FOLLOW_SLICE_BYTES	 /* of the beginning, at a time */
#define BEHIND_BYTES FOLLOW_BEHIND_BYTES /* more than that waits: it begins anew later */
#define STREAM_BYTES (4 * BEHIND_BYTES)	 /* never reached: that is a fault of ours */
#define ADDRESS_MAX 256

struct follower {
	struct list link;
	struct followers *owner;
	struct http_stream *http; /* NULL: it left, and is waited for still */
	char id[UUID_TEXT];
	char address[ADDRESS_MAX]; /* "" of one that did not tell */
	struct warm_cursor cursor; /* of the beginning */
	bool whole;		   /* all of the beginning was told */
	bool behind;		   /* it is told nothing more until it begins anew */
	bool answered;		   /* it has all of the beginning */
	bool awaited;		   /* nothing is durable without it */
	uint64_t acked;
	uint64_t mark;	  /* it is up to date if it has this one */
	uint64_t named;	  /* the first note that names it; 0: none */
	uint64_t unnamed; /* the first one after that which does not; 0: none */
	int64_t heard;	  /* uv_hrtime of its last word */
};

struct followers {
	struct followers_options o;
	struct list all;
	size_t count;
	uint64_t last;	/* batch that was told */
	uint64_t noted; /* number of the durable note; 0: it is not ours */
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

/* ---- the note --------------------------------------------------------------------------- */

static bool is_in_note(const struct follower *f)
{
	return f->named && !f->unnamed;
}

static uint64_t note_write(struct followers *followers)
{
	struct buf text = BUF_INIT;
	struct follower *f, *next;
	uint64_t number;

	buf_puts(&text, followers->o.holder);
	list_for_each (f, next, &followers->all, link)
		if (is_in_note(f))
			buf_printf(&text, " %s", f->id);
	number = followers->o.note(followers->o.context, text.data);
	buf_free(&text);
	return number;
}

#define NOTE_UNDER_WAY UINT64_MAX

/* It has all that was ever acted on, and nothing more happens without it. */
static void name_if_ready(struct follower *f)
{
	if (!f->awaited || f->named || f->acked < f->mark)
		return;
	f->named = NOTE_UNDER_WAY;
	f->named = note_write(f->owner);
}

/* Nothing is to wait for it any more, once the note does not name it. */
static void do_without(struct follower *f, const char *why)
{
	if (!f->awaited || f->unnamed)
		return;
	log_warning("nothing is to wait for follower %s any more: %s", f->id, why);
	if (!f->named) {
		f->awaited = false;
		return;
	}
	f->unnamed = NOTE_UNDER_WAY;
	f->unnamed = note_write(f->owner);
}

static void follower_free(struct follower *f)
{
	warm_cursor_end(&f->cursor);
	list_remove(&f->link);
	free(f);
}

static void follower_noted(struct follower *f, uint64_t before, uint64_t number)
{
	if (f->unnamed && f->unnamed <= number) {
		f->awaited = false;
		f->named = f->unnamed = 0;
		if (!f->http)
			follower_free(f);
	} else if (f->named > before && f->named <= number) {
		log_info("follower %s is up to date", f->id);
	}
}

void followers_noted(struct followers *followers, uint64_t number)
{
	uint64_t before = followers->noted;
	struct follower *f, *next;

	if (number <= before)
		return;
	followers->noted = number;
	list_for_each (f, next, &followers->all, link)
		follower_noted(f, before, number);
	followers->o.progress(followers->o.context);
}

bool follow_note_names(const char *note, const char *copy)
{
	size_t holder = strcspn(copy, " "), id = strlen(copy + holder);
	const char *at = note + holder;

	if (!id || strncmp(note, copy, holder) || (*at && *at != ' '))
		return false;
	/* Each name has a blank before it. */
	while ((at = strstr(at, copy + holder))) {
		if (at[id] == ' ' || !at[id])
			return true;
		at++;
	}
	return false;
}

/* ---- changes ------------------------------------------------------------------------------ */

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
		if (!f->http)
			continue;
		if (!f->behind && http_stream_waiting(f->http) > BEHIND_BYTES) {
			do_without(f, "it does not read");
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

/* ---- who is waited for -------------------------------------------------------------------- */

uint64_t followers_durable(const struct followers *followers)
{
	uint64_t durable = followers->noted ? followers->last : 0;

	for (const struct list *at = followers->all.next; at != &followers->all; at = at->next) {
		const struct follower *f = list_entry(at, struct follower, link);

		if (f->awaited && f->acked < durable)
			durable = f->acked;
	}
	return durable;
}

static bool is_counted(const struct follower *f)
{
	return is_in_note(f) && f->named <= f->owner->noted;
}

size_t followers_counted(const struct followers *followers)
{
	size_t count = 0;

	for (const struct list *at = followers->all.next; at != &followers->all; at = at->next)
		count += is_counted(list_entry(at, struct follower, link));
	return count;
}

size_t followers_addresses(const struct followers *followers, const char **out, size_t max)
{
	size_t count = 0;

	for (const struct list *at = followers->all.next; at != &followers->all; at = at->next) {
		const struct follower *f = list_entry(at, struct follower, link);

		if (f->http && *f->address && count < max)
			out[count++] = f->address;
	}
	return count;
}

static void judge(struct follower *f)
{
	bool speaks = (int64_t)uv_hrtime() - f->heard <= FOLLOW_PATIENCE;

	if (f->awaited && !speaks)
		do_without(f, "it says nothing");
	else if (!f->awaited)
		f->awaited = speaks && f->answered && !f->behind && f->acked >= f->mark;
	/* What was acted on until now is not above that. */
	if (!f->named)
		f->mark = f->owner->last;
	name_if_ready(f);
}

static void beat(struct follower *f)
{
	Mesita__FollowRecord record = MESITA__FOLLOW_RECORD__INIT;

	record.has_counted = true;
	record.counted = is_counted(f);
	record.number = f->owner->last;
	record.has_number = !f->behind;
	record_send(f, &record);
	if (f->behind && !f->awaited && http_stream_waiting(f->http) < SLICE_BYTES)
		beginning_send(f);
}

static void beat_cb(uv_timer_t *timer)
{
	struct followers *followers = timer->data;
	struct follower *f, *next;

	list_for_each (f, next, &followers->all, link) {
		if (!f->http)
			continue;
		judge(f);
		beat(f);
	}
	followers->o.progress(followers->o.context);
}

/* ---- they come and go --------------------------------------------------------------------- */

static void follower_left(void *context, struct http_stream *stream)
{
	struct follower *f = context;
	struct followers *owner = f->owner;

	(void)stream;
	log_info("follower %s left", f->id);
	f->http = NULL;
	owner->count--;
	do_without(f, "it left");
	if (!f->awaited)
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

	if (!followers->noted) {
		http_reply_text(request, 503, "This master only begins to lead");
		return;
	}
	if (followers->count >= FOLLOWERS_MAX) {
		http_reply_text(request, 403, "Too many masters follow this one");
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
		if (f->http && strcmp(f->id, id) == 0)
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
	f->heard = (int64_t)uv_hrtime();
	http_reply(request, 202, NULL, NULL, 0, NULL);
	name_if_ready(f);
	if (f->awaited)
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
	note_write(followers);
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
