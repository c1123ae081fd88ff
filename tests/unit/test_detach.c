// SPDX-License-Identifier: GPL-2.0-only
/*
 * volume detach: nothing but --force takes a device that is open. Kernel, hosts and
 * store are stand-ins.
 */
#include <errno.h>
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/attach.c"
#include "req_rig.h"
#include "abandoned_rig.h"
#include "suite.h"

struct meshd D = { .host = { { 1 } } };

static bool has(const char *said, const char *words)
{
	return strstr(said, words);
}

/* What the command meets, and what it did. */
static struct {
	bool	force, stale, preempt;
	bool	undone_by_force;
	bool	pending;	/* and cannot be settled */
	bool	attached;	/* by the store */
	u32	openers;
	bool	there;		/* in the kernel */
	int	dels;
	bool	full;		/* the store cannot be written */
	bool	noted;
	u32	away;		/* members that a note says are ... */
	u32	moved;		/* ... or are on another host */
	u32	abandoned;	/* drives that a note says have not ended I/O */
	bool	device;
	enum health health;
	u32	target_id;	/* of its one member in the kernel; the host that has its drive is 0 */
	bool	known;		/* to the store */
	bool	mute;		/* the kernel does not answer */
	bool	settles;	/* the change, which adds a member */
	u32	members;
	u32	released;	/* of them */
	int	gathered;	/* to release it */
	bool	seen;		/* the first is held here, the second elsewhere, the third not */
	size_t	puts;		/* requests to the drives' hosts */
	int	brought;
	enum store_vstate state;	/* 0: LIVE */
	bool	extending;	/* another command, on the volume */
	int	cancels;
} is;

struct mesh *mesh_open(void)
{
	return (struct mesh *)&is;
}

void mesh_close(struct mesh *m)
{
	(void)m;
}

const char *mesh_why(const struct mesh *m)
{
	(void)m;
	return "";
}

int meshblk_volume_del(struct mesh *m, const struct muuid *uuid, bool force)
{
	(void)m;
	(void)uuid;
	is.dels++;
	if (!is.there)
		return -ENOENT;
	if (is.openers && !force)
		return -EBUSY;
	is.there = false;
	return 0;
}

int kernel_del(const struct muuid *uuid, bool force)
{
	return meshblk_volume_del(NULL, uuid, force);
}

int kernel_volume(const struct muuid *uuid, struct meshblk_volume *out)
{
	static struct meshblk_member member;

	(void)uuid;
	if (is.mute)
		return -EIO;
	if (!is.there)
		return -ENOENT;
	member.target_id = is.target_id;
	*out = (struct meshblk_volume) { .state = "active", .openers = is.openers, .members = &member,
					 .nr_members = 1 };
	return 0;
}

void meshblk_volume_free(struct meshblk_volume *v)
{
	(void)v;
}

void kernel_device(const struct muuid *uuid, char *out, size_t size)
{
	(void)uuid;
	snprintf(out, size, "%s", is.device ? "/dev/mesh0" : "");
}

enum health volume_health(const struct meshblk_volume *k)
{
	(void)k;
	return is.health;
}

void kernel_keep(struct store_volume *v)
{
	(void)v;
}

int pending_settle(struct store_volume *v, char *why)
{
	if (is.settles) {
		v->pending = is.pending = false;
		is.members++;
		return 0;
	}
	snprintf(why, REASON, "host a cannot be reached");
	return -EHOSTUNREACH;
}

bool pending_undoable(struct store_volume *v)
{
	(void)v;
	return false;
}

int replace_undo(struct store_volume *v, struct layout *l, bool stale, char *why)
{
	(void)v;
	(void)l;
	(void)stale;
	(void)why;
	return -ENOENT;
}

int pending_undo(struct store_volume *v, bool preempt, char *why)
{
	is.undone_by_force = preempt;
	return pending_settle(v, why);
}

int store_volume_get(const struct muuid *uuid, struct store_volume *v, struct layout *l)
{
	if (l)
		l->members = is.members;
	*v = (struct store_volume) { .uuid = *uuid, .attached = is.attached,
				     .pending = is.pending };
	return 0;
}

int store_volume_find(const char *what, struct store_volume *v, struct layout *l)
{
	(void)what;
	(void)l;
	*v = (struct store_volume) { .state = is.state ? is.state : STORE_LIVE };
	return is.known ? 0 : -ENOENT;
}

