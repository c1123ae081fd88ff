/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the writer puts into a sector: which sector of the volume it is, which
 * write it was, and bytes that follow from the two.
 */
#ifndef TESTS_NBD_STAMP_H
#define TESTS_NBD_STAMP_H

#include <stdint.h>
#include <string.h>

#define SECTOR		512
#define STAMP_MAGIC	0x504d545348534d4dULL	/* "MMSHSTMP" */
#define STAMP_NONE	(~0ULL)

static inline uint64_t stamp_mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

static inline void stamp_fill(void *to, uint64_t sector, uint64_t write)
{
	uint64_t word[SECTOR / 8] = { STAMP_MAGIC, sector, write };

	for (int i = 3; i < SECTOR / 8; i++)
		word[i] = stamp_mix(sector << 40 ^ write << 8 ^ i);
	memcpy(to, word, SECTOR);
}

/* The write whose stamp this is, 0 for zeroes, STAMP_NONE for anything else. */
static inline uint64_t stamp_read(const void *from, uint64_t *sector)
{
	static const uint8_t zero[SECTOR];
	uint8_t want[SECTOR];
	uint64_t word[3];

	if (!memcmp(from, zero, SECTOR))
		return 0;
	memcpy(word, from, sizeof(word));
	stamp_fill(want, word[1], word[2]);
	if (memcmp(want, from, SECTOR))
		return STAMP_NONE;
	*sector = word[1];
	return word[2];
}

#endif
