// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transactions, with exactly the compares that a decision names. One that is in flight remembers
 * what has changed since its decision read: a compare of that fails. Its host may die meanwhile.
 */
#include <string.h>

#include "tests/sim/cluster/search.h"
#include "userspace/plan/access.h"
#include "userspace/plan/extent.h"

static const char *const kinds[] = {
	[T_ATTACH] = "attach", [T_READER] = "reader's", [T_RELEASE] = "release", [T_HELD] = "held",
	[T_RETAKE] = "retake", [T_NOTE] = "note", [T_CHANGE] = "change", [T_FREE] = "free",
	[T_DELETE] = "delete", [T_AGENT] = "agent's",
};

struct key *key_of(struct store *s, u8 x)
{
	for (int i = 0; i < KEYS; i++) {
		if (s->key[drive_of(x)][i].x == x)
			return &s->key[drive_of(x)][i];
	}
	return NULL;
}

const struct key *key_get(const struct store *s, u8 x)
{
	return key_of((struct store *)s, x);
}

void txn_changed(struct state *t, u8 object, u8 drives)
{
	for (int i = 0; i < LATE; i++) {
		if (t->t[i].kind && (object != PLAN_OBJ_DRIVES || (t->t[i].drives & drives)))
			t->t[i].stale |= object;
	}
	if (t->v.on && (object != PLAN_OBJ_DRIVES || (drives >> t->v.d & 1)))
		t->v.stale |= object;
}

/* An attachment of @h is lost to access though its kernel serves, and not by a store put back. */
static void take_access(struct state *t, const struct txn *x)
{
	t->s.mode = PLAN_RW;
	t->s.clean = 0;
	t->s.holder = x->who + 1;
	t->s.num = x->num;
	txn_changed(t, PLAN_OBJ_ACCESS, 0);
	if (x->erase & PLAN_OBJ_READERS) {
		t->s.readers = 0;
		txn_changed(t, PLAN_OBJ_READERS, 0);
	}
}

static void leave_access(struct state *t, bool clean)
{
	t->s.clean = clean;
	t->s.mode = PLAN_NONE;
	t->s.holder = 0;
	txn_changed(t, PLAN_OBJ_ACCESS, 0);
}

static void change(struct state *t, const struct txn *x)
{
	if (t->s.lay.ver >= x->lay.ver && !t->s.back)
		complain("a change is lost: another one of its version was decided");
	t->s.lay = t->best = x->lay;
	txn_changed(t, PLAN_OBJ_VOLUME, 0);
	if (x->x)
		txn_changed(t, PLAN_OBJ_DRIVES, 1 << drive_of(x->x));
}

static void delete(struct state *t, const struct txn *x)
{
	for (int h = 0; h < HOSTS && !x->pre && !t->backs; h++) {
		if (t->h[h].ph == P_SERVES && access_of(t->h[h].num) == t->s.num)
			complain("a plain delete of a volume that is attached");
	}
	t->s.vst = PLAN_DELETING;
	t->dead_num = t->s.num + 64;
	memset(&t->best, 0, sizeof(t->best));
	leave_access(t, false);
	if (x->erase & PLAN_OBJ_READERS)
		t->s.readers = 0;
	for (int d = 0; d < DRIVES; d++) {
		for (int i = 0; i < KEYS; i++) {
			struct key *k = &t->s.key[d][i];

			if (k->x && !is_other(k->x))
				k->st = PLAN_FREEING;
		}
	}
	txn_changed(t, PLAN_OBJ_VOLUME, 0);
	txn_changed(t, PLAN_OBJ_READERS, 0);
	txn_changed(t, PLAN_OBJ_DRIVES, 0xff);
	store_gone(t);
}

static struct key *key_new(struct state *t, u8 x)
{
	struct key *k = key_of(&t->s, x);

	for (int i = 0; !k && i < KEYS; i++) {
		if (!t->s.key[drive_of(x)][i].x)
			k = &t->s.key[drive_of(x)][i];
	}
	return k;
}

/* Keys of a drive in one order, so that equal stores are equal bytes. */
static void keys_sort(struct key *k)
{
	struct key first = k[0];

	if (!k[0].x || (k[1].x && k[1].x < k[0].x)) {
		k[0] = k[1];
		k[1] = first;
	}
}

