/* What is random in the simulated world is of its seed. */
#ifndef LAB_SEAMS_INCLUDE_BASE_RANDOM_H
#define LAB_SEAMS_INCLUDE_BASE_RANDOM_H

#include_next "base/random.h"

#define rng_entropy sim_rng_entropy
uint64_t rng_entropy(void);

#endif
