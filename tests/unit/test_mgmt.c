// SPDX-License-Identifier: GPL-2.0-only
/* Management messages: round trips, and what each side refuses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "userspace/format/json.h"
#include "userspace/format/mgmt.h"
#include "suite.h"

static const struct muuid u1 = { { 1 } }, u2 = { { 2 } }, u3 = { { 3 } };

static int decode(const char *text, struct mgmt_req *r)
{
	return mgmt_req_decode(text, strlen(text), r);
}

/* The smallest layout: one linear segment on one member. */
static struct layout *small(void)
{
	static struct layout l;

	memset(&l, 0, sizeof(l));
	l.volume = u1;
	strcpy(l.name, "v");
	l.version = 1;
	l.commit = 77;
	l.lba = 512;
	l.size = 1 << 20;
	l.members = l.segments = l.refs = 1;
	l.member[0] = (struct layout_member) { .extent = u2, .size = 2 << 20 };
	l.segment[0] = (struct layout_segment) { .length = 1 << 20, .level = PROT_LINEAR,
						 .data = 1, .groups = 1, .refs = 1 };
	l.ref[0].offset = LAYOUT_DATA;
	return &l;
}

static bool believes(enum mgmt_op op)
{
	return op == MGMT_FREE || op == MGMT_RECORD_PUT || op == MGMT_RELEASE;
}

static void test_requests(void)
{
	struct mgmt_req in = { .drive = u1, .extent = u2, .volume = u3, .length = 1ULL << 40,
			       .offset = 4096 }, want, out;
	char *text;

	strcpy(in.name, "vol");
	for (int op = MGMT_HELLO; op < MGMT_OPS; op++) {
		in.op = op;
		want = in;
		want.preempt = op == MGMT_FREE;
		if (believes(op))
			want.believed = (struct mgmt_believed) { .holder = u3, .version = 9,
								 .commit = 1ULL << 62 };
		if (op == MGMT_RECORD_PUT)
			want.record = small();
		text = mgmt_req_encode(&want);
		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		CU_ASSERT_EQUAL(decode(text, &out), 0);
		if (op == MGMT_RECORD_PUT && out.record) {
			CU_ASSERT_EQUAL(out.record->commit, 77);
			CU_ASSERT(muuid_equal(&out.record->member[0].extent, &u2));
			mgmt_req_clear(&out);
			want.record = NULL;
		}
		CU_ASSERT(!memcmp(&want, &out, sizeof(want)));
		for (size_t n = 0; n < strlen(text); n++) {
			CU_ASSERT(mgmt_req_decode(text, n, &out) < 0);
			mgmt_req_clear(&out);
		}
		free(text);
	}
}

/* Whatever changes an extent says what it believes of it. */
static void test_believed(void)
{
	struct mgmt_req in = { .drive = u1, .extent = u2, .volume = u1 }, out;
	json_t *j, *b;
	char *text;

	for (int op = MGMT_HELLO; op < MGMT_OPS; op++) {
		if (!believes(op))
			continue;
		in.op = op;
		in.record = op == MGMT_RECORD_PUT ? small() : NULL;
		text = mgmt_req_encode(&in);
		j = json_loads(text, 0, NULL);
		free(text);
		/* No holder is one that is null: {"version":0,"commit":0} */
		b = json_incref(json_object_get(j, "believed"));
		CU_ASSERT_PTR_NULL(json_object_get(b, "holder"));
		text = json_dumps(j, 0);
		CU_ASSERT_EQUAL(decode(text, &out), 0);
		CU_ASSERT(muuid_null(&out.believed.holder));
		mgmt_req_clear(&out);
		free(text);
		for (int i = 0; i < 5; i++) {
			json_object_set(j, "believed", b);
			if (i == 0)
				json_object_del(j, "believed");
			else if (i == 1)
				json_object_set_new(j, "believed", json_true());
			else if (i == 2)
				json_object_set_new(b, "holder", json_string("no uuid"));
			else if (i == 3)
				json_object_del(b, "holder"), json_object_del(b, "version");
			else
				jset_u64(b, "version", 1), json_object_del(b, "commit");
			text = json_dumps(j, 0);
			CU_ASSERT_EQUAL(decode(text, &out), -EINVAL);
			mgmt_req_clear(&out);
			free(text);
		}
		json_decref(b);
		json_decref(j);
	}
}

static void test_hex(void)
{
	static const u8 raw[] = { 0, 1, 0x7f, 0x80, 0xff };
	u8 back[sizeof(raw)];
	json_t *j = mgmt_hex_pack(raw, sizeof(raw));

	CU_ASSERT_STRING_EQUAL(json_string_value(j), "00017f80ff");
	CU_ASSERT_EQUAL(mgmt_hex_unpack(j, back, sizeof(back)), (int)sizeof(raw));
	CU_ASSERT(!memcmp(raw, back, sizeof(raw)));
	CU_ASSERT_EQUAL(mgmt_hex_unpack(j, back, sizeof(back) - 1), -EINVAL);
	json_string_set(j, "0F");
	CU_ASSERT_EQUAL(mgmt_hex_unpack(j, back, sizeof(back)), -EINVAL);
	json_string_set(j, "012");
	CU_ASSERT_EQUAL(mgmt_hex_unpack(j, back, sizeof(back)), -EINVAL);
	json_string_set(j, "");
	CU_ASSERT_EQUAL(mgmt_hex_unpack(j, back, sizeof(back)), -EINVAL);
	json_decref(j);
	CU_ASSERT_EQUAL(mgmt_hex_unpack(NULL, back, sizeof(back)), -EINVAL);
}

