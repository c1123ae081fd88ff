// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/meshtgt: resources of the target, counts of refused logins, and a device for each
 * session that has proved the key. docs/sysfs.md describes the files.
 *
 * A file's show function may use the session: device_unregister() waits for running show functions,
 * and the session goes afterwards.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/device.h>
#include <linux/sysfs.h>

#include "rdda/key.h"
#include "rdda/target/arena.h"
#include "rdda/target/listen.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

static struct class tgt_class = {
	.name = "meshtgt",
};

static struct device *host_dev;

/* The host's own: /sys/class/meshtgt/target */

static ssize_t sessions_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct tgt_session *s;
	unsigned int n = 0;

	mutex_lock(&tgt_lock);
	list_for_each_entry(s, &tgt_sessions, node)
		n += s->client.proved;
	mutex_unlock(&tgt_lock);
	return sysfs_emit(buf, "%u\n", n);
}
static DEVICE_ATTR_RO(sessions);

static ssize_t arena_used_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%lu\n", READ_ONCE(tgt_arena_used));
}
static DEVICE_ATTR_RO(arena_used);

static ssize_t arena_limit_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%lu\n", tgt_arena_limit());
}
static DEVICE_ATTR_RO(arena_limit);

static ssize_t unproven_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", tgt_unproven());
}
static DEVICE_ATTR_RO(unproven);

static struct attribute *host_attrs[] = {
	&dev_attr_sessions.attr,
	&dev_attr_arena_used.attr,
	&dev_attr_arena_limit.attr,
	&dev_attr_unproven.attr,
	NULL
};

static const struct attribute_group host_group = {
	.attrs = host_attrs,
};

/* refused/: a counter for each reason of a refused login */

struct refused_attr {
	struct device_attribute attr;
	int reason;
};

static ssize_t refused_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n",
			  tgt_refused_count(container_of(attr, struct refused_attr, attr)->reason));
}

#define REFUSED(_name, _reason)						\
	static struct refused_attr refused_##_name = {			\
		.attr = { { .name = #_name, .mode = 0444 }, .show = refused_show },	\
		.reason = _reason,					\
	}

REFUSED(all, 0);
REFUSED(malformed, RDDA_REJ_MALFORMED);
REFUSED(version, RDDA_REJ_VERSION);
REFUSED(key, RDDA_REJ_KEY);
REFUSED(busy, RDDA_REJ_BUSY);
REFUSED(channel, RDDA_REJ_CHANNEL);
REFUSED(stale, RDDA_REJ_STALE);
REFUSED(not_ready, RDDA_REJ_NOT_READY);
REFUSED(twin, RDDA_REJ_TWIN);
REFUSED(role, RDDA_REJ_ROLE);
REFUSED(removed, RDDA_REJ_REMOVED);

static struct attribute *refused_attrs[] = {
	&refused_all.attr.attr,
	&refused_malformed.attr.attr,
	&refused_version.attr.attr,
	&refused_key.attr.attr,
	&refused_busy.attr.attr,
	&refused_channel.attr.attr,
	&refused_stale.attr.attr,
	&refused_not_ready.attr.attr,
	&refused_twin.attr.attr,
	&refused_role.attr.attr,
	&refused_removed.attr.attr,
	NULL
};

static const struct attribute_group refused_group = {
	.name = "refused",
	.attrs = refused_attrs,
};

static const struct attribute_group *host_groups[] = {
	&host_group,
	&refused_group,
	NULL
};

/* A session's: /sys/class/meshtgt/session-N */

static ssize_t host_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct tgt_session *s = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%pUb\n", &s->client.host);
}
static DEVICE_ATTR_RO(host);

static ssize_t role_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct tgt_session *s = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", rdda_role_name(s->client.role));
}
static DEVICE_ATTR_RO(role);

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n",
			  tgt_state_name(tgt_session_state(dev_get_drvdata(dev))));
}
static DEVICE_ATTR_RO(state);

static ssize_t channels_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct tgt_session *s = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", s->nr_channels);
}
static DEVICE_ATTR_RO(channels);

static ssize_t memory_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u64 n;

	mutex_lock(&tgt_lock);
	n = tgt_session_memory(dev_get_drvdata(dev));
	mutex_unlock(&tgt_lock);
	return sysfs_emit(buf, "%llu\n", n);
}
static DEVICE_ATTR_RO(memory);

static ssize_t opens_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct tgt_session *s = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", READ_ONCE(s->grants.nr_opens));
}
static DEVICE_ATTR_RO(opens);

#define COUNTER(name, which)							\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr,	\
			   char *buf)						\
{										\
	struct tgt_session *s = dev_get_drvdata(dev);				\
										\
	return sysfs_emit(buf, "%llu\n", tgt_session_count(s, which));	\
}										\
static DEVICE_ATTR_RO(name)

COUNTER(commands, TGT_COMMANDS);
COUNTER(reads, TGT_READS);
COUNTER(read_bytes, TGT_READ_BYTES);
COUNTER(writes, TGT_WRITES);
COUNTER(write_bytes, TGT_WRITE_BYTES);
COUNTER(discards, TGT_DISCARDS);
COUNTER(errors, TGT_ERRORS);
COUNTER(sends, TGT_SENDS);
COUNTER(pushes, TGT_PUSHES);
COUNTER(polled, TGT_POLLED);

static struct attribute *session_attrs[] = {
	&dev_attr_host.attr,
	&dev_attr_role.attr,
	&dev_attr_state.attr,
	&dev_attr_channels.attr,
	&dev_attr_memory.attr,
	&dev_attr_opens.attr,
	&dev_attr_commands.attr,
	&dev_attr_reads.attr,
	&dev_attr_read_bytes.attr,
	&dev_attr_writes.attr,
	&dev_attr_write_bytes.attr,
	&dev_attr_discards.attr,
	&dev_attr_errors.attr,
	&dev_attr_sends.attr,
	&dev_attr_pushes.attr,
	&dev_attr_polled.attr,
	NULL
};
ATTRIBUTE_GROUPS(session);

/*
 * Show a session. @s: session whose client has proved the key; shown until tgt_sysfs_del().
 * Context: process, noio. A session that cannot be shown works nevertheless.
 */
void tgt_sysfs_add(struct tgt_session *s)
{
	struct device *dev = device_create_with_groups(&tgt_class, NULL, MKDEV(0, 0), s,
						       session_groups, "session-%u", s->id);

	if (IS_ERR(dev))
		pr_warn("session %u is not in sysfs: %ld\n", s->id, PTR_ERR(dev));
	else
		s->shown = dev;
}

/*
 * Stop showing a session; waits for readers. @s: session, shown or not. Context: process, without
 * tgt_lock.
 */
void tgt_sysfs_del(struct tgt_session *s)
{
	if (s->shown)
		device_unregister(s->shown);
	s->shown = NULL;
}

/* Make the class and the host's own files. Return: 0 or a negative errno. */
int tgt_sysfs_init(void)
{
	int ret = class_register(&tgt_class);

	if (ret)
		return ret;
	host_dev = device_create_with_groups(&tgt_class, NULL, MKDEV(0, 0), NULL, host_groups,
					     "target");
	if (!IS_ERR(host_dev))
		return 0;
	class_unregister(&tgt_class);
	return PTR_ERR(host_dev);
}

/* Remove the class and the host's own files; no session is left. */
void tgt_sysfs_exit(void)
{
	device_unregister(host_dev);
	class_unregister(&tgt_class);
}
