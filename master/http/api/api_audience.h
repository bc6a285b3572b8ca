/* Audiences: watchers who get the same events in the same format, and what they begin with.
 *
 * The state of the beginning is written down for all of an audience who come soon; a big one by a
 * child process, while who comes waits and the loop goes on. */
#ifndef MASTER_HTTP_API_API_AUDIENCE_H
#define MASTER_HTTP_API_API_AUDIENCE_H

#include "master/http/api/api_objects.h"
#include "net/fanout.h"
#include "net/offload.h"

struct audience {
	struct list link; /* shell.audiences */
	struct shell *shell;
	struct fanout_line *line;
	enum http_media media;
	char *principal; /* or NULL; without access control lists all are the same */
	size_t count;
	struct fanout_start *start; /* the state of some time ago; or NULL */
	uint64_t start_until;	    /* uv_now() until which it is used for those who come */
	struct offload_text text;   /* the state, while a child writes it down */
	bool writing;		    /* then; `start` is not to be used yet, if there is one */
	bool deserted;		    /* everybody left meanwhile */
	uint64_t begun;		    /* uv_hrtime() */
	struct list waiting;	    /* struct watcher.link_waiting: until it is written down */
};

/* Somebody who SUBSCRIBEd. */
struct watcher {
	struct list link; /* shell.watchers, oldest first */
	struct list link_waiting;
	struct shell *shell;
	struct http_stream *stream;
	struct audience *audience;
	struct fanout_reader *reader; /* NULL: it waits for the state of the beginning */
};

/* The one for a client of the principal (or NULL), with one more in it. */
struct audience *audience_join(struct shell *shell, enum http_media media, const char *principal);
void audience_leave(struct audience *a);
/* The watcher, whose stream is open, gets how things are, and everything from then on. */
void audience_begin(struct audience *a, struct watcher *w);
/* Gives up a beginning that is too old to be used for others. */
void audience_tidy(struct audience *a);
struct view audience_view(const struct audience *a);

/* The event in the format, appended. */
void audience_encode(const Mesos__Master__Event *event, enum http_media media, struct buf *out);
/* A heartbeat; it holds nothing that must be freed. */
Mesos__Master__Event audience_heartbeat(void);

#endif
