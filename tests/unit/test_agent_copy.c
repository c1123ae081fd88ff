// SPDX-License-Identifier: GPL-2.0-only
/* The copy of the store's objects, and transactions made from it, over a store in a file. */
#include <errno.h>

#include "tests/unit/agent_rig.h"
#include "tests/unit/back_store.h"

static struct store *S, *other;		/* the copy's, another host's */
static struct copy *C;
static char reported[512];			/* keys that were reported as changed */

static void begin(void)
{
	rig_begin();
	S = store_sqlite_handle(Q);
	other = store_sqlite_handle(Q);
	C = copy_open(S);
}

static void end(void)
{
	copy_close(C);
	store_close(S);
	store_close(other);
	rig_end();
}

static struct muuid id(u8 n)
{
	return (struct muuid) { .b = { n, 1 } };
}

static struct key host_key(u8 n)
{
	return (struct key) { .kind = KEY_HOST, .host = id(n) };
}

static struct key want_key(u8 host, u8 volume)
{
	return (struct key) { .kind = KEY_WANT, .host = id(host), .volume = id(volume) };
}

/* By another handle, whatever is there. */
static u64 write_host(u8 n, const char *name)
{
	static unsigned int op;
	struct obj_host h = { .plan = { .uuid = id(n), .role = PLAN_STORAGE } };
	struct key k = host_key(n);
	char text[STORE_KEY_MAX], *value;
	struct store_op o = { .key = text };
	struct store_txn t = { .op = &o, .ops = 1 };
	u64 revision = 0;

	snprintf(h.name, sizeof(h.name), "%s", name);
	snprintf(h.o.op, sizeof(h.o.op), "test-%u", ++op);
	OK(key_text(&k, text));
	OK(obj_encode(KEY_HOST, &h, &value, why, sizeof(why)));
	o.value = value;
	o.len = strlen(value);
	CU_ASSERT_EQUAL(store_txn(other, &t, &revision), 1);
	free(value);
	return revision;
}

static void write_raw(const char *key, const char *value)
{
	struct store_op o = { .key = key, .value = value, .len = value ? strlen(value) : 0 };
	struct store_txn t = { .op = &o, .ops = 1 };

	CU_ASSERT_EQUAL(store_txn(other, &t, NULL), 1);
}

static void note(const struct key *k, void *arg)
{
	size_t n = strlen(reported);

	(void)arg;
	snprintf(reported + n, sizeof(reported) - n, "%s%02x ", key_word(k->kind), k->host.b[0]);
}

static int turn(void)
{
	reported[0] = 0;
	return copy_turn(C, 0, note, NULL);
}

/* Until the watch has said it all: the engine may be a moment behind. */
static void turn_until(u64 revision)
{
	reported[0] = 0;
	for (int i = 0; copy_revision(C) < revision && i < 1000; i++)
		copy_turn(C, 10, note, NULL);
	CU_ASSERT_TRUE(copy_revision(C) >= revision);
}

static const char *name_of(u8 n)
{
	struct key k = host_key(n);
	const struct obj_host *h = copy_obj(C, &k);

	return h ? h->name : "-";
}

static const struct key hosts = { .kind = KEY_HOST };

static void t_follow(void)
{
	char all[64] = "";
	const struct copy_item *i = NULL;

	begin();
	write_host(3, "three");
	write_host(1, "one");
	OK(copy_follow(C, &hosts, 0));
	CU_ASSERT_TRUE(copy_whole(C));
	CU_ASSERT_STRING_EQUAL(name_of(1), "one");
	CU_ASSERT_STRING_EQUAL(name_of(2), "-");
	turn_until(write_host(2, "two"));
	CU_ASSERT_STRING_EQUAL(reported, "host02 ");
	while ((i = copy_next(C, &hosts, 0, i)))
		strcat(strcat(all, ((struct obj_host *)i->obj)->name), " ");
	CU_ASSERT_STRING_EQUAL(all, "one two three ");
	/* another kind is not followed */
	write_raw("leader", "{}");
	turn_until(write_host(1, "uno"));
	CU_ASSERT_STRING_EQUAL(reported, "host01 ");
	CU_ASSERT_STRING_EQUAL(name_of(1), "uno");
	write_raw("host/01010000-0000-0000-0000-000000000000", NULL);
	turn_until(copy_revision(C) + 1);
	CU_ASSERT_STRING_EQUAL(name_of(1), "-");
	CU_ASSERT_STRING_EQUAL(reported, "host01 ");
	CU_ASSERT_EQUAL(turn(), 0);
	end();
}

