// SPDX-License-Identifier: GPL-2.0-only
/* Human-readable results: tables with a heading, one line a thing. */
#include <stdlib.h>
#include <string.h>

#include "userspace/format/size.h"
#include "userspace/meshctl/meshctl.h"
#include "userspace/meshctl/table.h"

static void version(const json_t *r)
{
	const json_t *m = json_object_get(r, "modules");

	printf("meshctl %s, meshd %s\n", MESHD_VERSION, str(r, "version"));
	printf("host     %s\n", str(r, "host_uuid"));
	if (json_object_get(r, "cluster_uuid")) {
		print_cluster(r);
		return;
	}
	printf("modules  meshblk %s, meshtgt %s\n", str(m, "meshblk"), str(m, "meshtgt"));
	if (json_integer_value(json_object_get(r, "key_id")))
		return;
	if (json_is_true(json_object_get(r, "insecure")))
		printf("key      INSECURE: none, and any host that reaches this one may do all it likes\n");
	else
		printf("key      none: this host exports to itself alone ('meshctl host key set', or "
		       "'generate' on the first host)\n");
}

static void scan(const json_t *r)
{
	static const struct column cols[] = {
		{ "DRIVE", "path", TEXT }, { "SIZE", "size", SIZE }, { "BLOCK", "lba", NUMBER },
		{ "MODEL", "model", TEXT }, { "SERIAL", "serial", TEXT }, { "STATE", "state", TEXT },
		{ "WHY", "reason", TEXT }, { NULL, NULL, TEXT },
	};

	table(json_object_get(r, "drives"), cols, "no drives found");
}

/* Hosts that could not be queried. */
static void silent(const json_t *r)
{
	json_t *why;
	size_t i;

	json_array_foreach(json_object_get(r, "failed"), i, why)
		note_show(json_string_value(why));
}

static void drives(const json_t *r)
{
	static const struct column cols[] = {
		{ "DRIVE", "uuid", TEXT }, { "HOST", "host", TEXT }, { "PATH", "path", TEXT },
		{ "SIZE", "size", SIZE }, { "FREE", "free", SIZE }, { "BLOCK", "lba", NUMBER },
		{ "EXTENTS", "extents", NUMBER }, { "STATE", "state", TEXT }, { NULL, NULL, TEXT },
	};

	table(json_object_get(r, "drives"), cols,
	      "no drives are exported by the known hosts: 'meshctl drive export' on a host with drives, "
	      "'meshctl host add' here");
	silent(r);
}

static void health(const json_t *r)
{
	static const struct column cols[] = {
		{ "DRIVE", "uuid", TEXT }, { "HOST", "host", TEXT }, { "PATH", "path", TEXT },
		{ "STATE", "state", TEXT }, { "TEMP C", "temperature_c", NUMBER }, { "SPARE %", "spare_percent", NUMBER },
		{ "USED %", "used_percent", NUMBER }, { "MEDIA ERRORS", "media_errors", NUMBER },
		{ "CACHE", "volatile_cache", SOME }, { "WHY", "reason", TEXT }, { NULL, NULL, TEXT },
	};

	table(json_object_get(r, "drives"), cols, "no drives are exported");
	silent(r);
}

static void hosts(const json_t *r)
{
	static const struct column cols[] = {
		{ "HOST", "name", TEXT }, { "ADDRESS", "addr", TEXT }, { "PORT", "port", NUMBER },
		{ "UUID", "uuid", TEXT },
		{ "STATE", "state", TEXT }, { "CHANNELS", "channels", NUMBER },
		{ "ARENA", "arena", SIZE }, { "WHY", "reason", TEXT }, { NULL, NULL, TEXT },
	};

	table(json_object_get(r, "hosts"), cols, "no hosts yet: 'meshctl host add ADDRESS'");
}

static void checks(const json_t *r)
{
	const json_t *c;
	size_t i;

	json_array_foreach(json_object_get(r, "checks"), i, c)
		printf("%-4s %s: %s\n", json_is_true(json_object_get(c, "ok")) ? "ok" :
		       json_is_null(json_object_get(c, "ok")) ? "note" : "BAD",
		       str(c, "what"), str(c, "says"));
}

