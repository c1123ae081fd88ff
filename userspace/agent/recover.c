// SPDX-License-Identifier: GPL-2.0-only
/* Recover from its mark to its end, see recover.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "userspace/agent/recover.h"

#define RECOVER_TXN_MS	5000
#define DRY_SECONDS	30	/* of the lease of a dry run: its mark goes with its daemon */

static const struct key mark_key = { .kind = KEY_RECOVER };
static const struct key cluster_key = { .kind = KEY_CLUSTER };

static int fail(struct recover *r, int err, const char *words)
{
	snprintf(r->why, sizeof(r->why), "%s", words);
	return err;
}

/* 1: done; -EINPROGRESS: something had changed; negative. */
static int close_deal(struct recover *r, struct deal *d)
{
	int ret;

	if (r->crash && r->crash(r->arg)) {
		deal_drop(d);
		return fail(r, -EIO, "the test has ended it");
	}
	ret = deal_close(d, RECOVER_TXN_MS);
	if (ret < 0)
		snprintf(r->why, sizeof(r->why), "%s", d->why);
	return ret ? ret : -EINPROGRESS;
}

/* A value of a later version would be written over by one that lacks what it says. */
static int readable(struct recover *r)
{
	static const enum key_kind kinds[] = { KEY_CLUSTER, KEY_HOST, KEY_DRIVE, KEY_VOLUME, KEY_NAME, KEY_ACCESS,
					       KEY_WANT, KEY_WRITER, KEY_TASK, KEY_RECOVER, KEY_REPORT };

	for (size_t n = 0; n < sizeof(kinds) / sizeof(*kinds); n++) {
		const struct key k = { .kind = kinds[n] };
		const struct copy_item *i = NULL;

		while ((i = copy_next(r->copy, &k, 0, i))) {
			if (i->obj)
				continue;
			snprintf(r->why, sizeof(r->why), "a value of the store cannot be read: %.300s. Install the version "
				 "of the other hosts", i->why ? i->why : "it is damaged");
			return -EPROTONOSUPPORT;
		}
	}
	return 0;
}

/* The mark */

static int lease(struct recover *r)
{
	int err;

	if (r->lease && r->now_ms - r->kept_ms < DRY_SECONDS * 1000 / 3)
		return 0;
	err = r->lease ? store_lease_keep(copy_store(r->copy), r->lease) :
	      store_lease_grant(copy_store(r->copy), DRY_SECONDS, &r->lease);
	r->kept_ms = r->now_ms;
	return err;
}

/* A controller of before may have a transaction in flight: it compares the leader's key, which goes. */
static int put_mark(struct recover *r, const struct obj_recover *was, u32 generation)
{
	struct obj_recover m = { .generation = generation, .dry = r->dry, .host = r->host };
	struct deal d;
	int err;

	if (was && was->dry == r->dry) {
		m.o = was->o;
		m.recover = was->recover;
	} else if (getrandom(m.recover.b, sizeof(m.recover.b), 0) != sizeof(m.recover.b)) {
		return fail(r, -EIO, "the kernel has no random numbers yet");
	}
	err = r->dry ? lease(r) : 0;
	if (err)
		return fail(r, err, store_why(copy_store(r->copy)));
	deal_begin(&d, r->copy);
	deal_put(&d, KEY_RECOVER, &m, r->dry ? r->lease : 0);
	deal_erase(&d, &(struct key) { .kind = KEY_LEADER });
	err = close_deal(r, &d);
	if (err == 1)
		r->run = m.recover;
	return err == 1 ? -EINPROGRESS : err;
}

/* A label or a host that is wrong: a mark of that generation would make it the one of all labels. */
static int too_far(struct recover *r, const struct obj_report *o)
{
	const struct obj_host *h = copy_obj(r->copy, &(struct key) { .kind = KEY_HOST, .host = o->host });

	snprintf(r->why, sizeof(r->why), "%s%s%s says generation %u, more than %llu above the store's: targets would take no "
		 "number of it. See to it, or leave the host out by --without", h ? h->name : muuid_str(&o->host).s,
		 o->path[0] ? ": the label of " : "", o->path, o->was > o->followed ? o->was : o->followed,
		 MESH_NUMBER_GENERATION_STEP - 1);
	return -ERANGE;
}

/* 0: the mark is as it is to be. */
static int mark(struct recover *r, const struct obj_recover **out)
{
	const struct obj_recover *m = copy_obj(r->copy, &mark_key);
	const struct obj_report *far = m ? recover_far(r, m) : NULL;
	u32 generation = recover_generation(r, m);

	*out = m;
	if (far)
		return too_far(r, far);
	if (!generation)
		return fail(r, -EOVERFLOW, "the generation has no next one: this cluster cannot be recovered any more");
	if (!m && !muuid_null(&r->run))
		return fail(r, -ECANCELED, "another command has ended it");
	if (m && !m->dry && r->dry)
		return 0;
	if (!m || m->dry != r->dry || m->generation < generation)
		return put_mark(r, m, generation);
	r->run = m->recover;
	return r->dry && r->lease ? lease(r) : 0;
}

static int end_dry(struct recover *r, const struct obj_recover *m)
{
	struct deal d;

	if (!m->dry)
		return 1;
	deal_begin(&d, r->copy);
	deal_erase(&d, &mark_key);
	return close_deal(r, &d);
}

/* All is written: from here on hosts follow the generation. */
static int end(struct recover *r, const struct recover_plan *p)
{
	struct obj_cluster c = { .plan = { .uuid = r->cluster, .format = OBJ_FORMAT(OBJ_MAJOR, OBJ_MINOR) } };
	struct deal d;

	if (p->cluster)
		c = *p->cluster;
	c.plan.generation = p->mark->generation;
	deal_begin(&d, r->copy);
	deal_put(&d, KEY_CLUSTER, &c, 0);
	deal_erase(&d, &mark_key);
	return close_deal(r, &d);
}

static int planned(struct recover *r, const struct recover_plan *p)
{
	int ret;

	if (r->show && !r->shown)
		r->show(r, p);
	r->shown = true;
	if (r->dry)
		return end_dry(r, p->mark);
	if (p->doubts)
		return fail(r, -EBUSY, "too little was found of some volumes: start the hosts and drives that they lack, "
			    "or give up what was not found by --partly VOLUME. Until this has ended nothing is decided");
	ret = recover_write(r, p);
	if (ret)
		return ret == 1 ? -EINPROGRESS : ret;
	return end(r, p);
}

int recover_turn(struct recover *r)
{
	const struct obj_recover *m;
	struct recover_plan p;
	int ret;

	r->why[0] = 0;
	ret = readable(r);
	if (!ret)
		ret = mark(r, &m);
	if (!ret && r->items && !copy_get(r->copy, &cluster_key))
		ret = recover_import(r);
	if (ret)
		return ret;
	if (!recover_gathered(r, m))
		return -EINPROGRESS;
	ret = recover_plan(r, &p);
	if (!ret)
		ret = planned(r, &p);
	recover_plan_free(&p);
	return ret;
}

int recover_close(struct recover *r, struct deal *d)
{
	if (d->err || d->ops) {
		deal_same(d, &mark_key);
		return close_deal(r, d);
	}
	deal_drop(d);
	return 0;
}
