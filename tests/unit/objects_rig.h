/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of each kind with random content: every member is there, those that may be left out, too.
 * fill() makes one, same() compares two, member by member or byte by byte.
 */
#ifndef TESTS_UNIT_OBJECTS_RIG_H
#define TESTS_UNIT_OBJECTS_RIG_H

#include <errno.h>
#include <linux/kernel.h>
#include <linux/xxhash.h>
#include <stdlib.h>
#include <string.h>

#include "protect/roster/roster.h"
#include "userspace/format/label.h"
#include "userspace/format/objects.h"
#include "userspace/format/view.h"
#include "suite.h"

#define SALT	0xfedcba9876543210ULL	/* above 2^63 */

static u64 rig_seed = 1;

static u64 rnd(void)
{
	rig_seed ^= rig_seed << 13;
	rig_seed ^= rig_seed >> 7;
	rig_seed ^= rig_seed << 17;
	return rig_seed;
}

static u64 rnd_below(u64 n)
{
	return rnd() % n;
}

static u64 rnd63(void)
{
	return (rnd() >> 1) | 1;
}

static struct muuid rnd_uuid(void)
{
	struct muuid u;

	for (size_t i = 0; i < sizeof(u.b); i++)
		u.b[i] = rnd();
	muuid_mark_random(&u);
	return u;
}

static void rnd_text(char *text, size_t size, const char *of)
{
	size_t n = 1 + rnd_below(size - 1);

	for (size_t i = 0; i < n; i++)
		text[i] = of[rnd_below(strlen(of))];
	text[n] = 0;
}

#define PLAIN	"abcxyz0189"
#define ANY	"abc XYZ\"\\/~_.:%{}[],"
#define RND_TEXT(m, of)	rnd_text(m, sizeof(m), of)

static json_t *rnd_object(void)
{
	return json_pack("{s:i, s:s, s:b}", "a1", (int)rnd_below(1000), "b.2", "text", "c-3", 1);
}

static void *rnd_uuids(u32 n)
{
	struct muuid *u = calloc(n, sizeof(*u));

	for (u32 i = 0; i < n; i++)
		u[i] = rnd_uuid();
	return u;
}

/* One more segment, on members of its own. */
static void rig_segment(struct layout *l, u8 level, u8 data, u8 parity, u16 groups, u64 mib, bool fresh)
{
	struct layout_segment *s = &l->segment[l->segments++];
	struct layout_shape shape = { level, data, parity, groups };
	u32 columns = level == PROT_STRIPE || level == PROT_EC ? data : 1;

	*s = (struct layout_segment) { .start = l->size, .length = (mib << 20) * groups * columns,
				       .level = level, .data = data, .parity = parity, .groups = groups,
				       .strip = 65536, .domain = rnd_below(2), .first_ref = l->refs };
	s->refs = level == PROT_STRIPE ? data : groups * layout_width(&shape);
	s->fresh = fresh && layout_width(&shape) > 1;
	for (u32 i = 0; i < s->refs; i++) {
		u64 at = layout_data_at(s, l->lba);

		l->ref[l->refs++] = (struct layout_ref) { .member = l->members, .offset = at };
		l->member[l->members++] = (struct layout_member) {
			.target = rnd_uuid(), .drive = rnd_uuid(), .extent = rnd_uuid(),
			.size = (at + layout_member_bytes(s) + (1 << 20)) >> 20 << 20,
			.port = 1 + rnd_below(65535), .kind = rnd_below(2), .late = rnd_below(2),
			.addr = "fe80::1%eth0" };
	}
	l->size += s->length;
}

static struct layout *rig_head(const struct muuid *volume)
{
	struct layout *l = calloc(1, sizeof(*l));

	l->volume = *volume;
	strcpy(l->name, "db.1");
	l->version = rnd63();
	l->commit = rnd63();
	l->created = rnd_below(1ULL << 40);
	l->salt = SALT;
	l->spares = rnd_below(65536);
	l->spares_used = rnd_below(65536);
	l->lba = rnd_below(2) ? 512 : 4096;
	return l;
}

/* Linear, stripe:3, mirror:2, raid10:2x2 and ec:2+1: 13 members, 4 groups. */
static struct layout *rig_layout(const struct muuid *volume, bool fresh)
{
	struct layout *l = rig_head(volume);

