// SPDX-License-Identifier: GPL-2.0-only
/*
 * blkctl: drives the family "meshblk" by hand, for tests of the driver alone.
 *
 *   blkctl make [options] MEMBER... [+ MEMBER...]...   VOLUME_SET, one segment a group
 *       -u UUID -n NAME -e EPOCH -b LBA -s STRIP -o OFFSET -t TIMEOUT_MS -q DEPTH
 *       -r (read-only) -w SECONDS (wait until active, print the disk) -x (do not
 *       round the last segment's length)
 *     MEMBER: mem:SIZE[:PATH]  bdev:PATH:SIZE  rdda:TARGET:EXTENT:DRIVE:SIZE[:GEN]
 *       each may be followed by @UUID; else a UUID is made from -u and its place
 *   blkctl set FILE            VOLUME_SET from JSON (see set_json())
 *   blkctl del UUID [force]
 *   blkctl get [UUID]          a JSON object a line
 *   blkctl wait UUID STATE [SECONDS]
 *   blkctl identity UUID [KEY_ID KEY [KEY_ID2 KEY2]]
 *   blkctl target-set ID ADDR [PORT] | target-del ID | target-get
 *   blkctl events SECONDS      a JSON object an event
 *   blkctl storm SEED COUNT    bad messages at random; prints how many were taken,
 *                              and how many were refused without words
 *
 * Exit status: 0, 1 refused (the kernel's words on standard error), 2 misuse.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "driver/uapi/meshblk.h"

#define MSG_MAX		(1 << 20)

struct uuid { unsigned char b[16]; };

struct member {
	int kind;
	uint32_t target;
	uint64_t generation, size;
	uint32_t lba;
	struct uuid uuid, drive;
	char path[256];
};

static struct nl_sock *sock;
static int family;
static char refusal[256];

static void __attribute__((noreturn, format(printf, 2, 3))) die(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("blkctl: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(status);
}

/* Values */

static uint64_t parse_size(const char *s)
{
	const char *units = "KMGTP", *u;
	char *e;
	uint64_t v = strtoull(s, &e, 0);

	u = *e ? strchr(units, toupper(*e)) : NULL;
	if (u) {
		v <<= 10 * (u - units + 1);
		e++;
	}
	if (e == s || *e)
		die(2, "not a size: %s", s);
	return v;
}

static struct uuid parse_uuid(const char *s)
{
	struct uuid u;
	unsigned int i, v;
	const char *p = s;

	for (i = 0; i < 16; i++) {
		while (*p == '-')
			p++;
		if (!isxdigit(p[0]) || !isxdigit(p[1]) || sscanf(p, "%2x", &v) != 1)
			die(2, "not a UUID: %s", s);
		u.b[i] = v;
		p += 2;
	}
	return u;
}

