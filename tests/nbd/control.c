// SPDX-License-Identifier: GPL-2.0-only
/*
 * What meshd and the target would do: notice members that go and come, commit
 * epochs, notify the groups.
 *
 *   file gone             every I/O to it fails from now on
 *   back, same label      join: what it missed is copied
 *   another, label zero   a spare: gets a new UUID, is rebuilt
 *   any other file        not ours, left alone
 *
 * A file `scrub` in the folder has all groups compared and repaired once, one `compare` has
 * them compared; it is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protect/engine/group_priv.h"
#include "tests/nbd/volume.h"

#define ROUND_US 5000

static pthread_t thread;
static bool over;

static void commit(void)
{
	if (state_commit(vol.dir, &vol.st)) {
		fprintf(stderr, "volume: the state cannot be written\n");
		_exit(1);
	}
}

static void path_of(uint32_t member, char *path, size_t n)
{
	snprintf(path, n, "%s/m%u", vol.dir, member);
}

static bool is_there(uint32_t member)
{
	struct stat open_one, named;
	char path[4096];

	path_of(member, path, sizeof(path));
	return vol.member[member].fd >= 0 && !stat(path, &named) &&
	       !fstat(vol.member[member].fd, &open_one) && named.st_ino == open_one.st_ino;
}

enum label { LABEL_NONE, LABEL_OURS, LABEL_SPARE };

static enum label read_label(int fd, const uint8_t *uuid)
{
	static const uint8_t zero[24];
	uint8_t is[24];

	if (pread(fd, is, sizeof(is), 0) != sizeof(is))
		return LABEL_NONE;
	if (!memcmp(is, zero, sizeof(is)))
		return LABEL_SPARE;
	return !memcmp(is, LABEL_MAGIC, 8) && !memcmp(is + 8, uuid, PROT_UUID_LEN) ?
	       LABEL_OURS : LABEL_NONE;
}

static int write_label(int fd, const uint8_t *uuid)
{
	uint8_t label[24] = LABEL_MAGIC;

	memcpy(label + 8, uuid, PROT_UUID_LEN);
	return pwrite(fd, label, sizeof(label), 0) != sizeof(label) || fdatasync(fd) ? -EIO : 0;
}

/* Open what is there under the member's name; -1: nothing of use. */
static int open_member(uint32_t member, enum label *label)
{
	char path[4096];
	struct stat st;
	int fd;

	path_of(member, path, sizeof(path));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	*label = read_label(fd, vol.st.member[member].uuid);
	if (*label == LABEL_NONE || fstat(fd, &st) ||
	    (uint64_t)st.st_size < vol.st.data_at + vol.st.bytes) {
		close(fd);
		return -1;
	}
	return fd;
}

static void take(uint32_t member, int fd)
{
	if (vol.member[member].fd >= 0)
		close(vol.member[member].fd);
	vol.member[member].fd = fd;
	vol.member[member].gone = false;
}

/* A spare gets a name, the store knows of it, then the group. */
static int replace(struct group *grp, uint32_t member)
{
	random_bytes(vol.st.member[member].uuid, PROT_UUID_LEN);
	vol.st.epoch++;
	vol.st.member[member].left = vol.st.epoch;
	if (write_label(vol.member[member].fd, vol.st.member[member].uuid))
		return -EIO;
	commit();
	return prot_group_replace(grp->g, member - grp->first, vol.st.member[member].uuid,
				  vol.st.epoch);
}

/* An absent member may be back; nothing of ours is in flight to it. */
static void look_for(struct group *grp, uint32_t member)
{
	enum label label;
	int fd, err;

	if (vol.member[member].jobs || !grp->admit)
		return;
	fd = open_member(member, &label);
	if (fd < 0)
		return;
	take(member, fd);
	if (label == LABEL_SPARE)
		err = replace(grp, member);
	else
		err = prot_group_join(grp->g, member - grp->first);
	fprintf(stderr, "volume: member %u %s: %s\n", member,
		label == LABEL_SPARE ? "is replaced" : "is back", err ? strerror(-err) : "taken");
	if (err && label == LABEL_SPARE && grp->g->state != PROT_G_STOPPED)
		_exit(1);	/* the store and the group would disagree about its identity */
	if (err)
		vol.member[member].gone = true;
	grp->kick = true;
}

static void watch(struct group *grp, uint32_t i)
{
	uint32_t member = grp->first + i;
	struct member *m = &vol.member[member];
	uint64_t bit = 1ULL << i;
	const struct prot_group *g = grp->g;

	if (!m->gone && !is_there(member)) {
		fprintf(stderr, "volume: member %u has gone\n", member);
		m->gone = true;
		if (g->joining & bit) {
			prot_group_leave(grp->g, i);
			grp->kick = true;
		}
	}
	if (m->gone && !((g->in_sync | g->joining | g->announced) & bit))
		look_for(grp, member);
}

