// SPDX-License-Identifier: GPL-2.0-only
/* host check: the way to a host, by the store's objects here and by a job. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"
#include "userspace/daemon/host_check.h"
#include "userspace/daemon/job.h"
#include "userspace/format/json.h"

/* The job has @c, which may outlive the request. */
struct checking {
	struct job *job;
	struct host_check *c;
};

static void drop(void *state)
{
	struct checking *k = state;

	if (k->job)
		job_free(k->job);
	else
		free(k->c);
	free(k);
}

static int run(void *arg)
{
	host_check_run(arg);
	return 0;
}

static bool is_address(const char *text)
{
	char bare[64];
	u8 raw[16];

	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(text, "%"), text);
	return inet_pton(AF_INET, bare, raw) == 1 || inet_pton(AF_INET6, bare, raw) == 1;
}

/* The host that says that it has the address; NULL: none does. */
static const struct obj_host *host_at(const struct api *a, const char *addr)
{
	const struct key all = { .kind = KEY_HOST };
	const struct copy_item *i = NULL;

	while ((i = copy_next(a->d->copy, &all, 0, i))) {
		const struct obj_host *h = i->obj;

		for (u32 k = 0; h && !h->plan.removed && k < h->addresses; k++)
			if (!strcmp(h->address[k].addr, addr))
				return h;
	}
	return NULL;
}

/* This host and the store: without it the other host's addresses are those of before. */
static void check_store(struct api *a, struct host_check *c)
{
	const struct daemon *d = a->d;

	if (d->store_away)
		host_check_line(c, HOST_CHECK_BAD, "store", "the cluster store has not answered this host for %llu s: "
				"%.150s", (unsigned long long)(store_now_ms() - d->store_away_ms) / 1000, d->self.why);
	else if (host_stopped(&d->self))
		host_check_line(c, HOST_CHECK_BAD, "store", "this host decides nothing: %.180s", d->self.why);
	else
		host_check_line(c, HOST_CHECK_OK, "store", "the cluster store answers this host");
}

static void check_host(struct api *a, const struct obj_host *h, struct host_check *c)
{
	const struct obj_alive *alive = copy_obj(a->d->copy, &(struct key) { .kind = KEY_ALIVE, .host = h->plan.uuid });

	if (a->d->store_away)
		return;
	if (alive)
		host_check_line(c, HOST_CHECK_OK, "meshd", "meshd %s of host %s reports itself to the store", alive->meshd,
				h->name);
	else
		host_check_line(c, HOST_CHECK_BAD, "meshd", "host %s is away from the cluster store%s: systemctl status "
				"meshd, there", h->name, h->plan.maintenance ? ", in maintenance" : "");
}

static int prepare(struct api *a, struct host_check *c)
{
	const char *text = api_text(a, "host");
	bool address = is_address(text);
	const struct obj_host *h = address ? host_at(a, text) : NULL;
	int err = address ? 0 : api_host(a, text, &h);

	if (err)
		return err;
	check_store(a, c);
	if (h) {
		c->host = h->plan.uuid;
		c->exports = h->plan.role != PLAN_CLIENT;
		check_host(a, h, c);
	}
	if (address) {
		c->places = 1;
		snprintf(c->place[0].addr, sizeof(c->place[0].addr), "%s", text);
	}
	for (u32 i = 0; h && i < h->addresses && c->places < HOST_CHECK_PLACES; i++) {
		if (!address)
			c->place[c->places++] = h->address[i];
		else if (!strcmp(h->address[i].addr, text))
			c->place[0].port = h->address[i].port;
	}
	if (!c->places)
		host_check_line(c, HOST_CHECK_BAD, "link", "no address of host %s is known: it has no RDMA device that is up, "
				"or did not report itself yet", h->name);
	return 0;
}

static int begin(struct api *a)
{
	struct checking *k = calloc(1, sizeof(*k));
	int err;

	if (!k)
		return -ENOMEM;
	a->state = k;
	a->drop = drop;
	k->c = calloc(1, sizeof(*k->c));
	if (!k->c)
		return -ENOMEM;
	err = prepare(a, k->c);
	if (!err)
		k->job = job_new(run, k->c, free);
	return err ? err : k->job ? 0 : -ENOMEM;
}

static void answer(struct api *a, const struct host_check *c)
{
	json_t *list = json_array(), *j;
	bool good = true;

	for (u32 i = 0; i < c->lines; i++) {
		const struct host_check_line *l = &c->line[i];

		j = json_object();
		jset_str(j, "what", l->what);
		json_object_set_new(j, "ok", l->verdict == HOST_CHECK_NOTE ? json_null() :
				    json_boolean(l->verdict == HOST_CHECK_OK));
		jset_str(j, "says", l->text);
		json_array_append_new(list, j);
		good = good && l->verdict != HOST_CHECK_BAD;
	}
	a->result = json_pack("{s:b, s:o}", "ok", good, "checks", list);
	a->code = !good;
}

int api_host_check(struct api *a)
{
	struct checking *k;
	int err = a->state ? 0 : begin(a);

	if (err)
		return err;
	if (a->gone)
		return 0;
	k = a->state;
	err = job_run(k->job);
	if (err == -EAGAIN)
		return api_fail(a, err, "failed", "there is no thread for it now: try again");
	if (err)
		return err;
	answer(a, k->c);
	return 0;
}