static const char *show_uuid(const void *data)
{
	static char buf[4][40];
	static int n;
	const unsigned char *b = data;
	char *s = buf[n++ % 4];
	int i, at = 0;

	for (i = 0; i < 16; i++)
		at += sprintf(s + at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
	return s;
}

/* A UUID for member @i of volume @vol, always the same. */
static struct uuid derive_uuid(struct uuid vol, unsigned int i)
{
	/* Not at the end, where volumes of a case are numbered: no extent has two. */
	vol.b[0] ^= 0xa5;
	vol.b[10] += i >> 8;
	vol.b[11] += i + 1;
	return vol;
}

/* Netlink */

static int on_error(struct sockaddr_nl *who, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *h = (struct nlmsghdr *)((char *)e - NLMSG_HDRLEN);
	unsigned int skip = sizeof(*e);
	struct nlattr *a;
	int rem;

	(void)who;
	*(int *)arg = e->error;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return NL_STOP;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		skip += e->msg.nlmsg_len - NLMSG_HDRLEN;
	rem = (int)h->nlmsg_len - NLMSG_HDRLEN - (int)skip;
	for (a = (struct nlattr *)((char *)e + skip); nla_ok(a, rem); a = nla_next(a, &rem))
		if (nla_type(a) == NLMSGERR_ATTR_MSG)
			snprintf(refusal, sizeof(refusal), "%s", nla_get_string(a));
	return NL_STOP;
}

static int on_end(struct nl_msg *msg, void *arg)
{
	(void)msg;
	*(int *)arg = 0;
	return NL_STOP;
}

typedef int (*answer_fn)(struct nl_msg *msg, void *arg);

static struct nl_sock *open_socket(void)
{
	struct nl_sock *s = nl_socket_alloc();
	int one = 1;

	if (!s || genl_connect(s))
		die(2, "no generic netlink");
	nl_socket_set_buffer_size(s, 4 << 20, 4 << 20);
	nl_socket_set_msg_buf_size(s, MSG_MAX);
	nl_socket_disable_auto_ack(s);
	setsockopt(nl_socket_get_fd(s), 270 /* SOL_NETLINK */, 11 /* NETLINK_EXT_ACK */, &one,
		   sizeof(one));
	return s;
}

static void connect_family(void)
{
	sock = open_socket();
	family = genl_ctrl_resolve(sock, MESHBLK_GENL_NAME);
	if (family < 0)
		die(2, "no family %s: is the module loaded?", MESHBLK_GENL_NAME);
}

static struct nl_msg *new_msg(int cmd, int flags)
{
	struct nl_msg *m = nlmsg_alloc_size(MSG_MAX);

	if (!m || !genlmsg_put(m, 0, 0, family, 0, flags | NLM_F_REQUEST, cmd, MESHBLK_GENL_VERSION))
		die(2, "out of memory");
	return m;
}

/* Sends @m and waits for the end of the answer. Returns 0 or a negative errno. */
static int talk(struct nl_msg *m, answer_fn fn, void *arg)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int err = 1, n;

	if (!(nlmsg_hdr(m)->nlmsg_flags & NLM_F_DUMP))
		nlmsg_hdr(m)->nlmsg_flags |= NLM_F_ACK;
	refusal[0] = 0;
	n = nl_send_auto(sock, m);
	nlmsg_free(m);
	if (n < 0)
		die(2, "send: %s", nl_geterror(n));
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &err);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, &err);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, &err);
	if (fn)
		nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, fn, arg);
	while (err > 0) {
		n = nl_recvmsgs(sock, cb);
		if (n < 0 && err > 0)
			die(2, "receive: %s", nl_geterror(n));
	}
	nl_cb_put(cb);
	return err;
}

static int finish(int err)
{
	if (!err)
		return 0;
	fprintf(stderr, "blkctl: %s%s%s\n", refusal, refusal[0] ? ": " : "", strerror(-err));
	return 1;
}

/* Messages */

static void put_uuid(struct nl_msg *m, int attr, const struct uuid *u)
{
	nla_put(m, attr, sizeof(*u), u);
}

static void put_member(struct nl_msg *m, const struct member *x)
{
	struct nlattr *n = nla_nest_start(m, MESHBLK_A_MEMBER | NLA_F_NESTED);

	nla_put_u8(m, MESHBLK_M_KIND, x->kind);
	put_uuid(m, MESHBLK_M_EXTENT_UUID, &x->uuid);
	nla_put_u64(m, MESHBLK_M_SIZE, x->size);
	if (x->kind == MESHBLK_KIND_RDDA) {
		nla_put_u32(m, MESHBLK_M_TARGET_ID, x->target);
		put_uuid(m, MESHBLK_M_DRIVE_UUID, &x->drive);
		nla_put_u64(m, MESHBLK_M_GENERATION, x->generation);
	}
	if (x->path[0])
		nla_put_string(m, MESHBLK_M_PATH, x->path);
	if (x->lba)
		nla_put_u32(m, MESHBLK_M_LBA, x->lba);
	nla_nest_end(m, n);
}

struct segment {
	uint64_t start, length;
	int level, data, parity, groups;
	uint32_t strip;
	uint32_t nr, *members;
	uint64_t *offsets;
};

static void put_segment(struct nl_msg *m, const struct segment *s)
{
	struct nlattr *n = nla_nest_start(m, MESHBLK_A_SEGMENT | NLA_F_NESTED);

	nla_put_u64(m, MESHBLK_G_START, s->start);
	nla_put_u64(m, MESHBLK_G_LENGTH, s->length);
	nla_put_u8(m, MESHBLK_G_LEVEL, s->level);
	nla_put_u32(m, MESHBLK_G_STRIP, s->strip);
	nla_put_u8(m, MESHBLK_G_DATA, s->data);
	nla_put_u8(m, MESHBLK_G_PARITY, s->parity);
	nla_put_u16(m, MESHBLK_G_GROUPS, s->groups);
	nla_put(m, MESHBLK_G_MEMBERS, s->nr * 4, s->members);
	nla_put(m, MESHBLK_G_OFFSETS, s->nr * 8, s->offsets);
	nla_nest_end(m, n);
}

