// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access numbers in messages of the family "meshblk": which attributes libmesh sends, and which it
 * reads. The attributes are those of blkctl, with which the kernel is tried.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Sending and receiving are stand-ins below. */
#define mesh_msg	genl_msg
#define mesh_call	genl_call
#define mesh_dump	genl_dump
#include "userspace/libmesh/genl.c"
#undef mesh_msg
#undef mesh_call
#undef mesh_dump

struct nl_msg *mesh_msg(struct mesh *m, enum mesh_family f, u8 cmd, int flags, size_t bytes, int *err);
int mesh_call(struct mesh *m, enum mesh_family f, struct nl_msg *msg, mesh_parse_fn fn, void *arg);
int mesh_dump(struct mesh *m, enum mesh_family f, u8 cmd, mesh_parse_fn fn, struct mesh_list *l);

#include "userspace/libmesh/grow.c"
#include "userspace/libmesh/client.c"
#include "userspace/libmesh/access.c"
#include "userspace/libmesh/serve.c"

#include "suite.h"

static const struct muuid volume = { { 1 } }, host = { { 2 } }, extent = { { 3 } };
static struct nl_msg *sent;	/* the last message */
static struct nl_msg *answer;	/* the kernel's; NULL: an acknowledgment alone */
static struct nl_msg *dump[3];	/* the messages of a dump */
static u32 dumps;
static int refusal;
static u8 sent_cmd;

struct nl_msg *mesh_msg(struct mesh *m, enum mesh_family f, u8 cmd, int flags, size_t bytes, int *err)
{
	struct nl_msg *msg = nlmsg_alloc_size(bytes + 4096);

	(void)m;
	*err = 0;
	(void)f;
	sent_cmd = cmd;
	CU_ASSERT_FATAL(msg && genlmsg_put(msg, 0, 0, 7, 0, flags, cmd, 1));
	return msg;
}

int mesh_call(struct mesh *m, enum mesh_family f, struct nl_msg *msg, mesh_parse_fn fn, void *arg)
{
	struct nlattr *tb[MESHBLK_A_MAX + 1];
	int err = refusal;

	(void)m; (void)f;
	nlmsg_free(sent);
	sent = msg;
	if (answer && fn) {
		CU_ASSERT_EQUAL(genlmsg_parse(nlmsg_hdr(answer), 0, tb, MESHBLK_A_MAX, NULL), 0);
		err = fn(arg, tb, nlmsg_hdr(answer));
		err = err ? err : refusal;
	}
	return err;
}

int mesh_dump(struct mesh *m, enum mesh_family f, u8 cmd, mesh_parse_fn fn, struct mesh_list *l)
{
	struct nlattr *tb[MESHBLK_A_MAX + 1];
	int err = dumps ? 0 : -ENOSYS;

	(void)m; (void)f; (void)cmd;
	*l = (struct mesh_list) { NULL, 0 };
	for (u32 i = 0; i < dumps && !err; i++) {
		CU_ASSERT_EQUAL(genlmsg_parse(nlmsg_hdr(dump[i]), 0, tb, MESHBLK_A_MAX, NULL), 0);
		err = fn(l, tb, nlmsg_hdr(dump[i]));
	}
	return err;
}

int put_secret(struct mesh *m, struct nl_msg *msg, int attr, const char *name, const void *bytes,
	       size_t len)
{
	(void)m; (void)name; (void)bytes; (void)len;
	return nla_put_s32(msg, attr, 99);
}

int put_keys(struct mesh *m, struct nl_msg *msg, int first, const struct mesh_key *keys, size_t n)
{
	(void)m; (void)msg; (void)first; (void)keys; (void)n;
	return -ENOSYS;
}

int call_secret(struct mesh *m, enum mesh_family f, struct nl_msg *msg, int err)
{
	return err ? err : mesh_call(m, f, msg, NULL, NULL);
}

static struct nlattr *has(int attr)
{
	return nlmsg_find_attr(nlmsg_hdr(sent), GENL_HDRLEN, attr);
}

static void begin_answer(u8 cmd)
{
	nlmsg_free(answer);
	answer = nlmsg_alloc_size(1 << 16);
	CU_ASSERT_FATAL(answer && genlmsg_put(answer, 0, 0, 7, 0, 0, cmd, 1));
}

static void end(void)
{
	nlmsg_free(answer);
	nlmsg_free(sent);
	answer = sent = NULL;
	refusal = 0;
}