static void agent(struct state *t, const struct txn *x)
{
	struct key *k = key_of(&t->s, x->x);

	if (x->what == PLAN_X_ADOPT)
		k = key_new(t, x->x);
	if (!k)
		return;
	if (x->what == PLAN_X_ERASE) {
		memset(k, 0, sizeof(*k));
	} else {
		k->x = x->x;
		if (x->what != PLAN_X_RECORDED)
			k->st = x->what == PLAN_X_ADOPT && !x->pre ? PLAN_WANTED : PLAN_READY;
		k->ver = x->lay.ver;
		k->com = x->lay.com;
	}
	keys_sort(t->s.key[drive_of(x->x)]);
	txn_changed(t, PLAN_OBJ_DRIVES, 1 << drive_of(x->x));
	store_gone(t);
}

static void commit(struct state *t, const struct txn *x)
{
	struct key *k;

	switch (x->kind) {
	case T_ATTACH:
		take_access(t, x);
		host_attached(t, x);
		break;
	case T_RETAKE:
		take_access(t, x);
		again_retaken(t, x);
		break;
	case T_READER:
		t->s.readers |= 1 << x->who;
		txn_changed(t, PLAN_OBJ_READERS, 0);
		host_attached(t, x);
		break;
	case T_RELEASE:
	case T_HELD:
		leave_access(t, x->pre);
		break;
	case T_NOTE:
		t->s.rep_num = access_of(x->num);
		t->s.rep_ver = x->lay.ver;
		txn_changed(t, PLAN_OBJ_ROSTER, 0);
		break;
	case T_CHANGE:
		change(t, x);
		break;
	case T_DELETE:
		delete(t, x);
		break;
	case T_FREE:
		k = key_of(&t->s, x->x);
		if (k)
			k->st = PLAN_FREEING;
		txn_changed(t, PLAN_OBJ_DRIVES, 1 << drive_of(x->x));
		break;
	case T_AGENT:
		agent(t, x);
		break;
	}
}

bool txn_commit(struct state *t, const struct txn *x)
{
	u8 readers = t->s.readers;

	if (x->kind <= T_RETAKE)
		readers &= ~(1 << x->who);
	if ((x->compare & x->stale) || ((x->compare & PLAN_OBJ_READERS) && readers))
		return false;
	commit(t, x);
	return true;
}

/* Its caller learns that the transaction was refused, if it is the same boot. */
static void refused(struct state *t, const struct txn *x)
{
	struct host *y = &t->h[x->who];

	if (x->kind > T_NOTE || y->boot != x->boot)
		return;
	if ((x->kind == T_ATTACH || x->kind == T_READER) && y->ph == P_TXN)
		y->ph = P_IDLE;
	if (x->kind == T_RELEASE && !y->rel)
		y->rel = x->num;
	if (x->kind == T_HELD && !y->held)
		y->held = x->num;
}

/* The host dies after its attach is decided, before its record says so. */
static void unrecorded(const struct state *was, const struct state *s, const struct txn *x)
{
	struct state t = *s;
	struct host *y = &t.h[x->who];
	const struct host *old = &was->h[x->who];

	if ((x->kind != T_ATTACH && x->kind != T_RETAKE) || !opt.record || s->crashes >= opt.crashes)
		return;
	t.crashes++;
	host_crash(&t, x->who);
	y->up = 0;
	y->rc_mode = old->rc_mode;
	y->rc_num = old->rc_num;
	y->rc_sn = old->rc_sn;
	y->rc_lay = old->rc_lay;
	search_reach(&t, "%c crashes before its record has number %x", 'A' + x->who, x->num);
}

void txn_decided(const struct state *s, struct txn *x, const char *what)
{
	struct state t = *s;
	char who = x->kind == T_AGENT ? 'd' : x->kind < T_CHANGE ? 'A' + x->who : 'C';

	if (txn_commit(&t, x)) {
		unrecorded(s, &t, x);
		search_reach(&t, "%c %s: done, number %x, version %d", who, what, t.s.num,
			     t.s.lay.ver);
	}
	if (s->lates >= opt.lates)
		return;
	for (int i = 0; i < LATE; i++) {
		if (s->t[i].kind)
			continue;
		t = *s;
		t.lates++;
		t.t[i] = *x;
		search_reach(&t, "%c %s: decided, in flight", who, what);
		return;
	}
}

void txn_steps(const struct state *s)
{
	for (int i = 0; i < LATE; i++) {
		struct txn x = s->t[i];
		struct state t = *s;
		bool done;

		if (!x.kind)
			continue;
		memset(&t.t[i], 0, sizeof(t.t[i]));
		done = txn_commit(&t, &x);
		if (done)
			unrecorded(s, &t, &x);
		else
			refused(&t, &x);
		search_reach(&t, "the %s txn of %d arrives: %s", kinds[x.kind], x.who,
			     done ? "done" : "refused");
	}
}
