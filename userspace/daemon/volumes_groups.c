// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/volumes_in.h"
#include "userspace/format/layout_text.h"

/* Of a group that is being attached nothing is known but which members are here. */
static u8 group_health(const struct meshblk_group *g)
{
	u8 h = PLAN_WHOLE;

	/* One that is active has a reason as well while its reads wait. */
	if (strcmp(g->state, MESHBLK_STATE_ACTIVE) || g->reason[0])
		return PLAN_DOWN;
	for (u32 i = 0; i < g->nr; i++) {
		if (g->roles[i] == MESHBLK_ROLE_JOINING && h == PLAN_WHOLE)
			h = PLAN_REBUILDING;
		else if (g->roles[i] != MESHBLK_ROLE_JOINING && g->roles[i] != MESHBLK_ROLE_IN_SYNC)
			h = PLAN_DEGRADED;
	}
	return h;
}

static void group_why(const struct meshblk_group *g, char *why, size_t size)
{
	u32 i = 0;

	why[0] = 0;
	if (g->reason[0]) {
		snprintf(why, size, "group %u.%u: %.100s", g->segment, g->column, g->reason);
		return;
	}
	while (i < g->nr && g->roles[i] == MESHBLK_ROLE_IN_SYNC)
		i++;
	if (i < g->nr && g->roles[i] != MESHBLK_ROLE_OPENING)
		snprintf(why, size, "group %u.%u: member %u is %s%s", g->segment, g->column, g->members[i],
			 vol_role(g, i), g->waits >> i & 1 ? ", and waits for its place" : "");
}

static void add_group(const struct meshblk_group *g, struct plan_work *w)
{
	u8 h = group_health(g);

	if (h > w->health) {
		w->health = h;
		if (h > PLAN_WHOLE)
			group_why(g, w->why, sizeof(w->why));
	}
	for (u32 i = 0; i < g->nr; i++)
		w->behind += g->behind[i];
	w->copied += g->copied;
	w->copies += g->copy_bytes;
	w->scrubs = w->scrubs || g->scrubbing;
	w->bytes += g->scrubbing || g->scrubbed ? g->bytes : 0;
	w->scrubbed += g->scrubbing ? g->scrubbed : g->scrubbed ? g->bytes : 0;
	if (!g->nr_unread || w->unread_bytes)
		return;
	w->unread_member = g->unread[0].member;
	w->unread_bytes = g->unread[0].length;
	w->unread_at = g->unread[0].addr;
}

void vol_groups(const struct meshblk_volume *k, struct plan_work *w)
{
	memset(w, 0, sizeof(*w));
	for (u32 i = 0; i < k->nr_groups; i++)
		add_group(&k->groups[i], w);
}

bool volumes_work(struct volumes *s, const struct muuid *volume, struct plan_work *out)
{
	struct vol *v = vol_get(s, volume);

	if (!v || vol_look(s, v) || !v->there)
		return false;
	vol_groups(&v->k, out);
	return true;
}

/* The member is one of a mirror: the data that it has may be taken for right. */
static bool is_copy(const struct layout *l, u32 member)
{
	for (u32 i = 0; i < l->segments; i++) {
		const struct layout_segment *s = &l->segment[i];

		for (u32 r = s->first_ref; layout_mirrors(s->level) && r < s->first_ref + s->refs; r++)
			if (l->ref[r].member == member)
				return true;
	}
	return false;
}

/* A mirror has two copies that are compared: where they differ, neither is known to be right. */
static bool two_copies(const struct layout *l, const struct meshblk_volume *k)
{
	for (u32 i = 0; i < l->segments; i++)
		if (layout_mirrors(l->segment[i].level) && l->segment[i].data == 2)
			return true;
	for (u32 i = 0; i < k->nr_groups; i++) {
		const struct meshblk_group *g = &k->groups[i];
		u32 n = 0;

		for (u32 m = 0; m < g->nr; m++)
			n += g->roles[m] == MESHBLK_ROLE_IN_SYNC;
		if (n == 2 && g->segment < l->segments && layout_mirrors(l->segment[g->segment].level))
			return true;
	}
	return false;
}

