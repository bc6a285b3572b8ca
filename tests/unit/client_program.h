/* A script in place of `mesita`, for drivers that start a cluster of their own. */
#ifndef TESTS_UNIT_CLIENT_PROGRAM_H
#define TESTS_UNIT_CLIENT_PROGRAM_H

#include "client_harness.h"

/* Says that the fake is its master, and touches "ended" when it is told to end. */
#define PROGRAM_LOCAL                                                                              \
	"trap 'kill $!; touch $DIRECTORY/ended; exit 0' TERM\n"                                    \
	"[ \"$*\" = 'local --port=0 --json' ] || exit 1\n"                                         \
	"printf '{\"master\": '; printf '\"%s\", \"agents\": 1}\\n' $FAKE\n"                       \
	"tail -f /dev/null & wait"

/* A shell script in a directory of its own, which $MESITA names; it is given $FAKE, the fake's
 * address, and $DIRECTORY. */
void program_make(const struct fake *fake, const char *script);
const char *program_directory(void);
/* Whether the script has made the file. */
bool program_made(const char *file);
void program_remove(void);

#endif
