/* Base64. The decoder takes what Mesos takes: white space anywhere, padding or none. */
#include "base/base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct buf *out, const void *data, size_t len)
{
	const uint8_t *in = data;
	char *to;

	buf_reserve(out, len / 3 * 4 + 4);
	to = out->data + out->len;
	for (; len >= 3; len -= 3, in += 3) {
		*to++ = alphabet[in[0] >> 2];
		*to++ = alphabet[(in[0] & 3) << 4 | in[1] >> 4];
		*to++ = alphabet[(in[1] & 15) << 2 | in[2] >> 6];
		*to++ = alphabet[in[2] & 63];
	}
	if (len) {
		uint8_t second = len == 2 ? in[1] : 0;

		*to++ = alphabet[in[0] >> 2];
		*to++ = alphabet[(in[0] & 3) << 4 | second >> 4];
		*to++ = len == 2 ? alphabet[(second & 15) << 2] : '=';
		*to++ = '=';
	}
	*to = '\0';
	out->len = (size_t)(to - out->data);
}

static int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static int is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

long base64_decode(const char *text, size_t len, void *out)
{
	uint8_t *bytes = out;
	uint32_t bits = 0;
	size_t digits = 0, at = 0;

	for (; at < len && text[at] != '='; at++) {
		int value = digit_value(text[at]);

		if (value < 0 && is_space(text[at]))
			continue;
		if (value < 0)
			return -1;
		bits = bits << 6 | (uint32_t)value;
		if (digits++ % 4 != 0)
			*bytes++ = (uint8_t)(bits >> (6 - 2 * ((digits - 1) % 4)));
	}
	for (; at < len; at++)
		if (text[at] != '=' && !is_space(text[at]))
			return -1;
	/* A lone digit has fewer bits than a byte. */
	return digits % 4 == 1 ? -1 : bytes - (uint8_t *)out;
}

/* ---- of URLs --------------------------------------------------------------------- */

void base64url_encode(struct buf *out, const void *data, size_t len)
{
	size_t start = out->len;

	base64_encode(out, data, len);
	while (out->len > start && out->data[out->len - 1] == '=')
		out->data[--out->len] = '\0';
	for (size_t i = start; i < out->len; i++) {
		if (out->data[i] == '+')
			out->data[i] = '-';
		else if (out->data[i] == '/')
			out->data[i] = '_';
	}
}

static int url_digit_value(char c)
{
	if (c == '+' || c == '/')
		return -1;
	return c == '-' ? 62 : c == '_' ? 63 : digit_value(c);
}

long base64url_decode(const char *text, size_t len, void *out)
{
	uint8_t *bytes = out;
	uint32_t bits = 0;

	for (size_t at = 0; at < len; at++) {
		int value = url_digit_value(text[at]);

		if (value < 0)
			return -1;
		bits = bits << 6 | (uint32_t)value;
		if (at % 4 != 0)
			*bytes++ = (uint8_t)(bits >> (6 - 2 * (at % 4)));
	}
	return len % 4 == 1 ? -1 : bytes - (uint8_t *)out;
}
