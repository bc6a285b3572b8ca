/* TCP probes: whether something on this machine takes connections on a port. */
#include <netinet/in.h>
#include <stdlib.h>

#include "base/memory/buf.h"
#include "cli/executor/probe_internal.h"

struct tcp_probe {
	struct probe base;
	uv_tcp_t tcp;
	uv_connect_t connect;
	bool over;
};

static void probe_tcp_closed_cb(uv_handle_t *handle)
{
	free(handle->data);
}

static void tcp_cancel(struct probe *probe)
{
	struct tcp_probe *p = (struct tcp_probe *)probe;

	p->over = true;
	uv_close((uv_handle_t *)&p->tcp, probe_tcp_closed_cb);
}

static void connected_cb(uv_connect_t *request, int status)
{
	struct tcp_probe *p = request->data;

	if (p->over)
		return;
	tcp_cancel(&p->base);
	probe_say(&p->base, PROBE_RESULT, status == 0, NULL);
}

static const struct probe_ops tcp_ops = {NULL, tcp_cancel};

struct probe *probe_tcp_start(uv_loop_t *loop, const struct probe_target *target,
			      enum probe_outcome *outcome, struct err *err)
{
	struct sockaddr_storage address;
	struct tcp_probe *p = xcalloc(1, sizeof(*p));
	int rv;

	*outcome = PROBE_FAILED;
	if (target->ipv6)
		uv_ip6_addr("::1", target->port, (struct sockaddr_in6 *)&address);
	else
		uv_ip4_addr("127.0.0.1", target->port, (struct sockaddr_in *)&address);
	uv_tcp_init_ex(loop, &p->tcp, target->ipv6 ? AF_INET6 : AF_INET);
	p->base.ops = &tcp_ops;
	p->tcp.data = p;
	p->connect.data = p;
	rv = uv_tcp_connect(&p->connect, &p->tcp, (struct sockaddr *)&address, connected_cb);
	if (rv == 0)
		return &p->base;
	err_set(err, ERR_IO, "Failed to connect: %s", uv_strerror(rv));
	tcp_cancel(&p->base);
	return NULL;
}
