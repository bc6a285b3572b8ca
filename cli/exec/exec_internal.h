/* What the files of a session share. Nobody else includes this.
 *
 *	exec_session.c	the command's life and output
 *	exec_input.c	what goes into it, and our terminal */
#ifndef CLI_EXEC_EXEC_INTERNAL_H
#define CLI_EXEC_EXEC_INTERNAL_H

#include <termios.h>
#include <uv.h>

#include "cli/exec/exec_session.h"
#include "net/client.h"
#include "proto/proto.h"

#define EXEC_PATH "/api/v1"
#define EXEC_HEADERS 9

struct exec_session {
	const struct exec_request *request;
	uv_loop_t loop;
	struct arena arena;
	Mesos__ContainerID *id;
	struct http_client *output; /* the session's request, and those after its end */
	struct http_client *input;  /* NULL before it is attached */
	bool opened;
	int status; /* to exit with */
	struct err *err;

	uv_poll_t readable; /* our input, if it can be waited for */
	uv_idle_t ready;    /* if not: a file */
	uv_signal_t resized;
	bool polled, reading, at_end, watches_size;
	bool leaving;	 /* the first of the two keys that detach came */
	int input_flags; /* of our input's description, -1: as they were */
	bool raw;	 /* our terminal is */
	struct termios cooked;
};

/* Leaves the terminal to itself. */
void exec_detach(struct exec_session *s);
/* `records`: of what goes out, of what comes in. */
void exec_headers(const struct exec_session *s, bool records_out, bool records_in,
		  const char *headers[EXEC_HEADERS]);

/* Our input goes into the container from now on, or its end if that is what it gets. */
void exec_input_begin(struct exec_session *s);
/* Our terminal is as it was. */
void exec_input_end(struct exec_session *s);
/* The size of our terminal; false: it is none. */
bool exec_window_size(Mesos__TTYInfo__WindowSize *size);

#endif
