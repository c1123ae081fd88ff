// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rights on keys of the store: the whole table against one that was written by hand; forms, leases,
 * compares; what is judged by content is in test_store_rights_values.c.
 */
#include "rights_rig.h"

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
	"volume   rp     rp      rpPdD\n"
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
	"recover  r      r       rpPdD\n"
	"report   rpd    rpd     rpPdD\n"
	"future   -      -       rpPdD\n";

/* Of each kind: a key of this host and one of the other; more keys that are compared. */
static const struct sample {
	int	kind;
	const char *prefix, *own, *foreign;
	u64	lease;
	const char *also, *also_foreign;
} samples[] = {
	{ KEY_CLUSTER, "cluster", "cluster", "cluster", 0, NULL, NULL },
	{ KEY_LEADER, "leader", "leader", "leader", 7, NULL, NULL },
	{ KEY_HOST, "host/", "host/" SELF, "host/" OTHER, 0, NULL, NULL },
	{ KEY_ALIVE, "alive/", "alive/" SELF, "alive/" OTHER, 7, NULL, NULL },
	{ KEY_DEVICE, "device/", "device/" SELF, "device/" OTHER, 0, NULL, NULL },
	{ KEY_DRIVE, "drive/", "drive/" D1, "drive/" D2, 0, NULL, NULL },
	{ KEY_VOLUME, "volume/", "volume/" OURS, "volume/" THEIRS, 0, "access/" OURS, "access/" THEIRS },
	{ KEY_NAME, "name/", "name/data", "name/other", 0, NULL, NULL },
	{ KEY_ACCESS, "access/", "access/" VOL, "access/" THEIRS, 0, "volume/" VOL, "volume/" THEIRS },
	{ KEY_READER, "reader/", "reader/" VOL "/" SELF, "reader/" VOL "/" OTHER, 7, "access/" VOL,
	  "access/" VOL },
	{ KEY_WANT, "want/", "want/" SELF "/" VOL, "want/" OTHER "/" VOL, 0, NULL, NULL },
	{ KEY_WRITER, "writer/", "writer/" OURS, "writer/" THEIRS, 0, NULL, NULL },
	{ KEY_ROSTER, "roster/", "roster/" OURS, "roster/" THEIRS, 0, "access/" OURS, "access/" THEIRS },
	{ KEY_TASK, "task/", "task/" T1, "task/" T2, 0, NULL, NULL },
	{ KEY_EVENT, "event/", "event/" SELF "/0000000000000001", "event/" OTHER "/0000000000000001", 0, NULL,
	  NULL },
	{ KEY_STATUS, "status/", "status/" SELF "/" VOL, "status/" OTHER "/" VOL, 0, NULL, NULL },
	{ KEY_TOKEN, "token/", "token/" T1, "token/" T2, 7, NULL, NULL },
	{ KEY_RECOVER, "recover", "recover", "recover", 0, NULL, NULL },
	{ KEY_REPORT, "report/", "report/" SELF "/" VOL, "report/" OTHER "/" VOL, 0, NULL, NULL },
	{ 0, "future/", "future/1", "future/2", 0, NULL, NULL },
};

/* Kinds without rules about their content: any object of this key. */
static void fill_of(const struct key *k, union obj_any *x)
{
	rig_fill(k->kind, x);
	switch (k->kind) {
	case KEY_ALIVE:
		x->alive.host = k->host;
		break;
	case KEY_DEVICE:
		x->device.host = k->host;
		break;
	case KEY_NAME:
		memcpy(x->name.name, k->name, sizeof(x->name.name));
		break;
	case KEY_WANT:
		x->want.host = k->host;
		x->want.volume = k->volume;
		break;
	case KEY_EVENT:
		x->event.host = k->host;
		x->event.serial = k->serial;
		break;
	case KEY_STATUS:
		x->status.host = k->host;
		x->status.about = k->about;
		break;
	case KEY_TOKEN:
		x->token.token = k->token;
		break;
	default:
		break;
	}
}

