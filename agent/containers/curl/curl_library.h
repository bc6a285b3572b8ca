/* libcurl, loaded when it is first needed: it and the thirty libraries that it needs would make
 * every start of our binary slower, and it is started for each task. */
#ifndef AGENT_CONTAINERS_CURL_CURL_LIBRARY_H
#define AGENT_CONTAINERS_CURL_CURL_LIBRARY_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdint.h>

#include "base/err.h"

#define CURL_FUNCTIONS(each)                                                                       \
	each(curl_easy_cleanup) each(curl_easy_escape) each(curl_easy_getinfo)                     \
		each(curl_easy_init) each(curl_easy_perform) each(curl_easy_setopt)                \
			each(curl_easy_strerror) each(curl_free) each(curl_global_init)            \
				each(curl_multi_add_handle) each(curl_multi_cleanup)               \
					each(curl_multi_info_read) each(curl_multi_init)           \
						each(curl_multi_perform) each(curl_multi_poll)     \
							each(curl_multi_remove_handle)             \
								each(curl_slist_append)            \
									each(curl_slist_free_all)

#define CURL_FUNCTION_(name) __typeof__(name) *name;
struct curl_library {
	CURL_FUNCTIONS(CURL_FUNCTION_)
};
#undef CURL_FUNCTION_

/* A request by the schemes (with commas between) alone, also where it is led to, that is given up
 * after `stall_timeout` ns without a byte. CURL_CA_BUNDLE and SSL_CERT_FILE of the environment name
 * whom to trust, as for the curl program. */
CURL *curl_request(const struct curl_library *library, const char *url, const char *schemes,
		   int64_t stall_timeout);

/* NULL: it is not installed, or another version of it. Not thread safe. */
const struct curl_library *curl_library(struct err *err);

#endif
