// SPDX-License-Identifier: GPL-2.0-only
/* Module init and exit of meshtgt: only the order in which the parts start. */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/module.h>

static int __init tgt_init(void)
{
	return 0;
}

static void __exit tgt_exit(void)
{
}

module_init(tgt_init);
module_exit(tgt_exit);
MODULE_DESCRIPTION("Meshblk target: lends drives and memory to clients");
MODULE_LICENSE("GPL");
