/* See pollers.h. */
#include "bench/load/measure/pollers.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/time/clock.h"
#include "net/client.h"

#define PROBE_NICE (-20)
#define TIMEOUT_MS 120000
/* After a failure, so that a master that is gone is not asked in a tight loop. */
#define AGAIN_MS 100

/* ---- in the process ------------------------------------------------------------ */

struct poller;

struct polling {
	uv_loop_t loop;
	uv_poll_t orders;
	int orders_fd;
	const char *target;
	const char *accept;
	int64_t interval; /* between the probe's questions; 0: without pause */
	struct poller *pollers;
	size_t count;
	size_t open;
	bool over;
	int64_t since;
	struct poll_figures figures;
};

struct poller {
	struct polling *polling;
	struct http_client *client;
	uv_timer_t timer;
	int64_t asked;
	int64_t due;
	uint64_t received;
};

static void ask(struct poller *poller);

static void on_timer(uv_timer_t *timer)
{
	ask(timer->data);
}

/* A probe that was held up stands for those that would have been sent meanwhile. */
static void count_time(struct polling *p, int64_t time)
{
	histogram_add(&p->figures.times, time);
	while (p->interval > 0 && (time -= p->interval) > 0)
		histogram_add(&p->figures.times, time);
}

static void ask_again(struct poller *poller, bool failed)
{
	int64_t wait;

	if (failed) {
		uv_timer_start(&poller->timer, on_timer, AGAIN_MS, 0);
	} else if (poller->polling->interval == 0) {
		ask(poller);
	} else {
		wait = poller->due - clock_now();
		uv_timer_start(&poller->timer, on_timer,
			       wait > 0 ? (uint64_t)(wait / MILLISECOND) : 0, 0);
	}
}

static void on_answer(void *context, const struct http_answer *answer)
{
	struct poller *poller = context;
	struct polling *p = poller->polling;
	uint64_t received = http_client_received(poller->client);

	if (p->over)
		return;
	if (answer->status == 200) {
		p->figures.count++;
		p->figures.bytes += received - poller->received;
		count_time(p, clock_now() - poller->asked);
	} else {
		p->figures.failed++;
	}
	poller->received = received;
	ask_again(poller, answer->status != 200);
}

static void ask(struct poller *poller)
{
	const struct polling *p = poller->polling;
	const char *headers[] = {"Accept", p->accept, "Content-Type", "application/json", NULL};
	char body[128];

	poller->asked = clock_now();
	poller->due = poller->asked + p->interval;
	if (p->target[0] == '/') {
		headers[2] = NULL;
		http_client_send(poller->client, "GET", p->target, headers, NULL, 0, TIMEOUT_MS,
				 on_answer, poller);
	} else {
		snprintf(body, sizeof(body), "{\"type\":\"%s\"}", p->target);
		http_client_send(poller->client, "POST", "/api/v1", headers, body, strlen(body),
				 TIMEOUT_MS, on_answer, poller);
	}
}

static void begin(struct polling *p)
{
	p->since = clock_now();
	for (size_t i = 0; i < p->count; i++)
		ask(&p->pollers[i]);
}

static void end(struct polling *p)
{
	p->over = true;
	if (p->since)
		p->figures.span = clock_now() - p->since;
	for (size_t i = 0; i < p->count; i++) {
		http_client_close(p->pollers[i].client);
		uv_close((uv_handle_t *)&p->pollers[i].timer, NULL);
	}
	uv_close((uv_handle_t *)&p->orders, NULL);
}

static void on_order(uv_poll_t *poll, int status, int events)
{
	struct polling *p = poll->data;
	char order = 's';

	if (read(p->orders_fd, &order, 1) > 0 && order == 'g')
		begin(p);
	else
		end(p);
}

