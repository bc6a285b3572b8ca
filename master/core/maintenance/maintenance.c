/* Maintenance schedules: operators plan windows, take machines down and up again.
 *
 * Schedule and machines are one record of the registry. A change is checked, the record
 * that it makes is written, and what follows (offers rescinded, agents removed) happens
 * once that is durable. Changes that come meanwhile wait: each is checked against the
 * one before.
 */
#include "master/core/maintenance/maintenance.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/agent_remove.h"
#include "master/core/agents/pid.h"
#include "master/core/emit.h"
#include "master/core/objects.h"
#include "master/core/offers/inverse_offers.h"
#include "master/core/operator.h"
#include "master/core/store/registry.h"

#define MODE(name) MESOS__MACHINE_INFO__MODE__##name

/* ---- validation ---------------------------------------------------------------------- */

/* Keys of machines that were named. */
struct named {
	char *key;
	UT_hash_handle hh;
};

static bool find_named(struct named *table, const char *key)
{
	struct named *found;

	HASH_FIND(hh, table, key, strlen(key), found);
	return found;
}

/* False if it is there already. */
static bool add_named(struct named **table, const Mesos__MachineID *id)
{
	char *key = machine_key(id->hostname, id->ip);
	struct named *named;

	if (find_named(*table, key)) {
		free(key);
		return false;
	}
	named = xcalloc(1, sizeof(*named));
	named->key = key;
	HASH_ADD_KEYPTR(hh, *table, named->key, strlen(named->key), named);
	return true;
}

static void free_named(struct named **table)
{
	struct named *named, *next;

	HASH_ITER (hh, *table, named, next) {
		HASH_DEL(*table, named);
		free(named->key);
		free(named);
	}
}

static int machine_error(const Mesos__MachineID *id, const char *what, struct err *err)
{
	struct buf json = BUF_INIT;

	proto_to_json(id, SPELL_V1, &json);
	err_set(err, ERR_INVALID, "Machine '%s' %s", json.data, what);
	buf_free(&json);
	return ERR_INVALID;
}

static int check_machine(const Mesos__MachineID *id, struct named **named, struct err *err)
{
	bool has_ip = id->ip && *id->ip;
	struct in_addr ip;

	if (!(id->hostname && *id->hostname) && !has_ip)
		return err_set(err, ERR_INVALID,
			       "Both 'hostname' and 'ip' for a machine are empty");
	if (has_ip && inet_pton(AF_INET, id->ip, &ip) != 1)
		return err_set(err, ERR_INVALID, "Failed to parse IPv4: %s", id->ip);
	if (!add_named(named, id))
		return machine_error(id, "appears more than once in the schedule", err);
	return 0;
}

static int check_machines(Mesos__MachineID *const *ids, size_t count, struct named **named,
			  struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		int rv = check_machine(ids[i], named, err);

		if (rv < 0)
			return rv;
	}
	return 0;
}

static int check_windows(const Mesos__Maintenance__Schedule *schedule, struct named **named,
			 struct err *err)
{
	for (size_t i = 0; i < schedule->n_windows; i++) {
		const Mesos__Maintenance__Window *window = schedule->windows[i];
		const Mesos__DurationInfo *duration = window->unavailability->duration;
		int rv;

		if (!window->n_machine_ids)
			return err_set(err, ERR_INVALID,
				       "List of machines in the maintenance window is empty");
		if (duration && duration->nanoseconds < 0)
			return err_set(err, ERR_INVALID, "Unavailability 'duration' is negative");
		rv = check_machines(window->machine_ids, window->n_machine_ids, named, err);
		if (rv < 0)
			return rv;
	}
	return 0;
}

static int check_schedule(const struct master *m, const Mesos__Maintenance__Schedule *schedule,
			  struct err *err)
{
	struct named *named = NULL;
	int rv = check_windows(schedule, &named, err);

	for (struct machine *machine = m->machines; machine && !rv; machine = machine->hh.next) {
		if (machine_down(machine) && !find_named(named, machine->key))
			rv = machine_error(machine->info->id,
					   "is deactivated and cannot be removed from the "
					   "schedule",
					   err);
	}
	free_named(&named);
	return rv;
}

