/* Masters that follow this one (master/follow/followers.h). Here leads whoever answers: the router
 * sends requests to others away. */
#include <string.h>

#include "master/shell.h"

/* Who may write the registry may follow. Where nobody is asked who it is to do that, readers of the
 * master must not be asked, either: they would see as much. */
static bool may_follow(const struct shell *shell, const struct http_request *request)
{
	const struct master_flags *f = shell->flags;
	const char *shown = http_header(request, FOLLOW_PROOF);
	char proof[DIGEST_TEXT];

	follow_proof(f->group.credentials, shell->address, proof);
	return (f->group.credentials || !f->authenticate_http_readonly) && shown &&
	       strcmp(shown, proof) == 0;
}

void api_follow(void *context, struct http_request *request)
{
	struct shell *shell = context;

	if (!shell->followers)
		http_reply_text(request, 404, "This master has no others");
	else if (!may_follow(shell, request))
		http_reply_text(request, 403, NULL);
	else
		followers_add(shell->followers, request);
}

void api_followed(void *context, struct http_request *request)
{
	struct shell *shell = context;

	if (shell->followers)
		followers_hear(shell->followers, request);
	else
		http_reply_text(request, 404, "This master has no others");
}