	rig_segment(l, PROT_LINEAR, 1, 0, 1, 1 + rnd_below(9), false);
	rig_segment(l, PROT_STRIPE, 3, 0, 1, 1 + rnd_below(9), false);
	rig_segment(l, PROT_MIRROR, 2, 0, 1, 1 + rnd_below(9), fresh);
	rig_segment(l, PROT_RAID10, 2, 0, 2, 1 + rnd_below(9), fresh);
	rig_segment(l, PROT_EC, 2, 1, 1, 1 + rnd_below(9), false);
	return l;
}

#define RIG_MEMBERS	13
#define RIG_GROUPS	4

static void fill_cluster(void *x)
{
	struct obj_cluster *c = x;

	c->plan = (struct plan_cluster) { .uuid = rnd_uuid(), .generation = rnd_below(4096),
					  .format = 1000 + rnd_below(1000) };
	RND_TEXT(c->name, ANY);
	c->settings = rnd_object();
}

static void fill_leader(void *x)
{
	((struct obj_leader *)x)->host = rnd_uuid();
}

static void fill_host(void *x)
{
	struct obj_host *h = x;

	h->plan = (struct plan_host) { .uuid = rnd_uuid(), .role = 1 + rnd_below(3),
				       .maintenance = rnd_below(2), .removed = rnd_below(2) };
	RND_TEXT(h->name, "abc");
	RND_TEXT(h->rack, ANY);
	h->labels = json_pack("{s:s, s:s}", "zone", "a b", "power.feed", "2");
	h->addresses = 2;
	h->address = calloc(2, sizeof(*h->address));
	strcpy(h->address[0].addr, "fe80::1%eth0");
	strcpy(h->address[1].addr, "node-7.example.org");
	h->address[0].port = h->address[1].port = 1 + rnd_below(65535);
}

static void fill_alive(void *x)
{
	struct obj_alive *a = x;

	a->host = rnd_uuid();
	a->boot = rnd_uuid();
	RND_TEXT(a->meshd, ANY);
	RND_TEXT(a->module, ANY);
	a->format = 1000 + rnd_below(1000);
	a->started = rnd63();
}

static void fill_device(void *x)
{
	struct obj_device *d = x;

	d->host = rnd_uuid();
	d->disks = 3;
	d->disk = calloc(d->disks, sizeof(*d->disk));
	for (u32 i = 0; i < d->disks; i++) {
		struct obj_disk *k = &d->disk[i];

		snprintf(k->path, sizeof(k->path), "/dev/nvme%un1", i);
		RND_TEXT(k->model, ANY);
		RND_TEXT(k->wwid, ANY);
		RND_TEXT(k->serial, ANY);
		k->size = rnd63();
		k->lba = 512;
		k->drive = rnd_uuid();
		k->exportable = i == 1;
		if (i != 1)
			RND_TEXT(k->why, ANY);
		if (i != 2)
			k->smart = (struct obj_smart) { .known = true, .warning = rnd_below(256),
							.temperature = rnd_below(400), .used = rnd_below(256),
							.spare = rnd_below(101), .media_errors = rnd63() };
	}
}

/* Extents one behind the other, all of them of the longest numbers that there are. */
static void fill_extents(struct obj_drive *d, u32 n)
{
	struct plan_extent *e = calloc(n, sizeof(*e));

	d->plan.extents = n;
	d->plan.extent = e;
	for (u32 i = 0; i < n; i++)
		e[i] = (struct plan_extent) { .uuid = rnd_uuid(), .volume = rnd_uuid(), .place = 1023 - i % 23,
					      .state = i % 2 ? PLAN_READY : PLAN_FREEING,
					      .start = (1ULL << 60) + i * (1ULL << 46),
					      .length = 1ULL << 46, .version = rnd63() | 1ULL << 62,
					      .commit = rnd63() | 1ULL << 62 };
}

static void fill_drive(void *x)
{
	struct obj_drive *d = x;

	d->plan = (struct plan_drive) { .uuid = rnd_uuid(), .host = rnd_uuid(), .wanted = 1 + rnd_below(4) };
	RND_TEXT(d->name, "abc");
	RND_TEXT(d->path, ANY);
	RND_TEXT(d->model, ANY);
	RND_TEXT(d->wwid, ANY);
	RND_TEXT(d->serial, ANY);
	d->size = 1ULL << 62;
	d->lba = rnd_below(2) ? 512 : 4096;
	d->local = rnd_below(2);
	d->sequence = rnd63();
	fill_extents(d, 4);
}

