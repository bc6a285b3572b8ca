/* meta/slaves/latest below the work directory: the link by which operators of Mesos know,
 * and take away, the identity of an agent ("rm -f <work_dir>/meta/slaves/latest").
 *
 * The identity itself is in the store; the link follows it, and its absence beside the
 * directory of an agent tells that the next start is to be that of a new agent.
 */
#ifndef AGENT_LATEST_H
#define AGENT_LATEST_H

#include <stdbool.h>

/* Whether somebody took the link away. */
bool latest_removed(const char *work_dir);
/* Points it to the directory of this agent, which is made. Failures are logged. */
void latest_set(const char *work_dir, const char *agent_id);

#endif
