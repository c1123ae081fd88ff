/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels, records and targets of the hosts of attach_rig.h, which includes this in its middle. */
#ifndef TESTS_UNIT_ATTACH_KERNEL_H
#define TESTS_UNIT_ATTACH_KERNEL_H

static inline int op_kernel(void *m, const struct muuid *volume, struct attach_kernel *out)
{
	const struct kernel *k = &((struct host *)m)->k;

	(void)volume;
	memset(out, 0, sizeof(*out));
	if (!k->there)
		return 0;
	*out = (struct attach_kernel) {
		.state = k->fenced ? ATTACH_FENCED : k->live && !k->served ? ATTACH_SERVING :
			 k->live ? ATTACH_SERVING : ATTACH_OPENING,
		.readonly = k->readonly, .number = k->number, .served = k->served, .version = k->l.version,
		.fenced_by = k->fenced_by, .held = k->held, .barred = k->barred, .openers = k->openers,
	};
	if (k->fencer)
		out->fencer = hid(k->fencer - 1);
	if (k->held)
		out->holder = hid(k->held - 1);
	memcpy(out->bar, k->bar, k->barred * sizeof(*k->bar));
	if (k->live)
		strcpy(out->disk, "mesh0");
	out->work = k->work;
	return 0;
}

static inline int op_kernels(void *m, struct muuid *out, u32 max)
{
	(void)max;
	out[0] = vid();
	return ((struct host *)m)->k.there;
}

static inline bool reaches(int h, u32 i)
{
	return !W.t[i].away && !(W.h[h].cut >> i & 1);
}

static inline int op_probe(void *m, const struct layout *l, struct attach_found *out)
{
	int h = (struct host *)m - W.h;

	OP("probe");
	for (u32 i = 0; i < l->members; i++) {
		const struct target *t = &W.t[l->member[i].extent.b[1] - 1];

		out[i] = (struct attach_found) { .number = t->number, .unknown = t->unknown, .writers = !!t->writer,
						 .readers = !!t->readers };
		if (t->attacher)
			out[i].attacher = hid(t->attacher - 1);
		if (!reaches(h, t - W.t))
			out[i].err = -EHOSTUNREACH;
	}
	DONE;
}

static inline void kernel_close(int h)
{
	for (u32 i = 0; i < MEMBERS; i++) {
		W.t[i].readers &= ~(1 << h);
		if (W.t[i].writer == h + 1)
			W.t[i].writer = 0;
	}
}

static inline void check_set(int h, const struct attach_set *s)
{
	struct obj_attached r;

	if (!record_of(h, &r)) {
		complain("the kernel gets what no record says");
		return;
	}
	if (acc(r.plan.number) != acc(s->number) || r.record->version != s->layout->version ||
	    r.plan.mode != (s->readonly ? PLAN_RO : PLAN_RW) || r.plan.barred != s->barred ||
	    (s->barred && memcmp(r.plan.bar, s->bar, s->barred * sizeof(*s->bar))) || r.fresh != s->fresh ||
	    r.leavings != s->leavings || r.lefts != s->lefts || r.plan.forgottens != s->forgottens)
		complain("the kernel gets something else than the record says");
	obj_free(OBJ_ATTACHED, &r);
	if (s->number == W.h[h].k.number)
		check_bars(h, s->bar, s->barred);
	for (u32 i = 0; !s->readonly && i < s->layout->members; i++) {
		const struct target *t = &W.t[s->layout->member[i].extent.b[1] - 1];

		if ((!s->open || s->open[i]) && t->version < s->layout->version)
			complain("a member is to be opened whose record is older than the layout");
	}
}

/* A member in sync gives its place to a whole copy alone; then no copy runs any more. */
static inline bool swaps(struct kernel *k, const struct layout *l)
{
	for (u32 i = 0; k->there && i < k->l.members && i < l->members; i++) {
		struct plan_copy *c = &k->copy[i].plan;

		if (muuid_equal(&l->member[i].extent, &k->l.member[i].extent))
			continue;
		if (c->role == PLAN_COPY_IN_SYNC && (!muuid_equal(&c->to, &l->member[i].extent) ||
						     c->copied != c->bytes || !c->bytes))
			return false;
		*c = (struct plan_copy) { .role = PLAN_COPY_IN_SYNC };
	}
	return true;
}

static inline void keep_facts(struct kernel *k, const struct attach_set *s)
{
	k->again = s->again;
	k->forgottens = s->forgottens;
	k->leavings = s->leavings;
	for (u32 i = 0; i < s->forgottens; i++)
		k->forgotten[i] = s->forgotten[i];
	for (u32 i = 0; i < s->leavings; i++)
		k->leaving[i] = s->leaving[i];
	for (u32 i = 0; i < s->lefts; i++)
		k->left[i] = s->left[i];
}

