/* What files are, by their names. */
#ifndef NET_MEDIA_H
#define NET_MEDIA_H

/* The Content-Type of a file, in Mesos' words; "application/octet-stream" of those that tell
 * nothing. */
const char *media_of(const char *name);

#endif