/* A value that its owner, of this role, may put. Drives stay as they are. */
static const char *value_of(const struct sample *s, bool own, u8 role)
{
	struct key k = { 0 };
	union obj_any x;

	switch (s->kind) {
	case 0:
		return "of a later version";
	case KEY_HOST:
		return a_host(own ? SELF : OTHER, role, false);
	case KEY_VOLUME:
		return edit(rig_now(own ? s->own : s->foreign), "fresh", "false");
	case KEY_DRIVE:
		return rig_now(own ? s->own : s->foreign);
	case KEY_ACCESS:
		return own ? an_access(VOL, SELF, mesh_number(1, 6, 0)) : an_access(THEIRS, NULL, NUMBER);
	case KEY_READER:
		return a_reader(VOL, own ? SELF : OTHER, NUMBER);
	case KEY_WRITER:
		return own ? a_writer(OURS, SELF) : a_writer(THEIRS, OTHER);
	case KEY_ROSTER:
		return a_roster(own ? OURS : THEIRS, NUMBER, 0);
	case KEY_REPORT:
		CU_ASSERT_EQUAL_FATAL(key_parse(own ? s->own : s->foreign, &k), 0);
		rig_fill(KEY_REPORT, &x);
		x.report.host = k.host;
		x.report.about = k.about;
		x.report.role = role;
		return rig_value(s->kind, &x);
	case KEY_TASK:
		return edit(rig_now(own ? s->own : s->foreign), "state", Q("cancelling"));
	}
	CU_ASSERT_EQUAL_FATAL(key_parse(own ? s->own : s->foreign, &k), 0);
	fill_of(&k, &x);
	return rig_value(s->kind, &x);
}

static void allowed_letters(u8 role, const struct sample *s, char out[8])
{
	struct rights_who who = { .role = role, .host = rig_uuid(SELF) };
	/* what is compared beside the key: a volume too where a reader begins */
	const char *vol = s->kind == KEY_READER ? "volume/" VOL : s->also;
	size_t n = 0;

	if (rights_read(&who, s->prefix, why) == RIGHTS_ALLOWED)
		out[n++] = 'r';
	if (op(role, s->own, value_of(s, true, role), s->lease, s->also ? s->also : vol, vol, END) ==
	    RIGHTS_ALLOWED)
		out[n++] = 'p';
	if (op(role, s->foreign, value_of(s, false, role), s->lease,
	       s->also_foreign ? s->also_foreign : vol, vol, END) == RIGHTS_ALLOWED)
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
	const char *line = strchr(expected, '\n') + 1, *word;
	unsigned int nr = 0;

	rights_begin();
	for (; *line; line = strchr(line, '\n') + 1, nr++) {
		CU_ASSERT_EQUAL_FATAL(sscanf(line, "%15s %15s %15s %15s", want[0], want[1], want[2], want[3]), 4);
		word = samples[nr].kind ? key_word(samples[nr].kind) : "future";
		CU_ASSERT_STRING_EQUAL_FATAL(want[0], word);
		for (u8 role = PLAN_CLIENT; role <= PLAN_STORE; role++) {
			allowed_letters(role, &samples[nr], got);
			if (strcmp(got, want[role]))
				printf("\n  %s of role %u: %s, not %s (%s)\n", want[0], role, got, want[role], why);
			CU_ASSERT_STRING_EQUAL(got, want[role]);
		}
	}
	CU_ASSERT_EQUAL(nr, ARRAY_SIZE(samples));
	CU_ASSERT_EQUAL(nr, KEY_KINDS);
	rights_end();
}

static bool reads(u8 role, const char *prefix)
{
	struct rights_who who = { .role = role };

	return rights_read(&who, prefix, why) == RIGHTS_ALLOWED;
}

/* A value that SELF may put at device/SELF. */
static const char *a_device(void)
{
	return value_of(&samples[4], true, PLAN_CLIENT);
}

