/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The client role's volumes over a small world: the store is real, in memory; targets
 * that compare labels as alloc.c and record_put.c do, and a kernel that takes each
 * layout whose members are all there, are stand-ins. For programs that include meshd's
 * files.
 */
#ifndef TESTS_UNIT_VOLUME_RIG_H
#define TESTS_UNIT_VOLUME_RIG_H

#include <errno.h>
#include <linux/kernel.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/meshd/volume.h"
#include "userspace/libmesh/grow.c"

#define HOSTS	2
#ifndef EXTENTS
#define EXTENTS	3
#endif

struct meshd D = { .state = ".", .host = { { 9 } } };

static const struct muuid vol = { { 1 } };

/* The drives' labels and records: extent i is on drive i. */
static struct {
	struct muuid owner;
	u32	host;		/* where the drive is; HOSTS: nowhere */
	struct mgmt_extent e;	/* its version 0 and length 0: there is none */
	struct layout *record;
	bool	copied;		/* the other hosts show the drive as well */
	bool	unreadable;	/* the record */
	bool	unread;		/* ... not for good: its drive does not answer */
	bool	full;		/* its label cannot be written */
} at[EXTENTS];

static bool down[HOSTS];
static struct {
	bool	there;
	u64	version;
	u32	members;
	char	name[LAYOUT_NAME];
	bool	preempted;
	u32	openers;
	u64	opens_at[EXTENTS];	/* the version at which each member is opened again */
	u32	groups;			/* of the layout; they attach when members enough are there */
	enum health health;		/* of these */
	bool	fresh, stale;		/* as it was given at last */
	u32	without;		/* bits: members that groups go on without */
	u32	joining;		/* bits: members that are back, and get what they lack */
	bool	busy;			/* it takes no new layout */
	bool	refused;		/* they did not, at last */
	bool	refuses;		/* its groups do not attach without extent 1 */
	bool	evicts;			/* the place of a member has yet to go to its copy */
	u64	waits;			/* bits: members whose places former ones have yet */
} kernel;
static u32 grace_ms;			/* of host 0 */
static void (*on_put)(void);		/* before a record is written; NULL: nothing */

static void rig_layout(struct layout *l, u32 members, u64 version, const char *name)
{
	u32 i;

	memset(l, 0, sizeof(*l));
	l->volume = vol;
	l->version = version;
	l->commit = version;
	l->lba = 512;
	snprintf(l->name, sizeof(l->name), "%s", name);
	for (i = 0; i < members; i++) {
		l->member[i] = (struct layout_member) {
			.extent = { { 2, i } }, .drive = { { 3, i } }, .target = { { 11 } },
			.size = 4 << 20, .port = 4421, .addr = "10.0.0.1",
		};
		l->segment[i] = (struct layout_segment) {
			.start = l->size, .length = 1 << 20, .level = PROT_LINEAR, .data = 1,
			.groups = 1, .refs = 1, .first_ref = i,
		};
		l->ref[i] = (struct layout_ref) { i, LAYOUT_DATA };
		l->size += 1 << 20;
	}
	l->members = l->segments = l->refs = members;
}

/* The label and the record of extent @i say @l, held by @holder. */
static void rig_record(u32 i, const struct layout *l, struct muuid holder)
{
	at[i].e.version = l->version;
	at[i].e.commit = l->commit;
	at[i].e.holder = holder;
	free(at[i].record);
	at[i].record = malloc(sizeof(*l));
	memcpy(at[i].record, l, sizeof(*l));
}

static inline void rig_store(const struct layout *l)
{
	struct store_volume v = { .uuid = vol, .version = l->version, .state = STORE_LIVE,
				  .recorded = l->version };

	memcpy(v.name, l->name, sizeof(v.name));
	CU_ASSERT_FATAL(!store_volume_commit(&v, l));
}

