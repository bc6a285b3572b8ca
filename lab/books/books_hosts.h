/* What really runs on the hosts. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_HOSTS_H
#define LAB_BOOKS_BOOKS_HOSTS_H

#include "lab/books/records.h"

struct host *books_host(struct books *b, const char *address); /* made if missing */
/* A task is to be handed to its executor. */
void books_launch_sent(struct books *b, const struct process *from, const struct conn *conn,
		       const Mesos__TaskInfo *info);
void books_executor_life(struct books *b, const struct executor_life *life, bool up);
void books_launch_delivered(struct books *b, const struct process *to, const Mesos__TaskInfo *info);
/* Likewise all tasks of a group. */
void books_group_delivered(struct books *b, const struct process *to,
			   const Mesos__TaskGroupInfo *group);
void books_executor_said(struct books *b, const struct process *from, struct task *t,
			 Mesos__TaskState state);
void books_note_capacity(struct books *b, const char *address, const Mesos__AgentInfo *info);
void books_agent_life_began(struct books *b, const struct process *p);
/* Told to shut down, it stores nothing more. */
void books_agent_leaves(struct books *b, const char *address);
bool books_is_leaving(struct books *b, const struct process *agent);
void books_agent_life_ended(struct books *b, const struct process *p);
void books_host_crashed(struct books *b, const char *name);
void books_fw_torn(struct books *b, const struct fw *fw);
void books_free_hosts(struct books *b);

#endif
