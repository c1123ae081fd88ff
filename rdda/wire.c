// SPDX-License-Identifier: GPL-2.0-only
/* Checks of all data that arrives on the wire. Pure; see wire.h. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "driver/uapi/number.h"
#include "rdda/wire.h"

/*
 * Check that CM private data is a login that this side can answer. @data: private data of a CM REQ;
 * the fabric may pad it with zeroes. Return: 0, or the enum rdda_reject_reason to refuse with.
 */
int rdda_login_check(const void *data, size_t len)
{
	const struct rdda_login *l = data;

	if (len < sizeof(*l) || le32_to_cpu(l->magic) != RDDA_MAGIC)
		return RDDA_REJ_MALFORMED;
	if (l->version_min > RDDA_VERSION || l->version_max < RDDA_VERSION)
		return RDDA_REJ_VERSION;
	return 0;
}

/* Check that an accept fits its login. @data: private data of a CM REP. Return: 0, or -EPROTO. */
int rdda_accept_check(const void *data, size_t len, const struct rdda_login *login)
{
	const struct rdda_accept *a = data;
	u32 bytes;

	if (len < sizeof(*a) || le32_to_cpu(a->magic) != RDDA_MAGIC)
		return -EPROTO;
	if (a->version < login->version_min || a->version > login->version_max ||
	    a->key_id != login->key_id)
		return -EPROTO;
	if (le32_to_cpu(a->features) & ~le32_to_cpu(login->features))
		return -EPROTO;
	if (!a->credits || !a->cmds || !a->controls ||
	    le16_to_cpu(a->cmds) > RDDA_CMD_SLOTS_MAX ||
	    le16_to_cpu(a->credits) > le16_to_cpu(a->cmds) ||
	    le16_to_cpu(a->controls) > 64)
		return -EPROTO;
	bytes = le32_to_cpu(a->cmd_bytes);
	if (bytes < RDDA_PAGE || bytes > RDDA_CMD_BYTES_MAX || bytes % RDDA_PAGE)
		return -EPROTO;
	if (!a->keepalive_ms || le32_to_cpu(a->dead_ms) <= le32_to_cpu(a->keepalive_ms))
		return -EPROTO;
	return 0;
}

/*
 * Check that CM private data is a join of a channel to its session. @data: private data of a CM REQ
 * that begins with RDDA_MAGIC_JOIN. Return: 0, or the enum rdda_reject_reason to refuse with.
 */
int rdda_join_check(const void *data, size_t len)
{
	const struct rdda_join *j = data;

	if (len < sizeof(*j) || le32_to_cpu(j->magic) != RDDA_MAGIC_JOIN || !j->channel)
		return RDDA_REJ_MALFORMED;
	return 0;
}

/*
 * Check that a joined answer fits its join. @data: private data of a CM REP. Return: 0, or -EPROTO.
 */
int rdda_joined_check(const void *data, size_t len, const struct rdda_join *join)
{
	const struct rdda_joined *a = data;

	if (len < sizeof(*a) || le32_to_cpu(a->magic) != RDDA_MAGIC_JOIN ||
	    a->session != join->session || a->channel != join->channel)
		return -EPROTO;
	if (le32_to_cpu(a->arena_off) % RDDA_PAGE || le32_to_cpu(a->arena_len) % RDDA_PAGE)
		return -EPROTO;
	return 0;
}

/* Check that a client can use the grants of PROVED. @m: a whole message. Return: 0, or -EPROTO. */
int rdda_proved_check(const struct rdda_proved *m)
{
	u32 bytes = le32_to_cpu(m->arena_bytes), first = le32_to_cpu(m->arena_len);

	if (!m->channels || !m->pieces || le16_to_cpu(m->pieces) > RDDA_PIECES_MAX)
		return -EPROTO;
	if (bytes < RDDA_PAGE || bytes % RDDA_PAGE || first > bytes || first % RDDA_PAGE)
		return -EPROTO;
	return 0;
}

