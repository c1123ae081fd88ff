// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rights on keys of the store: the whole table against one that was written by hand, and each rule
 * about values with a value that breaks it alone.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "driver/uapi/number.h"
#include "userspace/store/rights.h"

#define SELF	"11111111-1111-4111-8111-111111111111"
#define OTHER	"22222222-2222-4222-8222-222222222222"
#define VOL	"33333333-3333-4333-8333-333333333333"	/* all may attach; held by no host */
#define OURS	"44444444-4444-4444-8444-444444444444"	/* this host holds it */
#define THEIRS	"55555555-5555-4555-8555-555555555555"	/* the other host does */
#define CLOSED	"66666666-6666-4666-8666-666666666666"	/* its allow does not name this host */
#define NONE	"77777777-7777-4777-8777-777777777777"
#define D1	"88888888-8888-4888-8888-888888888881"	/* this host's, local */
#define D2	"88888888-8888-4888-8888-888888888882"	/* the other one's */
#define D3	"88888888-8888-4888-8888-888888888883"	/* this host's, exported */
#define D4	"88888888-8888-4888-8888-888888888884"	/* has left the other one */
#define E1	"99999999-9999-4999-8999-999999999991"
#define E2	"99999999-9999-4999-8999-999999999992"
#define E3	"99999999-9999-4999-8999-999999999993"
#define T1	"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa1"	/* of this host, about VOL */
#define T2	"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa2"	/* create, by the other one */
#define T3	"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa3"	/* about CLOSED */

#define Q(text)		"\"" text "\""
#define EXTENT(uuid, start, state) "{\"uuid\":" Q(uuid) ",\"volume\":" Q(VOL) ",\"place\":0,\"state\":" Q(state) \
	",\"start\":" start ",\"length\":4194304}"
#define DRIVE(host, local, wanted, extents) "{\"host\":" Q(host) ",\"local\":" local ",\"wanted\":" Q(wanted) \
	",\"extents\":[" extents "]}"
#define ACCESS(mode, holder, number) "{\"mode\":" Q(mode) "," holder "\"number\":" number "}"
#define HOLDER(host)	"\"holder\":" Q(host) ","
#define TASK(verb, volume, host) "{\"verb\":" Q(verb) ",\"volume\":" Q(volume) ",\"host\":" Q(host) "}"
#define CREATE(host)	"{\"verb\":\"volume create\",\"host\":" Q(host) "}"
#define HOST(role, removed) "{\"role\":" Q(role) ",\"removed\":" removed "}"

/* Generation 1, counter 5 and 6, and the largest counter. */
#define N5	"2251799814012928"
#define N6	"2251799814078464"
#define NLAST	"4503599627304960"

/* The store that is judged against. @rev: at which the key was written last. */
static struct key {
	const char *key, *value;
	u64	rev;
} store[] = {
	{ "host/" SELF, HOST("client", "false"), 11 },
	{ "host/" OTHER, HOST("client", "false"), 12 },
	{ "volume/" VOL, "{\"allow\":\"all\",\"state\":\"ready\"}", 21 },
	{ "volume/" OURS, "{\"allow\":[" Q(OTHER) "," Q(SELF) "],\"state\":\"ready\"}", 22 },
	{ "volume/" THEIRS, "{\"allow\":\"all\",\"state\":\"ready\"}", 23 },
	{ "volume/" CLOSED, "{\"allow\":[" Q(OTHER) "],\"state\":\"ready\"}", 24 },
	{ "access/" VOL, ACCESS("none", "", N5), 31 },
	{ "access/" OURS, ACCESS("rw", HOLDER(SELF), N5), 32 },
	{ "access/" THEIRS, ACCESS("rw", HOLDER(OTHER), N5), 33 },
	{ "access/" CLOSED, ACCESS("none", "", N5), 34 },
	{ "drive/" D1, DRIVE(SELF, "true", "in", EXTENT(E1, "1048576", "ready") "," EXTENT(E2, "9437184", "freeing")), 41 },
	{ "drive/" D2, DRIVE(OTHER, "true", "in", ""), 42 },
	{ "drive/" D3, DRIVE(SELF, "false", "in", ""), 43 },
	{ "drive/" D4, DRIVE(OTHER, "false", "out", EXTENT(E1, "1048576", "ready")), 44 },
	{ "writer/" OURS, "{\"host\":" Q(SELF) "}", 51 },
	{ "writer/" THEIRS, "{\"host\":" Q(OTHER) "}", 52 },
	{ "task/" T1, TASK("volume rename", VOL, SELF), 61 },
	{ "task/" T2, CREATE(OTHER), 62 },
	{ "task/" T3, TASK("volume rename", CLOSED, OTHER), 63 },
	{ NULL, NULL, 0 }
};

