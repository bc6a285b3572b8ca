/* The agent's flags as a table, and the checks that go beyond one value. */
#include "agent/flags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/flags/daemon_flags.h"
#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"
#include "net/daemon/firewall.h"

#define FLAG_OWNER agent_flags
#include "base/flags/flag_rows.h"

#define SECRET_KEY_MAX 4096 /* bytes; HMAC-SHA256 makes 64 of more */

static const struct flag flag_table[] = {
	FILE_PATH(master, NULL,
		  "The master: host:port, zk://host:port,host:port/path of several masters, or "
		  "file://PATH of a file that holds it."),
	TIME(zk_session_timeout, "10secs", "How long ZooKeeper may be out of reach."),
	BOOLEAN(check_origin, "false",
		"Refuse requests that pages of other sites make browsers send: those with an "
		"Origin "
		"that is not the Host, or with a Host that is no IP address, localhost or "
		"--hostname."),
	BOOLEAN(repair_store, "false", "Go on with what can be read of damaged checkpoints."),
	FILE_PATH(work_dir, NULL, "Directory of sandboxes and checkpoints."),
	TEXT(ip, NULL, "IP address to listen on (default: all interfaces)."),
	INTEGER(port, "5051", "Port to listen on; 0 takes any free one."),
	TEXT(advertise_ip, NULL, "IP address told to the master and executors, if not --ip."),
	INTEGER(advertise_port, NULL, "Port told to the master and executors, if not --port."),
	TEXT(hostname, NULL, "Host name told to the master (default: looked up from the IP)."),
	BOOLEAN(hostname_lookup, "true", "Look the host name up; otherwise the IP is used."),
	TEXT(resources, NULL,
	     "What the agent offers, as cpus:4;mem:1024;ports:[31000-32000] or as a JSON array. "
	     "What "
	     "is left out of cpus, mem, disk and ports is detected."),
	TEXT(resource_estimator, NULL,
	     "Estimator of resources to oversubscribe: org_apache_mesos_FixedResourceEstimator."),
	TEXT(modules, NULL,
	     "Parameters of the estimator, as Mesos' JSON of modules; others are ignored."),
	TEXT(attributes, NULL, "Attributes of the machine, as rack:2;zone:a."),
	TEXT(default_role, "*", "Role of the resources that name none."),
	TEXT(domain, NULL, "Fault domain of the agent, as JSON."),
	TEXT(isolation, "posix/cpu,posix/mem",
	     "Isolators: posix/cpu, posix/mem, filesystem/posix (nothing is enforced), "
	     "cgroups/cpu, "
	     "cgroups/mem, cgroups/pids, cgroups/blkio, cgroups/cpuset, cgroups/all, disk/du, "
	     "posix/rlimits, linux/capabilities, linux/nnp, namespaces/pid, namespaces/ipc, "
	     "filesystem/linux, volume/host_path, volume/sandbox_path, volume/secret, "
	     "docker/runtime, linux/seccomp."),
	TEXT(launcher, "posix",
	     "How processes are started: posix, or linux, in control groups (as the isolators that "
	     "begin with cgroups/ do)."),
	FILE_PATH(cgroups_hierarchy, "/sys/fs/cgroup", "Where control groups are mounted."),
	TEXT(cgroups_root, "mesos",
	     "Control group of the agent's containers, below the hierarchy."),
	{"effective_capabilities", "allowed_capabilities", FLAG_STRING, AT(effective_capabilities),
	 NULL,
	 "What containers have with linux/capabilities, if they ask for nothing: "
	 "{\"capabilities\": [\"NET_RAW\"]}, or a file of it.",
	 NULL, NULL},
	TEXT(bounding_capabilities, NULL, "What they may ever have, likewise."),
	BOOLEAN(cgroups_enable_cfs, "false",
		"Containers get no more processors than they asked for, even if some are idle."),
	BOOLEAN(cgroups_limit_swap, "false", "Limits of memory count swap, too (version 1 only)."),
	TIME(container_disk_watch_interval, "15secs", "How often disk/du looks at sandboxes."),
	BOOLEAN(enforce_container_disk_quota, "false",
		"disk/du ends containers whose sandbox holds more than their disk."),
	TEXT(containerizers, "mesos",
	     "Containerizers: mesos, or mesos,docker for tasks in Docker containers, too."),
	TEXT(docker, "docker", "The program that runs those: docker, or podman."),
	FILE_PATH(docker_socket, "/var/run/docker.sock", "Where its daemon listens."),
	FILE_PATH(sandbox_directory, "/mnt/mesos/sandbox", "Where the sandbox is in a container."),
	TEXT(image_providers, NULL,
	     "Kinds of images that containers may have: docker, which --isolation=filesystem/linux,"
	     "docker/runtime goes with."),
	FILE_PATH(
		network_cni_config_dir, NULL,
		"Directory of the networks that containers may join: .conf and .conflist of CNI."),
	TEXT(network_cni_plugins_dir, NULL,
	     "Directories of the plugins for them, ':' between them (Debian: /usr/lib/cni)."),
	TEXT(image_provisioner_backend, "overlay",
	     "How containers get the files of an image: overlay, or copy."),
	TEXT(docker_registry, "https://registry-1.docker.io",
	     "Where images come from that name no registry: a registry, or a directory of what "
	     "`docker save` wrote (NAME.tar, or NAME/) and of OCI layouts."),
	FILE_PATH(docker_store_dir, "/tmp/mesos/store/docker", "Where images are kept."),
	TEXT(docker_config, NULL,
	     "How registries know who pulls, as in docker's config.json: JSON, or a file of it."),
	TEXT(image_gc_config, NULL,
	     "When images that nobody uses are removed: {\"image_disk_headroom\": 0.1, "
	     "\"image_disk_watch_interval\": {\"nanoseconds\": 3600000000000}, "
	     "\"excluded_images\": [...]}, or a file of it."),
	FILE_PATH(seccomp_config_dir, NULL, "Directory of the profiles of linux/seccomp."),
	TEXT(seccomp_profile_name, NULL, "The profile of containers that name none."),
	{"default_container_shm_size", NULL, FLAG_BYTES, AT(default_container_shm_size), "0B",
	 "Size of /dev/shm in containers with --isolation=namespaces/ipc that do not say (0: half "
	 "of "
	 "the memory).",
	 NULL, NULL},
	BOOLEAN(disallow_sharing_agent_pid_namespace, "false",
		"Executors' containers may not ask to share the machine's processes."),
	BOOLEAN(disallow_sharing_agent_ipc_namespace, "false", "Likewise its System V IPC."),
	FILE_PATH(runtime_dir, NULL,
		  "Directory of what is lost on reboot (default: /var/run/mesos, or below the "
		  "directory of temporary files)."),
	FILE_PATH(launcher_dir, NULL, "Directory told to executors as that of Mesos' programs."),
	BOOLEAN(switch_user, "true", "Run tasks as their user; needs root for other users."),
	FILE_PATH(frameworks_home, "", "Directory of URIs that are relative paths."),
	FILE_PATH(hadoop_home, NULL, "Where hadoop is installed, to fetch hdfs:// URIs."),
	FILE_PATH(fetcher_cache_dir, "/tmp/mesos/fetch",
		  "Where files of URIs with `cache` are kept; emptied at start."),
	{"fetcher_cache_size", NULL, FLAG_BYTES, AT(fetcher_cache_size), "2GB",
	 "How much is kept there.", NULL, NULL},
	TIME(fetcher_stall_timeout, "1mins", "A download this long without a byte is given up."),
	TEXT(executor_environment_variables, NULL,
	     "Environment of executors, as a JSON object of strings."),
	TIME(executor_registration_timeout, "1mins", "How long an executor has to register."),
	TIME(executor_reregistration_timeout, "2secs",
	     "How long executors have to come back after a restart of the agent."),
	TIME(executor_shutdown_grace_period, "5secs", "How long an executor has to shut down."),
	BOOLEAN(http_command_executor, "false",
		"Told to executors; the command executor always uses "
		"the HTTP API."),
	TEXT(recover, "reconnect", "After a restart: reconnect to executors, or cleanup."),
	TIME(recovery_timeout, "15mins", "How long executors wait for a restarted agent."),
	TEXT(reconfiguration_policy, "equal",
	     "Which changes a restarted agent may have: equal (none) or additive."),
	TIME(registration_backoff_factor, "1secs", "First wait between attempts to register."),
	TIME(gc_delay, "1weeks", "How long the sandbox of an ended executor is kept."),
	NUMBER(gc_disk_headroom, "0.1", "Share of the disk that removing sandboxes keeps free."),
	TIME(disk_watch_interval, "1mins", "How often the disk's usage is looked at."),
	INTEGER(max_completed_executors_per_framework, "150", "Ended executors to remember."),
	FILE_PATH(credential, NULL,
		  "File with the principal and secret that the agent authenticates with."),
	TIME(authentication_backoff_factor, "1secs", "By which attempts to authenticate spread."),
	TIME(authentication_timeout_min, "5secs", "How long an attempt takes at least."),
	TIME(authentication_timeout_max, "1mins", "How long an attempt takes at most."),
	TEXT(logging_level, "INFO", "Least level of log lines: INFO, WARNING or ERROR."),
	TEXT(log_format, "text", "How log lines are written: text or json."),
	FILE_PATH(log_dir, NULL,
		  "Directory of the log, mesos-slave.INFO, in place of standard error; SIGHUP "
		  "opens it "
		  "anew."),
	BOOLEAN(quiet, "false", "Log nothing to standard error but errors."),
	FILE_PATH(external_log_file, NULL, "File that holds the log, served as /slave/log."),
	BOOLEAN(help, "false", "Print this and exit."),
	BOOLEAN(version, "false", "Print the version and exit."),
	BOOLEAN(authenticate_http_readonly, "false", "Reading over HTTP needs --http_credentials."),
	{"authenticate_http_readwrite", "authenticate_http", FLAG_BOOL,
	 AT(authenticate_http_readwrite), "false", "Changing over HTTP needs --http_credentials.",
	 NULL, NULL},
	BOOLEAN(authenticate_http_executors, "false",
		"Executors must show the token that they were given; those of the old protocol are "
		"refused."),
	{"jwt_secret_key", "executor_secret_key", FLAG_PATH, AT(jwt_secret_key), NULL,
	 "File whose content signs the tokens of executors.", NULL, NULL},
	FILE_PATH(http_credentials, NULL,
		  "File of the principals and secrets of HTTP clients: lines of both, or JSON."),
	TEXT(http_authenticators, "basic", "How HTTP clients authenticate: basic."),
	TEXT(acls, NULL,
	     "Who may do what, as access control lists: JSON, or a file of it. Everybody may do "
	     "everything without it."),
	TEXT(firewall_rules, NULL,
	     "Endpoints that are not served: "
	     "{\"disabled_endpoints\":{\"paths\":[\"/files/browse\"]}}, "
	     "or a file of it."),
	UNUSED(agent_features),
	UNUSED_ALIAS(agent_subsystems, slave_subsystems),
	UNUSED(allowed_devices),
	INERT(appc_simple_discovery_uri_prefix, FLAG_STRING, "http://"),
	INERT(appc_store_dir, FLAG_PATH, "/tmp/mesos/store/appc"),
	INERT(authenticatee, FLAG_STRING, "crammd5"),
	INERT(authorizer, FLAG_STRING, "local"),
	INERT(cgroups_cpu_enable_pids_and_tids_count, FLAG_BOOL, "false"),
	INERT(cgroups_destroy_timeout, FLAG_DURATION, "1mins"),
	UNUSED(cgroups_net_cls_primary_handle),
	UNUSED(cgroups_net_cls_secondary_handles),
	INERT(check_agent_port_range_only, FLAG_BOOL, NULL),
	UNUSED(container_logger),
	UNUSED(container_ports_isolated_range),
	INERT(container_ports_watch_interval, FLAG_DURATION, NULL),
	UNUSED(csi_plugin_config_dir),
	UNUSED(default_container_dns),
	UNUSED(default_container_info),
	UNUSED(disk_profile_adaptor),
	INERT(docker_ignore_runtime, FLAG_BOOL, "false"),
	INERT(docker_kill_orphans, FLAG_BOOL, "true"),
	UNUSED(docker_mesos_image),
	INERT(docker_remove_delay, FLAG_DURATION, "6hrs"),
	INERT(docker_stop_timeout, FLAG_DURATION, "0ns"),
	INERT(docker_volume_checkpoint_dir, FLAG_PATH, "/var/run/mesos/isolators/docker/volume"),
	INERT(docker_volume_chown, FLAG_BOOL, "false"),
	UNUSED(domain_socket_location),
	UNUSED(egress_burst),
	UNUSED(egress_ceil_limit),
	UNUSED(egress_flow_classifier_parent),
	UNUSED(egress_rate_limit_per_container),
	UNUSED(egress_rate_per_cpu),
	INERT(egress_unique_flow_per_container, FLAG_BOOL, NULL),
	INERT(enforce_container_ports, FLAG_BOOL, NULL),
	UNUSED(ephemeral_ports_per_container),
	UNUSED(eth0_name),
	INERT(executor_reregistration_retry_interval, FLAG_DURATION, NULL),
	INERT(gc_non_executor_container_sandboxes, FLAG_BOOL, "false"),
	UNUSED(hooks),
	UNUSED(host_path_volume_force_creation),
	INERT(http_executor_domain_sockets, FLAG_BOOL, "false"),
	INERT(http_heartbeat_interval, FLAG_DURATION, "30secs"),
	UNUSED(ingress_burst),
	UNUSED(ingress_ceil_limit),
	INERT(ingress_isolate_existing_containers, FLAG_BOOL, NULL),
	UNUSED(ingress_rate_limit_per_container),
	UNUSED(ingress_rate_per_cpu),
	INERT(initialize_driver_logging, FLAG_BOOL, "true"),
	UNUSED(ip6),
	UNUSED(ip6_discovery_command),
	UNUSED(ip_discovery_command),
	UNUSED_ALIAS(jwt_secret_key, executor_secret_key),
	UNUSED(lo_name),
	INERT(logbufsecs, FLAG_INT, "0"),
	UNUSED(master_detector),
	UNUSED(maximum_egress_rate_limit),
	UNUSED(maximum_ingress_rate_limit),
	INERT(memory_profiling, FLAG_BOOL, "false"),
	UNUSED(minimum_egress_rate_limit),
	UNUSED(minimum_ingress_rate_limit),
	UNUSED(modules_dir),
	INERT(network_cni_metrics, FLAG_BOOL, "true"),
	INERT(network_cni_root_dir_persist, FLAG_BOOL, "false"),
	INERT(network_enable_rate_statistics, FLAG_BOOL, NULL),
	INERT(network_enable_snmp_statistics, FLAG_BOOL, NULL),
	INERT(network_enable_socket_statistics_details, FLAG_BOOL, NULL),
	INERT(network_enable_socket_statistics_summary, FLAG_BOOL, NULL),
	UNUSED(network_link_speed),
	UNUSED(network_rate_statistics_interval),
	UNUSED(network_rate_statistics_window),
	UNUSED(nvidia_gpu_devices),
	INERT(oversubscribed_resources_interval, FLAG_DURATION, "15secs"),
	INERT(perf_duration, FLAG_DURATION, "10secs"),
	UNUSED(perf_events),
	INERT(perf_interval, FLAG_DURATION, "1mins"),
	UNUSED(qos_controller),
	INERT(qos_correction_interval_min, FLAG_DURATION, "0ns"),
	UNUSED(resource_provider_config_dir),
	INERT(revocable_cpu_low_priority, FLAG_BOOL, "true"),
	UNUSED(secret_resolver),
	INERT(strict, FLAG_BOOL, "true"),
	INERT(systemd_enable_support, FLAG_BOOL, "true"),
	INERT(systemd_runtime_directory, FLAG_PATH, "/run/systemd/system"),
	UNUSED(volume_gid_range),
	INERT(xfs_kill_containers, FLAG_BOOL, NULL),
	UNUSED(xfs_project_range),
	UNUSED(xfs_quota_headroom),
	FLAG_TABLE_END,
};

