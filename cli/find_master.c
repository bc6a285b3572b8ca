/* `mesita resolve` (mesos-resolve), and the master for commands that are given zk:// or file://. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/time/clock.h"
#include "base/zk/zk_url.h"
#include "cli/cli.h"
#include "net/masters/detector.h"
#include "net/masters/election.h"

#define FIND_TIMEOUT (30 * SECOND) /* an election takes the time of a session, 10 s mostly */

struct search {
	struct detector *detector;
	uv_timer_t timer;
	char *found; /* "ip:port", heap */
	int rv;
	struct err *err;
};

static void search_end(struct search *search)
{
	if (search->detector)
		detector_close(search->detector);
	search->detector = NULL;
	if (!uv_is_closing((uv_handle_t *)&search->timer))
		uv_close((uv_handle_t *)&search->timer, NULL);
}

static void search_detected_cb(void *context, const char *pid)
{
	struct search *search = context;

	if (!pid || search->found)
		return;
	search->found = xstrdup(strchr(pid, '@') + 1);
	search_end(search);
}

static void search_failed_cb(void *context, const char *why)
{
	struct search *search = context;

	search->rv = err_set(search->err, ERR_IO, "%s", why);
	search_end(search);
}

static void search_late_cb(uv_timer_t *timer)
{
	struct search *search = timer->data;

	search->rv = err_set(search->err, ERR_NOT_FOUND, "no master leads, or it is not known");
	search_end(search);
}

int cli_find_leader(const char *source, int64_t timeout, char **out, struct err *err)
{
	static const struct detector_handlers handlers = {.detected = search_detected_cb,
							  .failed = search_failed_cb};
	struct search search = {.err = err};
	uv_loop_t loop;

	uv_loop_init(&loop);
	uv_timer_init(&loop, &search.timer);
	search.timer.data = &search;
	search.detector =
		detector_create(&loop, source, ELECTION_SESSION_TIMEOUT_MS, &handlers, &search);
	search.rv = detector_check(search.detector, err);
	if (search.rv == 0) {
		uv_timer_start(&search.timer, search_late_cb, (uint64_t)(timeout / MILLISECOND), 0);
		detector_look(search.detector);
	} else {
		search_end(&search);
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	*out = search.found;
	return search.found ? 0 : search.rv;
}

/* Commands that ask again and again have one master. */
static char *known_as, *known;

void cli_forget_master(void)
{
	free(known_as);
	free(known);
	known_as = known = NULL;
}

int cli_find_master(const char *address, char **out, struct err *err)
{
	int rv;

	if (!zk_url_is(address) && !str_has_prefix(address, "file://")) {
		*out = xstrdup(address);
		return 0;
	}
	if (!known || strcmp(known_as, address)) {
		cli_forget_master();
		rv = cli_find_leader(address, FIND_TIMEOUT, &known, err);
		if (rv < 0)
			return err_wrap(err, rv, "'%s'", address);
		known_as = xstrdup(address);
	}
	*out = xstrdup(known);
	return 0;
}

/* ---- mesita resolve ------------------------------------------------------------------- */

struct resolve_flags {
	int64_t timeout;
	bool verbose;
};

static const struct flag resolve_table[] = {
	{"timeout", NULL, FLAG_DURATION, offsetof(struct resolve_flags, timeout), "5secs",
	 "How long to look for it.", NULL, NULL},
	{"verbose", NULL, FLAG_BOOL, offsetof(struct resolve_flags, verbose), "false",
	 "Say what happens meanwhile.", NULL, NULL},
	{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
};

int cmd_resolve(int argc, char **argv)
{
	struct resolve_flags target;
	struct flags flags;
	struct err err;
	char *found = NULL;
	int status, rv;

	if (cli_flags(&flags, resolve_table, sizeof(resolve_table) / sizeof(*resolve_table),
		      &target, "Usage: mesita resolve [--timeout=5secs] MASTER", argc, argv,
		      &status))
		return status;
	if (flags.positional_count != 1) {
		fprintf(stderr, "mesita resolve: which master? HOST:PORT, zk://HOST:PORT/PATH or "
				"file://PATH\n");
		cli_flags_free(&flags);
		return 1;
	}
	log_set_level(target.verbose ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR);
	rv = cli_find_leader(flags.positional[0], target.timeout, &found, &err);
	if (rv == 0)
		printf("%s\n", found);
	else
		fprintf(stderr, "mesita resolve: '%s': %s\n", flags.positional[0], err.text);
	free(found);
	cli_flags_free(&flags);
	return rv < 0;
}