static void leave(struct group *grp, uint64_t members)
{
	vol.st.epoch++;
	for (uint32_t i = 0; i < grp->width; i++)
		if (members >> i & 1) {
			vol.st.member[grp->first + i].in_sync = 0;
			vol.st.member[grp->first + i].left = vol.st.epoch;
		}
	commit();
	fprintf(stderr, "volume: epoch %ju: group %u without %jx\n", (uintmax_t)vol.st.epoch,
		grp->first / grp->width, (uintmax_t)members);
}

static uint64_t in_sync(const struct group *grp)
{
	uint64_t in = 0;

	for (uint32_t i = 0; i < grp->width; i++)
		in |= (uint64_t)!!vol.st.member[grp->first + i].in_sync << i;
	return in;
}

/* Members a group cannot do without. */
static uint32_t need(void)
{
	return vol.st.level == PROT_EC ? vol.st.data : 1;
}

/* The store takes its time: not before that many rounds after the request. */
static bool store_is_slow(struct group *grp)
{
	if (!grp->requested && !grp->caught) {
		grp->due = 0;
		return false;
	}
	if (!grp->due)
		grp->due = 1 + (vol.slow_rounds ? rand() % (vol.slow_rounds + 1) : 0);
	return --grp->due;
}

static void epochs(struct group *grp)
{
	uint64_t came;

	if ((grp->again && grp->jobs) || store_is_slow(grp))
		return;
	if (grp->requested) {
		if ((uint32_t)__builtin_popcountll(in_sync(grp) & ~grp->requested) < need())
			return;		/* no epoch can help */
		leave(grp, grp->requested);
		grp->requested = 0;
		grp->kick = true;
		if (grp->again)
			volume_attach(grp);
		else
			prot_group_epoch(grp->g, vol.st.epoch, in_sync(grp));
		grp->caught &= grp->g->announced;
		return;
	}
	came = grp->caught & grp->g->announced & ~grp->g->failed;
	grp->caught = 0;
	if (!came)
		return;
	vol.st.epoch++;
	for (uint32_t i = 0; i < grp->width; i++)
		if (came >> i & 1)
			vol.st.member[grp->first + i].in_sync = 1;
	commit();
	fprintf(stderr, "volume: epoch %ju: group %u with %jx again\n", (uintmax_t)vol.st.epoch,
		grp->first / grp->width, (uintmax_t)came);
	prot_group_epoch(grp->g, vol.st.epoch, in_sync(grp));
	grp->kick = true;
}

static bool all_serve(void)
{
	for (uint32_t i = 0; i < vol.st.groups; i++)
		if (vol.grp[i].g->state != PROT_G_SERVING || !vol.grp[i].g->serving_reported)
			return false;
	return true;
}

/* Requests come when the store knows that members may differ from now on. */
static void admit(void)
{
	if (!all_serve())
		return;
	if (vol.st.fresh) {
		vol.st.fresh = 0;
		commit();
	}
	for (uint32_t i = 0; i < vol.st.groups; i++)
		if (!vol.grp[i].admit) {
			vol.grp[i].admit = true;
			vol.grp[i].kick = true;
		}
}

static void look_for_scrub(const char *name, bool repair)
{
	const struct prot_scrub how = { .repair = repair, .source = PROT_NO_SOURCE };
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", vol.dir, name);
	if (unlink(path))
		return;
	vol.scrubs++;
	for (uint32_t i = 0; i < vol.st.groups; i++) {
		struct prot_group *g = vol.grp[i].g;

		vol.unequal += g->mismatches;
		vol.unexplained += g->unexplained;
		prot_group_scrub(g, &how);
		vol.grp[i].kick = true;
	}
}

/* What scrubs and repairs did, in all groups since they were attached. */
static void scrubbed(char *to, size_t n)
{
	uint64_t unequal = vol.unequal, unexplained = vol.unexplained, rewritten = 0;
	bool on = false;

	for (uint32_t i = 0; i < vol.st.groups; i++) {
		const struct prot_group *g = vol.grp[i].g;

		unequal += g->mismatches;
		unexplained += g->unexplained;
		rewritten += g->rewritten;
		on |= g->scrubbing;
	}
	snprintf(to, n, "scrubs %u%s, unequal %ju, unexplained %ju, rewritten %ju", vol.scrubs,
		 on ? " going on" : "", (uintmax_t)unequal, (uintmax_t)unexplained,
		 (uintmax_t)rewritten);
}

/*
 * One line for a script that waits: settled when all that can be done is done, idle when
 * mirrors have cleared the intent bits behind it too.
 */
