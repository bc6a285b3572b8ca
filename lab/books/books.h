/* Books of a simulated cluster, kept by somebody who sees every letter and every write but
 * shares nothing with the cores: after every step they say whether the invariants hold. What
 * does not is told to world_fail().
 *
 *	books.c		    the observer: who is told what
 *	books_tally.c	    sums of resources
 *	books_agents.c	    agents in the eyes of the present master: totals, what is used
 *	books_operations.c  what changes totals: reservations and volumes
 *	books_offers.c	    offers, and calls that answer them
 *	books_roles.c	    roles: quota, weights, whose turn it was
 *	books_tasks.c	    tasks, their updates and acknowledgements
 *	books_streams.c	    updates that agents wait with
 *	books_kills.c	    orders to kill
 *	books_drivers.c	    what drivers of v0 say and hear
 *	books_debts.c	    what must follow, in the same step or in time
 *	books_registry.c    agents in the registry, what operators are told
 *	books_hosts.c	    what really runs on the hosts
 *	books_disks.c	    what a kill or a crash at this moment would leave
 *	books_volumes.c	    reservations and volumes that agents stored, and their data
 *
 * The invariants, by the names that failures give them:
 *	sums	    what is offered and used of an agent is never more than it has, and whoever
 *		    is offered something of it is offered all that he may have
 *	offers	    no offer outlives its agent, framework or answer
 *	tasks	    a launched task is known until its end is acknowledged, and ends once
 *	routes	    everybody hears of what is his own
 *	durable	    what was acknowledged is stored, and found again
 *	hosts	    nothing is started twice, or beyond what a host has
 *	agents	    one id is one agent, and in one state; who is away is given up
 *	shares	    the role with less, by its weight, and in it the framework with less is
 *		    served first; what is free is offered
 *	quota	    no role is offered more than its limit, nor what guarantees of others need
 *	quiet	    in peace, few letters are sent
 *	leaks	    in the end, nothing is left of what is over
 */
#ifndef LAB_BOOKS_BOOKS_H
#define LAB_BOOKS_BOOKS_H

#include "lab/world/wires.h"

struct books *books_open(struct world *w);
void books_close(struct books *b);
/* Nothing is left of frameworks: disks hold what is still asked of them, and no more. */
void books_check_left(struct books *b);
/* From now on no more than so many letters may be sent in a minute. */
void books_expect_quiet(struct books *b, uint64_t letters);

#endif
