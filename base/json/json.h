/* JSON: a document tree for reading, an appender for writing.
 *
 * Reading: whole documents only, bounded depth (JSON_DEPTH_MAX), strings keep
 * bytes that are not UTF-8 as they are (Mesos does), NUL inside a string is
 * kept (strings carry their length). Numbers keep their text so that 64-bit
 * integers lose nothing. Duplicate keys: the last one wins on lookup.
 * Writing follows Mesos: doubles always carry a fraction ("4.0"), '/' is not
 * escaped, bytes above 0x7f pass through.
 */
#ifndef BASE_JSON_JSON_H
#define BASE_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

#define JSON_DEPTH_MAX 200 /* as picojson's users meet it: deeper is hostile */

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_type type;
	bool boolean;
	struct slice text;  /* STRING: unescaped bytes; NUMBER: its text. NUL-terminated */
	struct json *items; /* ARRAY: elements; OBJECT: values. `count` of them */
	struct slice *keys; /* OBJECT: names, parallel to items */
	size_t count;
};

/* Parses one document (white space around it allowed). All memory is in
 * `arena`. Error text as "syntax error at line 1 near: ..." */
int json_parse(struct arena *arena, const char *data, size_t len, struct json **out,
	       struct err *err);
/* One of so many values at most, containers among them; for documents of strangers. A value of
 * two bytes takes thirty times as much memory, and its share of time. */
int json_parse_up_to(size_t max, struct arena *arena, const char *data, size_t len,
		     struct json **out, struct err *err);
/* NULL when `json` is no object or has no such key. */
const struct json *json_get(const struct json *json, const char *key);
/* "" when absent or no string. */
const char *json_get_string(const struct json *json, const char *key);
double json_number(const struct json *json);
bool json_integer(const struct json *json, int64_t *out); /* false: not a whole int64 */

/* Writer. Keeps track of commas; the caller balances begin and end. */
struct json_writer {
	struct buf *out;
	bool comma; /* the next value or key needs one */
};

void jw_init(struct json_writer *w, struct buf *out);
void jw_begin_object(struct json_writer *w);
void jw_end_object(struct json_writer *w);
void jw_begin_array(struct json_writer *w);
void jw_end_array(struct json_writer *w);
void jw_key(struct json_writer *w, const char *key);
void jw_string(struct json_writer *w, const char *text); /* NULL writes "" */
void jw_string_n(struct json_writer *w, const char *text, size_t len);
void jw_int(struct json_writer *w, int64_t value);
void jw_uint(struct json_writer *w, uint64_t value);
void jw_double(struct json_writer *w, double value); /* shortest round trip, with fraction */
void jw_bool(struct json_writer *w, bool value);
void jw_null(struct json_writer *w);
void jw_raw(struct json_writer *w, const char *json, size_t len); /* a finished value */
void jw_value(struct json_writer *w, const struct json *value);	  /* what was parsed */
/* key and value in one. */
void jw_kv_string(struct json_writer *w, const char *key, const char *text);
void jw_kv_int(struct json_writer *w, const char *key, int64_t value);
void jw_kv_double(struct json_writer *w, const char *key, double value);
void jw_kv_bool(struct json_writer *w, const char *key, bool value);

#endif
