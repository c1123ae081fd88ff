/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DRIVER_CODEC_H
#define DRIVER_CODEC_H

#include "protect/codec/codec.h"
#include "protect/engine/group.h"

bool mesh_codec_run(struct prot_group *engine, u32 op, struct prot_map *map);
int mesh_codec_init(void);

#endif
