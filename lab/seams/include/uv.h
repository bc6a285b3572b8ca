/* What the clients and the masters' election use of libuv, in the simulated world: timers that turn
 * with its time. They are compiled against this header in place of the real one. */
#ifndef LAB_SEAMS_INCLUDE_UV_H
#define LAB_SEAMS_INCLUDE_UV_H

#include <netdb.h>

#include "lab/world/world.h"

/* Of its own names, as the real ones may be linked beside it. */
#define uv_timer_init sim_timer_init
#define uv_timer_start sim_timer_start
#define uv_timer_stop sim_timer_stop
#define uv_timer_again sim_timer_again
#define uv_is_active sim_is_active
#define uv_close sim_close
#define uv_hrtime sim_hrtime

typedef struct sim_loop uv_loop_t;
typedef struct sim_timer uv_timer_t;
typedef struct sim_timer uv_handle_t; /* there are no other ones */

struct sim_timer {
	void *data;
	uv_loop_t *loop;
	void (*due)(uv_timer_t *timer);
	void (*closed)(uv_handle_t *handle);
	uint64_t repeat; /* ms; 0: it does not */
	struct happening happening;
	struct list closing; /* in the loop */
};

int uv_timer_init(uv_loop_t *loop, uv_timer_t *timer);
int uv_timer_start(uv_timer_t *timer, void (*due)(uv_timer_t *timer), uint64_t timeout,
		   uint64_t repeat);
int uv_timer_stop(uv_timer_t *timer);
int uv_timer_again(uv_timer_t *timer);
int uv_is_active(const uv_handle_t *handle);
void uv_close(uv_handle_t *handle, void (*closed)(uv_handle_t *handle));
uint64_t uv_hrtime(void);

/* There are no names to look up: all that is asked for fails. */
typedef struct sim_look_up {
	void *data;
} uv_getaddrinfo_t;
typedef uv_getaddrinfo_t uv_req_t;
typedef void uv_getaddrinfo_cb(uv_getaddrinfo_t *request, int status, struct addrinfo *found);

static inline int uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request,
				 uv_getaddrinfo_cb *done, const char *node, const char *service,
				 const struct addrinfo *hints)
{
	(void)loop, (void)request, (void)done, (void)node, (void)service, (void)hints;
	return -1;
}

static inline void uv_freeaddrinfo(struct addrinfo *found)
{
	(void)found;
}

static inline int uv_ip4_name(const struct sockaddr_in *from, char *out, size_t size)
{
	(void)from;
	if (size)
		*out = '\0';
	return -1;
}

static inline const char *uv_strerror(int code)
{
	(void)code;
	return "there are no names";
}

static inline int uv_cancel(uv_req_t *request)
{
	(void)request;
	return 0;
}

#endif