static int read_error;		/* every read fails so */
static char why[RIGHTS_WHY];

static int fake_get(void *priv, const char *key, const struct store_kv **out)
{
	static struct store_kv kv;

	(void)priv;
	if (read_error)
		return read_error;
	for (const struct key *k = store; k->key; k++) {
		if (strcmp(k->key, key))
			continue;
		kv = (struct store_kv) { .key = k->key, .value = k->value, .len = strlen(k->value),
					 .modified = k->rev };
		*out = &kv;
		return 0;
	}
	return -ENOENT;
}

static const struct rights_source source = { fake_get, NULL };

static struct store_compare compare_now(const char *key)
{
	for (const struct key *k = store; k->key; k++)
		if (!strcmp(k->key, key))
			return (struct store_compare) { STORE_SAME, key, k->rev };
	return (struct store_compare) { STORE_ABSENT, key, 0 };
}

static enum rights_verdict judge(u8 role, const struct store_txn *t)
{
	struct rights_who who = { .role = role };
	int err = 0;
	enum rights_verdict v;

	CU_ASSERT_EQUAL(muuid_parse(SELF, &who.host), 0);
	why[0] = 0;
	v = rights_txn(&who, t, &source, &err, why);
	CU_ASSERT_EQUAL(v == RIGHTS_UNREAD, err != 0);
	CU_ASSERT_EQUAL(v == RIGHTS_REFUSED, why[0] != 0);
	return v;
}

/* One operation beside compares: the key itself, then others up to END. */
static enum rights_verdict op(u8 role, const char *key, const char *value, u64 lease, ...)
{
	struct store_compare c[6] = { compare_now(key) };
	struct store_op o = { key, value, value ? strlen(value) : 0, lease };
	struct store_txn t = { c, 1, &o, 1 };
	const char *more;
	va_list ap;

	va_start(ap, lease);
	while ((more = va_arg(ap, const char *)))
		c[t.compares++] = compare_now(more);
	va_end(ap);
	return judge(role, &t);
}

#define END		((const char *)NULL)
#define CLIENT(...)	op(PLAN_CLIENT, __VA_ARGS__, END)
#define YES(verdict)	CU_ASSERT_EQUAL(verdict, RIGHTS_ALLOWED)
#define NO(verdict, words) do {						\
		CU_ASSERT_EQUAL(verdict, RIGHTS_REFUSED);		\
		if (!strstr(why, words))				\
			printf("\n  \"%s\" lacks \"%s\"\n", why, words);	\
		CU_ASSERT_PTR_NOT_NULL(strstr(why, words));		\
	} while (0)

/*
 * r: read all; p, d: put and delete of a key that is this host's (or of no host); P, D: of the
 * other host's, with a value that would be right for it.
 */
static const char expected[] =
	"key      client storage store\n"
	"cluster  r      r       rpP\n"
	"leader   r      r       rpPdD\n"
	"host     rp     rp      rpPdD\n"
	"alive    rpd    rpd     rpdD\n"
	"device   rpd    rpd     rpPdD\n"
	"drive    rp     rp      rpPdD\n"
	"volume   r      r       rpPdD\n"
	"name     r      r       rpPdD\n"
	"access   rp     rp      rpPdD\n"
	"reader   rpd    rpd     rpPdD\n"
	"want     rpd    rpPdD   rpPdD\n"
	"writer   rpd    rpPdD   rpPdD\n"
	"roster   rp     rp      rpPdD\n"
	"task     rp     rpP     rpPdD\n"
	"event    rpd    rpd     rpPdD\n"
	"status   rpd    rpd     rpPdD\n"
	"token    -      -       rpPdD\n"
	"future   -      -       rpPdD\n";