static void rig_leavings(const struct layout *l, struct obj_leaving **leaving, u32 *n)
{
	*n = 2;
	*leaving = calloc(2, sizeof(**leaving));
	(*leaving)[0] = (struct obj_leaving) { .place = l->members - 1, .extent = rnd_uuid() };
	(*leaving)[1] = (struct obj_leaving) { .place = 4, .extent = rnd_uuid() };
}

static void fill_volume(void *x)
{
	u16 *bar = calloc(1, sizeof(*bar));
	struct obj_volume *v = x;

	v->plan.uuid = rnd_uuid();
	v->plan.state = 1 + rnd_below(3);
	v->plan.fresh = rnd_below(2);
	v->plan.allows = 3;
	v->plan.allow = rnd_uuids(3);
	v->record = rig_layout(&v->plan.uuid, true);
	rig_leavings(v->record, &v->leaving, &v->leavings);
	strcpy(v->domain, "power.feed");
	bar[0] = 1 + rnd_below(2);
	v->plan.bar = bar;
	v->plan.barred = 1;
	v->io = (struct obj_io) { .timeout_ms = 1 + rnd_below(99999), .queue_depth = 1 + rnd_below(999) };
}

static void fill_name(void *x)
{
	struct obj_name *n = x;

	RND_TEXT(n->name, "abc");
	n->volume = rnd_uuid();
}

static u64 rnd_number(void)
{
	return mesh_number(rnd_below(4096), 1 + rnd_below(1ULL << 34), 0);
}

static void fill_access(void *x)
{
	struct obj_access *a = x;

	a->volume = rnd_uuid();
	a->plan = (struct plan_access) { .mode = PLAN_RW, .holder = rnd_uuid(), .number = rnd_number() };
}

static void fill_reader(void *x)
{
	struct obj_reader *r = x;

	r->volume = rnd_uuid();
	r->plan = (struct plan_reader) { .host = rnd_uuid(), .number = rnd_number() };
}

static void fill_want(void *x)
{
	struct obj_want *w = x;

	w->host = rnd_uuid();
	w->volume = rnd_uuid();
	w->mode = rnd_below(3);
	w->boot = rnd_below(2);
	w->preempt = w->mode == PLAN_RW && rnd_below(2);
	w->force = w->mode == PLAN_NONE && rnd_below(2);
	w->fenced = rnd_below(2);
	w->request.what = w->mode == PLAN_RW ? rnd_below(OBJ_REJOIN + 1) : 0;
	if (w->request.what)
		w->request.id = rnd_uuid();
	if (w->request.what == OBJ_REJOIN || (w->request.what == OBJ_SCRUB_REPAIR && rnd_below(2)))
		w->request.extent = rnd_uuid();
}

static void fill_writer(void *x)
{
	struct obj_writer *w = x;

	w->volume = rnd_uuid();
	w->host = rnd_uuid();
}

/* A roster as the kernel gives it, of a group of @l that begins at reference @first. */
static void rig_kernel_roster_of(const struct layout *l, u32 first, u8 width, u8 k, u64 attach,
				 u8 out[MESHBLK_ROSTER_BYTES])
{
	struct prot_owner o = { .salt = obj_roster_seed(l->salt, &l->volume), .group = first };
	struct prot_roster r = { .attach = attach, .epoch = rnd63(), .geo = { .width = width, .k = k } };
	u8 block[PROT_ROSTER_BLOCK];

	memcpy(o.volume, l->volume.b, 16);
	r.in_sync = (1ULL << width) - 1;
	r.flags = rnd_below(2) ? PROT_ROSTER_WITNESS : 0;
	for (u32 i = 0; i < width; i++)
		memcpy(r.uuid[i], l->member[l->ref[first + i].member].extent.b, 16);
	prot_roster_seal(block, &r, &o, 0);
	memcpy(out, block, MESHBLK_ROSTER_BYTES);
}

static void rig_kernel_roster(const struct layout *l, u32 first, u8 width, u8 k, u8 out[MESHBLK_ROSTER_BYTES])
{
	rig_kernel_roster_of(l, first, width, k, rnd63(), out);
}

