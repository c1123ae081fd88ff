// SPDX-License-Identifier: GPL-2.0-only
/* What a store names: the reasons why a host cannot change its cluster, and where store hosts are. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/daemon/cluster_in.h"
#include "userspace/format/objects.h"

#define SHOWN_MAX	4	/* names in a sentence; of the others the number */
#define LIST_TEXT	(CLUSTER_WHY - 140)

/* Names that a sentence lists. */
struct list {
	char	text[LIST_TEXT];
	size_t	at;
	unsigned int n;
	const struct muuid *host;
	struct address *address;	/* of store hosts */
	size_t	addresses;
	u16	port;
};

typedef void (*each_fn)(struct list *l, const struct key *k, const union obj_any *x);

static void list_add(struct list *l, const char *noun, const char *name)
{
	if (l->n++ >= SHOWN_MAX || l->at + strlen(noun) + strlen(name) + 4 >= sizeof(l->text))
		return;
	l->at += snprintf(l->text + l->at, sizeof(l->text) - l->at, "%s%s %s", l->at ? ", " : "", noun, name);
}

/* A value that the codec refuses is named by its key: it counts, as a later meshd may know it. */
static void one(struct list *l, const struct store_kv *kv, each_fn fn)
{
	union obj_any x = { 0 };
	struct key k;

	if (key_parse(kv->key, &k))
		return;
	if (obj_read(&k, kv->value, kv->len, &x, NULL, 0))
		fn(l, &k, NULL);
	else
		fn(l, &k, &x);
	obj_free(k.kind, &x);
}

static int each(struct store *s, const struct key *of, unsigned int given, each_fn fn, struct list *l,
		char why[CLUSTER_WHY])
{
	char prefix[STORE_KEY_MAX], after[STORE_KEY_MAX] = "";
	struct store_page p;
	bool more;
	int err = key_prefix(of, given, prefix);

	if (err)
		return err;
	do {
		err = store_range(s, prefix, after[0] ? after : NULL, STORE_PAGE_MAX, 0, &p);
		if (err)
			return cluster_fail(why, err, "the store: %.300s", store_why(s));
		for (size_t i = 0; i < p.nr; i++)
			one(l, &p.kv[i], fn);
		more = p.more && p.nr;
		if (more)
			snprintf(after, sizeof(after), "%s", p.kv[p.nr - 1].key);
		store_page_free(&p);
	} while (more);
	return 0;
}

static void add_drive(struct list *l, const struct key *k, const union obj_any *x)
{
	if (x && (x->drive.plan.wanted == PLAN_FORGOTTEN ||
		  (l->host && !muuid_equal(l->host, &x->drive.plan.host))))
		return;
	/* A refused value may be any host's. */
	if (l->host && !x)
		return;
	list_add(l, "drive", x && x->drive.path[0] ? x->drive.path : muuid_str(&k->drive).s);
}

static void add_volume(struct list *l, const struct key *k, const union obj_any *x)
{
	list_add(l, "volume", x ? x->volume.record->name : muuid_str(&k->volume).s);
}

static void add_task(struct list *l, const struct key *k, const union obj_any *x)
{
	if (!x || x->task.state < OBJ_TASK_DONE)
		list_add(l, "task", muuid_str(&k->task).s);
}

static void add_access(struct list *l, const struct key *k, const union obj_any *x)
{
	if (x && x->access.plan.mode == PLAN_RW && muuid_equal(&x->access.plan.holder, l->host))
		list_add(l, "attached volume", muuid_str(&k->volume).s);
}

static void add_reader(struct list *l, const struct key *k, const union obj_any *x)
{
	(void)x;
	if (muuid_equal(&k->host, l->host))
		list_add(l, "attached volume", muuid_str(&k->volume).s);
}

static void add_want(struct list *l, const struct key *k, const union obj_any *x)
{
	(void)x;
	list_add(l, "volume to attach", muuid_str(&k->volume).s);
}

static int used(const struct list *l, const char *whose, const char *advice, char why[CLUSTER_WHY])
{
	char more[32] = "";

	if (!l->n)
		return 0;
	if (l->n > SHOWN_MAX)
		snprintf(more, sizeof(more), " and %u more", l->n - SHOWN_MAX);
	return cluster_fail(why, -EBUSY, "%s %s%s: %s", whose, l->text, more, advice);
}

int cluster_store_used(struct store *s, char why[CLUSTER_WHY])
{
	static const struct { enum key_kind kind; each_fn fn; } kinds[] = {
		{ KEY_DRIVE, add_drive }, { KEY_VOLUME, add_volume }, { KEY_TASK, add_task },
	};
	struct list l = { .n = 0 };
	int err = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !err; i++)
		err = each(s, &(struct key) { .kind = kinds[i].kind }, 0, kinds[i].fn, &l, why);
	return err ? err : used(&l, "this host's own cluster has", "delete volumes and unexport drives "
				"first, or begin the cluster here: meshctl cluster init", why);
}

int cluster_host_used(struct store *s, const struct muuid *host, char why[CLUSTER_WHY])
{
	static const struct { enum key_kind kind; unsigned int given; each_fn fn; } kinds[] = {
		{ KEY_DRIVE, 0, add_drive }, { KEY_ACCESS, 0, add_access }, { KEY_READER, 0, add_reader },
		{ KEY_WANT, 1, add_want },
	};
	struct list l = { .host = host };
	int err = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !err; i++)
		err = each(s, &(struct key) { .kind = kinds[i].kind, .host = *host }, kinds[i].given,
			   kinds[i].fn, &l, why);
	return err ? err : used(&l, "this host has", "detach volumes and unexport drives first", why);
}

static void add_store_host(struct list *l, const struct key *k, const union obj_any *x)
{
	(void)k;
	if (!x || x->host.plan.role != PLAN_STORE || x->host.plan.removed)
		return;
	for (u32 i = 0; i < x->host.addresses && l->addresses < ADDRESS_MAX; i++) {
		struct address *a = &l->address[l->addresses];

		if (!address_name_ok(x->host.address[i].addr))
			continue;
		snprintf(a->name, sizeof(a->name), "%s", x->host.address[i].addr);
		a->port = x->host.address[i].port ? x->host.address[i].port : l->port;
		l->addresses++;
	}
}

int cluster_store_hosts(struct store *s, u16 port, struct address out[ADDRESS_MAX], size_t *n,
			char why[CLUSTER_WHY])
{
	struct list l = { .address = out, .port = port };
	int err = each(s, &(struct key) { .kind = KEY_HOST }, 0, add_store_host, &l, why);

	*n = l.addresses;
	return err;
}
