/* Agents in the eyes of the present master. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_AGENTS_H
#define LAB_BOOKS_BOOKS_AGENTS_H

#include "lab/books/records.h"

struct tally;

struct view *books_view(const struct books *b, const char *agent_id);
/* The master may count tasks on the agent that it knows nothing of. */
bool books_unsure(const struct books *b, struct view *v);
struct view *books_view_at(const struct books *b, const char *address);
void books_touch(struct books *b, struct view *v);
/* What the agent has is now this. */
void books_set_total(struct books *b, struct view *v, const struct tally *total);
/* Of an executor `of` is its agent, of a task NULL. */
struct claim *books_claim(const struct books *b, const struct view *of, const char *framework_id,
			  const char *id);
struct claim *books_add_claim(struct books *b, bool executor, struct view *v, struct fw *fw,
			      const char *id, Mesos__Resource *const *list, size_t count);
struct task *books_claimed(struct books *b, const struct claim *c); /* not an executor's */
void books_release(struct books *b, struct claim *c);
void books_drop_claim(struct books *b, struct claim *c);
void books_want_registration(struct books *b, const char *from, const struct letter *letter);
/* The master hears from the agent what it has, besides. */
void books_agent_updated(struct books *b, const char *from, const struct letter *letter);
void books_registered(struct books *b, const char *agent_id, const char *address);
void books_reregistered(struct books *b, const char *agent_id, const char *address);
void books_agent_link_closed(struct books *b, const char *address);
void books_executor_exited(struct books *b, const char *from, const struct letter *letter);
void books_agent_record_deleted(struct books *b, const char *agent_id);
void books_check_views(struct books *b);
void books_master_began(struct books *b);
void books_master_ended(struct books *b);

#endif
