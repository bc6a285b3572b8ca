/* Agent shell: `mesita agent`. Flags, sockets, containers, sandboxes, the store and
 * time around the core of agent.h. */
#ifndef AGENT_SERVER_H
#define AGENT_SERVER_H

/* Runs an agent until it is told to end or a fatal error; returns the exit status.
 * argv holds the flags only (no program name). */
int agent_main(int argc, char **argv);

#endif