static int send_figures(int fd, const struct poll_figures *figures)
{
	const char *at = (const char *)figures;
	size_t left = sizeof(*figures);

	while (left > 0) {
		ssize_t sent = send(fd, at, left, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return 1;
		at += sent;
		left -= (size_t)sent;
	}
	return 0;
}

static int poll_until_told(struct polling *p, const char *host, int port)
{
	uv_loop_init(&p->loop);
	p->pollers = xcalloc(p->count, sizeof(*p->pollers));
	for (size_t i = 0; i < p->count; i++) {
		struct poller *poller = &p->pollers[i];

		poller->polling = p;
		poller->client = http_client_create(&p->loop, host, port);
		http_client_drop_bodies(poller->client);
		uv_timer_init(&p->loop, &poller->timer);
		poller->timer.data = poller;
	}
	uv_poll_init(&p->loop, &p->orders, p->orders_fd);
	p->orders.data = p;
	uv_poll_start(&p->orders, UV_READABLE, on_order);
	uv_run(&p->loop, UV_RUN_DEFAULT);
	uv_loop_close(&p->loop);
	free(p->pollers);
	return send_figures(p->orders_fd, &p->figures);
}

/* ---- from outside ----------------------------------------------------------------- */

struct helper {
	pid_t pid; /* 0: the plan has none of it */
	int fd;
	struct poll_figures figures;
};

struct pollers {
	struct helper polls;
	struct helper stalls;
	bool over;
	bool died;
};

static int start_helper(struct helper *helper, const struct plan *plan, struct polling *polling,
			struct err *err)
{
	int ends[2];
	pid_t parent = getpid();

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return err_set(err, ERR_IO, "cannot make a socket pair: %s", strerror(errno));
	helper->pid = fork();
	if (helper->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* What a terminal says is for the parent, which tells us. */
		signal(SIGINT, SIG_IGN);
		/* Pollers stand for machines of their own: the schedulers' side must not wait for
		 * them. Whoever asks how long the loop stands still must not wait for that side;
		 * where it may not be put first, it does at times. */
		if (polling->interval == 0)
			sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
		else
			setpriority(PRIO_PROCESS, 0, PROBE_NICE);
		close(ends[0]);
		polling->orders_fd = ends[1];
		_exit(getppid() == parent ? poll_until_told(polling, plan->host, plan->port) : 1);
	}
	close(ends[1]);
	helper->fd = ends[0];
	if (helper->pid > 0)
		return 0;
	close(ends[0]);
	helper->pid = 0;
	return err_set(err, ERR_IO, "cannot make a process: %s", strerror(errno));
}

int pollers_start(const struct plan *plan, struct pollers **out, struct err *err)
{
	struct polling polls = {
		.target = plan->poll,
		.accept = plan->poll_as_json ? "application/json" : "application/x-protobuf",
		.count = (size_t)plan->pollers,
	};
	struct polling stalls = {
		.target = "/health",
		.accept = "*/*",
		.count = 1,
		.interval = plan->stall_probe,
	};
	struct pollers *pollers;
	int rv = 0;

	*out = NULL;
	if (plan->pollers == 0 && plan->stall_probe == 0)
		return 0;
	pollers = xcalloc(1, sizeof(*pollers));
	if (plan->pollers > 0)
		rv = start_helper(&pollers->polls, plan, &polls, err);
	if (rv == 0 && plan->stall_probe > 0)
		rv = start_helper(&pollers->stalls, plan, &stalls, err);
	if (rv == 0)
		*out = pollers;
	else
		pollers_close(pollers);
	return rv;
}

static void order(struct helper *helper, char what)
{
	/* One that has died is noticed when its figures do not come. */
	if (helper->pid > 0 && send(helper->fd, &what, 1, MSG_NOSIGNAL) < 0)
		errno = 0;
}

static void reap(struct helper *helper)
{
	if (helper->pid == 0)
		return;
	/* Its figures have come, or nobody wants them. */
	kill(helper->pid, SIGKILL);
	close(helper->fd);
	while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	helper->pid = 0;
}

static bool take_figures(struct helper *helper)
{
	char *at = (char *)&helper->figures;
	size_t left = sizeof(helper->figures);

	while (helper->pid > 0 && left > 0) {
		ssize_t got = read(helper->fd, at, left);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		left -= (size_t)got;
	}
	return true;
}

void pollers_go(struct pollers *pollers)
{
	if (!pollers)
		return;
	order(&pollers->polls, 'g');
	order(&pollers->stalls, 'g');
}

bool pollers_stop(struct pollers *pollers)
{
	if (!pollers || pollers->over)
		return !pollers || !pollers->died;
	pollers->over = true;
	order(&pollers->polls, 's');
	order(&pollers->stalls, 's');
	if (!take_figures(&pollers->polls) || !take_figures(&pollers->stalls))
		pollers->died = true;
	return !pollers->died;
}

const struct poll_figures *pollers_polls(const struct pollers *pollers)
{
	return pollers && pollers->polls.pid > 0 ? &pollers->polls.figures : NULL;
}

const struct poll_figures *pollers_stalls(const struct pollers *pollers)
{
	return pollers && pollers->stalls.pid > 0 ? &pollers->stalls.figures : NULL;
}

void pollers_close(struct pollers *pollers)
{
	if (!pollers)
		return;
	reap(&pollers->polls);
	reap(&pollers->stalls);
	free(pollers);
}

bool pollers_target_valid(const char *text)
{
	if (text[0] == '/')
		return strpbrk(text, " \r\n\t") == NULL;
	for (const char *c = text; *c; c++)
		if (!isupper((unsigned char)*c) && *c != '_')
			return false;
	return *text && strlen(text) < 64;
}
