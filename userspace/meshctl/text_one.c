// SPDX-License-Identifier: GPL-2.0-only
/* Human-readable results of the daemon of the cluster store. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/format/size.h"
#include "userspace/meshctl/meshctl.h"
#include "userspace/meshctl/table.h"

static bool is_true(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

/* Seconds since 1970 as the local clock has them. */
static void time_text(json_int_t at, char out[32])
{
	time_t t = (time_t)at;
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(out, 32, "-");
}

void print_cluster(const json_t *r)
{
	if (is_true(r, "restarts")) {
		printf("done; meshd starts again and follows the other store: 'meshctl cluster status'\n");
		return;
	}
	printf("cluster  %s\nuuid     %s\nhost     %s, %s\n", str(r, "cluster"), str(r, "cluster_uuid"),
	       str(r, "host"), str(r, "role"));
}

void print_status(const json_t *r)
{
	const json_t *p;
	size_t i;

	printf("%s\n", str(r, "words"));
	json_array_foreach(json_object_get(r, "problems"), i, p) {
		printf("%s%-8s  %s\n", i ? "" : "\n", str(p, "grade"), str(p, "words"));
		if (json_is_string(json_object_get(p, "todo")))
			printf("          type: %s\n", str(p, "todo"));
	}
}

/* The word alone, so that it can be piped to the host that joins. */
void print_token(const json_t *r)
{
	const char *token = json_string_value(json_object_get(r, "token"));

	if (token)
		puts(token);
}

void print_members(const json_t *r)
{
	static const struct column cols[] = {
		{ "HOST", "name", TEXT }, { "ROLE", "role", TEXT }, { "STATE", "state", TEXT },
		{ "RACK", "rack", TEXT }, { "ADDRESS", "addr", TEXT }, { "VERSION", "version", TEXT },
		{ "UUID", "uuid", TEXT }, { "WHY", "reason", TEXT }, { NULL, NULL, TEXT },
	};

	table(json_object_get(r, "hosts"), cols, "no hosts yet: this one has not reported itself");
}

void print_disks(const json_t *r)
{
	static const struct column cols[] = {
		{ "HOST", "host", TEXT }, { "DISK", "path", TEXT }, { "SIZE", "size", SIZE },
		{ "BLOCK", "lba", NUMBER }, { "MODEL", "model", TEXT }, { "SERIAL", "serial", TEXT },
		{ "STATE", "state", TEXT }, { "WHY", "reason", TEXT }, { NULL, NULL, TEXT },
	};

	table(json_object_get(r, "drives"), cols, "no disks found");
}

void print_exported(const json_t *r)
{
	static const struct column cols[] = {
		{ "DRIVE", "uuid", TEXT }, { "HOST", "host", TEXT }, { "PATH", "path", TEXT },
		{ "SIZE", "size", SIZE }, { "FREE", "free", SIZE }, { "EXTENTS", "extents", SOME },
		{ "STATE", "state", TEXT }, { "WHY", "reason", TEXT }, { NULL, NULL, TEXT },
	};
	static const struct column made[] = {
		{ "HOST", "host", TEXT }, { "PATH", "path", TEXT }, { "SIZE", "size", SIZE },
		{ "STATE", "state", TEXT }, { NULL, NULL, TEXT },
	};
	const json_t *list = json_object_get(r, "drives");

	/* Of an export there are no UUIDs. */
	table(list, json_object_get(json_array_get(list, 0), "uuid") ? cols : made,
	      "no drives yet: 'meshctl drive scan' lists disks, 'meshctl drive export' makes one a drive");
}

/* Disks that a dry run of an export names. */
void print_exports(const json_t *r)
{
	const json_t *list = json_object_get(r, "exports"), *d;
	size_t i;

	json_array_foreach((json_t *)list, i, d)
		printf("would %s %s:%s\n", strcmp(str(d, "state"), "exported") ? "export" : "leave, as a drive already,",
		       str(d, "host"), str(d, "path"));
	if (!json_array_size(list))
		printf("nothing would be exported\n");
}

/* Rows with a time that people read. */
static json_t *with_time(const json_t *list, const char *key, json_int_t unit)
{
	json_t *rows = json_deep_copy(list), *row;
	char text[32];
	size_t i;

	json_array_foreach(rows, i, row) {
		time_text(json_integer_value(json_object_get(row, key)) / unit, text);
		json_object_set_new(row, key, json_string(text));
	}
	return rows;
}

