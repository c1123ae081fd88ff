/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket with its verbs over a store in a file, as host s1 of a cluster; the controller
 * is the real one, agents of drives and attachments are played by the test.
 *
 *   client --socket--> control, api (copy of s1) --store--> controller, agents (copy A)
 */
#ifndef TESTS_UNIT_API_RIG_H
#define TESTS_UNIT_API_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/unit/agent_rig.h"
#include "userspace/agent/tasks.h"
#include "userspace/daemon/api_in.h"
#include "userspace/daemon/host_check.h"
#include "userspace/daemon/job.h"

#define GIB	(1ULL << 30)
#define S1	1
#define S2	2
#define G1	3
#define S3	4

static struct daemon D;
static struct store *agents;
static struct copy *A;
static struct lead lead;
static struct tasks tasks;
static char socket_path[96];
static u64 rig_now;

/* Parts of the daemon that other tests are about. */

static struct {
	bool	alone;
	int	ret;
	unsigned int inits, joins, leaves;
	u8	role;
	unsigned int seconds;
	char	text[64];
	struct muuid uuid, saved;	/* of the cluster; in a backup */
	bool	client;
} cl;

int cluster_init(struct cluster *c, const char *name, char words[CLUSTER_WHY])
{
	(void)c;
	cl.inits++;
	snprintf(cl.text, sizeof(cl.text), "%s", name);
	if (!cl.ret)
		cl.alone = false;
	snprintf(words, CLUSTER_WHY, "the disk is full: make room");
	return cl.ret;
}

int cluster_token(struct cluster *c, u8 role, unsigned int seconds, char text[TOKEN_TEXT], char words[CLUSTER_WHY])
{
	(void)c;
	(void)words;
	cl.role = role;
	cl.seconds = seconds;
	snprintf(text, TOKEN_TEXT, "meshjoin1/word");
	return cl.ret;
}

int cluster_join(struct cluster *c, const char *text, char words[CLUSTER_WHY])
{
	(void)c;
	cl.joins++;
	snprintf(cl.text, sizeof(cl.text), "%s", text);
	snprintf(words, CLUSTER_WHY, "this machine has volume data: delete it first");
	return cl.ret;
}

int cluster_leave(struct cluster *c, char words[CLUSTER_WHY])
{
	(void)c;
	cl.leaves++;
	words[0] = 0;
	return cl.ret;
}

int cluster_backup(struct cluster *c, const char *path, char **text, u64 *keys, char words[CLUSTER_WHY])
{
	(void)c;
	*text = path ? NULL : strdup("lines");
	*keys = 7;
	snprintf(cl.text, sizeof(cl.text), "%s", path ? path : "-");
	snprintf(words, CLUSTER_WHY, "it is there already");
	return cl.ret;
}

int cluster_saved_read(const char *path, struct cluster_saved *b, char words[CLUSTER_WHY])
{
	memset(b, 0, sizeof(*b));
	b->cluster = cl.saved;
	snprintf(cl.text, sizeof(cl.text), "%s", path);
	snprintf(words, CLUSTER_WHY, "it is damaged");
	return cl.ret;
}

void cluster_saved_free(struct cluster_saved *b)
{
	(void)b;
}

struct muuid cluster_uuid(const struct cluster *c)
{
	(void)c;
	return cl.uuid;
}

bool cluster_alone(const struct cluster *c)
{
	(void)c;
	return cl.alone;
}

u8 cluster_role(const struct cluster *c)
{
	(void)c;
	return cl.client ? PLAN_CLIENT : PLAN_STORE;
}

static const char *kernel_says;		/* JSON; NULL: little */

json_t *volumes_show(struct volumes *v, const struct muuid *volume)
{
	(void)v;
	(void)volume;
	if (kernel_says)
		return json_loads(kernel_says, 0, NULL);
	return json_pack("{s:s}", "device", "/dev/mesh7");
}

/* The kernel of this host. */
static struct plan_work kernel_work;
static bool kernel_lacks;

bool volumes_work(struct volumes *v, const struct muuid *volume, struct plan_work *out)
{
	(void)v;
	(void)volume;
	*out = kernel_work;
	return !kernel_lacks;
}

