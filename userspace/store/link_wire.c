// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/store/link_wire.h"

#define ROOM_FIRST	4096U
#define KV_LEAST	31	/* bytes of the shortest key with its value */

static const u8 magic[4] = { 'M', 'S', 'T', 'R' };

/* One description of each type serves both directions: @out says which one. */
struct walk {
	bool	out;
	int	err;
	u8	*buf;		/* out: malloc()ed, with room for a header first */
	size_t	at, len;	/* in: of the payload; out: @len is the room */
};

static bool walk_room(struct walk *w, size_t n)
{
	size_t room = w->len ? w->len : ROOM_FIRST;
	u8 *grown;

	if (w->err)
		return false;
	if (n <= w->len - w->at && w->buf)
		return true;
	if (!w->out) {
		w->err = -EBADMSG;
		return false;
	}
	if (n > FRAME_MAX || w->at + n > FRAME_MAX + FRAME_HDR) {
		w->err = -E2BIG;
		return false;
	}
	while (room < w->at + n)
		room *= 2;
	grown = realloc(w->buf, room);
	if (!grown) {
		w->err = -ENOMEM;
		return false;
	}
	w->buf = grown;
	w->len = room;
	return true;
}

static void walk_number(struct walk *w, u64 *v, unsigned int bytes)
{
	u64 sum = 0;

	if (!walk_room(w, bytes))
		return;
	for (unsigned int i = 0; i < bytes; i++) {
		if (w->out)
			w->buf[w->at + i] = *v >> 8 * i;
		sum |= (u64)w->buf[w->at + i] << 8 * i;
	}
	w->at += bytes;
	/* A number that does not fit its place must not become another one. */
	if (w->out && sum != *v)
		w->err = -EINVAL;
	*v = sum;
}

#define WALK(name, type, bytes)						\
static void name(struct walk *w, type *v)				\
{									\
	u64 n = w->out ? (u64)*v : 0;					\
									\
	walk_number(w, &n, bytes);					\
	*v = n;								\
}

WALK(walk_u8, u8, 1)
WALK(walk_u16, u16, 2)
WALK(walk_u32, u32, 4)
WALK(walk_u64, u64, 8)

static void walk_bool(struct walk *w, bool *v)
{
	u8 n = *v;

	walk_u8(w, &n);
	if (n > 1 && !w->err)
		w->err = -EBADMSG;
	*v = n == 1;
}

static void walk_bytes(struct walk *w, void *b, size_t n)
{
	if (!walk_room(w, n))
		return;
	if (w->out)
		memcpy(w->buf + w->at, b, n);
	else
		memcpy(b, w->buf + w->at, n);
	w->at += n;
}

/* @most: bytes with the end. */
static void walk_text(struct walk *w, const char **text, u16 most)
{
	u16 n = w->out ? strnlen(*text, most) + 1 : 0;

	walk_u16(w, &n);
	if (!w->err && (!n || n > most))
		w->err = w->out ? -EINVAL : -EBADMSG;
	if (!walk_room(w, n))
		return;
	if (w->out)
		memcpy(w->buf + w->at, *text, n);
	else if (w->buf[w->at + n - 1] || strlen((char *)w->buf + w->at) != n - 1U)
		w->err = -EBADMSG;
	else
		*text = (char *)w->buf + w->at;
	w->at += n;
}

static void walk_value(struct walk *w, const void **value, size_t *len)
{
	u32 n = w->out ? *len : 0;

	if (w->out && *len > STORE_VALUE_MAX)
		w->err = -EINVAL;
	walk_u32(w, &n);
	if (!w->err && n > STORE_VALUE_MAX)
		w->err = -EBADMSG;
	if (!walk_room(w, n))
		return;
	if (w->out && n)
		memcpy(w->buf + w->at, *value, n);
	else if (!w->out)
		*value = w->buf + w->at;
	*len = n;
	w->at += n;
}

/* An array of @nr: memory for what can still follow, each of at least @least bytes. */
static void *walk_array(struct walk *w, size_t *nr, size_t most, size_t least, void *array, size_t each)
{
	u16 n = w->out && *nr <= most ? *nr : 0;
	void *made = array;

	if (w->out && *nr > most)
		w->err = -EINVAL;
	walk_u16(w, &n);
	*nr = 0;
	if (!w->err && !w->out && (n > most || n * least > w->len - w->at))
		w->err = -EBADMSG;
	if (w->err)
		return array;
	if (!w->out && n) {
		made = calloc(n, each);
		if (!made)
			w->err = -ENOMEM;
	}
	*nr = w->err ? 0 : n;
	return made;
}