static inline int op_copy(void *m, const struct muuid *volume, u32 place, struct attach_copy *out)
{
	const struct kernel *k = &((struct host *)m)->k;

	(void)volume;
	memset(out, 0, sizeof(*out));
	if (!k->there || place >= k->l.members)
		return 0;
	*out = k->copy[place];
	out->plan.member = k->l.member[place].extent;
	return 0;
}

static inline int op_evict(void *m, const struct attach_evict *e)
{
	struct host *y = m;
	struct attach_copy *c = &y->k.copy[e->place];

	OP(e->to ? "evict" : "stop");
	if (W.refuses)
		return -EBUSY;
	if (e->to && (!y->k.live || c->plan.role != PLAN_COPY_IN_SYNC || !muuid_null(&c->plan.to)))
		complain("a member is evicted that cannot be");
	if (e->number != y->k.number)
		complain("a copy is opened under another number than the kernel's");
	c->why[0] = 0;
	c->plan.to = e->to ? e->to->extent : (struct muuid) { 0 };
	c->plan.copied = 0;
	c->plan.bytes = e->to ? 128 << 20 : 0;
	DONE;
}

static inline int op_set(void *m, const struct attach_set *s)
{
	struct host *y = m;
	struct kernel *k = &y->k;

	OP("set");
	check_set(y - W.h, s);
	if (!k->there) {
		memset(k, 0, sizeof(*k));
		for (u32 i = 0; i < MEMBERS; i++)
			k->copy[i].plan.role = PLAN_COPY_IN_SYNC;
	}
	if (!swaps(k, s->layout)) {
		complain("a member in sync is to lose its place");
		return -EBUSY;
	}
	keep_facts(k, s);
	if (k->there && acc(k->number) != acc(s->number)) {
		if (!s->served)
			complain("another number under a live kernel, and no retake");
		kernel_close(y - W.h);
		memset(k->open, 0, sizeof(k->open));
		k->number = s->number;
		k->served = s->served;
	}
	k->there = true;
	k->l = *s->layout;
	if (s->number > k->number)
		k->number = s->number;
	k->readonly = s->readonly;
	k->preempt = s->preempt;
	k->fresh = s->fresh;
	k->barred = s->barred;
	for (u32 i = 0; i < s->barred; i++)
		k->bar[i] = s->bar[i];
	for (u32 i = 0; i < MEMBERS; i++)
		k->may[i] = !s->open || s->open[i];
	DONE;
}

static inline void kernel_rosters(const struct kernel *k, struct obj_roster *r)
{
	static const u8 none[MESHBLK_ROSTER_BYTES];

	if (r->groups && memcmp(k->roster, none, sizeof(none)))
		OK(obj_roster_note(r, r->group[0].first, k->roster, SALT));
}

static inline int op_del(void *m, const struct muuid *volume, bool force, struct obj_roster *last)
{
	struct host *y = m;

	(void)volume;
	OP("del");
	if (y->k.openers && !force)
		return -EBUSY;
	if (y->k.live && !y->k.fenced)
		kernel_rosters(&y->k, last);
	memset(&y->k, 0, sizeof(y->k));
	kernel_close(y - W.h);
	DONE;
}

static inline int op_record_get(void *m, const struct muuid *volume, struct obj_attached *out)
{
	struct host *y = m;

	(void)volume;
	memset(out, 0, sizeof(*out));
	if (!y->record)
		return -ENOENT;
	return obj_decode(OBJ_ATTACHED, y->record, strlen(y->record), out, NULL, 0);
}

static inline int op_records(void *m, struct muuid *out, u32 max)
{
	(void)max;
	out[0] = vid();
	return !!((struct host *)m)->record;
}

static inline int op_record_put(void *m, const struct obj_attached *r)
{
	struct host *y = m;
	char err[OBJ_WHY];

	OP("put");
	/* Its restart is this host's; all else the store gave. */
	if (!y->away && acc(r->plan.number) > access_now()->number)
		complain("a record before its transaction");
	free(y->record);
	if (obj_encode(OBJ_ATTACHED, r, &y->record, err, sizeof(err)))
		complain(err);
	DONE;
}

static inline int op_record_erase(void *m, const struct muuid *volume)
{
	struct host *y = m;

	(void)volume;
	OP("erase");
	free(y->record);
	y->record = NULL;
	DONE;
}

static inline int op_slots(void *m, const struct obj_attached *r, struct plan_slot *slot, bool *reached)
{
	int h = (struct host *)m - W.h;

	OP("slots");
	for (u32 i = 0; i < r->record->members; i++) {
		const struct target *t = &W.t[r->record->member[i].extent.b[1] - 1];

		reached[i] = reaches(h, t - W.t);
		slot[i] = (struct plan_slot) { .extent = r->record->member[i].extent, .number = t->number,
					       .record_version = t->version, .record_commit = t->commit };
		if (t->attacher)
			slot[i].attacher = hid(t->attacher - 1);
	}
	DONE;
}

