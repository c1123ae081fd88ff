/* SPDX-License-Identifier: GPL-2.0-only */
#include <rdma/ib_verbs.h>