/* Members and segments in as many attributes as they need. */
static void put_layout(struct nl_msg *m, const struct member *members, int nm,
		       const struct segment *segs, int ns)
{
	struct nlattr *n;
	int i, j;

	for (i = 0; i < nm;) {
		n = nla_nest_start(m, MESHBLK_A_MEMBERS | NLA_F_NESTED);
		for (j = 0; j < 100 && i < nm; j++)
			put_member(m, &members[i++]);
		nla_nest_end(m, n);
	}
	for (i = 0; i < ns;) {
		n = nla_nest_start(m, MESHBLK_A_SEGMENTS | NLA_F_NESTED);
		for (j = 0; j < 10 && i < ns; j++)
			put_segment(m, &segs[i++]);
		nla_nest_end(m, n);
	}
}

/* kind:...[@UUID] */
static struct member parse_member(const char *text, struct uuid uuid, uint32_t lba)
{
	struct member x = { .uuid = uuid };
	char *s = strdup(text), *at = strrchr(s, '@'), *f[6] = { 0 }, *p = s;
	int n = 0;

	if (at) {
		*at = 0;
		x.uuid = parse_uuid(at + 1);
	}
	while (n < 6 && (f[n] = strsep(&p, ":")))
		n++;
	if (!strcmp(f[0], "mem") && n >= 2) {
		x.kind = MESHBLK_KIND_MEM;
		x.size = parse_size(f[1]);
		x.lba = lba;
		if (n > 2)
			snprintf(x.path, sizeof(x.path), "%s", f[2]);
	} else if (!strcmp(f[0], "bdev") && n >= 3) {
		x.kind = MESHBLK_KIND_BDEV;
		snprintf(x.path, sizeof(x.path), "%s", f[1]);
		x.size = parse_size(f[2]);
	} else if (!strcmp(f[0], "rdda") && n >= 5) {
		x.kind = MESHBLK_KIND_RDDA;
		x.target = strtoul(f[1], NULL, 0);
		x.uuid = parse_uuid(f[2]);
		x.drive = parse_uuid(f[3]);
		x.size = parse_size(f[4]);
		x.generation = n > 5 ? strtoull(f[5], NULL, 0) : 1;
	} else {
		die(2, "not a member: %s", text);
	}
	free(s);
	return x;
}

static int wait_state(const char *uuid, const char *state, double seconds);

/* One segment over members [first, first + n), striped when there are several. */
static struct segment make_segment(const struct member *members, int first, int n, uint64_t start,
				   uint32_t strip, uint64_t offset, int exact)
{
	struct segment s = { .start = start, .strip = strip, .data = n, .groups = 1, .nr = n };
	uint64_t least = UINT64_MAX;
	int i;

	s.level = n > 1 ? MESHBLK_LEVEL_STRIPE : MESHBLK_LEVEL_LINEAR;
	s.members = calloc(n, sizeof(*s.members));
	s.offsets = calloc(n, sizeof(*s.offsets));
	for (i = 0; i < n; i++) {
		s.members[i] = first + i;
		s.offsets[i] = offset;
		if (members[first + i].size - offset < least)
			least = members[first + i].size - offset;
	}
	s.length = (exact ? least : least / strip * strip) * n;
	return s;
}