static int parse_capabilities(const char *text, bool *has, uint64_t *set, struct err *err)
{
	*has = text != NULL;
	return text && capabilities_parse(text, set, err) < 0
		       ? err_wrap(err, ERR_INVALID, "'%s' are no capabilities", text)
		       : 0;
}

static int check_isolation(struct agent_flags *f, struct err *err)
{
	struct isolation *isolated = &f->isolated;
	int rv = isolation_parse(f->isolation, f->launcher, isolated, err);

	if (rv < 0)
		return rv;
	if (isolated->seccomp && !f->seccomp_config_dir)
		return err_set(err, ERR_INVALID,
			       "--isolation=linux/seccomp needs --seccomp_config_dir");
	if (!f->network_cni_plugins_dir != !f->network_cni_config_dir)
		return err_set(
			err, ERR_INVALID,
			"--network_cni_plugins_dir and --network_cni_config_dir go together");
	if (f->image_providers && strcmp(f->image_providers, "docker"))
		return err_set(err, ERR_INVALID,
			       "--image_providers=%s: only images of docker are supported",
			       f->image_providers);
	if ((f->image_providers || isolated->host_paths || isolated->secrets) &&
	    !isolated->file_systems)
		return err_set(err, ERR_INVALID, "%s needs filesystem/linux in --isolation, too",
			       f->image_providers ? "--image_providers"
						  : "A volume of a container");
	if (strcmp(f->image_provisioner_backend, "overlay") &&
	    strcmp(f->image_provisioner_backend, "copy"))
		return err_set(err, ERR_INVALID,
			       "--image_provisioner_backend=%s: expected overlay or copy",
			       f->image_provisioner_backend);
	return 0;
}