/* Its place is found when the request is carried out: layouts change. */
static int member_of(struct volumes *s, const struct layout *l, const struct muuid *extent, u32 *member)
{
	for (*member = 0; *member < l->members; ++*member)
		if (muuid_equal(&l->member[*member].extent, extent))
			return 0;
	return vol_fail(s, -ENOENT, "the member that was named is not one of the volume any more");
}

struct request_arg {
	struct muuid volume;
	bool	rejoin;
	struct mesh_scrub scrub;	/* .index: of a rejoin, too */
	char	why[200];
};

static int judge(struct volumes *s, const struct vol *v, const struct layout *l, const struct obj_request *r,
		 struct request_arg *x)
{
	bool named = !muuid_null(&r->extent);
	int err = named ? member_of(s, l, &r->extent, &x->scrub.index) : 0;

	if (err)
		return err;
	if (!v->k.nr_groups)
		return vol_fail(s, -EOPNOTSUPP, "it has no redundancy: there is nothing to compare, and no group to join");
	if (r->what == OBJ_SCRUB_REPAIR && !named && two_copies(l, &v->k))
		return vol_fail(s, -EINVAL, "it is not repaired: of two copies that differ nothing says which is right; "
				"find that out, and add --from MEMBER");
	if (r->what == OBJ_SCRUB_REPAIR && named && !is_copy(l, x->scrub.index))
		return vol_fail(s, -EINVAL, "member %u is no copy of a mirror: leave out --from, and what the others say "
				"of it counts", x->scrub.index);
	x->rejoin = r->what == OBJ_REJOIN;
	x->scrub.stop = r->what == OBJ_SCRUB_STOP;
	x->scrub.repair = r->what == OBJ_SCRUB_REPAIR;
	x->scrub.from = x->scrub.repair && named;
	return 0;
}

static int request_run(void *arg)
{
	struct request_arg *x = arg;
	struct mesh *m = mesh_open();
	int err;

	snprintf(x->why, sizeof(x->why), "netlink does not work");
	if (!m)
		return -EIO;
	if (x->rejoin)
		err = meshblk_volume_rejoin(m, &x->volume, x->scrub.index);
	else
		err = meshblk_volume_scrub(m, &x->volume, &x->scrub);
	if (err)
		snprintf(x->why, sizeof(x->why), "%.190s", mesh_why(m));
	mesh_close(m);
	return err;
}

static int request_begin(struct volumes *s, struct vol *v, const struct layout *l, const struct obj_request *r,
			 u64 of)
{
	struct request_arg *x;
	int err = vol_look(s, v);

	if (err)
		return err;
	if (!v->there)
		return vol_fail(s, -ENOENT, "the kernel does not have it");
	x = calloc(1, sizeof(*x));
	if (!x)
		return vol_fail(s, -ENOMEM, "no memory");
	x->volume = v->uuid;
	err = judge(s, v, l, r, x);
	if (err) {
		free(x);
		return err;
	}
	err = work_begin(&v->request, of, request_run, x, free);
	return err == -EINPROGRESS ? err : vol_fail(s, err, "no thread could be started");
}

int vol_request(void *m, const struct muuid *volume, const struct layout *l, const struct obj_request *r)
{
	struct volumes *s = m;
	struct vol *v = vol_get(s, volume);
	u64 of;
	int err;

	if (!v)
		return vol_fail(s, -ENOMEM, "no memory");
	memcpy(&of, r->id.b, sizeof(of));
	err = work_result(&v->request, of);
	if (err == -EINPROGRESS)
		return err;
	if (err == WORK_NONE)
		return request_begin(s, v, l, r, of);
	if (err)
		vol_fail(s, err, "%s", ((struct request_arg *)v->request.arg)->why);
	work_end(&v->request);
	v->known = false;
	return err;
}
