/* SPDX-License-Identifier: GPL-2.0-only */
/* Orders of meshd, and what it is notified of. */
#ifndef TGT_NETLINK_H
#define TGT_NETLINK_H

#include <linux/uuid.h>

struct tgt_open_request;
struct tgt_session;

int tgt_nl_init(void);
void tgt_nl_exit(void);
int tgt_nl_grant(u64 request, const uuid_t *drive, const uuid_t *host,
		 const struct tgt_open_request *req);
void tgt_nl_drive_gone(const uuid_t *drive, const char *path);
void tgt_nl_session(struct tgt_session *s);

#endif