static int check_containers(struct agent_flags *f, struct err *err)
{
	char *list, *save = NULL;
	bool mesos = false;

	if (strcmp(f->launcher, "posix") && strcmp(f->launcher, "linux"))
		return err_set(
			err, ERR_INVALID,
			"Unknown or unsupported launcher '%s' in --launcher: expected posix or "
			"linux",
			f->launcher);
	list = xstrdup(f->containerizers);
	for (char *name = strtok_r(list, ", ", &save); name; name = strtok_r(NULL, ", ", &save)) {
		if (!strcmp(name, "mesos"))
			mesos = true;
		else if (!strcmp(name, "docker"))
			f->docker_enabled = true;
		else
			log_warning("--containerizers: '%s' is not part of this version of mesita",
				    name);
	}
	free(list);
	if (!mesos)
		return err_set(err, ERR_INVALID, "--containerizers must include mesos");
	if (parse_capabilities(f->effective_capabilities, &f->capabilities.has_effective,
			       &f->capabilities.effective, err) < 0 ||
	    parse_capabilities(f->bounding_capabilities, &f->capabilities.has_bounding,
			       &f->capabilities.bounding, err) < 0)
		return ERR_INVALID;
	return check_isolation(f, err);
}

static int check_master(const char *master, struct err *err)
{
	if (*master != '/' && !strrchr(master, ':'))
		return err_set(err, ERR_INVALID,
			       "Invalid value '%s' for --master: expected HOST:PORT, "
			       "zk://HOST:PORT/PATH or file://PATH",
			       master);
	return 0;
}

