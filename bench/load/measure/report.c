/* See report.h. All figures are in one list, printed as a table or as JSON. */
#include "bench/load/measure/report.h"

#include <stdio.h>

#include "bench/load/fleet/agents.h"
#include "bench/load/measure/pollers.h"

#define FIGURES_MAX 128

struct figure {
	const char *name;
	const char *unit;
	double value;
};

struct figures {
	struct figure list[FIGURES_MAX];
	size_t count;
};

static void add(struct figures *out, const char *name, const char *unit, double value)
{
	if (out->count < FIGURES_MAX)
		out->list[out->count++] = (struct figure){name, unit, value};
}

/* ---- while it runs ------------------------------------------------------------ */

void report_progress(struct load *load, int64_t now)
{
	static const char *const names[] = {
		[PHASE_REGISTERING] = "registering", [PHASE_SUBSCRIBING] = "subscribing",
		[PHASE_LAUNCHING] = "launching",     [PHASE_HOLDING] = "holding",
		[PHASE_WAITING] = "waiting",	     [PHASE_LOST] = "master lost",
		[PHASE_RETURNING] = "returning",     [PHASE_CONFIRMING] = "confirming",
		[PHASE_DRAINING] = "draining",	     [PHASE_RECONCILING] = "reconciling",
		[PHASE_LEAVING] = "leaving",	     [PHASE_OVER] = "over",
	};
	const struct books *books = &load->books;
	struct process_figures master;

	process_read(load->master_pid, &master);
	fprintf(stderr, "%-12s %6.1f s  agents %u  launched %u  running %u  done %u  (%.0f/s)",
		names[load->phase], (double)(now - load->phase_began) / SECOND,
		fleet_registered(load->fleet), books->launched, fleet_running(load->fleet),
		books->done,
		(books->done - load->done_shown) / ((double)(now - load->shown) / SECOND));
	if (load->plan.probes > 0 && load->phase >= PHASE_LAUNCHING)
		fprintf(stderr, "  probes %ld", (long)load->probes.done);
	if (load->phase >= PHASE_LOST && load->phase <= PHASE_CONFIRMING)
		fprintf(stderr, "  back %u", fleet_returned(load->fleet));
	if (master.known)
		fprintf(stderr, "  master %.1f s, %.0f MB", master.user + master.system,
			(double)master.rss / 1e6);
	fputc('\n', stderr);
	load->shown = now;
	load->done_shown = books->done;
}

/* ---- at the end ---------------------------------------------------------------- */

static double run_seconds(const struct books *books)
{
	int64_t span = books->last_done - books->first_accept;

	return span > 0 ? (double)span / SECOND : 0;
}

static double per(double value, double count)
{
	return count > 0 ? value / count : 0;
}

static void add_tasks(struct figures *out, const struct load *load)
{
	const struct books *books = &load->books;
	double seconds = run_seconds(books);

	add(out, "agents", "", (double)load->plan.agents);
	add(out, "schedulers", "", (double)load->plan.schedulers);
	add(out, "registration", "s", (double)load->registered_in / SECOND);
	add(out, "tasks_launched", "", books->launched);
	add(out, "tasks_done", "", books->done);
	add(out, "tasks_killed", "", books->killed);
	add(out, "tasks_reconciled", "", books->answered);
	add(out, "tasks_dropped_by_master", "", books->dropped);
	add(out, "violations", "", (double)books->violations);
	add(out, "updates_sent_again", "", books->retries);
	add(out, "updates_heard_again", "", books->repeated);
	add(out, "seconds", "s", seconds);
	add(out, "tasks_per_second", "tasks/s", per(books->done, seconds));
}

static void add_latency(struct figures *out, const char *const names[5],
			const struct histogram *histogram)
{
	add(out, names[0], "ms", (double)histogram_percentile(histogram, 0.5) / MILLISECOND);
	add(out, names[1], "ms", (double)histogram_percentile(histogram, 0.9) / MILLISECOND);
	add(out, names[2], "ms", (double)histogram_percentile(histogram, 0.99) / MILLISECOND);
	add(out, names[3], "ms", (double)histogram_percentile(histogram, 0.999) / MILLISECOND);
	add(out, names[4], "ms", (double)histogram->max / MILLISECOND);
}

