// SPDX-License-Identifier: GPL-2.0-only
/*
 * check-members FOLDER: checks that the copies of a stopped volume agree, that its
 * parity is right, and that each stamped sector lies where it should.
 *
 * A second opinion, from docs/protection.md and docs/codec.md alone: nothing of
 * protect/ is included. Multiplication is bit by bit, as the polynomial 0x11d
 * says; places of sectors are counted from the member to the volume, not the
 * other way. Members that are not in sync are left out: what k of the others
 * say is held against the rest, if there is a rest.
 *
 * Exit status: 0 all right, 1 something is wrong, 2 it cannot be checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/nbd/stamp.h"

enum { MIRROR = 3, RAID10 = 4, EC = 5 };	/* numbers of docs/netlink.md */

static struct {
	unsigned long long level, data, parity, groups, strip, bytes, data_at, members;
	int in[64];
} v;
static const uint8_t *disk[64];		/* of each member, its data */
static uint64_t wrong, compared, stamps;

static int load(const char *dir)
{
	struct { const char *key; unsigned long long *to; } keys[] = {
		{ "level", &v.level }, { "data", &v.data }, { "parity", &v.parity },
		{ "groups", &v.groups }, { "strip", &v.strip }, { "bytes", &v.bytes },
		{ "data_at", &v.data_at }, { "members", &v.members },
	};
	char path[4096], line[256], word[16];
	unsigned int i;
	FILE *f;

	snprintf(path, sizeof(path), "%s/state", dir);
	f = fopen(path, "r");
	if (!f) {
		perror(path);
		return -1;
	}
	while (fgets(line, sizeof(line), f)) {
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			size_t n = strlen(keys[i].key);

			if (!strncmp(line, keys[i].key, n) && line[n] == ' ')
				*keys[i].to = strtoull(line + n, NULL, 10);
		}
		if (sscanf(line, "member %u %15s", &i, word) == 2 && i < 64)
			v.in[i] = !strcmp(word, "in");
	}
	fclose(f);
	return v.members && v.members <= 64 && v.groups && v.data && v.strip && v.bytes ? 0 : -1;
}

static int map_members(const char *dir)
{
	for (unsigned int i = 0; i < v.members; i++) {
		char path[4096];
		uint8_t *all;
		int fd;

		if (!v.in[i])
			continue;
		snprintf(path, sizeof(path), "%s/m%u", dir, i);
		fd = open(path, O_RDONLY);
		all = fd < 0 ? MAP_FAILED : mmap(NULL, v.data_at + v.bytes, PROT_READ, MAP_SHARED,
						 fd, 0);
		if (all == MAP_FAILED) {
			perror(path);
			return -1;
		}
		close(fd);
		disk[i] = all + v.data_at;
	}
	return 0;
}

static void bad(const char *what, unsigned int group, unsigned int member, uint64_t byte)
{
	if (wrong++ < 10)
		printf("group %u, member %u, byte %ju of its data: %s\n", group, member,
		       (uintmax_t)byte, what);
}

/* The volume's sector that lies at byte @at of the data of strip @strip of a group. */
static uint64_t sector_of(unsigned int group, unsigned int strip, uint64_t at)
{
	uint64_t row = at / v.strip, in = at % v.strip;
	uint64_t strips_a_row = v.groups * (v.level == EC ? v.data : 1);
	uint64_t before = row * strips_a_row + group * (v.level == EC ? v.data : 1) + strip;

	return (before * v.strip + in) / SECTOR;
}

static void look_at_stamp(unsigned int group, unsigned int member, unsigned int strip, uint64_t at)
{
	uint64_t sector = 0, is = stamp_read(disk[member] + at, &sector);

	if (is == STAMP_NONE || !is)
		return;		/* zeroes, or data of something else */
	stamps++;
	if (sector != sector_of(group, strip, at))
		bad("a sector of the volume lies at the wrong place", group, member, at);
}

static void check_copies(unsigned int group)
{
	unsigned int first = group * v.data, one = ~0U;

	for (unsigned int i = first; i < first + v.data; i++) {
		if (!v.in[i])
			continue;
		for (uint64_t at = 0; at < v.bytes; at += SECTOR) {
			if (one == ~0U) {
				look_at_stamp(group, i, 0, at);
				continue;
			}
			compared++;
			if (memcmp(disk[one] + at, disk[i] + at, SECTOR))
				bad("differs from the first copy", group, i, at);
		}
		if (one == ~0U)
			one = i;
	}
}

/* GF(256), the slow and obvious way. */
static uint8_t mul(uint8_t a, uint8_t b)
{
	unsigned int p = 0;

	for (int bit = 0; bit < 8; bit++)
		if (b >> bit & 1)
			p ^= (unsigned int)a << bit;
	for (int bit = 15; bit >= 8; bit--)
		if (p >> bit & 1)
			p ^= 0x11dU << (bit - 8);
	return p;
}

static uint8_t inverse(uint8_t a)
{
	for (unsigned int b = 1; b < 256; b++)
		if (mul(a, b) == 1)
			return b;
	return 0;
}

