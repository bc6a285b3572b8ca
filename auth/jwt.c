#include "auth/jwt.h"

#include <string.h>

#include "auth/credentials.h"
#include "auth/hmac.h"
#include "base/base64.h"
#include "base/time/clock.h"

#define HEADER "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define VALUES_MAX 100 /* of JSON, in the header and in the claims */

static void sign(struct buf *out, struct slice secret, const char *text, size_t len)
{
	unsigned char digest[HMAC_SHA256_BYTES];

	hmac_sha256(secret.data, secret.len, text, len, digest);
	base64url_encode(out, digest, sizeof(digest));
}

const char *jwt_make(struct arena *arena, struct slice secret, const char *const *pairs)
{
	struct buf claims = BUF_INIT, token = BUF_INIT;
	struct json_writer w;
	const char *text;

	jw_init(&w, &claims);
	jw_begin_object(&w);
	for (; pairs[0]; pairs += 2)
		jw_kv_string(&w, pairs[0], pairs[1]);
	jw_end_object(&w);
	base64url_encode(&token, HEADER, strlen(HEADER));
	buf_putc(&token, '.');
	base64url_encode(&token, claims.data, claims.len);
	buf_free(&claims);
	claims = BUF_INIT;
	sign(&claims, secret, token.data, token.len);
	buf_printf(&token, ".%s", claims.data);
	text = arena_strdup(arena, token.data);
	buf_free(&claims);
	buf_free(&token);
	return text;
}

/* ---- reading ---------------------------------------------------------------------- */

static int read_part(struct arena *arena, const char *text, size_t len, const char *what,
		     const struct json **out, struct err *err)
{
	char *bytes = arena_alloc(arena, BASE64_DECODED(len));
	long size = base64url_decode(text, len, bytes);
	struct json *json;
	struct err why;

	if (size < 0)
		return err_set(err, ERR_INVALID, "its %s is not base64url", what);
	if (json_parse_up_to(VALUES_MAX, arena, bytes, (size_t)size, &json, &why) < 0 ||
	    json->type != JSON_OBJECT)
		return err_set(err, ERR_INVALID, "its %s is no JSON object", what);
	*out = json;
	return 0;
}

static int check_header(const struct json *header, struct err *err)
{
	if (strcmp(json_get_string(header, "alg"), "HS256"))
		return err_set(err, ERR_INVALID, "it is not signed by HS256");
	if (json_get(header, "typ") && strcmp(json_get_string(header, "typ"), "JWT"))
		return err_set(err, ERR_INVALID, "its type is not JWT");
	/* Extensions that must be understood are not. */
	if (json_get(header, "crit"))
		return err_set(err, ERR_INVALID, "it has critical extensions");
	return 0;
}

static int check_signature(struct slice secret, const char *token, const char *signature,
			   struct err *err)
{
	struct buf right = BUF_INIT;
	bool same;

	sign(&right, secret, token, (size_t)(signature - 1 - token));
	same = credentials_same(right.data, signature);
	buf_free(&right);
	return same ? 0 : err_set(err, ERR_INVALID, "its signature does not match");
}

static int check_time(const struct json *claims, int64_t now, struct err *err)
{
	const struct json *expires = json_get(claims, "exp");

	if (!expires)
		return 0;
	if (expires->type != JSON_NUMBER)
		return err_set(err, ERR_INVALID, "its 'exp' is no number");
	return json_number(expires) > clock_seconds(now)
		       ? 0
		       : err_set(err, ERR_INVALID, "it has expired");
}

int jwt_read(struct arena *arena, struct slice secret, const char *token, int64_t now,
	     const struct json **claims, struct err *err)
{
	const char *body = strchr(token, '.'), *signature = body ? strchr(body + 1, '.') : NULL;
	const struct json *header, *found;
	int rv;

	if (!signature || strchr(signature + 1, '.') || strlen(token) > JWT_MAX)
		return err_set(err, ERR_INVALID, "it does not have three parts");
	body++;
	signature++;
	rv = read_part(arena, token, (size_t)(body - 1 - token), "header", &header, err);
	if (rv == 0)
		rv = check_header(header, err);
	/* What nobody signed is not looked at any closer. */
	if (rv == 0)
		rv = check_signature(secret, token, signature, err);
	if (rv == 0)
		rv = read_part(arena, body, (size_t)(signature - 1 - body), "body", &found, err);
	if (rv == 0)
		rv = check_time(found, now, err);
	if (rv == 0)
		*claims = found;
	return rv;
}
