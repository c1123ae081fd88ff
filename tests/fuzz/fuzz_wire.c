// SPDX-License-Identifier: GPL-2.0-only
/* Every check of wire.c, on arbitrary bytes; what passes must be in bounds. */
#include <stdlib.h>
#include <string.h>

#include "rdda/wire.h"

static void try_cmd(const struct rdda_cmd *cmd, unsigned int lba_shift)
{
	static const struct rdda_extent_view ext[] = {
		{ 2048, 2048, true }, { 4096, 2048, false }, { 1ULL << 33, 1 << 20, true },
	};
	const struct rdda_check chk = {
		.ext = ext, .nr_ext = 3, .lba_shift = lba_shift,
		.max_bytes = RDDA_CMD_BYTES_MAX, .arena_off = 1 << 20, .arena_len = 1 << 20,
		.bounce_len = 1 << 18,
	};
	struct rdda_parsed p;

	if (rdda_cmd_parse(cmd, &chk, &p))
		return;
	for (int i = 0; i < 2; i++)
		if (p.len[i] && (p.off[i] < chk.arena_off ||
				 (u64)p.off[i] + p.len[i] > chk.arena_off + chk.arena_len))
			abort();
	if (p.push && (u64)p.bounce + p.bytes > chk.bounce_len)
		abort();
	if (p.opcode == RDDA_OP_FLUSH)
		return;
	if (p.slba < 2048 || !p.blocks)
		abort();
	if (p.opcode != RDDA_OP_READ && p.slba + p.blocks > 4096 && p.slba < 1ULL << 33)
		abort();
}

/* An immediate that passes names a command within the arena, and within a page. */
static void try_inline(u32 imm, u32 len)
{
	const struct rdda_check chk = { .arena_off = 1 << 20, .arena_len = 1 << 20 };
	u32 at;

	if (rdda_inline_check(imm, len, &chk, &at))
		return;
	if (at < chk.arena_off || (u64)at + sizeof(struct rdda_cmd) > 2 << 20 ||
	    at % RDDA_PAGE + sizeof(struct rdda_cmd) > RDDA_PAGE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rdda_login login = { .version_min = 1, .version_max = 1 };
	u64 aligned[RDDA_MSG_MAX / 8 + 1];

	if (size >= 8) {
		u32 imm, len;

		memcpy(&imm, data, 4);
		memcpy(&len, data + 4, 4);
		try_inline(imm, len);
		try_inline(imm & 0x7ff001ff, RDDA_INLINE_LEN(imm) + sizeof(struct rdda_cmd));
	}
	rdda_login_check(data, size);
	rdda_accept_check(data, size, &login);
	if (!rdda_join_check(data, size))
		rdda_joined_check(data, size, (const void *)data);
	if (size > sizeof(aligned))
		return 0;
	memcpy(aligned, data, size);
	rdda_msg_check(aligned, size, true);
	if (size == sizeof(struct rdda_proved))
		rdda_proved_check((const void *)aligned);
	rdda_msg_check(aligned, size, false);
	for (size_t at = 0; at + sizeof(struct rdda_cmd) <= size; at += sizeof(struct rdda_cmd))
		for (unsigned int shift = 9; shift <= 12; shift += 3)
			try_cmd((const void *)((const char *)aligned + at), shift);
	return 0;
}
