// SPDX-License-Identifier: GPL-2.0-only
/* Module init and exit of meshtgt: its parameters, and the order in which the parts start. */
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

#define TGT_QUIET_MS		3000	/* a reboot waits that long for queue pairs */

DEFINE_MUTEX(tgt_lock);	/* see tgt.h */
struct workqueue_struct *tgt_wq;
struct workqueue_struct *tgt_io_wq;
unsigned long tgt_started;
uuid_t tgt_boot_id;	/* of this load of the module: nothing of an earlier one is in flight */
bool tgt_stopping;

unsigned int tgt_grace_ms = 60000;
module_param_named(grace_ms, tgt_grace_ms, uint, 0644);
MODULE_PARM_DESC(grace_ms, "after start, only the noted holder of an extent gets it (60000)");

unsigned int tgt_keepalive_ms = 1000;
module_param_named(keepalive_ms, tgt_keepalive_ms, uint, 0644);
MODULE_PARM_DESC(keepalive_ms, "clients say something this often (1000)");

unsigned int tgt_dead_ms = 5000;
module_param_named(dead_ms, tgt_dead_ms, uint, 0644);
MODULE_PARM_DESC(dead_ms, "a client silent for so long is dead (5000)");

/* Longer than rdda_cm_connect_ms() as it is by default: our answer may be lost once. */
unsigned int tgt_proof_ms = 10000;
module_param_named(proof_ms, tgt_proof_ms, uint, 0644);
MODULE_PARM_DESC(proof_ms, "a connection that has not proved the key ends after (10000)");

unsigned int tgt_credits = 32;
module_param_named(credits, tgt_credits, uint, 0644);
MODULE_PARM_DESC(credits, "command messages in flight, per channel (32)");

unsigned int tgt_cmds = 128;
module_param_named(cmds, tgt_cmds, uint, 0644);
MODULE_PARM_DESC(cmds, "commands in flight, per channel (128)");

unsigned int tgt_busy_poll_us;
module_param_named(busy_poll_us, tgt_busy_poll_us, uint, 0644);
MODULE_PARM_DESC(busy_poll_us, "poll for so long before an event is waited for (0)");

RDDA_FAULTS_DEFINE;

/* A kernel that goes down, or is replaced by kexec, must not be written to. */
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
	ret = tgt_poller_init();
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

/* No new orders, no new logins, then the sessions, then what they used. */
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
