// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/volumes_in.h"
#include "userspace/format/view.h"

int vol_fail(struct volumes *s, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->words, sizeof(s->words), fmt, ap);
	va_end(ap);
	return err;
}

void vol_log(struct volumes *s, const char *fmt, ...)
{
	char words[OBJ_WORDS];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	if (s->c.log)
		s->c.log(s->c.priv, words);
}

static struct vol *vol_find(const struct volumes *s, const struct muuid *volume)
{
	struct vol *v = s->vol;

	while (v && !muuid_equal(&v->uuid, volume))
		v = v->next;
	return v;
}

struct vol *vol_get(struct volumes *s, const struct muuid *volume)
{
	struct vol *v = vol_find(s, volume);

	if (v)
		return v;
	v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->uuid = *volume;
	v->next = s->vol;
	s->vol = v;
	return v;
}

static void vol_free(struct vol *v)
{
	work_end(&v->set);
	work_end(&v->probe);
	work_end(&v->end);
	work_end(&v->request);
	work_end(&v->evict);
	if (v->there)
		meshblk_volume_free(&v->k);
	watch_free(v);
	free(v->roster);
	free(v);
}

/* Volumes that the kernel does not have, and about which nothing goes on, are nothing to remember. */
static void prune(struct volumes *s)
{
	struct vol **at = &s->vol, *v;

	while ((v = *at)) {
		if (!v->known || v->there || v->rosters || v->set.job || v->probe.job || v->end.job ||
		    v->request.job || v->evict.job) {
			at = &v->next;
			continue;
		}
		*at = v->next;
		vol_free(v);
	}
}

/* The latest of a group: an event may be read after an answer that was made behind it. */
static void keep(struct vol *v, u32 place, const u8 *bytes)
{
	struct vol_roster *r = NULL;
	struct plan_roster seen;
	size_t n = v->rosters;

	if (view_roster(bytes, &v->uuid, place, &seen) || !seen.attach)
		return;
	for (u32 i = 0; i < v->rosters && !r; i++)
		if (v->roster[i].place == place)
			r = &v->roster[i];
	if (!r) {
		r = mesh_grow((void **)&v->roster, &n, sizeof(*r));
		v->rosters = n;
	}
	if (!r || r->attach > seen.attach || (r->attach == seen.attach && r->epoch > seen.epoch))
		return;
	r->place = place;
	r->attach = seen.attach;
	r->epoch = seen.epoch;
	memcpy(r->bytes, bytes, sizeof(r->bytes));
}

void vol_forget_rosters(struct vol *v)
{
	free(v->roster);
	v->roster = NULL;
	v->rosters = 0;
}

static bool fenced(const struct vol *v)
{
	return v->there && !strcmp(v->k.state, MESHBLK_STATE_FENCED);
}

int vol_look(struct volumes *s, struct vol *v)
{
	int err;

	if (v->known)
		return 0;
	if (v->there)
		meshblk_volume_free(&v->k);
	v->there = false;
	err = s->m ? meshblk_volume_get(s->m, &v->uuid, &v->k) : -ENOENT;
	if (err && err != -ENOENT)
		return vol_fail(s, err, "the kernel does not say what it has: %.200s", mesh_why(s->m));
	v->known = true;
	v->there = !err;
	v->fenced = v->fenced && v->there;
	/* The rosters of a fenced volume are the other host's. */
	if (fenced(v)) {
		vol_forget_rosters(v);
		watch_fenced(s, v);
	}
	for (u32 i = 0; v->there && !fenced(v) && i < v->k.nr_groups; i++)
		if (v->k.groups[i].any)
			keep(v, v->k.groups[i].place, v->k.groups[i].roster);
	return 0;
}

/* The salt of the volume's layout, under which its rosters are: of the store, or of the record. */
static u64 salt_of(struct volumes *s, struct vol *v)
{
	const struct key k = { .kind = KEY_VOLUME, .volume = v->uuid };
	const struct obj_volume *o = copy_obj(s->c.copy, &k);
	struct obj_attached r;

	if (!v->salt && o)
		v->salt = o->record->salt;
	if (!v->salt && !vol_record_get(s, &v->uuid, &r)) {
		v->salt = r.record->salt;
		obj_free(OBJ_ATTACHED, &r);
	}
	return v->salt;
}

