/* `mesita pull`: gets an image into a store, from a registry or from a directory of archives. A
 * process of its own: it may block, and whoever reads archives of strangers may crash alone.
 *
 * What is under way lies in STORE/staging and is named after the process; what an earlier one left
 * there is not used again, but layers that it finished are. Tells its progress on standard error;
 * on failure the last line says why, and the exit status is 1. */
#ifndef AGENT_CONTAINERS_PULL_PULL_H
#define AGENT_CONTAINERS_PULL_PULL_H

/* Arguments: --store=DIR --registry=URL|DIR [--stall_timeout=DURATION] --image=NAME; the standard
 * input holds docker's configuration as JSON, or nothing. */
int pull_main(int argc, char **argv);

#endif
