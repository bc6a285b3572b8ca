/* Outbound connections, see dial.h. */
#include "net/transport/dial.h"

#include <netinet/in.h>
#include <string.h>

static void dial_on_connect(uv_connect_t *request, int status)
{
	struct dial *dial = request->data;

	dial->done(dial, status);
}

static int connect_to(struct dial *dial, const struct sockaddr *address)
{
	dial->connect.data = dial;
	return uv_tcp_connect(&dial->connect, dial->tcp, address, dial_on_connect);
}

static void on_resolve(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
	struct dial *dial = request->data;

	dial->resolving = false;
	if (status == UV_EAI_CANCELED || (status == 0 && uv_is_closing((uv_handle_t *)dial->tcp)))
		status = UV_ECANCELED;
	if (status == 0 && (!found || found->ai_addrlen != sizeof(struct sockaddr_in)))
		status = UV_EAI_NONAME;
	if (status == 0) {
		struct sockaddr_in address;
		memcpy(&address, found->ai_addr, sizeof(address));
		address.sin_port = htons((uint16_t)dial->port);
		status = connect_to(dial, (const struct sockaddr *)&address);
		if (status == 0) {
			uv_freeaddrinfo(found);
			return;
		}
	}
	uv_freeaddrinfo(found);
	dial->done(dial, status);
}

int dial_start(struct dial *dial, uv_tcp_t *tcp, const char *host, int port,
	       void (*done)(struct dial *dial, int status))
{
	struct sockaddr_in address;
	struct sockaddr_in6 address6;

	*dial = (struct dial){.tcp = tcp, .port = port, .done = done};
	if (uv_ip4_addr(host, port, &address) == 0)
		return connect_to(dial, (const struct sockaddr *)&address);
	if (uv_ip6_addr(host, port, &address6) == 0)
		return connect_to(dial, (const struct sockaddr *)&address6);

	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	dial->resolve.data = dial;
	int rv = uv_getaddrinfo(tcp->loop, &dial->resolve, on_resolve, host, NULL, &hints);
	dial->resolving = rv == 0;
	return rv;
}

void dial_cancel(struct dial *dial)
{
	/* May fail when the resolver has begun; then `done` comes when it ends. */
	if (dial->resolving)
		uv_cancel((uv_req_t *)&dial->resolve);
}
