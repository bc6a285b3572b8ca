/* The life of an operation in the master, as a table. What an agent says is an input and may be
 * anything: the table says what becomes of it. */
#ifndef MASTER_CORE_OPERATIONS_OPERATION_LIFE_H
#define MASTER_CORE_OPERATIONS_OPERATION_LIFE_H

#include "master/core/objects.h"

enum operation_effect {
	OPERATION_STAYS,  /* as it is: what was said last is final */
	OPERATION_MOVES,  /* has the new state, and goes on */
	OPERATION_STANDS, /* is over, and was carried out */
	OPERATION_FAILS,  /* is over, and was not: what was assumed of it is undone */
};

enum operation_effect operation_effect(int from, int to);
/* Brings the operation to what the status says, if the table has that, and counts it there. */
enum operation_effect operation_life_move(struct master *m, struct operation *o,
					  const Mesos__OperationStatus *to);
/* Counts operations of the type in the state: those there are, and those that ended so. Numbers
 * that are no type or no state count for nothing. */
void operation_life_count(struct master *m, int type, int state, int change);

#endif
