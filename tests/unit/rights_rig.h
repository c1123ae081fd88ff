/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A store of whole objects in memory, and transactions that are judged against it: one operation
 * beside compares, with the members of a good value changed one by one.
 */
#ifndef TESTS_UNIT_RIGHTS_RIG_H
#define TESTS_UNIT_RIGHTS_RIG_H

#include <stdarg.h>

#include "objects_rig.h"
#include "userspace/format/printable.h"
#include "userspace/store/rights.h"

#define SELF	"11111111-1111-4111-8111-111111111111"
#define OTHER	"22222222-2222-4222-8222-222222222222"
#define VOL	"33333333-3333-4333-8333-333333333333"	/* all may attach; held by no host */
#define OURS	"44444444-4444-4444-8444-444444444444"	/* this host holds it */
#define THEIRS	"55555555-5555-4555-8555-555555555555"	/* the other host does */
#define CLOSED	"66666666-6666-4666-8666-666666666666"	/* its allow does not name this host */
#define DOOMED	"66666666-6666-4666-8666-666666666667"	/* deleting */
#define NONE	"77777777-7777-4777-8777-777777777777"
#define D1	"88888888-8888-4888-8888-888888888881"	/* this host's, local */
#define D2	"88888888-8888-4888-8888-888888888882"	/* the other one's */
#define D3	"88888888-8888-4888-8888-888888888883"	/* this host's, exported */
#define D4	"88888888-8888-4888-8888-888888888884"	/* has left the other one */
#define D5	"88888888-8888-4888-8888-888888888885"	/* this host's, local, forgotten */
#define D6	"88888888-8888-4888-8888-888888888886"	/* the other one's, local, has left it */
#define E1	"99999999-9999-4999-8999-999999999991"	/* ready */
#define E2	"99999999-9999-4999-8999-999999999992"	/* freeing */
#define E3	"99999999-9999-4999-8999-999999999993"	/* wanted */
#define E4	"99999999-9999-4999-8999-999999999994"	/* in no key */
#define T1	"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa1"	/* of this host, about VOL, running */
#define T2	"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa2"	/* create, by the other one */
#define T3	"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa3"	/* about CLOSED */
#define T4	"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa4"	/* create, by this host, waiting */
#define T5	"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa5"	/* done, about VOL */
#define T6	"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa6"	/* of a drive, by this host */
#define T7	"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa7"	/* about VOL, by the other one */

#define Q(text)		"\"" text "\""

/* Of access keys. */
#define NUMBER		mesh_number(1, 5, 0)

#define RIG_KEYS	64

static struct rig_key {
	char	key[STORE_KEY_MAX];
	char	*value;
	u64	rev;
} rig_store[RIG_KEYS];
static size_t rig_nr;

static char *rig_texts[4096];	/* made for one test, freed behind it */
static size_t rig_nr_texts;

static inline char *rig_own(char *text)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_FATAL(rig_nr_texts < ARRAY_SIZE(rig_texts));
	return rig_texts[rig_nr_texts++] = text;
}

static inline struct muuid rig_uuid(const char *text)
{
	struct muuid u;

	CU_ASSERT_EQUAL_FATAL(muuid_parse(text, &u), 0);
	return u;
}

/* Frees @x. */
static inline char *rig_value(int kind, union obj_any *x)
{
	char why[OBJ_WHY], *text = rig_text(kind, x, why);

	if (!text)
		printf("\n  %s\n", why);
	obj_free(kind, x);
	return rig_own(text);
}

static inline void rig_put(const char *key, const char *value)
{
	struct rig_key *k = &rig_store[rig_nr++];

	CU_ASSERT_FATAL(rig_nr <= RIG_KEYS);
	snprintf(k->key, sizeof(k->key), "%s", key);
	k->value = strdup(value);
	k->rev = 10 + rig_nr;
}

static inline struct rig_key *rig_find(const char *key)
{
	for (size_t i = 0; i < rig_nr; i++)
		if (!strcmp(rig_store[i].key, key))
			return &rig_store[i];
	return NULL;
}

/* The value of a key of the store. */
static inline const char *rig_now(const char *key)
{
	struct rig_key *k = rig_find(key);

	CU_ASSERT_PTR_NOT_NULL_FATAL(k);
	return rig_own(strdup(k->value));
}

static inline void rig_change(const char *key, const char *value)
{
	struct rig_key *k = rig_find(key);
	char *copy = strdup(value);

	free(k->value);
	k->value = copy;
}

