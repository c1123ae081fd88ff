/* SPDX-License-Identifier: GPL-2.0-only */
/* MESH_FAULTS builds: assert that no page is unmapped while a posted request names the page. */
#ifndef RDDA_CLIENT_DEBUG_H
#define RDDA_CLIENT_DEBUG_H

#include <linux/types.h>

struct rdda_chan;
struct rdda_io;

#ifdef MESH_FAULTS
int rdda_dbg_setup(struct rdda_chan *ch);
void rdda_dbg_free(struct rdda_chan *ch);
void rdda_dbg_posted(struct rdda_chan *ch, const struct rdda_io *io, u32 seq);
void rdda_dbg_done(struct rdda_chan *ch);
void rdda_dbg_unmap(struct rdda_io *io);
void rdda_dbg_destroyed(struct rdda_chan *ch);
#else
static inline int rdda_dbg_setup(struct rdda_chan *ch) { return 0; }
static inline void rdda_dbg_free(struct rdda_chan *ch) { }
static inline void rdda_dbg_posted(struct rdda_chan *ch, const struct rdda_io *io,
				   u32 seq) { }
static inline void rdda_dbg_done(struct rdda_chan *ch) { }
static inline void rdda_dbg_unmap(struct rdda_io *io) { }
static inline void rdda_dbg_destroyed(struct rdda_chan *ch) { }
#endif

#endif
