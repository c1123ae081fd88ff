/* SPDX-License-Identifier: GPL-2.0-only */
#include <rdma/ib_verbs.h>

#ifndef TESTS_UNIT_RDMA_CM_H
#define TESTS_UNIT_RDMA_CM_H

union ib_gid {
	u8	raw[16];
};

void rdma_read_gids(struct rdma_cm_id *id, union ib_gid *sgid, union ib_gid *dgid);

#endif
