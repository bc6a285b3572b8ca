#include "agent/containers/curl/curl_library.h"

#include <dlfcn.h>

#define SHARED_OBJECT "libcurl.so.4"

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