/* Of each kind: a key of this host and one of the other, with values; more keys that are compared. */
static const struct sample {
	const char *kind, *prefix, *own, *own_value, *foreign, *foreign_value;
	u64	lease;
	const char *also, *also_foreign;
} samples[] = {
	{ "cluster", "cluster", "cluster", "{}", "cluster", "{}", 0, NULL, NULL },
	{ "leader", "leader", "leader", "{}", "leader", "{}", 7, NULL, NULL },
	{ "host", "host/", "host/" SELF, NULL, "host/" OTHER, NULL, 0, NULL, NULL },
	{ "alive", "alive/", "alive/" SELF, "{}", "alive/" OTHER, "{}", 7, NULL, NULL },
	{ "device", "device/", "device/" SELF, "{}", "device/" OTHER, "{}", 0, NULL, NULL },
	{ "drive", "drive/", "drive/" D1, DRIVE(SELF, "true", "in", EXTENT(E1, "1048576", "ready")),
	  "drive/" D2, DRIVE(OTHER, "true", "in", ""), 0, NULL, NULL },
	{ "volume", "volume/", "volume/" VOL, "{\"allow\":\"all\"}", "volume/" CLOSED, "{\"allow\":\"all\"}", 0,
	  NULL, NULL },
	{ "name", "name/", "name/data", "{}", "name/data", "{}", 0, NULL, NULL },
	{ "access", "access/", "access/" VOL, ACCESS("rw", HOLDER(SELF), N6),
	  "access/" THEIRS, ACCESS("none", "", N5), 0, "volume/" VOL, "volume/" THEIRS },
	{ "reader", "reader/", "reader/" VOL "/" SELF, "{\"number\":" N5 "}",
	  "reader/" VOL "/" OTHER, "{\"number\":" N5 "}", 7, "access/" VOL, "access/" VOL },
	{ "want", "want/", "want/" SELF "/" VOL, "{}", "want/" OTHER "/" VOL, "{}", 0, NULL, NULL },
	{ "writer", "writer/", "writer/" OURS, "{\"host\":" Q(SELF) "}",
	  "writer/" THEIRS, "{\"host\":" Q(OTHER) "}", 0, NULL, NULL },
	{ "roster", "roster/", "roster/" OURS, "{\"groups\":[]}", "roster/" THEIRS, "{\"groups\":[]}", 0,
	  "access/" OURS, "access/" THEIRS },
	{ "task", "task/", "task/" T1, TASK("volume rename", VOL, SELF), "task/" T2, CREATE(OTHER), 0, NULL,
	  NULL },
	{ "event", "event/", "event/" SELF "/0000000000000001", "{}", "event/" OTHER "/0000000000000001", "{}",
	  0, NULL, NULL },
	{ "status", "status/", "status/" SELF "/" VOL, "{}", "status/" OTHER "/" VOL, "{}", 0, NULL, NULL },
	{ "token", "token/", "token/" T1, "{}", "token/" T2, "{}", 7, NULL, NULL },
	{ "future", "future/", "future/1", "{}", "future/2", "{}", 0, NULL, NULL },
};

static void allowed_letters(u8 role, const struct sample *s, char out[8])
{
	static const char *const host_value[] = { NULL, HOST("client", "false"), HOST("storage", "false"),
						  HOST("store", "false") };
	const char *own = s->own_value ? s->own_value : host_value[role];
	const char *foreign = s->foreign_value ? s->foreign_value : host_value[role];
	struct rights_who who = { .role = role };
	/* what is compared beside the key: a volume too where a reader begins */
	const char *vol = !strcmp(s->kind, "reader") ? "volume/" VOL : s->also;
	size_t n = 0;

	muuid_parse(SELF, &who.host);
	if (rights_read(&who, s->prefix, why) == RIGHTS_ALLOWED)
		out[n++] = 'r';
	if (op(role, s->own, own, s->lease, s->also ? s->also : vol, vol, END) == RIGHTS_ALLOWED)
		out[n++] = 'p';
	if (op(role, s->foreign, foreign, s->lease, s->also_foreign ? s->also_foreign : vol, vol, END) ==
	    RIGHTS_ALLOWED)
		out[n++] = 'P';
	if (op(role, s->own, NULL, 0, s->also, END) == RIGHTS_ALLOWED)
		out[n++] = 'd';
	if (op(role, s->foreign, NULL, 0, s->also_foreign, END) == RIGHTS_ALLOWED)
		out[n++] = 'D';
	if (!n)
		out[n++] = '-';
	out[n] = 0;
}