static void test_bad_requests(void)
{
	static const struct { int err; const char *text; } bad[] = {
		{ -EBADMSG, "" },
		{ -EBADMSG, "[]" },
		{ -EBADMSG, "7" },
		{ -EBADMSG, "{}" },
		{ -EBADMSG, "{\"v\":3,\"v\":3,\"op\":\"hello\"}" },
		{ -EPROTONOSUPPORT, "{\"v\":2,\"op\":\"hello\"}" },
		{ -EPROTONOSUPPORT, "{\"v\":3}" },
		{ -EPROTONOSUPPORT, "{\"v\":3,\"op\":\"format\"}" },
		{ -EPROTONOSUPPORT, "{\"v\":3,\"op\":3}" },
		{ -EINVAL, "{\"v\":3,\"op\":\"free\"}" },
		{ -EINVAL, "{\"v\":3,\"op\":\"free\",\"extent\":\"x\"}" },
		{ -EINVAL, "{\"v\":3,\"op\":\"hello\",\"drive\":5}" },
		{ -EINVAL, "{\"v\":3,\"op\":\"hello\",\"length\":-1}" },
		{ -EINVAL, "{\"v\":3,\"op\":\"hello\",\"length\":1.5}" },
		{ -EINVAL, "{\"v\":3,\"op\":\"hello\",\"name\":\"../x\"}" },
		{ -EINVAL, "{\"v\":3,\"op\":\"records\"}" },
	};
	struct mgmt_req r;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CU_ASSERT_EQUAL(decode(bad[i].text, &r), bad[i].err);
		mgmt_req_clear(&r);
	}
	CU_ASSERT_EQUAL(decode("{\"v\":3,\"op\":\"hello\",\"later\":[1]}", &r), 0);
}

/* "alloc" lacks each of what it needs in turn. */
static void test_needs(void)
{
	struct mgmt_req in = { .op = MGMT_ALLOC, .drive = u1, .extent = u2, .volume = u3,
			       .length = 1 }, cut, out;

	for (int i = 0; i < 5; i++) {
		char *text;

		cut = in;
		if (i == 1)
			memset(&cut.drive, 0, 16);
		else if (i == 2)
			memset(&cut.extent, 0, 16);
		else if (i == 3)
			memset(&cut.volume, 0, 16);
		else if (i == 4)
			cut.length = 0;
		text = mgmt_req_encode(&cut);
		CU_ASSERT_EQUAL(decode(text, &out), i ? -EINVAL : 0);
		free(text);
	}
}

static void test_answers(void)
{
	char reason[MGMT_REASON], *text;
	json_t *data;

	text = mgmt_rsp_encode(0, NULL, json_pack("{s:i}", "a", 5));
	CU_ASSERT_EQUAL(mgmt_rsp_decode(text, strlen(text), &data, reason), 0);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(data, "a")), 5);
	json_decref(data);
	free(text);
	text = mgmt_rsp_encode(-ENOSPC, "no room", NULL);
	CU_ASSERT_EQUAL(mgmt_rsp_decode(text, strlen(text), &data, reason), -ENOSPC);
	CU_ASSERT_PTR_NULL(data);
	CU_ASSERT_STRING_EQUAL(reason, "no room");
	free(text);
}

static void test_bad_answers(void)
{
	static const char *const bad[] = {
		"", "[]", "{}", "{\"v\":3}", "{\"v\":1,\"error\":0,\"data\":{}}",
		"{\"v\":3,\"error\":0}", "{\"v\":3,\"error\":0,\"data\":[]}",
		"{\"v\":3,\"error\":5}", "{\"v\":3,\"error\":-4096}", "{\"v\":3,\"error\":\"x\"}",
	};
	char reason[MGMT_REASON];
	json_t *data;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CU_ASSERT_EQUAL(mgmt_rsp_decode(bad[i], strlen(bad[i]), &data, reason), -EBADMSG);
		CU_ASSERT_PTR_NULL(data);
	}
}

