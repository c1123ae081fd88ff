// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests. Connections with requests stand in one queue, and a worker takes one request of the
 * first connection, which then goes to the end: a host with many requests delays the others by
 * one each.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/store/engine.h"
#include "userspace/store/link_serve.h"

#define CALL_MS_MAX	10000U
#define CALL_MS_MIN	50U
#define JUDGE_TRIES	3
_Static_assert(FRAME_WORDS >= RIGHTS_WHY, "words of a verdict fit into an answer");
#define PAGE_BYTES	(FRAME_MAX - (128U << 10))
#define KV_BYTES	64		/* of a key in a page, beside its key and value */

void serve_ready(struct serve_conn *c)
{
	struct link_server *s = c->s;

	if (c->ready || !c->jobs || c->out_bytes >= SERVE_OUT_MAX || c->state != SERVE_UP)
		return;
	c->ready = true;
	c->refs++;
	c->ready_next = NULL;
	*s->ready_end = c;
	s->ready_end = &c->ready_next;
	pthread_cond_signal(&s->work);
}

void serve_ready_end(struct link_server *s)
{
	struct serve_conn *c;

	while ((c = s->ready)) {
		s->ready = c->ready_next;
		serve_put(c);
	}
}

void serve_job(struct serve_conn *c)
{
	struct serve_job *j = calloc(1, sizeof(*j));
	struct link_server *s = c->s;

	if (!j) {
		serve_error(c, c->rx.f.id, -ENOMEM, "no memory at the store host");
		return;
	}
	j->conn = c;
	j->f = c->rx.f;
	j->payload = c->rx.payload;
	j->len = c->rx.len;
	j->until = store_now_ms() + j->f.ms;
	memset(&c->rx.f, 0, sizeof(c->rx.f));
	c->rx.payload = NULL;
	pthread_mutex_lock(&s->lock);
	*c->jobs_end = j;
	c->jobs_end = &j->next;
	c->refs++;
	s->nr_jobs++;
	s->job_bytes += j->len;
	serve_ready(c);
	pthread_mutex_unlock(&s->lock);
}

/* NULL: the server ends. */
static struct serve_job *next_job(struct link_server *s)
{
	struct serve_conn *c;
	struct serve_job *j = NULL;

