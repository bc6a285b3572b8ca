/* The master's command line: Mesos' flags. */
#ifndef MASTER_FLAGS_H
#define MASTER_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "auth/acls.h"
#include "auth/credentials.h"
#include "base/err.h"
#include "base/flags/flags.h"
#include "base/zk/zk_url.h"

#define MASTER_REALM_READONLY "mesos-master-readonly"
#define MASTER_REALM_READWRITE "mesos-master-readwrite"
#define MASTER_REALM_FRAMEWORKS "mesos-master-scheduler"

enum registry_kind { REGISTRY_LEVELDB, REGISTRY_MEMORY, REGISTRY_ZOOKEEPER };

struct master_flags {
	struct flags parsed; /* for /flags; strings below live in it */
	const char *ip;
	int64_t port;
	const char *advertise_ip;
	int64_t advertise_port;
	const char *hostname;
	bool hostname_lookup;
	const char *port_file; /* mesita's own: tells test rigs the port of --port=0 */
	const char *work_dir;
	bool repair_store;
	bool check_origin;
	char *webui_dir;
	const char *registry;
	const char *cluster;
	const char *credentials;
	struct credentials *known; /* what that file holds, or NULL */
	struct acls *allowed;	   /* what --acls says, or NULL */
	const char *authenticators;
	const char *authorizers;
	const char *external_log_file;
	const char *log_format;
	const char *log_dir;
	const char *http_authenticators;
	const char *http_framework_authenticators;
	bool registry_strict;
	bool help;
	bool version;
	const char *logging_level;
	bool quiet;
	int64_t authentication_v0_timeout;
	int64_t agent_ping_timeout;
	int64_t max_agent_ping_timeouts;
	int64_t agent_reregister_timeout;
	const char *agent_removal_rate_limit;
	int64_t offer_timeout; /* 0 = never */
	int64_t allocation_interval;
	double allocator_agent_recovery_factor;
	int64_t allocator_recovery_timeout;
	const char *min_allocatable_resources;
	const char *fair_sharing_excluded_resource_names;
	const char *roles;
	bool filter_gpu_resources;
	bool root_submissions;
	bool require_agent_domain;
	bool publish_per_framework_metrics;
	int64_t max_operator_event_stream_subscribers;
	int64_t max_completed_frameworks;
	int64_t max_completed_tasks_per_framework;
	int64_t max_unreachable_tasks_per_framework;
	int64_t registry_gc_interval;
	int64_t registry_max_agent_age;
	int64_t registry_max_agent_count;
	const char *domain;
	const char *recovery_agent_removal_limit;
	const char *role_sorter;
	const char *framework_sorter;
	const char *allocator;
	/* What would change who may do what is refused rather than ignored. */
	const char *zk;	     /* or where it is said */
	struct zk_url group; /* what it says; empty without */
	int64_t zk_session_timeout;
	int64_t registry_store_timeout;
	enum registry_kind registry_kind; /* what `registry` says */
	bool authenticate_frameworks;
	bool authenticate_agents;
	bool authenticate_http_readonly;
	bool authenticate_http_readwrite;
	bool authenticate_http_frameworks;
	const char *acls;
	const char *firewall_rules;
	const char *rate_limits;
	struct json *rates;	     /* what that says, or NULL; in `arena` */
	const char *const *disabled; /* paths of --firewall_rules, or NULL */
	struct arena arena;
	const char *whitelist;
	const char *weights;
	double agent_removals_per_second; /* from agent_removal_rate_limit; 0 = unlimited */
};

/* Parses and checks. Warnings are logged. ERR_INVALID with a text that names the
 * flag to change. With --help, prints the help and returns 1. */
int master_flags_parse(struct master_flags *flags, int argc, char **argv, struct err *err);
/* The part of it that looks at values once they are all there. */
int master_flags_check(struct master_flags *flags, struct err *err);
void master_flags_free(struct master_flags *flags);

#endif