#define NAMES(what)                                                                                \
	(const char *const[5])                                                                     \
	{                                                                                          \
		what "_p50", what "_p90", what "_p99", what "_p999", what "_max"                   \
	}

/* Only of what the plan had in it; drivers of v0 are given no answer. */
static void add_latencies(struct figures *out, const struct books *books)
{
	if (books->kill_to_ended.count > 0)
		add_latency(out, NAMES("kill_to_ended"), &books->kill_to_ended);
	if (books->reconcile_to_answer.count > 0)
		add_latency(out, NAMES("reconcile_to_answer"), &books->reconcile_to_answer);
	add_latency(out, NAMES("offer_to_launch"), &books->ready_to_launch);
	add_latency(out, NAMES("accept_to_running"), &books->accept_to_running);
	add_latency(out, NAMES("update_to_scheduler"), &books->update_to_scheduler);
	if (books->call_to_answer.count > 0)
		add_latency(out, NAMES("call_to_answer"), &books->call_to_answer);
	add_latency(out, NAMES("accept_to_done"), &books->accept_to_done);
}

static uint64_t bytes_of(const struct load *load)
{
	return load->after.sockets.sent + load->after.sockets.received - load->before.sockets.sent -
	       load->before.sockets.received;
}

/* Of the launching and draining alone. */
static uint64_t messages_of(const struct load *load)
{
	return load->after.messages - load->before.messages;
}

static void add_kernel(struct figures *out, const struct load *load)
{
	const struct process_figures *before = &load->before.master, *after = &load->after.master;
	double wall = (double)(load->after.time - load->before.time) / SECOND;
	double done = load->plan.hold ? load->books.running : load->books.done;

	add(out, "messages_per_task", "", per((double)messages_of(load), done));
	add(out, "bytes_per_task", "B", per((double)bytes_of(load), done));
	add(out, "load_cpu", "s",
	    load->after.own.user + load->after.own.system - load->before.own.user -
		    load->before.own.system);
	add(out, "load_rss_peak", "MB", (double)load->after.own.peak / 1e6);
	if (!before->known || !after->known)
		return;
	double cpu = after->user + after->system - before->user - before->system;
	add(out, "master_cpu_user", "s", after->user - before->user);
	add(out, "master_cpu_system", "s", after->system - before->system);
	add(out, "master_cpu_share", "of one", per(cpu, wall));
	add(out, "master_cpu_per_task", "us", per(cpu * 1e6, done));
	add(out, "master_waited_for_cpu", "s", after->waited - before->waited);
	add(out, "master_waited_longest", "ms in 100", load->longest_wait * 1e3);
	add(out, "master_blocked_by_disk", "s", after->blocked - before->blocked);
	add(out, "master_preempted", "times", (double)(after->preempted - before->preempted));
	add(out, "master_slept", "times", (double)(after->slept - before->slept));
	add(out, "master_rss", "MB", (double)after->rss / 1e6);
	add(out, "master_rss_peak", "MB", (double)after->peak / 1e6);
}

static void add_stages(struct figures *out, const struct load *load)
{
	const struct stages *stages = &load->stages;

	if (!load->before.master.known)
		return;
	add(out, "master_rss_idle", "MB", (double)stages->idle / 1e6);
	add(out, "master_rss_registered", "MB", (double)stages->registered / 1e6);
	add(out, "master_rss_subscribed", "MB", (double)stages->subscribed / 1e6);
	add(out, "master_rss_running", "MB", (double)stages->running / 1e6);
	add(out, "tasks_running_most", "", stages->most_running);
}

static void add_hold(struct figures *out, const struct load *load)
{
	const struct books *books = &load->books;
	double seconds = (double)(books->last_running - books->first_accept) / SECOND;

	if (!load->plan.hold && !load->plan.mix)
		return;
	add(out, "tasks_running", "", books->running);
	add(out, "running_seconds", "s", seconds);
	add(out, "running_per_second", "tasks/s", per(books->running, seconds));
}

static void add_probes(struct figures *out, const struct load *load)
{
	if (load->plan.probes == 0)
		return;
	add(out, "probes", "", (double)load->probes.waits.count);
	add_latency(out, NAMES("probe"), &load->probes.waits);
}

