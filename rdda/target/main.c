// SPDX-License-Identifier: GPL-2.0-only
/* Module init and exit of meshtgt: the order in which the parts start and end. */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/module.h>
#include <linux/reboot.h>

#include "rdda/common/fault.h"
#include "rdda/target/arena.h"
#include "rdda/target/channel.h"
#include "rdda/target/cmd.h"
#include "rdda/target/drive.h"
#include "rdda/target/grant.h"
#include "rdda/target/listen.h"
#include "rdda/target/netlink.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"

#define TGT_QUIET_MS		3000	/* longest wait of a reboot for queue pairs */

RDDA_FAULTS_DEFINE;

/* End all sessions: no client may write to a kernel that goes down, or is replaced by kexec. */
static int tgt_reboot(struct notifier_block *nb, unsigned long action, void *data)
{
	tgt_stopping = true;
	tgt_listen_exit();
	tgt_session_kill_all(-ESHUTDOWN);
	tgt_session_quiet(TGT_QUIET_MS);
	return NOTIFY_DONE;
}

static struct notifier_block tgt_reboot_nb = {
	.notifier_call = tgt_reboot,
};

static int __init tgt_init(void)
{
	int ret = -ENOMEM;

	tgt_started = jiffies;
	uuid_gen(&tgt_boot_id);
	tgt_wq = alloc_workqueue("meshtgt", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!tgt_wq)
		return ret;
	tgt_io_wq = alloc_workqueue("meshtgt-io", WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!tgt_io_wq)
		goto err_wq;
	ret = tgt_poller_init(tgt_turns_work);
	if (ret)
		goto err_io_wq;
	ret = tgt_push_init();
	if (ret)
		goto err_poller;
	ret = tgt_cmd_init();
	if (ret)
		goto err_push;
	ret = tgt_sysfs_init();
	if (ret)
		goto err_cmd;
	tgt_session_init();
	ret = tgt_nl_init();
	if (ret)
		goto err_session;
	tgt_share_init();
	register_reboot_notifier(&tgt_reboot_nb);
	return 0;

err_session:
	tgt_session_exit();
	tgt_sysfs_exit();
err_cmd:
	tgt_cmd_exit();
err_push:
	tgt_push_exit();
err_poller:
	tgt_poller_exit();
err_io_wq:
	destroy_workqueue(tgt_io_wq);
err_wq:
	destroy_workqueue(tgt_wq);
	return ret;
}

/* End in this order: orders, logins, sessions, then the parts that sessions use. */
static void __exit tgt_exit(void)
{
	unregister_reboot_notifier(&tgt_reboot_nb);
	tgt_nl_exit();
	tgt_stopping = true;
	tgt_share_exit();
	tgt_listen_exit();
	tgt_session_exit();
	tgt_arena_exit();
	tgt_sysfs_exit();
	tgt_drive_exit();
	tgt_open_exit();
	tgt_cmd_exit();
	tgt_push_exit();
	destroy_workqueue(tgt_io_wq);
	tgt_poller_exit();
	destroy_workqueue(tgt_wq);
	rcu_barrier();
}

module_init(tgt_init);
module_exit(tgt_exit);
MODULE_DESCRIPTION("Meshblk target: exports drives to clients");
MODULE_SOFTDEP("pre: sha256 hmac");
MODULE_LICENSE("GPL");
