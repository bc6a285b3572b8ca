/* What really runs: executors' processes and the tasks that were handed to them. What an agent
 * cannot know of any more, and what is being shut down with its framework, is not counted. */
#include "lab/books/books_hosts.h"

#include <stdlib.h>
#include <string.h>

#include "lab/books/books_agents.h"
#include "lab/books/books_debts.h"
#include "lab/books/books_disks.h"
#include "lab/books/books_internal.h"
#include "lab/books/books_streams.h"
#include "lab/books/books_tally.h"
#include "lab/books/books_tasks.h"
#include "lab/books/records.h"

/* A container takes no longer to start. */
#define START_HIGH (300 * MILLISECOND)

struct running {
	struct list link;
	struct task *task;
	struct tally amounts;
};

struct life {
	UT_hash_handle hh;
	const struct process *process;
	struct list link;
	struct host *host;
	struct fw *fw;
	char *executor_id;
	bool counted, checkpoint;
	uint64_t agent;	      /* the life that started it */
	struct tally amounts; /* the executor's own */
	struct list tasks;    /* struct running.link */
};

struct host *books_host(struct books *b, const char *address)
{
	struct host *host;

	HASH_FIND_STR(b->hosts, address, host);
	if (host)
		return host;
	host = xcalloc(1, sizeof(*host));
	host->address = xstrdup(address);
	list_init(&host->lives);
	list_init(&host->waiting);
	HASH_ADD_KEYPTR(hh, b->hosts, host->address, strlen(host->address), host);
	return host;
}

static struct life *life_of(const struct books *b, const struct process *p)
{
	struct life *life;

	HASH_FIND_PTR(b->lives, &p, life);
	return life;
}

static void put_names(struct books *b, struct tally *a, Mesos__Resource *const *list, size_t count)
{
	struct tally kinds = {0};

	tally_put_messages(b, &kinds, list, count, AS_IS);
	for (uint32_t i = 0; i < kinds.count; i++)
		tally_put(a, b->kinds[kinds.items[i].kind]->name, kinds.items[i].milli);
	tally_free(&kinds);
}

void books_note_capacity(struct books *b, const char *address, const Mesos__AgentInfo *info)
{
	struct host *host = books_host(b, address);

	tally_clear(&host->capacity);
	put_names(b, &host->capacity, info->resources, info->n_resources);
}

/* ---- what is counted -------------------------------------------------------------- */

/* A bad scheduler launched a task on two agents, of which the master counts one. */
static bool has_copies(const struct host *host)
{
	struct life *life, *next_life;
	struct running *r, *next;

	list_for_each (life, next_life, &host->lives, link) {
		list_for_each (r, next, &life->tasks, link) {
			if (r->task->launches > 1)
				return true;
		}
	}
	return false;
}

static void check_busy(struct books *b, const struct host *host, const char *what)
{
	uint32_t which;

	if (!tally_within(b, &host->busy, &host->capacity, &which) && !has_copies(host))
		world_fail(b->world, "hosts: with %s, %g of '%s' are used at %s, which has %g",
			   what, (double)tally_of(&host->busy, which) / 1000, kind_key(b, which),
			   host->address, (double)tally_of(&host->capacity, which) / 1000);
}

static void discount(struct life *life)
{
	struct running *r, *next;

	if (!life->counted)
		return;
	life->counted = false;
	tally_take_all(&life->host->busy, &life->amounts);
	list_for_each (r, next, &life->tasks, link)
		tally_take_all(&life->host->busy, &r->amounts);
}

static void running_free(struct life *life, struct running *r)
{
	if (life->counted)
		tally_take_all(&life->host->busy, &r->amounts);
	list_remove(&r->link);
	tally_free(&r->amounts);
	free(r);
}

static void life_free(struct books *b, struct life *life)
{
	while (!list_empty(&life->tasks))
		running_free(life, list_first(&life->tasks, struct running, link));
	discount(life);
	HASH_DEL(b->lives, life);
	list_remove(&life->link);
	tally_free(&life->amounts);
	free(life->executor_id);
	free(life);
}

static void check_single(struct books *b, const struct life *life)
{
	struct life *other, *next;

	list_for_each (other, next, &life->host->lives, link) {
		if (other != life && other->counted && other->fw == life->fw &&
		    !strcmp(other->executor_id, life->executor_id))
			world_fail(b->world, "hosts: executor %s of framework %s runs twice at %s",
				   life->executor_id, life->fw->id, life->host->address);
	}
}

/* Without checkpoints a container that was on its way when its agent died has none. */
static bool has_its_agent(const struct books *b, const struct host *host)
{
	return host->agent_since && b->world->now - host->agent_since > START_HIGH;
}

void books_agent_life_began(struct books *b, const struct process *p)
{
	struct host *host = books_host(b, p->address);

	if (!host->name)
		host->name = xstrdup(p->name);
	host->agent_since = b->world->now;
	host->life = ++b->lives_of_agents;
	host->leaving = false;
}

void books_agent_leaves(struct books *b, const char *address)
{
	books_host(b, address)->leaving = true;
}

bool books_is_leaving(struct books *b, const struct process *agent)
{
	return books_host(b, agent->address)->leaving;
}

