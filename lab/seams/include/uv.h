/* What the clients use of libuv, in the simulated world: timers that turn with its time. They are
 * compiled against this header in place of the real one. */
#ifndef LAB_SEAMS_INCLUDE_UV_H
#define LAB_SEAMS_INCLUDE_UV_H

#include "lab/world/world.h"

/* Of its own names, as the real ones may be linked beside it. */
#define uv_timer_init sim_timer_init
#define uv_timer_start sim_timer_start
#define uv_timer_stop sim_timer_stop
#define uv_timer_again sim_timer_again
#define uv_is_active sim_is_active
#define uv_close sim_close

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

#endif