/* Rule for each message type: its senders, its exact size or the size of an entry. */
struct msg_rule {
	u16	fixed;		/* bytes of the message without entries */
	u16	entry;		/* bytes per hdr.count entry; 0: count must be 0 */
	u16	most;		/* entries */
	bool	by_client;
	bool	by_target;
};

static const struct msg_rule msg_rules[] = {
	[RDDA_CMDS]	= { sizeof(struct rdda_hdr), sizeof(struct rdda_cmd), RDDA_CMDS_MAX,
			    true, false },
	[RDDA_DONE]	= { sizeof(struct rdda_hdr), sizeof(struct rdda_done), RDDA_DONES_MAX,
			    false, true },
	[RDDA_PROVE]	= { sizeof(struct rdda_prove), 0, 0, true, false },
	[RDDA_PROVED]	= { sizeof(struct rdda_proved), 0, 0, false, true },
	[RDDA_ARENA]	= { sizeof(struct rdda_hdr), sizeof(struct rdda_piece), RDDA_PIECES_MAX,
			    false, true },
	[RDDA_BOUNCE]	= { sizeof(struct rdda_bounce), 0, 0, true, false },
	[RDDA_PING]	= { sizeof(struct rdda_hdr), 0, 0, true, true },
	[RDDA_PONG]	= { sizeof(struct rdda_hdr), 0, 0, true, true },
	[RDDA_OPEN]	= { sizeof(struct rdda_open), 0, 0, true, false },
	[RDDA_OPENED]	= { sizeof(struct rdda_opened), 0, 0, false, true },
	[RDDA_CLOSE]	= { sizeof(struct rdda_close), 0, 0, true, false },
	[RDDA_CLOSED]	= { sizeof(struct rdda_close), 0, 0, false, true },
	[RDDA_EVENT]	= { sizeof(struct rdda_event), 0, 0, false, true },
	[RDDA_BYE]	= { sizeof(struct rdda_note), 0, 0, true, true },
	[RDDA_ERROR]	= { sizeof(struct rdda_note), 0, 0, true, true },
};

/*
 * Check that a SEND is well formed. @msg: a whole message, aligned to 8 bytes. @from_client: true
 * if the client sent the message, false if the target did. Only the frame is checked here: type,
 * direction, sizes, counts; the code that uses a field checks its value. Return: 0; -EOPNOTSUPP for
 * a control message of an unknown type (the caller answers RDDA_ERROR); -EPROTO for any other
 * error.
 */
int rdda_msg_check(const void *msg, size_t len, bool from_client)
{
	const struct rdda_hdr *h = msg;
	const struct msg_rule *r;
	unsigned int count;

	if (len < sizeof(*h) || len > RDDA_MSG_MAX || le32_to_cpu(h->len) != len)
		return -EPROTO;
	if (h->type < RDDA_PROVE && h->type != RDDA_CMDS && h->type != RDDA_DONE)
		return -EPROTO;
	if (h->type >= ARRAY_SIZE(msg_rules))
		return -EOPNOTSUPP;
	r = &msg_rules[h->type];
	if (!r->by_client && !r->by_target)	/* a number without a message now */
		return -EOPNOTSUPP;
	if (!(from_client ? r->by_client : r->by_target))
		return -EPROTO;
	count = le16_to_cpu(h->count);
	if (count > r->most || (r->entry && !count))
		return -EPROTO;
	if (len != r->fixed + (size_t)count * r->entry)
		return -EPROTO;
	return 0;
}

#define OPEN_FLAGS	(RDDA_OPEN_PREEMPT | RDDA_OPEN_AGAIN | RDDA_OPEN_NUMBERED | \
			 RDDA_OPEN_PROBE | RDDA_OPEN_RETAKE)

/*
 * Check that the fields of an OPEN fit together. @m: a whole message. A writer's access number has
 * counted at least one attach; a reader's may be of before the first one. Return: 0, or -EPROTO.
 */
