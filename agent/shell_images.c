/* Images of containers, as the flags ask for them. */
#include <string.h>

#include "agent/containers/image/image_store.h"
#include "agent/shell.h"
#include "base/files.h"
#include "base/time/clock.h"

#define SETTING_MAX (1024 * 1024) /* bytes of a file that a flag names */

/* JSON, or a file of it: its text in the arena; NULL: there is none. */
static int read_setting(struct agent_shell *shell, const char *flag, const char *value,
			struct slice *out, struct err *err)
{
	struct buf text = BUF_INIT;
	const char *path = str_has_prefix(value, "file://") ? value + strlen("file://") : value;
	int rv = 0;

	if (*path == '/')
		rv = file_read(path, SETTING_MAX, &text, err);
	else
		buf_append(&text, value, strlen(value));
	if (rv < 0)
		return err_wrap(err, rv, "--%s", flag);
	*out = (struct slice){arena_strndup(&shell->arena, text.data ? text.data : "", text.len),
			      text.len};
	buf_free(&text);
	return 0;
}

static int read_collection(struct agent_shell *shell, struct image_store_options *options,
			   struct err *err)
{
	const char *value = shell->flags->image_gc_config;
	Mesos__Internal__ImageGcConfig *config = NULL;
	struct json *json;
	char **excluded;
	struct slice text;

	excluded = arena_alloc(&shell->arena, sizeof(*excluded));
	*excluded = NULL;
	options->excluded = excluded;
	if (!value)
		return 0;
	if (read_setting(shell, "image_gc_config", value, &text, err) < 0)
		return ERR_INVALID;
	if (json_parse(&shell->arena, text.data, text.len, &json, err) == 0)
		config = json_to_proto(&mesos__internal__image_gc_config__descriptor, json,
				       SPELL_V0, &shell->arena, err);
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
		rv = read_setting(shell, "docker_config", f->docker_config, &access, err);
	if (rv < 0)
		return rv;
	options.access = access.data;
	shell->images = image_store_create(&options);
	return 0;
}