static void test_table(void)
{
	char want[4][16], got[8];
	const char *line = strchr(expected, '\n') + 1;
	unsigned int nr = 0;

	for (; *line; line = strchr(line, '\n') + 1, nr++) {
		CU_ASSERT_EQUAL_FATAL(sscanf(line, "%15s %15s %15s %15s", want[0], want[1], want[2], want[3]), 4);
		CU_ASSERT_STRING_EQUAL_FATAL(want[0], samples[nr].kind);
		for (u8 role = PLAN_CLIENT; role <= PLAN_STORE; role++) {
			allowed_letters(role, &samples[nr], got);
			if (strcmp(got, want[role]))
				printf("\n  %s of role %u: %s, not %s\n", want[0], role, got, want[role]);
			CU_ASSERT_STRING_EQUAL(got, want[role]);
		}
	}
	CU_ASSERT_EQUAL(nr, sizeof(samples) / sizeof(*samples));
}

static bool reads(u8 role, const char *prefix)
{
	struct rights_who who = { .role = role };

	return rights_read(&who, prefix, why) == RIGHTS_ALLOWED;
}

/* The whole of what a prefix finds must be readable. */
static void test_prefixes(void)
{
	static const char *const part[] = { "", "h", "host", "to", "token", "token/", "token/" T1, "clust", "clusters",
					    "leader/", "/", "x", "drive" };

	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++) {
		CU_ASSERT_FALSE(reads(PLAN_CLIENT, part[i]));
		CU_ASSERT_FALSE(reads(PLAN_STORAGE, part[i]));
		CU_ASSERT(reads(PLAN_STORE, part[i]));
	}
	CU_ASSERT(reads(PLAN_CLIENT, "want/" SELF));
	CU_ASSERT(reads(PLAN_CLIENT, "want/" SELF "/"));
	CU_ASSERT(reads(PLAN_CLIENT, "drive/88"));
	CU_ASSERT_FALSE(reads(0, "host/"));
	CU_ASSERT_FALSE(reads(PLAN_STORE + 1, ""));
	NO(CLIENT("device/" SELF, "{}", 0, "token/" T1), "must not read");
	NO(CLIENT("device/" SELF, "{}", 0, "x"), "must not read");
	YES(CLIENT("device/" SELF, "{}", 0, "cluster"));
}

static void test_forms(void)
{
	NO(CLIENT("alive/", "{}", 7), "must not write");
	NO(CLIENT("alive/" SELF "/x", "{}", 7), "must not write");
	NO(CLIENT("want/" SELF, "{}", 0), "must not write");
	NO(CLIENT("want/" SELF "/" VOL "/x", "{}", 0), "must not write");
	NO(CLIENT("want/" SELF "/x", "{}", 0), "must not write");
	NO(CLIENT("event/" SELF "/", "{}", 0), "must not write");
	NO(CLIENT("device/1111-111", "{}", 0), "must not write");
	NO(CLIENT("device/AAAAAAAA-1111-4111-8111-111111111111", "{}", 0), "must not write");
	NO(CLIENT("device/00000000-0000-0000-0000-000000000000", "{}", 0), "must not write");
	NO(CLIENT("device/" SELF, "[]", 0), "no JSON object");
	NO(CLIENT("device/" SELF, "{", 0), "no JSON object");
	NO(CLIENT("device/" SELF, "{\"a\":1,\"a\":2}", 0), "no JSON object");
	NO(CLIENT("device/" SELF, "", 0), "no JSON object");
	NO(op(0, "device/" SELF, "{}", 0, END), "no such role");
	NO(op(PLAN_STORE + 1, "device/" SELF, "{}", 0, END), "no such role");
}

static void test_leases(void)
{
	NO(CLIENT("alive/" SELF, "{}", 0), "must be on a lease");
	NO(op(PLAN_STORE, "leader", "{}", 0, END), "must be on a lease");
	NO(op(PLAN_STORE, "token/" T1, "{}", 0, END), "must be on a lease");
	NO(CLIENT("access/" VOL, ACCESS("rw", HOLDER(SELF), N6), 7, "volume/" VOL), "must not be on a lease");
	NO(CLIENT("host/" SELF, HOST("client", "false"), 7), "must not be on a lease");
	NO(op(PLAN_STORE, "volume/" VOL, "{\"allow\":\"all\"}", 7, END), "must not be on a lease");
	NO(CLIENT("roster/" OURS, "{\"groups\":[]}", 7, "access/" OURS), "must not be on a lease");
	YES(CLIENT("device/" SELF, "{}", 7));
}

