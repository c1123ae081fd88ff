// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects of the store and their keys. Values are arbitrary bytes, or a good value of each kind with
 * changes that the input chooses. What is read is written and read again; each value is judged as
 * well, as one that a host of each role puts, beside all compares that a rule could want.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/xxhash.h>

#include "tests/unit/rights_rig.h"

static union obj_any x, again;

#define check(cond)	do { if (!(cond)) abort(); } while (0)

static void try_key(const uint8_t *data, size_t size)
{
	char text[STORE_KEY_MAX], back[STORE_KEY_MAX];
	struct key k;

	if (size >= sizeof(text))
		return;
	memcpy(text, data, size);
	text[size] = 0;
	if (!key_parse(text, &k))
		check(!key_text(&k, back) && !strcmp(text, back));
}

static void try_kind(int kind, const char *text, size_t size)
{
	char words[OBJ_WHY], *out, *twice;
	struct key key;

	if (obj_decode(kind, text, size, &x, words, sizeof(words))) {
		check(words[0] && printable_ok(words));
		obj_free(kind, &x);
		return;
	}
	strcpy(x.o.op, strcmp(x.o.op, "fuzz") ? "fuzz" : "fuzz-2");
	check(!obj_encode(kind, &x, &out, words, sizeof(words)));
	check(!obj_decode(kind, out, strlen(out), &again, words, sizeof(words)));
	/* what was known and what was not, written over what it was read from */
	check(obj_gives(kind, &again, &x.o, &again.o) == 1);
	strcpy(again.o.op, "fuzz-3");
	strcpy(x.o.op, "fuzz-3");
	if (kind < KEY_KINDS) {
		obj_key(kind, &again, &key);
		free(out);
		check(!obj_encode(kind, &x, &out, words, sizeof(words)));
	}
	check(!obj_encode(kind, &again, &twice, words, sizeof(words)) && !strcmp(out, twice));
	if (kind < KEY_KINDS) {
		obj_free(kind, &x);
		check(!obj_read(&key, twice, strlen(twice), &x, words, sizeof(words)));
	}
	free(out);
	free(twice);
	obj_free(kind, &again);
	obj_free(kind, &x);
}

/* A file with the right checksum behind it. */
static void try_file(int kind, const char *data, size_t size)
{
	char *text = malloc(size + 64);

	memcpy(text, data, size);
	size += sprintf(text + size, ",\"sum\":\"%016llx\"}", (unsigned long long)xxh64(text, size, 0));
	try_kind(kind, text, size);
	free(text);
}

/*
 * Keys that a host puts, by kind; a value with which it may, and another one, with which perhaps it
 * may not. Of files without the checksum and the brace.
 */
static struct seed {
	const char *key;
	char	*value, *other;
} seeds[OBJ_KINDS];

static void seed(int kind, const char *key, const char *value)
{
	seeds[kind].key = key;
	seeds[kind].value = strdup(value);
}

static void seed_other(int kind, const char *value)
{
	seeds[kind].other = strdup(value);
}

static void seed_file(int kind)
{
	char words[OBJ_WHY], *text;

	rig_fill(kind, &x);
	text = rig_text(kind, &x, words);
	*strstr(text, ",\"sum\"") = 0;
	seeds[kind].value = text;
	obj_free(kind, &x);
}

/* A kind without rules about its content, with the members that its key says. */
static void seed_own(int kind, const char *key, const char *member, const char *other, const char *is)
{
	char *value;

	rig_fill(kind, &x);
	value = edit(rig_value(kind, &x), member, Q(SELF));
	seed(kind, key, other ? edit(value, other, is) : value);
}

