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

static void forget_leader(struct shell *shell)
{
	free(shell->leader);
	shell->leader = NULL;
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

static void follow(struct shell *shell, const Mesos__MasterInfo *leader)
{
	if (shell->following)
		following_turn(shell->following, leader ? strchr(leader->pid, '@') + 1 : NULL);
}

static void follow_no_more(struct shell *shell)
{
	if (shell->following)
		shell->warm_copy = following_finish(shell->following);
	shell->following = NULL;
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

static void leadership_won(struct shell *shell)
{
	if (shell->standing >= STANDING_LOADING)
		return;
	log_info("elected as the leading master");
	forget_leader(shell);
	follow_no_more(shell);
	shell->standing = STANDING_LOADING;
	shell_store_open(shell, leadership_loaded);
}

static void leadership_told(void *context, const Mesos__MasterInfo *leader, bool ours)
{
	struct shell *shell = context;

	if (shell->steps.over)
		return;
	if (ours) {
		leadership_won(shell);
		return;
	}
	if (shell->standing >= STANDING_LOADING) {
		depose(shell, leader ? "another master was elected" : "nobody leads any more");
		return;
	}
	forget_leader(shell);
	follow(shell, leader);
	if (!leader) {
		log_info("no master leads");
		return;
	}
	/* Mesos leads to the host's name; members of other libraries may have none. */
	shell->leader = leader->hostname
				? xprintf("%s:%u", leader->hostname, (unsigned)leader->port)
				: xstrdup(strchr(leader->pid, '@') + 1);
	log_info("the leading master is %s (%s)", leader->pid, shell->leader);
}

static void leadership_lost(void *context)
{
	struct shell *shell = context;

	if (!shell->steps.over && shell->standing >= STANDING_LOADING)
		depose(shell, "Lost candidacy as a leader");
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
	static const struct election_handlers handlers = {
		.leader = leadership_told,
		.lost = leadership_lost,
		.failed = leadership_failed,
	};
	const struct master_flags *f = shell->flags;
	const Mesos__MasterInfo *info = master_info(shell->steps.core);

	shell->led = led;
	if (!f->zk) {
		shell->standing = STANDING_LOADING;
		shell_store_open(shell, leadership_loaded);
		return;
	}
	if (has_others(shell)) {
		shell->public_address = xprintf("%s:%u", info->hostname, (unsigned)info->port);
		shell->following = following_create(&shell->loop, &shell->warm,
						    f->group.credentials, shell->public_address);
	}
	shell->election =
		election_open(&shell->loop, &f->group, (int)(f->zk_session_timeout / MILLISECOND),
			      master_info(shell->steps.core), &handlers, shell);
}

void leadership_leave(struct shell *shell)
{
	if (shell->election)
		election_close(shell->election);
	shell->election = NULL;
	forget_leader(shell);
	follow_no_more(shell);
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

	headers[1] = arena_printf(&request->arena, "//%s%s%s%s", shell->leader,
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
	if (shell->leader)
		lead_away(shell, request);
	else
		http_reply_text(request, 503, "No leader elected");
	return false;
}
