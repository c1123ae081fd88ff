// SPDX-License-Identifier: GPL-2.0-only
/* Module init and exit of meshblk: the order in which the parts start, and the kinds of members. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/module.h>

#include "driver/block/request.h"
#include "driver/group/codec.h"
#include "driver/member/target.h"
#include "driver/netlink/netlink.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

static int init_kinds(void)
{
	mesh_member_set_kind(MESHBLK_KIND_RDDA, &mesh_rdda_ops);
	mesh_member_set_kind(MESHBLK_KIND_BDEV, &mesh_bdev_ops);
	return 0;
}

/* Started in this order, stopped in reverse. The netlink family comes last: it accepts messages. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} parts[] = {
	{ rdda_client_init, rdda_client_exit },
	{ NULL, mesh_targets_exit },
	{ mesh_plan_init, mesh_plan_exit },
	{ mesh_codec_init, NULL },
	{ mesh_group_pools_init, mesh_group_pools_exit },
	{ mesh_bdev_init, mesh_bdev_exit },
	{ init_kinds, mesh_members_exit },
	{ NULL, mesh_volumes_exit },
	{ mesh_work_init, mesh_work_exit },
	{ mesh_nl_init, mesh_nl_exit },
};

static void mesh_stop(int n)
{
	while (n--)
		if (parts[n].exit)
			parts[n].exit();
}

static int __init mesh_init(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		err = parts[i].init ? parts[i].init() : 0;
		if (err) {
			mesh_stop(i);
			return err;
		}
	}
	return 0;
}

static void __exit mesh_exit(void)
{
	mesh_stop(ARRAY_SIZE(parts));
}

module_init(mesh_init);
module_exit(mesh_exit);
MODULE_DESCRIPTION("Meshblk: block devices over remote NVMe drives");
MODULE_LICENSE("GPL");
/* A login looks these algorithms up by name, where no module can be loaded. */
MODULE_SOFTDEP("pre: sha256 hmac");
