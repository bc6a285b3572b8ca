/* Functions that the files of the master core share; no use to the shell. */
#ifndef MASTER_CORE_INTERNAL_H
#define MASTER_CORE_INTERNAL_H

#endif
