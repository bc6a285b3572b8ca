/* What a member of a group of masters is called, and what it says of itself. Pure.
 * Internal to net/masters/. */
#ifndef NET_MASTERS_MEMBER_H
#define NET_MASTERS_MEMBER_H

#include "base/memory/buf.h"
#include "proto/proto.h"

/* What the names of our members begin with: ZooKeeper adds ten digits. */
#define MEMBER_PREFIX "json.info_"

/* The member with the lowest number, whatever is before that; NULL: there is none. */
const char *member_leader(char *const *names, size_t count);
/* What it says, by the kind that its name tells: JSON, a protobuf, or the pid alone (then the rest
 * is not known). In the arena; its pid is there, and names an IPv4 address and a port. NULL with
 * `err` set. */
Mesos__MasterInfo *member_decode(const char *name, struct slice data, struct arena *arena,
				 struct err *err);
/* What a master says of itself there. */
void member_encode(const Mesos__MasterInfo *info, struct buf *out);

#endif
