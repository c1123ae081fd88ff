// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verbs, and the file they are written to.
 *
 *   login NAME ADDR PORT HOST BOOT NUMBER [KEYID KEYHEX] [OPTION...]
 *				from=ADDR features=BITS channels=N
 *   join NAME FIRST CHANNEL [bad|of=OTHER]	another channel of FIRST's session; with
 *				a wrong proof, or with the proof that OTHER sent
 *   prove NAME [bad|boot]	the answer and the arena; with a wrong proof, or of another
 *				boot than the login's
 *   bounce NAME		register and announce the bounce arena
 *   open NAME EXTENT ro|rw EPOCH [preempt] [again] [probe] [number=N] [served=N]
 *   close NAME HANDLE
 *   io NAME write|read|push|zeroes|discard|flush NSID SLBA BLOCKS SEED [OPTION...]
 *				off=N shift=9|12 nowait
 *   wait NAME			for commands sent with nowait
 *   keys NAME			pieces and their keys
 *   touch NAME read|write RKEY OFF BYTES	bare RDMA
 *   raw NAME HEX		SEND these bytes
 *   storm NAME SEED COUNT	SEND random messages
 *   flood NAME NSID COUNT	more commands than granted
 *   quiet NAME			no more PINGs
 *   bye NAME			end in order
 *   state NAME [MS]		up or lost; waits up to MS for lost
 *   drop NAME | all
 *   load NAME NSID SLBA PAGES SHIFT DEPTH	keep DEPTH reads of 4 KiB in flight
 *   unload all		what came of it, of the connection with the fewest and the most
 *   hammer HOST ADDR PORT KEYID FROM...	log in from each of these addresses, all the time
 *   unhammer all		what came of it
 *   serve ADDR PORT PERMILLE SEED	be a target that lies that often, at most
 *   served all			what came of it
 *   unserve all
 */
#define pr_fmt(fmt) "meshpeer: " fmt
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "peer.h"

#define WORDS	16

static DEFINE_MUTEX(do_lock);	/* one verb at a time; all below */
static char said[4096];
static size_t said_len;
static struct dentry *folder;

/**
 * peer_say() - add to what the file shows
 * @fmt: text
 */
void peer_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	said_len += vscnprintf(said + said_len, sizeof(said) - said_len, fmt, ap);
	va_end(ap);
}

/**
 * peer_find() - a connection by name
 * @name: that login gave
 */
struct peer_conn *peer_find(const char *name)
{
	struct peer_conn *c;