static void fill_roster(void *x)
{
	static const u8 first[RIG_GROUPS] = { 4, 6, 8, 10 }, width[RIG_GROUPS] = { 2, 2, 2, 3 };
	struct muuid volume = rnd_uuid();
	struct layout *l = rig_layout(&volume, true);
	struct obj_roster *r = x;
	u16 *bar = calloc(2, sizeof(*bar));
	u8 kernel[MESHBLK_ROSTER_BYTES];

	CU_ASSERT_EQUAL(obj_roster_shape(r, l), 0);
	for (u32 i = 0; i < RIG_GROUPS; i++) {
		rig_kernel_roster(l, first[i], width[i], i == 3 ? 2 : 1, kernel);
		CU_ASSERT_EQUAL(obj_roster_note(r, first[i], kernel, l->salt), 0);
	}
	bar[0] = 5;
	bar[1] = 1023;
	r->plan.bar = bar;
	r->plan.barred = 2;
	r->plan.number = mesh_number(1, 1 + rnd_below(1000), rnd_below(9));
	r->plan.version = 1 + rnd_below(1000);
	r->plan.committed = rnd_below(2);
	free(l);
}

static void fill_task(void *x)
{
	struct plan_task_put *p = calloc(2, sizeof(*p));
	struct muuid volume = rnd_uuid();
	struct layout *l = rig_layout(&volume, true);
	struct obj_task *t = x;

	t->uuid = rnd_uuid();
	RND_TEXT(t->verb, "abc -");
	t->args = json_pack("{s:{s:[i,n]}, s:s}", "nested", "list", 1, "name", "db");
	t->state = 1 + rnd_below(6);
	RND_TEXT(t->step, ANY);
	t->progress = (struct obj_progress) { .done = rnd_below(1000), .total = 1000 };
	t->host = rnd_uuid();
	RND_TEXT(t->user, ANY);
	t->volume = rnd_uuid();
	t->drive = rnd_uuid();
	RND_TEXT(t->error, ANY);
	t->created = rnd63();
	t->changed = rnd63();
	t->afters = 3;
	t->after = rnd_uuids(3);
	t->stage = 2 + rnd_below(3);
	t->segments = 1;
	t->segment = calloc(1, sizeof(*t->segment));
	t->segment[0] = l->segment[0];
	t->plan.version = 1 + rnd_below(1000);
	t->plan.puts = 2;
	t->plan.put = p;
	for (u32 i = 0; i < 2; i++)
		p[i] = (struct plan_task_put) { .place = rnd_below(1024), .drive = rnd_uuid(),
						.extent = rnd_uuid(), .start = LABEL_AREA * (1 + rnd_below(99)),
						.length = LABEL_AREA * (1 + rnd_below(99)) };
	free(l);
}

static void fill_event(void *x)
{
	struct obj_event *e = x;

	e->host = rnd_uuid();
	e->serial = rnd63();
	e->at = rnd63();
	RND_TEXT(e->what, PLAIN);
	RND_TEXT(e->words, ANY);
	e->volume = rnd_uuid();
	e->drive = rnd_uuid();
	e->details = rnd_object();
}

static void fill_status(void *x)
{
	struct obj_status *s = x;

	s->host = rnd_uuid();
	s->about = rnd_uuid();
	s->subject = OBJ_OF_DRIVE + rnd_below(3);
	s->at = rnd63();
	RND_TEXT(s->state, PLAIN);
	RND_TEXT(s->words, ANY);
	s->details = rnd_object();
}

static void fill_token(void *x)
{
	struct obj_token *t = x;

	t->token = rnd_uuid();
	t->role = 1 + rnd_below(3);
	t->host = rnd_uuid();
}

static void fill_recover(void *x)
{
	struct obj_recover *r = x;

	r->recover = rnd_uuid();
	r->host = rnd_uuid();
	r->generation = 1 + rnd_below(4095);
	r->dry = true;
}