/* The whole of what a prefix finds must be readable. */
static void test_prefixes(void)
{
	static const char *const part[] = { "", "h", "host", "to", "token", "token/", "token/" T1, "clust", "clusters",
					    "cluster/", "leader/", "/", "x", "drive", "drives/", "host\x1b/" };

	for (size_t i = 0; i < ARRAY_SIZE(part); i++) {
		CU_ASSERT_FALSE(reads(PLAN_CLIENT, part[i]));
		CU_ASSERT(printable_ok(why));
		CU_ASSERT_FALSE(reads(PLAN_STORAGE, part[i]));
		CU_ASSERT(reads(PLAN_STORE, part[i]));
	}
	CU_ASSERT(reads(PLAN_CLIENT, "want/" SELF));
	CU_ASSERT(reads(PLAN_CLIENT, "want/" SELF "/"));
	CU_ASSERT(reads(PLAN_CLIENT, "drive/88"));
	CU_ASSERT_FALSE(reads(0, "host/"));
	CU_ASSERT_FALSE(reads(PLAN_STORE + 1, ""));
	NO(CLIENT("device/" SELF, a_device(), 0, "token/" T1), "must not read");
	NO(CLIENT("device/" SELF, a_device(), 0, "x"), "must not read");
	NO(CLIENT("device/" SELF, a_device(), 0, "\x1b[2J"), "\\x1b[2J");
	YES(CLIENT("device/" SELF, a_device(), 0, "cluster"));
	rights_end();
}

/* Keys that no row has, or that are spelled in another way: of each kind, put and deleted. */
static void test_strange_keys(void)
{
	static const char *const end[] = { "", "/", "/x", "//" SELF, "/" SELF "/", "/" SELF "/x", "/" SELF "/" VOL "/x",
		"/AAAAAAAA-1111-4111-8111-111111111111", "/00000000-0000-0000-0000-000000000000", "/1111-111",
		"/../" SELF, "/" SELF "\x1b[2J", "/\n", "s/" SELF, " /" SELF };
	struct store_op o = { "\x1b[2J", "{}", 2, 0 };
	struct store_txn t = { NULL, 0, &o, 1 };
	char key[STORE_KEY_MAX];

	for (int kind = KEY_CLUSTER; kind < KEY_KINDS; kind++) {
		for (size_t i = 0; i < ARRAY_SIZE(end); i++) {
			struct key k;

			snprintf(key, sizeof(key), "%s%s", key_word(kind), end[i]);
			if (!key_parse(key, &k))
				continue;
			for (u8 role = PLAN_CLIENT; role < PLAN_STORE; role++) {
				NO(op(role, key, "{}", 7, END), "must not");
				NO(op(role, key, NULL, 0, END), "must not");
			}
			YES(op(PLAN_STORE, key, "any bytes", 0, "cluster", END));
		}
	}
	NO(CLIENT("event/" SELF "/1", "{}", 0), "must not write");
	NO(CLIENT("event/" SELF "/000000000000000A", "{}", 0), "must not write");
	NO(CLIENT("name/a/b", "{}", 0), "must not write");
	NO(judge(PLAN_CLIENT, &t), "\\x1b[2J: a host of role client must not write");
	NO(op(0, "device/" SELF, a_device(), 0, END), "no such role");
	NO(op(PLAN_STORE + 1, "device/" SELF, a_device(), 0, END), "no such role");
	rights_end();
}