static int cmd_make(int argc, char **argv)
{
	struct uuid vol = parse_uuid("11111111-2222-4333-8444-555555555555");
	const char *name = "v", *uuid = "11111111-2222-4333-8444-555555555555";
	uint64_t epoch = 1, offset = 0, start = 0;
	uint32_t lba = 512, strip = 65536, timeout = 0, depth = 0;
	struct member *members = calloc(4096, sizeof(*members));
	struct segment *segs = calloc(4096, sizeof(*segs));
	int c, nm = 0, ns = 0, first = 0, ro = 0, exact = 0, err;
	double wait = 0;
	struct nl_msg *m;

	while ((c = getopt(argc, argv, "+u:n:e:b:s:o:t:q:rw:x")) != -1) {
		switch (c) {
		case 'u': uuid = optarg; vol = parse_uuid(uuid); break;
		case 'n': name = optarg; break;
		case 'e': epoch = strtoull(optarg, NULL, 0); break;
		case 'b': lba = strtoul(optarg, NULL, 0); break;
		case 's': strip = parse_size(optarg); break;
		case 'o': offset = parse_size(optarg); break;
		case 't': timeout = strtoul(optarg, NULL, 0); break;
		case 'q': depth = strtoul(optarg, NULL, 0); break;
		case 'r': ro = 1; break;
		case 'w': wait = atof(optarg); break;
		case 'x': exact = 1; break;
		default: return 2;
		}
	}
	for (; optind <= argc; optind++) {
		if (optind < argc && strcmp(argv[optind], "+")) {
			members[nm] = parse_member(argv[optind], derive_uuid(vol, nm), lba);
			nm++;
			continue;
		}
		if (nm == first)
			die(2, "a segment needs members");
		segs[ns] = make_segment(members, first, nm - first, start, strip, offset, exact);
		start += segs[ns++].length;
		first = nm;
	}
	m = new_msg(MESHBLK_CMD_VOLUME_SET, 0);
	put_uuid(m, MESHBLK_A_VOLUME_UUID, &vol);
	nla_put_string(m, MESHBLK_A_NAME, name);
	nla_put_u64(m, MESHBLK_A_EPOCH, epoch);
	nla_put_u32(m, MESHBLK_A_LBA, lba);
	if (ro)
		nla_put_flag(m, MESHBLK_A_READONLY);
	if (timeout)
		nla_put_u32(m, MESHBLK_A_IO_TIMEOUT_MS, timeout);
	if (depth)
		nla_put_u32(m, MESHBLK_A_QUEUE_DEPTH, depth);
	put_layout(m, members, nm, segs, ns);
	err = finish(talk(m, NULL, NULL));
	return err || !wait ? err : wait_state(uuid, "active", wait);
}

/* JSON */

static uint64_t j_u64(json_t *o, const char *key, uint64_t otherwise)
{
	json_t *v = json_object_get(o, key);

	if (json_is_string(v))
		return parse_size(json_string_value(v));
	return v ? (uint64_t)json_integer_value(v) : otherwise;
}

static const char *j_str(json_t *o, const char *key, const char *otherwise)
{
	json_t *v = json_object_get(o, key);

	return v ? json_string_value(v) : otherwise;
}

static struct segment j_segment(json_t *o)
{
	json_t *members = json_object_get(o, "members"), *offsets = json_object_get(o, "offsets");
	struct segment s = {
		.start = j_u64(o, "start", 0), .length = j_u64(o, "length", 0),
		.level = j_u64(o, "level", MESHBLK_LEVEL_LINEAR), .data = j_u64(o, "data", 1),
		.parity = j_u64(o, "parity", 0), .groups = j_u64(o, "groups", 1),
		.strip = j_u64(o, "strip", 65536), .nr = json_array_size(members),
	};
	uint32_t i;

	s.members = calloc(s.nr + 1, sizeof(*s.members));
	s.offsets = calloc(s.nr + 1, sizeof(*s.offsets));
	for (i = 0; i < s.nr; i++) {
		s.members[i] = json_integer_value(json_array_get(members, i));
		s.offsets[i] = json_integer_value(json_array_get(offsets, i));
	}
	return s;
}

/*
 * { "uuid", "name", "epoch", "lba", "readonly", "io_timeout_ms",
 *   "members": ["mem:1G@UUID", ...],
 *   "segments": [{ "start", "length", "level": 1, "strip", "data", "parity",
 *                  "groups", "members": [0], "offsets": [0] }] }
 */
