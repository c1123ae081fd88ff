// SPDX-License-Identifier: GPL-2.0-only
/*
 * rddanumber.ko: extents with access numbers, through RDDA's client and no block device.
 *
 *   insmod rddanumber.ko addr=10.77.0.1 extents=FREE,FOREIGN,OWN,BETWEEN,CLOSED
 *
 * The extents lie on one drive of a target that has just started; what their labels say:
 *   FREE     no number
 *   FOREIGN  0:9:0 (generation, counter, restart) of another host
 *   OWN      0:9:3 of this host
 *   BETWEEN  0:5:0 of another host
 *   CLOSED   0:9:0 of another host, for no others
 * When the log says "waits", the target's time of not knowing is to be ended. Loading runs the
 * test, and fails with EIO when something was wrong; the log says what.
 */
#define pr_fmt(fmt) "rddanumber: " fmt
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "driver/uapi/number.h"
#include "rdda/rdda.h"
#include "rdda/wire.h"

static char *addr = "10.77.0.1";
module_param(addr, charp, 0444);
static char *extents = "";
module_param(extents, charp, 0444);
static char *host = "c0000000-0000-0000-0000-000000000000";
module_param(host, charp, 0444);
static uint wait_ms = 60000;
module_param(wait_ms, uint, 0444);
MODULE_PARM_DESC(wait_ms, "until a state that does not come is an error");

enum { FREE, FOREIGN, OWN, BETWEEN, CLOSED, EXTENTS };

static struct rdda_target *target;
static uuid_t self, uuid[EXTENTS];
static void *page;

