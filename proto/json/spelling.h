/* Inside proto/: where v0 and v1 JSON spell things differently. */
#ifndef PROTO_JSON_SPELLING_H
#define PROTO_JSON_SPELLING_H

#include "proto/proto.h"

/* The name of a field in JSON. */
const char *field_name(const ProtobufCMessageDescriptor *type,
		       const ProtobufCFieldDescriptor *field, enum proto_spelling spelling);
/* The field of that name; NULL if there is none. */
const ProtobufCFieldDescriptor *field_by_name(const ProtobufCMessageDescriptor *type,
					      const char *name, enum proto_spelling spelling);
/* Whether the schema has the field for other spellings only. */
bool field_hidden(const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *field,
		  enum proto_spelling spelling);
/* NULL if the enum has no such name. */
const ProtobufCEnumValue *enum_by_name(const ProtobufCEnumDescriptor *type, const char *name,
				       enum proto_spelling spelling);

/* Appends the names of missing required fields, those of missing_scalars included. */
void check_required(const ProtobufCMessage *message, enum proto_spelling spelling,
		    struct buf *missing);

#endif