static int cmd_set(int argc, char **argv)
{
	json_error_t je;
	json_t *o = argc == 2 ? json_load_file(argv[1], 0, &je) : NULL, *members, *segments;
	struct member x[4096];
	struct segment s[4096];
	struct uuid vol;
	struct nl_msg *m;
	size_t i;

	if (!o)
		die(2, "set: %s", argc == 2 ? je.text : "which file?");
	vol = parse_uuid(j_str(o, "uuid", "00000000-0000-0000-0000-000000000000"));
	members = json_object_get(o, "members");
	segments = json_object_get(o, "segments");
	for (i = 0; i < json_array_size(members) && i < 4096; i++)
		x[i] = parse_member(json_string_value(json_array_get(members, i)),
				    derive_uuid(vol, i), j_u64(o, "lba", 512));
	for (i = 0; i < json_array_size(segments) && i < 4096; i++)
		s[i] = j_segment(json_array_get(segments, i));
	m = new_msg(MESHBLK_CMD_VOLUME_SET, 0);
	put_uuid(m, MESHBLK_A_VOLUME_UUID, &vol);
	nla_put_string(m, MESHBLK_A_NAME, j_str(o, "name", "v"));
	nla_put_u64(m, MESHBLK_A_EPOCH, j_u64(o, "epoch", 1));
	nla_put_u32(m, MESHBLK_A_LBA, j_u64(o, "lba", 512));
	if (json_is_true(json_object_get(o, "readonly")))
		nla_put_flag(m, MESHBLK_A_READONLY);
	if (json_object_get(o, "io_timeout_ms"))
		nla_put_u32(m, MESHBLK_A_IO_TIMEOUT_MS, j_u64(o, "io_timeout_ms", 0));
	put_layout(m, x, json_array_size(members), s, json_array_size(segments));
	return finish(talk(m, NULL, NULL));
}

static int cmd_del(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_VOLUME_DEL, 0);
	struct uuid u;

	if (argc < 2)
		die(2, "del: which volume?");
	u = parse_uuid(argv[1]);
	put_uuid(m, MESHBLK_A_VOLUME_UUID, &u);
	if (argc > 2)
		nla_put_flag(m, MESHBLK_A_FORCE);
	return finish(talk(m, NULL, NULL));
}

/* Answers as JSON */

static json_t *stats_json(struct nlattr *nest)
{
	static const char *const names[MESHBLK_S_MAX + 1] = {
		[MESHBLK_S_READS] = "reads", [MESHBLK_S_READ_BYTES] = "read_bytes",
		[MESHBLK_S_WRITES] = "writes", [MESHBLK_S_WRITE_BYTES] = "write_bytes",
		[MESHBLK_S_DISCARDS] = "discards", [MESHBLK_S_ERRORS] = "errors",
		[MESHBLK_S_RETRIES] = "retries", [MESHBLK_S_INFLIGHT] = "inflight",
		[MESHBLK_S_RDMA_SENDS] = "sends", [MESHBLK_S_RDMA_WRITES] = "rdma_writes",
		[MESHBLK_S_RDMA_READS] = "rdma_reads", [MESHBLK_S_PUSHES] = "pushes",
		[MESHBLK_S_COMMANDS] = "commands", [MESHBLK_S_RECONNECTS] = "reconnects",
	};
	json_t *o = json_object();
	struct nlattr *a;
	int rem;

	nla_for_each_nested(a, nest, rem)
		if (nla_type(a) <= MESHBLK_S_MAX && names[nla_type(a)])
			json_object_set_new(o, names[nla_type(a)], json_integer(nla_get_u64(a)));
	return o;
}

static json_t *member_json(struct nlattr *nest)
{
	json_t *o = json_object();
	struct nlattr *a;
	int rem;

	nla_for_each_nested(a, nest, rem) {
		switch (nla_type(a)) {
		case MESHBLK_M_EXTENT_UUID:
			json_object_set_new(o, "uuid", json_string(show_uuid(nla_data(a))));
			break;
		case MESHBLK_M_STATE:
			json_object_set_new(o, "state", json_string(nla_get_string(a)));
			break;
		case MESHBLK_M_PATH:
			json_object_set_new(o, "path", json_string(nla_get_string(a)));
			break;
		case MESHBLK_M_ERROR:
			json_object_set_new(o, "error", json_integer((int32_t)nla_get_u32(a)));
			break;
		case MESHBLK_M_SIZE:
			json_object_set_new(o, "size", json_integer(nla_get_u64(a)));
			break;
		case MESHBLK_M_STATS:
			json_object_set_new(o, "stats", stats_json(a));
			break;
		}
	}
	return o;
}

