#include "agent/http/statistics.h"

#include <stdlib.h>

#include "agent/http/api_operator.h"
#include "agent/shell.h"

struct statistics_wait {
	struct list link;
	struct agent_shell *shell;
	struct http_request *request;
};

static void statistics_answer(struct statistics_turns *turns, struct agent_shell *shell,
			      struct http_request *request)
{
	turns->next = uv_now(&shell->loop) + STATISTICS_WAIT_MS;
	agent_reply_statistics(shell, request);
}

static void statistics_turn(uv_timer_t *timer)
{
	struct statistics_turns *turns = timer->data;
	struct statistics_wait *wait = list_first(&turns->waiting, struct statistics_wait, link);

	list_remove(&wait->link);
	turns->count--;
	statistics_answer(turns, wait->shell, wait->request);
	free(wait);
	if (!list_empty(&turns->waiting))
		uv_timer_start(timer, statistics_turn, STATISTICS_WAIT_MS, 0);
}

void statistics_init(struct statistics_turns *turns, uv_loop_t *loop)
{
	*turns = (struct statistics_turns){0};
	list_init(&turns->waiting);
	uv_timer_init(loop, &turns->timer);
	turns->timer.data = turns;
}

void statistics_close(struct statistics_turns *turns)
{
	struct statistics_wait *wait, *next;

	list_for_each (wait, next, &turns->waiting, link) {
		http_reply_text(wait->request, 503, NULL);
		list_remove(&wait->link);
		free(wait);
	}
	uv_close((uv_handle_t *)&turns->timer, NULL);
}

void agent_rest_statistics(void *context, struct http_request *request)
{
	struct agent_shell *shell = context;
	struct statistics_turns *turns = &shell->statistics;
	uint64_t now = uv_now(&shell->loop);
	struct statistics_wait *wait;

	if (!agent_shell_allows(shell, request, ACL_GET_ENDPOINT, "/monitor/statistics"))
		return;
	if (list_empty(&turns->waiting) && now >= turns->next) {
		statistics_answer(turns, shell, request);
		return;
	}
	if (turns->count >= STATISTICS_WAITING_MAX) {
		http_reply_text(request, 503, NULL);
		return;
	}
	wait = xcalloc(1, sizeof(*wait));
	wait->shell = shell;
	wait->request = request;
	if (list_empty(&turns->waiting))
		uv_timer_start(&turns->timer, statistics_turn, turns->next - now, 0);
	list_append(&turns->waiting, &wait->link);
	turns->count++;
}
