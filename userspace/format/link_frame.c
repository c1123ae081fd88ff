// SPDX-License-Identifier: GPL-2.0-only
#include <asm/byteorder.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <stdlib.h>

#include "userspace/format/link_frame.h"

#define ROOM_FIRST	(64U << 10)

static const u8 magic[4] = { 'M', 'L', 'N', 'K' };

static void put32(u8 *p, u32 v)
{
	__le32 le = cpu_to_le32(v);

	memcpy(p, &le, sizeof(le));
}

static void put64(u8 *p, u64 v)
{
	__le64 le = cpu_to_le64(v);

	memcpy(p, &le, sizeof(le));
}

static u32 get32(const u8 *p)
{
	__le32 le;

	memcpy(&le, p, sizeof(le));
	return le32_to_cpu(le);
}

static u64 get64(const u8 *p)
{
	__le64 le;

	memcpy(&le, p, sizeof(le));
	return le64_to_cpu(le);
}

u32 link_page(u32 total, u32 off)
{
	return total - off < LINK_PAGE_MAX ? total - off : LINK_PAGE_MAX;
}

void link_frame_encode(const struct link_frame *f, u8 out[LINK_HDR])
{
	memset(out, 0, LINK_HDR);
	memcpy(out, magic, sizeof(magic));
	out[4] = LINK_VERSION;
	out[5] = f->type;
	put64(out + 8, f->id);
	put32(out + 16, f->total);
	put32(out + 20, f->off);
	put32(out + 24, f->len);
}

/* What may be the length of a message of each type. */
static bool total_ok(const struct link_frame *f)
{
	switch (f->type) {
	case LINK_HELLO:
		return f->total == LINK_HELLO_LEN && !f->id;
	case LINK_REQUEST:
	case LINK_ANSWER:
		return f->total <= LINK_MSG_MAX;
	case LINK_REFUSE:
		return f->total == 4;
	case LINK_PING:
	case LINK_PONG:
		return !f->total;
	default:
		return false;
	}
}

int link_frame_decode(const u8 in[LINK_HDR], struct link_frame *f)
{
	memset(f, 0, sizeof(*f));
	if (memcmp(in, magic, sizeof(magic)))
		return -EBADMSG;
	if (in[4] != LINK_VERSION)
		return -EPROTONOSUPPORT;
	if (in[6] || in[7] || get32(in + 28))
		return -EBADMSG;
	f->type = in[5];
	f->id = get64(in + 8);
	f->total = get32(in + 16);
	f->off = get32(in + 20);
	f->len = get32(in + 24);
	if (!total_ok(f) || f->off % LINK_PAGE_MAX || f->off > f->total ||
	    (f->off && f->off == f->total) || f->len != link_page(f->total, f->off))
		return -EBADMSG;
	return 0;
}

void link_hello_encode(const struct link_hello *h, u8 out[LINK_HELLO_LEN])
{
	memset(out, 0, LINK_HELLO_LEN);
	memcpy(out, h->host.b, 16);
	memcpy(out + 16, h->machine.b, 16);
	put64(out + 32, h->boot);
	put32(out + 40, h->flags);
	out[44] = h->port & 0xff;
	out[45] = h->port >> 8;
}

int link_hello_decode(const void *in, size_t len, struct link_hello *h)
{
	const u8 *p = in;

	memset(h, 0, sizeof(*h));
	if (len != LINK_HELLO_LEN || p[46] || p[47])
		return -EBADMSG;
	memcpy(h->host.b, p, 16);
	memcpy(h->machine.b, p + 16, 16);
	h->boot = get64(p + 32);
	h->flags = get32(p + 40);
	h->port = p[44] | p[45] << 8;
	return muuid_null(&h->host) || !h->boot ? -EBADMSG : 0;
}

static struct link_part *find_part(struct link_rx *rx, const struct link_frame *f)
{
	u32 i;

	for (i = 0; i < rx->parts; i++)
		if (rx->part[i].id == f->id && rx->part[i].type == f->type)
			return &rx->part[i];
	return NULL;
}

