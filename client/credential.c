/* See credential.h. */
#include "client/credential.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/memory/arena.h"

char *credential_basic(const char *principal, const char *secret)
{
	size_t len = secret ? strlen(secret) : 0;
	char *pair;
	struct buf text = BUF_INIT;

	while (len && (secret[len - 1] == '\n' || secret[len - 1] == '\r'))
		len--;
	pair = xprintf("%s:%.*s", principal, (int)len, secret ? secret : "");
	buf_puts(&text, "Basic ");
	base64_encode(&text, pair, strlen(pair));
	free(pair);
	return buf_take(&text);
}