static void begin(void)
{
	rights_begin();
	seed_own(KEY_CLUSTER, "cluster", "cluster", NULL, NULL);
	seed_own(KEY_LEADER, "leader", "host", NULL, NULL);
	seed(KEY_HOST, "host/" SELF, rig_now("host/" SELF));
	seed_own(KEY_ALIVE, "alive/" SELF, "host", NULL, NULL);
	seed_own(KEY_DEVICE, "device/" SELF, "host", NULL, NULL);
	seed(KEY_DRIVE, "drive/" D1, rig_now("drive/" D1));
	seed(KEY_VOLUME, "volume/" VOL, rig_now("volume/" VOL));
	seed_own(KEY_NAME, "name/" SELF, "name", "volume", Q(VOL));
	seed(KEY_ACCESS, "access/" VOL, an_access(VOL, SELF, NUMBER + (1 << 16)));
	seed(KEY_READER, "reader/" VOL "/" SELF, a_reader(VOL, SELF, NUMBER));
	seed_own(KEY_WANT, "want/" SELF "/" VOL, "host", "volume", Q(VOL));
	seed_other(KEY_WANT, "{\"v\":1000,\"op\":\"a\",\"host\":" Q(SELF) ",\"volume\":" Q(VOL) ",\"mode\":\"rw\","
		   "\"boot\":true,\"request\":" Q(T1) ",\"request_what\":\"repair\",\"request_extent\":" Q(E4) "}");
	seed(KEY_WRITER, "writer/" VOL, a_writer(VOL, SELF));
	seed(KEY_ROSTER, "roster/" OURS, a_roster(OURS, NUMBER, NUMBER + 1));
	seed(KEY_TASK, "task/" T1, edit(rig_now("task/" T1), "state", Q("cancelling")));
	seed_own(KEY_EVENT, "event/" SELF "/0000000000000007", "host", "serial", "7");
	seed_own(KEY_STATUS, "status/" SELF "/" VOL, "host", "about", Q(VOL));
	seed_own(KEY_TOKEN, "token/" SELF, "token", NULL, NULL);
	seed_own(KEY_RECOVER, "recover", "recover", NULL, NULL);
	seed_own(KEY_REPORT, "report/" SELF "/" VOL, "host", "about", Q(VOL));
	seed_other(KEY_DRIVE, edit(rig_now("drive/" D1), "extents.3", "{\"uuid\":" Q(E4) ",\"volume\":" Q(VOL)
		   ",\"place\":1,\"state\":\"ready\",\"start\":1048576,\"length\":1048576}"));
	seed_other(KEY_ROSTER, a_roster(OURS, NUMBER, NUMBER + (1 << 16)));
	seed_other(KEY_ACCESS, an_access(VOL, NULL, NUMBER));
	seed_other(KEY_TASK, a_task(T1, "volume rename", VOL, SELF, OBJ_TASK_WAITING));
	seed_file(OBJ_SEEN);
	seed_file(OBJ_ATTACHED);
	seed_file(OBJ_KNOWN);
	while (rig_nr_texts)
		free(rig_texts[--rig_nr_texts]);
}

/* What must hold of a put that a client or storage host was allowed, whichever rules found so. */
static void judge_again(const struct key *k, u8 role, const char *text, size_t size)
{
	check(!obj_read(k, text, size, &x, NULL, 0));
	switch (k->kind) {
	case KEY_HOST:
		check(x.host.plan.role == role);
		break;
	case KEY_DRIVE:
		check(role == PLAN_STORAGE || x.drive.local);
		for (u32 i = 0; i < x.drive.plan.extents; i++)
			check(x.drive.plan.extent[i].state != PLAN_FREEING || i < 3);
		break;
	case KEY_ACCESS:
		check(x.access.plan.mode == PLAN_RW && x.access.plan.number == NUMBER + (1 << 16));
		check(!strcmp(muuid_str(&x.access.plan.holder).s, SELF));
		break;
	case KEY_READER:
		check(x.reader.plan.number == NUMBER);
		break;
	case KEY_WRITER:
		check(role == PLAN_STORAGE || !strcmp(muuid_str(&x.writer.host).s, SELF));
		break;
	case KEY_ROSTER:
		for (u32 i = 0; i < x.roster.groups; i++)
			check(mesh_number_access(x.roster.group[i].plan.attach) <= NUMBER);
		break;
	case KEY_REPORT:
		check(x.report.role == role && !strcmp(muuid_str(&k->host).s, SELF));
		break;
	case KEY_TASK:
		check(role == PLAN_STORAGE || x.task.state == OBJ_TASK_CANCELLING);
		check(role == PLAN_STORAGE || !strcmp(x.task.verb, "volume rename"));
		break;
	default:
		check(!strcmp(muuid_str(&k->host).s, SELF));
	}
	obj_free(k->kind, &x);
}