	pthread_mutex_lock(&s->lock);
	while (!j && !s->ending) {
		c = s->ready;
		if (!c) {
			pthread_cond_wait(&s->work, &s->lock);
			continue;
		}
		s->ready = c->ready_next;
		if (!s->ready)
			s->ready_end = &s->ready;
		c->ready = false;
		if (c->jobs && c->out_bytes < SERVE_OUT_MAX) {
			j = c->jobs;
			c->jobs = j->next;
			if (!c->jobs)
				c->jobs_end = &c->jobs;
			serve_ready(c);
		}
		pthread_mutex_unlock(&s->lock);
		serve_put(c);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return j;
}

static void end_job(struct serve_job *j)
{
	struct link_server *s = j->conn->s;

	pthread_mutex_lock(&s->lock);
	s->nr_jobs--;
	s->job_bytes -= j->len;
	pthread_mutex_unlock(&s->lock);
	serve_put(j->conn);
	frame_end(&j->f);
	free(j->payload);
	free(j);
}

static void answer_error(struct serve_job *j, int err, const char *why)
{
	/* An interrupt is this server's own, as it ends. */
	if (err == -ECANCELED)
		err = -EIO;
	serve_error(j->conn, j->f.id, err, "%s", why[0] ? why : strerror(-err));
}

/* The engine ends a page of large values early; here it ends where the frame is full. */
static void run_range(struct serve_job *j, struct store *h)
{
	struct frame f = { .type = FRAME_PAGE, .id = j->f.id };
	struct store_page p;
	size_t bytes = 0;
	int err = store_range(h, j->f.text, j->f.after, j->f.limit, j->f.at, &p);

	while (f.nr < p.nr) {
		bytes += p.kv[f.nr].len + strlen(p.kv[f.nr].key) + KV_BYTES;
		if (bytes > PAGE_BYTES)
			break;
		f.nr++;
	}
	f.kv = p.kv;
	f.revision = p.revision;
	f.more = p.more || f.nr < p.nr;
	if (err)
		answer_error(j, err, store_why(h));
	else
		serve_answer(j->conn, &f);
	store_page_free(&p);
}

static void run_get(struct serve_job *j, struct store *h)
{
	struct frame f = { .type = FRAME_PAGE, .id = j->f.id };
	struct store_page p;
	int err = store_get(h, j->f.text, &p);

	f.kv = p.kv;
	f.nr = p.nr;
	f.revision = p.revision;
	if (err && err != -ENOENT)
		answer_error(j, err, store_why(h));
	else
		serve_answer(j->conn, &f);
	store_page_free(&p);
}

/* Keys that rules have read, until the verdict. */
struct reads {
	struct store *h;
	struct read {
		struct read *next;
		struct store_page page;
	} *all;
};

static int read_key(void *priv, const char *key, const struct store_kv **out)
{
	struct reads *r = priv;
	struct read *one;
	int err;

	for (one = r->all; one; one = one->next)
		if (one->page.nr && !strcmp(one->page.kv->key, key)) {
			*out = one->page.kv;
			return 0;
		}
	one = calloc(1, sizeof(*one));
	if (!one)
		return -ENOMEM;
	one->next = r->all;
	r->all = one;
	err = store_get(r->h, key, &one->page);
	*out = one->page.kv;
	return err;
}

static void end_reads(struct reads *r)
{
	struct read *one;

	while ((one = r->all)) {
		r->all = one->next;
		store_page_free(&one->page);
		free(one);
	}
}

static enum rights_verdict judge(struct serve_job *j, struct store *h, int *err, char why[RIGHTS_WHY])
{
	const struct rights_who who = { j->conn->who.role, j->conn->who.uuid };
	struct reads r = { .h = h };
	const struct rights_source from = { read_key, &r };
	enum rights_verdict v = rights_txn(&who, &j->f.txn, &from, err, why);

