/* The loop's side of offload.h: what waits, when the next child is made, what children tell. */
#include "net/offload/offload_internal.h"
#include "net/offload/offload_keeper.h"
#include "net/offload/offload_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/time/clock.h"

/* A look again at clients whose socket is full of an earlier answer. */
#define BUSY_MS 20

struct child {
	struct list link; /* offload.children, oldest first */
	struct offload *offload;
	pid_t pid;
	uv_poll_t poll;
	int report;
	bool rendering;
	bool killed;	/* by us */
	int64_t since;	/* of its writing */
	uint64_t bytes; /* that it holds then */
	size_t count;
	struct offload_job *jobs[OFFLOAD_READS]; /* NULL: over */
};

struct offload {
	uv_loop_t *loop;
	uv_timer_t timer; /* runs while something waits that a child could be made for */
	struct list waiting;
	struct list children;
	size_t child_count;
	bool rendering;	  /* one of them */
	int64_t paid;	  /* uv_hrtime until which the pauses of the children so far reach */
	int64_t credit;	  /* ns; so long before that another may be made */
	int64_t patience; /* ns; with slow clients while others wait */
	uint64_t bytes_max;
	struct offload_counts counts;
};

static void offload_arm(struct offload *offload, int64_t least_ms);

static int64_t now(void)
{
	return (int64_t)uv_hrtime();
}

/* ---- without a child -------------------------------------------------------------- */

void offload_inline(const struct offload_read *read)
{
	struct buf body = BUF_INIT;
	const char *content_type = read->content_type;

	read->render(read, &body, &content_type);
	http_reply(read->request, 200, content_type, body.data, body.len, NULL);
	buf_free(&body);
}

/* Of a text whose moment is now. */
static void offload_text_inline(struct offload_text *text)
{
	struct buf made = BUF_INIT;

	text->render(text, &made);
	text->done(text, &made);
	buf_free(&made);
}

static void inline_job(struct offload *offload, struct offload_job *job)
{
	offload->counts.inlined++;
	if (job->text)
		offload_text_inline(job->text);
	else
		offload_inline(&job->read);
	free(job);
}

/* Of one that no child took. */
static void cancel_job(struct offload_job *job)
{
	if (job->text)
		job->text->done(job->text, NULL);
	else
		http_reply_text(job->read.request, 503, NULL);
	free(job);
}

bool offload_same(const struct offload_read *a, const struct offload_read *b)
{
	return str_same(a->request->principal, b->request->principal) && a->render == b->render &&
	       a->context == b->context && a->what == b->what &&
	       !strcmp(a->content_type, b->content_type) &&
	       !strcmp(a->request->query, b->request->query) &&
	       a->request->body.len == b->request->body.len &&
	       (!a->request->body.len ||
		!memcmp(a->request->body.data, b->request->body.data, a->request->body.len));
}

/* ---- the end of a child ------------------------------------------------------------ */

static void end_job(struct child *child, size_t i, bool written)
{
	struct offload_job *job = child->jobs[i];

	if (!job)
		return;
	child->jobs[i] = NULL;
	child->offload->counts.failed += !written;
	if (job->keeper && written)
		offload_keeper_written(job->keeper);
	else if (job->keeper)
		offload_keeper_give_up(job->keeper);
	else if (job->relay)
		offload_relay_told(job->relay, written);
	else
		http_handoff_done(job->read.request, written);
	free(job);
}

static void on_poll_closed(uv_handle_t *handle)
{
	struct child *child = handle->data;

	close(child->report);
	free(child);
}

static void end_child(struct child *child)
{
	struct offload *offload = child->offload;
	int status = 0;

	/* It has closed its pipe, or was killed: there is nothing to wait for. */
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0 && !child->killed)
		log_warning("a process that made answers to %zu reads %s %d", child->count,
			    WIFSIGNALED(status) ? "died of signal" : "ended with",
			    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	for (size_t i = 0; i < child->count; i++)
		end_job(child, i, false);
	if (child->rendering)
		offload->rendering = false;
	list_remove(&child->link);
	offload->child_count--;
	offload->counts.bytes -= child->bytes;
	uv_close((uv_handle_t *)&child->poll, on_poll_closed);
}

static void offload_hear(struct child *child, const struct offload_report *report)
{
	if (report->news == OFFLOAD_RENDERED) {
		child->rendering = child->offload->rendering = false;
		child->since = now();
		child->bytes = report->bytes;
		child->offload->counts.bytes += child->bytes;
		offload_arm(child->offload, 0);
	} else if (report->job < child->count) {
		end_job(child, report->job, report->news == OFFLOAD_WRITTEN);
	}
}

