// SPDX-License-Identifier: GPL-2.0-only
/* Opens and commands, as an honest client makes them. */
#define pr_fmt(fmt) "meshpeer: " fmt
#include <linux/mm.h>
#include <linux/slab.h>

#include "peer.h"

static int open_word(struct rdda_open *m, char *word)
{
	static const struct {
		const char *name;
		u8 flag;
		bool served;
	} words[] = {
		{ "preempt", RDDA_OPEN_PREEMPT }, { "again", RDDA_OPEN_AGAIN },
		{ "probe", RDDA_OPEN_PROBE }, { "number=", RDDA_OPEN_NUMBERED },
		{ "served=", RDDA_OPEN_RETAKE, true },
	};
	unsigned int i;
	u64 number;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		len = strlen(words[i].name);
		if (strncmp(word, words[i].name, len))
			continue;
		m->hdr.flags |= words[i].flag;
		if (words[i].name[len - 1] != '=')
			return word[len] ? -EINVAL : 0;
		if (kstrtou64(word + len, 0, &number))
			return -EINVAL;
		if (words[i].served)
			m->served = cpu_to_le64(number);
		else
			m->attach = cpu_to_le64(number);
		return 0;
	}
	return -EINVAL;
}

/**
 * peer_open() - OPEN an extent
 * @c: connection
 * @argc: words
 * @argv: EXTENT ro|rw EPOCH [preempt] [again] [probe] [number=N] [served=N]
 */
int peer_open(struct peer_conn *c, int argc, char **argv)
{
	struct rdda_open m = {
		.hdr.type = RDDA_OPEN,
		.hdr.len = cpu_to_le32(sizeof(m)),
	};
	struct rdda_opened a;
	uuid_t uuid;
	u64 epoch;
	int i, ret;

	if (argc < 3 || uuid_parse(argv[0], &uuid) || kstrtou64(argv[2], 0, &epoch))
		return -EINVAL;
	export_uuid(m.extent, &uuid);
	m.epoch = cpu_to_le64(epoch);
	m.access = strcmp(argv[1], "rw") ? RDDA_RO : RDDA_RW;
	for (i = 3, ret = 0; i < argc && !ret; i++)
		ret = open_word(&m, argv[i]);
	if (ret)
		return ret;
	ret = peer_request(c, &m, sizeof(m), &a, sizeof(a));
	if (ret)
		return ret;
	peer_say("status=%u nsid=%u handle=%u slba=%llu blocks=%llu", a.status,
		 le32_to_cpu(a.nsid), le32_to_cpu(a.handle), le64_to_cpu(a.slba),
		 le64_to_cpu(a.blocks));
	peer_say(" shift=%u most=%u flags=%u ", a.lba_shift, le32_to_cpu(a.max_bytes),
		 le16_to_cpu(a.flags));
	peer_say("attach=%#llx attacher=%pUb writers=%u readers=%u ", le64_to_cpu(a.attach),
		 a.attacher, le32_to_cpu(a.writers), le32_to_cpu(a.readers));
	if (a.status == RDDA_OPEN_OK)
		peer_say("dead=%u\n", le32_to_cpu(a.dead_ms));
	else
		peer_say("holder=%pUb\n", a.holder);
	return 0;
}

/**
 * peer_close() - CLOSE an opening
 * @c: connection
 * @argc: words
 * @argv: HANDLE
 */
int peer_close(struct peer_conn *c, int argc, char **argv)
{
	struct rdda_close m = {
		.hdr.type = RDDA_CLOSE,
		.hdr.len = cpu_to_le32(sizeof(m)),
	}, a;
	u32 handle;
	int ret;

	if (argc < 1 || kstrtou32(argv[0], 0, &handle))
		return -EINVAL;
	m.handle = cpu_to_le32(handle);
	ret = peer_request(c, &m, sizeof(m), &a, sizeof(a));
	if (!ret)
		peer_say("status=%u\n", le32_to_cpu(a.status));
	return ret;
}