static void status(void)
{
	static char last[512];
	char now[512], scrub[160], path[4096], tmp[4096];
	uint32_t serving = 0, stopped = 0, busy = 0, intents = 0, in = 0;
	uint64_t synced = 0;
	FILE *f;

	for (uint32_t i = 0; i < vol.st.groups; i++) {
		const struct group *grp = &vol.grp[i];

		serving += grp->admit;
		stopped += grp->g->state == PROT_G_STOPPED;
		busy += grp->g->unsynced || grp->g->joining || grp->g->failed || grp->requested ||
			grp->caught || grp->jobs || !prot_group_quiet(grp->g);
		intents += grp->g->kept & PROT_BIT(PROT_INTENT) &&
			   !prot_none(grp->g, PROT_SET_INTENT);
		in += __builtin_popcountll(grp->g->in_sync);
		synced += grp->g->synced;
	}
	scrubbed(scrub, sizeof(scrub));
	snprintf(now, sizeof(now), "serving %u of %u, stopped %u, in sync %u of %u, epoch %ju, "
		 "copied %ju, %s, %s\n",
		 serving, vol.st.groups, stopped, in, vol.st.members, (uintmax_t)vol.st.epoch,
		 (uintmax_t)synced, scrub, serving < vol.st.groups || busy ? "busy" : intents ? "settled" : "idle");
	if (!strcmp(now, last))
		return;
	strcpy(last, now);
	snprintf(tmp, sizeof(tmp), "%s/status.new", vol.dir);
	snprintf(path, sizeof(path), "%s/status", vol.dir);
	f = fopen(tmp, "w");
	if (f) {
		fputs(now, f);
		fclose(f);
		rename(tmp, path);
	}
}

static void *control(void *arg)
{
	uint32_t turn = 0;

	(void)arg;
	pthread_mutex_lock(&vol.lock);
	while (!over) {
		for (uint32_t i = 0; i < vol.st.groups; i++) {
			struct group *grp = &vol.grp[i];

			for (uint32_t k = 0; k < grp->width; k++)
				watch(grp, k);
			epochs(grp);
			if (turn % 8 == 7) {
				prot_group_idle(grp->g);
				grp->kick = true;
			}
		}
		admit();
		look_for_scrub("scrub", true);
		look_for_scrub("compare", false);
		volume_drive();
		status();
		turn++;
		pthread_mutex_unlock(&vol.lock);
		usleep(ROUND_US);
		pthread_mutex_lock(&vol.lock);
	}
	pthread_mutex_unlock(&vol.lock);
	return NULL;
}

/* Find the members that are ours. Those in sync that are not are out by an epoch first. */
static int find_members(struct group *grp)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < grp->width; i++) {
		uint32_t member = grp->first + i;
		enum label label;
		int fd = open_member(member, &label);

		vol.member[member].fd = -1;
		if (fd >= 0 && label == LABEL_SPARE && vol.st.fresh && !vol.st.attach &&
		    !write_label(fd, vol.st.member[member].uuid))
			label = LABEL_OURS;
		if (fd >= 0 && label != LABEL_OURS) {
			close(fd);
			fd = -1;
		}
		/* one that is out is searched for when the group serves */
		vol.member[member].gone = fd < 0 || !vol.st.member[member].in_sync;
		vol.member[member].fd = fd;
		if (fd < 0 && vol.st.member[member].in_sync)
			lost |= 1ULL << i;
	}
	if (!lost)
		return 0;
	if ((uint32_t)__builtin_popcountll(in_sync(grp) & ~lost) < need())
		return -ENODEV;
	leave(grp, lost);
	return 0;
}

int control_start(void)
{
	for (uint32_t i = 0; i < vol.st.groups; i++)
		if (find_members(&vol.grp[i])) {
			fprintf(stderr, "volume: too few members of group %u are there\n", i);
			return -ENODEV;
		}
	vol.st.attach++;
	commit();
	for (uint32_t i = 0; i < vol.st.groups; i++)
		volume_attach(&vol.grp[i]);
	return pthread_create(&thread, NULL, control, NULL);
}

static bool quiet(void)
{
	bool yes = !vol.requests;

	for (uint32_t i = 0; i < vol.st.groups; i++)
		yes &= !vol.grp[i].jobs && prot_group_quiet(vol.grp[i].g);
	return yes;
}

/* A clean end: what is in flight ends first, for a while. */
void control_stop(void)
{
	for (int i = 0; i < 1000; i++) {
		bool yes;

		pthread_mutex_lock(&vol.lock);
		yes = quiet();
		pthread_mutex_unlock(&vol.lock);
		if (yes)
			break;
		usleep(10000);
	}
	over = true;
	pthread_join(thread, NULL);
}
