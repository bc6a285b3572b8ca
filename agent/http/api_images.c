#include "agent/http/api_images.h"

#include <stdlib.h>

#include "agent/containers/image/image_store.h"
#include "agent/shell.h"
#include "net/daemon/audit.h"

static void pruned(void *context, int count, const char *failure)
{
	struct http_request *request = context;

	(void)count;
	if (failure)
		http_reply_text(request, 500, failure);
	else
		http_reply_text(request, 200, "");
}

void agent_api_prune(struct agent_shell *shell, struct http_request *request,
		     const Mesos__Agent__Call *call)
{
	const Mesos__Agent__Call__PruneImages *asked = call->prune_images;
	size_t count = asked ? asked->n_excluded_images : 0, taken = 0;
	char **excluded = arena_alloc(&request->arena, (count + 1) * sizeof(*excluded));

	if (!agent_shell_allows(shell, request, ACL_PRUNE_IMAGES, NULL))
		return;
	audit_change(request, "PRUNE_IMAGES", "", 200);
	/* Without a store there is nothing to remove. */
	if (!shell->images) {
		http_reply_text(request, 200, "");
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (asked->excluded_images[i]->docker)
			excluded[taken++] = asked->excluded_images[i]->docker->name;
	excluded[taken] = NULL;
	image_store_prune(shell->images, taken ? excluded : NULL, pruned, request);
}