static void key(const json_t *r)
{
	json_int_t id = json_integer_value(json_object_get(r, "key_id"));

	if (!id) {
		printf(json_is_true(json_object_get(r, "insecure")) ?
		       "no key is set, and insecure = yes: any host may log in\n" :
		       "no key is set: this host exports to itself alone, and other hosts refuse it\n");
		return;
	}
	printf("key id %lld\n", (long long)id);
	if (json_is_string(json_object_get(r, "key")))
		printf("%s\n", str(r, "key"));
}

static void volumes(const json_t *r)
{
	static const struct column cols[] = {
		{ "VOLUME", "name", TEXT }, { "SIZE", "size", SIZE }, { "LAYOUT", "layout", TEXT },
		{ "STRIP", "strip", SIZE }, { "VERSION", "version", NUMBER }, { "STATE", "state", TEXT },
		{ "HEALTH", "health", TEXT }, { "HOLDER", "holder", SOME },
		{ "DEVICE", "device", TEXT }, { "UUID", "uuid", TEXT }, { "WHY", "reason", TEXT },
		{ NULL, NULL, TEXT },
	};

	table(json_object_get(r, "volumes"), cols, json_is_true(json_object_get(r, "degraded_alone")) ?
	      "no volume that is attached here lacks members" : "no volumes yet: 'meshctl volume create'");
}

/* A row for each member of the group, as the volume's members have it. */
static void group_rows(json_t *rows, const json_t *group, const json_t *members)
{
	json_t *m, *row;
	char name[48];
	size_t i;

	snprintf(name, sizeof(name), "%lld.%lld",
		 (long long)json_integer_value(json_object_get(group, "segment")),
		 (long long)json_integer_value(json_object_get(group, "group")));
	json_array_foreach(json_object_get(group, "members"), i, m) {
		row = json_copy(json_array_get(members, json_integer_value(json_object_get(m, "index"))));
		if (!row)
			continue;
		json_object_update(row, m);
		json_object_set_new(row, "group", json_string(name));
		json_object_set(row, "health", json_object_get(group, "health") ? json_object_get(group, "health") :
				json_object_get(group, "state"));
		json_array_append_new(rows, row);
	}
}

static void groups(const json_t *r)
{
	static const struct column cols[] = {
		{ "GROUP", "group", TEXT }, { "HEALTH", "health", TEXT }, { "MEMBER", "index", NUMBER },
		{ "ROLE", "role", TEXT }, { "BEHIND", "behind", SIZE }, { "STATE", "state", TEXT },
		{ "HOST", "host", TEXT }, { "DRIVE", "drive", TEXT }, { NULL, NULL, TEXT },
	};
	json_t *rows = json_array(), *group;
	size_t i;

	json_array_foreach(json_object_get(r, "groups"), i, group)
		group_rows(rows, group, json_object_get(r, "members"));
	if (json_array_size(rows)) {
		putchar('\n');
		table(rows, cols, "");
	}
	json_decref(rows);
}

/* Whether this host can say later that no other one has gone on with members that are missing. */
static void witness(const json_t *r)
{
	size_t n = json_array_size(json_object_get(r, "groups")), noted = 0, i;
	const json_t *g;

	json_array_foreach(json_object_get(r, "groups"), i, g)
		noted += json_is_true(json_object_get(g, "witness"));
	if (noted == n && n)
		printf("witness this host\n");
	else if (noted)
		printf("witness this host, of %zu of %zu groups\n", noted, n);
}

static u64 number_of(const json_t *o, const char *key)
{
	return (u64)json_integer_value(json_object_get(o, key));
}

/* Where members differ, by the byte of the member's data. Of two copies either may be wrong. */
static void scrub_places(const json_t *group, const json_t *members)
{
	const json_t *both = json_object_get(group, "members"), *d, *m;
	bool one;
	size_t i;

	json_array_foreach(json_object_get(group, "diffs"), i, d) {
		m = json_object_get(d, "member");
		one = json_is_integer(m) && json_array_size(both) != 2;
		if (one)
			printf("  member %lld on host %s differs", (long long)json_integer_value(m),
			       str(json_array_get(members, json_integer_value(m)), "host"));
		else if (json_is_integer(m))
			printf("  members %llu and %llu differ",
			       (unsigned long long)number_of(json_array_get(both, 0), "index"),
			       (unsigned long long)number_of(json_array_get(both, 1), "index"));
		else
			printf("  members differ, and which is wrong is not known,");
		printf(" at byte %llu of %s data, %llu bytes\n", (unsigned long long)number_of(d, "at"),
		       one ? "its" : "their", (unsigned long long)number_of(d, "length"));
	}
}