static u32 places[] = { 1, 5 };
static u8 roster[MESHBLK_ROSTER_BYTES] = { 0x61, [MESHBLK_ROSTER_BYTES - 1] = 0x7a };

static struct meshblk_member one = { .kind = MESHBLK_KIND_MEM, .size = 4096 };

static struct meshblk_volume numbered_volume(void)
{
	return (struct meshblk_volume) { .uuid = volume, .lba = 512, .version = 3, .numbered = true,
		.attach = 1ULL << 51 | 2 << 16, .nr_members = 1, .members = &one };
}

/* The extents that leave, each with the place. */
static void check_leavings(const struct meshblk_leaving *x, u32 n)
{
	struct nlattr *top = has(MESHBLK_A_LEAVINGS), *e;
	int left, i = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(top);
	nla_for_each_nested(e, top, left) {
		struct nlattr *tb[MESHBLK_M_MAX + 1];

		CU_ASSERT_EQUAL(nla_type(e), MESHBLK_A_MEMBER);
		CU_ASSERT_FATAL(!nla_parse_nested(tb, MESHBLK_M_MAX, e, NULL) && tb[MESHBLK_M_PLACE] &&
				tb[MESHBLK_M_EXTENT_UUID] && tb[MESHBLK_M_TARGET_ID] && tb[MESHBLK_M_SIZE]);
		CU_ASSERT_EQUAL(nla_get_u32(tb[MESHBLK_M_PLACE]), x[i].place);
		CU_ASSERT_EQUAL(nla_get_u32(tb[MESHBLK_M_TARGET_ID]), x[i].member.target_id);
		CU_ASSERT(!memcmp(nla_data(tb[MESHBLK_M_EXTENT_UUID]), &x[i].member.extent, 16));
		i++;
	}
	CU_ASSERT_EQUAL(i, (int)n);
}

/* Facts that the store, or the host's record, gives with the layout. */
static void set_facts(void)
{
	struct meshblk_leaving leaving[] = {
		{ 4, { .kind = MESHBLK_KIND_RDDA, .extent = extent, .target_id = 9, .size = 4096 } },
		{ 1, { .kind = MESHBLK_KIND_RDDA, .extent = host, .target_id = 2, .size = 8192 } },
	};
	struct meshblk_volume v = numbered_volume();

	CU_ASSERT_EQUAL(meshblk_volume_set(NULL, &v), 0);
	CU_ASSERT(!has(MESHBLK_A_AGAIN) && !has(MESHBLK_A_FORGOTTEN) && !has(MESHBLK_A_LEAVINGS));
	v.again = true;
	v.forgotten = places;
	v.nr_forgotten = 2;
	v.leavings = leaving;
	v.nr_leavings = 2;
	CU_ASSERT_EQUAL(meshblk_volume_set(NULL, &v), 0);
	CU_ASSERT(has(MESHBLK_A_AGAIN) && !has(MESHBLK_A_BARS) && !has(MESHBLK_A_BESIDE_STORE));
	CU_ASSERT(has(MESHBLK_A_FORGOTTEN) && nla_len(has(MESHBLK_A_FORGOTTEN)) == sizeof(places) &&
		  !memcmp(nla_data(has(MESHBLK_A_FORGOTTEN)), places, sizeof(places)));
	check_leavings(leaving, 2);
	v.numbered = false;
	CU_ASSERT_EQUAL(meshblk_volume_set(NULL, &v), 0);
	CU_ASSERT(!has(MESHBLK_A_AGAIN) && !has(MESHBLK_A_FORGOTTEN) && !has(MESHBLK_A_LEAVINGS));
	end();
}

static void set(void)
{
	struct meshblk_volume v = numbered_volume();

	CU_ASSERT_EQUAL(meshblk_volume_set(NULL, &v), 0);
	CU_ASSERT_EQUAL(sent_cmd, MESHBLK_CMD_VOLUME_SET);
	CU_ASSERT(has(MESHBLK_A_NUMBERED) && nla_len(has(MESHBLK_A_NUMBERED)) == 0);
	/* Also without a salt: of every level. */
	CU_ASSERT(has(MESHBLK_A_ATTACH) && nla_get_u64(has(MESHBLK_A_ATTACH)) == v.attach);
	CU_ASSERT(!has(MESHBLK_A_SALT_SERIAL));
	CU_ASSERT(!has(MESHBLK_A_SERVED));
	CU_ASSERT(!has(MESHBLK_A_BARS) && !has(MESHBLK_A_BESIDE_STORE));
	v.served = 1ULL << 51 | 1 << 16;
	v.bars = places;
	v.nr_bars = 2;
	v.beside_store = true;
	v.salt = 7;
	CU_ASSERT_EQUAL(meshblk_volume_set(NULL, &v), 0);
	CU_ASSERT(has(MESHBLK_A_SERVED) && nla_get_u64(has(MESHBLK_A_SERVED)) == v.served);
	CU_ASSERT_PTR_NOT_NULL(has(MESHBLK_A_BESIDE_STORE));
	CU_ASSERT(has(MESHBLK_A_BARS) && nla_len(has(MESHBLK_A_BARS)) == sizeof(places) &&
		  !memcmp(nla_data(has(MESHBLK_A_BARS)), places, sizeof(places)));
	CU_ASSERT(has(MESHBLK_A_SALT_SERIAL) && has(MESHBLK_A_ATTACH));
	end();
}

