/* What a driver under test told its program, as words in the order in which they came; and turns of
 * the fake's loop while other threads make things come true. */
#ifndef TESTS_UNIT_CLIENT_TRACE_H
#define TESTS_UNIT_CLIENT_TRACE_H

#include <stdbool.h>

#include "client_harness.h"

/* "registered:f1 update:1/0 ..."; each test is a process of its own. */
extern char trace[4096];

/* From any thread. Returns 0, as callbacks do that succeed. */
__attribute__((format(printf, 1, 2))) int note(const char *format, ...);
bool noted(const char *words);
void trace_clear(void);

/* From now until ticks_end() the loop turns every few milliseconds. */
void ticks_begin(struct fake *fake);
void ticks_end(void);
/* Runs what blocks on a thread of its own, while the fake goes on. */
void run_beside(struct fake *fake, void (*run)(void));

#endif