/* What keeps members from being made whole. */
static void unread_places(const json_t *r)
{
	const json_t *g, *d;
	size_t i, k;

	json_array_foreach(json_object_get(r, "groups"), i, g)
		json_array_foreach(json_object_get(g, "unread"), k, d)
			printf("member %lld lacks %llu bytes at byte %llu of its data, which no other member can "
			       "read: a write there heals it\n", (long long)number_of(d, "member"),
			       (unsigned long long)number_of(d, "length"),
			       (unsigned long long)number_of(d, "at"));
}

/* A line for each group that is scrubbed, or whose scrub found something. */
static void scrubs(const json_t *r)
{
	char bytes[SIZE_TEXT], skipped[SIZE_TEXT];
	const json_t *g;
	u64 all, done;
	size_t i;

	json_array_foreach(json_object_get(r, "groups"), i, g) {
		bool runs = json_is_true(json_object_get(g, "scrubbing"));

		if (!runs && !number_of(g, "mismatches") && !number_of(g, "skipped") &&
		    !number_of(g, "repaired"))
			continue;
		all = number_of(g, "bytes");
		done = number_of(g, "scrubbed");
		size_text(all, bytes);
		size_text(number_of(g, "skipped"), skipped);
		printf("%sscrub of group %llu.%llu: ", i ? "" : "\n",
		       (unsigned long long)number_of(g, "segment"), (unsigned long long)number_of(g, "group"));
		if (runs)
			printf("%u %% of %s, ", all ? (unsigned int)((double)done * 100 / (double)all) : 0, bytes);
		printf("%llu sectors differed, %llu were written again, %s not compared\n",
		       (unsigned long long)number_of(g, "mismatches"),
		       (unsigned long long)number_of(g, "repaired"), skipped);
		scrub_places(g, json_object_get(r, "members"));
	}
}

/* What they cannot do, and others can. */
static void locals(const json_t *members)
{
	const char *kind;
	bool any = false;
	const json_t *m;
	size_t i;

	json_array_foreach((json_t *)members, i, m) {
		kind = json_string_value(json_object_get(m, "kind"));
		any = any || (kind && !strcmp(kind, "bdev"));
	}
	if (any)
		printf("\nI/O to a member of kind bdev ends when its device ends it: a device that never does holds "
		       "the\nrequests whose pages it was given, and a detach waits for these\n");
}

/* A line for each group that a member of leaves. */
static void evictions(const json_t *r)
{
	char bytes[SIZE_TEXT];
	const json_t *g, *e;
	u64 all;
	size_t i;

	json_array_foreach(json_object_get(r, "groups"), i, g) {
		e = json_object_get(g, "evicting");
		if (!json_is_object(e))
			continue;
		all = number_of(e, "bytes");
		size_text(all, bytes);
		printf("member %llu leaves: %u %% of %s are copied to extent %s\n",
		       (unsigned long long)number_of(e, "member"),
		       all ? (unsigned int)((double)number_of(e, "copied") * 100 / (double)all) : 0, bytes,
		       json_string_value(json_object_get(e, "to")));
	}
}

/* What members and drives wait for. */
static void waits(const json_t *r)
{
	const json_t *g, *m, *a;
	size_t i, k;

	json_array_foreach(json_object_get(r, "groups"), i, g)
		json_array_foreach(json_object_get(g, "members"), k, m)
			if (json_is_true(json_object_get(m, "waits")))
				printf("member %llu waits for its place: the I/O of the former member has not ended\n",
				       (unsigned long long)number_of(m, "index"));
	json_array_foreach(json_object_get(r, "abandoned"), i, a) {
		printf("abandoned I/O on %s: %llu, ", str(a, "path"), (unsigned long long)number_of(a, "ios"));
		if (json_is_integer(json_object_get(a, "member")))
			printf("of member %llu", (unsigned long long)number_of(a, "member"));
		else
			printf("of a former member");
		printf("; its extent stays as it is until the device ends it, or is removed\n");
	}
}

void print_kernel(const json_t *k)
{
	groups(k);
	unread_places(k);
	scrubs(k);
	evictions(k);
	waits(k);
}

