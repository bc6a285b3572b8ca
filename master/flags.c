/* The master's flags as a table; flags_check.c has the checks that go beyond a type. */
#include "master/flags.h"

#include <stdlib.h>
#include <string.h>

#include "base/flags/daemon_flags.h"

extern char **environ;

#define FLAG_OWNER master_flags
#include "base/flags/flag_rows.h"

static const struct flag flag_table[] = {
	TEXT(ip, NULL, "IP address to listen on (default: all interfaces)."),
	INTEGER(port, "5050", "Port to listen on; 0 takes any free one."),
	TEXT(advertise_ip, NULL, "IP address told to agents and schedulers, if not --ip."),
	INTEGER(advertise_port, NULL, "Port told to agents and schedulers, if not --port."),
	TEXT(hostname, NULL, "Host name told to clients (default: looked up from the IP)."),
	BOOLEAN(hostname_lookup, "true", "Look the host name up; otherwise the IP is used."),
	FILE_PATH(port_file, NULL,
		  "File that receives the port once the master listens (for --port=0)."),
	BOOLEAN(check_origin, "false",
		"Refuse requests that pages of other sites make browsers send: those with an "
		"Origin "
		"that is not the Host, or with a Host that is no IP address, localhost or "
		"--hostname."),
	FILE_PATH(webui_dir, NULL,
		  "Directory of another web page than the one that is built in, such as that of "
		  "Mesos: index.html, and below app, assets and static what it asks for."),
	BOOLEAN(repair_store, "false", "Go on with what can be read of a damaged registry."),
	FILE_PATH(work_dir, NULL,
		  "Directory of the registry. Needed unless that is in memory or in ZooKeeper."),
	TEXT(registry, "replicated_log",
	     "Where the registry is kept: leveldb (in work_dir), zookeeper (for all masters of "
	     "--zk) "
	     "or in_memory; replicated_log is zookeeper with --zk and leveldb without."),
	TIME(registry_store_timeout, "20secs",
	     "How long ZooKeeper may take for a write of the registry."),
	TEXT(cluster, NULL, "Name of the cluster, for people."),
	TEXT(logging_level, "INFO", "Least level of log lines: INFO, WARNING or ERROR."),
	TEXT(log_format, "text", "How log lines are written: text or json."),
	FILE_PATH(log_dir, NULL,
		  "Directory of the log, mesos-master.INFO, in place of standard error; SIGHUP "
		  "opens it "
		  "anew."),
	BOOLEAN(quiet, "false", "Log nothing to standard error but errors."),
	{"agent_ping_timeout", "slave_ping_timeout", FLAG_DURATION, AT(agent_ping_timeout),
	 "15secs", "How long to wait for the answer to a ping of an agent.", NULL, NULL},
	{"max_agent_ping_timeouts", "max_slave_ping_timeouts", FLAG_INT,
	 AT(max_agent_ping_timeouts), "5", "Pings in a row without answer that make an agent lost.",
	 NULL, NULL},
	{"agent_reregister_timeout", "slave_reregister_timeout", FLAG_DURATION,
	 AT(agent_reregister_timeout), "10mins",
	 "How long a disconnected agent has to come back; at least 10mins.", NULL, NULL},
	{"agent_removal_rate_limit", "slave_removal_rate_limit", FLAG_STRING,
	 AT(agent_removal_rate_limit), NULL, "Greatest rate of agent removals, as 1/10mins.", NULL,
	 NULL},
	TIME(offer_timeout, NULL, "How long an offer stays valid (default: for ever)."),
	TIME(allocation_interval, "1secs", "Time between two allocations of the whole cluster."),
	NUMBER(allocator_agent_recovery_factor, "0.8",
	       "After a restart with quotas, offers wait for this share of the agents."),
	TIME(allocator_recovery_timeout, "10mins",
	     "After a restart with quotas, offers wait no longer."),
	TEXT(min_allocatable_resources, "cpus:0.01|mem:32",
	     "What an offer must hold at least: one of the sets between the bars."),
	TEXT(fair_sharing_excluded_resource_names, NULL,
	     "Resources that do not count towards the dominant share, comma-separated."),
	TEXT(roles, NULL, "Roles that frameworks may use, comma-separated (default: any)."),
	BOOLEAN(filter_gpu_resources, "true",
		"Offer agents with gpus only to frameworks with GPU_RESOURCES."),
	BOOLEAN(root_submissions, "true", "May root run frameworks?"),
	INTEGER(max_completed_frameworks, "50", "Completed frameworks to remember."),
	INTEGER(max_completed_tasks_per_framework, "1000", "Completed tasks to remember."),
	INTEGER(max_unreachable_tasks_per_framework, "1000", "Unreachable tasks to remember."),
	TIME(registry_gc_interval, "15mins", "How often lost agents are pruned from the registry."),
	TIME(registry_max_agent_age, "2weeks", "How long lost agents stay in the registry."),
	INTEGER(registry_max_agent_count, "102400", "How many lost agents stay in the registry."),
	TEXT(domain, NULL, "Fault domain of the master, as JSON."),
	{"recovery_agent_removal_limit", "recovery_slave_removal_limit", FLAG_STRING,
	 AT(recovery_agent_removal_limit), "100%",
	 "Share of the agents that may be lost after a restart.", NULL, NULL},
	{"role_sorter", "user_sorter", FLAG_STRING, AT(role_sorter), "drf",
	 "Order of the roles: drf or random.", NULL, NULL},
	TEXT(framework_sorter, "drf", "Order of a role's frameworks; must equal role_sorter."),
	TEXT(allocator, "hierarchical", "Allocator: hierarchical."),
	TEXT(zk, NULL,
	     "Where several masters elect the one that leads: zk://host:port,host:port/path, with "
	     "user:password@ before the hosts if need be, or file:///path of a file of it."),
	TIME(zk_session_timeout, "10secs", "How long ZooKeeper may be out of reach."),
	{"authenticate_frameworks", "authenticate", FLAG_BOOL, AT(authenticate_frameworks), "false",
	 "Only drivers (v0) that authenticate by --credentials may register.", NULL, NULL},
	{"authenticate_agents", "authenticate_slaves", FLAG_BOOL, AT(authenticate_agents), "false",
	 "Only agents that authenticate by --credentials may register.", NULL, NULL},
	BOOLEAN(authenticate_http_readonly, "false", "Reading over HTTP needs --credentials."),
	{"authenticate_http_readwrite", "authenticate_http", FLAG_BOOL,
	 AT(authenticate_http_readwrite), "false",
	 "Changing over HTTP, and the operator API, need --credentials.", NULL, NULL},
	BOOLEAN(authenticate_http_frameworks, "false", "HTTP frameworks need --credentials."),
	TEXT(acls, NULL,
	     "Access control lists: who may do what. JSON, or the path of a file of it."),
	TEXT(firewall_rules, NULL,
	     "Endpoints that are not served: "
	     "{\"disabled_endpoints\":{\"paths\":[\"/files/browse\"]}}, "
	     "or a file of it."),
	TEXT(rate_limits, NULL,
	     "Messages of drivers in a second by principal: "
	     "{\"limits\":[{\"principal\":\"p\",\"qps\":10,\"capacity\":100}],"
	     "\"aggregate_default_qps\":5,\"aggregate_default_capacity\":50}, or a file of it."),
	FILE_PATH(whitelist, NULL,
		  "File with a host name a line: only agents there are offered. Read every 5secs."),
	TEXT(weights, NULL,
	     "Weights of roles, role=weight,...; ignored if weights were set before."),
	FILE_PATH(
		credentials, NULL,
		"File of the principals and secrets of clients, drivers and agents: lines of both, "
		"or JSON."),
	TEXT(authenticators, "crammd5", "How drivers and agents authenticate: crammd5."),
	TIME(authentication_v0_timeout, "15secs",
	     "How long a driver or an agent may take for that."),
	TEXT(authorizers, "local", "Authorizer: local."),
	TEXT(http_authenticators, "basic", "How HTTP clients authenticate: basic."),
	TEXT(http_framework_authenticators, NULL, "How HTTP frameworks authenticate: basic."),
	FILE_PATH(external_log_file, NULL, "File that holds the log, served as /master/log."),
	INTEGER(max_operator_event_stream_subscribers, "1000",
		"Who may watch by SUBSCRIBE of the operator API; one more ends the oldest."),
	BOOLEAN(require_agent_domain, "false", "Only agents with a domain may register."),
	BOOLEAN(publish_per_framework_metrics, "true", "Have metrics for each framework."),
	BOOLEAN(registry_strict, "false", "Must be false."),
	BOOLEAN(help, "false", "Print this and exit."),
	BOOLEAN(version, "false", "Print the version and exit."),
	INERT(quorum, FLAG_INT, NULL),
	INERT(registry_fetch_timeout, FLAG_DURATION, "1mins"),
	INERT(log_auto_initialize, FLAG_BOOL, "true"),
	{"max_executors_per_agent", "max_executors_per_slave", FLAG_INT, FLAG_INERT, NULL, NULL,
	 NULL, NULL},
	UNUSED(modules),
	UNUSED(modules_dir),
	UNUSED(hooks),
	UNUSED(master_contender),
	UNUSED(master_detector),
	INERT(memory_profiling, FLAG_BOOL, "false"),
	UNUSED(ip_discovery_command),
	INERT(offer_constraints_re2_max_mem, FLAG_BYTES, "4KB"),
	INERT(offer_constraints_re2_max_program_size, FLAG_INT, "100"),
	INERT(logbufsecs, FLAG_INT, "0"),
	INERT(initialize_driver_logging, FLAG_BOOL, "true"),
	FLAG_TABLE_END,
};

int master_flags_parse(struct master_flags *flags, int argc, char **argv, struct err *err)
{
	int rv;

	memset(flags, 0, sizeof(*flags));
	arena_init(&flags->arena);
	flags->parsed.table = xmemdup(flag_table, sizeof(flag_table));
	flags->parsed.target = flags;
	flags->parsed.usage =
		"Usage: mesita master [--work_dir=DIR] [--ip=IP] [--port=PORT] [flags]";
	rv = daemon_flags_parse(&flags->parsed, argc, argv, environ, &flags->version, err);
	return rv == 0 ? master_flags_check(flags, err) : rv;
}

void master_flags_free(struct master_flags *flags)
{
	credentials_free(flags->known);
	zk_url_free(&flags->group);
	acls_free(flags->allowed);
	arena_free(&flags->arena);
	flags_free(&flags->parsed);
	free(flags->parsed.table);
}
