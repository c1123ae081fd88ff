// SPDX-License-Identifier: GPL-2.0-only
/* What no honest client does. */
#define pr_fmt(fmt) "meshpeer: " fmt
#include <linux/prandom.h>
#include <linux/slab.h>

#include "peer.h"

#define FLOOD_CHAIN	32

/**
 * peer_raw() - SEND given bytes
 * @c: connection
 * @argc: words
 * @argv: HEX
 */
int peer_raw(struct peer_conn *c, int argc, char **argv)
{
	size_t n = argc ? strlen(argv[0]) / 2 : 0;
	u8 *msg;
	int ret;

	if (!n || n > 4096)
		return -EINVAL;
	msg = kmalloc(n, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	ret = hex2bin(msg, argv[0], n);
	if (!ret)
		ret = peer_send(c, msg, n);
	kfree(msg);
	return ret;
}

/* Half of them with a header that holds, so that they come further in. */
static size_t storm_msg(struct rnd_state *rnd, u8 *msg)
{
	struct rdda_hdr *h = (struct rdda_hdr *)msg;
	size_t len = prandom_u32_state(rnd) % RDDA_MSG_MAX + 1;

	prandom_bytes_state(rnd, msg, RDDA_MSG_MAX);
	if (len < sizeof(*h) || prandom_u32_state(rnd) & 1)
		return len;
	h->flags = 0;
	h->type = prandom_u32_state(rnd) & 1 ? RDDA_CMDS : RDDA_PROVE + msg[1] % 18;
	if (h->type == RDDA_CMDS) {
		unsigned int i, n = prandom_u32_state(rnd) % RDDA_CMDS_MAX + 1;
		struct rdda_cmd *cmd = (struct rdda_cmd *)(h + 1);

		h->count = cpu_to_le16(n);
		len = sizeof(*h) + n * sizeof(*cmd);
		for (i = 0; i < n; i++) {
			static const u8 op[] = { 0, 1, 2, 8, 9 };

			cmd[i].opcode = op[cmd[i].opcode % ARRAY_SIZE(op)];
			cmd[i].flags = 0;
			cmd[i].nsid = cpu_to_le32(le32_to_cpu(cmd[i].nsid) & 3);
			cmd[i].cdw2 = 0;
			cmd[i].cdw3 = 0;
			cmd[i].mptr = 0;
			cmd[i].control = 0;
			cmd[i].cdw13 = cpu_to_le32(cmd[i].opcode == 9 ? RDDA_DSM_AD : 0);
			cmd[i].cdw14 = 0;
			cmd[i].cdw15 = 0;
			cmd[i].slba = cpu_to_le64(le64_to_cpu(cmd[i].slba) >> (i * 4));
			cmd[i].nlb = cpu_to_le16(le16_to_cpu(cmd[i].nlb) & 0xff);
		}
	} else {
		h->count = 0;
	}
	h->len = cpu_to_le32(len);
	return len;
}

/**
 * peer_storm() - SEND random messages until the other side has had enough
 * @c: connection
 * @argc: words
 * @argv: SEED COUNT
 */
int peer_storm(struct peer_conn *c, int argc, char **argv)
{
	struct rnd_state rnd;
	u32 seed, count, i;
	u8 *msg;
	int ret = 0;

	if (argc < 2 || kstrtou32(argv[0], 0, &seed) || kstrtou32(argv[1], 0, &count))
		return -EINVAL;
	msg = kmalloc(RDDA_MSG_MAX, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	prandom_seed_state(&rnd, seed);
	for (i = 0; i < count && !ret && !c->lost; i++)
		ret = peer_send(c, msg, storm_msg(&rnd, msg));
	peer_say("sent=%u %s\n", i, ret || c->lost ? "lost" : "up");
	kfree(msg);
	return 0;
}

/**
 * peer_touch() - bare RDMA to any key
 * @c: connection
 * @argc: words
 * @argv: read|write RKEY OFF BYTES
 */
int peer_touch(struct peer_conn *c, int argc, char **argv)
{
	u32 rkey, off, len;
	int ret;

	if (argc < 4 || kstrtou32(argv[1], 0, &rkey) || kstrtou32(argv[2], 0, &off) ||
	    kstrtou32(argv[3], 0, &len) || len > PEER_BUF)
		return -EINVAL;
	ret = peer_rdma(c, argv[0][0] == 'w', rkey, off, 0, len);
	if (ret < 0)
		return ret;
	peer_say(ret ? "refused wc=%d\n" : "done\n", ret);
	return 0;
}

/* Post @m FLOOD_CHAIN times at once: one at a time, a quick drive ends each before the next. */
static int flood_chain(struct peer_conn *c, const void *m, size_t len)
{
	struct ib_device *dev = c->pd->device;
	struct ib_sge sge = { .length = len, .lkey = c->pd->local_dma_lkey };
	struct ib_send_wr *wr;
	int i, ret = -EIO;

	wr = kcalloc(FLOOD_CHAIN, sizeof(*wr), GFP_KERNEL);
	if (!wr)
		return -ENOMEM;
	sge.addr = ib_dma_map_single(dev, (void *)m, len, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(dev, sge.addr))
		goto free;
	for (i = 0; i < FLOOD_CHAIN; i++) {
		wr[i].opcode = IB_WR_SEND;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].next = i + 1 < FLOOD_CHAIN ? &wr[i + 1] : NULL;
	}
	ret = peer_post(c, wr, &wr[FLOOD_CHAIN - 1]);
	ib_dma_unmap_single(dev, sge.addr, len, DMA_TO_DEVICE);
free:
	kfree(wr);
	return ret > 0 ? -ECONNRESET : ret;
}

/**
 * peer_flood() - commands without regard for what was granted
 * @c: connection
 * @argc: words
 * @argv: NSID COUNT, in messages
 */
int peer_flood(struct peer_conn *c, int argc, char **argv)
{
	size_t len = sizeof(struct rdda_hdr) + RDDA_CMDS_MAX * sizeof(struct rdda_cmd);
	u32 nsid, count, i, k;
	struct rdda_cmds *m;
	int ret = 0;

	if (argc < 2 || kstrtou32(argv[0], 0, &nsid) || kstrtou32(argv[1], 0, &count))
		return -EINVAL;
	m = kzalloc(len, GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	m->hdr.type = RDDA_CMDS;
	m->hdr.count = cpu_to_le16(RDDA_CMDS_MAX);
	m->hdr.len = cpu_to_le32(len);
	for (k = 0; k < RDDA_CMDS_MAX; k++) {
		m->cmd[k].opcode = RDDA_OP_FLUSH;
		m->cmd[k].nsid = cpu_to_le32(nsid);
		m->cmd[k].cid = cpu_to_le16(k);
	}
	for (i = 0; i < count && !ret && !c->lost; i += FLOOD_CHAIN)
		ret = flood_chain(c, m, len);
	peer_say("sent=%u %s\n", i, ret || c->lost ? "lost" : "up");
	kfree(m);
	return 0;
}