int store_volume_flags(const struct store_volume *v)
{
	if (is.full)
		return -EIO;
	is.attached = v->attached;
	return 0;
}

const char *store_words(int err)
{
	(void)err;
	return "";
}

int volume_take(struct req *r, const char *what, struct store_volume *v, struct layout *l)
{
	(void)what;
	if (is.extending)
		return req_fail(r, "is being worked on by another command");
	*v = (struct store_volume) { .name = "v", .state = STORE_LIVE, .attached = is.attached,
				     .pending = is.pending };
	memset(l, 0, sizeof(*l));
	l->members = is.members;
	return 0;
}

bool busy_cancel(const struct muuid *volume, unsigned int ms)
{
	(void)volume;
	CU_ASSERT(ms >= 10000);
	is.cancels++;
	is.extending = false;
	return true;
}

void busy_drop(const struct muuid *volume)
{
	(void)volume;
}

int volume_dying(struct req *r, const struct store_volume *v)
{
	(void)r;
	(void)v;
	return 0;
}

int volume_result(struct req *r, const struct muuid *uuid)
{
	(void)r;
	(void)uuid;
	return 0;
}

int volume_bring(struct store_volume *v, struct layout *l, struct bring *o, char *why)
{
	(void)v;
	(void)l;
	(void)o;
	(void)why;
	is.brought++;
	return -EHOSTUNREACH;
}

int import_volume(struct req *r, const char *what, struct store_volume *v)
{
	(void)r;
	(void)what;
	(void)v;
	return -ENOENT;
}

int gather(struct gather *g, const struct muuid *volume, bool greet)
{
	static struct store_host host;

	(void)volume;
	(void)greet;
	is.gathered++;
	memset(g, 0, sizeof(*g));
	g->hosts = &host;
	return 0;
}

void gather_free(struct gather *g)
{
	(void)g;
}

const struct found *gather_find(const struct gather *g, const struct muuid *extent)
{
	static struct found f;

	(void)g;
	(void)extent;
	f.e.holder = (struct muuid) { { is.released == 2 ? 0 : 1 + is.released } };
	is.released++;
	return is.seen ? &f : NULL;
}

struct put put_to(const struct gather *g, const struct found *f, enum mgmt_op op,
		  const struct layout *record)
{
	(void)record;
	return (struct put) { .h = g->hosts, .q = { .op = op, .believed = { .holder = f->e.holder } } };
}

void puts_run(struct put *p, size_t n)
{
	size_t i;

	is.puts += n;
	for (i = 0; i < n; i++)
		CU_ASSERT(p[i].q.op == MGMT_RELEASE && muuid_equal(&p[i].q.believed.holder, &D.host));
}

int puts_result(const struct put *p, size_t n, char *why)
{
	(void)p;
	(void)n;
	(void)why;
	return 0;
}

u64 now_ms(void)
{
	return 0;
}

void sleep_ms(unsigned int ms)
{
	(void)ms;
}

void log_warn(const char *fmt, ...)
{
	(void)fmt;
}

void log_info(const char *fmt, ...)
{
	(void)fmt;
}

void req_note(struct req *r, const char *fmt, ...)
{
	(void)r;
	is.noted = is.noted || has(fmt, "cannot be written");
	is.away += has(fmt, "member %u is away");
	is.moved += has(fmt, "is on host %s now");
	is.abandoned += has(fmt, "its extent stays with this host");
}

const char *arg_str(const struct req *r, const char *key)
{
	(void)r;
	(void)key;
	return "v";
}

bool arg_bool(const struct req *r, const char *key)
{
	(void)r;
	return !strcmp(key, "force") ? is.force : !strcmp(key, "preempt") ? is.preempt :
	       !strcmp(key, "stale") && is.stale;
}

/* What the command says, "" when it succeeds. */
static const char *detaches(bool pending, u32 openers, bool force, bool stale)
{
	static struct req r;

	memset(&r, 0, sizeof(r));
	memset(&is, 0, sizeof(is));
	is.pending = pending;
	is.openers = openers;
	is.force = force;
	is.stale = stale;
	is.there = is.attached = true;
	CU_ASSERT(!cmd_volume_detach(&r) == !r.error[0]);
	CU_ASSERT(is.there == is.attached);
	CU_ASSERT(is.there == !!r.error[0]);
	return r.error;
}