/* All that a volume without an access number gets is as it was. */
static void set_unnumbered(void)
{
	struct meshblk_volume v = numbered_volume();

	v.numbered = false;
	v.served = 5;
	v.bars = places;
	v.nr_bars = 2;
	CU_ASSERT_EQUAL(meshblk_volume_set(NULL, &v), 0);
	CU_ASSERT(!has(MESHBLK_A_NUMBERED) && !has(MESHBLK_A_ATTACH));
	CU_ASSERT(!has(MESHBLK_A_SERVED) && !has(MESHBLK_A_BARS));
	v.salt = 7;
	CU_ASSERT_EQUAL(meshblk_volume_set(NULL, &v), 0);
	CU_ASSERT(!has(MESHBLK_A_NUMBERED) && has(MESHBLK_A_ATTACH));
	end();
}

static void put_group(u32 place, size_t bytes)
{
	struct nlattr *g = nla_nest_start(answer, MESHBLK_A_GROUP);

	nla_put_u32(answer, MESHBLK_P_PLACE, place);
	if (bytes)
		nla_put(answer, MESHBLK_P_ROSTER, bytes, roster);
	nla_nest_end(answer, g);
}

/* Two attributes of groups, as the kernel makes them of long tables. */
static void put_groups(void)
{
	struct nlattr *t = nla_nest_start(answer, MESHBLK_A_GROUPS);

	put_group(0, sizeof(roster));
	put_group(2, 0);
	nla_nest_end(answer, t);
	t = nla_nest_start(answer, MESHBLK_A_GROUPS);
	put_group(4, sizeof(roster) - 1);
	nla_nest_end(answer, t);
}

static void ended(void)
{
	struct meshblk_group *g;
	u32 n;

	begin_answer(MESHBLK_CMD_VOLUME_DEL);
	put_groups();
	CU_ASSERT_EQUAL(meshblk_volume_end(NULL, &volume, true, &g, &n), 0);
	CU_ASSERT_EQUAL(sent_cmd, MESHBLK_CMD_VOLUME_DEL);
	CU_ASSERT(has(MESHBLK_A_FORCE) != NULL);
	CU_ASSERT(has(MESHBLK_A_VOLUME_UUID) && !memcmp(nla_data(has(MESHBLK_A_VOLUME_UUID)), &volume, 16));
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT(g[0].place == 0 && g[0].any && !memcmp(g[0].roster, roster, sizeof(roster)));
	CU_ASSERT(g[1].place == 2 && !g[1].any);
	/* No roster has another size. */
	CU_ASSERT(g[2].place == 4 && !g[2].any);
	free(g);
	refusal = -EBUSY;
	CU_ASSERT_EQUAL(meshblk_volume_end(NULL, &volume, false, &g, &n), -EBUSY);
	CU_ASSERT(!has(MESHBLK_A_FORCE) && !g && !n);
	end();
}

static void put_refused(void)
{
	struct nlattr *t = nla_nest_start(answer, MESHBLK_A_MEMBERS);
	struct nlattr *m = nla_nest_start(answer, MESHBLK_A_MEMBER);

	nla_put_u8(answer, MESHBLK_M_KIND, MESHBLK_KIND_RDDA);
	put_uuid(answer, MESHBLK_M_EXTENT_UUID, &extent);
	nla_put_string(answer, MESHBLK_M_STATE, MESHBLK_STATE_REFUSED);
	nla_put_s32(answer, MESHBLK_M_ERROR, -EBUSY);
	nla_put_u64(answer, MESHBLK_M_ATTACH, 77);
	put_uuid(answer, MESHBLK_M_HOLDER, &host);
	nla_nest_end(answer, m);
	nla_nest_end(answer, t);
}

