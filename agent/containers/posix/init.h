/* `mesita init`: the first process of a custom executor's container.
 *
 * It starts the executor, adopts and reaps what the executor's children leave behind,
 * passes signals on, and when the executor ends, kills the rest, writes the executor's
 * wait status down (an agent that was restarted is no longer its parent and cannot
 * wait for it) and ends the same way.
 *
 * A session's has no life of its own: --tied=PID, it kills everything when that process, its
 * parent, is gone; --tty, its standard input is a terminal, which becomes its own.
 *
 * Arguments: [--status=FILE] [--tied=PID] [--tty] --program=PROGRAM -- ARGV0 [ARGUMENT...] */
#ifndef AGENT_CONTAINERS_POSIX_INIT_H
#define AGENT_CONTAINERS_POSIX_INIT_H

int init_main(int argc, char **argv);

#endif
