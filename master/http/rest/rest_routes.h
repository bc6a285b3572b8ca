/* The handlers of the endpoints, one a route (master/http/routes.c), each in the file of its
 * family. */
#ifndef MASTER_HTTP_REST_REST_ROUTES_H
#define MASTER_HTTP_REST_REST_ROUTES_H

struct http_request;

void rest_state(void *shell, struct http_request *request);
void rest_state_summary(void *shell, struct http_request *request);
void rest_slaves(void *shell, struct http_request *request);
void rest_frameworks(void *shell, struct http_request *request);
void rest_roles(void *shell, struct http_request *request);
void rest_tasks(void *shell, struct http_request *request);
void rest_offers(void *shell, struct http_request *request);
void rest_away(void *shell, struct http_request *request);
void rest_volumes(void *shell, struct http_request *request);
void rest_masters(void *shell, struct http_request *request);
void rest_flags(void *shell, struct http_request *request);
void rest_logging(void *shell, struct http_request *request);
void rest_system(void *shell, struct http_request *request);
void rest_help(void *shell, struct http_request *request);
void rest_health(void *shell, struct http_request *request);
void rest_version(void *shell, struct http_request *request);
void rest_redirect(void *shell, struct http_request *request);
void rest_teardown(void *shell, struct http_request *request);
void rest_kill_task(void *shell, struct http_request *request);
void rest_reserve(void *shell, struct http_request *request);
void rest_unreserve(void *shell, struct http_request *request);
void rest_create_volumes(void *shell, struct http_request *request);
void rest_destroy_volumes(void *shell, struct http_request *request);
void rest_metrics(void *shell, struct http_request *request);
void rest_prometheus(void *shell, struct http_request *request);
void rest_quota(void *shell, struct http_request *request);
void rest_weights(void *shell, struct http_request *request);
void rest_maintenance_schedule(void *shell, struct http_request *request);
void rest_maintenance_status(void *shell, struct http_request *request);
void rest_machine_down(void *shell, struct http_request *request);
void rest_machine_up(void *shell, struct http_request *request);

#endif