json_t *volumes_stats(void)
{
	return json_pack("{s:[]}", "volumes");
}

/* The way to a host: the test's, on the thread of a job. */
static struct host_check checked;
static _Atomic unsigned int checks;
static _Atomic bool check_bad;

void host_check_line(struct host_check *c, enum host_verdict v, const char *what, const char *fmt, ...)
{
	struct host_check_line *l = &c->line[c->lines++];
	va_list ap;

	l->verdict = v;
	snprintf(l->what, sizeof(l->what), "%s", what);
	va_start(ap, fmt);
	vsnprintf(l->text, sizeof(l->text), fmt, ap);
	va_end(ap);
}

void host_check_run(struct host_check *c)
{
	checked = *c;
	checks++;
	host_check_line(c, check_bad ? HOST_CHECK_BAD : HOST_CHECK_OK, "link", "the test's way");
	host_check_line(c, HOST_CHECK_NOTE, "session", "none was tried");
}

static inline struct muuid host_id(u8 h)
{
	return rig_id('h', h);
}

static inline void put_alive(u8 h, bool alive)
{
	struct obj_alive a = { .host = host_id(h), .boot = rig_id('b', h), .meshd = "1", .format = 1000 };
	struct key k = { .kind = KEY_ALIVE, .host = a.host };

	if (alive)
		rig_put(A, KEY_ALIVE, &a);
	else
		rig_erase(A, &k);
}

static inline void put_host(u8 h, const char *name, u8 role)
{
	struct obj_address addr = { .addr = "10.0.0.1" };
	struct obj_host host = { .plan = { .uuid = host_id(h), .role = role }, .addresses = 1, .address = &addr };

	snprintf(host.name, sizeof(host.name), "%s", name);
	rig_put(A, KEY_HOST, &host);
	put_alive(h, true);
}

static inline void put_drive(u8 h, u8 n)
{
	struct obj_drive d = { .plan = { .uuid = { .b = { 0xd0, h, 0x11, n } }, .host = host_id(h), .wanted = PLAN_IN },
			       .size = GIB, .lba = 512 };

	snprintf(d.path, sizeof(d.path), "/dev/nvme%un1", n);
	rig_put(A, KEY_DRIVE, &d);
}

/* Two drives of each storage host, a disk that can be exported, and one that cannot. */
static inline void put_device(u8 h)
{
	struct obj_disk disk[4] = {
		{ .path = "/dev/nvme0n1", .size = GIB, .lba = 512, .drive = { .b = { 0xd0, h, 0x11, 0 } }, .why = "a drive" },
		{ .path = "/dev/nvme1n1", .size = GIB, .lba = 512, .drive = { .b = { 0xd0, h, 0x11, 1 } }, .why = "a drive" },
		{ .path = "/dev/nvme2n1", .size = GIB, .lba = 512, .exportable = true },
		{ .path = "/dev/sda", .size = GIB, .lba = 512, .why = "it is mounted at /: unmount it" },
	};
	struct obj_device d = { .host = host_id(h), .disks = 4, .disk = disk };

	rig_put(A, KEY_DEVICE, &d);
}

static inline void put_world(void)
{
	struct obj_cluster c = { .plan = { .uuid = rig_id('c', 1), .generation = 1, .format = 1000 }, .name = "rack7" };

	rig_put(A, KEY_CLUSTER, &c);
	put_host(S1, "s1", PLAN_STORE);
	put_host(S2, "s2", PLAN_STORAGE);
	put_host(S3, "s3", PLAN_STORAGE);
	put_host(G1, "g1", PLAN_CLIENT);
	for (u8 n = 0; n < 2; n++) {
		put_drive(S1, n);
		put_drive(S2, n);
		put_drive(S3, n);
	}
	put_device(S1);
	put_device(S2);
	put_device(S3);
}

static inline void follow_all(struct copy *c)
{
	for (int k = KEY_CLUSTER; k < KEY_KINDS; k++)
		if (k != KEY_TOKEN)
			OK(copy_follow(c, &(struct key) { .kind = k }, 0));
}