static void on_report(uv_poll_t *poll, int status, int events)
{
	struct child *child = poll->data;
	struct offload *offload = child->offload;
	struct offload_report reports[64];
	ssize_t len = read(child->report, reports, sizeof(reports));

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		end_child(child);
		offload_arm(offload, 0);
		return;
	}
	for (size_t i = 0; i < (size_t)len / sizeof(*reports); i++)
		offload_hear(child, &reports[i]);
}

/* ---- the beginning of a child ------------------------------------------------------ */

/* How a child may answer the job, whose other end is made if it needs one. */
static enum http_handoff open_job(struct offload *offload, struct offload_job *job)
{
	enum http_handoff state;

	if (job->text) {
		job->text->begun(job->text);
		job->keeper = offload_keeper_create(offload->loop, job->text, &job->fd);
		return job->keeper ? HTTP_HANDOFF_READY : HTTP_HANDOFF_NEVER;
	}
	state = http_handoff(job->read.request, &job->fd);
	if (state != HTTP_HANDOFF_RELAY)
		return state;
	job->relay = offload_relay_create(offload->loop, &job->fd);
	return job->relay ? HTTP_HANDOFF_READY : HTTP_HANDOFF_NEVER;
}

/* Takes what can be answered now out of those that wait, as many as one child may have. */
static size_t gather(struct offload *offload, struct offload_job **jobs)
{
	struct offload_job *job, *next;
	size_t count = 0;

	list_for_each (job, next, &offload->waiting, link) {
		enum http_handoff state;

		if (count == OFFLOAD_READS)
			break;
		state = open_job(offload, job);
		if (state == HTTP_HANDOFF_BUSY)
			continue;
		list_remove(&job->link);
		if (state == HTTP_HANDOFF_READY)
			jobs[count++] = job;
		else if (state == HTTP_HANDOFF_NEVER)
			inline_job(offload, job);
		else
			cancel_job(job);
	}
	return count;
}