static void test_host(void)
{
	struct key removed = { "host/" SELF, HOST("client", "true"), 13 }, was = store[0];

	YES(CLIENT("host/" SELF, HOST("client", "true"), 0));	/* it leaves */
	NO(CLIENT("host/" SELF, HOST("storage", "false"), 0), "role");
	NO(CLIENT("host/" SELF, HOST("store", "false"), 0), "role");
	NO(CLIENT("host/" SELF, "{}", 0), "role");
	NO(op(PLAN_STORAGE, "host/" SELF, HOST("store", "false"), 0, END), "role");
	store[0] = removed;
	NO(CLIENT("host/" SELF, HOST("client", "false"), 0), "removed");
	store[0] = was;
}

/* The judged value is the one that the transaction compares. */
static void test_compares(void)
{
	struct store_compare c[2] = { { STORE_SAME, "host/" SELF, 10 }, { STORE_ABSENT, "host/" SELF, 0 } };
	struct store_op o = { "host/" SELF, HOST("client", "false"), strlen(HOST("client", "false")), 0 };
	struct store_txn t = { NULL, 0, &o, 1 };

	NO(judge(PLAN_CLIENT, &t), "must compare");
	t.compare = c;
	t.compares = 1;
	CU_ASSERT_EQUAL(judge(PLAN_CLIENT, &t), RIGHTS_STALE);
	t.compare = c + 1;
	CU_ASSERT_EQUAL(judge(PLAN_CLIENT, &t), RIGHTS_STALE);
	c[0].modified = 11;
	t.compare = c;
	YES(judge(PLAN_CLIENT, &t));
	/* "nothing below" says nothing of the value */
	c[0].kind = STORE_NONE_BELOW;
	NO(judge(PLAN_CLIENT, &t), "must compare");
	c[0] = (struct store_compare) { STORE_SAME, "host/" OTHER, 12 };
	NO(judge(PLAN_CLIENT, &t), "must compare");
	read_error = -EIO;
	CU_ASSERT_EQUAL(op(PLAN_CLIENT, "host/" SELF, HOST("client", "false"), 0, END), RIGHTS_UNREAD);
	read_error = 0;
}

/* All operations count, in any order. */
static void test_whole(void)
{
	struct store_compare c = { STORE_SAME, "host/" SELF, 10 };
	struct store_op o[3] = { { "device/" SELF, "{}", 2, 0 }, { "cluster", "{}", 2, 0 },
				 { "status/" SELF "/" VOL, "{}", 2, 0 } };
	struct store_txn t = { NULL, 0, o, 3 };

	NO(judge(PLAN_CLIENT, &t), "cluster");
	o[1] = (struct store_op) { "device/" OTHER, NULL, 0, 0 };
	NO(judge(PLAN_CLIENT, &t), OTHER);
	t.ops = 1;
	YES(judge(PLAN_CLIENT, &t));
	/* what is refused is refused, also where a compare does not hold */
	o[0] = (struct store_op) { "host/" SELF, HOST("client", "false"), strlen(HOST("client", "false")), 0 };
	o[1] = (struct store_op) { "cluster", "{}", 2, 0 };
	t = (struct store_txn) { &c, 1, o, 2 };
	NO(judge(PLAN_CLIENT, &t), "cluster");
	t = (struct store_txn) { NULL, 0, NULL, 0 };
	YES(judge(PLAN_CLIENT, &t));
}