static inline void api_begin(void)
{
	rig_begin();
	memset(&D, 0, sizeof(D));
	memset(&cl, 0, sizeof(cl));
	agents = store_sqlite_handle(Q);
	A = copy_open(agents);
	follow_all(A);
	put_world();
	lead = (struct lead) { .copy = A, .host = host_id(S1), .seconds = 60 };
	tasks = (struct tasks) { .copy = A, .lead = &lead, .now = 1000 };
	CU_ASSERT_EQUAL(lead_turn(&lead, ++rig_now), 1);
	D.host = host_id(S1);
	D.store = store_sqlite_handle(Q);
	D.copy = copy_open(D.store);
	follow_all(D.copy);
	rig_catch_up(D.copy);
	D.self = (struct host_agent) { .copy = D.copy, .state = HOST_UP, .sure = true };
	D.self.seen.plan.revision = UINT64_MAX;
	OK(sd_event_new(&D.event));
	snprintf(socket_path, sizeof(socket_path), "%s/run/sock", folder);
	OK(control_open(&D, socket_path, &D.control));
}

static inline void api_end(void)
{
	control_close(D.control);
	sd_event_unref(D.event);
	copy_close(D.copy);
	store_close(D.store);
	copy_close(A);
	store_close(agents);
	rig_end();
}

/* All that is ready on the loop, then one step of each request. */
static inline void daemon_step(void)
{
	for (int n = 0; n < 100 && sd_event_run(D.event, 0) > 0; n++)
		;
	if (!D.store_away)
		rig_catch_up(D.copy);
	control_turn(D.control);
	rig_catch_up(A);
}

static inline const char *text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

/* A peer of the socket. */
struct client {
	int	fd;
	char	text[1 << 16];
	size_t	len;
	json_t	*answer;		/* the last line */
	char	notes[4096];
	unsigned int progress;
	u64	done, total;
	bool	closed;
};

static inline void client_open(struct client *k)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	memset(k, 0, sizeof(*k));
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", socket_path);
	k->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL_FATAL(connect(k->fd, (void *)&sa, sizeof(sa)), 0);
	OK(fcntl(k->fd, F_SETFL, O_NONBLOCK));
}

