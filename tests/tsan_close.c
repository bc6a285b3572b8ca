/* Linked into builds under ThreadSanitizer in place of syscall(), see CMakeLists.txt.
 *
 * libuv closes descriptors by syscall(), which ThreadSanitizer does not see: it takes a file that a
 * thread opens and closes for a connection of that number, which the loop closed long ago, and
 * reports a race of the two. */
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
	va_list arguments;
	long a[6];

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_close)
		return close((int)a[0]);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