static int check_ranges(const struct agent_flags *f, struct err *err)
{
	if (!f->master)
		return err_set(err, ERR_INVALID, "Missing required option --master");
	if (!f->work_dir || !*f->work_dir)
		return err_set(err, ERR_INVALID, "Missing required option --work_dir");
	if (f->port < 0 || f->port > 65535 || f->advertise_port < 0 || f->advertise_port > 65535)
		return err_set(err, ERR_INVALID,
			       "--port and --advertise_port must be at most 65535");
	if (f->zk_session_timeout < SECOND || f->zk_session_timeout > HOUR)
		return err_set(
			err, ERR_INVALID,
			"Invalid value for --zk_session_timeout: must be from 1secs to 1hrs");
	if (f->registration_backoff_factor < 0 || f->registration_backoff_factor > MINUTE)
		return err_set(
			err, ERR_INVALID,
			"Invalid value for --registration_backoff_factor: must be at most 1mins");
	if (f->executor_reregistration_timeout < 0 ||
	    f->executor_reregistration_timeout > 15 * SECOND)
		return err_set(
			err, ERR_INVALID,
			"Invalid value for --executor_reregistration_timeout: must be at most "
			"15secs");
	if (f->executor_registration_timeout <= 0 || f->executor_shutdown_grace_period < 0 ||
	    f->recovery_timeout < 0 || f->gc_delay < 0 || f->fetcher_stall_timeout < 0)
		return err_set(err, ERR_INVALID, "timeouts and delays must not be negative");
	if (f->disk_watch_interval <= 0)
		return err_set(err, ERR_INVALID, "--disk_watch_interval must be positive");
	if (f->container_disk_watch_interval < MILLISECOND)
		return err_set(err, ERR_INVALID,
			       "--container_disk_watch_interval must be at least 1ms");
	if (!(f->gc_disk_headroom >= 0 && f->gc_disk_headroom <= 1))
		return err_set(err, ERR_INVALID,
			       "Invalid value for --gc_disk_headroom: must be between 0.0 and 1.0");
	if (f->max_completed_executors_per_framework < 0 ||
	    f->max_completed_executors_per_framework > 1000000)
		return err_set(err, ERR_INVALID,
			       "Invalid value for --max_completed_executors_per_framework");
	if (strcmp(f->logging_level, "INFO") && strcmp(f->logging_level, "WARNING") &&
	    strcmp(f->logging_level, "ERROR"))
		return err_set(err, ERR_INVALID,
			       "Invalid value '%s' for --logging_level: expected INFO, WARNING or "
			       "ERROR",
			       f->logging_level);
	if (strcmp(f->recover, "reconnect") && strcmp(f->recover, "cleanup"))
		return err_set(err, ERR_INVALID,
			       "Invalid value '%s' for --recover: expected reconnect or cleanup",
			       f->recover);
	if (strcmp(f->reconfiguration_policy, "equal") &&
	    strcmp(f->reconfiguration_policy, "additive"))
		return err_set(err, ERR_INVALID,
			       "Unknown option for --reconfiguration_policy: %s, expected equal or "
			       "additive",
			       f->reconfiguration_policy);
	return check_master(f->master, err);
}