/**
 * peer_rdma() - bare READ or WRITE between our buffer and a remote key
 * @c: connection
 * @write: else READ
 * @rkey: remote key
 * @addr: remote address, zero based
 * @off: in our buffer
 * @len: bytes
 */
int peer_rdma(struct peer_conn *c, int write, u32 rkey, u64 addr, u32 off, u32 len)
{
	struct ib_sge sge = {
		.addr = c->buf_dma + off, .length = len, .lkey = c->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.opcode = write ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = addr,
		.rkey = rkey,
	};

	return peer_post(c, &wr.wr, &wr.wr);
}

/* Between our buffer and arena offsets, piece by piece. */
static int arena_move(struct peer_conn *c, int write, u32 arena, u32 len)
{
	u32 off = 0;
	unsigned int i;
	int ret;

	for (i = 0; i < c->nr_pieces && len; i++) {
		u32 start = le32_to_cpu(c->piece[i].off), size = le32_to_cpu(c->piece[i].len), n;

		if (arena < start || arena - start >= size)
			continue;
		n = min(len, size - (arena - start));
		ret = peer_rdma(c, write, le32_to_cpu(c->piece[i].rkey), arena - start, off, n);
		if (ret)
			return ret;
		arena += n;
		off += n;
		len -= n;
	}
	return len ? -ERANGE : 0;
}

static u64 word(u64 seed, u64 lba_word)
{
	return (seed + 1) * 0x9e3779b97f4a7c15ULL + lba_word * 0xc2b2ae3d27d4eb4fULL;
}

static void fill(void *buf, u64 seed, u64 byte, u32 len)
{
	u64 *w = buf;
	u32 i;

	for (i = 0; i < len / 8; i++)
		w[i] = word(seed, byte / 8 + i);
}

static long differs(const void *buf, u64 seed, u64 byte, u32 len)
{
	const u64 *w = buf;
	u32 i;

	for (i = 0; i < len / 8; i++)
		if (w[i] != (seed == U64_MAX ? 0 : word(seed, byte / 8 + i)))
			return i * 8;
	return -1;
}

static bool cmd_ended(struct peer_conn *c, long slot)
{
	return c->cmd[slot].ended || c->lost;
}

static bool all_ended(struct peer_conn *c, long arg)
{
	unsigned int i;

	for (i = 0; i < RDDA_CMD_SLOTS_MAX && !c->lost; i++)
		if (c->cmd[i].busy && !c->cmd[i].ended)
			return false;
	return true;
}

/*
 * struct io - one command, as the words said
 */
struct io {
	const char *kind;
	u32	nsid;
	u64	slba;
	u32	blocks;
	u64	seed;		/* of the pattern; "zero" expects zeroes */
	u32	off;		/* arena offset */
	u32	shift;
	bool	nowait;
	bool	inlined;	/* data and command in one WRITE */
	u32	imm;		/* its immediate */
	u32	prp;		/* where the command says the data is */
};

static int io_parse(struct peer_conn *c, struct io *io, int argc, char **argv)
{
	int i;

	memset(io, 0, sizeof(*io));
	io->shift = 9;
	io->off = c->arena_off;
	if (argc < 5 || kstrtou32(argv[1], 0, &io->nsid) || kstrtou64(argv[2], 0, &io->slba) ||
	    kstrtou32(argv[3], 0, &io->blocks))
		return -EINVAL;
	io->kind = argv[0];
	if (!strcmp(argv[4], "zero"))
		io->seed = U64_MAX;
	else if (kstrtou64(argv[4], 0, &io->seed))
		return -EINVAL;
	for (i = 5; i < argc; i++) {
		if (!strncmp(argv[i], "off=", 4) && !kstrtou32(argv[i] + 4, 0, &io->off))
			continue;
		if (!strncmp(argv[i], "shift=", 6) && !kstrtou32(argv[i] + 6, 0, &io->shift))
			continue;
		if (!strncmp(argv[i], "imm=", 4) && !kstrtou32(argv[i] + 4, 0, &io->imm))
			continue;
		if (!strncmp(argv[i], "prp=", 4) && !kstrtou32(argv[i] + 4, 0, &io->prp))
			continue;
		if (!strcmp(argv[i], "inline"))
			io->inlined = true;
		else if (!strcmp(argv[i], "nowait"))
			io->nowait = true;
		else
			return -EINVAL;
	}
	return 0;
}