	list_for_each_entry(c, &peer_conns, node)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static int do_keys(struct peer_conn *c, int argc, char **argv)
{
	unsigned int i;

	for (i = 0; i < c->nr_pieces; i++)
		peer_say("off=%u len=%u rkey=%u\n", le32_to_cpu(c->piece[i].off),
			 le32_to_cpu(c->piece[i].len), le32_to_cpu(c->piece[i].rkey));
	return 0;
}

static bool is_lost(struct peer_conn *c, long arg)
{
	return c->lost;
}

static int do_state(struct peer_conn *c, int argc, char **argv)
{
	unsigned int ms = 0;

	if (argc && kstrtouint(argv[0], 0, &ms))
		return -EINVAL;
	peer_wait(c, is_lost, 0, ms);
	peer_say("%s events=%u last=%u\n", c->lost ? "lost" : "up", c->events, c->last_event);
	return 0;
}

static int do_quiet(struct peer_conn *c, int argc, char **argv)
{
	c->quiet = true;
	return 0;
}

static int do_bye(struct peer_conn *c, int argc, char **argv)
{
	struct rdda_note m = {
		.hdr.type = RDDA_BYE,
		.hdr.len = cpu_to_le32(sizeof(m)),
	};

	return peer_send(c, &m, sizeof(m));
}

static int do_drop(struct peer_conn *c, int argc, char **argv)
{
	peer_drop(c);
	return 0;
}

static int do_bounce(struct peer_conn *c, int argc, char **argv)
{
	return peer_bounce(c);
}

static const struct {
	const char *verb;
	int (*fn)(struct peer_conn *c, int argc, char **argv);
} verbs[] = {
	{ "prove", peer_prove },
	{ "bounce", do_bounce },
	{ "open", peer_open },
	{ "close", peer_close },
	{ "io", peer_io },
	{ "wait", peer_io_wait },
	{ "load", peer_load },
	{ "keys", do_keys },
	{ "touch", peer_touch },
	{ "raw", peer_raw },
	{ "storm", peer_storm },
	{ "flood", peer_flood },
	{ "quiet", do_quiet },
	{ "bye", do_bye },
	{ "state", do_state },
	{ "drop", do_drop },
};

static void drop_all(void)
{
	struct peer_conn *c, *next;

	list_for_each_entry_safe(c, next, &peer_conns, node)
		peer_drop(c);
}

static void unload_all(void)
{
	u32 ended, least = U32_MAX, most = 0;
	struct peer_conn *c;

	list_for_each_entry(c, &peer_conns, node) {
		ended = peer_load_stop(c);
		if (ended == U32_MAX)
			continue;
		least = min(least, ended);
		most = max(most, ended);
	}
	peer_say("loaded=%lld least=%u most=%u\n", atomic64_read(&peer_loaded), least, most);
}

static int run(int argc, char **argv)
{
	struct peer_conn *c;
	unsigned int i;

	if (argc < 2)
		return -EINVAL;
	if (!strcmp(argv[0], "login"))
		return peer_login(argc - 1, argv + 1);
	if (!strcmp(argv[0], "join"))
		return peer_join(argc - 1, argv + 1);
	if (!strcmp(argv[0], "drop") && !strcmp(argv[1], "all")) {
		drop_all();
		return 0;
	}
	if (!strcmp(argv[0], "serve"))
		return peer_serve(argc - 1, argv + 1);
	if (!strcmp(argv[0], "served")) {
		peer_served();
		return 0;
	}
	if (!strcmp(argv[0], "unserve")) {
		peer_served();
		peer_unserve();
		return 0;
	}
	if (!strcmp(argv[0], "unload")) {
		unload_all();
		return 0;
	}
	if (!strcmp(argv[0], "hammer"))
		return peer_hammer(argc - 1, argv + 1);
	if (!strcmp(argv[0], "unhammer")) {
		peer_hammer_stop();
		return 0;
	}
	c = peer_find(argv[1]);
	if (!c)
		return -ENOENT;
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(argv[0], verbs[i].verb))
			return verbs[i].fn(c, argc - 2, argv + 2);
	return -EINVAL;
}

/* The write itself succeeds; what came of the verb is what the file shows. */
static ssize_t do_write(struct file *file, const char __user *user, size_t len, loff_t *pos)
{
	char *line = memdup_user_nul(user, min_t(size_t, len, 16384)), *at = line, *word;
	char *argv[WORDS];
	int argc = 0, ret;

	if (IS_ERR(line))
		return PTR_ERR(line);
	while (argc < WORDS && (word = strsep(&at, " \t\n")))
		if (*word)
			argv[argc++] = word;
	mutex_lock(&do_lock);
	said_len = 0;
	ret = run(argc, argv);
	if (ret)
		peer_say("error %d\n", ret);
	else if (!said_len)
		peer_say("ok\n");
	mutex_unlock(&do_lock);
	kfree(line);
	return len;
}

static int do_show(struct seq_file *m, void *v)
{
	mutex_lock(&do_lock);
	seq_write(m, said, said_len);
	mutex_unlock(&do_lock);
	return 0;
}

static int do_open(struct inode *inode, struct file *file)
{
	return single_open(file, do_show, NULL);
}

static const struct file_operations do_fops = {
	.owner = THIS_MODULE,
	.open = do_open,
	.read = seq_read,
	.write = do_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int loaded_get(void *data, u64 *n)
{
	*n = atomic64_read(&peer_loaded);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(loaded_fops, loaded_get, NULL, "%llu\n");

static int __init peer_init(void)
{
	int ret = peer_serve_init();

	if (ret)
		return ret;
	folder = debugfs_create_dir("meshpeer", NULL);
	debugfs_create_file("do", 0600, folder, NULL, &do_fops);
	debugfs_create_file("loaded", 0400, folder, NULL, &loaded_fops);
	return 0;
}

static void __exit peer_exit(void)
{
	debugfs_remove(folder);
	peer_hammer_stop();
	drop_all();
	peer_serve_exit();
}

module_init(peer_init);
module_exit(peer_exit);
MODULE_DESCRIPTION("An RDDA client, or target, for tests, honest or not");
MODULE_LICENSE("GPL");
