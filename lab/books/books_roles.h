/* Roles: what each has, its quota and weight, and whose turn it was. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_ROLES_H
#define LAB_BOOKS_BOOKS_ROLES_H

#include "lab/books/records.h"

struct tally;

struct role *books_role(struct books *b, const char *name);
struct seat *books_seat(struct books *b, struct fw *fw, const char *role); /* made if missing */
/* In the role that these are allocated to. */
struct seat *books_seat_of(struct books *b, struct fw *fw, Mesos__Resource *const *list,
			   size_t count);
void books_seat_roles(struct books *b, struct fw *fw, const Mesos__FrameworkInfo *info);
void books_take(struct seat *seat, const struct tally *amounts);
void books_give_back(struct seat *seat, const struct tally *amounts);
/* It was not taken back by the master in an earlier step. */
void books_note_released(const struct books *b, struct seat *seat, const struct tally *amounts);
/* Taken, and looked at after the step. */
void books_grant(struct books *b, struct seat *seat, const struct tally *amounts);
void books_quota_written(struct books *b, const char *name, struct slice value);
void books_weight_written(struct books *b, const char *name, struct slice value);
void books_forget_orders(struct books *b);
/* Quota may keep it from what is free. */
/* Of what is free of the agent somebody should have been offered something. */
bool books_is_wanted(struct books *b, const struct view *v);
bool books_is_bounded(const struct books *b, const struct seat *seat);
/* Of the name; INT64_MAX if its role may have any. */
int64_t books_limit_left(const struct books *b, const struct seat *seat, uint32_t name);
void books_check_shares(struct books *b);
void books_free_seats(struct fw *fw);
void books_free_roles(struct books *b);

#endif