static inline void client_send(struct client *k, const char *text, size_t len)
{
	CU_ASSERT_EQUAL(send(k->fd, text, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* @args: JSON with ' for " */
static inline void client_request(struct client *k, const char *verb, const char *args)
{
	char text[2048];

	client_open(k);
	snprintf(text, sizeof(text), "{'verb':'%s','args':%s}\n", verb, args);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	client_send(k, text, strlen(text));
}

static inline void client_line(struct client *k, const char *line)
{
	json_t *j = json_loads(line, 0, NULL), *p = json_object_get(j, "progress");
	const char *note = json_string_value(json_object_get(j, "note"));

	CU_ASSERT(json_is_object(j));
	CU_ASSERT_PTR_NULL(k->answer);
	if (note) {
		strncat(k->notes, note, sizeof(k->notes) - strlen(k->notes) - 2);
		strcat(k->notes, "\n");
	} else if (p) {
		k->progress++;
		k->done = (u64)json_integer_value(json_object_get(p, "done"));
		k->total = (u64)json_integer_value(json_object_get(p, "total"));
	} else {
		k->answer = json_incref(j);
	}
	json_decref(j);
}

static inline void client_read(struct client *k)
{
	ssize_t n;
	char *end;

	while (!k->closed && k->len < sizeof(k->text) - 1) {
		n = recv(k->fd, k->text + k->len, sizeof(k->text) - 1 - k->len, 0);
		if (n < 0)
			break;
		k->closed = !n;
		k->len += (size_t)n;
		k->text[k->len] = 0;
		while ((end = strchr(k->text, '\n'))) {
			*end = 0;
			client_line(k, k->text);
			k->len -= (size_t)(end + 1 - k->text);
			memmove(k->text, end + 1, k->len + 1);
		}
	}
}

static inline void client_close(struct client *k)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
	json_decref(k->answer);
	k->answer = NULL;
}

/* The agent of a drive: what is wanted becomes ready, what is freeing goes. */
static inline bool play_drive(const struct obj_drive *d)
{
	struct plan_extent *x = calloc(d->plan.extents + 1, sizeof(*x));
	struct obj_drive out = *d;
	bool acts = false;

	out.plan.extents = 0;
	for (u32 i = 0; i < d->plan.extents; i++) {
		struct plan_extent e = d->plan.extent[i];
		const struct obj_volume *v = copy_obj(A, &(struct key) { .kind = KEY_VOLUME, .volume = e.volume });
		u64 version = v && plan_layout_names(&v->plan.layout, &e.uuid) ? v->record->version : 0;

		acts = acts || e.state != PLAN_READY || e.version < version;
		if (e.state == PLAN_FREEING)
			continue;
		if (e.state == PLAN_WANTED || e.version < version) {
			e.state = PLAN_READY;
			e.version = version;
			e.commit = version ? v->record->commit : 0;
		}
		x[out.plan.extents++] = e;
	}
	out.plan.extent = x;
	if (acts)
		rig_put(A, KEY_DRIVE, &out);
	free(x);
	return acts;
}

static inline bool play_drives(void)
{
	const struct copy_item *i = NULL;

	while ((i = copy_next(A, &(struct key) { .kind = KEY_DRIVE }, 0, i)))
		if (i->obj && play_drive(i->obj))
			return true;
	return false;
}

/* The controller and drives, until neither has anything to do. */
static inline void play(void)
{
	for (int n = 0; n < 1000; n++) {
		int did;

		rig_catch_up(A);
		CU_ASSERT_EQUAL(lead_turn(&lead, ++rig_now), 1);
		did = tasks_turn(&tasks);
		CU_ASSERT(did >= 0);
		if (!play_drives() && did <= 0)
			return;
	}
	CU_FAIL("it never ends");
}

static inline void put_status_of(u8 h, const struct muuid *about, u8 subject, const char *state, const char *words)
{
	struct obj_status s = { .host = host_id(h), .about = *about, .subject = subject, .at = 1 };

	snprintf(s.state, sizeof(s.state), "%s", state);
	snprintf(s.words, sizeof(s.words), "%s", words);
	if (!strcmp(state, "attached"))
		s.details = json_pack("{s:s}", "disk", "mesh0");
	rig_put(A, KEY_STATUS, &s);
	json_decref(s.details);
}

static inline const struct obj_want *want(u8 h, const struct muuid *v)
{
	return copy_obj(A, &(struct key) { .kind = KEY_WANT, .host = host_id(h), .volume = *v });
}

static inline const struct obj_writer *writer(const struct muuid *v)
{
	return copy_obj(A, &(struct key) { .kind = KEY_WRITER, .volume = *v });
}

/* The agent of an attachment takes what is wanted ... */
static inline void play_take(u8 h, const struct muuid *v)
{
	struct key k = { .kind = KEY_ACCESS, .volume = *v };
	const struct obj_access *old = copy_obj(A, &k);
	struct obj_access a = *old;
	struct obj_reader r = { .volume = *v, .plan = { .host = host_id(h), .number = old->plan.number } };

	if (want(h, v)->mode == PLAN_RO) {
		rig_put(A, KEY_READER, &r);
	} else {
		a.plan = (struct plan_access) { .mode = PLAN_RW, .holder = host_id(h),
				.number = mesh_number(1, mesh_number_counter(old->plan.number) + 1, 0) };
		rig_put(A, KEY_ACCESS, &a);
	}
}

/* ... and its kernel has it. */
static inline void play_attach(u8 h, const struct muuid *v)
{
	play_take(h, v);
	put_status_of(h, v, OBJ_OF_VOLUME, "attached", "");
}

static inline void play_detach(u8 h, const struct muuid *v)
{
	struct key k = { .kind = KEY_ACCESS, .volume = *v }, w = { .kind = KEY_WANT, .volume = *v, .host = host_id(h) };
	struct key r = { .kind = KEY_READER, .volume = *v, .host = host_id(h) };
	const struct obj_access *old = copy_obj(A, &k);
	struct obj_access a = *old;

	if (copy_get(A, &r)) {
		rig_erase(A, &r);
	} else {
		a.plan.mode = PLAN_NONE;
		a.plan.clean = true;
		memset(&a.plan.holder, 0, sizeof(a.plan.holder));
		rig_put(A, KEY_ACCESS, &a);
	}
	if (copy_get(A, &w))
		rig_erase(A, &w);
	rig_erase(A, &(struct key) { .kind = KEY_STATUS, .host = host_id(h), .about = *v });
}

/* Turns of the daemon, and of all that is played but attachments, until the answer is there. */
static inline void client_wait(struct client *k)
{
	for (int n = 0; n < 300 && !k->answer && !k->closed; n++) {
		daemon_step();
		play();
		client_read(k);
	}
	if (!k->answer)
		printf("\nno answer; notes: %s\n", k->notes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(k->answer);
}

/* @turns of the daemon and the cluster; the request still waits. */
static inline void client_waits(struct client *k, int turns)
{
	while (turns--) {
		daemon_step();
		play();
		client_read(k);
	}
	if (k->answer)
		printf("\nan answer: %s\n", json_string_value(json_object_get(k->answer, "error")));
	CU_ASSERT_PTR_NULL(k->answer);
}

static inline json_t *client_ok(struct client *k)
{
	client_wait(k);
	if (!json_is_true(json_object_get(k->answer, "ok")))
		printf("\nfailed: %s\n", json_string_value(json_object_get(k->answer, "error")));
	CU_ASSERT(json_is_true(json_object_get(k->answer, "ok")));
	return json_object_get(k->answer, "result");
}

static inline void client_fails(struct client *k, const char *kind, const char *part)
{
	const char *is, *error;
	bool as_wanted;

	client_wait(k);
	is = text_of(k->answer, "kind");
	error = text_of(k->answer, "error");
	CU_ASSERT(json_is_false(json_object_get(k->answer, "ok")));
	as_wanted = !strcmp(is, kind) && error[0] && strstr(error, part);
	if (!as_wanted)
		printf("\n%s wanted with \"%s\", is %s: %s\n", kind, part, is, error);
	CU_ASSERT(as_wanted);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(k->answer, "code")), strcmp(kind, "usage") ? 1 : 2);
	client_close(k);
}

/* Request, and what becomes of it. */
static inline void fails(const char *verb, const char *args, const char *kind, const char *part)
{
	struct client k;

	client_request(&k, verb, args);
	client_fails(&k, kind, part);
}

/* The result is the caller's. */
static inline json_t *works(const char *verb, const char *args)
{
	struct client k;
	json_t *r;

	client_request(&k, verb, args);
	r = json_incref(client_ok(&k));
	client_close(&k);
	return r;
}

static inline void does(const char *verb, const char *args)
{
	json_decref(works(verb, args));
}

/* UUID of a volume by its name. */
static inline struct muuid volume_id(const char *name)
{
	struct key k = { .kind = KEY_NAME };
	const struct obj_name *n;

	snprintf(k.name, sizeof(k.name), "%s", name);
	rig_catch_up(A);
	n = copy_obj(A, &k);
	return n ? n->volume : (struct muuid) { .b = { 0 } };
}

static inline u32 count(enum key_kind kind)
{
	const struct copy_item *i = NULL;
	u32 n = 0;

	rig_catch_up(A);
	while ((i = copy_next(A, &(struct key) { .kind = kind }, 0, i)))
		n++;
	return n;
}

static inline const struct obj_task *last_task(void)
{
	const struct copy_item *i = NULL;
	const struct obj_task *t = NULL;

	rig_catch_up(A);
	while ((i = copy_next(A, &(struct key) { .kind = KEY_TASK }, 0, i)))
		t = i->obj;
	return t;
}

/* Where there are several, whose UUIDs are in any order. */
static inline const struct obj_task *task_of(const char *verb)
{
	const struct copy_item *i = NULL;

	rig_catch_up(A);
	while ((i = copy_next(A, &(struct key) { .kind = KEY_TASK }, 0, i))) {
		const struct obj_task *t = i->obj;

		if (!strcmp(t->verb, verb))
			return t;
	}
	return NULL;
}

#endif
