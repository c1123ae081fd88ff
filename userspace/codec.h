/* SPDX-License-Identifier: GPL-2.0-only */
/* The codec's implementation for this process. */
#ifndef USERSPACE_CODEC_H
#define USERSPACE_CODEC_H

#include "protect/codec/codec.h"

/**
 * codec_best() - the fastest implementation that this CPU runs correctly
 *
 * The first call checks and times them, for about a millisecond; later ones
 * return the same. The first call must not run in two threads at once.
 */
const struct prot_codec_ops *codec_best(void);

/* All that this build has, NULL at the end; some may not be usable here. */
extern const struct prot_codec_ops *const *const codec_list;

#endif