/* What the codec refuses no role writes: it would stop the others. The sentence is the codec's. */
static void test_codec_first(void)
{
	static const struct { const char *value, *words; } bad[] = {
		{ "", "is no JSON" }, { "[]", "not an object" }, { "{", "is no JSON" }, { "{}", ": v is missing" },
		{ "{\"v\":1000,\"v\":1000}", "duplicate" }, { "{\"v\":2000}", "is of format 2.0" },
		{ "{\"v\":1000,\"\x1b\":1}", "is no JSON" }, { "{\"v\":1000,\x7f}", "\\x7f" },
		{ "{\"v\":1000}", ": op is missing" },
	};
	const char *value;

	rights_begin();
	for (size_t i = 0; i < ARRAY_SIZE(samples) - 1; i++) {
		const struct sample *s = &samples[i];

		for (u8 role = PLAN_CLIENT; role <= PLAN_STORE; role++) {
			value = value_of(s, true, role);
			if (op(role, s->own, value, s->lease, s->also, s->kind == KEY_READER ? "volume/" VOL : END,
			       END) != RIGHTS_ALLOWED)
				continue;
			for (size_t b = 0; b < ARRAY_SIZE(bad); b++) {
				BAD(op(role, s->own, bad[b].value, s->lease, s->also,
				       s->kind == KEY_READER ? "volume/" VOL : END, END), bad[b].words);
				CU_ASSERT_PTR_NOT_NULL(strstr(why, s->own));
			}
			BAD(op(role, s->own, edit(value, "op", "\"A\""), s->lease, END), ": op has");
		}
	}
	/* a value of another key: the name in the key alone would lead to it */
	BAD(CLIENT("device/" SELF, edit(a_device(), "host", Q(OTHER)), 0), "key of another one");
	BAD(op(PLAN_STORE, "volume/" VOL, rig_now("volume/" OURS), 0, END), "key of another one");
	BAD(op(PLAN_STORE, "volume/" VOL, edit(rig_now("volume/" VOL), "allow", "[]"), 0, END), "allow");
	rights_end();
}

static void test_leases(void)
{
	rights_begin();
	for (size_t i = 0; i < ARRAY_SIZE(samples) - 1; i++) {
		const struct sample *s = &samples[i];
		bool may = s->kind == KEY_DEVICE || s->kind == KEY_READER || s->kind == KEY_EVENT ||
			   s->kind == KEY_STATUS || s->kind == KEY_RECOVER;
		const char *value = value_of(s, true, PLAN_STORE);

		YES(op(PLAN_STORE, s->own, value, s->lease, END));
		if (may)
			YES(op(PLAN_STORE, s->own, value, s->lease ? 0 : 7, END));
		else
			NO(op(PLAN_STORE, s->own, value, s->lease ? 0 : 7, END),
			   s->lease ? "must be on a lease" : "must not be on a lease");
	}
	NO(CLIENT("alive/" SELF, value_of(&samples[3], true, PLAN_CLIENT), 0), "must be on a lease");
	NO(CLIENT("access/" VOL, an_access(VOL, SELF, mesh_number(1, 6, 0)), 7, "volume/" VOL),
	   "must not be on a lease");
	YES(CLIENT("device/" SELF, a_device(), 7));
	rights_end();
}

/* The judged value is the one that the transaction compares. */
static void test_compares(void)
{
	struct store_compare c[2];
	struct store_op o = { "host/" SELF, NULL, 0, 0 };
	struct store_txn t = { NULL, 0, &o, 1 };

	rights_begin();
	o.value = rig_now("host/" SELF);
	o.len = strlen(o.value);
	NO(judge(PLAN_CLIENT, &t), "must compare host/" SELF);
	c[0] = (struct store_compare) { STORE_SAME, "host/" SELF, 10 };
	c[1] = (struct store_compare) { STORE_ABSENT, "host/" SELF, 0 };
	t.compare = c;
	t.compares = 1;
	CU_ASSERT_EQUAL(judge(PLAN_CLIENT, &t), RIGHTS_STALE);
	t.compare = c + 1;
	CU_ASSERT_EQUAL(judge(PLAN_CLIENT, &t), RIGHTS_STALE);
	c[0].modified = rig_find("host/" SELF)->rev;
	t.compare = c;
	YES(judge(PLAN_CLIENT, &t));
	/* "nothing below" says nothing of the value */
	c[0].kind = STORE_NONE_BELOW;
	NO(judge(PLAN_CLIENT, &t), "must compare");
	c[0] = compare_now("host/" OTHER);
	NO(judge(PLAN_CLIENT, &t), "must compare");
	read_error = -EIO;
	CU_ASSERT_EQUAL(CLIENT("host/" SELF, rig_now("host/" SELF), 0), RIGHTS_UNREAD);
	CU_ASSERT_EQUAL(refused_err, -EIO);
	read_error = 0;
	rights_end();
}