static void fill_report(void *x)
{
	struct obj_report *r = x;

	*r = (struct obj_report) { .host = rnd_uuid(), .about = rnd_uuid(), .subject = OBJ_OF_DRIVE,
				   .role = 1 + rnd_below(3), .recover = rnd_uuid(), .generation = 1 + rnd_below(4095),
				   .marked = true, .followed = 1 + rnd_below(4095), .size = LABEL_AREA * 99ULL,
				   .sequence = 1 + rnd_below(999), .lba = 512, .local = true, .was = 1 + rnd_below(999),
				   .mode = PLAN_RW, .serves = true, .number = 1 + rnd_below(9999), .extents = 2 };
	RND_TEXT(r->lacks, ANY);
	RND_TEXT(r->path, ANY);
	RND_TEXT(r->model, ANY);
	RND_TEXT(r->wwid, ANY);
	RND_TEXT(r->serial, ANY);
	r->extent = calloc(2, sizeof(*r->extent));
	for (u32 i = 0; i < 2; i++)
		r->extent[i] = (struct obj_found) {
			.slot = { .extent = rnd_uuid(), .volume = rnd_uuid(), .attacher = rnd_uuid(),
				  .number = 1 + rnd_below(9999), .version = 1 + rnd_below(9), .commit = 1 + rnd_below(9),
				  .record_version = 1 + rnd_below(9), .record_commit = 1 + rnd_below(9), .zeroed = true },
			.start = LABEL_AREA * (1 + i), .length = LABEL_AREA };
	r->record = rig_layout(&r->about, false);
	rig_leavings(r->record, &r->leaving, &r->leavings);
	r->io = (struct obj_io) { .timeout_ms = 1 + rnd_below(99999), .queue_depth = 1 + rnd_below(999) };
}

static void fill_seen(void *x)
{
	struct obj_seen *s = x;

	s->plan = (struct plan_seen) { .cluster = rnd_uuid(), .generation = rnd_below(4096),
				       .term = rnd63(), .revision = rnd63() };
	RND_TEXT(s->plan.id, ANY);
}

static void fill_known(void *x)
{
	struct obj_known *k = x;

	k->drive = rnd_uuid();
	RND_TEXT(k->wwid, ANY);
	RND_TEXT(k->serial, ANY);
}

static void fill_attached(void *x)
{
	struct obj_attached *a = x;
	u16 *bar = calloc(2, sizeof(*bar)), *forgotten = calloc(1, sizeof(*forgotten));

	a->plan = (struct plan_attached) { .volume = rnd_uuid(), .mode = PLAN_RW,
					   .number = rnd_number() | rnd_below(65536), .barred = 2, .bar = bar,
					   .forgottens = 1, .forgotten = forgotten };
	bar[0] = 12;
	bar[1] = 0;
	forgotten[0] = 3;
	a->record = rig_layout(&a->plan.volume, true);
	rig_leavings(a->record, &a->leaving, &a->leavings);
	a->lefts = 1;
	a->left = calloc(1, sizeof(*a->left));
	a->left[0] = a->record->member[2];
	a->left[0].extent = a->leaving[1].extent;
	a->fresh = true;
	a->io = (struct obj_io) { .timeout_ms = 1 + rnd_below(99999), .queue_depth = 1 + rnd_below(999) };
}

/* An array of a structure: what a pointer of it points to. */
struct rig_array {
	size_t at, count_at, each;
	bool wide;		/* the count is a u32, else there is one element */
};

struct rig_kind {
	int kind;
	size_t bytes;
	void (*fill)(void *x);
	struct rig_array array[6];	/* ends with each of 0 */
	size_t object;			/* a json_t *; 0: none */
};

#define ARRAY(s, m, c)	{ offsetof(struct s, m), offsetof(struct s, c), sizeof(((struct s *)0)->m[0]), true }
#define OWN(s, m)	{ offsetof(struct s, m), 0, sizeof(*((struct s *)0)->m), false }

