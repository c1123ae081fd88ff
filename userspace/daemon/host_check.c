// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/host_check.h"
#include "userspace/format/verbs.h"
#include "userspace/libmesh/mesh.h"
#include "userspace/machine/guard.h"
#include "userspace/machine/rdma.h"

#define SESSION_ID	0x7fffffff	/* no volume's: those are counted from 1 on */
#define SESSION_MS	10000
#define POLL_MS		100
#define LINK_LINES	16

void host_check_line(struct host_check *c, enum host_verdict v, const char *what, const char *fmt, ...)
{
	struct host_check_line *l = &c->line[c->lines];
	va_list ap;

	if (c->lines == HOST_CHECK_LINES)
		return;
	l->verdict = v;
	snprintf(l->what, sizeof(l->what), "%s", what);
	va_start(ap, fmt);
	vsnprintf(l->text, sizeof(l->text), fmt, ap);
	va_end(ap);
	c->lines++;
}

/* The session that the kernel has with the host, by UUID or by one of its addresses. */
static bool find(struct mesh *m, const struct host_check *c, struct meshblk_target *out)
{
	struct meshblk_target *all __free(free) = NULL;
	bool found = false;
	size_t n;

	if (meshblk_targets(m, &all, &n))
		return false;
	for (size_t i = 0; i < n && !found; i++) {
		found = !muuid_null(&c->host) && muuid_equal(&all[i].host, &c->host);
		for (u32 k = 0; k < c->places && !found; k++)
			found = !strcmp(all[i].addr, c->place[k].addr);
		if (found)
			*out = all[i];
	}
	return found;
}

static bool is_up(const struct meshblk_target *t)
{
	return !strcmp(t->state, MESHBLK_STATE_UP);
}

/* Until it is up, or the kernel says why it is not. False: it is gone. */
static bool await(struct mesh *m, u32 id, struct meshblk_target *t)
{
	for (unsigned int ms = 0; ms <= SESSION_MS; ms += POLL_MS) {
		if (meshblk_target_get(m, id, t))
			return false;
		if (is_up(t) || t->error)
			return true;
		poll(NULL, 0, POLL_MS);
	}
	return true;
}

/*
 * Soft-RoCE's queue pair for connection messages goes to its error state when one is sent while the
 * interface is down, and never leaves it: nothing else shows that.
 */
static const char *advice(int error, bool link_good)
{
	if (error == -EKEYREJECTED || error == -EACCES)
		return "; the host proves another cluster's key, or was removed from this cluster: 'meshctl host "
		       "list' and 'meshctl cluster status' there say which";
	return link_good ? "; is meshd running there? Soft-RoCE whose interface was down is repaired by 'rdma link "
			   "delete' and 'rdma link add'" : "";
}

static void judge(struct host_check *c, const struct meshblk_target *t, bool link_good)
{
	if (is_up(t))
		host_check_line(c, HOST_CHECK_OK, "session", "connected to %s and logged in: %u channels, %llu KiB of its "
				"memory", t->addr, t->channels, (unsigned long long)t->arena >> 10);
	else
		host_check_line(c, HOST_CHECK_BAD, "session", "not connected to %s: %.90s%s", t->addr,
				t->reason[0] ? t->reason : "no answer", advice(t->error, link_good));
}

/* One of its own, for a moment: no volume of this host needs the other one now. */
static void try(struct host_check *c, struct mesh *m, const struct obj_address *a, bool link_good)
{
	struct meshblk_target t = { .id = SESSION_ID };
	int err = meshblk_target_set(m, SESSION_ID, a->addr, a->port ? a->port : MESH_PORT, &c->host);

	if (err) {
		host_check_line(c, HOST_CHECK_BAD, "session", "the kernel does not connect to %s: %.150s", a->addr,
				mesh_why(m));
		return;
	}
	if (await(m, SESSION_ID, &t))
		judge(c, &t, link_good);
	meshblk_target_del(m, SESSION_ID);
}

static void session(struct host_check *c, struct mesh *m, bool known, const struct meshblk_target *t,
		    bool link_good)
{
	struct meshblk_target now;

	if (muuid_null(&c->host)) {
		host_check_line(c, HOST_CHECK_NOTE, "session", "no login was tried: no host of this cluster has the "
				"address, see 'meshctl host list'");
	} else if (!c->exports) {
		host_check_line(c, HOST_CHECK_NOTE, "session", "no login was tried: a client exports no drives");
	} else if (!m || mesh_family_id(m, false) <= 0) {
		host_check_line(c, HOST_CHECK_BAD, "session", "the kernel's module meshblk is not loaded here");
	} else if (known) {
		if (await(m, t->id, &now))
			judge(c, &now, link_good);
	} else {
		for (u32 i = 0; i < c->places; i++)
			try(c, m, &c->place[i], link_good);
	}
}

/* Return: the way to it is good. */
static bool links(struct host_check *c, const char *addr, bool connected)
{
	struct rdma_line line[LINK_LINES];
	size_t n = rdma_check(addr, connected, line, LINK_LINES);
	bool good = true;

	for (size_t i = 0; i < n; i++) {
		host_check_line(c, line[i].bad ? HOST_CHECK_BAD : HOST_CHECK_OK, "link", "%s", line[i].text);
		good = good && !line[i].bad;
	}
	return good;
}

void host_check_run(struct host_check *c)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshblk_target t;
	bool known = m && find(m, c, &t), good = true;

	for (u32 i = 0; i < c->places; i++)
		good &= links(c, c->place[i].addr, known && is_up(&t) && !strcmp(t.addr, c->place[i].addr));
	session(c, m, known, &t, good);
}