/* What is stored and cannot be read is no ground for a right. */
static void test_damaged_store(void)
{
	const char *take;

	rights_begin();
	take = an_access(VOL, SELF, mesh_number(1, 6, 0));
	YES(CLIENT("access/" VOL, take, 0, "volume/" VOL));
	rig_change("volume/" VOL, "{\"allow\":\"all\",\"state\":\"ready\"}");
	NO(CLIENT("access/" VOL, take, 0, "volume/" VOL), "volume/" VOL " cannot be judged from: volume: v is missing");
	rig_change("volume/" VOL, rig_now("volume/" OURS));
	NO(CLIENT("access/" VOL, take, 0, "volume/" VOL), "key of another one");
	rig_change("access/" VOL, "\x1b");
	NO(CLIENT("access/" VOL, take, 0, "volume/" VOL), "access/" VOL " cannot be judged from: access: is no JSON");
	rights_end();
}

/* All operations count, in any order. */
static void test_whole(void)
{
	struct store_compare c = { STORE_SAME, "host/" SELF, 5 };
	struct store_op o[3] = { { "device/" SELF, NULL, 0, 0 }, { "cluster", NULL, 0, 0 },
				 { "status/" SELF "/" VOL, NULL, 0, 0 } };
	struct store_txn t = { NULL, 0, o, 3 };

	rights_begin();
	NO(judge(PLAN_CLIENT, &t), "cluster");
	o[1] = (struct store_op) { "device/" OTHER, NULL, 0, 0 };
	NO(judge(PLAN_CLIENT, &t), OTHER);
	t.ops = 1;
	YES(judge(PLAN_CLIENT, &t));
	/* what is refused is refused, also where a compare does not hold */
	o[0] = (struct store_op) { "host/" SELF, rig_now("host/" SELF), strlen(rig_now("host/" SELF)), 0 };
	o[1] = (struct store_op) { "cluster", NULL, 0, 0 };
	t = (struct store_txn) { &c, 1, o, 2 };
	NO(judge(PLAN_CLIENT, &t), "cluster");
	t.ops = 1;
	CU_ASSERT_EQUAL(judge(PLAN_CLIENT, &t), RIGHTS_STALE);
	t = (struct store_txn) { NULL, 0, NULL, 0 };
	YES(judge(PLAN_CLIENT, &t));
	rights_end();
}

/* Two puts of a key, a put and a delete, two deletes: of each kind, behind another operation. */
static void test_twice(void)
{
	rights_begin();
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		const char *key = samples[i].own, *value = value_of(&samples[i], true, PLAN_STORE);

		for (int way = 0; way < 4; way++) {
			struct store_op put = { key, value, strlen(value), samples[i].lease };
			struct store_op erase = { key, NULL, 0, 0 }, first = { "event/" SELF "/00000000000000aa", NULL, 0, 0 };
			struct store_op o[3] = { way & 1 ? put : erase, first, way & 2 ? put : erase };
			struct store_txn t = { NULL, 0, o, 3 };

			if (samples[i].kind == KEY_CLUSTER && way != 3)
				continue;
			NO_ERR(judge(PLAN_STORE, &t), "twice", -EINVAL);
			t.ops = 2;
			YES(judge(PLAN_STORE, &t));
		}
	}
	rights_end();
}

static const struct suite_test tests[] = {
	{ "each role, prefix, verb and owner", test_table },
	{ "prefixes that are read", test_prefixes },
	{ "keys with strange names", test_strange_keys },
	{ "values that the codec refuses", test_codec_first },
	{ "leases", test_leases },
	{ "compares that judged values need", test_compares },
	{ "stored values that cannot be read", test_damaged_store },
	{ "a transaction as a whole", test_whole },
	{ "a key twice", test_twice },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("rights on keys", tests);
}
