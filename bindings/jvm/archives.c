/* Data of the C library that libuv's archive takes for its own.
 *
 * Debian builds the archive for executables, whose linker copies `stderr` and its like into them;
 * a shared object must own what such code reads. These are hidden and hold the same values. */
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdio.h>

#undef stderr
#undef stdout

FILE *stderr, *stdout;
char **environ, **__environ;
const struct in6_addr in6addr_any;

__attribute__((constructor)) static void copy_values(void)
{
	FILE **errors = dlsym(RTLD_NEXT, "stderr"), **output = dlsym(RTLD_NEXT, "stdout");
	char ***variables = dlsym(RTLD_NEXT, "environ");

	stderr = errors ? *errors : NULL;
	stdout = output ? *output : NULL;
	environ = __environ = variables ? *variables : NULL;
}