static void t_refused(void)
{
	struct key k = host_key(1);
	const struct copy_item *i;
	struct obj_host h = { .plan = { .uuid = id(1), .role = PLAN_CLIENT }, .name = "new" };
	struct deal d;

	begin();
	write_raw("host/01010000-0000-0000-0000-000000000000", "{ \"v\": 1000 }");
	write_raw("host/no-uuid", "{}");
	OK(copy_follow(C, &hosts, 0));
	i = copy_get(C, &k);
	CU_ASSERT_PTR_NOT_NULL_FATAL(i);
	CU_ASSERT_PTR_NULL(i->obj);
	CU_ASSERT_PTR_NOT_NULL_FATAL(i->why);
	CU_ASSERT_PTR_NULL(copy_next(C, &hosts, 0, i));
	/* what is refused is there: it is compared, not taken for absent */
	write_host(1, "meanwhile");
	deal_begin(&d, C);
	deal_put(&d, KEY_HOST, &h, 0);
	CU_ASSERT_EQUAL(deal_close(&d, 1000), 0);
	turn_until(copy_revision(C) + 1);
	CU_ASSERT_STRING_EQUAL(name_of(1), "meanwhile");
	end();
}

static void t_leave(void)
{
	struct key a = want_key(1, 1), b = want_key(2, 1);

	begin();
	write_host(1, "one");
	OK(copy_follow(C, &hosts, 0));
	OK(copy_follow(C, &a, 1));
	OK(copy_follow(C, &b, 2));
	CU_ASSERT_EQUAL(copy_follow(C, &(struct key) { .kind = KEY_KINDS }, 0), -EINVAL);
	copy_leave(C, &hosts, 0);
	CU_ASSERT_STRING_EQUAL(name_of(1), "-");
	write_host(2, "two");
	for (int i = 0; i < 3; i++)
		copy_turn(C, 10, NULL, NULL);
	CU_ASSERT_STRING_EQUAL(name_of(2), "-");
	end();
}

/*
 * A store that was put back has lower revisions: a read of now is believed, a report of a watch
 * about an older revision is not.
 */
static void t_put_back(void)
{
	struct obj_host h = { .o.op = "ours", .plan = { .uuid = id(1), .role = PLAN_STORE }, .name = "ours" };
	struct key k = host_key(1);
	char text[STORE_KEY_MAX], *value;
	struct store_op o = { .key = text };
	u64 last;

	begin();
	last = write_host(1, "theirs");
	OK(copy_follow(C, &hosts, 0));
	OK(key_text(&k, text));
	OK(obj_encode(KEY_HOST, &h, &value, why, sizeof(why)));
	o.value = value;
	o.len = strlen(value);
	OK(copy_apply(C, &o, last + 100));
	CU_ASSERT_STRING_EQUAL(name_of(1), "ours");
	turn_until(write_host(1, "older-than-ours"));
	CU_ASSERT_STRING_EQUAL(name_of(1), "ours");
	o.value = NULL;
	OK(copy_apply(C, &o, last + 50));
	CU_ASSERT_STRING_EQUAL(name_of(1), "ours");
	OK(copy_fresh(C, &k));
	CU_ASSERT_STRING_EQUAL(name_of(1), "older-than-ours");
	free(value);
	end();
}

/* The copy follows what the store is now, in revisions, too, and is not whole before all is of now. */
static void t_fallen(void)
{
	struct store_sqlite *older;
	char path[96];
	u64 then;

	begin();
	copy_close(C);
	S = back_begin(S);
	C = copy_open(S);
	OK(copy_follow(C, &hosts, 0));
	OK(copy_follow(C, &(struct key) { .kind = KEY_WANT }, 0));
	then = write_host(1, "then");
	turn_until(then);
	snprintf(path, sizeof(path), "%s/older", folder);
	OK(store_sqlite_backup(Q, path));
	for (int i = 0; i < 20; i++)
		turn_until(write_host(2, "later"));
	CU_ASSERT(copy_revision(C) >= then + 20);
	OK(store_sqlite_open(path, &older, why, sizeof(why)));
	back_turn(S, store_sqlite_handle(older));
	copy_turn(C, 0, NULL, NULL);
	CU_ASSERT_FALSE(copy_whole(C));
	while (!copy_whole(C))
		copy_turn(C, 10, NULL, NULL);
	CU_ASSERT(copy_revision(C) >= then && copy_revision(C) < then + 10);
	CU_ASSERT_STRING_EQUAL(name_of(1), "then");
	CU_ASSERT_STRING_EQUAL(name_of(2), "-");
	/* Its watches are of the store as it is. */
	store_close(other);
	other = store_sqlite_handle(older);
	turn_until(write_host(3, "three"));
	CU_ASSERT_STRING_EQUAL(name_of(3), "three");
	CU_ASSERT(copy_revision(C) < then + 10);
	copy_close(C);
	store_close(S);
	S = store_sqlite_handle(Q);
	C = copy_open(S);
	store_close(other);
	store_sqlite_close(older);
	other = store_sqlite_handle(Q);
	end();
}

/* A watch that fell too far behind lists again. */
static void t_relist(void)
{
	u64 last = 0;

	begin();
	store_sqlite_history(Q, 1);
	write_host(1, "one");
	write_host(2, "two");
	OK(copy_follow(C, &hosts, 0));
	write_raw("host/02010000-0000-0000-0000-000000000000", NULL);
	for (int i = 0; i < 8; i++)
		last = write_host(1, i == 7 ? "last" : "later");
	turn_until(last);
	CU_ASSERT_STRING_EQUAL(name_of(1), "last");
	CU_ASSERT_STRING_EQUAL(name_of(2), "-");
	turn_until(write_host(3, "three"));
	CU_ASSERT_STRING_EQUAL(name_of(3), "three");
	end();
}