static void test_access_take(void)
{
	const char *own = ACCESS("rw", HOLDER(SELF), N6);
	struct key *vol = &store[2], was = *vol;

	YES(CLIENT("access/" VOL, own, 0, "volume/" VOL));
	YES(CLIENT("access/" THEIRS, own, 0, "volume/" THEIRS));	/* preempt */
	YES(CLIENT("access/" OURS, own, 0, "volume/" OURS));	/* retake; its allow names this host */
	NO(CLIENT("access/" VOL, own, 0), "must compare volume/");
	NO(CLIENT("access/" VOL, ACCESS("rw", HOLDER(OTHER), N6), 0, "volume/" VOL), "for another one");
	NO(CLIENT("access/" VOL, ACCESS("rw", "", N6), 0, "volume/" VOL), "for another one");
	NO(CLIENT("access/" VOL, ACCESS("rw", HOLDER(SELF), N5), 0, "volume/" VOL), "exactly 1");
	NO(CLIENT("access/" VOL, ACCESS("rw", HOLDER(SELF), "2251799814144000"), 0, "volume/" VOL), "exactly 1");
	/* a restart, a generation, all ones, none */
	NO(CLIENT("access/" VOL, ACCESS("rw", HOLDER(SELF), "2251799814078465"), 0, "volume/" VOL), "exactly 1");
	NO(CLIENT("access/" VOL, ACCESS("rw", HOLDER(SELF), "4503599627763712"), 0, "volume/" VOL), "exactly 1");
	NO(CLIENT("access/" VOL, ACCESS("rw", HOLDER(SELF), "9223372036854775807"), 0, "volume/" VOL),
	   "exactly 1");
	NO(CLIENT("access/" VOL, "{\"mode\":\"rw\"," HOLDER(SELF) "\"number\":\"" N6 "\"}", 0, "volume/" VOL),
	   "number is missing");
	NO(CLIENT("access/" VOL, ACCESS("ro", HOLDER(SELF), N6), 0, "volume/" VOL), "mode");
	NO(CLIENT("access/" VOL, "{}", 0, "volume/" VOL), "mode");
	NO(CLIENT("access/" NONE, own, 0, "volume/" NONE), "controller makes");
	NO(CLIENT("access/" CLOSED, own, 0, "volume/" CLOSED), "allow");
	vol->value = "{\"allow\":\"all\",\"state\":\"deleting\"}";
	NO(CLIENT("access/" VOL, own, 0, "volume/" VOL), "not ready");
	vol->value = "{\"state\":\"ready\"}";
	NO(CLIENT("access/" VOL, own, 0, "volume/" VOL), "allow");
	*vol = was;
	store[6].value = ACCESS("none", "", NLAST);
	NO(CLIENT("access/" VOL, ACCESS("rw", HOLDER(SELF), "4503599627370496"), 0, "volume/" VOL), "exactly 1");
	store[6].value = ACCESS("none", "", N5);
}

static void test_access_release(void)
{
	const char *none = ACCESS("none", "", N5);

	YES(CLIENT("access/" OURS, none, 0));
	YES(CLIENT("access/" OURS, ACCESS("none", "\"holder\":null,", N5), 0));
	NO(CLIENT("access/" THEIRS, none, 0), "not the holder");
	NO(CLIENT("access/" VOL, none, 0), "not the holder");
	NO(CLIENT("access/" OURS, ACCESS("none", HOLDER(OTHER), N5), 0), "no holder");
	NO(CLIENT("access/" OURS, ACCESS("none", HOLDER(SELF), N5), 0), "no holder");
	NO(CLIENT("access/" OURS, ACCESS("none", "", N6), 0), "keep the number");
	NO(CLIENT("access/" OURS, ACCESS("none", "", "0"), 0), "keep the number");
	NO(CLIENT("access/" OURS, NULL, 0), "must not delete");
}

static void test_roster(void)
{
	NO(CLIENT("roster/" OURS, "{\"groups\":[]}", 0), "must compare access/");
	NO(CLIENT("roster/" VOL, "{\"groups\":[]}", 0, "access/" VOL), "only the holder");
	NO(CLIENT("roster/" THEIRS, "{\"groups\":[]}", 0, "access/" THEIRS), "only the holder");
	NO(CLIENT("roster/" OURS, "{\"groups\":[]}", 0, "access/" THEIRS), "must compare access/");
	NO(CLIENT("roster/" NONE, "{\"groups\":[]}", 0, "access/" NONE), "there is no");
	NO(CLIENT("roster/" OURS, "{\"groups\":[{\"attach\":" N6 "}]}", 0, "access/" OURS), "later attachment");
	NO(CLIENT("roster/" OURS, "{\"groups\":[{\"attach\":1},{\"attach\":-1}]}", 0, "access/" OURS),
	   "later attachment");
	NO(CLIENT("roster/" OURS, "{\"groups\":{}}", 0, "access/" OURS), "later attachment");
	/* of an earlier attachment, of none, and with this one's restart */
	YES(CLIENT("roster/" OURS, "{\"groups\":[{\"attach\":65536},{},{\"attach\":2251799814012930}]}", 0,
		   "access/" OURS));
}

