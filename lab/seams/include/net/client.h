/* The HTTP client in the simulated world (lab/seams/http_client.c): the same contract, by names of
 * its own. */
#ifndef LAB_SEAMS_INCLUDE_NET_CLIENT_H
#define LAB_SEAMS_INCLUDE_NET_CLIENT_H

#define http_client_create sim_http_client_create
#define http_client_pipeline sim_http_client_pipeline
#define http_client_close sim_http_client_close
#define http_client_send sim_http_client_send
#define http_client_stream sim_http_client_stream
#define http_client_waiting sim_http_client_waiting

#include_next "net/client.h"

#endif
