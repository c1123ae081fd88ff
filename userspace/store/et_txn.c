// SPDX-License-Identifier: GPL-2.0-only
/* Transactions of the etcd engine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/store/et.h"

/* A transaction as messages, which point into each other. */
struct build {
	Etcd__TxnRequest txn;
	Etcd__Compare compare[STORE_OPS_MAX];
	Etcd__Compare *compares[STORE_OPS_MAX];
	struct et_key compare_key[STORE_OPS_MAX], compare_end[STORE_OPS_MAX];
	Etcd__RequestOp op[STORE_OPS_MAX];
	Etcd__RequestOp *ops[STORE_OPS_MAX];
	Etcd__PutRequest put[STORE_OPS_MAX];
	Etcd__DeleteRequest delete[STORE_OPS_MAX];
	struct et_key op_key[STORE_OPS_MAX];
	Etcd__RangeRequest read;
	Etcd__RequestOp read_op;
	Etcd__RequestOp *read_ops[1];
	u8	zero;
};

/*
 * A range is compared key by key: "created at 0" holds for none of those that are there, and for
 * a range without keys.
 */
static void add_compare(const struct store_etcd *e, struct build *b, size_t i, const struct store_compare *c)
{
	Etcd__Compare *to = &b->compare[i];

	etcd__compare__init(to);
	b->compares[i] = to;
	if (c->kind == STORE_NONE_BELOW) {
		et_key_range(e, &b->compare_key[i], &b->compare_end[i], c->key);
		to->range_end = b->compare_end[i].data;
	} else {
		et_key(e, &b->compare_key[i], c->key);
	}
	to->key = b->compare_key[i].data;
	if (c->kind == STORE_SAME) {
		to->target = ETCD__COMPARE_TARGET__MOD;
		to->value_case = ETCD__COMPARE__VALUE_MOD_REVISION;
		to->mod_revision = c->modified;
	} else {
		to->target = ETCD__COMPARE_TARGET__CREATE;
		to->value_case = ETCD__COMPARE__VALUE_CREATE_REVISION;
		to->create_revision = 0;
	}
}

static void add_op(const struct store_etcd *e, struct build *b, size_t i, const struct store_op *op)
{
	Etcd__RequestOp *to = &b->op[i];

	etcd__request_op__init(to);
	b->ops[i] = to;
	et_key(e, &b->op_key[i], op->key);
	if (op->value) {
		etcd__put_request__init(&b->put[i]);
		b->put[i].key = b->op_key[i].data;
		b->put[i].value = (ProtobufCBinaryData) { op->len, (u8 *)op->value };
		b->put[i].lease = op->lease;
		to->request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_PUT;
		to->request_put = &b->put[i];
	} else {
		etcd__delete_request__init(&b->delete[i]);
		b->delete[i].key = b->op_key[i].data;
		to->request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_DELETE;
		to->request_delete = &b->delete[i];
	}
}

/*
 * Compares alone: etcd takes a transaction without operations as one that any member may answer,
 * also one that lags or is cut off. A linearizable read in both branches makes it wait for a leader.
 */
static void add_read(struct build *b)
{
	etcd__range_request__init(&b->read);
	b->read.key = (ProtobufCBinaryData) { 1, &b->zero };
	b->read.count_only = true;
	etcd__request_op__init(&b->read_op);
	b->read_op.request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_RANGE;
	b->read_op.request_range = &b->read;
	b->read_ops[0] = &b->read_op;
	b->txn.success = b->txn.failure = b->read_ops;
	b->txn.n_success = b->txn.n_failure = 1;
}

static void build(const struct store_etcd *e, struct build *b, const struct store_txn *t)
{
	etcd__txn_request__init(&b->txn);
	for (size_t i = 0; i < t->compares; i++)
		add_compare(e, b, i, &t->compare[i]);
	for (size_t i = 0; i < t->ops; i++)
		add_op(e, b, i, &t->op[i]);
	b->txn.compare = b->compares;
	b->txn.n_compare = t->compares;
	b->txn.success = b->ops;
	b->txn.n_success = t->ops;
	if (!t->ops)
		add_read(b);
}

int et_txn(struct store *s, const struct store_txn *t, u64 *revision)
{
	struct et_call c = { .method = "KV/Txn", .safe = !t->ops };
	struct build *b = calloc(1, sizeof(*b));
	struct et_handle *h = et_handle(s);
	Etcd__TxnResponse *r;
	int ret;

	if (!b)
		return store_fail(s, -ENOMEM, "store: the host is out of memory");
	build(h->e, b, t);
	c.request = &b->txn.base;
	ret = et_call(h, &c);
	free(b);
	if (ret)
		return ret;
	r = etcd__txn_response__unpack(NULL, c.len, c.reply);
	if (!r || !r->header) {
		ret = et_bad_reply(h, c.method);
	} else {
		et_seen(h, r->header);
		*revision = r->header->revision;
		ret = r->succeeded;
	}
	if (r)
		etcd__txn_response__free_unpacked(r, NULL);
	return ret;
}