/* Report what is wrong, and where. Return: -EIO, or 0 if @ok. */
#define expect(ok, fmt, ...) \
	((ok) ? 0 : (pr_err("%s:%d: %s: " fmt "\n", __func__, __LINE__, #ok, ##__VA_ARGS__), -EIO))

static struct rdda_extent *number_open(unsigned int which, bool rw, u64 number, u64 served)
{
	struct rdda_want want = { .rw = rw, .numbered = true, .number = number, .served = served };

	/* An epoch does not count. */
	want.epoch = 77;
	return rdda_extent_open(target, &uuid[which], &uuid_null, &want, NULL, NULL);
}

/* Wait for a state with its error. Return: 0 or -EIO. */
static int number_wait(struct rdda_extent *e, enum rdda_extent_state state, int err,
		       struct rdda_extent_info *i)
{
	unsigned long end = jiffies + msecs_to_jiffies(wait_ms);

	for (;;) {
		rdda_extent_info(e, i);
		if (i->state == state && i->err == err)
			return 0;
		if (time_after(jiffies, end))
			return expect(false, "state %d, error %d", i->state, i->err);
		msleep(20);
	}
}

struct number_io {
	struct rdda_io io;
	struct completion done;
	int err;
};

static void number_done(struct rdda_io *io, int err)
{
	struct number_io *n = container_of(io, struct number_io, io);

	n->err = err;
	complete(&n->done);
}

/* Read or write the first page of an extent. Return: the error of the I/O. */
static int number_io(struct rdda_extent *e, enum rdda_io_op op)
{
	struct number_io n = {
		.io = { .op = op, .len = PAGE_SIZE, .nents = 1, .done = number_done },
	};
	struct scatterlist sg;

	sg_init_one(&sg, page, PAGE_SIZE);
	n.io.sg = &sg;
	init_completion(&n.done);
	rdda_submit(e, &n.io);
	rdda_commit(e, 0);
	wait_for_completion(&n.done);
	return n.err;
}

static int number_probe(unsigned int which, int want, u64 number, u32 writers, u32 readers)
{
	struct rdda_probe p;
	int ret = rdda_extent_probe(target, &uuid[which], &p);

	if (ret != want)
		return expect(false, "probe of %u: %d", which, ret);
	return expect(p.number == number && p.writers == writers && p.readers == readers,
		      "of %u: %#llx %u %u", which, p.number, p.writers, p.readers);
}

/* The target does not know its openings yet: OPEN waits, also after a probe. */
static int number_unknown(struct rdda_extent **e)
{
	unsigned long end = jiffies + msecs_to_jiffies(wait_ms);
	struct rdda_extent_info i;
	struct rdda_probe p;
	int ret = 0;

	while (!ret && rdda_extent_probe(target, &uuid[FREE], &p) == -ENOLINK) {
		ret = expect(time_before(jiffies, end), "no session");
		msleep(20);
	}
	if (ret)
		return ret;
	ret = expect(p.unknown && !p.number, "%d %#llx", p.unknown, p.number);
	*e = number_open(FREE, true, mesh_number(0, 1, 0), 0);
	ret = ret ?: number_wait(*e, RDDA_EXTENT_OPENING, -EAGAIN, &i);
	pr_info("waits\n");
	return ret ?: number_wait(*e, RDDA_EXTENT_UP, 0, &i) ?:
	       expect(uuid_equal(&i.attacher, &self) && i.attach == mesh_number(0, 1, 0),
		      "%#llx of %pUb", i.attach, &i.attacher);
}

/* Raise the number under a live extent: I/O goes on, and the extent stays up. */
static int number_rises(struct rdda_extent *e)
{
	struct rdda_extent_info i;
	int ret;

	memset(page, 7, PAGE_SIZE);
	ret = number_probe(FREE, 0, mesh_number(0, 1, 0), 1, 0) ?:
	      expect(!number_io(e, RDDA_WRITE), "write") ?:
	      expect(!rdda_extent_number(e, mesh_number(0, 1, 1), 0), "restart") ?:
	      expect(rdda_extent_number(e, mesh_number(0, 1, 0), 0) == -ESTALE, "lower") ?:
	      expect(!rdda_extent_number(e, mesh_number(0, 5, 0), mesh_number(0, 1, 1)),
		     "retake");
	memset(page, 0, PAGE_SIZE);
	rdda_extent_info(e, &i);
	return ret ?: expect(i.state == RDDA_EXTENT_UP && i.attach == mesh_number(0, 5, 0),
			     "%d %#llx", i.state, i.attach) ?:
	       expect(!number_io(e, RDDA_READ) && !memchr_inv(page, 7, PAGE_SIZE), "read") ?:
	       number_probe(FREE, 0, mesh_number(0, 5, 0), 1, 0);
}

/*
 * An extent whose number is refused for good. After the wait for another extent of the drive, whose
 * OPEN would come after one of this extent, the log has no second refusal.
 */
static int number_fenced(unsigned int which, bool rw, u64 number, u64 served, u64 noted)
{
	struct rdda_extent *e = number_open(which, rw, number, served), *other;
	struct rdda_extent_info i;
	int ret;

	ret = number_wait(e, RDDA_EXTENT_REFUSED, -ESTALE, &i) ?:
	      expect(i.attach == noted && !uuid_equal(&i.attacher, &self), "%#llx of %pUb",
		     i.attach, &i.attacher) ?:
	      expect(number_io(e, RDDA_READ) == -EACCES, "I/O");
	if (!ret && rw)
		ret = expect(rdda_extent_number(e, mesh_number(0, 99, 0), 0) == -ESTALE, "again");
	rdda_extent_retry(e, true);
	rdda_extent_set_epoch(e, 78);
	other = number_open(CLOSED, false, mesh_number(0, 9, 0), 0);
	ret = ret ?: number_wait(other, RDDA_EXTENT_REFUSED, -EPERM, &i);
	rdda_extent_close(other);
	rdda_extent_release(e);
	rdda_extent_retry(e, false);
	other = number_open(CLOSED, true, mesh_number(0, 9, 0), 0);
	ret = ret ?: number_wait(other, RDDA_EXTENT_REFUSED, -EPERM, &i) ?:
	      number_wait(e, RDDA_EXTENT_REFUSED, -ESTALE, &i);
	rdda_extent_close(other);
	rdda_extent_close(e);
	return ret;
}

/* An older OPEN of this host's own: I/O waits for a higher restart. */
static int number_restart(void)
{
	struct rdda_extent *e = number_open(OWN, true, mesh_number(0, 9, 1), 0);
	struct rdda_extent_info i;
	int ret;

	ret = number_wait(e, RDDA_EXTENT_REFUSED, -ESTALE, &i) ?:
	      expect(i.attach == mesh_number(0, 9, 3) && uuid_equal(&i.attacher, &self),
		     "%#llx", i.attach) ?:
	      expect(number_io(e, RDDA_READ) == -ENOLINK, "I/O") ?:
	      expect(!rdda_extent_number(e, mesh_number(0, 9, 4), 0), "a higher restart") ?:
	      expect(!number_io(e, RDDA_READ), "I/O");
	rdda_extent_close(e);
	return ret;
}

static int number_readers(void)
{
	struct rdda_extent *e = number_open(FOREIGN, false, mesh_number(0, 9, 0), 0), *held;
	struct rdda_extent_info i;
	int ret;

	ret = number_wait(e, RDDA_EXTENT_UP, 0, &i) ?: expect(!number_io(e, RDDA_READ), "I/O") ?:
	      number_probe(FOREIGN, 0, mesh_number(0, 9, 0), 0, 1);
	held = number_open(FREE, false, mesh_number(0, 5, 0), 0);
	ret = ret ?: number_wait(held, RDDA_EXTENT_REFUSED, -EBUSY, &i) ?:
	      expect(i.attach == mesh_number(0, 5, 0), "%#llx", i.attach);
	rdda_extent_close(held);
	rdda_extent_close(e);
	return ret ?: number_probe(FOREIGN, 0, mesh_number(0, 9, 0), 0, 0);
}

/* A target that does not answer. */
static int number_alone(struct sockaddr_storage *ss)
{
	struct rdda_target *t;
	struct rdda_probe p;
	int ret;

	((struct sockaddr_in *)ss)->sin_port = htons(1);	/* the same place in sockaddr_in6 */
	t = rdda_target_create(ss, NULL, NULL, NULL);
	if (IS_ERR(t))
		return PTR_ERR(t);
	ret = expect(rdda_extent_probe(t, &uuid[FREE], &p) == -ENOLINK, "no session");
	rdda_target_destroy(t);
	return ret;
}

static int number_run(void)
{
	struct rdda_extent *e = NULL;
	struct rdda_probe p;
	int ret;

	ret = number_unknown(&e) ?: number_rises(e) ?:
	      number_probe(CLOSED, -EPERM, mesh_number(0, 9, 0), 0, 0) ?:
	      expect(rdda_extent_probe(target, &self, &p) == -ENODEV, "no such extent") ?:
	      number_readers() ?: number_restart() ?:
	      number_fenced(FOREIGN, true, mesh_number(0, 8, 0), 0, mesh_number(0, 9, 0)) ?:
	      number_fenced(FOREIGN, false, mesh_number(0, 8, 5), 0, mesh_number(0, 9, 0)) ?:
	      number_fenced(BETWEEN, true, mesh_number(0, 9, 0), mesh_number(0, 4, 0),
			    mesh_number(0, 5, 0));
	if (!IS_ERR_OR_NULL(e))
		rdda_extent_close(e);
	return ret;
}

static int number_names(void)
{
	char *list = kstrdup(extents, GFP_KERNEL), *at = list, *one;
	unsigned int i;
	int ret = 0;

	if (!list)
		return -ENOMEM;
	for (i = 0; i < EXTENTS && !ret; i++) {
		one = strsep(&at, ",");
		ret = one ? uuid_parse(one, &uuid[i]) : -EINVAL;
	}
	kfree(list);
	return ret;
}

static int __init rddanumber_init(void)
{
	struct rdda_identity id = { };
	struct sockaddr_storage ss = {};
	char service[8];
	int ret;

	page = (void *)get_zeroed_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	ret = rdda_client_init();
	if (ret)
		goto out_page;
	snprintf(service, sizeof(service), "%u", RDDA_PORT);
	ret = uuid_parse(host, &self) ?: number_names() ?:
	      inet_pton_with_scope(&init_net, AF_UNSPEC, addr, service, &ss);
	id.host = self;
	ret = ret ?: rdda_client_set_identity(&id);
	if (ret)
		goto out_client;
	target = rdda_target_create(&ss, NULL, NULL, NULL);
	if (IS_ERR(target)) {
		ret = PTR_ERR(target);
		goto out_client;
	}
	ret = number_run() ?: number_alone(&ss);
	pr_info("%s %d\n", ret ? "FAILED" : "ok", ret);
	rdda_target_destroy(target);
out_client:
	rdda_client_exit();
out_page:
	free_page((unsigned long)page);
	return ret ? -EIO : 0;
}

static void __exit rddanumber_exit(void)
{
}

module_init(rddanumber_init);
module_exit(rddanumber_exit);
MODULE_DESCRIPTION("Access numbers through RDDA's client (test code)");
MODULE_LICENSE("GPL");
