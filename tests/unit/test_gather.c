// SPDX-License-Identifier: GPL-2.0-only
/*
 * One drive UUID on several hosts: which of them counts is never a matter of order.
 * The hosts' answers are made here; a stand-in takes the requests.
 */
#include <errno.h>
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/meshd/gather.c"
#include "userspace/libmesh/grow.c"
#include "suite.h"

#define HOSTS	3

struct meshd D;

static const struct muuid vol = { { 1 } }, ext = { { 2 } }, drive = { { 3 } };
static struct store_host hosts[HOSTS] = {
	{ .id = 1, .name = "a", .uuid = { { 11 } } },
	{ .id = 2, .name = "b", .uuid = { { 12 } } },
	{ .id = 3, .name = "c", .uuid = { { 13 } } },
};

/* What each host shows: the drive with the extent, and its label's owner. */
static struct {
	bool	drive;
	bool	extent;
	struct muuid owner;
} show[HOSTS];

static struct layout l = { .members = 1, .member = { { .extent = { { 2 } }, .drive = { { 3 } } } } };

int store_hosts(struct store_host **out, size_t *n)
{
	*out = malloc(sizeof(hosts));
	memcpy(*out, hosts, sizeof(hosts));
	*n = HOSTS;
	return 0;
}

int store_host_by_uuid(const struct muuid *uuid, struct store_host *out)
{
	(void)uuid;
	(void)out;
	return -ENOENT;
}

int peer_call(const struct store_host *h, const struct mgmt_req *q, json_t **data, char *why)
{
	struct mgmt_extent e = { .uuid = ext, .drive = drive, .volume = vol, .version = 1,
				 .commit = 5, .length = 1 << 20, .ready = true };
	json_t *list = json_array(), *owners = json_object();
	size_t i = h->id - 1;
	char text[MUUID_TEXT];

	(void)why;
	CU_ASSERT(q->op == MGMT_RECORDS);
	muuid_text(&drive, text);
	if (show[i].drive)
		jset_uuid(owners, text, &show[i].owner);
	if (show[i].extent)
		json_array_append_new(list, mgmt_extent_pack(&e));
	*data = json_object();
	json_object_set_new(*data, "owners", owners);
	json_object_set_new(*data, "extents", list);
	json_object_set_new(*data, "records", json_array());
	return 0;
}

void peers_each(size_t n, void (*fn)(void *arg, size_t i), void *arg)
{
	size_t i;

	for (i = 0; i < n; i++)
		fn(arg, i);
}

void uuid_random(struct muuid *u)
{
	*u = vol;
}

/* @owner: which host the label at @i names; -1: the drive is not there. */
static void shows(size_t i, int owner, bool extent)
{
	show[i].drive = owner >= 0;
	show[i].extent = extent;
	if (owner >= 0)
		show[i].owner = hosts[owner].uuid;
}

/* The host that is taken, -1: none, with words that name the drive and @a and @b. */
static int taken(const char *a, const char *b)
{
	char why[REASON] = "", away[REASON] = "", text[MUUID_TEXT];
	const struct found *f;
	struct gather g;
	int host;

	CU_ASSERT_FATAL(!gather(&g, &vol, false));
	f = gather_find(&g, &ext);
	host = f ? (int)f->host : -1;
	CU_ASSERT(g.truth.labels == g.nr_found && g.nr_found <= 1);
	if (a) {
		CU_ASSERT(gather_unique(&g, &l, why) == -ENOTUNIQ);
		gather_away(&g, &l.member[0], away);
		CU_ASSERT(!strcmp(why, away));
		muuid_text(&drive, text);
		CU_ASSERT(strstr(why, text) && strstr(why, a) && strstr(why, b));
	} else {
		CU_ASSERT(!gather_unique(&g, &l, why));
	}
	gather_free(&g);
	return host;
}

static void test_one(void)
{
	shows(0, -1, false);
	shows(1, 1, true);
	shows(2, -1, false);
	CU_ASSERT(taken(NULL, NULL) == 1);
	/* Moved here: --take-over need not be known, since it is the only one. */
	shows(1, 0, true);
	CU_ASSERT(taken(NULL, NULL) == 1);
}

static void test_both_own(void)
{
	shows(0, 0, true);
	shows(1, 1, true);
	shows(2, -1, false);
	CU_ASSERT(taken("host a", "host b") == -1);
	/* A copy that was made before the extent was. */
	shows(0, 0, false);
	CU_ASSERT(taken("host a", "host b") == -1);
	shows(0, 0, true);
	shows(1, 1, false);
	CU_ASSERT(taken("host a", "host b") == -1);
}

static void test_neither_owns(void)
{
	shows(0, 2, true);
	shows(1, 2, true);
	shows(2, -1, false);
	CU_ASSERT(taken("host a", "host b") == -1);
}

/* Wherever it is in the list. */
static void test_one_owns(void)
{
	shows(2, -1, false);
	shows(0, 0, true);
	shows(1, 0, true);
	CU_ASSERT(taken(NULL, NULL) == 0);
	shows(0, 1, true);
	shows(1, 1, true);
	CU_ASSERT(taken(NULL, NULL) == 1);
	/* The owner does not have the extent: a copy's word makes up for nothing. */
	shows(1, 1, false);
	CU_ASSERT(taken(NULL, NULL) == -1);
}

static void test_three(void)
{
	shows(0, 2, true);
	shows(1, 2, true);
	shows(2, 2, true);
	CU_ASSERT(taken(NULL, NULL) == 2);
	shows(1, 1, true);
	CU_ASSERT(taken("host b", "host") == -1);
}

/* A host at two addresses, one of which was added without waiting for an answer from it. */
static void test_two_addresses(void)
{
	const struct muuid b = hosts[1].uuid;

	hosts[1].uuid = hosts[0].uuid;
	shows(0, 0, true);
	shows(1, 0, true);
	shows(2, -1, false);
	CU_ASSERT(taken(NULL, NULL) == 0);
	/* A copy of its drive on another one is not recognised by that. */
	shows(2, 2, true);
	CU_ASSERT(taken("host a", "host c") == -1);
	hosts[1].uuid = b;
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "one host", test_one },
		{ "both are owners", test_both_own },
		{ "neither is", test_neither_owns },
		{ "one is", test_one_owns },
		{ "three hosts", test_three },
		{ "one host at two addresses", test_two_addresses },
		{ NULL, NULL },
	};

	return suite_main("gather", tests);
}
