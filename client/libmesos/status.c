/* See status.h. */
#include "client/libmesos/status.h"

#include <stddef.h>

#include "base/memory/arena.h"

static _Thread_local sigjmp_buf *innermost;

static void exhausted(void)
{
	if (innermost)
		siglongjmp(*innermost, 1);
}

int libmesos_guard(void (*work)(void *context), void *context)
{
	sigjmp_buf *volatile outer = innermost;
	sigjmp_buf here;

	if (sigsetjmp(here, 0)) {
		innermost = outer;
		return 0;
	}
	innermost = &here;
	work(context);
	innermost = outer;
	return 1;
}

void libmesos_init(void)
{
	memory_on_exhaustion(exhausted);
}