/* Two hosts; host 0 has all drives. @members of them have extents, at version 1. */
static void rig_new(u32 members)
{
	static bool open;
	struct layout *l = malloc(sizeof(*l));
	struct store_host h = { .port = 4421 };
	u32 i;

	if (!open) {
		CU_ASSERT_FATAL(!store_open(":memory:"));
		open = true;
		for (i = 0; i < HOSTS; i++) {
			h.id = 0;
			snprintf(h.name, sizeof(h.name), "h%u", i);
			snprintf(h.addr, sizeof(h.addr), "10.0.0.%u", i + 1);
			h.uuid = (struct muuid) { { 11 + i } };
			CU_ASSERT_FATAL(!store_host_put(&h));
		}
	}
	store_volume_erase(&vol);
	memset(&kernel, 0, sizeof(kernel));
	memset(down, 0, sizeof(down));
	rig_layout(l, members, 1, "data");
	for (i = 0; i < EXTENTS; i++) {
		free(at[i].record);
		memset(&at[i], 0, sizeof(at[i]));
		at[i].owner = (struct muuid) { { 11 } };
		at[i].e = (struct mgmt_extent) { .uuid = { { 2, i } }, .drive = { { 3, i } },
						 .volume = vol, .length = 4 << 20, .ready = true };
		if (i < members)
			rig_record(i, l, (struct muuid) { { 0 } });
	}
	rig_store(l);
	free(l);
}

static void rig_end(void)
{
	u32 i;

	for (i = 0; i < EXTENTS; i++)
		free(at[i].record);
}

static inline bool rig_state_is(int state)
{
	struct store_volume v;

	return !store_volume_get(&vol, &v, NULL) && (int)v.state == state;
}

/* How many are allocated, of whatever volume. */
static inline u32 rig_extents(void)
{
	u32 i, n = 0;

	for (i = 0; i < EXTENTS; i++)
		n += !!at[i].e.length;
	return n;
}

static inline size_t rig_intents(void)
{
	struct store_intent *in;
	size_t n;

	CU_ASSERT_FATAL(!store_intents(&in, &n));
	free(in);
	return n;
}

static inline void rig_load(struct store_volume *v, struct layout *l)
{
	CU_ASSERT_FATAL(!store_volume_get(&vol, v, l));
}

static void answer_records(u32 host, json_t *data)
{
	json_t *list = json_array(), *owners = json_object(), *records = json_array();
	char text[MUUID_TEXT];
	u32 i;

	for (i = 0; i < EXTENTS; i++) {
		if (at[i].host != host && !at[i].copied)
			continue;
		muuid_text(&at[i].e.drive, text);
		jset_uuid(owners, text, &at[i].owner);
		if (!at[i].e.length)
			continue;
		at[i].e.recorded = at[i].record && !at[i].unreadable && !at[i].unread;
		at[i].e.unread = at[i].unread;
		json_array_append_new(list, mgmt_extent_pack(&at[i].e));
		if (at[i].e.recorded)
			json_array_append_new(records, mgmt_record_pack(at[i].record));
	}
	json_object_set_new(data, "owners", owners);
	json_object_set_new(data, "extents", list);
	json_object_set_new(data, "records", records);
}

static void answer_extents(u32 host, json_t *data)
{
	json_t *drives = json_array(), *extents = json_array();
	struct mgmt_drive d = { .state = "up" };
	u32 i;

	for (i = 0; i < EXTENTS; i++) {
		if (at[i].host != host && !at[i].copied)
			continue;
		d.uuid = at[i].e.drive;
		json_array_append_new(drives, mgmt_drive_pack(&d));
		if (at[i].e.length)
			json_array_append_new(extents, mgmt_extent_pack(&at[i].e));
	}
	json_object_set_new(data, "drives", drives);
	json_object_set_new(data, "extents", extents);
}

/* As one volume, by the record of the highest version. */
static void answer_volumes(u32 host, json_t *data)
{
	struct mgmt_volume v = { .uuid = vol, .shape = { PROT_LINEAR, 1, 0, 1 } };
	json_t *list = json_array();
	u32 i;

	for (i = 0; i < EXTENTS; i++) {
		const struct layout *l = at[i].record;

		if ((at[i].host != host && !at[i].copied) || !at[i].e.length || !l)
			continue;
		v.here++;
		if (l->version < v.version)
			continue;
		v.version = l->version;
		v.commit = l->commit;
		v.size = l->size;
		v.members = l->members;
		memcpy(v.name, l->name, sizeof(v.name));
	}
	if (v.here)
		json_array_append_new(list, mgmt_volume_pack(&v));
	json_object_set_new(data, "volumes", list);
	jset_u64(data, "late", 0);
}