#define KIND(k, noun, ...) \
	{ .kind = k, .bytes = sizeof(struct obj_##noun), .fill = fill_##noun, __VA_ARGS__ }
#define OBJECT(noun, m)	.object = offsetof(struct obj_##noun, m)

static const struct rig_kind rig_kinds[] = {
	KIND(KEY_CLUSTER, cluster, OBJECT(cluster, settings)),
	KIND(KEY_LEADER, leader),
	KIND(KEY_HOST, host, OBJECT(host, labels), .array = { ARRAY(obj_host, address, addresses) }),
	KIND(KEY_ALIVE, alive),
	KIND(KEY_DEVICE, device, .array = { ARRAY(obj_device, disk, disks) }),
	KIND(KEY_DRIVE, drive, .array = { ARRAY(obj_drive, plan.extent, plan.extents) }),
	KIND(KEY_VOLUME, volume,
	     .array = { ARRAY(obj_volume, plan.allow, plan.allows), OWN(obj_volume, record),
			ARRAY(obj_volume, leaving, leavings), ARRAY(obj_volume, plan.bar, plan.barred) }),
	KIND(KEY_NAME, name),
	KIND(KEY_ACCESS, access),
	KIND(KEY_READER, reader),
	KIND(KEY_WANT, want),
	KIND(KEY_WRITER, writer),
	KIND(KEY_ROSTER, roster, .array = { ARRAY(obj_roster, plan.bar, plan.barred),
					    ARRAY(obj_roster, plan.roster, plan.groups),
					    ARRAY(obj_roster, group, groups) }),
	KIND(KEY_TASK, task, OBJECT(task, args),
	     .array = { ARRAY(obj_task, after, afters), ARRAY(obj_task, plan.put, plan.puts),
			ARRAY(obj_task, segment, segments) }),
	KIND(KEY_EVENT, event, OBJECT(event, details)),
	KIND(KEY_STATUS, status, OBJECT(status, details)),
	KIND(KEY_TOKEN, token),
	KIND(KEY_RECOVER, recover),
	KIND(KEY_REPORT, report, .array = { ARRAY(obj_report, extent, extents), OWN(obj_report, record),
					    ARRAY(obj_report, leaving, leavings) }),
	KIND(OBJ_SEEN, seen), KIND(OBJ_KNOWN, known),
	KIND(OBJ_ATTACHED, attached, .array = { ARRAY(obj_attached, plan.bar, plan.barred),
						ARRAY(obj_attached, plan.forgotten, plan.forgottens),
						OWN(obj_attached, record),
						ARRAY(obj_attached, leaving, leavings),
						ARRAY(obj_attached, left, lefts) }),
};



static bool rig_file(int kind)
{
	return kind >= OBJ_SEEN;
}

static void rig_op(struct obj *o)
{
	u8 raw[16];

	for (size_t i = 0; i < sizeof(raw); i++)
		raw[i] = rnd();
	obj_op(o, raw);
}

static const struct rig_kind *rig_of(int kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(rig_kinds); i++)
		if (rig_kinds[i].kind == kind)
			return &rig_kinds[i];
	return NULL;
}

static void rig_fill(int kind, union obj_any *x)
{
	memset(x, 0, sizeof(*x));
	rig_of(kind)->fill(x);
	if (!rig_file(kind))
		rig_op(&x->o);
}

/* NULL, with @why: it is refused. */
static char *rig_text(int kind, const union obj_any *x, char why[OBJ_WHY])
{
	char *text;
	int err = obj_encode(kind, x, &text, why, OBJ_WHY);

	CU_ASSERT_EQUAL(!err, !!text);
	return text;
}

/* A view of a layout is compared by test_objects_view.c, of a task by test_objects_rules.c. */
static void rig_blind(int kind, union obj_any *x)
{
	if (kind == KEY_VOLUME)
		memset(&x->volume.plan.layout, 0, sizeof(x->volume.plan.layout));
	if (kind == KEY_REPORT)
		memset(&x->report.layout, 0, sizeof(x->report.layout));
	if (kind == OBJ_ATTACHED)
		memset(&x->attached.plan.layout, 0, sizeof(x->attached.plan.layout));
	if (kind == KEY_TASK)
		x->task.plan = (struct plan_task) { .version = x->task.plan.version,
						    .puts = x->task.plan.puts, .put = x->task.plan.put };
	x->o.kept = NULL;
	x->o.v = 0;
}

static inline bool rig_same(int kind, const union obj_any *a, const union obj_any *b)
{
	const struct rig_kind *k = rig_of(kind);
	union obj_any x = *a, y = *b;
	u8 *p = (u8 *)&x, *q = (u8 *)&y;

	for (size_t i = 0; i < ARRAY_SIZE(k->array) && k->array[i].each; i++) {
		const struct rig_array *r = &k->array[i];
		u32 n = r->wide ? *(u32 *)(p + r->count_at) : 1;

		if (r->wide && n != *(u32 *)(q + r->count_at))
			return false;
		if (n && memcmp(*(void **)(p + r->at), *(void **)(q + r->at), n * r->each))
			return false;
		*(void **)(p + r->at) = *(void **)(q + r->at) = NULL;
	}
	if (k->object) {
		if (!json_equal(*(json_t **)(p + k->object), *(json_t **)(q + k->object)))
			return false;
		*(json_t **)(p + k->object) = *(json_t **)(q + k->object) = NULL;
	}
	rig_blind(kind, &x);
	rig_blind(kind, &y);
	return !memcmp(&x, &y, k->bytes);
}

#endif