static void test_open(void)
{
	CU_ASSERT(!detaches(false, 0, false, false)[0]);
	CU_ASSERT(has(detaches(false, 1, false, false), "unmount it first"));
	CU_ASSERT(!detaches(false, 1, true, false)[0]);
}

/* What overrides an unfinished change is not what takes an open device. */
static void test_pending(void)
{
	const char *said = detaches(true, 1, false, false);

	CU_ASSERT(has(said, "unmount it first"));
	CU_ASSERT(!is.dels);
	said = detaches(true, 0, false, false);
	CU_ASSERT(has(said, "not finished"));
	CU_ASSERT(has(said, "--stale"));
	CU_ASSERT(!has(said, "--force"));
	CU_ASSERT(!detaches(true, 0, false, true)[0]);
	CU_ASSERT(has(detaches(true, 1, false, true), "unmount it first"));
	CU_ASSERT(!detaches(true, 1, true, false)[0]);
}

/* Its extend zeroes a large drive, or one that hangs. */
static void test_extending(void)
{
	static struct req r;

	for (int forced = 0; forced < 2; forced++) {
		memset(&r, 0, sizeof(r));
		memset(&is, 0, sizeof(is));
		is.there = is.attached = is.known = is.extending = true;
		is.openers = 1;
		is.force = forced;
		CU_ASSERT(cmd_volume_detach(&r) == (forced ? 0 : -1));
		CU_ASSERT(is.cancels == forced && is.there == !forced);
	}
	/* It is being made, which detaching is not to end. */
	memset(&r, 0, sizeof(r));
	memset(&is, 0, sizeof(is));
	is.known = is.extending = is.force = true;
	is.state = STORE_CREATING;
	CU_ASSERT(cmd_volume_detach(&r) && !is.cancels);
}

static void fails_to_attach(bool pending, bool stale)
{
	static struct req r;

	memset(&r, 0, sizeof(r));
	memset(&is, 0, sizeof(is));
	is.pending = pending;
	is.stale = stale;
	is.known = true;
	is.preempt = stale;
	CU_ASSERT(cmd_volume_attach(&r) && has(r.error, "cannot be attached"));
	CU_ASSERT(is.undone_by_force == stale);
	/* What was in the kernel before is not this command's to take away. */
	CU_ASSERT(!is.dels);
}

/* Whether another host took it is seen by its holder, so that is not taken off. */
static void test_released(void)
{
	CU_ASSERT(!detaches(false, 0, false, false)[0] && is.gathered == 1);
	CU_ASSERT(!detaches(true, 0, false, true)[0] && !is.gathered);
	fails_to_attach(false, false);
	CU_ASSERT(is.gathered == 1 && is.brought);
	fails_to_attach(true, false);
	CU_ASSERT(!is.gathered && is.brought);
	/* What cannot be undone just now stays as it is in the store. */
	fails_to_attach(true, true);
	CU_ASSERT(!is.gathered && !is.brought);
}

/* Attached already: a drive that is elsewhere now is not taken while it is. */
static void test_moved(void)
{
	static struct req r;

	for (u32 i = 0; i < 8; i++) {
		memset(&r, 0, sizeof(r));
		memset(&is, 0, sizeof(is));
		is.there = is.attached = is.device = is.known = true;
		is.health = i & 1 ? HEALTH_DEGRADED : HEALTH_WHOLE;
		is.target_id = i >> 1 & 1;
		is.seen = i & 4;
		CU_ASSERT(!cmd_volume_attach(&r) && !is.brought);
		CU_ASSERT(is.moved == (i == 7));
	}
}

/* What was away when it was detached is released by another detach, once it is back. */
static void test_again(void)
{
	static struct req r;

	memset(&r, 0, sizeof(r));
	memset(&is, 0, sizeof(is));
	is.there = is.attached = true;
	is.members = 3;
	CU_ASSERT(!cmd_volume_detach(&r) && is.away == 3 && !is.puts);
	is.seen = true;
	is.released = is.away = 0;
	CU_ASSERT(!cmd_volume_detach(&r) && !is.away && is.puts == 1);
	/* Not while a device is, or may be, in the kernel. */
	is.mute = true;
	CU_ASSERT(!cmd_volume_detach(&r) && is.puts == 1);
	is.mute = false;
	is.pending = true;
	is.stale = true;
	CU_ASSERT(!cmd_volume_detach(&r) && is.puts == 1);
}