void print_tasks(const json_t *r)
{
	static const struct column cols[] = {
		{ "TASK", "uuid", TEXT }, { "VERB", "verb", TEXT }, { "ABOUT", "about", TEXT },
		{ "STATE", "state", TEXT }, { "STEP", "step", TEXT }, { "SINCE", "created", TEXT },
		{ "HOST", "host", TEXT }, { "WHY", "reason", TEXT }, { NULL, NULL, TEXT },
	};
	json_t *rows = with_time(json_object_get(r, "tasks"), "created", 1);

	table(rows, cols, "nothing goes on ('--all' lists what has ended)");
	json_decref(rows);
}

void print_task(const json_t *r)
{
	json_int_t done = json_integer_value(json_object_get(r, "done"));
	json_int_t total = json_integer_value(json_object_get(r, "total"));
	char *args = json_dumps(json_object_get(r, "args"), JSON_COMPACT | JSON_ENSURE_ASCII);
	char created[32], changed[32];

	time_text(json_integer_value(json_object_get(r, "created")), created);
	time_text(json_integer_value(json_object_get(r, "changed")), changed);
	printf("task     %s\nverb     %s\nabout    %s\nargs     %s\nstate    %s\n", str(r, "uuid"), str(r, "verb"),
	       str(r, "about"), safe(args), str(r, "state"));
	printf("step     %s", str(r, "step"));
	if (total > 0)
		printf(", %lld %%", (long long)((double)done * 100 / (double)total));
	printf("\nby       %s on %s\nsince    %s\nchanged  %s\n", str(r, "user"), str(r, "host"), created, changed);
	if (json_is_string(json_object_get(r, "reason")))
		printf("why      %s\n", str(r, "reason"));
	free(args);
}

void print_events(const json_t *r)
{
	static const struct column cols[] = {
		{ "TIME", "at", TEXT }, { "HOST", "host", TEXT }, { "WHAT", "what", TEXT },
		{ "VOLUME", "volume", TEXT }, { "WORDS", "words", TEXT }, { NULL, NULL, TEXT },
	};
	json_t *rows = with_time(json_object_get(r, "events"), "at", 1000);

	table(rows, cols, "nothing happened");
	json_decref(rows);
}

/* Scripts and users need the device where it is on this host. */
void print_attached(const json_t *r)
{
	const json_t *list = json_object_get(r, "attached"), *h;
	size_t i;

	if (is_true(r, "here") && json_is_string(json_object_get(r, "device"))) {
		printf("%s\n", str(r, "device"));
		return;
	}
	json_array_foreach((json_t *)list, i, h)
		printf("%s: attached on host %s as %s\n", str(r, "name"), str(h, "host"), str(h, "device"));
	if (json_array_size(list))
		return;
	if (json_is_string(json_object_get(r, "host")))
		printf("%s: attached on host %s as %s\n", str(r, "name"), str(r, "host"), str(r, "device"));
	else
		printf("%s: not attached ('meshctl volume attach %s')\n", str(r, "name"), str(r, "name"));
}

static json_int_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static void print_groups(const json_t *r)
{
	static const struct column cols[] = {
		{ "GROUP", "index", NUMBER }, { "HEALTH", "health", TEXT }, { "EPOCH", "epoch", NUMBER },
		{ "NOTED BY", "noted", TEXT }, { NULL, NULL, TEXT },
	};
	json_t *rows = json_deep_copy(json_object_get(r, "groups")), *g;
	size_t i;

	json_array_foreach(rows, i, g)
		json_object_set_new(g, "noted", json_string(is_true(g, "witness") ? "the store first" :
							    "its members: needs all copies to attach elsewhere"));
	if (json_array_size(rows)) {
		putchar('\n');
		table(rows, cols, "");
	}
	json_decref(rows);
}