static void io_payload(const struct io *io, struct rdda_cmd *cmd)
{
	u32 bytes = io->blocks << io->shift, first = RDDA_PAGE - (io->off & (RDDA_PAGE - 1));

	cmd->slba = cpu_to_le64(io->slba);
	cmd->nlb = cpu_to_le16(io->blocks - 1);
	cmd->prp1 = cpu_to_le64(io->off);
	if (bytes > first)
		cmd->prp2 = cpu_to_le64(io->off + first);
}

static int io_encode(const struct io *io, struct rdda_cmd *cmd)
{
	cmd->nsid = cpu_to_le32(io->nsid);
	if (!strcmp(io->kind, "write")) {
		cmd->opcode = RDDA_OP_WRITE;
		io_payload(io, cmd);
	} else if (!strcmp(io->kind, "read") || !strcmp(io->kind, "push")) {
		cmd->opcode = RDDA_OP_READ;
		io_payload(io, cmd);
		if (io->kind[0] == 'p')
			cmd->mptr = cpu_to_le64(RDDA_MPTR_PUSH);
	} else if (!strcmp(io->kind, "zeroes")) {
		cmd->opcode = RDDA_OP_WRITE_ZEROES;
		cmd->slba = cpu_to_le64(io->slba);
		cmd->nlb = cpu_to_le16(io->blocks - 1);
	} else if (!strcmp(io->kind, "discard")) {
		cmd->opcode = RDDA_OP_DSM;
		cmd->slba = cpu_to_le64(io->slba);
		cmd->nlb = cpu_to_le16(io->blocks);
		cmd->control = cpu_to_le16(io->blocks >> 16);
		cmd->cdw13 = cpu_to_le32(RDDA_DSM_AD);
	} else if (!strcmp(io->kind, "flush")) {
		cmd->opcode = RDDA_OP_FLUSH;
	} else {
		return -EINVAL;
	}
	return 0;
}

static int io_result(struct peer_conn *c, const struct io *io, long slot)
{
	struct peer_cmd *cmd = &c->cmd[slot];
	u32 bytes = io->blocks << io->shift;
	void *data = c->buf;
	long at;
	int ret;

	peer_say("status=%u%s", cmd->status, cmd->pushed ? " pushed" : "");
	if (!cmd->status && (io->kind[0] == 'r' || io->kind[0] == 'p')) {
		if (cmd->pushed) {
			data = c->bounce;
		} else {
			memset(c->buf, 0xee, bytes);
			ret = arena_move(c, 0, io->off, bytes);
			if (ret)
				return ret < 0 ? ret : -EIO;
		}
		at = differs(data, io->seed, io->slba << io->shift, bytes);
		if (at < 0)
			peer_say(" same");
		else
			peer_say(" differs at %ld", at);
	}
	peer_say("\n");
	return 0;
}

/*
 * The data is in our buffer; the command goes behind it, or in front of it, where a header is: what
 * is before a page.
 */