static void get(void)
{
	struct meshblk_volume v;

	begin_answer(MESHBLK_CMD_VOLUME_GET);
	put_uuid(answer, MESHBLK_A_VOLUME_UUID, &volume);
	nla_put_string(answer, MESHBLK_A_STATE, MESHBLK_STATE_FENCED);
	nla_put_flag(answer, MESHBLK_A_NUMBERED);
	nla_put_u64(answer, MESHBLK_A_ATTACH, 5 << 16 | 3);
	nla_put_u64(answer, MESHBLK_A_SERVED, 4 << 16);
	nla_put(answer, MESHBLK_A_BARS, sizeof(places), places);
	nla_put_u64(answer, MESHBLK_A_FENCED, 9 << 16);
	put_uuid(answer, MESHBLK_A_HOST_UUID, &host);
	put_refused();
	put_groups();
	CU_ASSERT_EQUAL(meshblk_volume_get(NULL, &volume, &v), 0);
	CU_ASSERT(v.numbered && v.attach == (5 << 16 | 3) && v.served == 4 << 16);
	CU_ASSERT(v.fenced == 9 << 16 && muuid_equal(&v.fencer, &host));
	CU_ASSERT(v.nr_bars == 2 && v.bars[0] == 1 && v.bars[1] == 5);
	CU_ASSERT_FATAL(v.nr_members == 1 && v.nr_groups == 3);
	CU_ASSERT(v.members[0].attach == 77 && muuid_equal(&v.members[0].holder, &host));
	CU_ASSERT(v.members[0].error == -EBUSY);
	CU_ASSERT(v.groups[0].any && v.groups[2].place == 4);
	meshblk_volume_free(&v);
	CU_ASSERT(!v.bars);
	end();
}

static void probe(void)
{
	struct meshblk_probe p = { .unknown = true };

	begin_answer(MESHBLK_CMD_MEMBER_PROBE);
	nla_put_u64(answer, MESHBLK_A_ATTACH, 6 << 16);
	put_uuid(answer, MESHBLK_A_HOST_UUID, &host);
	nla_put_u32(answer, MESHBLK_A_WRITERS, 1);
	nla_put_u32(answer, MESHBLK_A_READERS, 2);
	CU_ASSERT_EQUAL(meshblk_member_probe(NULL, 4, &extent, &p), 0);
	CU_ASSERT_EQUAL(sent_cmd, MESHBLK_CMD_MEMBER_PROBE);
	CU_ASSERT(has(MESHBLK_A_TARGET_ID) && nla_get_u32(has(MESHBLK_A_TARGET_ID)) == 4);
	CU_ASSERT(has(MESHBLK_A_EXTENT_UUID) && !memcmp(nla_data(has(MESHBLK_A_EXTENT_UUID)), &extent, 16));
	CU_ASSERT(p.attach == 6 << 16 && muuid_equal(&p.attacher, &host));
	CU_ASSERT(p.writers == 1 && p.readers == 2 && !p.unknown);
	nla_put_flag(answer, MESHBLK_A_UNKNOWN);
	CU_ASSERT_EQUAL(meshblk_member_probe(NULL, 4, &extent, &p), 0);
	CU_ASSERT(p.unknown);
	end();
}

static struct mesh_event got;
static u8 got_roster[MESHBLK_ROSTER_BYTES];

static void keep(void *priv, const struct mesh_event *e)
{
	(void)priv;
	got = *e;
	if (e->roster)
		memcpy(got_roster, e->roster, sizeof(got_roster));
}

static void report(void)
{
	struct mesh m = { .family = { 7, 8 } };
	struct listener l = { &m, keep, NULL };
	struct nlmsghdr *h = nlmsg_hdr(answer);

	h->nlmsg_type = 7;
	CU_ASSERT_EQUAL(on_event(answer, &l), NL_OK);
}