static void test_reader(void)
{
	const char *good = "{\"number\":" N5 "}";
	struct store_compare c[3] = { compare_now("access/" VOL), compare_now("volume/" VOL),
				      compare_now("access/" OURS) };
	struct store_op o[2] = { { "reader/" VOL "/" OTHER, NULL, 0, 0 },
				 { "access/" VOL, ACCESS("rw", HOLDER(SELF), N6),
				   strlen(ACCESS("rw", HOLDER(SELF), N6)), 0 } };
	struct store_txn t = { c, 2, o, 2 };

	YES(CLIENT("reader/" VOL "/" SELF, good, 7, "access/" VOL, "volume/" VOL));
	NO(CLIENT("reader/" VOL "/" SELF, good, 7, "access/" VOL), "must compare volume/");
	NO(CLIENT("reader/" VOL "/" SELF, good, 7, "volume/" VOL), "must compare access/");
	NO(CLIENT("reader/" VOL "/" SELF, "{\"number\":" N6 "}", 7, "access/" VOL, "volume/" VOL), "number");
	NO(CLIENT("reader/" VOL "/" SELF, "{}", 7, "access/" VOL, "volume/" VOL), "number");
	NO(CLIENT("reader/" CLOSED "/" SELF, good, 7, "access/" CLOSED, "volume/" CLOSED), "allow");
	NO(CLIENT("reader/" VOL "/" OTHER, good, 7, "access/" VOL, "volume/" VOL), "for another one");
	/* another host's reader ends with an attach for writing, and only in its transaction */
	YES(judge(PLAN_CLIENT, &t));
	t.ops = 1;
	NO(judge(PLAN_CLIENT, &t), "only where this host attaches");
	o[1] = (struct store_op) { "access/" OURS, ACCESS("none", "", N5), strlen(ACCESS("none", "", N5)), 0 };
	o[0].key = "reader/" OURS "/" OTHER;
	t = (struct store_txn) { c, 3, o, 2 };
	NO(judge(PLAN_CLIENT, &t), "only where this host attaches");
}

static void test_writer(void)
{
	YES(CLIENT("writer/" VOL, "{\"host\":" Q(SELF) "}", 0));
	NO(CLIENT("writer/" VOL, "{\"host\":" Q(OTHER) "}", 0), "another host as the writer");
	NO(CLIENT("writer/" VOL, "{}", 0), "another host as the writer");
	NO(CLIENT("writer/" THEIRS, "{\"host\":" Q(SELF) "}", 0), "another host is to be");
	NO(CLIENT("writer/" THEIRS, NULL, 0), "another host is to be");
	NO(CLIENT("writer/" CLOSED, "{\"host\":" Q(SELF) "}", 0), "allow");
	NO(CLIENT("writer/" NONE, "{\"host\":" Q(SELF) "}", 0), "there is no volume");
}

static void test_task(void)
{
	YES(CLIENT("task/" NONE, CREATE(SELF), 0));
	YES(CLIENT("task/" NONE, TASK("volume extend", OURS, SELF), 0));
	YES(CLIENT("task/" T1, TASK("volume rename", VOL, SELF), 0));
	NO(CLIENT("task/" NONE, CREATE(OTHER), 0), "must name the host");
	NO(CLIENT("task/" NONE, "{\"verb\":\"volume create\"}", 0), "must name the host");
	NO(CLIENT("task/" NONE, TASK("volume extend", CLOSED, SELF), 0), "allow");
	NO(CLIENT("task/" NONE, TASK("volume extend", NONE, SELF), 0), "there is no volume");
	NO(CLIENT("task/" NONE, "{\"verb\":\"drive drain\",\"host\":" Q(SELF) "}", 0), "may only create");
	NO(CLIENT("task/" T1, TASK("volume delete", VOL, SELF), 0), "is about must not change");
	NO(CLIENT("task/" T1, TASK("volume rename", OURS, SELF), 0), "is about must not change");
	NO(CLIENT("task/" T1, CREATE(SELF), 0), "is about must not change");
	NO(CLIENT("task/" T2, CREATE(SELF), 0), "another host has requested");
	NO(CLIENT("task/" T3, TASK("volume rename", VOL, SELF), 0), "allow");
	NO(CLIENT("task/" T1, NULL, 0), "must not delete");
	YES(op(PLAN_STORAGE, "task/" NONE, "{\"verb\":\"drive drain\"}", 0, END));
}

#define LOCAL(extents)	DRIVE(SELF, "true", "in", extents)

