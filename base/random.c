/* xoshiro256** by Blackman and Vigna (seeded by splitmix64) and UUIDs. Entropy comes from
 * getrandom(2); where a sandbox forbids it, from the bytes the kernel handed the process. */
#include "base/random.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <time.h>

#include "base/time/clock.h"

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void rng_seed(struct rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		rng->state[i] = splitmix(&seed);
}

uint64_t rng_entropy(void)
{
	const void *kernel = (const void *)getauxval(AT_RANDOM);
	struct timespec now;
	uint64_t seed = 0;

	/* Up to 256 bytes come whole; only an early boot may be interrupted. */
	for (int attempt = 0; attempt < 10; attempt++)
		if (getrandom(&seed, sizeof(seed), 0) == (ssize_t)sizeof(seed))
			return seed;
	if (kernel)
		memcpy(&seed, kernel, sizeof(seed));
	clock_gettime(CLOCK_MONOTONIC, &now);
	seed ^= (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
	return splitmix(&seed);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

uint64_t rng_next(struct rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

double rng_unit(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

void uuid_make(struct rng *rng, uint8_t out[UUID_BYTES])
{
	uint64_t words[2] = {rng_next(rng), rng_next(rng)};

	memcpy(out, words, UUID_BYTES);
	out[6] = (uint8_t)((out[6] & 0x0f) | 0x40);
	out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

static bool dash_before(int byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void uuid_format(const uint8_t uuid[UUID_BYTES], char out[UUID_TEXT])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < UUID_BYTES; i++) {
		if (dash_before(i))
			*out++ = '-';
		*out++ = digits[uuid[i] >> 4];
		*out++ = digits[uuid[i] & 15];
	}
	*out = '\0';
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool uuid_parse(const char *text, uint8_t out[UUID_BYTES])
{
	uint8_t bytes[UUID_BYTES];

	if (!text)
		return false;
	for (int i = 0; i < UUID_BYTES; i++) {
		int high, low;

		if (dash_before(i) && *text++ != '-')
			return false;
		if ((high = hex_value(text[0])) < 0 || (low = hex_value(text[1])) < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	if (*text)
		return false;
	memcpy(out, bytes, UUID_BYTES);
	return true;
}

bool uuid_valid(const void *data, size_t len)
{
	const uint8_t *bytes = data;

	return len == UUID_BYTES && bytes[6] >> 4 >= 1 && bytes[6] >> 4 <= 5;
}
