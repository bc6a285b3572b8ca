/* Images of containers, as the flags ask for them. */
#include "agent/containers/image/image_store.h"
#include "agent/shell.h"
#include "base/flags/daemon_flags.h"
#include "base/time/clock.h"

static int read_collection(struct agent_shell *shell, struct image_store_options *options,
			   struct err *err)
{
	const char *value = shell->flags->image_gc_config;
	Mesos__Internal__ImageGcConfig *config = NULL;
	struct json *json;
	char **excluded;

	excluded = arena_alloc(&shell->arena, sizeof(*excluded));
	*excluded = NULL;
	options->excluded = excluded;
	if (!value)
		return 0;
	if (daemon_flags_json(&shell->arena, "image_gc_config", value, &json, err) < 0)
		return ERR_INVALID;
	config = json_to_proto(&mesos__internal__image_gc_config__descriptor, json, SPELL_V0,
			       &shell->arena, err);
	if (!config)
		return err_wrap(err, ERR_INVALID, "--image_gc_config");
	if (!(config->image_disk_headroom >= 0 && config->image_disk_headroom <= 1) ||
	    config->image_disk_watch_interval->nanoseconds < SECOND)
		return err_set(err, ERR_INVALID,
			       "--image_gc_config: image_disk_headroom is a share between 0 and 1, "
			       "image_disk_watch_interval at least a second");
	options->headroom = config->image_disk_headroom;
	options->interval = config->image_disk_watch_interval->nanoseconds;
	excluded = arena_alloc(&shell->arena, (config->n_excluded_images + 1) * sizeof(*excluded));
	options->excluded = excluded;
	for (size_t i = 0; i < config->n_excluded_images; i++)
		if (config->excluded_images[i]->docker)
			*excluded++ = config->excluded_images[i]->docker->name;
	*excluded = NULL;
	return 0;
}

int agent_shell_open_images(struct agent_shell *shell, struct err *err)
{
	const struct agent_flags *f = shell->flags;
	struct image_store_options options = {
		.loop = &shell->loop,
		.pool = shell->slow,
		.program = shell->program,
		.directory = f->docker_store_dir,
		.registry = f->docker_registry,
		.stall_timeout = f->fetcher_stall_timeout,
	};
	struct slice access = {NULL, 0};
	int rv;

	if (!f->image_providers)
		return 0;
	rv = read_collection(shell, &options, err);
	if (rv == 0 && f->docker_config)
		rv = daemon_flags_text(&shell->arena, "docker_config", f->docker_config, &access,
				       err);
	if (rv < 0)
		return rv;
	options.access = access.data;
	shell->images = image_store_create(&options);
	return 0;
}
