// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "userspace/store/et_progress.h"

void et_progress_begin(struct et_progress *p, u64 after)
{
	memset(p, 0, sizeof(*p));
	p->after = after;
}

u64 et_progress_stream(struct et_progress *p)
{
	p->skip = p->seen;
	return p->seen ? p->revision : p->after + 1;
}

bool et_progress_event(struct et_progress *p, u64 revision)
{
	if (revision <= p->after || (p->seen && revision < p->revision))
		return false;
	if (p->seen && revision == p->revision && p->skip) {
		p->skip--;
		return false;
	}
	return true;
}

void et_progress_delivered(struct et_progress *p, u64 revision)
{
	if (p->seen && revision != p->revision)
		et_progress_whole(p);
	p->revision = revision;
	p->seen++;
}

void et_progress_whole(struct et_progress *p)
{
	if (p->seen)
		p->after = p->revision;
	p->seen = 0;
	p->skip = 0;
}

u64 et_progress_known(const struct et_progress *p)
{
	return p->seen ? p->revision : p->after;
}

enum et_same et_same(const struct et_store *known, const struct et_store *now, bool linearizable)
{
	if (known->cluster && now->cluster != known->cluster)
		return ET_OTHER;
	if (now->revision < known->revision || now->term < known->term)
		return linearizable ? ET_OTHER : ET_DOUBT;
	return ET_SAME;
}