/* A group that @r does not have is of another layout. */
static int note_one(struct volumes *s, struct vol *v, u32 place, const u8 *bytes, struct obj_roster *r)
{
	int err = obj_roster_note(r, place, bytes, salt_of(s, v));

	if (err == -EBADMSG)
		vol_log(s, "the kernel's roster of volume %s, place %u, is none of its layout",
			muuid_str(&v->uuid).s, place);
	return err == -ENOMEM ? err : 0;
}

int vol_note_kept(struct volumes *s, struct vol *v, struct obj_roster *r)
{
	int err = 0;

	for (u32 i = 0; i < v->rosters && !err; i++)
		err = note_one(s, v, v->roster[i].place, v->roster[i].bytes, r);
	return err;
}

int vol_note_groups(struct volumes *s, struct vol *v, const struct meshblk_group *g, u32 n,
		    struct obj_roster *r)
{
	int err = 0;

	for (u32 i = 0; i < n && !err; i++)
		if (g[i].any)
			err = note_one(s, v, g[i].place, g[i].roster, r);
	return err;
}

static int vol_rosters(void *m, const struct muuid *volume, struct obj_roster *r)
{
	struct volumes *s = m;
	struct vol *v = vol_get(s, volume);
	int err;

	if (!v)
		return vol_fail(s, -ENOMEM, "no memory");
	err = vol_look(s, v);
	if (err || !v->there)
		return err ? err : vol_fail(s, -ENOENT, "the kernel does not have the volume");
	err = vol_note_kept(s, v, r);
	return err ? vol_fail(s, err, "no memory") : 0;
}

static u8 state_of(const struct meshblk_volume *k)
{
	if (!strcmp(k->state, MESHBLK_STATE_OPENING))
		return ATTACH_OPENING;
	if (!strcmp(k->state, MESHBLK_STATE_REMOVING))
		return ATTACH_ENDING;
	if (!strcmp(k->state, MESHBLK_STATE_FENCED))
		return ATTACH_FENCED;
	return ATTACH_SERVING;	/* active, waiting, broken: the disk is there */
}

/* A member is held where another host has it open; one with I/O that was given up names no host. */
static void fill_held(const struct meshblk_volume *k, struct attach_kernel *out)
{
	for (u32 i = 0; i < k->nr_members && !out->held; i++) {
		if (k->members[i].error != -EBUSY || muuid_null(&k->members[i].holder))
			continue;
		out->held = true;
		out->holder = k->members[i].holder;
	}
}

/* Places of the kernel are references of the layout: to the members that have them. */
static void fill_bars(const struct meshblk_volume *k, struct attach_kernel *out)
{
	bool is[PROT_MEMBERS_MAX] = { false };

	for (u32 b = 0; b < k->nr_bars; b++)
		for (u32 g = 0; g < k->nr_groups; g++) {
			const struct meshblk_group *x = &k->groups[g];
			u32 at = k->bars[b] - x->place;

			if (k->bars[b] >= x->place && at < x->nr && x->members[at] < PROT_MEMBERS_MAX)
				is[x->members[at]] = true;
		}
	for (u32 i = 0; i < PROT_MEMBERS_MAX; i++)
		if (is[i])
			out->bar[out->barred++] = i;
}

static void fill_reason(const struct meshblk_volume *k, struct attach_kernel *out)
{
	const char *why = k->reason;

	for (u32 i = 0; i < k->nr_groups && !why[0]; i++)
		why = k->groups[i].reason;
	snprintf(out->reason, sizeof(out->reason), "%s", why);
}

static int vol_kernel(void *m, const struct muuid *volume, struct attach_kernel *out)
{
	struct volumes *s = m;
	struct vol *v = vol_get(s, volume);
	const struct meshblk_volume *k;
	int err;

	memset(out, 0, sizeof(*out));
	if (!v)
		return vol_fail(s, -ENOMEM, "no memory");
	err = vol_look(s, v);
	if (err || !v->there)
		return err;
	k = &v->k;
	out->state = state_of(k);
	out->readonly = k->readonly;
	out->number = k->attach;
	out->served = k->served;
	out->version = k->version;
	out->fenced_by = k->fenced;
	out->fencer = k->fencer;
	out->openers = k->openers;
	snprintf(out->disk, sizeof(out->disk), "%s", k->disk);
	fill_reason(k, out);
	fill_bars(k, out);
	vol_groups(k, &out->work);
	if (out->state == ATTACH_OPENING)
		fill_held(k, out);
	return 0;
}