/* In a table, what a mirror has are copies, neither data nor parity. Return: the caller's. */
json_t *segments_of(const json_t *r)
{
	json_t *list = json_deep_copy(json_object_get(r, "segments")), *s, *columns;
	size_t i;

	json_array_foreach(list, i, s) {
		columns = json_object_get(s, "columns");
		if (strcmp(str(s, "level"), "mirror") && strcmp(str(s, "level"), "raid10"))
			continue;
		json_object_set(s, "copies", columns);
		json_object_del(s, "columns");
		json_object_del(s, "parity");
	}
	return list;
}

static void volume(const json_t *r)
{
	static const struct column members[] = {
		{ "MEMBER", "index", NUMBER }, { "KIND", "kind", TEXT }, { "HOST", "host", TEXT },
		{ "DRIVE", "drive", TEXT }, { "EXTENT", "extent", TEXT }, { "SIZE", "size", SIZE },
		{ "STATE", "state", TEXT }, { NULL, NULL, TEXT },
	};
	static const struct column segments[] = {
		{ "SEGMENT AT", "start", SIZE }, { "LENGTH", "length", SIZE },
		{ "LEVEL", "level", TEXT }, { "GROUPS", "groups", NUMBER },
		{ "COPIES", "copies", SOME }, { "DATA", "columns", SOME },
		{ "PARITY", "parity", SOME },
		{ "STRIP", "strip", SIZE }, { NULL, NULL, TEXT },
	};
	char size[SIZE_TEXT];
	json_t *list;

	size_text((u64)json_number_value(json_object_get(r, "size")), size);
	if (json_is_string(json_object_get(r, "reason")))
		note_show(json_string_value(json_object_get(r, "reason")));
	printf("name    %s\nuuid    %s\nsize    %s\nlayout  %s\nversion %lld\nstate   %s\ndevice  %s\n",
	       str(r, "name"), str(r, "uuid"), size, str(r, "layout"),
	       (long long)json_integer_value(json_object_get(r, "version")), str(r, "state"),
	       str(r, "device"));
	if (json_is_string(json_object_get(r, "health")))
		printf("health  %s\n", str(r, "health"));
	witness(r);
	if (number_of(r, "spares"))
		printf("spares  %llu, %llu left\n", (unsigned long long)number_of(r, "spares"),
		       (unsigned long long)number_of(r, "spares_left"));
	putchar('\n');
	list = segments_of(r);
	table(list, segments, "no segments");
	json_decref(list);
	groups(r);
	unread_places(r);
	scrubs(r);
	evictions(r);
	waits(r);
	putchar('\n');
	table(json_object_get(r, "members"), members, "no members");
	locals(json_object_get(r, "members"));
}

/* What scripts and users need of `volume create` is the device. */
static void device(const json_t *r)
{
	if (json_object_get(r, "warning"))
		note_show(json_string_value(json_object_get(r, "warning")));
	if (json_is_string(json_object_get(r, "device")))
		printf("%s\n", str(r, "device"));
	else
		printf("%s: not attached ('meshctl volume attach %s')\n", str(r, "name"),
		       str(r, "name"));
}

static void counters(const char *what, const char *name, const json_t *stats)
{
	const char *k;
	json_t *v;

	printf("%s %s\n", what, name);
	json_object_foreach((json_t *)stats, k, v)
		if (!json_is_null(v))
			printf("  %-14s %lld\n", safe(k), (long long)json_integer_value(v));
}

static void stats(const json_t *r)
{
	const json_t *o;
	size_t i;

	if (!json_array_size(json_object_get(r, "volumes")) &&
	    !json_array_size(json_object_get(r, "targets")) &&
	    !json_array_size(json_object_get(r, "sessions")))
		fprintf(stderr, "meshctl: no volumes attached, no hosts connected\n");
	json_array_foreach(json_object_get(r, "volumes"), i, o)
		counters("volume", str(o, "name"), json_object_get(o, "stats"));
	json_array_foreach(json_object_get(r, "targets"), i, o)
		counters("target", str(o, "addr"), json_object_get(o, "stats"));
	json_array_foreach(json_object_get(r, "sessions"), i, o)
		counters("client", str(o, "host"), json_object_get(o, "stats"));
}

