/* SPDX-License-Identifier: GPL-2.0-only */
/* Completions of a channel's receives, if submitters may poll. */
#ifndef RDDA_CLIENT_RECV_H
#define RDDA_CLIENT_RECV_H

#include "rdda/client/channel.h"
#include "rdda/rdda.h"

void rdda_recv_init(struct rdda_chan *ch);
ib_comp_handler rdda_recv_handler(const struct rdda_chan *ch);
void rdda_recv_start(struct rdda_chan *ch);
void rdda_recv_stop(struct rdda_chan *ch);
void rdda_recv_begin(struct rdda_chan *ch, const struct rdda_io *io);

/* Count I/O that has ended on a channel. @ch: locked. */
static inline void rdda_recv_end(struct rdda_chan *ch, const struct rdda_io *io)
{
	if (likely(!ch->walk.own) || io->flags & RDDA_IO_POLLED)
		return;
	WRITE_ONCE(ch->walk.others, ch->walk.others - 1);
}

#endif