static void walk_kv(struct walk *w, struct store_kv *kv, bool value)
{
	walk_text(w, &kv->key, STORE_KEY_MAX);
	walk_u64(w, &kv->modified);
	if (!value)
		return;
	walk_u64(w, &kv->created);
	walk_u64(w, &kv->lease);
	walk_value(w, &kv->value, &kv->len);
}

static void walk_page(struct walk *w, struct frame *f)
{
	walk_u64(w, &f->revision);
	walk_bool(w, &f->more);
	f->kv = walk_array(w, &f->nr, STORE_PAGE_MAX, KV_LEAST, f->kv, sizeof(*f->kv));
	for (size_t i = 0; i < f->nr && !w->err; i++)
		walk_kv(w, &f->kv[i], true);
}

static void walk_compare(struct walk *w, struct store_compare *c)
{
	u8 kind = c->kind;

	walk_u8(w, &kind);
	walk_text(w, &c->key, STORE_KEY_MAX);
	if (!w->err && (kind < STORE_SAME || kind > STORE_NONE_BELOW))
		w->err = -EBADMSG;
	if (kind == STORE_SAME)
		walk_u64(w, &c->modified);
	c->kind = kind;
}

static void walk_op(struct walk *w, struct store_op *op, struct secret_proof *proof)
{
	bool put = op->value;

	walk_bool(w, &put);
	walk_text(w, &op->key, STORE_KEY_MAX);
	if (!put)
		return;
	walk_value(w, &op->value, &op->len);
	walk_u64(w, &op->lease);
	if (op->lease)
		walk_bytes(w, proof->b, sizeof(proof->b));
}

static void walk_txn(struct walk *w, struct frame *f)
{
	struct store_compare *compare = w->out ? (struct store_compare *)f->txn.compare : NULL;
	struct store_op *op = w->out ? (struct store_op *)f->txn.op : NULL;

	f->compare = walk_array(w, &f->txn.compares, STORE_OPS_MAX, 5, compare, sizeof(*compare));
	f->txn.compare = f->compare;
	for (size_t i = 0; i < f->txn.compares && !w->err; i++) {
		/* Not the caller's own array: it is constant. */
		struct store_compare c = w->out ? f->compare[i] : (struct store_compare) { 0 };

		walk_compare(w, &c);
		if (!w->out)
			f->compare[i] = c;
	}
	f->op = walk_array(w, &f->txn.ops, STORE_OPS_MAX, 4, op, sizeof(*op));
	f->txn.op = f->op;
	if (!w->out && f->txn.ops) {
		f->proof = calloc(f->txn.ops, sizeof(*f->proof));
		w->err = f->proof ? w->err : -ENOMEM;
	}
	for (size_t i = 0; i < f->txn.ops && !w->err; i++) {
		struct store_op o = w->out ? f->op[i] : (struct store_op) { 0 };
		struct secret_proof p = w->out && f->proof ? f->proof[i] : (struct secret_proof) { 0 };

		walk_op(w, &o, &p);
		if (w->out)
			continue;
		f->op[i] = o;
		f->proof[i] = p;
	}
}

static void walk_event(struct walk *w, struct frame *f)
{
	struct store_kv *kv = w->out ? f->kv : NULL;
	u8 kind = f->kind;

	walk_u64(w, &f->watch);
	walk_u8(w, &kind);
	if (!w->err && (kind < STORE_PUT || kind > STORE_RELIST))
		w->err = -EBADMSG;
	f->kind = kind;
	if (w->err || kind == STORE_RELIST)
		return;
	if (!w->out)
		kv = f->kv = calloc(1, sizeof(*kv));
	if (!kv) {
		w->err = -ENOMEM;
		return;
	}
	f->nr = 1;
	walk_kv(w, kv, kind == STORE_PUT);
}

/* Errors have the same numbers on every architecture. */
static const int errors[] = {
	0, EINVAL, E2BIG, ETIMEDOUT, EIO, ENOSPC, EROFS, EACCES, ECANCELED, ENOMEM, ENOENT, ESTALE,
	EUCLEAN, EBUSY, EPROTO, ESHUTDOWN,
};

#define NR_ERRORS	(sizeof(errors) / sizeof(*errors))

static void walk_error(struct walk *w, struct frame *f)
{
	u8 n;

	/* An error that the table lacks becomes EIO: the outcome is unknown. */
	for (n = NR_ERRORS - 1; n && errors[n] != -f->err; n--)
		;
	n = n ? n : 4;
	walk_u8(w, &n);
	if (!w->err && (!n || n >= NR_ERRORS))
		w->err = -EBADMSG;
	walk_text(w, &f->text, FRAME_WORDS);
	f->err = w->err ? 0 : -errors[n];
}

