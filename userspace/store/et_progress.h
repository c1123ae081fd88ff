/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far a watch is, over streams that end at any event. Pure.
 *
 *	after = 7	all of revision 7 and before is delivered
 *	revision = 9, seen = 2: two events of revision 9 are delivered, more of it may follow
 *
 * etcd may split the events of one revision into several responses ("fragments"), and their order
 * is the same each time. A stream that begins again within a revision leaves out what was seen.
 * The revision of an answer without events is not used: etcd 3.4 may send it before events of it.
 */
#ifndef STORE_ET_PROGRESS_H
#define STORE_ET_PROGRESS_H

#include <linux/types.h>

struct et_progress {
	u64	after;
	u64	revision;	/* of the last event, above @after; only while @seen is not 0 */
	u32	seen;
	u32	skip;		/* events of @revision that the present stream repeats */
};

void et_progress_begin(struct et_progress *p, u64 after);
/* A new stream: the revision that it begins with. */
u64 et_progress_stream(struct et_progress *p);
/* True: deliver an event of this revision; false: it was delivered before. */
bool et_progress_event(struct et_progress *p, u64 revision);
/* The event was delivered. */
void et_progress_delivered(struct et_progress *p, u64 revision);
/* A response with events ended, and with it a revision. */
void et_progress_whole(struct et_progress *p);
/* The highest revision that the store is known to have had. */
u64 et_progress_known(const struct et_progress *p);

/* What a stream's answer or a read says of the store behind it. */
struct et_store {
	u64	cluster;	/* 0: not known */
	u64	term;
	u64	revision;
};

enum et_same {
	ET_SAME,
	ET_DOUBT,	/* behind: a member that lags, or a store that was put back */
	ET_OTHER,
};

/**
 * et_same() - is the store that answers the one of which a watch is
 * @known: cluster and term as they were, revision from et_progress_known()
 * @linearizable: the answer is from a read that no member that lags can give
 */
enum et_same et_same(const struct et_store *known, const struct et_store *now, bool linearizable);

#endif
