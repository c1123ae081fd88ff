// SPDX-License-Identifier: GPL-2.0-only
/* Every check of wire.c, on arbitrary bytes; what passes must be in bounds. */
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>

#include "rdda/wire.h"

static const struct rdda_extent_view ext[] = {
	{ 2048, 2048, true }, { 4096, 2048, false }, { 1ULL << 33, 1 << 20, true },
};

static void try_cmd(const struct rdda_cmd *cmd, unsigned int lba_shift)
{
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

/*
 * An immediate that passes names a payload, what came before it and a command within the arena, the
 * command within a page. @cmd: one that came with it; it is taken for what was placed only if it
 * names that.
 */
static void try_inline(u32 imm, u32 len, u32 features, u32 arena_off, const struct rdda_cmd *cmd)
{
	const struct rdda_check chk = {
		.ext = ext, .nr_ext = 3, .lba_shift = 9, .max_bytes = RDDA_CMD_BYTES_MAX,
		.arena_off = arena_off, .arena_len = 1 << 20,
	};
	u64 end = (u64)arena_off + chk.arena_len;
	struct rdda_inline in;
	struct rdda_parsed p;

	if (rdda_inline_check(imm, len, features, &chk, &in))
		return;
	if (in.off < arena_off || (u64)in.off + in.bytes > end || in.head > in.off - arena_off ||
	    in.cmd < arena_off || (u64)in.cmd + sizeof(struct rdda_cmd) > end ||
	    in.cmd % RDDA_PAGE + sizeof(struct rdda_cmd) > RDDA_PAGE)
		abort();
	if (in.head ? in.cmd + sizeof(struct rdda_cmd) + in.head != in.off :
		      in.cmd != in.off + in.bytes)
		abort();
	if (in.head && !(features & RDDA_FEAT_INLINE_HEAD))
		abort();
	if (rdda_cmd_parse(cmd, &chk, &p) || rdda_inline_cmd_check(&in, features, &p))
		return;
	if (in.head ? p.bytes != in.head + in.bytes : p.bytes < in.bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rdda_login login = { .version_min = 1, .version_max = 1 };
	u64 aligned[RDDA_MSG_MAX / 8 + 1];

	if (size >= 8 + sizeof(struct rdda_cmd)) {
		u32 head = (data[7] & 7) * RDDA_INLINE_UNIT, features = data[6];
		u32 arena = data[5] & 1 ? 1 << 20 : 0;
		struct rdda_cmd cmd;
		u32 imm, len;

		memcpy(&imm, data, 4);
		memcpy(&len, data + 4, 4);
		memcpy(&cmd, data + 8, sizeof(cmd));
		try_inline(imm, len, features, arena, &cmd);
		imm &= 0x7ff001ff;
		len = RDDA_INLINE_LEN(imm) + sizeof(cmd);
		try_inline(imm, len, features, arena, &cmd);
		try_inline(imm, len + head, features, arena, &cmd);
		/* as a client sends a record: the command names the head's page, then the next */
		cmd.opcode = RDDA_OP_WRITE;
		cmd.prp1 = cpu_to_le64(RDDA_INLINE_OFF(imm) - head);
		cmd.prp2 = cpu_to_le64(RDDA_INLINE_OFF(imm));
		try_inline(imm, len + head, features, arena, &cmd);
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
