/* SPDX-License-Identifier: GPL-2.0-only */
/* Orders of meshd, requests to meshd and notifications of events. */
#ifndef TGT_NETLINK_H
#define TGT_NETLINK_H

#include <linux/uuid.h>

struct genl_family;
struct tgt_open_request;
struct tgt_session;

int tgt_nl_init(void);
void tgt_nl_exit(void);

/* events.c */
int tgt_events_init(const struct genl_family *of);
void tgt_events_exit(void);
void tgt_server_set(u32 port);
bool tgt_server_is(u32 port);
int tgt_nl_grant(u64 request, const uuid_t *drive, const uuid_t *host,
		 const struct tgt_open_request *req);
void tgt_nl_drive_gone(const uuid_t *drive, const char *path);
void tgt_nl_session(const struct tgt_session *s, const char *state);

#endif
