/* The terminal of a container that outlives the agent: its init (init/) has the other end, copies
 * what is shown there to the sandbox, and serves whoever connects to a socket that the agent made.
 *
 * A connection gets what is shown from then on, as it is. What it sends is frames: a type, the
 * length of what follows in four bytes (the least first), and that. One that does not read holds
 * the program up for a while, and then is closed. */
#ifndef AGENT_CONTAINERS_TERMINAL_TERMINAL_H
#define AGENT_CONTAINERS_TERMINAL_TERMINAL_H

#include <stddef.h>

#include "base/err.h"

#define TERMINAL_FD 4	   /* descriptor that the init is born with: the socket */
#define TERMINAL_HEAD 5	   /* bytes before a frame's data */
#define TERMINAL_INPUT 'i' /* data: what is typed */
#define TERMINAL_SIZE 'w'  /* data: rows and columns, two bytes each, the least first */

/* ---- the agent's part -------------------------------------------------------------- */

/* Makes the socket of a container below the directory of what runs; returns it, or a negative
 * code. Nobody else may connect. */
int terminal_listen(const char *runtime_dir, const char *id, struct err *err);
/* A connection that does not block; -1: the container has no terminal, or has ended. */
int terminal_connect(const char *runtime_dir, const char *id);
void terminal_remove(const char *runtime_dir, const char *id);
/* Writes the head of a frame; TERMINAL_HEAD bytes. */
void terminal_head(char *out, char type, size_t len);
/* Writes a whole frame of that size; returns how many bytes. */
size_t terminal_size_frame(char out[TERMINAL_HEAD + 4], unsigned rows, unsigned columns);

/* ---- the init's --------------------------------------------------------------------- */

struct terminal;

/* Makes a terminal of that size ("24x80"; "0x0": unknown) and serves it at TERMINAL_FD. */
struct terminal *terminal_open(const char *size, struct err *err);
/* In a child, which does not serve it: it becomes the standard streams, and the controlling
 * terminal of the session that this process leads, if it leads one. Makes system calls only. */
void terminal_take(const struct terminal *terminal);
/* Serves until one of the signals in the descriptor waits. */
void terminal_serve(struct terminal *terminal, int signals);
/* After all processes in it have ended: passes the rest on, and frees it. */
void terminal_close(struct terminal *terminal);

#endif
