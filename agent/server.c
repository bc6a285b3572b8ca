/* `mesita agent`: start and end of the shell around the agent core.
 *
 * SIGTERM and SIGINT end this process alone: executors of checkpointing frameworks live
 * on and are picked up by the next agent. SIGUSR1 ends the agent for good.
 *
 * Failures: what is wrong with flags, work directory, port or checkpoints ends the start
 * with a text that names it and exit status 1; a store that cannot write ends the
 * process. */
#include "agent/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/containers/disk_watch.h"
#include "agent/containers/fetch/fetch_cache.h"
#include "agent/containers/image/image_store.h"
#include "agent/containers/network/network.h"
#include "agent/containers/sandbox.h"
#include "agent/containers/volume_dirs.h"
#include "agent/estimator.h"
#include "agent/host.h"
#include "agent/http/sessions.h"
#include "agent/latest.h"
#include "agent/reserve.h"
#include "agent/shell.h"
#include "agent/volumes/disks.h"
#include "agent/volumes/volume_worker.h"
#include "base/flags/daemon_flags.h"
#include "base/log/log.h"
#include "base/open_files.h"
#include "base/time/clock.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

extern char **environ;

/* ---- what happens ----------------------------------------------------------- */

static void server_exited_cb(void *context, const char *pid)
{
	struct agent_shell *shell = context;
	struct agent_event event = {.type = AGENT_EXITED, .exited = {.pid = pid}};

	if (!shell->steps.over)
		agent_shell_step(shell, &event);
}

static void detected_cb(void *context, const char *pid)
{
	struct agent_shell *shell = context;
	struct agent_event event = {.type = AGENT_DETECTED, .detected = {.master = pid}};

	free(shell->master);
	shell->master = pid ? xstrdup(pid) : NULL;
	agent_shell_step(shell, &event);
}

static void detection_failed_cb(void *context, const char *why)
{
	log_error("the agent cannot find its master: %s", why);
	agent_shell_stop(context, 1);
}

static const struct detector_handlers detector_handlers = {.detected = detected_cb,
							   .failed = detection_failed_cb};

static void report_cb(void *context, const struct agent_event *event)
{
	struct agent_shell *shell = context;

	if (!shell->steps.over)
		agent_shell_step(shell, event);
}

static void collected_cb(void *context, const char *path)
{
	struct agent_event event = {.type = AGENT_COLLECTED, .collected = {.path = path}};

	agent_shell_step(context, &event);
}

static void volume_removed_cb(void *context, const char *path)
{
	struct agent_event event = {.type = AGENT_VOLUME_REMOVED, .volume_removed = {.path = path}};

	agent_shell_step(context, &event);
}

static void stored_cb(uv_async_t *async)
{
	agent_shell_stored(async->data);
}

static void store_notify(void *context)
{
	struct agent_shell *shell = context;

	uv_async_send(&shell->stored);
}

static void server_signal_cb(uv_signal_t *handle, int number)
{
	struct agent_shell *shell = handle->data;
	struct agent_event event = {.type = AGENT_SHUTDOWN};

	if (number == SIGUSR1) {
		log_info("Shutting down on SIGUSR1");
		agent_shell_step(shell, &event);
	} else {
		log_info("ending on signal %d (%s)", number, strsignal(number));
		agent_shell_stop(shell, 0);
	}
}

/* ---- start --------------------------------------------------------------- */

/* 0, 1 and 2 are open and nothing that we inherited reaches an executor. */
static void settle_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
	syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
}

