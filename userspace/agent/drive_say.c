// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/deal.h"
#include "userspace/agent/drive_say.h"

#define SAY_TXN_MS	3000
#define SAY_EVERY_MS	1000

static const char away[] = "away";

static struct key status_key(const struct drive_say *a, const struct muuid *drive)
{
	return (struct key) { .kind = KEY_STATUS, .host = a->host, .about = *drive };
}

/* True: it is to be said of the drive, which is this host's and in the cluster still. */
static bool to_say(const struct drive_say *a, const struct muuid *drive, char words[OBJ_WORDS])
{
	const struct obj_drive *d = copy_obj(a->copy, &(struct key) { .kind = KEY_DRIVE, .drive = *drive });

	return d && muuid_equal(&d->plan.host, &a->host) && d->plan.wanted != PLAN_FORGOTTEN &&
	       a->left(a->machine, drive, words, OBJ_WORDS);
}

/* What is not written now is written at another turn: no error of one drive is in another one's way. */
static int close_deal(struct deal *d)
{
	int ret = d->err;

	if (ret)
		deal_drop(d);
	else
		ret = deal_close(d, SAY_TXN_MS);
	return ret == -EACCES || ret == -EINVAL ? 0 : ret;
}

static int say(struct drive_say *a, const struct muuid *drive, const char *words)
{
	const struct key k = status_key(a, drive);
	const struct obj_status *was = copy_obj(a->copy, &k);
	struct obj_status s = { .host = a->host, .about = *drive, .subject = OBJ_OF_DRIVE, .at = a->now_ms };
	struct deal d;

	if (was && !strcmp(was->state, away) && !strcmp(was->words, words))
		return 0;
	if (was)
		s.o = was->o;
	snprintf(s.state, sizeof(s.state), "%s", away);
	snprintf(s.words, sizeof(s.words), "%s", words);
	deal_begin(&d, a->copy);
	deal_put(&d, KEY_STATUS, &s, 0);
	return close_deal(&d);
}

static int unsay(struct drive_say *a, const struct key *k)
{
	struct deal d;

	deal_begin(&d, a->copy);
	deal_erase(&d, k);
	return close_deal(&d);
}

int drive_say_turn(struct drive_say *a)
{
	const struct key drives = { .kind = KEY_DRIVE }, said = { .kind = KEY_STATUS, .host = a->host };
	char words[OBJ_WORDS];
	struct key *k;
	size_t n;
	int ret = 0, done = 0;

	if (a->now_ms - a->said_ms < SAY_EVERY_MS)
		return 0;
	a->said_ms = a->now_ms;
	k = copy_keys(a->copy, &drives, 0, &n);
	for (size_t i = 0; i < n && ret >= 0; i++) {
		ret = to_say(a, &k[i].drive, words) ? say(a, &k[i].drive, words) : 0;
		done += ret > 0;
	}
	free(k);
	k = ret < 0 ? NULL : copy_keys(a->copy, &said, 1, &n);
	for (size_t i = 0; k && i < n && ret >= 0; i++) {
		const struct obj_status *s = copy_obj(a->copy, &k[i]);

		if (!s || s->subject != OBJ_OF_DRIVE || strcmp(s->state, away) || to_say(a, &s->about, words))
			continue;
		ret = unsay(a, &k[i]);
		done += ret > 0;
	}
	free(k);
	return ret < 0 ? ret : done;
}