static void add_polling(struct figures *out, const struct load *load)
{
	const struct poll_figures *polls = pollers_polls(load->pollers);
	const struct poll_figures *stalls = pollers_stalls(load->pollers);

	if (polls) {
		double seconds = (double)polls->span / SECOND;

		add(out, "polls", "", (double)polls->count);
		add(out, "polls_failed", "", (double)polls->failed);
		add(out, "polls_per_second", "", per((double)polls->count, seconds));
		add(out, "poll_bytes", "MB", per((double)polls->bytes, (double)polls->count) / 1e6);
		add_latency(out, NAMES("poll"), &polls->times);
	}
	if (stalls) {
		add(out, "health_failed", "", (double)stalls->failed);
		add_latency(out, NAMES("health"), &stalls->times);
	}
}

static double between(int64_t from, int64_t to)
{
	return from > 0 && to > from ? (double)(to - from) / SECOND : 0;
}

/* From the start of the new master, where the kernel tells it. */
static void add_failover(struct figures *out, const struct load *load)
{
	const struct failover_figures *f = &load->failover_figures;

	if (f->all == 0)
		return;
	add(out, "failover_found", "s", between(f->broke, f->found));
	add(out, "failover_agents", "s", between(f->found, f->agents));
	add(out, "failover_frameworks", "s", between(f->found, f->frameworks));
	add(out, "failover", "s", between(f->broke, f->all));
	add(out, "failover_confirmed", "s", between(f->all, f->confirmed));
	add(out, "failover_tasks", "", load->books.confirmed);
	add(out, "failover_messages", "", (double)f->messages);
	add(out, "failover_bytes", "MB", (double)f->bytes / 1e6);
	if (f->echo > 0)
		add(out, "failover_loopback", "s", f->echo);
	if (!f->master.known)
		return;
	add(out, "failover_from_start", "s", f->master.age);
	add(out, "failover_start_to_found", "s",
	    f->master.age > between(f->found, f->all) ? f->master.age - between(f->found, f->all)
						      : 0);
	add(out, "failover_master_cpu", "s", f->master.user + f->master.system);
	add(out, "failover_master_waited", "s", f->master.waited);
	add(out, "failover_master_rss", "MB", (double)f->master.rss / 1e6);
	add(out, "failover_master_rss_peak", "MB", (double)f->peak / 1e6);
}

static void add_limit(struct figures *out, const struct load *load, const struct echo *echo)
{
	double seconds = run_seconds(&load->books);

	if (!echo)
		return;
	add(out, "loopback_messages", "", (double)echo->messages);
	add(out, "loopback_seconds", "s", echo->seconds);
	add(out, "loopback_tasks_per_second", "tasks/s", per(load->books.done, echo->seconds));
	add(out, "loopback_cpu_per_task", "us", per(echo->server_cpu * 1e6, load->books.done));
	add(out, "ratio_to_loopback", "", per(echo->seconds, seconds));
}

static void print_table(const struct figures *figures)
{
	for (size_t i = 0; i < figures->count; i++) {
		const struct figure *f = &figures->list[i];

		printf("%-28s %14.*f %s\n", f->name,
		       f->unit[0]	? 3
		       : f->value < 100 ? 2
					: 0,
		       f->value, f->unit);
	}
}

static void print_json(const struct figures *figures)
{
	struct buf out = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &out);
	jw_begin_object(&w);
	for (size_t i = 0; i < figures->count; i++)
		jw_kv_double(&w, figures->list[i].name, figures->list[i].value);
	jw_end_object(&w);
	puts(out.data);
	buf_free(&out);
}

void report_print(const struct load *load, const struct echo *echo)
{
	struct figures figures = {.count = 0};

	add_tasks(&figures, load);
	add_latencies(&figures, &load->books);
	add_probes(&figures, load);
	add_polling(&figures, load);
	add_kernel(&figures, load);
	add_stages(&figures, load);
	add_hold(&figures, load);
	add_failover(&figures, load);
	add_limit(&figures, load, echo);
	if (load->plan.json)
		print_json(&figures);
	else
		print_table(&figures);
}