static void init_loop(struct agent_shell *shell)
{
	static const int numbers[3] = {SIGTERM, SIGINT, SIGUSR1};

	uv_loop_init(&shell->loop);
	uv_timer_init(&shell->loop, &shell->tick);
	verbosity_init(&shell->verbosity, &shell->loop);
	hangup_init(&shell->hangup, &shell->loop);
	shell->offload = offload_create(&shell->loop);
	usage_init(&shell->usage, shell);
	statistics_init(&shell->statistics, &shell->loop);
	shell->tick.data = shell;
	uv_async_init(&shell->loop, &shell->stored, stored_cb);
	shell->stored.data = shell;
	shell->slow = slow_pool_create(&shell->loop);
	for (int i = 0; i < AGENT_FILE_LANES; i++)
		slow_lane_init(&shell->files[i]);
	for (int i = 0; i < 3; i++) {
		uv_signal_init(&shell->loop, &shell->signals[i]);
		shell->signals[i].data = shell;
		uv_signal_start(&shell->signals[i], server_signal_cb, numbers[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	/* A write beyond `ulimit -f` fails, and says so. */
	signal(SIGXFSZ, SIG_IGN);
	open_files_raise(&shell->open_files);
}

static const char *listen_ip(const struct agent_shell *shell)
{
	return shell->flags->ip ? shell->flags->ip : getenv("LIBPROCESS_IP");
}

static int listen_http(struct agent_shell *shell, struct err *err)
{
	const struct agent_flags *f = shell->flags;
	const char *ip = listen_ip(shell);
	struct http_server_options options = {
		.loop = &shell->loop,
		.ip = ip ? ip : "0.0.0.0",
		.port = (int)f->port,
		.body_max = AGENT_REQUEST_BODY_MAX,
		.streams = agent_shell_streams,
		.streams_type = SESSION_INPUT_TYPE,
		.connections_max = open_files_connections(),
		.handler = agent_shell_take_request,
		.tls = shell->hangup.tls,
		.context = shell,
	};
	int rv = http_server_create(&options, &shell->http, err);

	if (rv < 0)
		return err_wrap(err, rv, "check --ip and --port");
	shell->ip = f->advertise_ip ? xstrdup(f->advertise_ip) : host_advertised_ip(ip);
	shell->port = f->advertise_port ? (int)f->advertise_port : http_server_port(shell->http);
	shell->address = xprintf("%s:%d", shell->ip, shell->port);
	shell->pid = xprintf("slave(1)@%s", shell->address);
	shell->hostname =
		f->hostname ? xstrdup(f->hostname) : host_name_of(shell->ip, f->hostname_lookup);
	return 0;
}

static int create_core(struct agent_shell *shell, struct err *err)
{
	const struct agent_flags *f = shell->flags;
	char *library = host_native_library(shell->program);
	struct agent_options options = {
		.ip = shell->ip,
		.port = shell->port,
		.hostname = shell->hostname,
		.version = MESITA_VERSION,
		.work_dir = f->work_dir,
		.launcher_program = shell->program,
		.shapes = shell->shapes,
		.resources = &shell->resources,
		.oversubscribed = &shell->oversubscribed,
		.rng = &shell->rng,
		.start_time = shell->start_time,
		.reconfiguration_policy = f->reconfiguration_policy,
		.start_new = latest_removed(f->work_dir),
		.recover_cleanup = !strcmp(f->recover, "cleanup"),
		.switch_user = f->switch_user,
		.http_command_executor = f->http_command_executor,
		.principal = f->own.principal,
		.secret = f->own.secret,
		.authentication_backoff_factor = f->authentication_backoff_factor,
		.authentication_timeout_min = f->authentication_timeout_min,
		.authentication_timeout_max = f->authentication_timeout_max,
		.registration_backoff_factor = f->registration_backoff_factor,
		.executor_registration_timeout = f->executor_registration_timeout,
		.executor_reregistration_timeout = f->executor_reregistration_timeout,
		.executor_shutdown_grace_period = f->executor_shutdown_grace_period,
		.recovery_timeout = f->recovery_timeout,
		.gc_delay = f->gc_delay,
		.libprocess_ip = listen_ip(shell),
		.executor_secret = f->secret_key,
		.native_library = library,
		.max_completed_executors_per_framework =
			(int)f->max_completed_executors_per_framework,
		.docker = f->docker_enabled ? f->docker : NULL,
		.docker_socket = f->docker_socket,
		.sandbox_directory = f->sandbox_directory,
		.limits_cpus = f->isolated.controllers & CGROUPS_BIT(CPU),
		.limits_mem = f->isolated.controllers & CGROUPS_BIT(MEMORY),
		.limits_strictly = f->cgroups_enable_cfs,
	};
	Mesos__Attribute **attributes;
	int rv = host_resources(shell->shapes, f->resources, f->default_role, f->work_dir,
				&shell->resources, err);

	if (rv == 0)
		rv = estimator_parse(shell->shapes, f->resource_estimator, f->modules,
				     &shell->oversubscribed, err);
	if (rv == 0)
		rv = disks_prepare(&shell->resources, f->work_dir, err);
	if (rv == 0)
		rv = host_attributes(&shell->arena, f->attributes, &attributes,
				     &options.attribute_count, err);
	if (rv == 0)
		rv = host_domain(&shell->arena, f->domain, &options.domain, err);
	if (rv == 0)
		rv = host_environment(&shell->arena, f->executor_environment_variables,
				      &options.executor_environment, err);
	if (rv == 0) {
		options.attributes = attributes;
		rv = agent_create(&options, &shell->steps.core, err);
	}
	free(library);
	return rv;
}

static int server_load_pair(void *context, struct slice key, struct slice value)
{
	struct agent_shell *shell = context;
	struct err err = {""};
	int rv = agent_load(shell->steps.core, key, value, &err);

	if (rv < 0)
		log_error("a checkpoint cannot be read: %s", err.text);
	return rv;
}

static int open_store(struct agent_shell *shell, struct err *err)
{
	char *path = xprintf("%s/meta", shell->flags->work_dir);
	struct store_options options = {
		.backend = "leveldb",
		.path = path,
		.repair = shell->flags->repair_store,
		.notify = store_notify,
		.context = shell,
	};
	int rv;

	reserve_release(shell->flags->work_dir, reserve_available(shell->flags->work_dir));
	rv = store_open(&options, &shell->store, err);

	if (rv == 0)
		rv = store_load(shell->store, "", server_load_pair, shell, err);
	if (rv < 0)
		err_wrap(err, rv, "Cannot read the checkpoints in '%s'", path);
	free(path);
	return rv;
}

/* A process that answers a big read. */
static bool is_reader(void *context, pid_t pid)
{
	const struct agent_shell *shell = context;

	return (shell->offload && offload_owns(shell->offload, pid)) ||
	       (shell->images && image_store_owns(shell->images, pid)) ||
	       (shell->networks && networks_owns(shell->networks, pid));
}

static int create_parts(struct agent_shell *shell, struct err *err)
{
	const struct agent_flags *f = shell->flags;
	struct posix_options posix = {
		.loop = &shell->loop,
		.pool = shell->slow,
		.open_files = shell->open_files,
		.program = shell->program,
		.runtime_dir = f->runtime_dir,
		.frameworks_home = f->frameworks_home,
		.groups = shell->groups,
		.rooms = shell->has_rooms ? &shell->rooms : NULL,
		.docker = f->docker_enabled ? f->docker : NULL,
		.docker_socket =
			strcmp(f->docker_socket, "/var/run/docker.sock") ? f->docker_socket : NULL,
		.rlimits = f->isolated.rlimits,
		.capabilities = f->isolated.capabilities ? &f->capabilities : NULL,
		.no_new_privileges = f->isolated.no_new_privileges,
		.seccomp_directory = f->isolated.seccomp ? f->seccomp_config_dir : NULL,
		.seccomp_profile = f->seccomp_profile_name,
		.hadoop_home = f->hadoop_home,
		.fetcher_stall_timeout = f->fetcher_stall_timeout,
		.spares = is_reader,
		.spares_context = shell,
	};
	struct gc_options gc = {
		.loop = &shell->loop,
		.pool = shell->slow,
		.work_dir = f->work_dir,
		.delay = f->gc_delay,
		.headroom = f->gc_disk_headroom,
		.watch_interval = f->disk_watch_interval,
		.collected = collected_cb,
		.context = shell,
	};
	int rv;

	shell->messenger =
		messenger_create(&shell->loop, shell->hangup.tls, server_exited_cb, shell);
	shell->gc = gc_create(&gc);
	shell->volumes = volume_worker_create(shell->slow, report_cb, shell);
	shell->remover = volume_remover_create(&shell->loop, shell->slow, volume_removed_cb, shell);
	shell->cache = fetch_cache_create(shell->slow, f->fetcher_cache_dir, f->fetcher_cache_size);
	posix.cache = shell->cache;
	rv = agent_shell_open_images(shell, err);
	posix.images = shell->images;
	agent_shell_open_networks(shell);
	posix.networks = shell->networks;
	if (rv == 0)
		rv = posix_create(&posix, &shell->posix, err);
	if (rv < 0)
		return rv;
	shell->containers = containers_create(&posix_backend, shell->posix, report_cb, shell);
	posix_answer(shell->posix, shell->containers);
	agent_shell_watch_disks(shell);
	return 0;
}

/* Tells whether the machine was booted since the last agent ran here. */
static bool was_rebooted(const struct agent_shell *shell, char **path, char **id)
{
	char stored[64] = "";
	FILE *file;

	*id = host_boot_id();
	*path = xprintf("%s/boot_id", shell->flags->work_dir);
	file = fopen(*path, "re");
	if (file) {
		if (!fgets(stored, sizeof(stored), file))
			stored[0] = '\0';
		fclose(file);
	}
	stored[strcspn(stored, "\n")] = '\0';
	return *stored && **id && strcmp(stored, *id);
}

static void write_boot_id(const char *path, const char *id)
{
	char *fresh = xprintf("%s.new", path);
	FILE *file = fopen(fresh, "we");

	if (!file || fprintf(file, "%s\n", id) < 0)
		log_warning("Cannot write '%s': %s", fresh, strerror(errno));
	if (file && !fclose(file))
		rename(fresh, path);
	free(fresh);
}

static int server_recover(struct agent_shell *shell, struct err *err)
{
	char *path, *id;
	bool rebooted = was_rebooted(shell, &path, &id);
	int rv;

	if (rebooted)
		log_info("The machine was rebooted: no executor can be alive");
	rv = agent_start(shell->steps.core, clock_now(), rebooted, &shell->steps.actions, err);
	if (rv == 0) {
		agent_steps_begin(&shell->steps);
		posix_sweep(shell->posix);
		write_boot_id(path, id);
		reserve_keep(shell->flags->work_dir, reserve_available(shell->flags->work_dir));
	}
	free(path);
	free(id);
	return rv;
}

static int server_start(struct agent_shell *shell, struct err *err)
{
	int rv = sandbox_make_directories(shell->flags->work_dir, err);

	if (rv < 0)
		return err_wrap(err, rv, "Cannot make --work_dir=%s", shell->flags->work_dir);
	shell->detector = detector_create(&shell->loop, shell->flags->master,
					  (int)(shell->flags->zk_session_timeout / MILLISECOND),
					  &detector_handlers, shell);
	rv = detector_check(shell->detector, err);
	if (rv == 0)
		rv = hangup_secure(&shell->hangup, err);
	if (rv == 0)
		rv = listen_http(shell, err);
	if (rv == 0)
		rv = agent_shell_open_groups(shell, err);
	if (rv == 0)
		rv = agent_shell_open_rooms(shell, err);
	if (rv == 0)
		rv = create_core(shell, err);
	if (rv == 0)
		rv = create_parts(shell, err);
	if (rv == 0)
		rv = open_store(shell, err);
	if (rv < 0)
		return rv;
	agent_shell_route(shell);
	log_info("agent %s started on %s", MESITA_VERSION, shell->address);
	rv = server_recover(shell, err);
	if (rv == 0 && !shell->steps.over)
		detector_look(shell->detector);
	return rv;
}

/* ---- end ----------------------------------------------------------------- */

static void close_parts(struct agent_shell *shell)
{
	if (shell->messenger)
		messenger_close(shell->messenger);
	statistics_close(&shell->statistics);
	usage_close(&shell->usage);
	offload_close(shell->offload);
	shell->offload = NULL;
	container_requests_free(&shell->container_requests);
	sessions_close(shell);
	if (shell->http)
		http_server_close(shell->http, NULL, NULL);
	if (shell->detector)
		detector_close(shell->detector);
	if (shell->containers)
		containers_destroy_all(shell->containers);
	if (shell->posix)
		posix_close(shell->posix);
	if (shell->images)
		image_store_close(shell->images);
	if (shell->networks)
		networks_close(shell->networks);
	disk_watch_close(shell->disks);
	if (shell->gc)
		gc_close(shell->gc);
	if (shell->volumes)
		volume_worker_close(shell->volumes);
	if (shell->remover)
		volume_remover_close(shell->remover);
	slow_pool_close(shell->slow);
	uv_close((uv_handle_t *)&shell->tick, NULL);
	verbosity_close(&shell->verbosity);
	for (int i = 0; i < 3; i++)
		uv_close((uv_handle_t *)&shell->signals[i], NULL);
	hangup_close(&shell->hangup);
	/* The store's thread may wake us until it is closed. */
	if (shell->store)
		store_close(shell->store);
	uv_close((uv_handle_t *)&shell->stored, NULL);
}

static void server_stop(struct agent_shell *shell)
{
	shell->steps.over = true;
	close_parts(shell);
	uv_run(&shell->loop, UV_RUN_DEFAULT);
	uv_loop_close(&shell->loop);
	hangup_free(&shell->hangup);
	event_streams_free(&shell->streams);
	fetch_cache_close(shell->cache);
	cgroups_close(shell->groups);
	agent_destroy(shell->steps.core);
	agent_steps_free(&shell->steps);
	resources_free(&shell->resources);
	resources_free(&shell->oversubscribed);
	resource_shapes_destroy(shell->shapes);
	arena_free(&shell->arena);
	free((char *)shell->program);
	free(shell->ip);
	free(shell->address);
	free(shell->pid);
	free(shell->hostname);
	free(shell->master);
}

/* Where the log is, it is served from. */
static int start_log(struct agent_shell *shell, struct err *err)
{
	const struct agent_flags *f = shell->flags;
	struct daemon_log log = {
		.logging_level = f->logging_level,
		.log_format = f->log_format,
		.log_dir = f->log_dir,
		.file = "mesos-slave.INFO",
		.external_log_file = f->external_log_file,
		.quiet = f->quiet,
	};
	char *path = NULL;
	int rv = daemon_log_start(&log, &shell->verbosity.start, &path, err);

	shell->log_file = path ? arena_strdup(&shell->arena, path) : NULL;
	free(path);
	return rv;
}

static char *own_program(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return xstrndup(path, len > 0 ? (size_t)len : 0);
}

static int serve(struct agent_flags *flags)
{
	struct agent_shell shell = {
		.flags = flags, .start_time = clock_now(), .began = (int64_t)uv_hrtime()};
	struct err err = {""};

	arena_init(&shell.arena);
	if (start_log(&shell, &err) < 0) {
		fprintf(stderr, "mesita agent: %s\n", err.text);
		arena_free(&shell.arena);
		return 1;
	}
	rng_seed(&shell.rng, rng_entropy());
	agent_steps_init(&shell.steps, &agent_shell_outlet, &shell);
	shell.streams = (struct event_streams){.backlog_max = AGENT_STREAM_BACKLOG_MAX,
					       .closed = agent_shell_stream_closed,
					       .context = &shell};
	shell.shapes = resource_shapes_create();
	shell.program = own_program();
	init_loop(&shell);
	if (server_start(&shell, &err) < 0) {
		log_error("the agent cannot start: %s", err.text);
		shell.exit_status = 1;
	} else if (!shell.steps.over) {
		uv_run(&shell.loop, UV_RUN_DEFAULT);
	}
	server_stop(&shell);
	return shell.exit_status;
}

int agent_main(int argc, char **argv)
{
	struct agent_flags flags;
	struct err err = {""};
	int rv, status = 0;

	settle_descriptors();
	rv = agent_flags_parse(&flags, argc, argv, environ, &err);
	if (rv < 0) {
		fprintf(stderr, "mesita agent: %s\nSee `mesita agent --help` for the flags.\n",
			err.text);
		status = 1;
	} else if (rv == 0) {
		status = serve(&flags);
	}
	agent_flags_free(&flags);
	return status;
}
