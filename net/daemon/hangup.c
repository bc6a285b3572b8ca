#include "net/daemon/hangup.h"

#include <signal.h>

#include "base/log/log.h"

static void hangup_on_signal(uv_signal_t *handle, int number)
{
	struct hangup *hangup = handle->data;
	struct err err = {{0}};

	(void)number;
	if (log_reopen(&err) < 0)
		log_error("The log goes on where it was: %s", err.text);
	if (!hangup->tls)
		return;
	if (tls_reload(hangup->tls, &err) < 0)
		log_error("The certificates were not read again, the old ones stay: %s", err.text);
	else
		log_info("Read the certificates again, for connections to come");
}

void hangup_init(struct hangup *hangup, uv_loop_t *loop)
{
	uv_signal_init(loop, &hangup->signal);
	hangup->signal.data = hangup;
	uv_signal_start(&hangup->signal, hangup_on_signal, SIGHUP);
}

int hangup_secure(struct hangup *hangup, struct err *err)
{
	return tls_from_environment(true, &hangup->tls, err);
}

void hangup_close(struct hangup *hangup)
{
	uv_close((uv_handle_t *)&hangup->signal, NULL);
}

void hangup_free(struct hangup *hangup)
{
	tls_free(hangup->tls);
}
