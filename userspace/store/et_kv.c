// SPDX-License-Identifier: GPL-2.0-only
/* Reads of the etcd engine, keys below its root, and the identity of the store. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/store/et.h"
#include "userspace/store/key.h"

static void set(struct et_key *k, size_t len)
{
	k->data.data = k->bytes;
	k->data.len = len;
}

void et_key(const struct store_etcd *e, struct et_key *k, const char *key)
{
	const size_t root = strlen(e->root), len = strlen(key);

	memcpy(k->bytes, e->root, root);
	memcpy(k->bytes + root, key, len + 1);
	set(k, root + len);
}

/* The least key that is greater has a zero byte more. */
void et_key_after(const struct store_etcd *e, struct et_key *k, const char *key)
{
	et_key(e, k, key);
	k->data.len++;
}

/* etcd has no empty key: a range of all begins with a zero byte. */
void et_key_range(const struct store_etcd *e, struct et_key *from, struct et_key *to, const char *prefix)
{
	et_key(e, from, prefix);
	et_key(e, to, prefix);
	if (!from->data.len) {
		from->bytes[0] = 0;
		to->bytes[0] = 0xff;
		from->data.len = to->data.len = 1;
	} else {
		to->bytes[to->data.len - 1]++;
	}
}

const char *et_key_of(const struct store_etcd *e, const Etcd__KeyValue *kv, size_t *len)
{
	const size_t root = strlen(e->root);

	if (kv->key.len <= root || kv->key.len - root >= STORE_KEY_MAX ||
	    memcmp(kv->key.data, e->root, root) || memchr(kv->key.data, 0, kv->key.len))
		return NULL;
	*len = kv->key.len - root;
	return (const char *)kv->key.data + root;
}

struct et_store et_store_of(const Etcd__Header *header)
{
	if (!header)
		return (struct et_store) { 0 };
	return (struct et_store) { header->cluster_id, header->raft_term, header->revision };
}

void et_seen(struct et_handle *h, const Etcd__Header *header)
{
	pthread_mutex_lock(&h->e->lock);
	h->seen = et_store_of(header);
	pthread_mutex_unlock(&h->e->lock);
}

/* An empty value has memory nevertheless: NULL would be a deletion. */
static int add_kvs(struct et_handle *h, const Etcd__RangeResponse *r, struct store_page *out)
{
	const Etcd__KeyValue *from;
	struct store_kv kv;
	size_t len;
	int err = 0;

	for (size_t i = 0; !err && i < r->n_kvs; i++) {
		from = r->kvs[i];
		kv = (struct store_kv) {
			.key = et_key_of(h->e, from, &len), .value = from->value.len ? (void *)from->value.data : "",
			.len = from->value.len, .created = from->create_revision,
			.modified = from->mod_revision, .lease = from->lease,
		};
		if (kv.key)
			err = store_page_add(out, &kv, len);
	}
	return err ? store_fail(&h->base, err, "store: the host is out of memory") : 0;
}

static int read_page(struct et_handle *h, const Etcd__RangeRequest *q, u64 deadline, struct store_page *out)
{
	struct et_call c = { .method = "KV/Range", .request = &q->base, .safe = true, .deadline_ms = deadline };
	Etcd__RangeResponse *r;
	int err = et_call(h, &c);

	if (err)
		return err;
	r = etcd__range_response__unpack(NULL, c.len, c.reply);
	if (!r || !r->header) {
		err = et_bad_reply(h, c.method);
	} else {
		et_seen(h, r->header);
		err = add_kvs(h, r, out);
		out->more = r->more;
		out->revision = q->revision ? q->revision : r->header->revision;
	}
	if (r)
		etcd__range_response__free_unpacked(r, NULL);
	if (err)
		store_page_free(out);
	return err;
}

/* etcd limits a page by keys alone: fewer, in the measure in which the answer was too long. */
static u64 fewer(u64 limit, size_t bytes)
{
	u64 fits = limit * ET_REPLY_MAX / (bytes ? bytes : 1) * 3 / 4;

	if (fits >= limit)
		fits = limit / 2;
	return fits ? fits : 1;
}

int et_range(struct store *s, const struct store_span *span, struct store_page *out)
{
	const u64 deadline = store_now_ms() + s->timeout_ms;
	Etcd__RangeRequest q = ETCD__RANGE_REQUEST__INIT;
	struct et_handle *h = et_handle(s);
	struct et_key from, to, after;
	int err;

	et_key_range(h->e, &from, &to, span->prefix);
	q.key = from.data;
	q.range_end = to.data;
	if (span->after && strcmp(span->after, span->prefix) >= 0) {
		et_key_after(h->e, &after, span->after);
		q.key = after.data;
	}
	q.revision = span->at;
	q.limit = h->range_limit && h->range_limit < span->limit ? h->range_limit : span->limit;
	while ((err = read_page(h, &q, deadline, out)) == -EMSGSIZE && q.limit > 1)
		q.limit = h->range_limit = fewer(q.limit, h->too_long);
	if (!err && h->range_limit && h->x.rx.len < ET_REPLY_MAX / 4)
		h->range_limit *= 2;
	if (h->range_limit > STORE_PAGE_MAX)
		h->range_limit = 0;
	return err == -EMSGSIZE ? et_bad_reply(h, "KV/Range") : err;
}

int et_get(struct store *s, const char *key, struct store_page *out)
{
	Etcd__RangeRequest q = ETCD__RANGE_REQUEST__INIT;
	struct et_handle *h = et_handle(s);
	struct et_key k;
	int err;

	et_key(h->e, &k, key);
	q.key = k.data;
	err = read_page(h, &q, 0, out);
	if (!err && !out->nr)
		err = store_fail(s, -ENOENT, "store: there is no key %s", key);
	return err == -EMSGSIZE ? et_bad_reply(h, "KV/Range") : err;
}

/* Linearizable as each read: cluster, term and revision are not those of a member that lags. */
int et_identity(struct store *s, struct store_identity *out)
{
	Etcd__RangeRequest q = ETCD__RANGE_REQUEST__INIT;
	struct et_handle *h = et_handle(s);
	struct store_page p = { 0 };
	u8 zero = 0;
	int err;

	q.key = (ProtobufCBinaryData) { 1, &zero };
	q.count_only = true;
	err = read_page(h, &q, 0, &p);
	store_page_free(&p);
	if (err)
		return err;
	snprintf(out->id, sizeof(out->id), "etcd-%016llx", (unsigned long long)h->seen.cluster);
	out->term = h->seen.term;
	out->revision = h->seen.revision;
	return 0;
}
