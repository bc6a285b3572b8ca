/* What roles are charged for, and their weights. */
#ifndef ALLOCATOR_ROLES_ACCOUNTS_H
#define ALLOCATOR_ROLES_ACCOUNTS_H

#include "allocator/objects.h"

void alloc_accounts_init(struct allocator *a);
void alloc_accounts_free(struct allocator *a);
/* The account of a role, or of a child of one; created if need be. */
struct account *alloc_account_get(struct allocator *a, const char *role);
struct account *alloc_account_child(struct account *parent, const char *component, size_t len);
/* Frees it, and those above it, that nothing needs. */
void alloc_account_put(struct allocator *a, struct account *account);
void alloc_account_charge(struct allocator *a, struct account *account, uint32_t name,
			  int64_t milli);
/* The reservations on an agent changed with its total. */
void alloc_account_reserve(struct allocator *a, const struct resources *old,
			   const struct resources *new);

#endif
