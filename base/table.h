/* Hash tables: uthash with our hash function.
 *
 * Include this instead of <uthash.h>. Tables iterate in insertion order, so
 * iteration is deterministic whatever the seed. Keys come from outside, so the
 * hash is keyed (SipHash-1-3) with a seed drawn once per process: nobody can
 * choose ids that collide.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* The hash function by itself, for its test vectors. */
uint64_t table_siphash13(const uint64_t key[2], const void *data, size_t len);
uint32_t table_hash(const void *key, size_t len);

#define HASH_FUNCTION(keyptr, keylen, hashv) ((hashv) = table_hash((keyptr), (keylen)))
#include <uthash.h>

#endif