/* Its agent knows of it, and must say so. */
static void life_over(struct books *b, struct life *life)
{
	struct view *v = books_view_at(b, life->host->address);
	struct running *r, *next;

	if (!life->counted || !life->host->agent_since ||
	    (!life->checkpoint && life->agent != life->host->life))
		return;
	list_for_each (r, next, &life->tasks, link)
		books_owe_end(b, life->host, r->task);
	if (v && books_claim(b, v, life->fw->id, life->executor_id))
		books_owe_exit(b, life->host, life->fw, life->executor_id);
}

void books_executor_life(struct books *b, const struct executor_life *e, bool up)
{
	struct life *life = life_of(b, e->process);
	struct claim *c;
	struct view *v;

	if (!up) {
		if (life) {
			life_over(b, life);
			life_free(b, life);
		}
		return;
	}
	life = xcalloc(1, sizeof(*life));
	life->process = e->process;
	life->host = books_host(b, e->agent);
	life->fw = books_fw(b, e->framework_id);
	life->executor_id = xstrdup(e->executor_id);
	life->checkpoint = e->checkpoint;
	life->agent = life->host->life;
	life->counted = !life->fw->torn && (e->checkpoint || has_its_agent(b, life->host));
	list_init(&life->tasks);
	v = books_view_at(b, e->agent);
	c = v ? books_claim(b, v, e->framework_id, e->executor_id) : NULL;
	for (uint32_t i = 0; c && i < c->amounts.count; i++)
		tally_put(&life->amounts, b->kinds[c->amounts.items[i].kind]->name,
			  c->amounts.items[i].milli);
	if (life->counted)
		tally_put_all(&life->host->busy, &life->amounts);
	HASH_ADD_PTR(b->lives, process, life);
	list_append(&life->host->lives, &life->link);
	if (life->counted)
		check_single(b, life);
	check_busy(b, life->host, e->executor_id);
}

void books_launch_sent(struct books *b, const struct process *from, const struct conn *conn,
		       const Mesos__TaskInfo *info)
{
	const struct life *life = life_of(b, conn_other(conn, from));

	if (life && life->checkpoint &&
	    !books_stored(b, from->name, AFTER_KILL, "task/%s/%s/%s", life->fw->id,
			  life->executor_id, info->task_id->value))
		world_fail(b->world,
			   "durable: %s hands task %s to its executor, and would not know of it "
			   "when it is killed",
			   from->name, info->task_id->value);
}

void books_launch_delivered(struct books *b, const struct process *to, const Mesos__TaskInfo *info)
{
	struct life *life = life_of(b, to);
	struct task *t = life ? books_task(b, life->fw->id, info->task_id->value, false) : NULL;
	struct running *r;

	if (!t || !t->launches) {
		world_fail(b->world, "routes: task %s is handed to %s and was not launched",
			   info->task_id->value, to->name);
		return;
	}
	if (++t->starts > 1) {
		world_fail(b->world, "hosts: task %s is started a second time", t->key);
		return;
	}
	r = xcalloc(1, sizeof(*r));
	r->task = t;
	put_names(b, &r->amounts, info->resources, info->n_resources);
	list_append(&life->tasks, &r->link);
	if (!life->counted)
		return;
	tally_put_all(&life->host->busy, &r->amounts);
	check_busy(b, life->host, t->key);
}

void books_group_delivered(struct books *b, const struct process *to,
			   const Mesos__TaskGroupInfo *group)
{
	const struct life *life = life_of(b, to);

	for (size_t i = 0; i < group->n_tasks; i++) {
		const char *id = group->tasks[i]->task_id->value;
		const struct task *t = life ? books_task(b, life->fw->id, id, false) : NULL;

		if (t && t->group != group->n_tasks)
			world_fail(b->world,
				   "routes: task %s is handed to %s in a group of %zu, and was "
				   "launched in one of %zu",
				   id, to->name, group->n_tasks, t->group);
		books_launch_delivered(b, to, group->tasks[i]);
	}
}

void books_executor_said(struct books *b, const struct process *from, struct task *t,
			 Mesos__TaskState state)
{
	struct life *life = life_of(b, from);
	struct running *r, *next;

	if (!life || !books_terminal(state))
		return;
	list_for_each (r, next, &life->tasks, link) {
		if (r->task == t)
			running_free(life, r);
	}
}

void books_host_crashed(struct books *b, const char *name)
{
	struct host *host, *next;

	HASH_ITER (hh, b->hosts, host, next) {
		if (host->name && !strcmp(host->name, name))
			host->crashes++;
	}
}

/* ---- what is not counted any more ---------------------------------------------------- */

/* Executors of frameworks that do not checkpoint end by themselves. */
void books_agent_life_ended(struct books *b, const struct process *p)
{
	struct host *host = books_host(b, p->address);
	struct life *life, *next;

	host->agent_since = 0;
	books_streams_ended(b, host);
	list_for_each (life, next, &host->lives, link) {
		if (!life->fw->checkpoint)
			discount(life);
	}
}

void books_fw_torn(struct books *b, const struct fw *fw)
{
	struct life *life, *next;

	HASH_ITER (hh, b->lives, life, next) {
		if (life->fw == fw)
			discount(life);
	}
}

void books_free_hosts(struct books *b)
{
	struct life *life, *next_life;
	struct host *host, *next;

	HASH_ITER (hh, b->lives, life, next_life)
		life_free(b, life);
	HASH_ITER (hh, b->hosts, host, next) {
		HASH_DEL(b->hosts, host);
		tally_free(&host->capacity);
		tally_free(&host->busy);
		free(host->address);
		free(host->name);
		free(host);
	}
}
