/* Seeded random numbers (xoshiro256**) and RFC 4122 version 4 UUIDs. Not for
 * secrets. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UUID_BYTES 16
#define UUID_TEXT 37 /* 36 characters and the NUL */

struct rng {
	uint64_t state[4];
};

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_entropy(void); /* a seed from the operating system */
uint64_t rng_next(struct rng *rng);
double rng_unit(struct rng *rng); /* uniform in [0,1) */

void uuid_make(struct rng *rng, uint8_t out[UUID_BYTES]);
void uuid_format(const uint8_t uuid[UUID_BYTES], char out[UUID_TEXT]);
/* Accepts the 36-character text form. */
bool uuid_parse(const char *text, uint8_t out[UUID_BYTES]);
/* Whether `data` is 16 bytes with the mark of an RFC 4122 UUID of version 1-5. All zero
 * bytes have none. */
bool uuid_valid(const void *data, size_t len);

#endif
