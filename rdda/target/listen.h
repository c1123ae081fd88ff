/* SPDX-License-Identifier: GPL-2.0-only */
/* Listeners and logins; places for connections without a proof; counts of refused logins. */
#ifndef TGT_LISTEN_H
#define TGT_LISTEN_H

#include <linux/uuid.h>

#include "rdda/common/auth.h"

struct netlink_ext_ack;
struct rdma_cm_id;
struct tgt_session;
struct tgt_unproven;

int tgt_listen(const char *addr, u16 port, struct netlink_ext_ack *extack);
void tgt_listen_exit(void);

/* reasons.c */
#define TGT_UNPROVEN_MAX	64	/* connections that have not proved the key */
struct tgt_unproven *tgt_unproven_get(struct rdma_cm_id *cm);
void tgt_unproven_free(struct tgt_unproven *u);
void tgt_unproven_set(struct tgt_unproven *u, struct tgt_session *s);
void tgt_unproven_put(struct tgt_session *s);
const char *tgt_refused_text(int reason);
void tgt_refused(int reason);
u64 tgt_refused_count(int reason);
unsigned int tgt_unproven(void);

#endif
