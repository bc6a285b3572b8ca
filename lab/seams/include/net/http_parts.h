/* As include/net/http.h. */
#ifndef LAB_SEAMS_INCLUDE_NET_HTTP_PARTS_H
#define LAB_SEAMS_INCLUDE_NET_HTTP_PARTS_H

#define http_stream_open sim_http_stream_open
#define http_stream_record sim_http_stream_record
#define http_chunk_record sim_http_chunk_record
#define http_stream_pass sim_http_stream_pass
#define http_stream_when_drained sim_http_stream_when_drained
#define http_stream_waiting sim_http_stream_waiting

#include_next "net/http_parts.h"

#endif
