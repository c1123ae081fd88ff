// SPDX-License-Identifier: GPL-2.0-only
/* Members and segments: from the command line or JSON into VOLUME_SET. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/blkctl/blkctl.h"

#define TEST_SALT	"of tests"	/* 8 bytes; $BLKCTL_SALT: others */

/* A UUID for member @i of volume @vol, always the same. */
struct uuid derive_uuid(struct uuid vol, unsigned int i)
{
	/* Not at the end, where volumes of a case are numbered: no extent has two. */
	vol.b[0] ^= 0xa5;
	vol.b[10] += i >> 8;
	vol.b[11] += i + 1;
	return vol;
}

static void put_member(struct nl_msg *m, const struct member *x)
{
	struct nlattr *n = nla_nest_start(m, MESHBLK_A_MEMBER | NLA_F_NESTED);
	const struct uuid none = { 0 };

	nla_put_u8(m, MESHBLK_M_KIND, x->kind);
	put_uuid(m, MESHBLK_M_EXTENT_UUID, &x->uuid);
	nla_put_u64(m, MESHBLK_M_SIZE, x->size);
	if (x->kind == MESHBLK_KIND_RDDA) {
		nla_put_u32(m, MESHBLK_M_TARGET_ID, x->target);
		put_uuid(m, MESHBLK_M_DRIVE_UUID, &x->drive);
		nla_put_u64(m, MESHBLK_M_EPOCH, x->epoch);
		if (x->preempt)
			nla_put_flag(m, MESHBLK_M_PREEMPT);
	}
	if (x->kind == MESHBLK_KIND_BDEV && memcmp(&x->drive, &none, sizeof(none)))
		put_uuid(m, MESHBLK_M_DRIVE_UUID, &x->drive);
	if (x->start)
		nla_put_u64(m, MESHBLK_M_START, x->start);
	if (x->path[0])
		nla_put_string(m, MESHBLK_M_PATH, x->path);
	if (x->lba)
		nla_put_u32(m, MESHBLK_M_LBA, x->lba);
	if (x->leaves)
		nla_put_u32(m, MESHBLK_M_PLACE, x->leaves - 1);
	nla_nest_end(m, n);
}

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
	if (s->fresh)
		nla_put_flag(m, MESHBLK_G_FRESH);
	nla_nest_end(m, n);
}

/* Members and segments in as many attributes as they need. */
void put_layout(struct nl_msg *m, const struct member *members, int nm,
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
		if (n > 3)
			x.drive = parse_uuid(f[3]);
		if (n > 4)
			x.start = parse_size(f[4]);
	} else if (!strcmp(f[0], "rdda") && n >= 5) {
		x.kind = MESHBLK_KIND_RDDA;
		x.target = strtoul(f[1], NULL, 0);
		x.uuid = parse_uuid(f[2]);
		x.drive = parse_uuid(f[3]);
		x.size = parse_size(f[4]);
		x.epoch = n > 5 ? strtoull(f[5], NULL, 0) : 1;
	} else {
		die(2, "not a member: %s", text);
	}
	free(s);
	return x;
}

/* PLACE=MEMBER */
static void put_leaving(struct nl_msg *m, const char *text, struct uuid vol, uint32_t lba)
{
	const char *is = strchr(text, '=');
	struct nlattr *n;
	struct member x;

	if (!is)
		die(2, "not PLACE=MEMBER: %s", text);
	x = parse_member(is + 1, derive_uuid(vol, 4094), lba);
	x.leaves = strtoul(text, NULL, 0) + 1;
	n = nla_nest_start(m, MESHBLK_A_LEAVINGS | NLA_F_NESTED);
	put_member(m, &x);
	nla_nest_end(m, n);
}

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

/* "mirror", "raid10:COPIES" or "ec:K+M": into a segment that was made as a stripe. */
static void protect_segment(struct segment *s, const char *level)
{
	unsigned int k = 0, m = 0, width = s->nr, data = s->nr;

	s->level = MESHBLK_LEVEL_EC;
	if (!strcmp(level, "mirror")) {
		s->level = MESHBLK_LEVEL_MIRROR;
	} else if (sscanf(level, "raid10:%u", &data) == 1 && data) {
		s->level = MESHBLK_LEVEL_RAID10;
		width = data;
	} else if (sscanf(level, "ec:%u+%u", &k, &m) == 2 && k + m) {
		data = k;
		width = k + m;
	} else {
		die(2, "not a level: %s", level);
	}
	if (s->nr % width)
		die(2, "%u members are no groups of %u", s->nr, width);
	s->length = s->length / s->nr / s->strip * s->strip;	/* of a member */
	s->groups = s->nr / width;
	s->data = data;
	s->parity = m;
	s->length *= s->groups * (m ? k : 1);
}