/* Once in a turn: what was known of the kernel before is not any more. */
static int vol_kernels(void *m, struct muuid *out, u32 max)
{
	struct volumes *s = m;
	struct meshblk_volume *all;
	u32 n = 0;
	size_t has;
	int err;

	vol_sweep(s);
	prune(s);
	for (struct vol *v = s->vol; v; v = v->next)
		v->known = false;
	if (!s->m)
		return 0;
	err = meshblk_volumes(s->m, &all, &has);
	if (err == -ENOENT)
		return 0;
	if (err)
		return vol_fail(s, err, "the kernel does not say what it has: %.200s", mesh_why(s->m));
	/* A volume without an access number is another program's. */
	for (size_t i = 0; i < has && n < max; i++)
		if (all[i].numbered)
			out[n++] = all[i].uuid;
	meshblk_volumes_free(all, has);
	return n;
}

static const char *vol_words(void *m)
{
	return ((struct volumes *)m)->words;
}

static void on_event(void *priv, const struct mesh_event *e)
{
	struct volumes *s = priv;
	struct vol *v;

	if (e->target)
		return;
	if (e->event == MESHBLK_EV_TARGET_STATE) {
		reach_event(s, e);
		log_target(s, e);
		return;
	}
	v = vol_find(s, &e->uuid);
	if (!v)
		return;
	v->known = false;
	if (e->event == MESHBLK_EV_FENCED)
		vol_forget_rosters(v);
	else if (e->event == MESHBLK_EV_VOLUME_STATE)
		log_volume(s, v, e);
	else if (e->event == MESHBLK_EV_ROSTER && e->roster)
		keep(v, e->place, e->roster);
}

void volumes_events(struct volumes *s)
{
	if (s->events)
		mesh_events_read(s->events, on_event, s);
}

int volumes_fd(struct volumes *s)
{
	return s->events ? mesh_fd(s->events) : -1;
}

static void leave_kernel(struct volumes *s)
{
	witness_end(s);
	mesh_close(s->m);
	mesh_close(s->events);
	s->m = s->events = NULL;
	s->family = 0;
	for (struct vol *v = s->vol; v; v = v->next)
		v->known = false;
}

/* Sockets of a module that was unloaded know nothing of the one that is loaded after it. */
int volumes_begin(struct volumes *s)
{
	struct mesh *m = mesh_open();
	int family = m ? mesh_family_id(m, false) : 0, err;

	if (family > 0 && family == s->family) {
		mesh_close(m);
		return 0;
	}
	leave_kernel(s);
	if (family <= 0) {
		mesh_close(m);
		return -ENOPKG;
	}
	s->m = m;
	s->events = mesh_open();
	err = s->events ? 0 : -EIO;
	if (!err)
		mesh_events_join(s->events);	/* without the target's family on a client */
	err = err ? err : reach_load(s);
	err = err ? err : witness_begin(s);
	if (err) {
		vol_log(s, "the kernel's volumes cannot be managed: %s", strerror(-err));
		leave_kernel(s);
		return err;
	}
	s->family = family;
	return 0;
}

int volumes_open(const struct volumes_config *config, struct volumes **out)
{
	struct volumes *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->c = *config;
	err = vol_records_open(s);
	if (err) {
		vol_log(s, "%s/attached: %s", s->c.state, strerror(-err));
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

void volumes_close(struct volumes *s)
{
	struct vol *v;

	if (!s)
		return;
	leave_kernel(s);
	work_end(&s->sweep);
	while ((v = s->vol)) {
		s->vol = v->next;
		vol_free(v);
	}
	free(s->target);
	free(s->failed);
	free(s);
}

const struct attach_ops volumes_ops = {
	.kernel = vol_kernel,
	.kernels = vol_kernels,
	.probe = vol_probe,
	.set = vol_set,
	.copy = vol_copy,
	.evict = vol_evict,
	.del = vol_del,
	.record_get = vol_record_get,
	.records = vol_records,
	.record_put = vol_record_put,
	.record_erase = vol_record_erase,
	.slots = vol_slots,
	.request = vol_request,
	.note = vol_note,
	.noted = vol_noted,
	.rosters = vol_rosters,
	.words = vol_words,
	.local = vol_local,
};