/* A machine that is UP is known while an agent is on it. */
static bool has_agent(const struct master *m, const Mesos__MachineID *id)
{
	char *key = machine_key(id->hostname, id->ip);
	bool found = false;

	for (struct agent *a = m->agents; a && !found; a = a->hh.next) {
		char ip[64], *own;

		if (!agent_registered(a))
			continue;
		pid_ip(a->pid, ip, sizeof(ip));
		own = machine_key(a->info->hostname, ip);
		found = !strcmp(own, key);
		free(own);
	}
	free(key);
	return found;
}

/* Whether each is in the mode that the change starts from. */
static int check_modes(const struct master *m, Mesos__MachineID *const *ids, size_t count,
		       Mesos__MachineInfo__Mode mode, const char *otherwise, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct machine *machine = master_find_machine(m, ids[i]);

		if (!machine && !has_agent(m, ids[i]))
			return machine_error(ids[i], "is not part of a maintenance schedule", err);
		if (!machine || machine->info->mode != mode)
			return machine_error(ids[i], otherwise, err);
	}
	return 0;
}

static int check_list(const struct master *m, Mesos__MachineID *const *ids, size_t count,
		      Mesos__MachineInfo__Mode mode, const char *otherwise, struct named **named,
		      struct err *err)
{
	int rv;

	if (!count)
		return err_set(err, ERR_INVALID, "List of machines is empty");
	rv = check_machines(ids, count, named, err);
	return rv < 0 ? rv : check_modes(m, ids, count, mode, otherwise, err);
}

/* ---- changing -------------------------------------------------------------------------- */

static bool same_window(const struct machine *a, const struct machine *b)
{
	if (!a || !b)
		return a == b;
	return proto_equal(a->info->unavailability, b->info->unavailability);
}

/* Frameworks hear of the new window by new offers. */
static void window_changed(struct master *m, struct agent *a, const struct machine *machine)
{
	master_rescind_of_agent(m, a);
	master_drop_answers_of_agent(a);
	allocator_set_unavailability(m->allocator, a->alloc, machine != NULL);
}

static void follow_agent(struct master *m, struct agent *a, struct machine *was, bool posted)
{
	struct machine *is = master_agent_machine(m, a);

	if (machine_down(is) && !machine_down(was))
		master_expel_agent(m, a);
	else if ((was || is) && (posted || !same_window(was, is)))
		window_changed(m, a, is);
}

static void maintenance_stored(struct master *m, struct pending *p)
{
	struct machine *before = m->machines;
	struct agent *a, *next;

	m->maintenance_writing = false;
	master_deferral_ended(m, DEFER_MAINTENANCE, NULL);
	m->machines = NULL;
	master_set_machines(m, p->message);
	HASH_ITER (hh, m->agents, a, next) {
		struct machine *was = NULL;
		char ip[64], *key;

		if (!agent_registered(a))
			continue;
		pid_ip(a->pid, ip, sizeof(ip));
		key = machine_key(a->info->hostname, ip);
		HASH_FIND(hh, before, key, strlen(key), was);
		free(key);
		follow_agent(m, a, was, p->flag);
	}
	machines_free(&before);
	log_info("maintenance: %u machines are in the schedule", HASH_COUNT(m->machines));
	master_answer(m, p->request, 200, "%s", "");
}

/* `posted`: agents hear of their windows though they are the same. */
static void write_maintenance(struct master *m, const Mesita__StoredMaintenance *next,
			      const struct operator_request *request, bool posted)
{
	struct registry_batch batch = {0};
	struct pending *p;

	registry_put(m, &batch, "maintenance/schedule", next);
	p = registry_write(m, &batch, maintenance_stored);
	p->message = proto_copy(next);
	p->request = request->number;
	p->flag = posted;
	m->maintenance_writing = true;
	master_reply(m, 0, "%s", "");
}

static Mesita__StoredMaintenance *begin_record(struct master *m)
{
	return STEP_NEW(m, Mesita__StoredMaintenance, mesita__stored_maintenance__descriptor);
}

