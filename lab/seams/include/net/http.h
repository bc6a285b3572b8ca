/* The HTTP server in the simulated world (lab/seams/http_server.c): the same contract, by names of
 * its own. */
#ifndef LAB_SEAMS_INCLUDE_NET_HTTP_H
#define LAB_SEAMS_INCLUDE_NET_HTTP_H

#define http_header sim_http_header
#define http_peer sim_http_peer
#define http_reply sim_http_reply
#define http_reply_text sim_http_reply_text

#include_next "net/http.h"

#endif