static void put_salt(struct nl_msg *m, const struct uuid *vol)
{
	const char *salt = getenv("BLKCTL_SALT") ?: TEST_SALT;

	secret(m, MESHBLK_A_SALT_SERIAL, MESHBLK_SALT_NAME, show_uuid(vol), salt, strlen(salt));
}

static struct nl_msg *new_volume(const char *uuid, const char *name, uint64_t epoch, uint32_t lba)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_VOLUME_SET, 0);
	struct uuid vol = parse_uuid(uuid);

	put_uuid(m, MESHBLK_A_VOLUME_UUID, &vol);
	nla_put_string(m, MESHBLK_A_NAME, name);
	nla_put_u64(m, MESHBLK_A_EPOCH, epoch);
	nla_put_u32(m, MESHBLK_A_LBA, lba);
	put_salt(m, &vol);
	return m;
}

/* Places with commas in between, as BARS or FORGOTTEN. */
static void put_places(struct nl_msg *m, int attr, const char *text)
{
	uint32_t places[256];
	int n = 0;
	char *e;

	for (; *text && n < 256; text = *e ? e + 1 : e)
		places[n++] = strtoul(text, &e, 0);
	nla_put(m, attr, n * sizeof(*places), places);
}

/* Options of make that say who may use the volume, and what its groups go by. */
struct access {
	const char *number;	/* of -N */
	uint64_t attach;	/* of -a, which counts before -N */
	const char *served, *bars, *forgotten, *leaving;
	int ro, stale, again, beside;
};

/* Return: 0: not one of these options. */
static int access_option(struct access *a, int option, const char *arg)
{
	switch (option) {
	case 'r': a->ro = 1; return 1;
	case 'S': a->stale = 1; return 1;
	case 'a': a->attach = parse_number(arg); return 1;
	case 'N': a->number = arg; return 1;
	case 'R': a->served = arg; return 1;
	case 'B': a->bars = arg; return 1;
	case 'X': a->forgotten = arg; return 1;
	case 'A': a->again = 1; return 1;
	case 'D': a->beside = 1; return 1;
	case 'L': a->leaving = arg; return 1;
	default: return 0;
	}
}

static void put_flag(struct nl_msg *m, int attr, int is)
{
	if (is)
		nla_put_flag(m, attr);
}

static void put_access(struct nl_msg *m, const struct access *a, struct uuid vol, uint32_t lba)
{
	put_flag(m, MESHBLK_A_READONLY, a->ro);
	put_flag(m, MESHBLK_A_STALE, a->stale);
	put_flag(m, MESHBLK_A_NUMBERED, !!a->number);
	put_flag(m, MESHBLK_A_AGAIN, a->again);
	put_flag(m, MESHBLK_A_BESIDE_STORE, a->beside);
	if (a->attach || (a->number && *a->number))
		nla_put_u64(m, MESHBLK_A_ATTACH, a->attach ? a->attach : parse_number(a->number));
	if (a->served)
		nla_put_u64(m, MESHBLK_A_SERVED, parse_number(a->served));
	if (a->bars)
		put_places(m, MESHBLK_A_BARS, a->bars);
	if (a->forgotten)
		put_places(m, MESHBLK_A_FORGOTTEN, a->forgotten);
	if (a->leaving)
		put_leaving(m, a->leaving, vol, lba);
}

/* "-l LEVEL" and the rest of the command line, + between segments. */
static int parse_segments(int argc, char **argv, const struct segment *like, struct uuid vol,
			  uint32_t lba, const char *level, uint64_t offset, int exact,
			  struct member *members, struct segment *segs, int *ns)
{
	int nm = 0, first = 0;
	uint64_t start = 0;

