// SPDX-License-Identifier: GPL-2.0-only
/* The registry of targets. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/netlink.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "driver/member/target.h"
#include "driver/netlink/events.h"
#include "driver/uapi/meshblk.h"
#include "driver/until.h"

static DEFINE_MUTEX(mesh_targets_lock);
static LIST_HEAD(mesh_targets);

uuid_t mesh_host_uuid;

const char *mesh_target_state_name(enum rdda_target_state s)
{
	static const char *const names[] = {
		[RDDA_TARGET_DOWN] = MESHBLK_STATE_DOWN,
		[RDDA_TARGET_CONNECTING] = MESHBLK_STATE_CONNECTING,
		[RDDA_TARGET_UP] = MESHBLK_STATE_UP,
	};

	return s < ARRAY_SIZE(names) ? names[s] : "?";
}

static void mesh_target_state(void *priv, enum rdda_target_state state, int err)
{
	struct mesh_target *t = priv;
	struct rdda_target_info info;

	mutex_lock(&t->lock);		/* wait until t->rdda is set */
	mutex_unlock(&t->lock);
	rdda_target_info(t->rdda, &info);
	info.reason[sizeof(info.reason) - 1] = 0;
	mesh_event_target(t->conf.id, mesh_target_state_name(state), err, info.reason);
}

static const struct rdda_target_ops mesh_target_ops = {
	.state = mesh_target_state,
};

static struct mesh_target *mesh_target_find(u32 id)
{
	struct mesh_target *t;

	lockdep_assert_held(&mesh_targets_lock);
	list_for_each_entry(t, &mesh_targets, node)
		if (t->conf.id == id)
			return t;
	return NULL;
}

/* Return: the target with this number and a reference, or NULL. */
struct mesh_target *mesh_target_get(u32 id)
{
	struct mesh_target *t;

	mutex_lock(&mesh_targets_lock);
	t = mesh_target_find(id);
	if (t)
		t->refs++;
	mutex_unlock(&mesh_targets_lock);
	return t;
}

/* For dumps: the target after the first @skip, with a reference, or NULL. */
struct mesh_target *mesh_target_next(unsigned int skip)
{
	struct mesh_target *t, *found = NULL;

	mutex_lock(&mesh_targets_lock);
	list_for_each_entry(t, &mesh_targets, node) {
		if (!skip--) {
			t->refs++;
			found = t;
			break;
		}
	}
	mutex_unlock(&mesh_targets_lock);
	return found;
}

/* Sleeps if the reference is the last one: the session is ended. */
void mesh_target_put(struct mesh_target *t)
{
	bool last;

	mutex_lock(&mesh_targets_lock);
	last = !--t->refs;
	mutex_unlock(&mesh_targets_lock);
	if (!last)
		return;
	rdda_target_destroy(t->rdda);
	kfree(t);
}

static void mesh_target_put_now(void *t)
{
	mesh_target_put(t);
}

/* As mesh_target_put(), for a handler: a slow end of the session goes on in the background. */
static void mesh_target_end(struct mesh_target *t)
{
	mesh_run_until(mesh_target_put_now, t, jiffies + msecs_to_jiffies(MESH_SETTLE_MS));
}

static int mesh_target_connect(struct mesh_target *t, struct netlink_ext_ack *extack)
{
	struct sockaddr_storage addr;
	char port[8];
	int err;

	snprintf(port, sizeof(port), "%u", t->conf.port);
	err = inet_pton_with_scope(&init_net, AF_UNSPEC, t->conf.addr, port, &addr);
	if (err) {
		NL_SET_ERR_MSG(extack, "not an IP address");
		return err;
	}
	mutex_lock(&t->lock);
	t->rdda = rdda_target_create(&addr, uuid_is_null(&t->conf.host) ? NULL : &t->conf.host,
				     &mesh_target_ops, t);
	if (IS_ERR_OR_NULL(t->rdda))
		err = t->rdda ? PTR_ERR(t->rdda) : -ENOMEM;
	mutex_unlock(&t->lock);
	if (err)
		NL_SET_ERR_MSG(extack, "no session can be begun; is the identity set?");
	return err;
}

static int mesh_target_new(const struct mesh_target_conf *conf, struct netlink_ext_ack *extack)
{
	struct mesh_target *t;
	int err;

	lockdep_assert_held(&mesh_targets_lock);
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	t->conf = *conf;
	t->refs = 1;
	mutex_init(&t->lock);
	err = mesh_target_connect(t, extack);
	if (err)
		kfree(t);
	else
		list_add_tail(&t->node, &mesh_targets);
	return err;
}

/*
 * Return: true if the target's session fits @conf. A session that was begun for any host is bound
 * to the host that it has, if @conf names that host.
 */
static bool mesh_target_same(struct mesh_target *t, const struct mesh_target_conf *conf)
{
	lockdep_assert_held(&mesh_targets_lock);
	if (t->conf.port != conf->port || strcmp(t->conf.addr, conf->addr))
		return false;
	if (uuid_is_null(&t->conf.host) && !uuid_is_null(&conf->host) &&
	    rdda_target_expect(t->rdda, &conf->host))
		t->conf.host = conf->host;
	return uuid_equal(&t->conf.host, &conf->host);
}

/*
 * Begin to keep a session with a target. Return: 0, also for a target that is there already;
 * -EBUSY: the target is there at another address, or as another host, and members use it; or
 * another errno.
 */
int mesh_target_set(const struct mesh_target_conf *conf, struct netlink_ext_ack *extack)
{
	struct mesh_target *t, *old = NULL;
	int err = 0;

	mutex_lock(&mesh_targets_lock);
	t = mesh_target_find(conf->id);
	if (t && mesh_target_same(t, conf))
		goto unlock;
	if (t && t->refs > 1) {
		NL_SET_ERR_MSG(extack, "members use it at another address, or as another host");
		err = -EBUSY;
		goto unlock;
	}
	err = mesh_target_new(conf, extack);
	if (!err && t) {
		list_del(&t->node);
		old = t;
	}
unlock:
	mutex_unlock(&mesh_targets_lock);
	if (old)
		mesh_target_end(old);
	return err;
}

int mesh_target_del(u32 id, struct netlink_ext_ack *extack)
{
	struct mesh_target *t;
	int err = 0;

	mutex_lock(&mesh_targets_lock);
	t = mesh_target_find(id);
	if (!t) {
		NL_SET_ERR_MSG(extack, "no such target");
		err = -ENOENT;
	} else if (t->refs > 1) {
		NL_SET_ERR_MSG(extack, "members use the target");
		err = -EBUSY;
	} else {
		list_del(&t->node);
	}
	mutex_unlock(&mesh_targets_lock);
	if (!err)
		mesh_target_end(t);
	return err;
}

/* Module exit: there are no members any more. */
void mesh_targets_exit(void)
{
	struct mesh_target *t, *next;

	list_for_each_entry_safe(t, next, &mesh_targets, node) {
		list_del(&t->node);
		mesh_target_put(t);
	}
}
