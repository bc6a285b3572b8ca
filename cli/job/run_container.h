/* The container that the flags of `mesita run` ask for. */
#ifndef CLI_JOB_RUN_CONTAINER_H
#define CLI_JOB_RUN_CONTAINER_H

#include "cli/job/run_task.h"

/* Its image, or NULL. */
const char *run_image(const struct run_flags *flags);
/* Whether agents run it themselves, and Docker does not. */
bool run_image_is_of_mesos(const struct run_flags *flags);
/* NULL in *out: they ask for nothing. */
int run_container_make(struct arena *arena, const struct run_flags *flags,
		       Mesos__ContainerInfo **out, struct err *err);

#endif