void print_layout(const json_t *r)
{
	static const struct column hosts[] = {
		{ "HOST", "host", TEXT }, { "MODE", "mode", TEXT }, { "STATE", "state", TEXT },
		{ "DEVICE", "device", TEXT }, { "WHY", "reason", TEXT }, { NULL, NULL, TEXT },
	};
	static const struct column segments[] = {
		{ "SEGMENT AT", "start", SIZE }, { "LENGTH", "length", SIZE }, { "LEVEL", "level", TEXT },
		{ "GROUPS", "groups", NUMBER }, { "COPIES", "copies", SOME }, { "DATA", "columns", SOME },
		{ "PARITY", "parity", SOME }, { "STRIP", "strip", SIZE }, { NULL, NULL, TEXT },
	};
	static const struct column members[] = {
		{ "MEMBER", "index", NUMBER }, { "HOST", "host", TEXT }, { "PATH", "path", TEXT },
		{ "DRIVE", "drive", TEXT }, { "SIZE", "size", SIZE }, { "STATE", "state", TEXT },
		{ "WHY", "reason", TEXT }, { NULL, NULL, TEXT },
	};
	const json_t *kernel = json_object_get(r, "kernel");
	json_t *rows = segments_of(r);
	char size[SIZE_TEXT];

	size_text((u64)json_number_value(json_object_get(r, "size")), size);
	if (json_is_string(json_object_get(r, "reason")))
		note_show(json_string_value(json_object_get(r, "reason")));
	printf("name    %s\nuuid    %s\nsize    %s\nlayout  %s\ndomain  %s\nversion %lld\nstate   %s\nhealth  %s\n",
	       str(r, "name"), str(r, "uuid"), size, str(r, "layout"), str(r, "domain"),
	       (long long)number(r, "version"), str(r, "state"), str(r, "health"));
	if (number(r, "spares"))
		printf("spares  %lld, %lld left\n", (long long)number(r, "spares"), (long long)number(r, "spares_left"));
	putchar('\n');
	table(json_object_get(r, "hosts"), hosts, "attached nowhere: 'meshctl volume attach'");
	putchar('\n');
	table(rows, segments, "no segments");
	json_decref(rows);
	print_groups(r);
	/* Where the volume is attached its kernel knows more than the cluster has noted. */
	if (json_is_object(kernel))
		print_kernel(kernel);
	putchar('\n');
	table(json_object_get(r, "members"), members, "no members");
}

void print_backup(const json_t *r)
{
	if (json_is_string(json_object_get(r, "text")))
		fputs(json_string_value(json_object_get(r, "text")), stdout);
	else
		printf("%lld keys are in %s, which has a secret key, too: keep it where root alone reads it\n",
		       (long long)number(r, "keys"), str(r, "file"));
}

/* "2 on s1, 3 on s2" */
static json_t *missing_text(const json_t *v)
{
	char text[256] = "";
	const json_t *m;
	size_t i, n = 0;

	json_array_foreach(json_object_get(v, "missing"), i, m) {
		if (n < sizeof(text))
			n += snprintf(text + n, sizeof(text) - n, "%s%lld on %s", n ? ", " : "",
				      (long long)number(m, "member"), str(m, "host"));
	}
	return json_string(n ? text : "-");
}

void print_recover(const json_t *r)
{
	static const struct column hosts[] = {
		{ "HOST", "host", TEXT }, { "CANNOT READ", "lacks", TEXT }, { NULL, NULL, TEXT },
	};
	static const struct column volumes[] = {
		{ "VOLUME", "name", TEXT }, { "UUID", "uuid", TEXT }, { "FATE", "fate", TEXT },
		{ "VERSION", "version", NUMBER }, { "STORE HAD", "was", NUMBER }, { "ATTACHED", "host", TEXT },
		{ "NOT FOUND", "lost", TEXT }, { "WHY", "reason", TEXT }, { NULL, NULL, TEXT },
	};
	json_t *rows = json_deep_copy(json_object_get(r, "volumes")), *v;
	size_t i;

	json_array_foreach(rows, i, v)
		json_object_set_new(v, "lost", missing_text(v));
	printf("generation %lld, from %lld drives of these hosts:\n\n", (long long)number(r, "generation"),
	       (long long)number(r, "drives"));
	table(json_object_get(r, "hosts"), hosts, "no hosts");
	putchar('\n');
	table(rows, volumes, "no volumes");
	json_decref(rows);
	if (number(r, "doubts"))
		printf("\nin doubt: start the hosts and drives that have what was not found, or give it up by --partly\n");
	if (!is_true(r, "changed"))
		printf("\nnothing was changed\n");
}
