/* `mesita init`: the first process of a container.
 *
 * It starts the program, adopts and reaps what the program's children leave behind,
 * passes signals on, and when the program ends, kills the rest, writes the program's
 * wait status down (an agent that was restarted is no longer its parent and cannot
 * wait for it) and ends the same way.
 *
 * A session's has no life of its own: --tied=PID, it kills everything when that process, its
 * parent, is gone; --tty, its standard input is a terminal, which becomes the program's own.
 * --terminal=ROWSxCOLUMNS: a terminal is made for the program and served (terminal/terminal.h);
 * what it shows goes to our standard output, too. --keeps_signals: the program gets them from
 * whoever sends them to us.
 *
 * With --launch a message (linux/launch_message.h) says what the container has of its own:
 * namespaces, a root file system, mounts. A second init, which lives inside, does all of the above
 * there; the outer one waits for that. --enter=PID goes into the container that the process's
 * descendants live in, and starts the program there.
 *
 * Arguments: [--status=FILE] [--tied=PID] [--tty | --terminal=SIZE] [--keeps_signals]
 *                --program=PROGRAM -- ARGV0 [ARGUMENT...]
 *            [--status=FILE] [--tied=PID] [--tty | --terminal=SIZE] --launch [--enter=PID] */
#ifndef AGENT_CONTAINERS_INIT_INIT_H
#define AGENT_CONTAINERS_INIT_INIT_H

int init_main(int argc, char **argv);

#endif
