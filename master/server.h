/* Master shell: `mesita master`. Flags, sockets, the store and time around the
 * core of master.h. */
#ifndef MASTER_SERVER_H
#define MASTER_SERVER_H

/* Runs a master until SIGTERM/SIGINT or a fatal error; returns the exit status.
 * argv holds the flags only (no program name). */
int master_main(int argc, char **argv);

#endif