/* What asks for credentials has some. */
static int check_authentication(struct agent_flags *f, struct err *err)
{
	bool asks = f->authenticate_http_readonly || f->authenticate_http_readwrite;
	int rv = 0;

	if (strcmp(f->http_authenticators, "basic"))
		return err_set(err, ERR_INVALID,
			       "Invalid value '%s' for --http_authenticators: expected basic",
			       f->http_authenticators);
	if (f->http_credentials)
		rv = credentials_load(f->http_credentials, "http_credentials", &f->known, err);
	else if (asks)
		rv = err_set(err, ERR_INVALID,
			     "No credentials provided for the default 'basic' HTTP authenticator "
			     "for realm '%s': give --http_credentials",
			     f->authenticate_http_readonly ? AGENT_REALM_READONLY
							   : AGENT_REALM_READWRITE);
	return rv;
}

/* The whole file is the secret, as in Mesos. */
static int read_secret_key(struct agent_flags *f, struct err *err)
{
	char bytes[SECRET_KEY_MAX + 1];
	FILE *file = fopen(f->jwt_secret_key, "re");
	size_t len = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	bool failed = !file || ferror(file);
	int error = errno;

	if (file)
		fclose(file);
	if (failed)
		return err_set(err, ERR_IO, "cannot read --jwt_secret_key=%s: %s",
			       f->jwt_secret_key, strerror(error));
	if (len == 0 || len > SECRET_KEY_MAX)
		return err_set(err, ERR_INVALID, "--jwt_secret_key=%s must hold 1 to %d bytes",
			       f->jwt_secret_key, SECRET_KEY_MAX);
	f->secret_key = (struct slice){xmemdup(bytes, len), len};
	return 0;
}