	end_reads(&r);
	return v;
}

static bool is_owner(struct serve_job *j, u64 lease, const struct secret_proof *shown)
{
	struct link_server *s = j->conn->s;
	struct link_secrets known;
	struct secret_proof proof;

	s->c.secrets(s->c.priv, &known);
	secret_lease(&known.label, &j->conn->who.uuid, lease, &proof);
	explicit_bzero(&known, sizeof(known));
	return secret_proof_equal(&proof, shown);
}

/* Each lease that the transaction uses was granted to this host. */
static bool owns_leases(struct serve_job *j)
{
	const struct store_op *op = j->f.txn.op;

	for (size_t i = 0; i < j->f.txn.ops; i++)
		if (op[i].lease && !is_owner(j, op[i].lease, &j->f.proof[i]))
			return false;
	return true;
}

/* 1, 0 or an error, as store_txn(). */
static int judged_txn(struct serve_job *j, struct store *h, u64 *revision, char why[FRAME_WORDS])
{
	struct store_txn compares = j->f.txn;
	enum rights_verdict v;
	int err = 0, ret;

	compares.ops = 0;
	for (int i = 0; i < JUDGE_TRIES; i++) {
		v = judge(j, h, &err, why);
		if (v == RIGHTS_REFUSED || v == RIGHTS_UNREAD)
			return err;
		ret = store_txn(h, v == RIGHTS_ALLOWED ? &j->f.txn : &compares, revision);
		if (ret < 0)
			snprintf(why, FRAME_WORDS, "%s", store_why(h));
		/* Compares that did not hold, and hold now: judge again, as nothing was written. */
		if (v == RIGHTS_ALLOWED || ret != 1)
			return ret;
	}
	snprintf(why, FRAME_WORDS, "the keys change too fast to judge the transaction");
	return -EIO;
}

/* Compares come first: a lease that is not there matters only where they hold. */
static int leaseless_txn(struct serve_job *j, struct store *h, u64 *revision, char why[FRAME_WORDS])
{
	int ret;

	j->f.txn.ops = 0;
	ret = judged_txn(j, h, revision, why);
	if (ret != 1)
		return ret;
	snprintf(why, FRAME_WORDS, "this host has no such lease");
	return -ENOENT;
}

static void run_txn(struct serve_job *j, struct store *h)
{
	struct frame f = { .type = FRAME_DONE, .id = j->f.id };
	char why[FRAME_WORDS] = "";
	int ret = owns_leases(j) ? judged_txn(j, h, &f.revision, why) :
		  leaseless_txn(j, h, &f.revision, why);

	f.done = ret == 1;
	if (ret < 0)
		answer_error(j, ret, why);
	else
		serve_answer(j->conn, &f);
}

static void run_grant(struct serve_job *j, struct store *h)
{
	struct frame f = { .type = FRAME_LEASE, .id = j->f.id };
	struct link_server *s = j->conn->s;
	struct link_secrets known;
	int err = store_lease_grant(h, j->f.seconds, &f.lease);

	if (err) {
		answer_error(j, err, store_why(h));
		return;
	}
	s->c.secrets(s->c.priv, &known);
	secret_lease(&known.label, &j->conn->who.uuid, f.lease, &f.owner);
	explicit_bzero(&known, sizeof(known));
	serve_answer(j->conn, &f);
}

static void run_lease(struct serve_job *j, struct store *h)
{
	struct frame f = { .type = FRAME_OK, .id = j->f.id };
	int err;

	if (!is_owner(j, j->f.lease, &j->f.owner)) {
		answer_error(j, -ENOENT, "this host has no such lease");
		return;
	}
	err = j->f.type == FRAME_KEEP ? store_lease_keep(h, j->f.lease) :
	      store_lease_revoke(h, j->f.lease);
	if (err)
		answer_error(j, err, store_why(h));
	else
		serve_answer(j->conn, &f);
}

static void run_identity(struct serve_job *j, struct store *h)
{
	struct frame f = { .type = FRAME_IS, .id = j->f.id };
	struct store_identity i;
	int err = store_identity(h, &i);

	f.text = i.id;
	f.term = i.term;
	f.revision = i.revision;
	if (err)
		answer_error(j, err, store_why(h));
	else
		serve_answer(j->conn, &f);
}

static void run_keys(struct serve_job *j, struct store *h)
{
	struct frame f = { .type = FRAME_KEYS, .id = j->f.id };
	char why[FRAME_WORDS] = "";
	int err = 0;

	if (j->f.type == FRAME_JOIN)
		err = join_host(j, h, &f.keys, why);
	else
		join_keys(j->conn->s, &j->conn->who.uuid, j->conn->who.role, &f.keys);
	if (err)
		answer_error(j, err, why);
	else
		serve_answer(j->conn, &f);
	explicit_bzero(&f.keys, sizeof(f.keys));
}

static void run_job(struct serve_job *j, struct store *h)
{
	u64 now = store_now_ms();
	unsigned int ms = now < j->until ? j->until - now : 0;

	if (!ms) {
		answer_error(j, -ETIMEDOUT, "the store host was too busy to begin in time");
		return;
	}
	store_timeout(h, ms > CALL_MS_MAX ? CALL_MS_MAX : ms < CALL_MS_MIN ? CALL_MS_MIN : ms);
	switch (j->f.type) {
	case FRAME_RANGE:
		run_range(j, h);
		break;
	case FRAME_GET:
		run_get(j, h);
		break;
	case FRAME_TXN:
		run_txn(j, h);
		break;
	case FRAME_GRANT:
		run_grant(j, h);
		break;
	case FRAME_KEEP:
	case FRAME_REVOKE:
		run_lease(j, h);
		break;
	case FRAME_IDENTITY:
		run_identity(j, h);
		break;
	default:
		run_keys(j, h);
	}
}

void *serve_work_thread(void *server)
{
	struct link_server *s = server;
	struct store *h = s->handle[__atomic_fetch_add(&s->handles_taken, 1, __ATOMIC_RELAXED)];
	struct serve_job *j;

	while ((j = next_job(s))) {
		run_job(j, h);
		end_job(j);
	}
	return NULL;
}
