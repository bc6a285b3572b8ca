/* SipHash-1-3 (Aumasson and Bernstein) for the hash tables, keyed once per process. */
#include "base/table.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#include "base/random.h"

struct sip {
	uint64_t v0;
	uint64_t v1;
	uint64_t v2;
	uint64_t v3;
};

static uint64_t seed[2];
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

static void draw_seed(void)
{
	seed[0] = rng_entropy();
	seed[1] = rng_entropy();
}

static inline uint64_t rotate_left(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static inline void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotate_left(s->v1, 13) ^ s->v0;
	s->v0 = rotate_left(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate_left(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate_left(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate_left(s->v1, 17) ^ s->v2;
	s->v2 = rotate_left(s->v2, 32);
}

static inline void sip_absorb(struct sip *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

uint64_t table_siphash13(const uint64_t key[2], const void *data, size_t len)
{
	struct sip s = {
		key[0] ^ UINT64_C(0x736f6d6570736575),
		key[1] ^ UINT64_C(0x646f72616e646f6d),
		key[0] ^ UINT64_C(0x6c7967656e657261),
		key[1] ^ UINT64_C(0x7465646279746573),
	};
	const unsigned char *bytes = data;
	uint64_t word, last = (uint64_t)len << 56;
	size_t rest = len % 8;

	for (const unsigned char *end = bytes + (len - rest); bytes != end; bytes += 8) {
		memcpy(&word, bytes, 8);
		sip_absorb(&s, le64toh(word));
	}
	for (size_t i = 0; i < rest; i++)
		last |= (uint64_t)bytes[i] << (8 * i);
	sip_absorb(&s, last);
	s.v2 ^= 0xff;
	sip_round(&s);
	sip_round(&s);
	sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint32_t table_hash(const void *key, size_t len)
{
	pthread_once(&seed_once, draw_seed);
	return (uint32_t)table_siphash13(seed, key, len);
}