static void walk_master(struct walk *w, struct secret_master *m)
{
	walk_u16(w, &m->id);
	walk_bytes(w, m->key.b, SECRET_BYTES);
}

static void walk_role(struct walk *w, u8 *role)
{
	walk_u8(w, role);
	if (!w->err && (*role < PLAN_CLIENT || *role > PLAN_STORE))
		w->err = -EBADMSG;
}

static void walk_keys(struct walk *w, struct link_keys *k)
{
	walk_u16(w, &k->key_id);
	walk_role(w, &k->role);
	walk_bytes(w, k->cluster.b, sizeof(k->cluster.b));
	walk_bytes(w, k->fingerprint, SECRET_CLUSTER);
	walk_bytes(w, k->host.b, SECRET_BYTES);
	walk_bool(w, &k->knows);
	if (!k->knows)
		return;
	walk_master(w, &k->masters.now);
	walk_master(w, &k->masters.before);
	walk_bytes(w, k->label.b, SECRET_BYTES);
}

static void walk_range(struct walk *w, struct frame *f)
{
	bool after = f->after;

	walk_text(w, &f->text, STORE_KEY_MAX);
	walk_bool(w, &after);
	if (after)
		walk_text(w, &f->after, STORE_KEY_MAX);
	walk_u32(w, &f->limit);
	walk_u64(w, &f->at);
}

static void walk_request(struct walk *w, struct frame *f)
{
	if (f->type != FRAME_UNWATCH && f->type != FRAME_PING)
		walk_u32(w, &f->ms);
	switch (f->type) {
	case FRAME_RANGE:
		walk_range(w, f);
		break;
	case FRAME_GET:
		walk_text(w, &f->text, STORE_KEY_MAX);
		break;
	case FRAME_TXN:
		walk_txn(w, f);
		break;
	case FRAME_WATCH:
		walk_u64(w, &f->watch);
		walk_text(w, &f->text, STORE_KEY_MAX);
		walk_u64(w, &f->at);
		break;
	case FRAME_UNWATCH:
		walk_u64(w, &f->watch);
		break;
	case FRAME_GRANT:
		walk_u32(w, &f->seconds);
		break;
	case FRAME_KEEP:
	case FRAME_REVOKE:
		walk_u64(w, &f->lease);
		walk_bytes(w, f->owner.b, sizeof(f->owner.b));
		break;
	case FRAME_JOIN:
		walk_bytes(w, f->host.b, sizeof(f->host.b));
		walk_role(w, &f->role);
		break;
	default:
		break;
	}
}

static void walk_answer(struct walk *w, struct frame *f)
{
	switch (f->type) {
	case FRAME_PAGE:
		walk_page(w, f);
		break;
	case FRAME_DONE:
		walk_bool(w, &f->done);
		walk_u64(w, &f->revision);
		break;
	case FRAME_LEASE:
		walk_u64(w, &f->lease);
		walk_bytes(w, f->owner.b, sizeof(f->owner.b));
		break;
	case FRAME_IS:
		walk_text(w, &f->text, STORE_ID_MAX);
		walk_u64(w, &f->term);
		walk_u64(w, &f->revision);
		break;
	case FRAME_KEYS:
		walk_keys(w, &f->keys);
		break;
	case FRAME_ERROR:
		walk_error(w, f);
		break;
	case FRAME_EVENT:
		walk_event(w, f);
		break;
	default:
		break;
	}
}

static void walk_frame(struct walk *w, struct frame *f)
{
	if (f->type < FRAME_REQUESTS)
		walk_request(w, f);
	else
		walk_answer(w, f);
}

static bool type_ok(u8 type, bool requests)
{
	return requests ? type >= FRAME_RANGE && type < FRAME_REQUESTS :
	       type >= FRAME_PAGE && type < FRAME_TYPES;
}

/* Frames that answer nothing, or want no answer, have no id; all others have one. */
static bool id_ok(u8 type, u64 id)
{
	return !id == (type == FRAME_UNWATCH || type == FRAME_EVENT);
}

