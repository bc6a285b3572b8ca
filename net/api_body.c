/* Decoding, with Mesos' errors. See api_body.h. */
#include "net/api_body.h"

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
	if (media == HTTP_MEDIA_PROTOBUF) {
		call = proto_unpack(type, &request->arena, request->body.data, request->body.len,
				    &err);
		if (!call)
			http_reply_text(request, 400, "Failed to parse body into Call protobuf");
		return call;
	}
	if (media != HTTP_MEDIA_JSON) {
		http_reply_text(
			request, 415,
			"Expecting 'Content-Type' of application/json or application/x-protobuf");
		return NULL;
	}
	if (json_parse(&request->arena, request->body.data, request->body.len, &json, &err) < 0) {
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
