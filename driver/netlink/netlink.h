/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Family "meshblk", see driver/uapi/meshblk.h.
 *
 *   netlink.c  commands, policies
 *   message.c  parts of messages that all handlers share; the family
 *   layout.c   a message's members and segments
 *   volume.c   VOLUME_SET, VOLUME_GET; ABANDONED_GET
 *   access.c   access numbers, last rosters; VOLUME_DEL, MEMBER_PROBE
 *   group.c    groups in answers; VOLUME_SCRUB, VOLUME_REJOIN, VOLUME_EVICT
 *   witness.c  WITNESS, ROSTER_NOTED
 *   target.c   IDENTITY_SET, TARGET_*
 *   events.[ch]  to meshd: events, ROSTER_NOTE
 */
#ifndef DRIVER_NETLINK_H
#define DRIVER_NETLINK_H

#include <net/genetlink.h>

#include "driver/member/member.h"
#include "driver/uapi/meshblk.h"

struct mesh_access_want;
struct mesh_group;
struct mesh_group_conf;
struct mesh_layout;
struct mesh_volume;
struct prot_layout;

extern struct genl_family mesh_nl_family;

/* Refuse a message. @why: the reason, a static string. */
#define mesh_nl_refuse(info, err, why) ({ GENL_SET_ERR_MSG(info, why); (err); })

/* Objects of a dump; each object has a reference while its message is filled in. */
struct mesh_nl_dump_ops {
	u8	cmd;
	void	*(*next)(unsigned int skip);	/* the object after the first @skip, or NULL */
	int	(*fill)(struct sk_buff *skb, void *object);	/* 0 or -EMSGSIZE */
	void	(*put)(void *object);
};

/* message.c */
int mesh_nl_dump(struct sk_buff *skb, struct netlink_callback *cb,
		 const struct mesh_nl_dump_ops *ops);
int mesh_nl_admin(struct sk_buff *skb, struct genl_info *info);
bool mesh_nl_text(const char *s);
int mesh_nl_put_u64(struct sk_buff *skb, int attr, u64 value);
struct mesh_volume *mesh_nl_volume(struct genl_info *info);

int mesh_nl_member(struct nlattr *attr, struct mesh_member_conf *conf, bool rw,
		   struct genl_info *info);
int mesh_nl_layout(struct genl_info *info, u32 lba, bool rw, struct prot_layout **prot,
		   struct mesh_member_conf **confs, unsigned long **fresh);
int mesh_nl_leavings(struct genl_info *info, const struct prot_layout *l, bool rw,
		     struct mesh_group_conf *groups);
int mesh_nl_put_groups(struct sk_buff *skb, struct mesh_layout *l);

/* access.c */
int mesh_nl_access(struct genl_info *info, bool ro, struct mesh_access_want *want);
int mesh_nl_places_of(struct genl_info *info, int attr, u32 places, unsigned long **bits);
int mesh_nl_put_access(struct sk_buff *skb, struct mesh_volume *vol, struct mesh_layout *l);
int mesh_nl_put_roster(struct sk_buff *skb, struct mesh_group *g);

int mesh_nl_volume_set(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_volume_del(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_volume_get(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_volume_dump(struct sk_buff *skb, struct netlink_callback *cb);
int mesh_nl_abandoned_dump(struct sk_buff *skb, struct netlink_callback *cb);
int mesh_nl_member_probe(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_volume_scrub(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_volume_rejoin(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_volume_evict(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_serve_witness(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_roster_noted(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_identity_set(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_target_set(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_target_del(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_target_get(struct sk_buff *skb, struct genl_info *info);
int mesh_nl_target_dump(struct sk_buff *skb, struct netlink_callback *cb);

/* witness.c */
int mesh_nl_witness_init(void);
void mesh_nl_witness_exit(void);

int mesh_nl_init(void);
void mesh_nl_exit(void);

#endif