static int check_executors(struct agent_flags *f, struct err *err)
{
	if (f->authenticate_http_executors && !f->jwt_secret_key)
		return err_set(err, ERR_INVALID,
			       "--authenticate_http_executors needs --jwt_secret_key: a file whose "
			       "content signs the tokens of executors");
	return f->authenticate_http_executors ? read_secret_key(f, err) : 0;
}

static int check_firewall(struct agent_flags *f, struct err *err)
{
	struct json *rules;
	int rv;

	if (!f->firewall_rules)
		return 0;
	rv = daemon_flags_json(&f->arena, "firewall_rules", f->firewall_rules, &rules, err);
	if (rv < 0)
		return rv;
	rv = firewall_parse(&f->arena, rules, &f->disabled, err);
	return rv < 0 ? err_wrap(err, rv, "Invalid value for --firewall_rules") : 0;
}

static int check_acls(struct agent_flags *f, struct err *err)
{
	if (!f->acls || !acls_read(f->acls, &f->allowed, err))
		return 0;
	return err_wrap(err, ERR_INVALID, "Invalid value for --acls");
}

static int flags_check(struct agent_flags *f, struct err *err)
{
	int rv = check_ranges(f, err);

	if (rv == 0)
		rv = check_containers(f, err);
	if (rv == 0 && f->credential)
		rv = credential_load(f->credential, &f->own.principal, &f->own.secret, err);
	if (rv == 0 && (f->authentication_timeout_min <= 0 ||
			f->authentication_timeout_max < f->authentication_timeout_min ||
			f->authentication_backoff_factor < 0))
		rv = err_set(err, ERR_INVALID,
			     "--authentication_timeout_min must be above 0, and not above "
			     "--authentication_timeout_max");
	if (rv == 0)
		rv = check_authentication(f, err);
	if (rv == 0)
		rv = check_executors(f, err);
	if (rv == 0)
		rv = check_firewall(f, err);
	if (rv == 0)
		rv = check_acls(f, err);
	return rv;
}

