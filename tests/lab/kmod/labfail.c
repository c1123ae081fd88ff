// SPDX-License-Identifier: GPL-2.0-only
/*
 * labfail: does, when loaded, what the lab must notice (tests/lab/selftest).
 * Never part of a product build.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *what = "warn";
module_param(what, charp, 0);
MODULE_PARM_DESC(what, "warn, oops, panic, refcount, atomic, leak or deadlock");

static DEFINE_MUTEX(lock_a);
static DEFINE_MUTEX(lock_b);
static DEFINE_SPINLOCK(spin);

static void do_refcount(void)
{
	refcount_t r = REFCOUNT_INIT(0);

	refcount_inc(&r);
}

static void do_oops(void)
{
	int *volatile p = NULL;

	*p = 1;
}

static void do_leak(void)
{
	void *volatile p = kmalloc(1234, GFP_KERNEL);

	p = NULL;
}

/* Never hangs; only lockdep sees that it could. */
static void do_deadlock(void)
{
	mutex_lock(&lock_a);
	mutex_lock(&lock_b);
	mutex_unlock(&lock_b);
	mutex_unlock(&lock_a);
	mutex_lock(&lock_b);
	mutex_lock(&lock_a);
	mutex_unlock(&lock_a);
	mutex_unlock(&lock_b);
}

static int __init labfail_init(void)
{
	if (!strcmp(what, "warn"))
		WARN(1, "labfail\n");
	else if (!strcmp(what, "oops"))
		do_oops();
	else if (!strcmp(what, "panic"))
		panic("labfail");
	else if (!strcmp(what, "refcount"))
		do_refcount();
	else if (!strcmp(what, "leak"))
		do_leak();
	else if (!strcmp(what, "deadlock"))
		do_deadlock();
	else if (!strcmp(what, "atomic")) {
		spin_lock(&spin);
		msleep(10);
		spin_unlock(&spin);
	} else {
		return -EINVAL;
	}
	return 0;
}

static void __exit labfail_exit(void)
{
}

module_init(labfail_init);
module_exit(labfail_exit);
MODULE_DESCRIPTION("Mistakes for the lab to notice");
MODULE_LICENSE("GPL");
