/* Tasks, and what is said of them on every way. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_TASKS_H
#define LAB_BOOKS_BOOKS_TASKS_H

#include "lab/books/records.h"

struct task *books_task(struct books *b, const char *framework_id, const char *task_id, bool make);
void books_note_slowness(struct books *b);
/* `group`: tasks of its group; 0 = it is of none. */
void books_task_launched(struct books *b, struct fw *fw, const Mesos__TaskInfo *info, size_t group);
/* RunTask or RunTaskGroup reached an agent. */
void books_task_ordered(struct books *b, const struct letter *letter);
void books_group_ordered(struct books *b, const struct letter *letter);
void books_executor_call(struct books *b, const struct process *from, const struct letter *letter);
void books_executor_call_delivered(struct books *b, const struct letter *letter);
void books_executor_acknowledged(struct books *b, const struct process *from,
				 const Mesos__Executor__Event__Acknowledged *event);
void books_agent_update_sent(struct books *b, const struct process *from,
			     const struct letter *letter);
void books_agent_update_delivered(struct books *b, const char *from, const struct letter *letter);
void books_update_event(struct books *b, struct fw *fw, const Mesos__TaskStatus *status);
void books_agent_gone(struct books *b, const char *agent_id);
void books_note_sent_last(struct books *b, struct task *t, const Mesos__Task *task);
void books_acknowledged(struct books *b, struct fw *fw,
			const Mesos__Scheduler__Call__Acknowledge *call);
void books_forwarded_acknowledgement(struct books *b, const struct letter *letter);
struct update *books_find_update(const struct books *b, const ProtobufCBinaryData *uuid);
const char *books_state_name(Mesos__TaskState state);
bool books_terminal(Mesos__TaskState state);
void books_free_tasks(struct books *b);

#endif
