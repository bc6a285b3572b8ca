/* Decoding, with Mesos' errors. See api_body.h. */
#include "net/api_body.h"

static void *decode_protobuf(struct http_request *request, const ProtobufCMessageDescriptor *type)
{
	struct err err = {{0}};
	void *call = proto_unpack_up_to(PROTO_VALUES_MAX, type, &request->arena, request->body.data,
					request->body.len, &err);

	/* Mesos says no more than that; it has no limit. */
	if (!call && str_has_prefix(err.text, PROTO_TOO_MANY))
		err_wrap(&err, ERR_LIMIT, "Failed to parse body into Call protobuf");
	else if (!call)
		err_set(&err, ERR_INVALID, "Failed to parse body into Call protobuf");
	if (!call)
		http_reply_text(request, 400, err.text);
	return call;
}

void *api_body_decode(struct http_request *request, const ProtobufCMessageDescriptor *type)
{
	enum http_media media = http_content_type(request);
	struct json *json;
	struct err err;
	void *call;

	if (!http_header(request, "Content-Type")) {
		http_reply_text(request, 400, "Expecting 'Content-Type' to be present");
		return NULL;
	}
	if (media == HTTP_MEDIA_PROTOBUF)
		return decode_protobuf(request, type);
	if (media != HTTP_MEDIA_JSON) {
		http_reply_text(
			request, 415,
			"Expecting 'Content-Type' of application/json or application/x-protobuf");
		return NULL;
	}
	if (json_parse_up_to(PROTO_VALUES_MAX, &request->arena, request->body.data,
			     request->body.len, &json, &err) < 0) {
		err_wrap(&err, ERR_INVALID, "Failed to parse body into JSON");
		http_reply_text(request, 400, err.text);
		return NULL;
	}
	call = json_to_proto(type, json, SPELL_V1, &request->arena, &err);
	if (!call) {
		err_wrap(&err, ERR_INVALID, "Failed to convert JSON into Call protobuf");
		http_reply_text(request, 400, err.text);
	}
	return call;
}
