#include "agent/containers/libraries/archive_library.h"

#include <dlfcn.h>

#define SHARED_OBJECT "libarchive.so.13"

const struct archive_library *archive_library(struct err *err)
{
	static struct archive_library library;
	void *handle;

	if (library.archive_read_new)
		return &library;
	handle = dlopen(SHARED_OBJECT, RTLD_NOW | RTLD_LOCAL);
#define LOAD(name)                                                                                 \
	if (handle && !(library.name = (__typeof__(library.name))dlsym(handle, #name)))            \
		handle = NULL;
	ARCHIVE_FUNCTIONS(LOAD)
#undef LOAD
	if (handle)
		return &library;
	library.archive_read_new = NULL;
	err_set(err, ERR_NOT_FOUND,
		"libarchive cannot be loaded (%s); install it: Debian has it in libarchive13",
		dlerror());
	return NULL;
}