static void events(void)
{
	begin_answer(MESHBLK_CMD_EVENT);
	nla_put_u32(answer, MESHBLK_A_EVENT, MESHBLK_EV_FENCED);
	put_uuid(answer, MESHBLK_A_VOLUME_UUID, &volume);
	nla_put_u64(answer, MESHBLK_A_ATTACH, 8 << 16);
	put_uuid(answer, MESHBLK_A_HOST_UUID, &host);
	report();
	CU_ASSERT(got.event == MESHBLK_EV_FENCED && muuid_equal(&got.uuid, &volume));
	CU_ASSERT(got.attach == 8 << 16 && muuid_equal(&got.host, &host) && !got.roster);
	begin_answer(MESHBLK_CMD_EVENT);
	nla_put_u32(answer, MESHBLK_A_EVENT, MESHBLK_EV_ROSTER);
	put_uuid(answer, MESHBLK_A_VOLUME_UUID, &volume);
	nla_put_u32(answer, MESHBLK_A_PLACE, 12);
	nla_put(answer, MESHBLK_A_ROSTER, sizeof(roster), roster);
	report();
	CU_ASSERT(got.event == MESHBLK_EV_ROSTER && got.place == 12 && got.roster);
	CU_ASSERT(!memcmp(got_roster, roster, sizeof(roster)));
	begin_answer(MESHBLK_CMD_EVENT);
	nla_put_u32(answer, MESHBLK_A_EVENT, MESHBLK_EV_ROSTER);
	nla_put(answer, MESHBLK_A_ROSTER, sizeof(roster) - 4, roster);
	report();
	CU_ASSERT(!got.roster);
	end();
}

static struct nl_msg *volume_message(const struct muuid *uuid, u32 members)
{
	struct nl_msg *msg = nlmsg_alloc();
	struct nlattr *table, *nest;

	CU_ASSERT_FATAL(msg && genlmsg_put(msg, 0, 0, 7, 0, 0, MESHBLK_CMD_VOLUME_GET, 1));
	put_uuid(msg, MESHBLK_A_VOLUME_UUID, uuid);
	if (!members)
		return msg;
	table = nla_nest_start(msg, MESHBLK_A_MEMBERS);
	for (u32 i = 0; i < members; i++) {
		nest = nla_nest_start(msg, MESHBLK_A_MEMBER);
		put_uuid(msg, MESHBLK_M_EXTENT_UUID, &extent);
		nla_nest_end(msg, nest);
	}
	nla_nest_end(msg, table);
	return msg;
}

/* A volume with one member, a long one, which the dump sends without its members, and one more. */
static void begin_dump(void)
{
	static const struct muuid uuid[] = { { { 8 } }, { { 1 } }, { { 9 } } };

	for (dumps = 0; dumps < 3; dumps++)
		dump[dumps] = volume_message(&uuid[dumps], dumps != 1);
}

static void end_dump(void)
{
	for (u32 i = 0; i < dumps; i++)
		nlmsg_free(dump[i]);
	dumps = 0;
	end();
}

static void long_volume(void)
{
	struct meshblk_volume *v = NULL;
	size_t n = 0;

	begin_dump();
	answer = volume_message(&volume, 5);
	CU_ASSERT_EQUAL(meshblk_volumes(NULL, &v, &n), 0);
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT_EQUAL(v[0].nr_members, 1);
	CU_ASSERT_EQUAL(v[1].nr_members, 5);
	CU_ASSERT(muuid_equal(&v[1].uuid, &volume));
	CU_ASSERT(v[1].nr_members == 5 && muuid_equal(&v[1].members[4].extent, &extent));
	CU_ASSERT_EQUAL(v[2].nr_members, 1);
	meshblk_volumes_free(v, n);
	end_dump();
}

/* It ends between the dump and the answer; the others are there. */
static void long_volume_gone(void)
{
	struct meshblk_volume *v = NULL;
	size_t n = 0;

	begin_dump();
	refusal = -ENOENT;
	CU_ASSERT_EQUAL(meshblk_volumes(NULL, &v, &n), 0);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	CU_ASSERT_EQUAL(v[0].uuid.b[0], 8);
	CU_ASSERT_EQUAL(v[1].uuid.b[0], 9);
	CU_ASSERT_EQUAL(v[1].nr_members, 1);
	meshblk_volumes_free(v, n);
	/* Of another error nothing is known of it: no list is better than one without it. */
	refusal = -ENOMEM;
	CU_ASSERT_EQUAL(meshblk_volumes(NULL, &v, &n), -ENOMEM);
	CU_ASSERT_EQUAL(n, 0);
	CU_ASSERT_PTR_NULL(v);
	end_dump();
}

static const struct suite_test tests[] = {
	{ "a numbered volume is set", set },
	{ "facts that go with it", set_facts },
	{ "another one is set as before", set_unnumbered },
	{ "the end of a volume gives its rosters", ended },
	{ "a volume's number, bars, holder, and what fenced it", get },
	{ "a dump without the members of a long volume", long_volume },
	{ "a long volume ends meanwhile", long_volume_gone },
	{ "a probe", probe },
	{ "events", events },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("access numbers in messages", tests);
}