/*
 * A value with one member changed: "extents.0.state" becomes @json; NULL: it goes. Of a list an
 * index at its end appends.
 */
static inline char *edit(const char *value, const char *path, const char *json)
{
	json_t *root = json_loads(value, 0, NULL), *j = root;
	json_t *to = json ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;
	char part[64], *text;
	size_t n;

	CU_ASSERT_FATAL(!json || to);
	while (n = strcspn(path, "."), path[n]) {
		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		j = json_is_array(j) ? json_array_get(j, atoi(part)) : json_object_get(j, part);
		CU_ASSERT_PTR_NOT_NULL_FATAL(j);
		path += n + 1;
	}
	if (!to && json_is_array(j))
		json_array_remove(j, atoi(path));
	else if (!to)
		json_object_del(j, path);
	else if (json_is_array(j) && (size_t)atoi(path) == json_array_size(j))
		json_array_append_new(j, to);
	else if (json_is_array(j))
		json_array_set_new(j, atoi(path), to);
	else
		json_object_set_new(j, path, to);
	text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	return rig_own(text);
}

static inline char *number_text(u64 number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return rig_own(strdup(text));
}

/* Values: each has all members of its kind, those that may be left out, too. */
static inline char *a_host(const char *host, u8 role, bool removed)
{
	union obj_any x;

	rig_fill(KEY_HOST, &x);
	x.host.plan = (struct plan_host) { .uuid = rig_uuid(host), .role = role, .removed = removed };
	return rig_value(KEY_HOST, &x);
}

/* @allow: NULL: all */
static inline char *a_volume(const char *volume, u8 state, const char *allow, const char *allow2)
{
	union obj_any x;

	rig_fill(KEY_VOLUME, &x);
	x.volume.plan.uuid = rig_uuid(volume);
	x.volume.plan.state = state;
	x.volume.plan.allows = !!allow + !!allow2;
	if (allow)
		((struct muuid *)x.volume.plan.allow)[0] = rig_uuid(allow);
	if (allow2)
		((struct muuid *)x.volume.plan.allow)[1] = rig_uuid(allow2);
	if (!allow) {
		free((void *)x.volume.plan.allow);
		x.volume.plan.allow = NULL;
	}
	return rig_value(KEY_VOLUME, &x);
}

/* @holder: NULL: none */
static inline char *an_access(const char *volume, const char *holder, u64 number)
{
	union obj_any x;

	rig_fill(KEY_ACCESS, &x);
	x.access.volume = rig_uuid(volume);
	x.access.plan = (struct plan_access) { .mode = holder ? PLAN_RW : PLAN_NONE, .number = number };
	if (holder)
		x.access.plan.holder = rig_uuid(holder);
	return rig_value(KEY_ACCESS, &x);
}

static inline char *a_reader(const char *volume, const char *host, u64 number)
{
	union obj_any x;

	rig_fill(KEY_READER, &x);
	x.reader.volume = rig_uuid(volume);
	x.reader.plan = (struct plan_reader) { .host = rig_uuid(host), .number = number };
	return rig_value(KEY_READER, &x);
}

/* With E1 ready, E2 freeing and E3 wanted. */
static inline char *a_drive(const char *drive, const char *host, bool local, u8 wanted)
{
	static const char *const uuid[] = { E1, E2, E3 };
	static const u8 state[] = { PLAN_READY, PLAN_FREEING, PLAN_WANTED };
	struct plan_extent *e;
	union obj_any x;

	rig_fill(KEY_DRIVE, &x);
	x.drive.plan.uuid = rig_uuid(drive);
	x.drive.plan.host = rig_uuid(host);
	x.drive.plan.wanted = wanted;
	x.drive.plan.extents = 3;
	strcpy(x.drive.wwid, "eui.1");
	strcpy(x.drive.serial, "S1");
	x.drive.local = local;
	e = (struct plan_extent *)x.drive.plan.extent;
	for (int i = 0; i < 3; i++) {
		e[i].uuid = rig_uuid(uuid[i]);
		e[i].state = state[i];
		e[i].version = e[i].commit = state[i] != PLAN_WANTED;
	}
	return rig_value(KEY_DRIVE, &x);
}

static inline char *a_writer(const char *volume, const char *host)
{
	union obj_any x;

	rig_fill(KEY_WRITER, &x);
	x.writer.volume = rig_uuid(volume);
	x.writer.host = rig_uuid(host);
	return rig_value(KEY_WRITER, &x);
}