static char *absolute_path(const char *path)
{
	char *cwd, *joined;

	if (*path == '/')
		return xstrdup(path);
	cwd = getcwd(NULL, 0);
	joined = xprintf("%s/%s", cwd ? cwd : "", path);
	free(cwd);
	return joined;
}

/* Executors are told paths, so these do not depend on a working directory. */
static void settle_paths(struct agent_flags *f)
{
	const char *tmp = getenv("TMPDIR");
	size_t len;

	f->work_dir_made = absolute_path(f->work_dir);
	for (len = strlen(f->work_dir_made); len > 1 && f->work_dir_made[len - 1] == '/';)
		f->work_dir_made[--len] = '\0';
	f->work_dir = f->work_dir_made;
	if (f->runtime_dir)
		f->runtime_dir_made = absolute_path(f->runtime_dir);
	else if (!access("/var/run", W_OK))
		f->runtime_dir_made = xstrdup("/var/run/mesos");
	else
		f->runtime_dir_made = xprintf("%s/mesos/runtime", tmp && *tmp ? tmp : "/tmp");
	f->runtime_dir = f->runtime_dir_made;
}

int agent_flags_parse(struct agent_flags *flags, int argc, char **argv, char **env, struct err *err)
{
	int rv;

	memset(flags, 0, sizeof(*flags));
	arena_init(&flags->arena);
	flags->parsed.table = xmemdup(flag_table, sizeof(flag_table));
	flags->parsed.target = flags;
	flags->parsed.usage = "Usage: mesita agent --master=HOST:PORT --work_dir=DIR [flags]";
	rv = daemon_flags_parse(&flags->parsed, argc, argv, env, &flags->version, err);
	if (rv == 0)
		rv = flags_check(flags, err);
	if (rv == 0)
		settle_paths(flags);
	return rv;
}

void agent_flags_free(struct agent_flags *flags)
{
	credentials_free(flags->known);
	free((char *)flags->secret_key.data);
	acls_free(flags->allowed);
	arena_free(&flags->arena);
	free(flags->own.principal);
	free(flags->own.secret);
	flags_free(&flags->parsed);
	free(flags->parsed.table);
	free(flags->work_dir_made);
	free(flags->runtime_dir_made);
}
