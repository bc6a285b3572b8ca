/* The body of an API request: JSON in v1 spelling or protobuf, by Content-Type. */
#ifndef NET_API_BODY_H
#define NET_API_BODY_H

#include "net/http.h"
#include "proto/proto.h"

/* Decodes a Call of a type into the request's arena. On failure the request is
 * answered with Mesos' error (spec: 400 without or with a broken body, 415 for other
 * types) and NULL is returned. */
void *api_body_decode(struct http_request *request, const ProtobufCMessageDescriptor *type);

#endif