static void test_drive(void)
{
	const char *kept = EXTENT(E1, "1048576", "ready");

	YES(CLIENT("drive/" NONE, LOCAL(""), 0));
	YES(CLIENT("drive/" D1, LOCAL(EXTENT(E1, "1048576", "ready") "," EXTENT(E2, "9437184", "freeing")), 0));
	YES(CLIENT("drive/" D1, LOCAL(EXTENT(E1, "1048576", "ready")), 0));	/* freed */
	YES(CLIENT("drive/" D1, LOCAL(EXTENT(E1, "1048576", "ready") "," EXTENT(E3, "29360128", "ready")), 0));
	NO(CLIENT("drive/" NONE, DRIVE(SELF, "false", "in", ""), 0), "not local");
	NO(CLIENT("drive/" NONE, "{\"host\":" Q(SELF) "}", 0), "not local");
	NO(CLIENT("drive/" NONE, DRIVE(OTHER, "true", "in", ""), 0), "another host");
	NO(CLIENT("drive/" D1, DRIVE(OTHER, "true", "in", ""), 0), "another host");
	NO(CLIENT("drive/" D1, DRIVE(SELF, "false", "in", EXTENT(E1, "1048576", "ready")), 0), "not local");
	NO(CLIENT("drive/" D2, LOCAL(""), 0), "another host");
	NO(CLIENT("drive/" D3, LOCAL(""), 0), "not local");
	NO(CLIENT("drive/" D1, LOCAL(""), 0), "drop an extent");
	NO(CLIENT("drive/" D1, LOCAL(EXTENT(E1, "2097152", "ready")), 0), "change the start");
	NO(CLIENT("drive/" D1, LOCAL(EXTENT(E1, "1048576", "ready") "," EXTENT(E1, "1048576", "ready")), 0),
	   "another one");
	NO(CLIENT("drive/" D1, LOCAL("{}"), 0), "no UUID");
	NO(CLIENT("drive/" D1, "{\"host\":" Q(SELF) ",\"local\":true,\"extents\":{}}", 0), "no array");
	NO(CLIENT("drive/" D1, NULL, 0), "must not delete");
	CU_ASSERT_PTR_NOT_NULL(kept);
}

static void test_drive_storage(void)
{
	const char *taken = DRIVE(SELF, "false", "in", EXTENT(E1, "1048576", "ready"));

	YES(op(PLAN_STORAGE, "drive/" NONE, DRIVE(SELF, "false", "in", ""), 0, END));
	YES(op(PLAN_STORAGE, "drive/" D3, DRIVE(SELF, "false", "in", ""), 0, END));
	YES(op(PLAN_STORAGE, "drive/" D4, taken, 0, END));
	NO(op(PLAN_STORAGE, "drive/" D2, DRIVE(SELF, "false", "in", ""), 0, END), "still exported");
	NO(op(PLAN_STORAGE, "drive/" D3, DRIVE(OTHER, "false", "in", ""), 0, END), "another host");
	NO(op(PLAN_STORAGE, "drive/" D4, DRIVE(SELF, "false", "in", ""), 0, END), "drop an extent");
}

/* "all", or as many hosts as a target's table has places. */
static void test_allow(void)
{
	char list[64 + PLAN_ALLOW_MAX * 48], *at = list;

	at += sprintf(at, "{\"allow\":[" Q(SELF));
	for (int i = 1; i < PLAN_ALLOW_MAX; i++)
		at += sprintf(at, "," Q(OTHER));
	strcpy(at, "]}");
	YES(op(PLAN_STORE, "volume/" VOL, list, 0, END));
	strcpy(at, "," Q(OTHER) "]}");
	NO(op(PLAN_STORE, "volume/" VOL, list, 0, END), "allow");
	NO(op(PLAN_STORE, "volume/" VOL, "{\"allow\":[]}", 0, END), "allow");
	NO(op(PLAN_STORE, "volume/" VOL, "{\"allow\":\"none\"}", 0, END), "allow");
	NO(op(PLAN_STORE, "volume/" VOL, "{\"allow\":[\"x\"]}", 0, END), "allow");
	NO(op(PLAN_STORE, "volume/" VOL, "{\"allow\":[7]}", 0, END), "allow");
	NO(op(PLAN_STORE, "volume/" VOL, "{}", 0, END), "allow");
}

static const struct suite_test tests[] = {
	{ "each role, prefix, verb and owner", test_table },
	{ "prefixes that are read", test_prefixes },
	{ "forms of keys and values", test_forms },
	{ "leases", test_leases },
	{ "compares that judged values need", test_compares },
	{ "a transaction as a whole", test_whole },
	{ "host", test_host },
	{ "access: take", test_access_take },
	{ "access: release", test_access_release },
	{ "roster", test_roster },
	{ "reader", test_reader },
	{ "writer", test_writer },
	{ "task", test_task },
	{ "drive of a client", test_drive },
	{ "drive of a storage host", test_drive_storage },
	{ "allow", test_allow },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("rights on keys", tests);
}