static void push_machine(struct master *m, Mesita__StoredMaintenance *record,
			 const Mesos__MachineID *id, Mesos__MachineInfo__Mode mode,
			 const Mesos__Unavailability *window)
{
	Mesos__MachineInfo *info = STEP_NEW(m, Mesos__MachineInfo, mesos__machine_info__descriptor);

	info->id = (Mesos__MachineID *)id;
	info->has_mode = true;
	info->mode = mode;
	info->unavailability = (Mesos__Unavailability *)window;
	proto_push(&m->out->arena, record->n_machines, record->machines, info);
}

void master_update_schedule(struct master *m, const struct operator_request *request)
{
	Mesos__Maintenance__Schedule *schedule =
		request->call->update_maintenance_schedule->schedule;
	Mesita__StoredMaintenance *next = begin_record(m);
	struct err err = {{0}};

	if (m->maintenance_writing) {
		master_defer(m, request, DEFER_MAINTENANCE, NULL);
		return;
	}
	if (check_schedule(m, schedule, &err) < 0) {
		master_reply(m, 400, "%s", err.text);
		return;
	}
	if (schedule->n_windows)
		next->schedule = schedule;
	for (size_t i = 0; i < schedule->n_windows; i++) {
		const Mesos__Maintenance__Window *window = schedule->windows[i];

		for (size_t k = 0; k < window->n_machine_ids; k++) {
			const struct machine *machine =
				master_find_machine(m, window->machine_ids[k]);

			push_machine(m, next, window->machine_ids[k],
				     machine_down(machine) ? MODE(DOWN) : MODE(DRAINING),
				     window->unavailability);
		}
	}
	write_maintenance(m, next, request, true);
}

void master_start_maintenance(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__StartMaintenance *call = request->call->start_maintenance;
	Mesita__StoredMaintenance *next = begin_record(m);
	struct named *named = NULL;
	struct err err = {{0}};

	if (m->maintenance_writing) {
		master_defer(m, request, DEFER_MAINTENANCE, NULL);
		return;
	}
	if (check_list(m, call->machines, call->n_machines, MODE(DRAINING),
		       "is not in DRAINING mode and cannot be brought down", &named, &err) < 0) {
		free_named(&named);
		master_reply(m, 400, "%s", err.text);
		return;
	}
	next->schedule = m->schedule;
	for (struct machine *machine = m->machines; machine; machine = machine->hh.next)
		push_machine(m, next, machine->info->id,
			     find_named(named, machine->key) ? MODE(DOWN) : machine->info->mode,
			     machine->info->unavailability);
	free_named(&named);
	write_maintenance(m, next, request, false);
}

/* The schedule without the machines; NULL if nothing is left. */
static Mesos__Maintenance__Schedule *schedule_without(struct master *m, struct named *named)
{
	Mesos__Maintenance__Schedule *schedule = STEP_COPY(m, m->schedule);
	size_t windows = 0;

	for (size_t i = 0; schedule && i < schedule->n_windows; i++) {
		Mesos__Maintenance__Window *window = schedule->windows[i];
		size_t kept = 0;

		for (size_t k = 0; k < window->n_machine_ids; k++) {
			Mesos__MachineID *id = window->machine_ids[k];
			char *key = machine_key(id->hostname, id->ip);

			if (!find_named(named, key))
				window->machine_ids[kept++] = id;
			free(key);
		}
		window->n_machine_ids = kept;
		if (kept)
			schedule->windows[windows++] = window;
	}
	if (schedule)
		schedule->n_windows = windows;
	return windows ? schedule : NULL;
}

void master_stop_maintenance(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__StopMaintenance *call = request->call->stop_maintenance;
	Mesita__StoredMaintenance *next = begin_record(m);
	struct named *named = NULL;
	struct err err = {{0}};

	if (m->maintenance_writing) {
		master_defer(m, request, DEFER_MAINTENANCE, NULL);
		return;
	}
	if (check_list(m, call->machines, call->n_machines, MODE(DOWN),
		       "is not in DOWN mode and cannot be brought up", &named, &err) < 0) {
		free_named(&named);
		master_reply(m, 400, "%s", err.text);
		return;
	}
	next->schedule = schedule_without(m, named);
	for (struct machine *machine = m->machines; machine; machine = machine->hh.next) {
		if (!find_named(named, machine->key))
			push_machine(m, next, machine->info->id, machine->info->mode,
				     machine->info->unavailability);
	}
	free_named(&named);
	write_maintenance(m, next, request, false);
}
