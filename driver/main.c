// SPDX-License-Identifier: GPL-2.0-only
/* Module init and exit of meshblk: only the order in which the parts start. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/module.h>

static int __init mesh_init(void)
{
	return 0;
}

static void __exit mesh_exit(void)
{
}

module_init(mesh_init);
module_exit(mesh_exit);
MODULE_DESCRIPTION("Meshblk: block devices over remote NVMe drives");
MODULE_LICENSE("GPL");
