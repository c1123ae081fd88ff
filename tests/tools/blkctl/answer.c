// SPDX-License-Identifier: GPL-2.0-only
/* Answers and events as JSON. */
#include <stdio.h>
#include <string.h>

#include "driver/uapi/number.h"
#include "tests/tools/blkctl/blkctl.h"

const char *show_number(uint64_t number)
{
	static char buf[48];

	snprintf(buf, sizeof(buf), "%llu.%llu.%llu",
		 (unsigned long long)mesh_number_generation(number),
		 (unsigned long long)mesh_number_counter(number),
		 (unsigned long long)mesh_number_restart(number));
	return buf;
}

/* A roster, as a sum: cases compare them. */
static json_t *roster_json(struct nlattr *a)
{
	const unsigned char *p = nla_data(a);
	uint64_t sum = 0xcbf29ce484222325ULL;
	char text[24];
	int i;

	for (i = 0; i < nla_len(a); i++)
		sum = (sum ^ p[i]) * 0x100000001b3ULL;
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)sum);
	return json_string(text);
}

/* MESHBLK_A_BARS as "PLACE PLACE". */
static json_t *bars_json(struct nlattr *a)
{
	char text[1024] = "";
	uint32_t place;
	int n = 0, i;

	for (i = 0; i < nla_len(a) / 4 && n < (int)sizeof(text) - 12; i++) {
		memcpy(&place, (char *)nla_data(a) + 4 * i, sizeof(place));
		n += sprintf(text + n, "%s%u", i ? " " : "", place);
	}
	return json_string(text);
}

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
		[MESHBLK_S_RDMA_WRITE_BYTES] = "rdma_write_bytes",
		[MESHBLK_S_STAGED] = "staged", [MESHBLK_S_STALE] = "stale",
		[MESHBLK_S_RDMA_INLINES] = "rdma_inlines",
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
		case MESHBLK_M_ABANDONED:
			json_object_set_new(o, "abandoned", json_integer(nla_get_u32(a)));
			break;
		case MESHBLK_M_START:
			json_object_set_new(o, "start", json_integer(nla_get_u64(a)));
			break;
		case MESHBLK_M_DRIVE_UUID:
			json_object_set_new(o, "drive", json_string(show_uuid(nla_data(a))));
			break;
		case MESHBLK_M_SIZE:
			json_object_set_new(o, "size", json_integer(nla_get_u64(a)));
			break;
		case MESHBLK_M_ATTACH:
			json_object_set_new(o, "noted", json_string(show_number(nla_get_u64(a))));
			break;
		case MESHBLK_M_HOLDER:
			json_object_set_new(o, "holder", json_string(show_uuid(nla_data(a))));
			break;
		case MESHBLK_M_STATS:
			json_object_set_new(o, "stats", stats_json(a));
			break;
		}
	}
	return o;
}

static const char *role_name(unsigned char role)
{
	static const char *const names[] = {
		[MESHBLK_ROLE_IN_SYNC] = "in_sync", [MESHBLK_ROLE_SUSPECT] = "suspect",
		[MESHBLK_ROLE_FAILED] = "failed", [MESHBLK_ROLE_OUT] = "out",
		[MESHBLK_ROLE_JOINING] = "joining", [MESHBLK_ROLE_OPENING] = "opening",
	};

	return role && role < sizeof(names) / sizeof(names[0]) ? names[role] : "?";
}

/* MESHBLK_P_DIFFS or UNREAD as "MEMBER:BYTE+LENGTH", one behind the other. */
static json_t *diffs_json(struct nlattr *a)
{
	char text[2048] = "";
	int n = 0, i;

	for (i = 0; i < nla_len(a) / 16; i++) {
		const char *p = (const char *)nla_data(a) + 16 * i;
		uint32_t length, member;
		uint64_t addr;

		memcpy(&addr, p, sizeof(addr));
		memcpy(&length, p + 8, sizeof(length));
		memcpy(&member, p + 12, sizeof(member));
		n += snprintf(text + n, sizeof(text) - n, "%s%d:%llu+%u", i ? " " : "",
			      (int)member, (unsigned long long)addr, length);
	}
	return json_string(text);
}