/* Of a mirror and of one more, whose attachments are these; 0: no roster yet. */
static inline char *a_roster(const char *volume, u64 attach, u64 attach2)
{
	struct muuid u = rig_uuid(volume);
	struct layout *l = rig_head(&u);
	union obj_any x = { 0 };
	u8 kernel[MESHBLK_ROSTER_BYTES];
	u16 *bar = calloc(1, sizeof(*bar));

	rig_segment(l, PROT_MIRROR, 2, 0, 1, 1, false);
	rig_segment(l, PROT_MIRROR, 2, 0, 1, 1, false);
	CU_ASSERT_EQUAL(obj_roster_shape(&x.roster, l), 0);
	for (u32 i = 0; i < 2; i++) {
		if (!(i ? attach2 : attach))
			continue;
		rig_kernel_roster_of(l, 2 * i, 2, 1, i ? attach2 : attach, kernel);
		CU_ASSERT_EQUAL(obj_roster_note(&x.roster, 2 * i, kernel, l->salt), 0);
	}
	free(l);
	rig_op(&x.o);
	x.roster.plan.barred = 1;
	x.roster.plan.bar = bar;
	x.roster.plan.number = NUMBER;
	x.roster.plan.version = 1;
	return rig_value(KEY_ROSTER, &x);
}

/* @volume: NULL: none */
static inline char *a_task(const char *task, const char *verb, const char *volume, const char *host, u8 state)
{
	union obj_any x;

	rig_fill(KEY_TASK, &x);
	x.task.uuid = rig_uuid(task);
	strcpy(x.task.verb, verb);
	x.task.host = rig_uuid(host);
	memset(&x.task.volume, 0, sizeof(x.task.volume));
	if (volume)
		x.task.volume = rig_uuid(volume);
	x.task.state = state;
	x.task.stage = PLAN_TASK_PLACED;	/* tests change it */
	if (state == OBJ_TASK_WAITING) {
		x.task.progress = (struct obj_progress) { 0 };
		x.task.step[0] = x.task.error[0] = 0;
		free((void *)x.task.plan.put);
		free(x.task.segment);
		x.task.plan = (struct plan_task) { .put = NULL };
		x.task.segment = NULL;
		x.task.stage = x.task.segments = 0;
		memset(&x.task.drive, 0, sizeof(x.task.drive));
	}
	return rig_value(KEY_TASK, &x);
}

/* Of this host, about a local drive unless @args say more. */
#define LOCAL_ARGS	"{\"path\":\"/dev/x\",\"local\":true}"

static inline const char *drive_task(const char *task, const char *verb, const char *args)
{
	return edit(a_task(task, verb, NULL, SELF, OBJ_TASK_WAITING), "args", args);
}

static inline void rig_put_drives(void)
{
	rig_put("drive/" D1, a_drive(D1, SELF, true, PLAN_IN));
	rig_put("drive/" D2, a_drive(D2, OTHER, true, PLAN_IN));
	rig_put("drive/" D3, a_drive(D3, SELF, false, PLAN_IN));
	rig_put("drive/" D4, a_drive(D4, OTHER, false, PLAN_OUT));
	rig_put("drive/" D5, a_drive(D5, SELF, true, PLAN_FORGOTTEN));
	rig_put("drive/" D6, a_drive(D6, OTHER, true, PLAN_OUT));
}

static inline void rig_put_tasks(void)
{
	rig_put("task/" T1, a_task(T1, "volume rename", VOL, SELF, OBJ_TASK_RUNNING));
	rig_put("task/" T2, a_task(T2, "volume create", NULL, OTHER, OBJ_TASK_WAITING));
	rig_put("task/" T3, a_task(T3, "volume rename", CLOSED, OTHER, OBJ_TASK_RUNNING));
	rig_put("task/" T4, a_task(T4, "volume create", NULL, SELF, OBJ_TASK_WAITING));
	rig_put("task/" T5, a_task(T5, "volume rename", VOL, SELF, OBJ_TASK_DONE));
	rig_put("task/" T6, a_task(T6, "drive drain", NULL, SELF, OBJ_TASK_RUNNING));
	rig_put("task/" T7, a_task(T7, "volume rename", VOL, OTHER, OBJ_TASK_RUNNING));
}