static inline int op_request(void *m, const struct muuid *volume, const struct layout *l,
			     const struct obj_request *r)
{
	struct kernel *k = &((struct host *)m)->k;

	(void)volume;
	OP("request");
	if (!k->live || l->version != k->l.version)
		complain("a request for what the kernel does not serve");
	k->requests++;
	k->request = *r;
	if (k->refuses)
		return -EBUSY;
	k->work.scrubs = r->what == OBJ_SCRUB || r->what == OBJ_SCRUB_REPAIR;
	DONE;
}

static inline int op_note(void *m, struct attach_note *n)
{
	struct host *y = m;

	if (!y->notes)
		return -ENOENT;
	y->notes = false;
	*n = y->note;
	return 0;
}

static inline int op_noted(void *m, const struct attach_note *n)
{
	struct host *y = m;

	if (slow())
		return -EINPROGRESS;
	y->answered = true;
	y->answer = *n;
	return 0;
}

static inline int op_rosters(void *m, const struct muuid *volume, struct obj_roster *r)
{
	(void)volume;
	kernel_rosters(&((struct host *)m)->k, r);
	return 0;
}

static inline const char *op_words(void *m)
{
	(void)m;
	return "the machine says no";
}

static inline u64 op_local(void *m, const struct muuid *drive)
{
	(void)m;
	return drive->b[1] == 1 ? W.use : 0;
}

static const struct attach_ops rig_ops = {
	.kernel = op_kernel, .kernels = op_kernels, .probe = op_probe, .set = op_set, .del = op_del,
	.record_get = op_record_get, .records = op_records, .record_put = op_record_put,
	.record_erase = op_record_erase, .slots = op_slots, .request = op_request, .note = op_note, .noted = op_noted,
	.rosters = op_rosters, .copy = op_copy, .evict = op_evict, .words = op_words, .local = op_local,
};

static inline void fence(int h, const struct target *t)
{
	struct kernel *k = &W.h[h].k;

	k->fenced = true;
	k->fenced_by = t->number;
	k->fencer = t->attacher;
	kernel_close(h);
}

/* OPEN of one member, and its label that the kernel sees. */
static inline void kernel_open(int h, u32 i, struct target *t)
{
	struct kernel *k = &W.h[h].k;
	bool own = t->attacher == h + 1;

	if (acc(t->number) > acc(k->number) || (!k->readonly && acc(t->number) == acc(k->number) && !own &&
						mesh_number_counter(t->number)) ||
	    (k->served && t->number > (k->served | MESH_NUMBER_RESTART_MAX) && !own)) {
		fence(h, t);
		return;
	}
	if (k->readonly) {
		t->readers |= 1 << h;
		k->open[i] = true;
		return;
	}
	if (t->writer == h + 1) {
		k->open[i] = true;
		return;
	}
	if (!k->preempt && (t->writer || t->readers & ~(1 << h))) {
		k->held = t->writer ? t->writer : 1 + (t->readers & 1 ? 0 : t->readers & 2 ? 1 : 2);
		return;
	}
	if (!k->preempt && t->unknown && !own)
		return;
	t->writer = h + 1;
	t->readers = 0;
	t->attacher = h + 1;
	t->number = k->number;
	k->open[i] = true;
}

static inline bool begins(const struct kernel *k)
{
	struct layout_shape shape = layout_shape(&k->l.segment[0]);
	u32 n = 0;

	for (u32 i = 0; i < k->l.members; i++)
		n += k->open[i];
	return n >= (layout_width(&shape) > 1 ? layout_needs(&shape) : k->l.members);
}

static inline void kernel_roster(struct kernel *k, u64 attach, u64 epoch, u64 in_sync, u8 out[MESHBLK_ROSTER_BYTES])
{
	struct prot_owner o = { .salt = obj_roster_seed(SALT, &k->l.volume) };
	struct prot_roster r = { .attach = attach, .epoch = epoch, .in_sync = in_sync,
				 .geo = { .width = k->l.members, .k = 1 } };
	u8 block[PROT_ROSTER_BLOCK];

	memcpy(o.volume, k->l.volume.b, 16);
	for (u32 i = 0; i < k->l.members; i++)
		memcpy(r.uuid[i], k->l.member[i].extent.b, 16);
	prot_roster_seal(block, &r, &o, 0);
	memcpy(out, block, MESHBLK_ROSTER_BYTES);
}

static inline void kernel_tick(int h)
{
	struct kernel *k = &W.h[h].k;

	for (u32 i = 0; k->there && !k->fenced && i < k->l.members; i++) {
		u32 at = k->l.member[i].extent.b[1] - 1;

		if (k->may[i] && reaches(h, at))
			kernel_open(h, i, &W.t[at]);
	}
	if (!k->there || k->fenced || !begins(k) || (k->live && !k->served))
		return;
	k->live = true;
	k->served = 0;
	if (layout_fresh(&k->l) || k->l.segment[0].level == PROT_MIRROR)
		kernel_roster(k, k->number, ++k->epoch, (1 << k->l.members) - 1, k->roster);
}

#endif