/* Row of strip @s: how it follows from the data strips. */
static void equation(unsigned int s, uint8_t *row)
{
	unsigned int r = s - v.data;

	memset(row, 0, v.data);
	if (s < v.data) {
		row[s] = 1;
		return;
	}
	for (unsigned int j = 0; j < v.data; j++) {
		if (v.parity >= 3) {
			row[j] = inverse(s ^ j);
			continue;
		}
		row[j] = 1;		/* P, and of Q: 2 to the power of j */
		for (unsigned int n = 0; r && n < j; n++)
			row[j] = mul(row[j], 2);
	}
}

/*
 * From @k strips that are there to the data: Gauss and Jordan on their equations.
 * @out: data j = sum out[j][i] * strip have[i].
 */
static int solve(const unsigned int *have, uint8_t (*out)[36])
{
	uint8_t a[36][36];
	unsigned int k = v.data;

	for (unsigned int i = 0; i < k; i++) {
		equation(have[i], a[i]);
		memset(out[i], 0, 36);
		out[i][i] = 1;
	}
	for (unsigned int c = 0; c < k; c++) {
		unsigned int p = c;
		uint8_t f;

		while (p < k && !a[p][c])
			p++;
		if (p == k)
			return -1;
		for (unsigned int i = 0; i < k; i++) {
			uint8_t t = a[p][i], u = out[p][i];

			a[p][i] = a[c][i];
			a[c][i] = t;
			out[p][i] = out[c][i];
			out[c][i] = u;
		}
		f = inverse(a[c][c]);
		for (unsigned int i = 0; i < k; i++) {
			a[c][i] = mul(a[c][i], f);
			out[c][i] = mul(out[c][i], f);
		}
		for (unsigned int q = 0; q < k; q++) {
			f = a[q][c];
			if (q == c || !f)
				continue;
			for (unsigned int i = 0; i < k; i++) {
				a[q][i] ^= mul(a[c][i], f);
				out[q][i] ^= mul(out[c][i], f);
			}
		}
	}
	return 0;
}

/* Products of one factor with all bytes, so that a row costs look-ups. */
static void add_product(uint8_t *to, const uint8_t *from, uint8_t factor, size_t n)
{
	static uint8_t table[256][256];
	static uint8_t made[256];

	if (!factor)
		return;
	for (unsigned int b = 0; !made[factor] && b < 256; b++)
		table[factor][b] = mul(factor, b);
	made[factor] = 1;
	for (size_t i = 0; i < n; i++)
		to[i] ^= table[factor][from[i]];
}

/* Strip @s of stripe @t is on this member of its group. */
static unsigned int member_of(unsigned int group, uint64_t t, unsigned int s)
{
	unsigned int n = v.data + v.parity;

	return group * n + (s + t % n) % n;
}

static void check_stripe(unsigned int group, uint64_t t)
{
	unsigned int n = v.data + v.parity, have[36], nr = 0, k = v.data;
	static uint8_t data[32][1 << 20], want[1 << 20];
	uint8_t from[36][36], row[36];
	uint64_t at = t * v.strip;

	for (unsigned int s = 0; s < n && nr < k; s++)
		if (v.in[member_of(group, t, s)])
			have[nr++] = s;
	if (nr < k || solve(have, from)) {
		bad("fewer strips than it takes to know anything", group, 0, at);
		return;
	}
	for (unsigned int j = 0; j < k; j++) {
		memset(data[j], 0, v.strip);
		for (unsigned int i = 0; i < k; i++)
			add_product(data[j], disk[member_of(group, t, have[i])] + at, from[j][i],
				    v.strip);
	}
	for (unsigned int s = 0; s < n; s++) {
		unsigned int m = member_of(group, t, s);

		if (!v.in[m])
			continue;
		equation(s, row);
		memset(want, 0, v.strip);
		for (unsigned int j = 0; j < k; j++)
			add_product(want, data[j], row[j], v.strip);
		for (uint64_t i = 0; i < v.strip; i += SECTOR) {
			compared++;
			if (memcmp(want + i, disk[m] + at + i, SECTOR))
				bad(s < k ? "does not follow from the others" : "parity is wrong",
				    group, m, at + i);
			if (s < k)
				look_at_stamp(group, m, s, at + i);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "check-members FOLDER\n");
		return 2;
	}
	if (load(argv[1]) || map_members(argv[1])) {
		fprintf(stderr, "check-members: %s is not a volume's folder\n", argv[1]);
		return 2;
	}
	for (unsigned int g = 0; g < v.groups; g++) {
		if (v.level != EC) {
			check_copies(g);
			continue;
		}
		for (uint64_t t = 0; t < v.bytes / v.strip; t++)
			check_stripe(g, t);
	}
	printf("checked: %ju sectors against others, %ju stamps at their places, %ju wrong\n",
	       (uintmax_t)compared, (uintmax_t)stamps, (uintmax_t)wrong);
	return wrong ? 1 : 0;
}
