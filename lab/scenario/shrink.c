#include "lab/scenario/shrink.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "base/time/duration.h"
#include "lab/scenario/scenario.h"

#define TRIES_MAX 2000 /* runs; what is reached by then is printed */

static bool is_digit(char c)
{
	return isdigit((unsigned char)c) != 0;
}

void shrink_classify(const char *text, char kind[SHRINK_KIND])
{
	size_t len = 0;
	char before = '\0';

	for (; *text && *text != '\n' && len < SHRINK_KIND - 1; before = *text++) {
		bool fraction = *text == '.' && is_digit(before) && is_digit(text[1]);

		if (!is_digit(*text) && !fraction)
			kind[len++] = *text;
	}
	kind[len] = '\0';
}

static void run_child(const struct lab_options *options, int fd)
{
	struct shrink_verdict v = {0};
	struct lab_report report;
	ssize_t written;

	/* A crash would tell of itself each time. */
	if (!freopen("/dev/null", "w", stderr))
		_exit(1);
	lab_run(options, &report);
	v.failed = report.failed;
	v.begun = report.begun;
	v.time = report.virtual_time;
	if (report.failed) {
		shrink_classify(report.failure, v.kind);
		snprintf(v.text, sizeof(v.text), "%.*s", (int)strcspn(report.failure, "\n"),
			 report.failure);
	}
	written = write(fd, &v, sizeof(v));
	_exit(written == (ssize_t)sizeof(v) ? 0 : 1);
}

static struct shrink_verdict attempt_in_child(struct shrink *s, const struct lab_options *options)
{
	struct shrink_verdict v = {0};
	ssize_t got = -1;
	int fds[2], status;
	pid_t pid;

	(void)s;
	fflush(stdout);
	if (pipe(fds)) {
		perror("mesita-sim: pipe");
		exit(2);
	}
	pid = fork();
	if (pid < 0) {
		perror("mesita-sim: fork");
		exit(2);
	}
	if (pid == 0) {
		close(fds[0]);
		run_child(options, fds[1]);
	}
	close(fds[1]);
	got = read(fds[0], &v, sizeof(v));
	close(fds[0]);
	waitpid(pid, &status, 0);
	if (got != (ssize_t)sizeof(v))
		v = (struct shrink_verdict){
			.failed = true, .kind = "a crash", .text = "a crash", .begun = 1000};
	return v;
}

/* Whether `o` fails as the first run did; then it is the best. */
static bool improves(struct shrink *s, const struct lab_options *o)
{
	struct shrink_verdict v;

	if (s->tries >= TRIES_MAX)
		return false;
	s->tries++;
	v = s->attempt(s, o);
	if (!v.failed || strcmp(v.kind, s->first.kind))
		return false;
	s->best = *o;
	return true;
}

static bool improves_list(struct shrink *s, struct numbers *list, struct numbers *smaller)
{
	struct lab_options o = s->best;

	if (list == &s->faults)
		o.only_faults = smaller;
	else
		o.only_events = smaller;
	if (!improves(s, &o)) {
		numbers_free(smaller);
		return false;
	}
	numbers_free(list);
	*list = *smaller;
	s->best.only_faults = &s->faults;
	if (s->best.scenario)
		s->best.only_events = &s->events;
	return true;
}

/* Takes parts out, in ever smaller pieces. */
static bool shrink_list(struct shrink *s, struct numbers *list)
{
	bool any = false;

	for (size_t piece = list->count; piece; piece = piece > 1 ? (piece + 1) / 2 : 0) {
		for (size_t at = 0; at < list->count;) {
			struct numbers smaller;

			numbers_without(list, at, at + piece, &smaller);
			if (improves_list(s, list, &smaller))
				any = true;
			else
				at += piece;
		}
	}
	return any;
}

/* The smallest of a number that still fails: halves, then one less. */
static bool shrink_count(struct shrink *s, int *place, int least)
{
	bool any = false;

	while (*place > least) {
		struct lab_options o = s->best;
		int *other = (int *)((char *)&o + ((char *)place - (char *)&s->best));
		int was = *place;

		*other = least + (was - least) / 2;
		if (!improves(s, &o)) {
			*other = was - 1;
			if (!improves(s, &o))
				break;
		}
		any = true;
	}
	return any;
}

/* In whole seconds; by a half of it as long as that goes, then by ever smaller parts. */
static bool shrink_span(struct shrink *s)
{
	bool any = false;

	for (int64_t part = 2; s->best.span / part >= SECOND;) {
		struct lab_options o = s->best;

		o.span = (o.span - o.span / part) / SECOND * SECOND;
		if (o.span >= SECOND && improves(s, &o))
			any = true;
		else
			part *= 2;
	}
	return any;
}

static void report_progress(const struct shrink *s)
{
	char span[DURATION_TEXT];

	printf("%d runs: %zu faults, %zu events, %d agents, %d schedulers, %d tasks, %s\n",
	       s->tries, s->faults.count, s->events.count, s->best.agents, s->best.schedulers,
	       s->best.tasks, duration_format(s->best.span, span));
}

static void shrink_all(struct shrink *s)
{
	bool any = true;

	while (any && s->tries < TRIES_MAX) {
		any = shrink_list(s, &s->faults);
		any |= shrink_list(s, &s->events);
		any |= shrink_count(s, &s->best.tasks, 1);
		any |= shrink_count(s, &s->best.schedulers, 1);
		any |= shrink_count(s, &s->best.agents, 1);
		any |= shrink_span(s);
		report_progress(s);
	}
}

bool shrink_reduce(struct shrink *s)
{
	const struct lab_options o = s->best;

	s->tries = 1;
	s->first = s->attempt(s, &o);
	if (!s->first.failed)
		return false;
	printf("seed %" PRIu64 ": %s\n", o.seed, s->first.text);
	if (o.only_faults)
		numbers_without(o.only_faults, 0, 0, &s->faults);
	else
		numbers_fill(&s->faults, 1, s->first.begun);
	s->best.only_faults = &s->faults;
	if (o.scenario && o.only_events)
		numbers_without(o.only_events, 0, 0, &s->events);
	else if (o.scenario)
		numbers_fill(&s->events, 1, scenario_event_count(o.scenario));
	if (o.scenario)
		s->best.only_events = &s->events;
	shrink_all(s);
	return true;
}

void shrink_free(struct shrink *s)
{
	numbers_free(&s->faults);
	numbers_free(&s->events);
}

int shrink_run(const struct command *c)
{
	struct shrink s = {.best = c->lab, .attempt = attempt_in_child};
	struct buf text = BUF_INIT;

	s.best.trace = false;
	s.best.world = NULL;
	s.best.coverage = NULL;
	if (!shrink_reduce(&s)) {
		printf("seed %" PRIu64 " does not fail\n", c->lab.seed);
		return 0;
	}
	command_print(c, &s.best, &text);
	printf("the smallest found: %s\n", text.data);
	buf_free(&text);
	shrink_free(&s);
	return 1;
}