static json_t *value_json(struct nlattr *a)
{
	switch (nla_type(a)) {
	case MESHBLK_A_VOLUME_UUID: case MESHBLK_A_HOST_UUID:
		return json_string(show_uuid(nla_data(a)));
	case MESHBLK_A_NAME: case MESHBLK_A_STATE: case MESHBLK_A_DISK: case MESHBLK_A_REASON:
	case MESHBLK_A_ADDR:
		return json_string(nla_get_string(a));
	case MESHBLK_A_EPOCH: case MESHBLK_A_SIZE: case MESHBLK_A_ARENA:
		return json_integer(nla_get_u64(a));
	case MESHBLK_A_ERROR:
		return json_integer((int32_t)nla_get_u32(a));
	case MESHBLK_A_PORT:
		return json_integer(nla_get_u16(a));
	case MESHBLK_A_READONLY:
		return json_true();
	case MESHBLK_A_STATS:
		return stats_json(a);
	default:
		return json_integer(nla_get_u32(a));
	}
}

static json_t *answer_json(struct nl_msg *msg)
{
	static const char *const names[MESHBLK_A_MAX + 1] = {
		[MESHBLK_A_VOLUME_UUID] = "uuid", [MESHBLK_A_NAME] = "name",
		[MESHBLK_A_STATE] = "state", [MESHBLK_A_DISK] = "disk",
		[MESHBLK_A_REASON] = "reason", [MESHBLK_A_EPOCH] = "epoch",
		[MESHBLK_A_SIZE] = "size", [MESHBLK_A_ERROR] = "error",
		[MESHBLK_A_READONLY] = "readonly", [MESHBLK_A_LBA] = "lba",
		[MESHBLK_A_OPENERS] = "openers", [MESHBLK_A_IO_TIMEOUT_MS] = "io_timeout_ms",
		[MESHBLK_A_EVENT] = "event", [MESHBLK_A_INDEX] = "index",
		[MESHBLK_A_TARGET_ID] = "target", [MESHBLK_A_ADDR] = "addr",
		[MESHBLK_A_PORT] = "port", [MESHBLK_A_SESSION] = "session",
		[MESHBLK_A_CHANNELS] = "channels", [MESHBLK_A_ARENA] = "arena",
		[MESHBLK_A_STATS] = "stats", [MESHBLK_A_HOST_UUID] = "host",
	};
	struct genlmsghdr *g = nlmsg_data(nlmsg_hdr(msg));
	json_t *o = json_object(), *members = NULL;
	struct nlattr *a, *e;
	int rem, rem2;

	nla_for_each_attr(a, genlmsg_attrdata(g, 0), genlmsg_attrlen(g, 0), rem) {
		if (nla_type(a) == MESHBLK_A_MEMBERS) {
			if (!members) {
				members = json_array();
				json_object_set_new(o, "members", members);
			}
			nla_for_each_nested(e, a, rem2)
				json_array_append_new(members, member_json(e));
		} else if (nla_type(a) <= MESHBLK_A_MAX && names[nla_type(a)]) {
			json_object_set_new(o, names[nla_type(a)], value_json(a));
		}
	}
	return o;
}

static int print_answer(struct nl_msg *msg, void *arg)
{
	json_t *o = answer_json(msg);

	(void)arg;
	json_dumpf(o, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
	putchar('\n');
	fflush(stdout);
	json_decref(o);
	return NL_OK;
}

static int cmd_get(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_VOLUME_GET, argc > 1 ? 0 : NLM_F_DUMP);
	struct uuid u;

	if (argc > 1) {
		u = parse_uuid(argv[1]);
		put_uuid(m, MESHBLK_A_VOLUME_UUID, &u);
	}
	return finish(talk(m, print_answer, NULL));
}

static int keep_answer(struct nl_msg *msg, void *arg)
{
	*(json_t **)arg = answer_json(msg);
	return NL_OK;
}

/* Prints the disk when the volume comes to @state; "gone": is not there. */
static int wait_state(const char *uuid, const char *state, double seconds)
{
	struct timespec nap = { .tv_nsec = 50 * 1000 * 1000 };
	struct uuid u = parse_uuid(uuid);
	const char *now = "?", *why = "";
	json_t *o = NULL;

	for (; seconds > 0; seconds -= 0.05) {
		struct nl_msg *m = new_msg(MESHBLK_CMD_VOLUME_GET, 0);

		o = NULL;
		put_uuid(m, MESHBLK_A_VOLUME_UUID, &u);
		if (talk(m, keep_answer, &o) == -ENOENT && !strcmp(state, "gone"))
			return 0;
		now = o ? j_str(o, "state", "?") : "?";
		why = o ? j_str(o, "reason", "") : refusal;
		if (o && !strcmp(now, state)) {
			puts(j_str(o, "disk", "-"));
			return 0;
		}
		nanosleep(&nap, NULL);
	}
	fprintf(stderr, "blkctl: the volume is %s, not %s %s\n", now, state, why);
	return 1;
}