static void test_structures(void)
{
	struct mgmt_drive d = { .uuid = u1, .path = "/dev/nvme0n1", .model = "M", .serial = "S",
				.state = "up", .size = 1ULL << 46, .free = 5, .longest = 3,
				.sequence = 12, .lba = 4096, .extents = 2 }, d2 = { 0 };
	struct mgmt_extent e = { .uuid = u1, .drive = u2, .volume = u3, .holder = u1, .name = "v",
				 .start = 1 << 20, .length = 2 << 20, .zeroed = 7,
				 .version = 9, .commit = 10, .attach = ~0ULL >> 1, .attacher = u2,
				 .opens = 2, .recorded = true,
				 .unread = true, .error = -EIO }, e2 = { 0 };
	struct mgmt_volume v = { .uuid = u1, .name = "v", .version = 4, .size = 5, .members = 2,
				 .commit = 8, .here = 1, .open = 1, .shape = { 2, 200, 3, 4 },
				 .holder = u2 }, v2 = { 0 };
	struct mgmt_hello h = { .host = u1, .hostname = "n1", .version = "1", .machine = "m",
				.grace_ms = 60000 }, h2 = { 0 };
	static const char *const not_plain[] = { "\x1b[2J", "a\n", "\x7f", "\xc2\x9b" "2J", "\u202egnp" };
	json_t *j;

	j = mgmt_drive_pack(&d);
	CU_ASSERT_EQUAL(mgmt_drive_unpack(j, &d2), 0);
	CU_ASSERT(!memcmp(&d, &d2, sizeof(d)));
	json_object_del(j, "free");
	CU_ASSERT_EQUAL(mgmt_drive_unpack(j, &d2), -EINVAL);
	json_decref(j);
	j = mgmt_extent_pack(&e);
	CU_ASSERT_EQUAL(mgmt_extent_unpack(j, &e2), 0);
	CU_ASSERT(!memcmp(&e, &e2, sizeof(e)));
	json_object_del(j, "unread");		/* as of a meshd before it */
	CU_ASSERT(!mgmt_extent_unpack(j, &e2) && !e2.unread);
	json_object_del(j, "attach");		/* as of one without a number */
	CU_ASSERT(!mgmt_extent_unpack(j, &e2) && !e2.attach && muuid_null(&e2.attacher));
	jset_u64(j, "attach", 5);
	CU_ASSERT(!mgmt_extent_unpack(j, &e2) && e2.attach == 5);
	json_object_del(j, "attacher");
	CU_ASSERT_EQUAL(mgmt_extent_unpack(j, &e2), -EINVAL);
	json_object_del(j, "attach");
	jset_u64(j, "zeroed", 3 << 20);
	CU_ASSERT_EQUAL(mgmt_extent_unpack(j, &e2), -EINVAL);
	json_decref(j);
	j = mgmt_volume_pack(&v);
	CU_ASSERT_EQUAL(mgmt_volume_unpack(j, &v2), 0);
	CU_ASSERT(!memcmp(&v, &v2, offsetof(struct mgmt_volume, shape) + sizeof(v.shape)));
	jset_str(j, "name", "a/b");
	CU_ASSERT_EQUAL(mgmt_volume_unpack(j, &v2), -EINVAL);
	json_decref(j);
	j = mgmt_hello_pack(&h);
	CU_ASSERT_EQUAL(mgmt_hello_unpack(j, &h2), 0);
	CU_ASSERT(!memcmp(&h, &h2, sizeof(h)));
	/* What goes to a terminal or into a file's name is plain text. */
	jset_str(j, "hostname", "a/b");
	CU_ASSERT_EQUAL(mgmt_hello_unpack(j, &h2), -EINVAL);
	jset_str(j, "hostname", "n1");
	CU_ASSERT_EQUAL(mgmt_hello_unpack(j, &h2), 0);
	for (size_t i = 0; i < ARRAY_SIZE(not_plain); i++) {
		jset_str(j, "version", not_plain[i]);
		CU_ASSERT_EQUAL(mgmt_hello_unpack(j, &h2), -EINVAL);
	}
	json_decref(j);
}

static void test_record(void)
{
	static struct layout l, back;
	json_t *j;
	char *text;

	l = *small();
	j = mgmt_record_pack(&l);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	CU_ASSERT_EQUAL(mgmt_record_unpack(j, &back), 0);
	CU_ASSERT(!memcmp(&l, &back, sizeof(l)));
	text = strdup(json_string_value(j));
	text[200] ^= 1;
	json_string_set(j, text);
	CU_ASSERT_NOT_EQUAL(mgmt_record_unpack(j, &back), 0);
	text[200] = 'g';
	json_string_set(j, text);
	CU_ASSERT_EQUAL(mgmt_record_unpack(j, &back), -EINVAL);
	text[199] = 0;
	json_string_set(j, text);
	CU_ASSERT_EQUAL(mgmt_record_unpack(j, &back), -EINVAL);
	free(text);
	json_decref(j);
	l.version = 0;
	CU_ASSERT_PTR_NULL(mgmt_record_pack(&l));
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "requests", test_requests },
		{ "what is believed", test_believed },
		{ "hexadecimal", test_hex },
		{ "bad requests", test_bad_requests },
		{ "needs", test_needs },
		{ "answers", test_answers },
		{ "bad answers", test_bad_answers },
		{ "structures", test_structures },
		{ "record", test_record },
		{ NULL, NULL },
	};

	return suite_main("mgmt", tests);
}