/* The requester's beliefs alone: whether it may free it is the drive's own host to judge. */
static int answer_free(u32 host, const struct mgmt_req *q, char *why)
{
	u32 i;

	snprintf(why, REASON, "the drive is not exported here");
	for (i = 0; i < EXTENTS; i++) {
		struct mgmt_extent *e = &at[i].e;

		if (at[i].host != host || !muuid_equal(&e->drive, &q->drive))
			continue;
		snprintf(why, REASON, "the drive's label differs");
		if (e->length && (!muuid_equal(&e->holder, &q->believed.holder) ||
				  e->version != q->believed.version ||
				  e->commit != q->believed.commit))
			return -ESTALE;
		e->length = 0;
		return 0;
	}
	return -ENODEV;
}

static int answer_put(u32 host, const struct mgmt_req *q, char *why)
{
	u32 i;

	if (on_put)
		on_put();
	snprintf(why, REASON, "no such extent");
	for (i = 0; i < EXTENTS; i++) {
		struct mgmt_extent *e = &at[i].e;

		if (at[i].host != host || !e->length || !muuid_equal(&e->uuid, &q->extent))
			continue;
		snprintf(why, REASON, "the drive's label differs");
		if (!muuid_null(&e->holder) && !muuid_equal(&e->holder, &D.host))
			return -EBUSY;
		if (!muuid_equal(&e->holder, &q->believed.holder) ||
		    e->version != q->believed.version || e->commit != q->believed.commit ||
		    q->record->version <= e->version)
			return -ESTALE;
		if (at[i].full)
			return -EIO;
		rig_record(i, q->record, D.host);
		return 0;
	}
	return -ENOENT;
}

int peer_call(const struct store_host *h, const struct mgmt_req *q, json_t **data, char *why)
{
	u32 host = h->uuid.b[0] - 11;

	*data = NULL;
	snprintf(why, REASON, "host %s cannot be reached", h->name);
	if (host < HOSTS && down[host])
		return -EHOSTUNREACH;
	*data = json_object();
	if (q->op == MGMT_HELLO) {
		struct mgmt_hello hello = { .host = h->uuid, .hostname = "h", .version = "1",
					    .machine = "m", .grace_ms = host ? 0 : grace_ms };

		json_decref(*data);
		*data = mgmt_hello_pack(&hello);
	}
	if (q->op == MGMT_RECORDS)
		answer_records(host, *data);
	if (q->op == MGMT_EXTENTS || q->op == MGMT_DRIVES)
		answer_extents(host, *data);
	if (q->op == MGMT_VOLUMES)
		answer_volumes(host, *data);
	if (q->op == MGMT_RECORD_PUT)
		return answer_put(host, q, why);
	if (q->op == MGMT_FREE)
		return answer_free(host, q, why);
	return 0;
}

void peers_each(size_t n, void (*fn)(void *arg, size_t i), void *arg)
{
	size_t i;

	for (i = 0; i < n; i++)
		fn(arg, i);
}

int peer_of_member(const struct layout_member *mb, struct store_host *out)
{
	return store_host_by_uuid(&mb->target, out);
}

void uuid_random(struct muuid *u)
{
	static u8 n = 100;

	*u = (struct muuid) { { ++n, 1, 1, 1, 1, 1, 1, 1 } };
}

int kernel_volume(const struct muuid *uuid, struct meshblk_volume *out)
{
	static struct meshblk_group group;

	(void)uuid;
	if (!kernel.there)
		return -ENOENT;
	group.successor = (struct muuid) { { kernel.evicts } };
	group.waits = kernel.waits;
	for (group.nr = 0; group.nr < EXTENTS; group.nr++)
		group.members[group.nr] = group.nr;
	*out = (struct meshblk_volume) { .state = "opening", .groups = &group, .version = kernel.version,
					 .openers = kernel.openers, .nr_groups = kernel.groups };
	if (!kernel.refused)
		strcpy(out->state, "active");
	return 0;
}

enum health volume_health(const struct meshblk_volume *k)
{
	return k->nr_groups ? kernel.health : HEALTH_NONE;
}

u8 groups_role(const struct meshblk_volume *k, u32 member)
{
	(void)k;
	if (kernel.joining & 1 << member)
		return MESHBLK_ROLE_JOINING;
	return kernel.without & 1 << member ? MESHBLK_ROLE_OUT : MESHBLK_ROLE_IN_SYNC;
}

bool groups_evict(const struct meshblk_volume *k)
{
	return !muuid_null(&k->groups[0].successor);
}