/* Roles are one string, by which cases wait: "in_sync out". */
static json_t *group_json(struct nlattr *nest)
{
	static const char *const numbers[MESHBLK_P_MAX + 1] = {
		[MESHBLK_P_ATTACH] = "attach", [MESHBLK_P_EPOCH] = "group_epoch",
		[MESHBLK_P_SYNCED] = "synced", [MESHBLK_P_BARRED] = "barred", [MESHBLK_P_MISMATCHES] = "mismatches",
		[MESHBLK_P_READS] = "engine_reads", [MESHBLK_P_REDONE] = "redone",
		[MESHBLK_P_SCRUBBED] = "scrubbed", [MESHBLK_P_BYTES] = "member_bytes",
		[MESHBLK_P_REPAIRED] = "repaired", [MESHBLK_P_SKIPPED] = "skipped",
		[MESHBLK_P_WAITS] = "waits", [MESHBLK_P_COPIED] = "copied", [MESHBLK_P_COPY_BYTES] = "copy_bytes",
	};
	json_t *o = json_object(), *behind = json_array();
	char roles[1024] = "";
	struct nlattr *a;
	int rem, i, n = 0;

	nla_for_each_nested(a, nest, rem) {
		const char *data = nla_data(a);

		if (nla_type(a) == MESHBLK_P_STATE || nla_type(a) == MESHBLK_P_REASON)
			json_object_set_new(o, nla_type(a) == MESHBLK_P_STATE ? "group_state" :
					    "group_reason", json_string(data));
		else if (nla_type(a) == MESHBLK_P_ROLES)
			for (i = 0; i < nla_len(a); i++)
				n += snprintf(roles + n, sizeof(roles) - n, "%s%s", i ? " " : "",
					      role_name(data[i]));
		else if (nla_type(a) == MESHBLK_P_BEHIND)
			for (i = 0; i < nla_len(a) / 8; i++) {
				uint64_t v;

				memcpy(&v, data + i * 8, sizeof(v));
				json_array_append_new(behind, json_integer(v));
			}
		else if (nla_type(a) == MESHBLK_P_SCRUBBING)
			json_object_set_new(o, "scrubbing", json_integer(1));
		else if (nla_type(a) == MESHBLK_P_WITNESS)
			json_object_set_new(o, "witness", json_integer(1));
		else if (nla_type(a) == MESHBLK_P_DIFFS)
			json_object_set_new(o, "diffs", diffs_json(a));
		else if (nla_type(a) == MESHBLK_P_EVICT_REASON)
			json_object_set_new(o, "evict_reason", json_string(data));
		else if (nla_type(a) == MESHBLK_P_EVICTS)
			json_object_set_new(o, "evicts", json_integer(nla_get_u32(a)));
		else if (nla_type(a) == MESHBLK_P_ROSTER)
			json_object_set_new(o, "roster", roster_json(a));
		else if (nla_type(a) == MESHBLK_P_PLACE)
			json_object_set_new(o, "place", json_integer(nla_get_u32(a)));
		else if (nla_type(a) == MESHBLK_P_UNREAD)
			json_object_set_new(o, "unread", diffs_json(a));
		else if (nla_type(a) <= MESHBLK_P_MAX && numbers[nla_type(a)])
			json_object_set_new(o, numbers[nla_type(a)],
					    json_integer(nla_get_u64(a)));
	}
	json_object_set_new(o, "roles", json_string(roles));
	json_object_set_new(o, "behind", behind);
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
	case MESHBLK_A_READONLY: case MESHBLK_A_NUMBERED: case MESHBLK_A_UNKNOWN:
		return json_true();
	case MESHBLK_A_ATTACH: case MESHBLK_A_SERVED: case MESHBLK_A_FENCED:
		return json_string(show_number(nla_get_u64(a)));
	case MESHBLK_A_BARS:
		return bars_json(a);
	case MESHBLK_A_ROSTER:
		return roster_json(a);
	case MESHBLK_A_STATS:
		return stats_json(a);
	default:
		return json_integer(nla_get_u32(a));
	}
}

json_t *answer_json(struct nl_msg *msg)
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
		[MESHBLK_A_NUMBERED] = "numbered", [MESHBLK_A_ATTACH] = "number",
		[MESHBLK_A_SERVED] = "served", [MESHBLK_A_FENCED] = "fenced",
		[MESHBLK_A_BARS] = "bars", [MESHBLK_A_WRITERS] = "writers",
		[MESHBLK_A_READERS] = "readers", [MESHBLK_A_UNKNOWN] = "unknown",
		[MESHBLK_A_PLACE] = "place", [MESHBLK_A_ROSTER] = "roster",
	};
	struct genlmsghdr *g = nlmsg_data(nlmsg_hdr(msg));
	json_t *o = json_object(), *members = NULL, *groups = NULL;
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
		} else if (nla_type(a) == MESHBLK_A_GROUPS) {
			if (!groups) {
				groups = json_array();
				json_object_set_new(o, "groups", groups);
			}
			nla_for_each_nested(e, a, rem2)
				json_array_append_new(groups, group_json(e));
		} else if (nla_type(a) == MESHBLK_A_MEMBER) {
			json_object_set_new(o, "member", member_json(a));
		} else if (nla_type(a) <= MESHBLK_A_MAX && names[nla_type(a)]) {
			json_object_set_new(o, names[nla_type(a)], value_json(a));
		}
	}
	return o;
}

int print_answer(struct nl_msg *msg, void *arg)
{
	json_t *o = answer_json(msg);

	(void)arg;
	json_dumpf(o, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
	putchar('\n');
	fflush(stdout);
	json_decref(o);
	return NL_OK;
}