static int inline_send(struct peer_conn *c, const struct io *io, struct rdda_cmd *cmd)
{
	u32 bytes = io->blocks << io->shift, head = ALIGN(io->off, RDDA_PAGE) - io->off;
	struct ib_sge sge = {
		.addr = c->buf_dma, .length = bytes + sizeof(*cmd),
		.lkey = c->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.wr.ex.imm_data = cpu_to_be32(io->imm ?: RDDA_INLINE_IMM(io->off + head,
								   bytes - head)),
	};
	unsigned int i;

	if (sge.length > PEER_BUF)
		return -EINVAL;
	if (io->prp)
		cmd->prp1 = cpu_to_le64(io->prp);
	if (head)
		memmove(c->buf + sizeof(*cmd), c->buf, bytes);
	memcpy(c->buf + (head ? 0 : bytes), cmd, sizeof(*cmd));
	for (i = 0; i < c->nr_pieces; i++) {
		u32 start = le32_to_cpu(c->piece[i].off), size = le32_to_cpu(c->piece[i].len);

		if (io->off < start || io->off - start >= size)
			continue;
		wr.remote_addr = io->off - start - (head ? sizeof(*cmd) : 0);
		wr.rkey = le32_to_cpu(c->piece[i].rkey);
		return peer_post(c, &wr.wr, &wr.wr);
	}
	return -ERANGE;
}

/**
 * peer_io() - one command
 * @c: connection
 * @argc: words
 * @argv: KIND NSID SLBA BLOCKS SEED [OPTION...]
 */
int peer_io(struct peer_conn *c, int argc, char **argv)
{
	struct {
		struct rdda_hdr hdr;
		struct rdda_cmd cmd;
	} m = {
		.hdr.type = RDDA_CMDS,
		.hdr.count = cpu_to_le16(1),
		.hdr.len = cpu_to_le32(sizeof(m)),
	};
	struct io io;
	long slot;
	int ret;

	ret = io_parse(c, &io, argc, argv);
	if (!ret)
		ret = io_encode(&io, &m.cmd);
	if (ret)
		return ret;
	if (m.cmd.opcode == RDDA_OP_WRITE || m.cmd.opcode == RDDA_OP_READ)
		if (!io.blocks || io.blocks << io.shift > PEER_BUF)
			return -EINVAL;
	for (slot = 0; slot < RDDA_CMD_SLOTS_MAX && c->cmd[slot].busy; slot++)
		;
	if (slot == RDDA_CMD_SLOTS_MAX)
		return -EBUSY;
	memset(&c->cmd[slot], 0, sizeof(c->cmd[slot]));
	c->cmd[slot].busy = true;
	m.cmd.cid = cpu_to_le16(RDDA_CID(slot, 1));
	memset(c->bounce, 0xdd, RDDA_PAGE);
	if (m.cmd.opcode == RDDA_OP_WRITE) {
		fill(c->buf, io.seed, io.slba << io.shift, io.blocks << io.shift);
		ret = io.inlined ? 0 : arena_move(c, 1, io.off, io.blocks << io.shift);
		if (ret)
			return ret < 0 ? ret : -EIO;
	}
	ret = io.inlined ? inline_send(c, &io, &m.cmd) : peer_send(c, &m, sizeof(m));
	if (ret || io.nowait)
		return ret;
	if (!peer_wait(c, cmd_ended, slot, 4 * PEER_MS))
		return -ETIMEDOUT;
	if (!c->cmd[slot].ended)
		return -ECONNRESET;
	ret = io_result(c, &io, slot);
	c->cmd[slot].busy = false;
	return ret;
}

/**
 * peer_io_wait() - for all commands sent with nowait
 * @c: connection
 * @argc: words
 * @argv: [MS]
 */
int peer_io_wait(struct peer_conn *c, int argc, char **argv)
{
	unsigned int i, ok = 0, bad = 0, out = 0, ms = 4 * PEER_MS;

	if (argc && kstrtouint(argv[0], 0, &ms))
		return -EINVAL;
	peer_wait(c, all_ended, 0, ms);
	for (i = 0; i < RDDA_CMD_SLOTS_MAX; i++) {
		if (!c->cmd[i].busy)
			continue;
		if (!c->cmd[i].ended) {
			out++;
			continue;
		}
		c->cmd[i].busy = false;
		if (c->cmd[i].status)
			bad++;
		else
			ok++;
	}
	peer_say("ok=%u bad=%u out=%u\n", ok, bad, out);
	return 0;
}
