/* SPDX-License-Identifier: GPL-2.0-only */
/* Logins, and who we are to them. */
#ifndef TGT_LISTEN_H
#define TGT_LISTEN_H

#include <linux/uuid.h>

#include "rdda/common/auth.h"

struct netlink_ext_ack;
struct tgt_session;

int tgt_listen(const char *addr, u16 port, struct netlink_ext_ack *extack);
void tgt_listen_exit(void);
bool tgt_identity(uuid_t *host);
bool tgt_identity_counts(const struct rdda_key *key);
void tgt_identity_set(const uuid_t *host, const struct rdda_key key[2]);
void tgt_unproven_put(struct tgt_session *s);
const char *tgt_refused_text(int reason);
void tgt_refused(int reason);
u64 tgt_refused_count(int reason);
unsigned int tgt_unproven(void);

#endif