static void try_rights(int kind, u8 role, const char *text, size_t size)
{
	static const bool on_lease[KEY_KINDS] = {
		[KEY_LEADER] = true, [KEY_ALIVE] = true, [KEY_READER] = true, [KEY_TOKEN] = true,
	};
	struct store_op o = { seeds[kind].key, text, size, on_lease[kind] };
	struct store_compare c[RIG_KEYS + 1] = { compare_now(o.key) };
	struct store_txn t = { c, 1, &o, 1 };
	enum rights_verdict v;
	struct key k;
	bool good;

	for (size_t i = 0; i < rig_nr; i++)
		c[t.compares++] = compare_now(rig_store[i].key);
	check(!key_parse(o.key, &k));
	good = !obj_read(&k, text, size, &x, NULL, 0);
	obj_free(kind, &x);
	v = judge(role, &t);
	check(v == RIGHTS_ALLOWED || v == RIGHTS_REFUSED);
	check(good || v == RIGHTS_REFUSED);
	check(printable_ok(why));
	/* A store host may do all that the codec reads, and nothing else. */
	check(role != PLAN_STORE || v == (good ? RIGHTS_ALLOWED : RIGHTS_REFUSED));
	check(role != PLAN_STORE || refused_err == (good ? 0 : -EINVAL));
	if (v == RIGHTS_ALLOWED && role < PLAN_STORE)
		judge_again(&k, role, text, size);
}

/* Where a value begins, behind one of the colons: each is as likely as another one. */
static size_t nth_value(const char *text, size_t nth)
{
	size_t colons = 0;
	const char *p;

	for (p = strchr(text, ':'); p; p = strchr(p + 1, ':'))
		colons++;
	nth = colons ? nth % colons + 1 : 0;
	for (p = text; nth && *p; p++)
		nth -= *p == ':';
	return p - text;
}

/* Each four bytes are a change: a place, what to do there, and with which byte or word. */
static char *mutate(const char *good, const uint8_t *data, size_t size, size_t *len)
{
	static const char *const word[] = {
		"null", "true", "0", "-1", "1", "65536", "9223372036854775807",
		"9223372036854775808", "1e9", "\"\"", "\"" SELF "\"", "\"" OTHER "\"", "\"rw\"",
		"\"none\"", "\"ready\"", "\"freeing\"", "\"forgotten\"",
		"\"store\"", "2251799814012928", "2251799814078464", "2251799814144000",
		"4503599627763712", "[]", "{}", "[[[[[[[[", "\\u0000", "\\u001b", "\x1b[2J",
		"\"later\":1,", "\"v\":1001,", "}",
	};
	char *text = malloc(strlen(good) + size * 16 + 64);
	size_t n = strlen(good);

	memcpy(text, good, n + 1);
	for (; size >= 4; data += 4, size -= 4) {
		size_t at = (data[0] | (data[1] << 8)) % (n + 1), end;
		const char *w = word[data[3] % ARRAY_SIZE(word)];

		switch (data[2] % 4) {
		case 0:		/* another byte */
			text[at < n ? at : n - !!n] = data[3];
			break;
		case 1:		/* a word in between */
			memmove(text + at + strlen(w), text + at, n - at);
			memcpy(text + at, w, strlen(w));
			n += strlen(w);
			break;
		case 2:		/* for a value */
			at = nth_value(text, at);
			end = at + strcspn(text + at, ",}]");
			end = end > n ? n : end;
			memmove(text + at + strlen(w), text + end, n - end);
			memcpy(text + at, w, strlen(w));
			n = n - (end - at) + strlen(w);
			break;
		default:	/* without some bytes */
			end = at + data[3] % 32 > n ? n : at + data[3] % 32;
			memmove(text + at, text + end, n - end);
			n -= end - at;
		}
		text[n] = 0;
	}
	*len = n;
	return text;
}

static void try_value(int kind, u8 role, const char *text, size_t size)
{
	if (kind >= KEY_KINDS) {
		try_file(kind, text, size);
		return;
	}
	try_kind(kind, text, size);
	try_rights(kind, role, text, size);
}

/* The first byte says which kind and role, and if a good value is changed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *good;
	size_t len;
	char *text;
	int kind;
	u8 role;

	if (!seeds[KEY_HOST].value)
		begin();
	if (!size)
		return 0;
	kind = 1 + (data[0] & 0x7f) % (OBJ_KINDS - 1);
	role = PLAN_CLIENT + (data[0] & 0x7f) / (OBJ_KINDS - 1) % PLAN_STORE;
	try_key(data + 1, size - 1);
	good = size % 2 && seeds[kind].other ? seeds[kind].other : seeds[kind].value;
	if (data[0] & 0x80)
		text = mutate(good, data + 1, size - 1 > 256 ? 256 : size - 1, &len);
	else
		text = memcpy(malloc(size), data + 1, len = size - 1);
	try_value(kind, role, text, len);
	check(!CU_get_number_of_failures());
	free(text);
	return 0;
}