/*
 * A member whose device has not ended I/O stays this host's, which the command says; it is released when
 * that is over.
 */
static void test_at_risk(void)
{
	struct store_volume v = { .state = STORE_LIVE };
	const struct muuid zero = { { 0 } };
	struct layout *l = calloc(1, sizeof(*l));
	char why[REASON] = "";
	static struct req r;
	struct abandoned a;

	memset(&r, 0, sizeof(r));
	memset(&is, 0, sizeof(is));
	l->members = is.members = 3;
	is.there = is.attached = is.seen = true;
	rig_abandon(zero, zero, zero, 4);
	CU_ASSERT(!cmd_volume_detach(&r) && !is.there && is.abandoned == 1 && !is.puts && !is.away);
	rig_ios = 0;
	abandoned_get(&a);
	CU_ASSERT(abandoned_over(&a, &zero));
	abandoned_free(&a);
	is.released = 0;
	CU_ASSERT(!volume_release(&v, l, why) && is.puts == 1);
	/* Of another volume, on no member of this one. */
	rig_abandon((struct muuid) { { 7 } }, zero, (struct muuid) { { 7 } }, 4);
	is.there = is.attached = true;
	is.released = is.abandoned = 0;
	CU_ASSERT(!cmd_volume_detach(&r) && !is.abandoned && is.puts == 2);
	rig_ios = 0;
	umap_free(&owed);
	free(l);
}

/* An extend that detach completes: the new member is held as well. */
static void test_settled(void)
{
	static struct req r;

	memset(&is, 0, sizeof(is));
	is.there = is.attached = is.pending = is.settles = true;
	is.members = 2;
	CU_ASSERT(!cmd_volume_detach(&r) && !is.there && !is.attached);
	CU_ASSERT(is.released == 3);
}

/* It says of no other host that it is through with the volume. */
static void test_own_alone(void)
{
	struct store_volume v = { .state = STORE_LIVE };
	struct layout *l = calloc(1, sizeof(*l));
	char why[REASON] = "";

	memset(&is, 0, sizeof(is));
	is.seen = true;
	l->members = 3;
	CU_ASSERT(!volume_release(&v, l, why) && is.released == 3 && is.puts == 1);
	free(l);
}

/* No host may take what this kernel could still write to. */
static void test_mute(void)
{
	struct store_volume v = { .state = STORE_LIVE };
	struct layout *l = calloc(1, sizeof(*l));
	char why[REASON] = "";

	memset(&is, 0, sizeof(is));
	CU_ASSERT(!volume_release(&v, l, why) && is.gathered == 1);
	is.there = true;
	CU_ASSERT(volume_release(&v, l, why) == -EBUSY && has(why, "attached here"));
	is.mute = true;
	CU_ASSERT(volume_release(&v, l, why) == -EIO && has(why, "does not say"));
	CU_ASSERT(is.gathered == 1);
	free(l);
}

/* It is detached, and stays so while meshd runs. */
static void test_full(void)
{
	struct store_volume v = { .attached = true };
	static struct req r;

	memset(&is, 0, sizeof(is));
	is.full = is.there = is.attached = true;
	is.openers = 1;
	CU_ASSERT(cmd_volume_detach(&r) && is.there && !is.noted);
	CU_ASSERT(!volume_off(&v));
	memset(&r, 0, sizeof(r));
	is.openers = 0;
	CU_ASSERT(!cmd_volume_detach(&r) && !is.there && is.noted && is.attached);
	/* The reconciler does not bring it back, and notes it when that goes. */
	CU_ASSERT(volume_off(&v) && is.attached);
	is.full = false;
	CU_ASSERT(volume_off(&v) && !is.attached);
	v.attached = true;
	CU_ASSERT(!volume_off(&v) && v.attached);
	umap_free(&off);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a device that is open", test_open },
		{ "a change that is not finished", test_pending },
		{ "an extend that goes on", test_extending },
		{ "who holds it while a change is not finished", test_released },
		{ "a change that is finished first", test_settled },
		{ "a drive on another host", test_moved },
		{ "members that were away", test_again },
		{ "a device that has not ended I/O", test_at_risk },
		{ "members that another host holds", test_own_alone },
		{ "a kernel that does not answer", test_mute },
		{ "a store that cannot be written", test_full },
		{ NULL, NULL },
	};

	return suite_main("detach", tests);
}
