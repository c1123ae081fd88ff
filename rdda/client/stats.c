// SPDX-License-Identifier: GPL-2.0-only
/* State and counts of a target, for its users. */
#define pr_fmt(fmt) "rdda: " fmt

#include "rdda/client/channel.h"
#include "rdda/client/session.h"
#include "rdda/client/target.h"

/* Add counts to a sum. The caller keeps both from changing. */
void rdda_counts_sum(struct rdda_counts *to, const struct rdda_counts *from)
{
	to->sends += from->sends;
	to->writes += from->writes;
	to->reads += from->reads;
	to->pushes += from->pushes;
	to->commands += from->commands;
	to->write_bytes += from->write_bytes;
	to->inlines += from->inlines;
}

/* Add the counts of a session's channels to a sum. */
void rdda_counts_add(struct rdda_counts *to, struct rdda_session *s)
{
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < s->nchan; i++) {
		struct rdda_chan *ch = s->chan[i];

		if (!ch)
			continue;
		spin_lock_irqsave(&ch->lock, flags);
		rdda_counts_sum(to, &ch->counts);
		spin_unlock_irqrestore(&ch->lock, flags);
	}
}

/* State and counts of a target; see rdda.h. */
void rdda_target_info(struct rdda_target *t, struct rdda_target_info *info)
{
	struct rdda_session *s = rdda_session_get(t);
	struct rdda_counts c;
	unsigned long flags;

	memset(info, 0, sizeof(*info));
	spin_lock_irqsave(&t->lock, flags);
	info->state = t->state;
	info->err = t->err;
	strscpy(info->reason, t->reason, sizeof(info->reason));
	info->uuid = t->uuid;
	info->reconnects = t->reconnects;
	c = t->counts;
	spin_unlock_irqrestore(&t->lock, flags);
	if (s) {
		rdda_counts_add(&c, s);
		info->session = s->login.id;
		info->channels = s->nchan;
		info->arena_bytes = s->arena.bytes;
		rdda_session_put(s);
	}
	info->sends = c.sends;
	info->writes = c.writes;
	info->reads = c.reads;
	info->pushes = c.pushes;
	info->commands = c.commands;
	info->write_bytes = c.write_bytes;
	info->inlines = c.inlines;
}

/* Queues that a user of the target should have; see rdda.h. */
unsigned int rdda_target_queues(struct rdda_target *t)
{
	struct rdda_session *s = rdda_session_get(t);
	unsigned int n = 1;

	if (s) {
		n = s->chan[0]->login.proof.login.channels;
		rdda_session_put(s);
	}
	return n;
}
