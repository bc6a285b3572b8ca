/* The agent's command line: Mesos' flags. */
#ifndef AGENT_FLAGS_H
#define AGENT_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/containers/capabilities.h"
#include "agent/isolation.h"
#include "auth/acls.h"
#include "auth/credentials.h"
#include "base/err.h"
#include "base/flags/flags.h"

#define AGENT_REALM_READONLY "mesos-agent-readonly"
#define AGENT_REALM_READWRITE "mesos-agent-readwrite"
#define AGENT_REALM_EXECUTOR "mesos-agent-executor"

struct agent_flags {
	struct flags parsed; /* for /flags; strings below live in it */
	const char *ip;
	int64_t port;
	const char *advertise_ip;
	int64_t advertise_port;
	const char *hostname;
	bool hostname_lookup;
	const char *master;
	int64_t zk_session_timeout;
	const char *work_dir; /* absolute after parsing */
	bool repair_store;
	bool check_origin;
	const char *network_cni_plugins_dir, *network_cni_config_dir; /* both, or none */
	const char *runtime_dir; /* absolute after parsing, defaulted */
	const char *launcher_dir;
	const char *resources;
	const char *resource_estimator;
	const char *modules;
	const char *attributes;
	const char *default_role;
	const char *domain;
	const char *isolation;
	const char *launcher;
	struct isolation isolated; /* both, parsed */
	const char *cgroups_hierarchy, *cgroups_root;
	bool cgroups_enable_cfs, cgroups_limit_swap;
	int64_t container_disk_watch_interval; /* ns */
	bool enforce_container_disk_quota;
	const char *effective_capabilities, *bounding_capabilities;
	struct capabilities capabilities; /* both, parsed */
	bool docker_enabled;		  /* by --containerizers */
	const char *docker, *docker_socket, *sandbox_directory;
	const char *image_providers, *image_provisioner_backend, *image_gc_config;
	const char *docker_registry, *docker_store_dir, *docker_config;
	const char *seccomp_config_dir, *seccomp_profile_name;
	uint64_t default_container_shm_size; /* bytes; 0: as the kernel has it */
	bool disallow_sharing_agent_pid_namespace, disallow_sharing_agent_ipc_namespace;
	const char *fetcher_cache_dir;
	uint64_t fetcher_cache_size;
	const char *containerizers;
	bool switch_user;
	const char *frameworks_home;
	const char *hadoop_home;
	int64_t fetcher_stall_timeout;
	const char *executor_environment_variables;
	int64_t executor_registration_timeout;
	int64_t executor_reregistration_timeout;
	int64_t executor_shutdown_grace_period;
	bool http_command_executor;
	const char *recover;
	int64_t recovery_timeout;
	const char *reconfiguration_policy;
	int64_t authentication_backoff_factor;
	int64_t authentication_timeout_min;
	int64_t authentication_timeout_max;
	int64_t registration_backoff_factor;
	int64_t gc_delay;
	double gc_disk_headroom;
	int64_t disk_watch_interval;
	int64_t max_completed_executors_per_framework;
	const char *credential;
	const char *http_credentials;
	struct credentials *known; /* what that file holds, or NULL */
	struct {
		char *principal, *secret; /* what --credential says; NULL: nothing */
	} own;
	const char *http_authenticators;
	const char *jwt_secret_key;
	struct slice secret_key; /* of executors' tokens; heap; empty: they are not asked */
	const char *logging_level;
	bool quiet;
	const char *external_log_file;
	const char *log_format;
	const char *log_dir;
	bool help;
	bool version;
	/* What would change who may do what is refused rather than ignored. */
	bool authenticate_http_readonly;
	bool authenticate_http_readwrite;
	bool authenticate_http_executors;
	const char *acls;
	struct acls *allowed; /* what that says, or NULL */
	const char *firewall_rules;
	const char *const *disabled; /* the paths of that, or NULL; in `arena` */
	struct arena arena;

	char *work_dir_made; /* heap behind work_dir and runtime_dir */
	char *runtime_dir_made;
};

/* Parses and checks; makes no directories. Warnings are logged. ERR_INVALID with a
 * text that names the flag to change. With --help or --version, prints that and
 * returns 1. */
int agent_flags_parse(struct agent_flags *flags, int argc, char **argv, char **env,
		      struct err *err);
void agent_flags_free(struct agent_flags *flags);

#endif
