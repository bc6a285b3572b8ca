/* Machines and their maintenance windows: finding them, what agents on them meet, and
 * what operators see of them.
 *
 * A machine is known by hostname (case does not count) and ip, each of which may be
 * absent; that of an agent always has both. Only machines of the schedule are kept.
 */
#include "master/core/objects.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/agent_life.h"
#include "master/core/agents/agent_remove.h"
#include "master/core/agents/pid.h"
#include "master/core/emit.h"
#include "master/core/maintenance/maintenance.h"
#include "master/core/store/registry.h"

/* ---- finding --------------------------------------------------------------------- */

/* The ip was checked to be one, so the bar separates. */
char *machine_key(const char *hostname, const char *ip)
{
	char *key = xprintf("%s%s|%s%s", ip ? "+" : "-", ip ? ip : "", hostname ? "+" : "-",
			    hostname ? hostname : "");

	for (char *c = strchr(key, '|'); *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return key;
}

static struct machine *machines_find(struct machine *table, const char *hostname, const char *ip)
{
	struct machine *machine;
	char *key;

	if (!table)
		return NULL;
	key = machine_key(hostname, ip);
	HASH_FIND(hh, table, key, strlen(key), machine);
	free(key);
	return machine;
}

struct machine *master_find_machine(const struct master *m, const Mesos__MachineID *id)
{
	return machines_find(m->machines, id->hostname, id->ip);
}

struct machine *master_machine_at(const struct master *m, const char *pid, const char *hostname)
{
	char ip[64];

	if (!m->machines)
		return NULL;
	pid_ip(pid, ip, sizeof(ip));
	return machines_find(m->machines, hostname, ip);
}

struct machine *master_agent_machine(const struct master *m, const struct agent *a)
{
	return a->pid ? master_machine_at(m, a->pid, a->info->hostname) : NULL;
}

bool machine_down(const struct machine *machine)
{
	return machine && machine->info->mode == MESOS__MACHINE_INFO__MODE__DOWN;
}

/* ---- the table -------------------------------------------------------------------- */

void machines_free(struct machine **table)
{
	struct machine *machine, *next;

	HASH_ITER (hh, *table, machine, next) {
		HASH_DEL(*table, machine);
		proto_free(machine->info);
		free(machine->key);
		free(machine);
	}
}

static void add_machine(struct master *m, const Mesos__MachineInfo *info)
{
	struct machine *machine;

	if (master_find_machine(m, info->id))
		return;
	machine = xcalloc(1, sizeof(*machine));
	machine->key = machine_key(info->id->hostname, info->id->ip);
	machine->info = proto_copy(info);
	HASH_ADD_KEYPTR(hh, m->machines, machine->key, strlen(machine->key), machine);
}

void master_set_machines(struct master *m, const Mesita__StoredMaintenance *stored)
{
	machines_free(&m->machines);
	proto_free(m->schedule);
	m->schedule = proto_copy(stored->schedule);
	for (size_t i = 0; i < stored->n_machines; i++)
		add_machine(m, stored->machines[i]);
}

/* ---- agents on them -------------------------------------------------------------------- */

static void machines_shut_down(struct master *m, const char *pid, const char *why)
{
	Mesos__Internal__ShutdownMessage *message = STEP_NEW(
		m, Mesos__Internal__ShutdownMessage, mesos__internal__shutdown_message__descriptor);

	message->message = master_text(m, why);
	master_emit_message(m, "master", pid, message);
}

bool master_refuse_down(struct master *m, const char *pid, const Mesos__AgentInfo *info)
{
	if (!machine_down(master_machine_at(m, pid, info->hostname)))
		return false;
	log_warning("refused the agent at %s (%s): its machine is DOWN", pid, info->hostname);
	machines_shut_down(m, pid, "Machine is `DOWN`");
	return true;
}

void master_expel_agent(struct master *m, struct agent *a)
{
	static const char why[] = "Operator initiated 'Machine DOWN'";

	machines_shut_down(m, a->pid, why);
	if (agent_may_change(m, a->id, CHANGE_EXPEL))
		master_begin_remove_agent(m, a, why, CHANGE_EXPEL);
}

void master_place_agent(struct master *m, struct agent *a)
{
	struct machine *machine = master_agent_machine(m, a);

	if (!machine)
		return;
	allocator_set_unavailability(m->allocator, a->alloc, true);
	/* It went down while the agent was being written. */
	if (machine_down(machine))
		master_expel_agent(m, a);
}

/* ---- what operators see -------------------------------------------------------------------- */

Mesos__Maintenance__Schedule *master_maintenance_schedule(const struct master *m,
							  struct arena *arena)
{
	if (m->schedule)
		return m->schedule;
	return PROTO_NEW(arena, Mesos__Maintenance__Schedule,
			 mesos__maintenance__schedule__descriptor);
}

static void report_machine(Mesos__Maintenance__ClusterStatus *status, struct machine *machine,
			   struct arena *arena)
{
	machine->report = NULL;
	if (machine_down(machine)) {
		proto_push(arena, status->n_down_machines, status->down_machines,
			   machine->info->id);
		return;
	}
	machine->report =
		PROTO_NEW(arena, Mesos__Maintenance__ClusterStatus__DrainingMachine,
			  mesos__maintenance__cluster_status__draining_machine__descriptor);
	machine->report->id = machine->info->id;
	proto_push(arena, status->n_draining_machines, status->draining_machines, machine->report);
}

static Mesos__Allocator__InverseOfferStatus *answer_message(const struct inverse_answer *answer,
							    struct arena *arena)
{
	Mesos__Allocator__InverseOfferStatus *status =
		PROTO_NEW(arena, Mesos__Allocator__InverseOfferStatus,
			  mesos__allocator__inverse_offer_status__descriptor);

	status->status = answer->status;
	status->framework_id = answer->framework->info->id;
	status->timestamp = PROTO_NEW(arena, Mesos__TimeInfo, mesos__time_info__descriptor);
	status->timestamp->nanoseconds = answer->time;
	return status;
}

Mesos__Maintenance__ClusterStatus *master_maintenance_status(const struct master *m,
							     struct arena *arena)
{
	Mesos__Maintenance__ClusterStatus *status =
		PROTO_NEW(arena, Mesos__Maintenance__ClusterStatus,
			  mesos__maintenance__cluster_status__descriptor);
	struct inverse_answer *answer, *next;

	for (struct machine *machine = m->machines; machine; machine = machine->hh.next)
		report_machine(status, machine, arena);
	for (struct agent *a = m->agents; a && m->machines; a = a->hh.next) {
		struct machine *machine;

		if (list_empty(&a->inverse_answers))
			continue;
		machine = master_agent_machine(m, a);
		if (!machine || !machine->report)
			continue;
		list_for_each (answer, next, &a->inverse_answers, by_agent)
			proto_push(arena, machine->report->n_statuses, machine->report->statuses,
				   answer_message(answer, arena));
	}
	return status;
}