static inline void rights_begin(void)
{
	rig_put("host/" SELF, a_host(SELF, PLAN_CLIENT, false));
	rig_put("host/" OTHER, a_host(OTHER, PLAN_CLIENT, false));
	rig_put("volume/" VOL, a_volume(VOL, PLAN_VOLUME_READY, NULL, NULL));
	rig_put("volume/" OURS, a_volume(OURS, PLAN_VOLUME_READY, OTHER, SELF));
	rig_put("volume/" THEIRS, a_volume(THEIRS, PLAN_VOLUME_READY, NULL, NULL));
	rig_put("volume/" CLOSED, a_volume(CLOSED, PLAN_VOLUME_READY, OTHER, NULL));
	rig_put("volume/" DOOMED, a_volume(DOOMED, PLAN_DELETING, NULL, NULL));
	rig_put("access/" VOL, an_access(VOL, NULL, NUMBER));
	rig_put("access/" OURS, an_access(OURS, SELF, NUMBER));
	rig_put("access/" THEIRS, an_access(THEIRS, OTHER, NUMBER));
	rig_put("access/" CLOSED, an_access(CLOSED, NULL, NUMBER));
	rig_put("access/" DOOMED, an_access(DOOMED, NULL, NUMBER));
	rig_put_drives();
	rig_put("writer/" OURS, a_writer(OURS, SELF));
	rig_put("writer/" THEIRS, a_writer(THEIRS, OTHER));
	rig_put_tasks();
}

static inline void rights_end(void)
{
	while (rig_nr)
		free(rig_store[--rig_nr].value);
	while (rig_nr_texts)
		free(rig_texts[--rig_nr_texts]);
}

static int read_error;		/* every read fails so */
static char why[RIGHTS_WHY];
static int refused_err;

static inline int fake_get(void *priv, const char *key, const struct store_kv **out)
{
	static struct store_kv kv;
	const struct rig_key *k = rig_find(key);

	(void)priv;
	if (read_error)
		return read_error;
	if (!k)
		return -ENOENT;
	kv = (struct store_kv) { .key = k->key, .value = k->value, .len = strlen(k->value),
				 .modified = k->rev };
	*out = &kv;
	return 0;
}

static inline struct store_compare compare_now(const char *key)
{
	const struct rig_key *k = rig_find(key);

	return k ? (struct store_compare) { STORE_SAME, key, k->rev } :
	       (struct store_compare) { STORE_ABSENT, key, 0 };
}

static inline enum rights_verdict judge(u8 role, const struct store_txn *t)
{
	static const struct rights_source source = { fake_get, NULL };
	struct rights_who who = { .role = role, .host = rig_uuid(SELF) };
	enum rights_verdict v;

	why[0] = 0;
	refused_err = 1;
	v = rights_txn(&who, t, &source, &refused_err, why);
	CU_ASSERT_EQUAL(v == RIGHTS_ALLOWED || v == RIGHTS_STALE, refused_err == 0);
	CU_ASSERT_EQUAL(v == RIGHTS_REFUSED, why[0] != 0);
	CU_ASSERT(v != RIGHTS_REFUSED || refused_err == -EACCES || refused_err == -EINVAL);
	CU_ASSERT(printable_ok(why));
	return v;
}

/* One operation beside compares: the key itself, then others up to END. */
static inline enum rights_verdict op(u8 role, const char *key, const char *value, u64 lease, ...)
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
#define STORAGE(...)	op(PLAN_STORAGE, __VA_ARGS__, END)
#define YES(verdict)	do {						\
		CU_ASSERT_EQUAL(verdict, RIGHTS_ALLOWED);		\
		if (why[0])						\
			printf("\n  line %d: \"%s\"\n", __LINE__, why);	\
	} while (0)
#define NO_ERR(verdict, words, error) do {				\
		CU_ASSERT_EQUAL(verdict, RIGHTS_REFUSED);		\
		CU_ASSERT_EQUAL(refused_err, error);			\
		if (!strstr(why, words))				\
			printf("\n  line %d: \"%s\" lacks \"%s\"\n", __LINE__, why, words); \
		CU_ASSERT_PTR_NOT_NULL(strstr(why, words));		\
	} while (0)
/* There is no right to do it. */
#define NO(verdict, words)	NO_ERR(verdict, words, -EACCES)
/* The codec refuses the value. */
#define BAD(verdict, words)	NO_ERR(verdict, words, -EINVAL)

#endif
