/* How clients say who they are. */
#ifndef CLIENT_CREDENTIAL_H
#define CLIENT_CREDENTIAL_H

/* The value of an Authorization header for HTTP's Basic scheme; heap. `secret` may be NULL; line
 * ends behind it, as files have them, are no part of it. */
char *credential_basic(const char *principal, const char *secret);

#endif