int frame_encode(const struct frame *f, u8 **out, size_t *len)
{
	struct walk w = { .out = true };
	struct frame copy = *f;
	u32 n;

	*out = NULL;
	*len = 0;
	if ((!type_ok(f->type, true) && !type_ok(f->type, false)) || !id_ok(f->type, f->id))
		return -EINVAL;
	if (walk_room(&w, FRAME_HDR)) {
		memset(w.buf, 0, FRAME_HDR);
		w.at = FRAME_HDR;
		walk_frame(&w, &copy);
	}
	explicit_bzero(&copy.keys, sizeof(copy.keys));
	if (w.err) {
		if (w.buf)
			explicit_bzero(w.buf, w.at);
		free(w.buf);
		return w.err == -EBADMSG ? -EINVAL : w.err;
	}
	*len = w.at;
	*out = w.buf;
	n = w.at - FRAME_HDR;
	memcpy(w.buf, magic, sizeof(magic));
	w.buf[4] = FRAME_VERSION;
	w.buf[5] = f->type;
	for (int i = 0; i < 8; i++)
		w.buf[8 + i] = f->id >> 8 * i;
	for (int i = 0; i < 4; i++)
		w.buf[16 + i] = n >> 8 * i;
	return 0;
}

int frame_header(const u8 in[FRAME_HDR], bool requests, struct frame *f, u32 *len)
{
	u64 id = 0;
	u32 n = 0;

	memset(f, 0, sizeof(*f));
	if (memcmp(in, magic, sizeof(magic)))
		return -EBADMSG;
	if (in[4] != FRAME_VERSION)
		return -EPROTONOSUPPORT;
	for (int i = 0; i < 8; i++)
		id |= (u64)in[8 + i] << 8 * i;
	for (int i = 0; i < 4; i++)
		n |= (u32)in[16 + i] << 8 * i;
	if (in[6] || in[7] || in[20] || in[21] || in[22] || in[23] || !type_ok(in[5], requests) ||
	    !id_ok(in[5], id) || n > FRAME_MAX)
		return -EBADMSG;
	f->type = in[5];
	f->id = id;
	*len = n;
	return 0;
}

int frame_decode(struct frame *f, const void *payload, size_t len)
{
	struct walk w = { .buf = (u8 *)payload, .len = len };
	static u8 none;

	if (!w.buf)
		w.buf = &none;
	walk_frame(&w, f);
	if (!w.err && w.at != w.len)
		w.err = -EBADMSG;
	return w.err;
}

void frame_end(struct frame *f)
{
	free(f->compare);
	free(f->op);
	free(f->proof);
	free(f->kv);
	explicit_bzero(&f->keys, sizeof(f->keys));
	f->compare = NULL;
	f->op = NULL;
	f->proof = NULL;
	f->kv = NULL;
}

static int rx_header(struct frame_rx *rx, bool requests)
{
	int err = frame_header(rx->hdr, requests, &rx->f, &rx->len);

	rx->got = 0;
	return err;
}

/* Doubles, so that a promise of 4 MiB costs no more than twice the bytes that came. */
static int rx_room(struct frame_rx *rx, u32 need)
{
	u32 room = rx->room ? rx->room : ROOM_FIRST;
	u8 *grown;

	if (rx->payload && need <= rx->room)
		return 0;
	while (room < need)
		room *= 2;
	room = room < rx->len || !rx->len ? room : rx->len;
	grown = realloc(rx->payload, room);
	if (!grown)
		return -ENOMEM;
	rx->payload = grown;
	rx->room = room;
	return 0;
}

int frame_feed(struct frame_rx *rx, bool requests, const void *buf, size_t len, size_t *used)
{
	const u8 *in = buf;
	size_t n;
	int err;

	*used = 0;
	if (rx->hdr_got < FRAME_HDR) {
		n = FRAME_HDR - rx->hdr_got < len ? FRAME_HDR - rx->hdr_got : len;
		memcpy(rx->hdr + rx->hdr_got, in, n);
		rx->hdr_got += n;
		*used = n;
		if (rx->hdr_got < FRAME_HDR)
			return 0;
		err = rx_header(rx, requests);
		if (err)
			return err;
	}
	n = rx->len - rx->got < len - *used ? rx->len - rx->got : len - *used;
	err = rx_room(rx, rx->got + n);
	if (err)
		return err;
	if (n)
		memcpy(rx->payload + rx->got, in + *used, n);
	rx->got += n;
	*used += n;
	return rx->got == rx->len;
}

void frame_next(struct frame_rx *rx, bool keep)
{
	/* A long payload is not kept for an idle connection, nor one that may have secrets. */
	if (!keep) {
		if (rx->payload && rx->f.type == FRAME_KEYS)
			explicit_bzero(rx->payload, rx->got);
		free(rx->payload);
	}
	memset(rx, 0, sizeof(*rx));
}

void frame_rx_end(struct frame_rx *rx)
{
	frame_next(rx, false);
}
