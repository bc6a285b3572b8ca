#include "agent/containers/curl/curl_library.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/time/clock.h"

#define SHARED_OBJECT "libcurl.so.4"
#define CONNECT_SECONDS 30L
#define REDIRECTIONS_MAX 10L

const struct curl_library *curl_library(struct err *err)
{
	static struct curl_library library;
	void *handle;

	if (library.curl_easy_init)
		return &library;
	handle = dlopen(SHARED_OBJECT, RTLD_NOW | RTLD_LOCAL);
#define LOAD(name)                                                                                 \
	if (handle && !(library.name = (__typeof__(library.name))dlsym(handle, #name)))            \
		handle = NULL;
	CURL_FUNCTIONS(LOAD)
#undef LOAD
	if (handle && !library.curl_global_init(CURL_GLOBAL_DEFAULT))
		return &library;
	library.curl_easy_init = NULL;
	err_set(err, ERR_NOT_FOUND,
		"libcurl cannot be loaded (%s); install it: Debian has it in libcurl4", dlerror());
	return NULL;
}

static const char *trusted_authorities(void)
{
	const char *file = getenv("CURL_CA_BUNDLE");

	return file && *file ? file : getenv("SSL_CERT_FILE");
}

CURL *curl_request(const struct curl_library *c, const char *url, const char *schemes,
		   int64_t stall_timeout)
{
	const char *authorities = trusted_authorities();
	long stall = (long)((stall_timeout + SECOND - 1) / SECOND);
	CURL *curl = c->curl_easy_init();

	if (!curl)
		abort();
	if (authorities && *authorities)
		c->curl_easy_setopt(curl, CURLOPT_CAINFO, authorities);
	c->curl_easy_setopt(curl, CURLOPT_URL, url);
	c->curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	c->curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
	c->curl_easy_setopt(curl, CURLOPT_MAXREDIRS, REDIRECTIONS_MAX);
	c->curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, schemes);
	c->curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, schemes);
	c->curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	c->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	c->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, stall > 0 ? stall : 1L);
	c->curl_easy_setopt(curl, CURLOPT_USERAGENT, "mesita");
	return curl;
}