/*
 * A message of one page ends before another can begin, so that only one of them
 * is ever begun: it is not counted against the window of the long ones.
 */
static int begin_part(struct link_rx *rx, const struct link_frame *f)
{
	struct link_part *grown;
	u64 bytes = f->total > LINK_PAGE_MAX ? f->total : 0;

	if (rx->parts > 2 * LINK_WINDOW || rx->bytes + bytes > LINK_PARTS_BYTES)
		return -EPROTO;
	if (rx->parts == rx->parts_room) {
		grown = realloc(rx->part, (rx->parts_room + 8) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		rx->part = grown;
		rx->parts_room += 8;
	}
	rx->cur = &rx->part[rx->parts++];
	*rx->cur = (struct link_part) { .type = f->type, .id = f->id, .total = f->total };
	rx->bytes += bytes;
	return 0;
}

static int header(struct link_rx *rx)
{
	int err = link_frame_decode(rx->hdr, &rx->f);

	if (err)
		return err;
	if (rx->hello != (rx->f.type != LINK_HELLO))
		return -EPROTO;
	rx->hello = true;
	rx->page_got = 0;
	rx->cur = find_part(rx, &rx->f);
	if (rx->cur)
		return rx->cur->got == rx->f.off && rx->cur->total == rx->f.total ? 0 : -EPROTO;
	return rx->f.off ? -EPROTO : begin_part(rx, &rx->f);
}

static int make_room(struct link_part *p, u32 need)
{
	u32 room = max(2 * p->room, ROOM_FIRST);
	u8 *grown;

	if (p->buf && need <= p->room)
		return 0;
	while (room < need)
		room *= 2;
	room = min(room, p->total);
	grown = realloc(p->buf, room ? room : 1);
	if (!grown)
		return -ENOMEM;
	p->buf = grown;
	p->room = room;
	return 0;
}

/* The list stays without gaps: the last one moves into the place. */
static void end_part(struct link_rx *rx, struct link_msg *m)
{
	struct link_part *p = rx->cur;

	*m = (struct link_msg) { .type = p->type, .id = p->id, .buf = p->buf, .len = p->total };
	if (p->total > LINK_PAGE_MAX)
		rx->bytes -= p->total;
	*p = rx->part[--rx->parts];
	rx->cur = NULL;
}

static int page(struct link_rx *rx, const u8 *in, size_t len, size_t *used, struct link_msg *m)
{
	struct link_part *p = rx->cur;
	size_t n = rx->f.len - rx->page_got;
	int err;

	n = n < len ? n : len;
	err = make_room(p, p->got + n);
	if (err)
		return err;
	if (n)
		memcpy(p->buf + p->got, in, n);
	p->got += n;
	rx->page_got += n;
	*used += n;
	if (rx->page_got < rx->f.len)
		return 0;
	rx->hdr_got = 0;
	if (p->got < p->total)
		return 0;
	end_part(rx, m);
	return 1;
}

int link_rx_feed(struct link_rx *rx, const void *buf, size_t len, size_t *used, struct link_msg *m)
{
	const u8 *in = buf;
	size_t n;
	int err;

	*used = 0;
	while (*used < len) {
		if (rx->hdr_got < LINK_HDR) {
			n = min(len - *used, (size_t)(LINK_HDR - rx->hdr_got));
			memcpy(rx->hdr + rx->hdr_got, in + *used, n);
			rx->hdr_got += n;
			*used += n;
			if (rx->hdr_got < LINK_HDR)
				break;
			err = header(rx);
			if (err)
				return err;
		}
		err = page(rx, in + *used, len - *used, used, m);
		if (err)
			return err;
	}
	return 0;
}

void link_rx_free(struct link_rx *rx)
{
	u32 i;

	for (i = 0; i < rx->parts; i++)
		free(rx->part[i].buf);
	free(rx->part);
	memset(rx, 0, sizeof(*rx));
}