static void extents(const json_t *r)
{
	static const struct column cols[] = {
		{ "EXTENT", "uuid", TEXT }, { "HOST", "host", TEXT }, { "DRIVE", "drive", TEXT },
		{ "VOLUME", "name", TEXT }, { "SIZE", "length", SIZE }, { "VERSION", "version", NUMBER },
		{ "ATTACH", "attach", SOME }, { "HOLDER", "holder", TEXT }, { "STATE", "state", TEXT },
		{ "WHY", "reason", TEXT }, { NULL, NULL, TEXT },
	};

	table(json_object_get(r, "extents"), cols, "no extents that no volume claims");
	silent(r);
}

/* `volume import`: a list without a name, else the volume. */
static void candidates(const json_t *r)
{
	static const struct column cols[] = {
		{ "VOLUME", "name", TEXT }, { "SIZE", "size", SIZE }, { "LAYOUT", "layout", TEXT },
		{ "VERSION", "version", NUMBER }, { "MEMBERS", "members", NUMBER },
		{ "FOUND", "found", NUMBER }, { "HOLDER", "holder", TEXT }, { "STATE", "state", TEXT },
		{ "UUID", "uuid", TEXT }, { NULL, NULL, TEXT },
	};

	if (!json_is_array(json_object_get(r, "found"))) {
		device(r);
		return;
	}
	table(json_object_get(r, "found"), cols,
	      "no volumes on the drives of the known hosts: 'meshctl host list', 'meshctl drive list'");
	silent(r);
}

static void identity(const json_t *r)
{
	printf("host     %s\nmachine  %s\nnoted    %s\nstate    %s\n", str(r, "host_uuid"),
	       str(r, "machine"), str(r, "noted"), str(r, "state"));
}

/* The things of a dry run for which @would holds. */
static void dry_things(const json_t *things, const char *would)
{
	static const char *const more[] = { "uuid", "host", "drive", "volume", "holder" };
	const json_t *d, *v;
	char size[SIZE_TEXT];
	size_t i, k;

	json_array_foreach((json_t *)things, i, d) {
		printf("%s %s %s", would, str(d, "what"), str(d, "name"));
		v = json_object_get(d, "bytes");
		if (json_is_number(v)) {
			size_text((u64)json_number_value(v), size);
			printf(", %s", size);
		}
		v = json_object_get(d, "extents");
		if (json_is_number(v))
			printf(", %lld extent%s", (long long)json_integer_value(v),
			       json_integer_value(v) == 1 ? "" : "s");
		for (k = 0; k < sizeof(more) / sizeof(*more); k++)
			if (json_is_string(json_object_get(d, more[k])))
				printf(", %s %s", more[k], str(d, more[k]));
		putchar('\n');
	}
}

static void dry_run(const json_t *r)
{
	if (json_object_get(r, "exports")) {
		print_exports(r);
		return;
	}
	if (!json_array_size(json_object_get(r, "destroys")))
		printf("nothing that is recognised would be destroyed\n");
	dry_things(json_object_get(r, "destroys"), "would destroy");
	dry_things(json_object_get(r, "unreachable"), "would become unreachable:");
}

static void done(const json_t *r)
{
	(void)r;
}

const print_fn print_text[RESULTS] = {
	[RESULT_VERSION] = version,
	[RESULT_SCAN] = scan,
	[RESULT_DRIVES] = drives,
	[RESULT_HEALTH] = health,
	[RESULT_HOSTS] = hosts,
	[RESULT_CHECKS] = checks,
	[RESULT_KEY] = key,
	[RESULT_VOLUMES] = volumes,
	[RESULT_VOLUME] = volume,
	[RESULT_DEVICE] = device,
	[RESULT_STATS] = stats,
	[RESULT_DONE] = done,
	[RESULT_EXTENTS] = extents,
	[RESULT_CANDIDATES] = candidates,
	[RESULT_IDENTITY] = identity,
	[RESULT_DRY_RUN] = dry_run,
	[RESULT_CLUSTER] = print_cluster,
	[RESULT_STATUS] = print_status,
	[RESULT_TOKEN] = print_token,
	[RESULT_MEMBERS] = print_members,
	[RESULT_DISKS] = print_disks,
	[RESULT_EXPORTED] = print_exported,
	[RESULT_TASKS] = print_tasks,
	[RESULT_TASK] = print_task,
	[RESULT_EVENTS] = print_events,
	[RESULT_ATTACHED] = print_attached,
	[RESULT_LAYOUT] = print_layout,
	[RESULT_BACKUP] = print_backup,
	[RESULT_RECOVER] = print_recover,
};
