/* Protobuf messages: one schema in v1 names serves every API of mesita.
 *
 * The generated protobuf-c types are those of proto/messages/<name>.proto:
 *   package                 C prefix                 file
 *   mesos                   Mesos__                  mesos.proto
 *   mesos.scheduler         Mesos__Scheduler__       scheduler.proto
 *   mesos.executor          Mesos__Executor__        executor.proto
 *   mesos.master            Mesos__Master__          master.proto
 *   mesos.agent             Mesos__Agent__           agent.proto
 *   mesos.maintenance / mesos.quota / mesos.allocator   ...
 *   mesos.internal          Mesos__Internal__        internal.proto (libprocess messages)
 *   mesita                  Mesita__                 mesita.proto (our own stored records)
 * v0 and v1 bytes are the same but for scheduler.Call.Subscribe, which has the
 * extra message SubscribeV0 (see proto_call_from_v0).
 *
 * Everything that comes from outside goes through proto_unpack() or
 * json_to_proto(): bounded depth, required fields checked, enum values that the
 * schema does not know dropped like unknown fields (as proto2 in C++ does).
 */
#ifndef PROTO_PROTO_H
#define PROTO_PROTO_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

#include "agent.pb-c.h"
#include "allocator.pb-c.h"
#include "executor.pb-c.h"
#include "internal.pb-c.h"
#include "launch.pb-c.h"
#include "maintenance.pb-c.h"
#include "master.pb-c.h"
#include "mesita.pb-c.h"
#include "mesos.pb-c.h"
#include "quota.pb-c.h"
#include "resource_provider.pb-c.h"
#include "scheduler.pb-c.h"

/* Messages nest no deeper than this (the limit of protobuf's own C++ parser). */
#define PROTO_DEPTH_MAX 100

/* Decodes a message into `arena` (freed with it; never call a free function on
 * it). NULL on failure; `err` then says what is wrong. Fields that the schema does
 * not know are kept and packed again. C strings hold no NUL: one inside a string
 * becomes \x01, which every rule against control characters still catches. An unset
 * string with a default points to that default. */
void *proto_unpack(const ProtobufCMessageDescriptor *type, struct arena *arena, const void *data,
		   size_t len, struct err *err);
/* One of so many values at most, messages among them; for whoever else has to wait. If there
 * are more, `err` begins with PROTO_TOO_MANY. */
#define PROTO_TOO_MANY "More than "
void *proto_unpack_up_to(size_t max, const ProtobufCMessageDescriptor *type, struct arena *arena,
			 const void *data, size_t len, struct err *err);
/* What one call or message of a client may have: what a hundred thousand tasks that are
 * reconciled take twice. Mesos has no such limit, and stands still meanwhile. */
#define PROTO_VALUES_MAX 1000000

/* Appends the message's bytes. */
void proto_pack(const void *message, struct buf *out);
/* The message's bytes, in the arena; `data` is never NULL. */
struct slice proto_pack_to(struct arena *arena, const void *message);

/* Whether an optional string or message field is set, as opposed to absent or
 * showing its default: PROTO_HAS(resource, role, mesos__resource__role__default_value). */
#define PROTO_HAS(message, field, default_value)                                                   \
	((message)->field && (const void *)(message)->field != (const void *)(default_value))

/* A deep copy: on the heap (release with proto_free), or in the arena. NULL for
 * NULL. */
void *proto_copy(const void *message);
void *proto_copy_to(struct arena *arena, const void *message);
void proto_free(void *message); /* heap copies and heap unpacked only; NULL is fine */
void *proto_unpack_heap(const ProtobufCMessageDescriptor *type, const void *data, size_t len);

/* Same bytes when packed. */
bool proto_equal(const void *a, const void *b);

/* Required fields that are missing, as "a.b, c[0].d"; false when there are
 * any. A required string or message is missing when NULL. */
bool proto_check_required(const void *message, struct buf *missing);

/* The v1 spelling is the schema's own; v0 says slave where v1 says agent. The last one is for
 * writing only: v1 that shows what of v0 it has no field for. */
enum proto_spelling { SPELL_V1, SPELL_V0, SPELL_V1_ALL };

/* Appends the message as compact JSON. Set fields, non-empty repeated ones, and
 * unset optional fields that declare a default and are not deprecated; 64-bit
 * integers as numbers; bytes as base64. */
void proto_to_json(const void *message, enum proto_spelling spelling, struct buf *out);
void proto_write_json(const void *message, enum proto_spelling spelling, struct json_writer *w);

/* The lenient mapping that real Mesos shows: strings holding
 * numbers or booleans, a single value for a list, null for absent, unknown
 * names and unknown enum names dropped. The message is in `arena`. NULL on
 * failure; `err` then holds Mesos' wording ("Missing required fields: ..."). */
void *json_to_proto(const ProtobufCMessageDescriptor *type, const struct json *json,
		    enum proto_spelling spelling, struct arena *arena, struct err *err);

/* The name of an enum's value in a spelling ("TASK_RUNNING",
 * "REASON_AGENT_REMOVED"); "" for values not in the schema. The string is static. */
const char *proto_enum_name(const ProtobufCEnumDescriptor *type, int value,
			    enum proto_spelling spelling);

/* Decodes a v0 scheduler.Call: its SUBSCRIBE has `force` and other tags.
 * `force` receives that flag (false when absent). */
Mesos__Scheduler__Call *proto_call_from_v0(struct arena *arena, const void *data, size_t len,
					   bool *force, struct err *err);

/* ---- building messages in an arena -------------------------------------- */

/* A zeroed, initialised message in the arena:
 *   Mesos__TaskStatus *s = PROTO_NEW(arena, Mesos__TaskStatus, mesos__task_status__descriptor); */
void *proto_make(struct arena *arena, const ProtobufCMessageDescriptor *type);
#define PROTO_NEW(arena, Type, descriptor) ((Type *)proto_make((arena), &(descriptor)))

/* Appends to a repeated field that is a (count, array) pair of pointers. The array
 * must be empty, or made by this function, proto_unpack(), proto_copy_to() or
 * json_to_proto(): its room follows from the count. */
void proto_push_(struct arena *arena, size_t *count, void ***items, void *item);
#define proto_push(arena, count, items, item)                                                      \
	proto_push_((arena), &(count), (void ***)&(items), (item))

#endif
