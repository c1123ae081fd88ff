// SPDX-License-Identifier: GPL-2.0-only
/* An object belongs to one folder of a build: this one is for meshpeer. */
#include "rdda/common/qp.c"
