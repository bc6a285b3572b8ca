/* Whether this master leads: without --zk at once, with it when the election says so; and what
 * clients of one that does not lead are told.
 *
 * Failure: who led and does not any more ends the process, as Mesos does: another master acts on
 * the registry now, and a supervisor starts this one again as a candidate.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/time/clock.h"
#include "master/shell.h"

static const char *standing_name(enum standing standing)
{
	return standing == STANDING_LEADER ? "leading" : "loading the registry";
}

static void depose(struct shell *shell, const char *why)
{
	log_error("%s while %s: ending, to be started again as a candidate", why,
		  standing_name(shell->standing));
	shell_stop(shell, 1);
}

/* ---- what others know beyond the registry ------------------------------------------- */

static void warm_progress(void *context)
{
	struct shell *shell = context;

	if (!shell->steps.over)
		uv_async_send(&shell->stored);
}

/* Those that leave because this master ends keep their place: one of them leads next. */
static uint64_t note_followers(void *context, const char *text)
{
	struct shell *shell = context;

	return shell->steps.over ? UINT64_MAX : store_note(shell->stores[LINE_REGISTRY], text);
}

static bool has_others(const struct shell *shell)
{
	return shell->flags->zk && shell->flags->registry_kind == REGISTRY_ZOOKEEPER;
}

static void be_followed(struct shell *shell)
{
	const struct followers_options options = {
		.loop = &shell->loop,
		.rng = &shell->rng,
		.table = &shell->warm,
		.holder = store_holder(shell->stores[LINE_REGISTRY]),
		.note = note_followers,
		.progress = warm_progress,
		.context = shell,
	};

	shell->registry_copy = registry_copy_create(&shell->warm);
	shell_store_mark(shell);
	shell->followers = followers_create(&options);
}

/* ---- the election ---------------------------------------------------------------------- */

/* The core has what the stores held. */
static void leadership_loaded(struct shell *shell, const struct err *failure)
{
	shell->standing = STANDING_LEADER;
	if (has_others(shell) && !failure)
		be_followed(shell);
	shell->led(shell, failure);
}

static void leadership_won(void *context, char *copy)
{
	struct shell *shell = context;

	shell->warm_copy = copy;
	if (shell->steps.over)
		return;
	shell->standing = STANDING_LOADING;
	shell_store_open(shell, leadership_loaded);
}

static void leadership_over(void *context, const char *why)
{
	struct shell *shell = context;

	if (!shell->steps.over)
		depose(shell, why);
}

static void leadership_failed(void *context, const char *why)
{
	struct shell *shell = context;

	if (shell->steps.over)
		return;
	log_error("the master cannot take part in the election: %s", why);
	shell_stop(shell, 1);
}

void leadership_seek(struct shell *shell, void (*led)(struct shell *shell, const struct err *err))
{
	static const struct candidacy_handlers handlers = {
		.elected = leadership_won,
		.over = leadership_over,
		.failed = leadership_failed,
	};
	const struct master_flags *f = shell->flags;
	const Mesos__MasterInfo *info = master_info(shell->steps.core);
	struct candidacy_options options = {
		.loop = &shell->loop,
		.group = &f->group,
		.session_timeout_ms = (int)(f->zk_session_timeout / MILLISECOND),
		.info = info,
		.handlers = &handlers,
		.context = shell,
	};

	shell->led = led;
	if (!f->zk) {
		shell->standing = STANDING_LOADING;
		shell_store_open(shell, leadership_loaded);
		return;
	}
	if (has_others(shell)) {
		shell->public_address = xprintf("%s:%u", info->hostname, (unsigned)info->port);
		options.table = &shell->warm;
		options.address = shell->public_address;
	}
	shell->candidacy = candidacy_open(&options);
}

const char *leadership_leader(const struct shell *shell)
{
	return shell->candidacy ? candidacy_leader(shell->candidacy) : NULL;
}

void leadership_leave(struct shell *shell)
{
	if (shell->candidacy)
		candidacy_close(shell->candidacy);
	shell->candidacy = NULL;
}

/* ---- clients of one that does not lead -------------------------------------------- */

/* What a master says of itself alone. */
static bool is_own(const char *path)
{
	return !str_has_prefix(path, "/master/") || !strcmp(path, "/master/health") ||
	       !strcmp(path, "/master/flags") || !strcmp(path, "/master/redirect");
}

static void lead_away(const struct shell *shell, struct http_request *request)
{
	const char *headers[] = {"Location", NULL, NULL};

	headers[1] = arena_printf(&request->arena, "//%s%s%s%s", leadership_leader(shell),
				  router_resolve(&shell->router, request),
				  *request->query ? "?" : "", request->query);
	http_reply(request, 307, NULL, NULL, 0, headers);
}

bool leadership_admits(void *context, struct http_request *request, const struct route *route)
{
	struct shell *shell = context;

	/* Another thread fills the core while it is loaded. */
	if (shell->standing == STANDING_LEADER || page_serves(route->path))
		return true;
	if (shell->standing == STANDING_LOADING) {
		if (!strcmp(route->path, "/master/health") || !strcmp(route->path, "/version"))
			return true;
		http_reply_text(request, 503, "Master has not finished recovery");
		return false;
	}
	if (is_own(route->path))
		return true;
	if (leadership_leader(shell))
		lead_away(shell, request);
	else
		http_reply_text(request, 503, "No leader elected");
	return false;
}
