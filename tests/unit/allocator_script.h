/* Scripts of events for the allocator: a line an event, e.g.
 *
 *	agent s1 cpus:4;mem:1024
 *	framework f2 roles=a,a/b suppressed=- can=revocable,shared minimum=default ...
 *	recover f2 a s1 pieces=3 percent=100 refuse=2.5
 *	tick 1500
 *
 * Every event means something or is ignored, whatever came before it, so that any
 * part of a script is a script too. */
#ifndef TESTS_UNIT_ALLOCATOR_SCRIPT_H
#define TESTS_UNIT_ALLOCATOR_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/buf.h"

#define SCRIPT_AGENTS 4
#define SCRIPT_FRAMEWORKS 4
#define SCRIPT_ROLES 7
#define SCRIPT_HOSTS 3
#define SCRIPT_EVENTS 512
#define EVENT_VALUES 7

enum event_kind {
	EVENT_OPTIONS, /* anything allowed, gpus filtered, excluded name, region, remembers */
	EVENT_AGENT,   /* agent, total */
	EVENT_REMOVE_AGENT,
	EVENT_ACTIVATE_AGENT, /* agent, on */
	EVENT_CAPABILITIES,   /* agent, those it has */
	EVENT_REGION,	      /* agent, region */
	EVENT_HOST,	      /* agent, hostname */
	EVENT_ATTRIBUTES,     /* agent: they changed */
	EVENT_FRAMEWORK,      /* framework, roles, suppressed, can, minimum, shunned, on */
	EVENT_REMOVE_FRAMEWORK,
	EVENT_ACTIVATE_FRAMEWORK, /* framework, on */
	EVENT_SUPPRESS,		  /* framework, roles (none = all) */
	EVENT_REVIVE,
	EVENT_RECOVER,	 /* framework, role, agent, pieces, percent, refuse */
	EVENT_RESERVE,	 /* framework, role, agent, name */
	EVENT_UNRESERVE, /* framework, role, agent, name */
	EVENT_CREATE,	 /* framework, role, agent, volume, shared */
	EVENT_DESTROY,	 /* framework, role, agent */
	EVENT_COPY,	 /* framework, role, agent: uses a shared volume once more */
	EVENT_RESTORE,	 /* framework, role, agent, use */
	EVENT_QUOTA,	 /* role, guarantees, limits */
	EVENT_WEIGHT,	 /* role, weight */
	EVENT_WHITELIST, /* on, hosts */
	EVENT_HOLD,	 /* agents, milliseconds; if nobody came before */
	EVENT_WINDOW,	 /* agent, on */
	EVENT_ANSWER,	 /* framework, agent, refuse: of an outstanding inverse offer */
	EVENT_CRASH,	 /* and what is remembered comes back */
	EVENT_CYCLE,	 /* milliseconds pass, then what events asked for */
	EVENT_TICK,	 /* milliseconds pass, then the batch */
	EVENT_KINDS
};

struct event {
	enum event_kind kind;
	unsigned value[EVENT_VALUES]; /* numbers, places in tables, or sets of such places */
};

struct script {
	struct event events[SCRIPT_EVENTS];
	size_t count;
};

/* What the places stand for. */
struct script_table {
	const char *const *texts;
	unsigned count;
};
extern const struct script_table script_agents, script_frameworks, script_roles, script_totals,
	script_regions, script_hosts, script_names, script_minima, script_refusals, script_uses,
	script_guarantees, script_limits, script_weights, script_volumes;
enum {
	CAN_GPUS = 1,
	CAN_REVOCABLE = 2,
	CAN_SHARED = 4,
	CAN_REFINEMENT = 8,
	CAN_MULTI_ROLE = 16,
	CAN_REGIONS = 32,
	CAN_ALL = 63
};

void script_add(struct script *script, const struct event *event);
void script_print(const struct script *script, struct buf *out);
/* Empty lines and those that begin with # are skipped. */
int script_parse(const char *text, struct script *out, struct err *err);

/* Leaves out of the script what `fails` does not need. */
void script_shrink(struct script *script, bool (*fails)(const struct script *script, void *context),
		   void *context);

#endif
