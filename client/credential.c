/* See credential.h. */
#include "client/credential.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/base64.h"

char *credential_basic(const char *principal, const char *secret)
{
	char *pair = xprintf("%s:%s", principal, secret ? secret : "");
	struct buf text = BUF_INIT;

	buf_puts(&text, "Basic ");
	base64_encode(&text, pair, strlen(pair));
	free(pair);
	return buf_take(&text);
}