static int cmd_wait(int argc, char **argv)
{
	if (argc < 3)
		die(2, "wait: UUID STATE [SECONDS]");
	return wait_state(argv[1], argv[2], argc > 3 ? atof(argv[3]) : 10);
}

/* Targets */

static int cmd_identity(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_IDENTITY_SET, 0);
	struct uuid u;

	if (argc < 2)
		die(2, "identity: UUID [KEY_ID KEY [KEY_ID2 KEY2]]");
	u = parse_uuid(argv[1]);
	put_uuid(m, MESHBLK_A_HOST_UUID, &u);
	if (argc > 3) {
		nla_put_u16(m, MESHBLK_A_KEY_ID, atoi(argv[2]));
		nla_put(m, MESHBLK_A_KEY, strlen(argv[3]), argv[3]);
	}
	if (argc > 5) {
		nla_put_u16(m, MESHBLK_A_KEY_ID2, atoi(argv[4]));
		nla_put(m, MESHBLK_A_KEY2, strlen(argv[5]), argv[5]);
	}
	return finish(talk(m, NULL, NULL));
}

static int cmd_target_set(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_TARGET_SET, 0);

	if (argc < 3)
		die(2, "target-set: ID ADDR [PORT]");
	nla_put_u32(m, MESHBLK_A_TARGET_ID, strtoul(argv[1], NULL, 0));
	nla_put_string(m, MESHBLK_A_ADDR, argv[2]);
	if (argc > 3)
		nla_put_u16(m, MESHBLK_A_PORT, atoi(argv[3]));
	return finish(talk(m, NULL, NULL));
}

static int cmd_target_del(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_TARGET_DEL, 0);

	if (argc < 2)
		die(2, "target-del: ID");
	nla_put_u32(m, MESHBLK_A_TARGET_ID, strtoul(argv[1], NULL, 0));
	return finish(talk(m, NULL, NULL));
}

static int cmd_target_get(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return finish(talk(new_msg(MESHBLK_CMD_TARGET_GET, NLM_F_DUMP), print_answer, NULL));
}

/* Events */

static int cmd_events(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	struct nl_sock *s = open_socket();
	struct timeval tv = { .tv_usec = 100 * 1000 };
	int group = genl_ctrl_resolve_grp(sock, MESHBLK_GENL_NAME, MESHBLK_GENL_EVENTS);
	time_t end = time(NULL) + (time_t)seconds;

	if (group < 0 || nl_socket_add_membership(s, group))
		die(2, "no group %s", MESHBLK_GENL_EVENTS);
	nl_socket_disable_seq_check(s);
	nl_socket_modify_cb(s, NL_CB_VALID, NL_CB_CUSTOM, print_answer, NULL);
	setsockopt(nl_socket_get_fd(s), SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	puts("{\"listening\":true}");
	fflush(stdout);
	while (time(NULL) < end)
		nl_recvmsgs_default(s);
	return 0;
}

/* Storm: random messages, most of them wrong in one place or many */

static uint64_t seed;

static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> 16;
}

static uint64_t odd_value(void)
{
	static const uint64_t values[] = { 0, 1, 2, 511, 512, 4095, 4096, 65535, 65536, 1 << 20,
		UINT32_MAX, 1ULL << 32, INT64_MAX, 1ULL << 63, UINT64_MAX };

	return rnd() % 4 ? values[rnd() % (sizeof(values) / sizeof(values[0]))] :
			   (uint64_t)rnd() << (rnd() % 40);
}

static void put_noise(struct nl_msg *m, int depth)
{
	unsigned char junk[64];
	int attr = rnd() % (MESHBLK_A_MAX + 4), len = rnd() % 33, i;
	uint64_t v = odd_value();
	struct nlattr *n;

	switch (rnd() % 6) {
	case 0:
		nla_put_u8(m, attr, v);
		break;
	case 1:
		nla_put_u32(m, attr, v);
		break;
	case 2:
		nla_put_u64(m, attr, v);
		break;
	case 3:
		for (i = 0; i < len; i++)
			junk[i] = rnd();
		nla_put(m, attr, len, junk);
		break;
	default:
		n = nla_nest_start(m, attr | (rnd() % 4 ? NLA_F_NESTED : 0));
		for (i = rnd() % 5; i && depth < 4; i--)
			put_noise(m, depth + 1);
		nla_nest_end(m, n);
	}
}