/* Another store has its own revisions: what was read is of none of them. */
static void t_again(void)
{
	struct key k = host_key(1);
	u64 revision;

	begin();
	write_host(1, "one");
	OK(copy_follow(C, &(struct key) { .kind = KEY_HOST }, 0));
	revision = copy_get(C, &k)->modified;
	copy_again(C);
	CU_ASSERT(!copy_whole(C));
	CU_ASSERT_EQUAL(copy_revision(C), 0);
	CU_ASSERT_EQUAL(copy_get(C, &k)->modified, 0);
	CU_ASSERT(copy_turn(C, 0, NULL, NULL) > 0);
	CU_ASSERT(copy_whole(C) && copy_revision(C) >= revision);
	CU_ASSERT_EQUAL(copy_get(C, &k)->modified, revision);
	write_host(2, "two");
	CU_ASSERT(copy_turn(C, 1000, NULL, NULL) > 0);
	k = host_key(2);
	CU_ASSERT_PTR_NOT_NULL(copy_get(C, &k));
	end();
}

static void t_deal(void)
{
	struct obj_host h = { .plan = { .uuid = id(1), .role = PLAN_STORE }, .name = "mine" };
	struct key k1 = host_key(1), k2 = host_key(2);
	struct deal d;

	begin();
	OK(copy_follow(C, &hosts, 0));
	deal_begin(&d, C);
	deal_put(&d, KEY_HOST, &h, 0);
	deal_same(&d, &k2);
	CU_ASSERT_EQUAL(deal_close(&d, 1000), 1);
	/* at once, before the watch */
	CU_ASSERT_STRING_EQUAL(name_of(1), "mine");
	/* a key that was absent in the copy has come */
	write_host(2, "two");
	snprintf(h.name, sizeof(h.name), "again");
	deal_begin(&d, C);
	deal_put(&d, KEY_HOST, &h, 0);
	deal_same(&d, &k2);
	CU_ASSERT_EQUAL(deal_close(&d, 1000), 0);
	turn_until(copy_revision(C) + 1);
	/* ... and one that has changed */
	write_host(1, "theirs");
	deal_begin(&d, C);
	deal_put(&d, KEY_HOST, &h, 0);
	CU_ASSERT_EQUAL(deal_close(&d, 1000), 0);
	CU_ASSERT_STRING_EQUAL(name_of(1), "mine");
	OK(copy_fresh(C, &k1));
	CU_ASSERT_STRING_EQUAL(name_of(1), "theirs");
	deal_begin(&d, C);
	deal_put(&d, KEY_HOST, &h, 0);
	deal_erase(&d, &k2);
	CU_ASSERT_EQUAL(deal_close(&d, 1000), 1);
	CU_ASSERT_STRING_EQUAL(name_of(1), "again");
	CU_ASSERT_STRING_EQUAL(name_of(2), "-");
	/* no key of a kind */
	deal_begin(&d, C);
	deal_none_below(&d, &hosts, 0);
	deal_put(&d, KEY_HOST, &h, 0);
	CU_ASSERT_EQUAL(deal_close(&d, 1000), 0);
	write_raw("host/01010000-0000-0000-0000-000000000000", NULL);
	OK(copy_fresh(C, &k1));
	CU_ASSERT_STRING_EQUAL(name_of(1), "-");
	end();
}

static void t_deal_wrong(void)
{
	struct obj_host h = { .plan = { .uuid = id(1), .role = PLAN_STORE } };
	struct deal d;

	begin();
	OK(copy_follow(C, &hosts, 0));
	deal_begin(&d, C);
	deal_put(&d, KEY_HOST, &h, 0);		/* it has no name */
	CU_ASSERT_EQUAL(deal_close(&d, 1000), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(d.why, "name"));
	deal_begin(&d, C);
	for (unsigned int i = 0; i <= STORE_OPS_MAX; i++) {
		h.plan.uuid = (struct muuid) { .b = { 1 + i % 200, 2 + i / 200 } };
		snprintf(h.name, sizeof(h.name), "h%u", i);
		CU_ASSERT_EQUAL(deal_has_room(&d, 100), i < STORE_OPS_MAX);
		deal_put(&d, KEY_HOST, &h, 0);
	}
	CU_ASSERT_EQUAL(deal_close(&d, 1000), -E2BIG);
	CU_ASSERT_PTR_NULL(copy_next(C, &hosts, 0, NULL));
	deal_begin(&d, C);
	deal_drop(&d);
	end();
}

static const struct rig_test tests[] = {
	{ "follow", t_follow },
	{ "refused", t_refused },
	{ "leave", t_leave },
	{ "put back", t_put_back },
	{ "put back below it", t_fallen },
	{ "relist", t_relist },
	{ "again", t_again },
	{ "deal", t_deal },
	{ "deal, wrong", t_deal_wrong },
};

int main(void)
{
	return rig_main("agent_copy", tests, sizeof(tests) / sizeof(tests[0]));
}