int rdda_open_check(const struct rdda_open *m)
{
	u64 attach = le64_to_cpu(m->attach), served = le64_to_cpu(m->served);
	bool rw = m->access == RDDA_RW, numbered = m->hdr.flags & RDDA_OPEN_NUMBERED;
	u8 flags = m->hdr.flags;
	unsigned int i;

	for (i = 0; i < sizeof(m->reserved); i++)
		if (m->reserved[i])
			return -EPROTO;
	if ((m->access != RDDA_RO && !rw) || flags & ~OPEN_FLAGS || attach > RDDA_ATTACH_MAX)
		return -EPROTO;
	if (flags & RDDA_OPEN_PROBE)
		return flags == RDDA_OPEN_PROBE && !rw && !m->epoch && !attach && !served ?
		       0 : -EPROTO;
	if (numbered ? m->epoch || (rw && !mesh_number_access(attach)) : !rw && attach)
		return -EPROTO;
	if (!(flags & RDDA_OPEN_RETAKE))
		return served ? -EPROTO : 0;
	return rw && numbered && mesh_number_access(served) &&
	       mesh_number_access(served) < mesh_number_access(attach) ? 0 : -EPROTO;
}

/* Find the first extent that ends behind @slba. Return: index; @chk->nr_ext when there is none. */
static unsigned int wire_range_find(const struct rdda_check *chk, u64 slba)
{
	unsigned int low = 0, high = chk->nr_ext;

	while (low < high) {
		unsigned int mid = low + (high - low) / 2;
		const struct rdda_extent_view *e = &chk->ext[mid];

		if (slba >= e->slba && slba - e->slba >= e->blocks)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Check that one opened extent, or several adjacent ones, hold all of the blocks, and allow the
 * write. Return: 0, or the positive enum rdda_status to complete with.
 */
static int wire_range_check(const struct rdda_check *chk, u64 slba, u64 blocks, bool write)
{
	unsigned int i;

	if (!blocks || slba + blocks < slba)
		return RDDA_ST_LBA_RANGE;
	for (i = chk->nr_ext > 1 ? wire_range_find(chk, slba) : 0; i < chk->nr_ext; i++) {
		const struct rdda_extent_view *e = &chk->ext[i];
		u64 n;

		if (slba < e->slba || slba - e->slba >= e->blocks)
			break;
		if (write && !e->rw)
			return RDDA_ST_ACCESS_DENIED;
		n = e->blocks - (slba - e->slba);
		if (n >= blocks)
			return 0;
		slba += n;
		blocks -= n;
	}
	return RDDA_ST_LBA_RANGE;
}

static bool wire_in_arena(const struct rdda_check *chk, u64 off, u32 len)
{
	return off >= chk->arena_off && off - chk->arena_off <= chk->arena_len &&
	       len <= chk->arena_len - (off - chk->arena_off);
}

/* Check a payload: PRP1 runs to the end of its page, PRP2 names the rest. Return: 0, or -EPROTO. */
static int payload_parse(const struct rdda_cmd *cmd, const struct rdda_check *chk,
			 struct rdda_parsed *out)
{
	u64 prp1 = le64_to_cpu(cmd->prp1), prp2 = le64_to_cpu(cmd->prp2);
	u32 first = RDDA_PAGE - (prp1 & (RDDA_PAGE - 1)), rest;

	if (first > out->bytes)
		first = out->bytes;
	rest = out->bytes - first;
	if (prp1 & 3 || !wire_in_arena(chk, prp1, first))
		return -EPROTO;
	if (rest ? prp2 & (RDDA_PAGE - 1) || !wire_in_arena(chk, prp2, rest) : prp2)
		return -EPROTO;
	out->off[0] = prp1;
	out->len[0] = first;
	out->off[1] = prp2;
	out->len[1] = rest;
	return 0;
}

static int push_parse(const struct rdda_cmd *cmd, const struct rdda_check *chk,
		      struct rdda_parsed *out)
{
	u64 mptr = le64_to_cpu(cmd->mptr);

	if (!mptr)
		return 0;
	if (cmd->opcode != RDDA_OP_READ || (mptr & (RDDA_PAGE - 1)) != RDDA_MPTR_PUSH)
		return -EPROTO;
	mptr -= RDDA_MPTR_PUSH;
	if (mptr > chk->bounce_len || out->bytes > chk->bounce_len - mptr)
		return -EPROTO;
	out->push = true;
	out->bounce = mptr;
	return 0;
}

static int fields_parse(const struct rdda_cmd *cmd, struct rdda_parsed *out)
{
	u16 control = le16_to_cpu(cmd->control), may = 0;
	u32 cdw13 = 0;

	/* one by one: memset() of a few bytes costs more than the rest of the function */
	out->opcode = cmd->opcode;
	out->cid = le16_to_cpu(cmd->cid);
	out->push = false;
	out->slba = le64_to_cpu(cmd->slba);
	out->blocks = (u64)le16_to_cpu(cmd->nlb) + 1;
	out->bytes = 0;
	memset(out->off, 0, sizeof(out->off));
	memset(out->len, 0, sizeof(out->len));
	out->bounce = 0;

	switch (cmd->opcode) {
	case RDDA_OP_WRITE_ZEROES:
		may = RDDA_CTRL_FUA | RDDA_CTRL_DEAC;
		break;
	case RDDA_OP_WRITE:
		may = RDDA_CTRL_FUA;
		break;
	case RDDA_OP_READ:
		break;
	case RDDA_OP_DSM:
		out->blocks = le16_to_cpu(cmd->nlb) | (u64)control << 16;
		cdw13 = RDDA_DSM_AD;
		control = 0;
		break;
	case RDDA_OP_FLUSH:
		if (out->slba || cmd->nlb)
			return -EPROTO;
		out->blocks = 0;
		break;
	default:
		return -EPROTO;
	}
	if (cmd->flags || cmd->cdw2 | cmd->cdw3 | cmd->cdw14 | cmd->cdw15 ||
	    le32_to_cpu(cmd->cdw13) != cdw13 || control & ~may)
		return -EPROTO;
	out->fua = control & RDDA_CTRL_FUA;
	out->deac = control & RDDA_CTRL_DEAC;
	return 0;
}

/*
 * Check one command against the rights of its session. @cmd: a private copy (a receive buffer: no
 * peer can write it). @chk: the grants and the arena to check against. @out: the command in host
 * order, complete only if the return is 0. NVM Command Set specification, Read, Write, Write
 * Zeroes, Dataset Management; Base specification, Flush. Return: 0; -EPROTO for a command that no
 * honest client sends (the channel ends); else the positive enum rdda_status to complete the
 * command with: an honest client can meet one when a grant was taken away meanwhile.
 */
int rdda_cmd_parse(const struct rdda_cmd *cmd, const struct rdda_check *chk,
		   struct rdda_parsed *out)
{
	bool data;
	int ret;

	ret = fields_parse(cmd, out);
	if (ret)
		return ret;
	data = cmd->opcode == RDDA_OP_READ || cmd->opcode == RDDA_OP_WRITE;
	if (!data && (cmd->prp1 || cmd->prp2 || cmd->mptr))
		return -EPROTO;
	if (!chk->nr_ext)
		return RDDA_ST_INVALID_NS;
	if (data) {
		if (out->blocks << chk->lba_shift > chk->max_bytes)
			return -EPROTO;
		out->bytes = out->blocks << chk->lba_shift;
		ret = payload_parse(cmd, chk, out);
		if (!ret)
			ret = push_parse(cmd, chk, out);
		if (ret)
			return ret;
	}
	if (cmd->opcode == RDDA_OP_FLUSH)
		return 0;
	return wire_range_check(chk, out->slba, out->blocks, cmd->opcode != RDDA_OP_READ);
}

/*
 * Find payload, header and command of a WRITE with an immediate. @imm: immediate. @len: bytes
 * placed by the WRITE, as the NIC says. @features: as agreed on. @chk: arena of the channel. @out:
 * set to the place of each. The command does not cross a page, and the client can still write
 * there: copy the command, then check the copy. Return: 0, or -EPROTO.
 */
int rdda_inline_check(u32 imm, size_t len, u32 features, const struct rdda_check *chk,
		      struct rdda_inline *out)
{
	u32 off = RDDA_INLINE_OFF(imm), bytes = RDDA_INLINE_LEN(imm);
	size_t head = len - bytes - sizeof(struct rdda_cmd);

	if (imm & ~RDDA_INLINE_VALID || !bytes || len < bytes + sizeof(struct rdda_cmd))
		return -EPROTO;
	if (head && (!(features & RDDA_FEAT_INLINE_HEAD) || head % RDDA_INLINE_UNIT ||
		     head > RDDA_PAGE - RDDA_INLINE_UNIT))
		return -EPROTO;
	out->off = off;
	out->bytes = bytes;
	out->head = head;
	out->cmd = head ? off - head - sizeof(struct rdda_cmd) : off + bytes;
	/* a command before page 0 wraps to an offset far behind the arena's end */
	return wire_in_arena(chk, head ? out->cmd : off, len) ? 0 : -EPROTO;
}

/*
 * Check that a command writes the payload that came with it, and all of that. @in: as
 * rdda_inline_check() gave it. @features: as agreed on. @p: the command; rdda_cmd_parse() passed it
 * or gave a status. Return: 0, or -EPROTO.
 */
int rdda_inline_cmd_check(const struct rdda_inline *in, u32 features, const struct rdda_parsed *p)
{
	if (p->opcode != RDDA_OP_WRITE)
		return -EPROTO;
	/* the namespace is not open */
	if (!p->bytes)
		return 0;
	if (!in->head && p->off[0] == in->off && p->bytes == in->bytes)
		return 0;
	if (in->head && (p->off[0] != in->off - in->head || p->len[0] != in->head))
		return -EPROTO;
	return features & RDDA_FEAT_INLINE_REST && p->off[1] == in->off && p->len[1] == in->bytes ?
	       0 : -EPROTO;
}

static u8 *wire_put(u8 *at, const void *from, size_t len)
{
	memcpy(at, from, len);
	return at + len;
}

static u8 *wire_put_le32(u8 *at, u32 value)
{
	__le32 v = cpu_to_le32(value);

	return wire_put(at, &v, sizeof(v));
}

/*
 * Put together the bytes under a side's HMAC of channel 0. @by_client: side that proves; the role
 * label keeps one side's proof from serving as the other's. @out: RDDA_PROOF_BYTES bytes.
 */
void rdda_proof_bytes(const struct rdda_proof *p, bool by_client, u8 out[RDDA_PROOF_BYTES])
{
	static const char label[2][16] = { "rdda target 1", "rdda client 1" };
	u8 *at = out;
	unsigned int i;

	at = wire_put(at, label[by_client], 16);
	at = wire_put(at, &p->login, sizeof(p->login));
	at = wire_put(at, &p->accept, sizeof(p->accept));
	at = wire_put(at, p->boot_id, sizeof(p->boot_id));
	for (i = 0; i < 2; i++) {
		at = wire_put_le32(at, p->qpn[i]);
		at = wire_put(at, p->gid[i], 16);
	}
	at = wire_put_le32(at, by_client ? 0 : p->arena_bytes);
	at = wire_put_le32(at, by_client ? 0 : p->arena_len);
	wire_put_le32(at, by_client ? 0 : p->channels);
}

/* As rdda_proof_bytes(), for another channel. @out: RDDA_JOIN_BYTES bytes. */
void rdda_join_bytes(const struct rdda_join_proof *p, bool by_client, u8 out[RDDA_JOIN_BYTES])
{
	static const char label[2][16] = { "rdda joined 1", "rdda join 1" };
	u8 *at = out;

	at = wire_put(at, label[by_client], 16);
	at = wire_put_le32(at, p->session);
	at = wire_put_le32(at, p->channel);
	at = wire_put(at, p->nonce, sizeof(p->nonce));
	at = wire_put_le32(at, p->qpn[0]);
	at = wire_put(at, p->gid[0], 16);
	at = wire_put_le32(at, by_client ? 0 : p->qpn[1]);
	at = wire_put(at, p->gid[1], 16);
	at = wire_put_le32(at, by_client ? 0 : p->arena_off);
	wire_put_le32(at, by_client ? 0 : p->arena_len);
}
