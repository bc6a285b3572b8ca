/* libprocess message names: which type "mesos.internal.PingSlaveMessage" is. */
#ifndef PROTO_NAMES_H
#define PROTO_NAMES_H

#include <protobuf-c/protobuf-c.h>

/* NULL for names that mesita does not take. */
const ProtobufCMessageDescriptor *proto_message_type(const char *name);

#endif
