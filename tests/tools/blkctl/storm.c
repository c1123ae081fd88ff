// SPDX-License-Identifier: GPL-2.0-only
/* Random messages, most of them wrong in one place or many. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/blkctl/blkctl.h"

static uint64_t seed;

static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> 16;
}

static uint64_t odd_value(void)
{
	static const uint64_t values[] = { 0, 1, 2, 511, 512, 4095, 4096, 65535, 65536, 1 << 20,
		UINT32_MAX, 1ULL << 32, INT64_MAX, 1ULL << 63, UINT64_MAX };

	return rnd() % 4 ? values[rnd() % (sizeof(values) / sizeof(values[0]))] :
			   (uint64_t)rnd() << (rnd() % 40);
}

static void put_noise(struct nl_msg *m, int depth)
{
	unsigned char junk[64];
	int attr = rnd() % (MESHBLK_A_MAX + 4), len = rnd() % 33, i;
	uint64_t v = odd_value();
	struct nlattr *n;

	switch (rnd() % 6) {
	case 0:
		nla_put_u8(m, attr, v);
		break;
	case 1:
		nla_put_u32(m, attr, v);
		break;
	case 2:
		nla_put_u64(m, attr, v);
		break;
	case 3:
		for (i = 0; i < len; i++)
			junk[i] = rnd();
		nla_put(m, attr, len, junk);
		break;
	default:
		n = nla_nest_start(m, attr | (rnd() % 4 ? NLA_F_NESTED : 0));
		for (i = rnd() % 5; i && depth < 4; i--)
			put_noise(m, depth + 1);
		nla_nest_end(m, n);
	}
}

/* An access number and what comes with it, now and then such as a volume may have. */
static void put_access(struct nl_msg *m)
{
	uint32_t places[3] = { rnd() % 3, rnd() % 8 ? rnd() % 3 : odd_value(), 0 };

	if (rnd() % 4)
		nla_put_flag(m, MESHBLK_A_NUMBERED);
	if (rnd() % 4)
		nla_put_u64(m, MESHBLK_A_ATTACH, rnd() % 2 ? (1ULL + rnd() % 4) << 16 : odd_value());
	if (!(rnd() % 4))
		nla_put_u64(m, MESHBLK_A_SERVED, rnd() % 2 ? (1ULL + rnd() % 4) << 16 : odd_value());
	if (!(rnd() % 4))
		nla_put(m, rnd() % 2 ? MESHBLK_A_BARS : MESHBLK_A_FORGOTTEN,
			rnd() % (sizeof(places) + 1), places);
	if (!(rnd() % 4))
		nla_put_flag(m, rnd() % 2 ? MESHBLK_A_AGAIN : MESHBLK_A_BESIDE_STORE);
}

/* A layout that is right but for a few values. */
static void put_almost(struct nl_msg *m)
{
	struct uuid vol = parse_uuid("deadbeef-0000-4000-8000-000000000000");
	int nm = 1 + rnd() % 4, ns = 1 + rnd() % 3, i, j;
	struct member x[4];
	struct segment s[3];
	uint32_t ids[4];
	uint64_t offsets[4];

	put_uuid(m, MESHBLK_A_VOLUME_UUID, &vol);
	nla_put_u64(m, MESHBLK_A_EPOCH, rnd() % 8 ? 1 + rnd() % 50 : odd_value());
	nla_put_u32(m, MESHBLK_A_LBA, rnd() % 8 ? 512 : odd_value());
	if (!(rnd() % 8))
		nla_put_u32(m, MESHBLK_A_IO_TIMEOUT_MS, odd_value());
	if (!(rnd() % 8))
		put_access(m);
	for (i = 0; i < nm; i++) {
		x[i] = (struct member) { .kind = rnd() % 16 ? MESHBLK_KIND_MEM : (int)(rnd() % 5),
			.size = rnd() % 8 ? 1ULL << 30 : odd_value(), .target = rnd() % 3,
			.uuid = derive_uuid(vol, rnd() % 16 ? i : 0) };
		if (!(rnd() % 8))
			snprintf(x[i].path, sizeof(x[i].path), "%s", "/dev/null");
	}
	for (i = 0; i < ns; i++) {
		for (j = 0; j < nm; j++) {
			ids[j] = rnd() % 16 ? (uint32_t)j : (uint32_t)odd_value();
			offsets[j] = rnd() % 16 ? (uint64_t)i << 24 : odd_value();
		}
		s[i] = (struct segment) { .start = (uint64_t)i * nm << 24,
			.length = rnd() % 8 ? (uint64_t)nm << 24 : odd_value(),
			.level = rnd() % 8 ? (nm > 1 ? 2 : 1) : rnd() % 8, .data = nm,
			.parity = rnd() % 16 ? 0 : rnd(), .groups = rnd() % 16 ? 1 : rnd(),
			.strip = rnd() % 8 ? 65536 : odd_value(), .nr = nm,
			.members = ids, .offsets = offsets };
	}
	put_layout(m, x, nm, s, ns);
}

int cmd_storm(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000, i, taken = 0, silent = 0;
	int flags, cmd, err, n;

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) * 2 + 1 : 1;
	for (i = 0; i < 16; i++)
		rnd();
	for (i = 0; i < count; i++) {
		struct nl_msg *m;

		cmd = rnd() % 3 ? MESHBLK_CMD_VOLUME_SET : (int)(rnd() % (MESHBLK_CMD_MAX + 3));
		flags = rnd() % 32 ? 0 : NLM_F_DUMP;
		m = new_msg(cmd, flags);
		n = rnd() % 4;
		if (cmd == MESHBLK_CMD_VOLUME_SET && rnd() % 4) {
			put_almost(m);
			n = rnd() % 4 ? 0 : n;
		}
		for (; n; n--)
			put_noise(m, 0);
		err = talk(m, NULL, NULL);
		taken += !err;
		/* a command that is not there is refused by generic netlink itself */
		if (!err || refusal[0] || err == -EOPNOTSUPP)
			continue;
		silent++;
		fprintf(stderr, "blkctl: message %lu, command %d: %s, and not why\n", i, cmd,
			strerror(-err));
	}
	printf("{\"sent\":%lu,\"taken\":%lu,\"without_reason\":%lu}\n", count, taken, silent);
	return 0;
}