/* The process id, and in `*report` where its news come from; negative without. */
static pid_t fork_child(struct offload_job **jobs, size_t count, int *report)
{
	int parent = (int)getpid(), ends[2];
	sigset_t all, before;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return -1;
	/* No handler of the loop may run in the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		offload_child(jobs, count, ends[1], parent);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (pid < 0)
		close(ends[0]);
	*report = ends[0];
	return pid;
}

static int64_t pause_after(int64_t cost)
{
	int64_t pause = cost * OFFLOAD_PAUSE;

	return pause < OFFLOAD_PAUSE_MAX_MS * MILLISECOND ? pause
							  : OFFLOAD_PAUSE_MAX_MS * MILLISECOND;
}

/* What comes through the loop belongs to its relay or keeper from now on. */
static void start_passing(struct child *child, bool made)
{
	for (size_t i = 0; i < child->count; i++) {
		struct offload_job *job = child->jobs[i];

		if (!job->relay && !job->keeper)
			continue;
		close(job->fd);
		if (job->relay && made)
			offload_relay_start(job->relay, job->read.request);
		else if (job->relay)
			offload_relay_free(job->relay);
		else if (made)
			offload_keeper_start(job->keeper);
		else
			offload_keeper_free(job->keeper);
	}
}

static void watch_child(struct child *child)
{
	struct offload *offload = child->offload;

	child->rendering = offload->rendering = true;
	list_append(&offload->children, &child->link);
	offload->child_count++;
	offload->counts.children++;
	offload->counts.reads += child->count;
	uv_poll_init(offload->loop, &child->poll, child->report);
	child->poll.data = child;
	uv_poll_start(&child->poll, UV_READABLE, on_report);
}

static void start_child(struct offload *offload)
{
	struct child *child = xcalloc(1, sizeof(*child));
	int64_t begin = now();

	child->offload = offload;
	child->count = gather(offload, child->jobs);
	if (child->count == 0) {
		free(child);
		return;
	}
	child->pid = fork_child(child->jobs, child->count, &child->report);
	if (offload->paid < now())
		offload->paid = now();
	offload->paid += pause_after(now() - begin);
	start_passing(child, child->pid >= 0);
	if (child->pid < 0) {
		log_warning("cannot make a process for %zu reads: %s", child->count,
			    strerror(errno));
		for (size_t i = 0; i < child->count; i++)
			inline_job(offload, child->jobs[i]);
		free(child);
		return;
	}
	watch_child(child);
}

/* ---- when --------------------------------------------------------------------------- */

/* There are as many, or they hold as much, as there may be. */
static bool is_full(const struct offload *offload)
{
	return offload->child_count == OFFLOAD_CHILDREN ||
	       offload->counts.bytes >= offload->bytes_max;
}

/* Of a full house that is being waited for. The oldest writes, or it would be rendering. */
static void end_oldest(struct offload *offload)
{
	struct child *oldest = list_first(&offload->children, struct child, link);

	if (now() - oldest->since < offload->patience)
		return;
	log_info_limited("ended a process that wrote answers to %zu slow clients: others wait",
			 oldest->count);
	oldest->killed = true;
	kill(oldest->pid, SIGKILL);
}

static void on_timer(uv_timer_t *timer)
{
	struct offload *offload = timer->data;

	if (offload->rendering)
		return;
	if (is_full(offload))
		end_oldest(offload);
	else
		start_child(offload);
	offload_arm(offload, BUSY_MS);
}

/* Has the timer run when something can be done for those that wait, if anything can. */
static void offload_arm(struct offload *offload, int64_t least_ms)
{
	const struct child *oldest = list_first(&offload->children, struct child, link);
	int64_t when = offload->paid - offload->credit, wait;

	/* While one renders, its news come first. */
	if (list_empty(&offload->waiting) || offload->rendering) {
		uv_timer_stop(&offload->timer);
		return;
	}
	if (is_full(offload))
		when = oldest->since + OFFLOAD_PATIENCE_MS * MILLISECOND;
	wait = (when - now() + MILLISECOND - 1) / MILLISECOND;
	uv_timer_start(&offload->timer, on_timer, (uint64_t)(wait > least_ms ? wait : least_ms), 0);
}

/* ---- for users ---------------------------------------------------------------------- */

struct offload *offload_create(uv_loop_t *loop)
{
	struct offload *offload = xcalloc(1, sizeof(*offload));

	offload->loop = loop;
	offload->bytes_max = OFFLOAD_BYTES_MAX;
	offload->credit = OFFLOAD_CREDIT_MS * MILLISECOND;
	offload->patience = OFFLOAD_PATIENCE_MS * MILLISECOND;
	list_init(&offload->waiting);
	list_init(&offload->children);
	uv_timer_init(loop, &offload->timer);
	offload->timer.data = offload;
	return offload;
}

static void offload_on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void offload_close(struct offload *offload)
{
	struct child *child, *next_child;
	struct offload_job *job, *next;

	list_for_each (child, next_child, &offload->children, link) {
		child->killed = true;
		kill(child->pid, SIGKILL);
		end_child(child);
	}
	list_for_each (job, next, &offload->waiting, link) {
		list_remove(&job->link);
		cancel_job(job);
	}
	uv_close((uv_handle_t *)&offload->timer, offload_on_closed);
}

static void offload_queue(struct offload *offload, const struct offload_job *one)
{
	struct offload_job *job = xcalloc(1, sizeof(*job));

	*job = *one;
	list_append(&offload->waiting, &job->link);
	/* Not at once: the same turn of the loop may bring others. */
	if (!uv_is_active((uv_handle_t *)&offload->timer))
		offload_arm(offload, 0);
}

void offload_submit(struct offload *offload, const struct offload_read *read)
{
	offload_queue(offload, &(struct offload_job){.read = *read});
}

void offload_make(struct offload *offload, struct offload_text *text)
{
	offload_queue(offload, &(struct offload_job){.text = text});
}

bool offload_owns(const struct offload *offload, pid_t pid)
{
	for (const struct list *at = offload->children.next; at != &offload->children;
	     at = at->next)
		if (list_entry(at, struct child, link)->pid == pid)
			return true;
	return false;
}

struct offload_counts offload_counts(const struct offload *offload)
{
	struct offload_counts counts = offload->counts;

	counts.now = offload->child_count;
	return counts;
}

void offload_bound(struct offload *offload, uint64_t bytes)
{
	offload->bytes_max = bytes;
}

void offload_limit_credit(struct offload *offload, int64_t milliseconds)
{
	offload->credit = milliseconds * MILLISECOND;
}

void offload_limit_patience(struct offload *offload, int64_t milliseconds)
{
	offload->patience = milliseconds * MILLISECOND;
}