	for (; optind <= argc; optind++) {
		struct segment *s = &segs[*ns];

		if (optind < argc && strcmp(argv[optind], "+")) {
			members[nm] = parse_member(argv[optind], derive_uuid(vol, nm), lba);
			nm++;
			continue;
		}
		if (nm == first)
			die(2, "a segment needs members");
		*s = make_segment(members, first, nm - first, start, like->strip, offset, exact);
		s->fresh = like->fresh;
		if (level)
			protect_segment(s, level);
		start += s->length;
		first = nm;
		++*ns;
	}
	return nm;
}

int cmd_make(int argc, char **argv)
{
	struct uuid vol = parse_uuid("11111111-2222-4333-8444-555555555555");
	const char *level = NULL, *name = "v", *uuid = "11111111-2222-4333-8444-555555555555";
	uint64_t epoch = 1, offset = 0;
	uint32_t lba = 512, timeout = 0, depth = 0;
	struct segment like = { .strip = 65536 };
	struct member *members = calloc(4096, sizeof(*members));
	struct segment *segs = calloc(4096, sizeof(*segs));
	int c, i, nm, ns = 0, exact = 0, preempt = 0, err;
	struct access access = { 0 };
	struct nl_msg *m;
	double wait = 0;

	while ((c = getopt(argc, argv, "+u:n:e:b:s:o:t:q:rw:xl:FSa:N:R:B:PX:ADL:")) != -1) {
		switch (c) {
		case 'u': uuid = optarg; vol = parse_uuid(uuid); break;
		case 'n': name = optarg; break;
		case 'e': epoch = strtoull(optarg, NULL, 0); break;
		case 'b': lba = strtoul(optarg, NULL, 0); break;
		case 's': like.strip = parse_size(optarg); break;
		case 'o': offset = parse_size(optarg); break;
		case 't': timeout = strtoul(optarg, NULL, 0); break;
		case 'q': depth = strtoul(optarg, NULL, 0); break;
		case 'w': wait = atof(optarg); break;
		case 'x': exact = 1; break;
		case 'l': level = optarg; offset = offset ? offset : 16 << 20; break;
		case 'F': like.fresh = 1; break;
		case 'P': preempt = 1; break;
		default:
			if (!access_option(&access, c, optarg))
				return 2;
		}
	}
	nm = parse_segments(argc, argv, &like, vol, lba, level, offset, exact, members, segs, &ns);
	m = new_volume(uuid, name, epoch, lba);
	if (timeout)
		nla_put_u32(m, MESHBLK_A_IO_TIMEOUT_MS, timeout);
	if (depth)
		nla_put_u32(m, MESHBLK_A_QUEUE_DEPTH, depth);
	for (i = 0; i < nm; i++)
		members[i].preempt = preempt;
	put_access(m, &access, vol, lba);
	put_layout(m, members, nm, segs, ns);
	wait_freed();
	err = finish(talk(m, NULL, NULL));
	return err || !wait ? err : wait_state(uuid, "active", wait);
}

/* evict UUID INDEX MEMBER|stop */
int cmd_evict(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_VOLUME_EVICT, 0);
	struct member x;
	struct uuid vol;

	if (argc < 4)
		die(2, "evict: which volume and member, and what takes its place?");
	vol = parse_uuid(argv[1]);
	put_uuid(m, MESHBLK_A_VOLUME_UUID, &vol);
	nla_put_u32(m, MESHBLK_A_INDEX, strtoul(argv[2], NULL, 0));
	if (!strcmp(argv[3], "stop")) {
		nla_put_flag(m, MESHBLK_A_STOP);
	} else {
		x = parse_member(argv[3], derive_uuid(vol, 4095), 512);
		put_member(m, &x);
	}
	return finish(talk(m, NULL, NULL));
}

/* JSON */

static uint64_t j_u64(json_t *o, const char *key, uint64_t otherwise)
{
	json_t *v = json_object_get(o, key);

	if (json_is_string(v))
		return parse_size(json_string_value(v));
	return v ? (uint64_t)json_integer_value(v) : otherwise;
}

const char *j_str(json_t *o, const char *key, const char *otherwise)
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
		.fresh = json_is_true(json_object_get(o, "fresh")),
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
 *                  "groups", "members": [0], "offsets": [0], "fresh" }] }
 */
int cmd_set(int argc, char **argv)
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
	put_salt(m, &vol);
	put_layout(m, x, json_array_size(members), s, json_array_size(segments));
	return finish(talk(m, NULL, NULL));
}
