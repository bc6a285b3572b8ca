/* What the parts of the flag code share. */
#ifndef BASE_FLAGS_FLAGS_INTERNAL_H
#define BASE_FLAGS_FLAGS_INTERNAL_H

#include "base/flags/flags.h"

/* Turns `text` into the flag's value in the target. `loaded_as` is the name to say in
 * errors and, unless `preset`, to remember. */
int flag_load(struct flags *flags, struct flag *flag, const char *loaded_as, const char *text,
	      bool preset, struct err *err);
/* The place of the flag's value in the caller's struct. */
void *flag_target(const struct flags *flags, const struct flag *flag);
/* The known name (aliases too) nearest to an unknown one, or NULL when none is near. */
const char *flag_nearest(const struct flags *flags, const char *name);

#endif