/* A layout that is right but for a few values. */
static void put_almost(struct nl_msg *m)
{
	struct uuid vol = parse_uuid("deadbeef-0000-4000-8000-000000000000");
	int nm = 1 + rnd() % 4, ns = 1 + rnd() % 3, i, j;
	struct member x[4];
	struct segment s[3];
	uint32_t ids[4];
	uint64_t offsets[4];

	put_uuid(m, MESHBLK_A_VOLUME_UUID, &vol);
	nla_put_u64(m, MESHBLK_A_EPOCH, rnd() % 8 ? 1 + rnd() % 50 : odd_value());
	nla_put_u32(m, MESHBLK_A_LBA, rnd() % 8 ? 512 : odd_value());
	if (!(rnd() % 8))
		nla_put_u32(m, MESHBLK_A_IO_TIMEOUT_MS, odd_value());
	for (i = 0; i < nm; i++) {
		x[i] = (struct member) { .kind = rnd() % 16 ? MESHBLK_KIND_MEM : (int)(rnd() % 5),
			.size = rnd() % 8 ? 1ULL << 30 : odd_value(), .target = rnd() % 3,
			.uuid = derive_uuid(vol, rnd() % 16 ? i : 0) };
		if (!(rnd() % 8))
			snprintf(x[i].path, sizeof(x[i].path), "%s", "/dev/null");
	}
	for (i = 0; i < ns; i++) {
		for (j = 0; j < nm; j++) {
			ids[j] = rnd() % 16 ? (uint32_t)j : (uint32_t)odd_value();
			offsets[j] = rnd() % 16 ? (uint64_t)i << 24 : odd_value();
		}
		s[i] = (struct segment) { .start = (uint64_t)i * nm << 24,
			.length = rnd() % 8 ? (uint64_t)nm << 24 : odd_value(),
			.level = rnd() % 8 ? (nm > 1 ? 2 : 1) : rnd() % 8, .data = nm,
			.parity = rnd() % 16 ? 0 : rnd(), .groups = rnd() % 16 ? 1 : rnd(),
			.strip = rnd() % 8 ? 65536 : odd_value(), .nr = nm,
			.members = ids, .offsets = offsets };
	}
	put_layout(m, x, nm, s, ns);
}

static int cmd_storm(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000, i, taken = 0, silent = 0;
	int flags, cmd, err, n;

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) * 2 + 1 : 1;
	for (i = 0; i < 16; i++)
		rnd();
	for (i = 0; i < count; i++) {
		struct nl_msg *m;

		cmd = rnd() % 3 ? MESHBLK_CMD_VOLUME_SET : (int)(rnd() % (MESHBLK_CMD_MAX + 3));
		flags = rnd() % 32 ? 0 : NLM_F_DUMP;
		m = new_msg(cmd, flags);
		n = rnd() % 4;
		if (cmd == MESHBLK_CMD_VOLUME_SET && rnd() % 4) {
			put_almost(m);
			n = rnd() % 4 ? 0 : n;
		}
		for (; n; n--)
			put_noise(m, 0);
		err = talk(m, NULL, NULL);
		taken += !err;
		/* a command that is not there is refused by generic netlink itself */
		if (!err || refusal[0] || err == -EOPNOTSUPP)
			continue;
		silent++;
		fprintf(stderr, "blkctl: message %lu, command %d: %s, and not why\n", i, cmd,
			strerror(-err));
	}
	printf("{\"sent\":%lu,\"taken\":%lu,\"without_reason\":%lu}\n", count, taken, silent);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{ "make", cmd_make }, { "set", cmd_set }, { "del", cmd_del }, { "get", cmd_get },
	{ "wait", cmd_wait },
	{ "identity", cmd_identity }, { "target-set", cmd_target_set },
	{ "target-del", cmd_target_del }, { "target-get", cmd_target_get },
	{ "events", cmd_events }, { "storm", cmd_storm },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[1], verbs[i].name))
			continue;
		connect_family();
		return verbs[i].run(argc - 1, argv + 1);
	}
	die(2, "make|set|del|get|wait|read|write|identity|target-set|target-del|target-get|events|storm");
}