bool volume_goes_without(const struct store_volume *v, const struct layout *l, u32 member)
{
	(void)v;
	return kernel.there && !kernel.refused && kernel.version == l->version &&
	       kernel.without & 1 << member;
}

bool kernel_refuses(const struct muuid *uuid)
{
	(void)uuid;
	return kernel.there && kernel.refused;
}

bool kernel_active(const struct muuid *uuid, u64 *version)
{
	(void)uuid;
	*version = kernel.version;
	return kernel.there && !kernel.refused;
}

int kernel_del(const struct muuid *uuid, bool force)
{
	(void)uuid;
	(void)force;
	kernel.there = false;
	return 0;
}

/*
 * It opens each member at the version of its label, and notes the writer there. One that has
 * the layout already needs no member for it. A member that it has does not learn to preempt.
 */
int kernel_set(struct store_volume *v, const struct layout *l, const struct kernel_set *o, char *why)
{
	bool has = kernel.there && kernel.version == l->version;
	bool preempts = o->preempt && !kernel.there;
	const struct found *f;
	u64 version;
	u32 i, x;

	snprintf(why, REASON, "its members do not come up");
	if (kernel.busy && kernel.there && l->version != kernel.version && l->member[1].extent.b[1] == 2) {
		kernel.without = 0;	/* it is in sync after all */
		return -EBUSY;
	}
	for (i = 0; i < l->members; i++) {
		x = l->member[i].extent.b[1];
		f = gather_find(o->g, &l->member[i].extent);
		if ((!f || at[x].host == HOSTS) && !has && !layout_protected(l))
			return -ETIMEDOUT;
		if (f && !v->readonly && !preempts && !muuid_null(&f->e.holder) &&
		    !muuid_equal(&f->e.holder, &D.host))
			return -EBUSY;
		version = f && (f->e.version > l->version || !o->written) ? f->e.version : l->version;
		if (!has || version > kernel.opens_at[x])
			kernel.opens_at[x] = version;
		if (f && !v->readonly)
			at[x].e.holder = D.host;
	}
	kernel.refused = kernel.refuses && !layout_names(l, &(struct muuid) { { 2, 1 } });
	for (i = 0; i < l->members && layout_protected(l) && !kernel.refused; i++)
		if (gather_find(o->g, &l->member[i].extent))
			at[l->member[i].extent.b[1]].e.attach = 1;
	kernel.there = true;
	kernel.groups = layout_protected(l);
	kernel.fresh = layout_fresh(l);
	kernel.stale = o->stale;
	kernel.preempted = o->preempt;
	kernel.version = l->version;
	kernel.members = l->members;
	snprintf(kernel.name, sizeof(kernel.name), "%s", v->name);
	return 0;
}

int kernel_wait(const struct muuid *uuid, unsigned int ms, char *why)
{
	(void)uuid;
	(void)ms;
	(void)why;
	return kernel.refused ? -ETIMEDOUT : 0;
}

void meshblk_volume_free(struct meshblk_volume *v)
{
	(void)v;
}

#ifndef RIG_EXTENTS		/* of a program that includes extents.c */
int intents_undo(const struct muuid *volume, char *why)
{
	(void)volume;
	(void)why;
	return 0;
}
#endif

int volume_release(const struct store_volume *v, const struct layout *l, char *why)
{
	(void)v;
	(void)l;
	(void)why;
	return 0;
}

static u64 slept;

u64 now_ms(void)
{
	return slept;
}

void sleep_ms(unsigned int ms)
{
	slept += ms;
}

bool stopping(void)
{
	return false;
}

bool req_cancelled(const struct req *r)
{
	(void)r;
	return false;
}

void req_progress(struct req *r, const char *what, u64 done, u64 total)
{
	(void)r;
	(void)what;
	(void)done;
	(void)total;
}

#define SAYS_NOTHING(fn)		\
	void fn(const char *fmt, ...)	\
	{				\
		(void)fmt;		\
	}
SAYS_NOTHING(log_error)
SAYS_NOTHING(log_warn)
SAYS_NOTHING(log_info)
SAYS_NOTHING(log_debug)

void noted_forget(const struct muuid *volume)
{
	(void)volume;
}

void req_note(struct req *r, const char *fmt, ...)
{
	(void)r;
	(void)fmt;
}

static bool has(const char *said, const char *words)
{
	return strstr(said, words);
}

#endif
