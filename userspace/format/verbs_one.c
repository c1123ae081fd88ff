// SPDX-License-Identifier: GPL-2.0-only
/* The table of everything that can be requested of the daemon of the cluster store. */
#include <string.h>

#include "userspace/format/verbs.h"

/* --force is for data alone, or for use; each other thing that is overridden has its own option. */
#define VOLUME		{ "VOLUME", ARG_TEXT, "volume", NULL }
#define HOST		{ "HOST", ARG_HOST, "host", NULL }
#define DRIVE		{ "DRIVE", ARG_TEXT, "drive", NULL }
#define TASK		{ "TASK", ARG_TEXT, "task", NULL }
#define MEMBER		{ "MEMBER", ARG_TEXT, "member", NULL }
#define OPT_DRY_RUN	{ "--dry-run", ARG_FLAG, "dry_run", "say what would be done or lost, and change nothing" }
#define OPT_ID		{ "--id", ARG_ID, "id", "UUID of the operation: repeated with it, it is done once" }
#define OPT_HOSTS(help)	{ "--host", ARG_HOSTS, "hosts", help }
#define OPT_DRIVES	{ "--drives", ARG_LIST, "drives", "UUIDs, starts of one, HOST:DEVICE or names, with commas between" }
#define OPT_ALLOW	{ "--allow", ARG_HOSTS, "allow", "hosts that may attach it, at most 64; all: every host" }
#define OPT_END		{ NULL, ARG_FLAG, NULL, NULL }

static const struct verb_arg none[] = { OPT_END };
static const struct verb_arg id_opts[] = { OPT_ID, OPT_END };

static const struct verb_arg init_opts[] = {
	{ "--name", ARG_NAME, "name", "of the cluster" },
	OPT_END,
};

static const struct verb_arg token_opts[] = {
	{ "--role", ARG_ROLE, "role", "of the host that joins (default client): a client attaches; a storage host "
	  "exports drives as well; a store host keeps the cluster store, too" },
	{ "--expires", ARG_PERIOD, "expires", "for that long it may be used (default 1h)" },
	OPT_END,
};

static const struct verb_arg join_opts[] = {
	{ "--token-file", ARG_LINE, "token", "the token from a file, - is standard input: not seen in ps" },
	OPT_END,
};

static const struct verb_arg recover_opts[] = {
	{ "--without", ARG_HOSTS, "without", "hosts that are not waited for, by name or UUID: what they have is left out" },
	{ "--partly", ARG_LIST, "partly", "volumes of which not all was found: what their missing members have is given "
	  "up" },
	{ "--from", ARG_TEXT, "from", "FILE of 'cluster backup', where the store is empty" },
	OPT_DRY_RUN,
	OPT_END,
};

static const struct verb_arg host_remove_opts[] = {
	{ "--lost", ARG_FLAG, "lost", "although it has drives or volumes: it does not come back" },
	OPT_DRY_RUN,
	OPT_END,
};

static const struct verb_arg host_set_opts[] = {
	{ "--rack", ARG_TEXT, "rack", "where it stands, a failure domain" },
	{ "--label", ARG_PAIRS, "labels", "NAME=VALUE, a failure domain of another name; an empty value removes it" },
	OPT_END,
};

static const struct verb_arg scan_opts[] = {
	OPT_HOSTS("of these hosts alone"),
	OPT_END,
};

static const struct verb_arg export_opts[] = {
	{ "--force", ARG_FLAG, "force", "erase what is on it, or export it although it is on a network; never what was "
	  "a drive with a label" },
	{ "--erase-label", ARG_FLAG, "erase_label", "erase it although it was a drive whose label is damaged, or of "
	  "another cluster" },
	{ "--local", ARG_FLAG, "local", "for volumes of its own host alone: no other host reaches it" },
	{ "--name", ARG_NAME, "name", "what to call it" },
	{ "--all", ARG_FLAG, "all", "every disk that can be exported, of the hosts that --host names" },
	OPT_HOSTS("with --all: of these hosts (default: this one)"),
	OPT_ID,
	OPT_DRY_RUN,
	OPT_END,
};

static const struct verb_arg unexport_opts[] = {
	{ "--force", ARG_FLAG, "force", "although volumes have extents on it; their data stays there" },
	{ "--preempt", ARG_FLAG, "preempt", "although these are open: their I/O to it fails" },
	OPT_ID,
	OPT_DRY_RUN,
	OPT_END,
};

static const struct verb_arg forget_opts[] = {
	OPT_ID,
	OPT_DRY_RUN,
	OPT_END,
};

static const struct verb_arg create_opts[] = {
	{ "--size", ARG_SIZE, "size", "bytes, or with a suffix: 10G, 1.5T; max: all there is" },
	{ "--layout", ARG_LAYOUT, "layout", "linear, stripe:N, mirror:C (C copies), raid10:NxC (a stripe over N "
	  "mirrors), or ec:K+M (K for data, any M may be lost)" },
	{ "--groups", ARG_NUMBER, "groups", "with mirror and ec: a stripe over that many of them" },
	{ "--strip", ARG_STRIP, "strip", "bytes on one drive before the next, 4k to 1m (default 64k)" },
	{ "--domain", ARG_LABEL, "domain", "no two members of a group share it: drive, host, rack or a label of hosts "
	  "(default: host for mirror, raid10 and ec, else drive)" },
	{ "--spares", ARG_COUNT, "spares", "members that may be lost and are replaced without a command" },
	OPT_DRIVES,
	OPT_ALLOW,
	{ "--attach", ARG_HOST, "attach", "attach it on that host when it is made" },
	OPT_ID,
	OPT_END,
};

static const struct verb_arg list_opts[] = {
	{ "--degraded", ARG_FLAG, "degraded", "those alone that lack members; ends with status 1 if there are any" },
	OPT_END,
};

static const struct verb_arg attach_opts[] = {
	OPT_HOSTS("on these hosts (default: this one); several: with --readonly"),
	{ "--readonly", ARG_FLAG, "readonly", "open it for reading only" },
	{ "--preempt", ARG_FLAG, "preempt", "take it from the host that has it, which is fenced" },
	OPT_ID,
	OPT_END,
};

static const struct verb_arg detach_opts[] = {
	OPT_HOSTS("from these hosts (default: this one)"),
	{ "--force", ARG_FLAG, "force", "although it is in use: I/O in flight fails" },
	OPT_ID,
	OPT_END,
};

static const struct verb_arg delete_opts[] = {
	{ "--preempt", ARG_FLAG, "preempt", "although it is attached: its hosts are fenced" },
	OPT_ID,
	OPT_DRY_RUN,
	OPT_END,
};

static const struct verb_arg extend_opts[] = {
	{ "--size", ARG_SIZE, "size", "its new size; max: all there is" },
	OPT_DRIVES,
	OPT_ID,
	OPT_END,
};

static const struct verb_arg replace_opts[] = {
	{ "--with", ARG_DRIVE, "with", "the drive (default: one with room that keeps the failure domain)" },
	OPT_ID,
	OPT_END,
};

static const struct verb_arg volume_set_opts[] = {
	{ "--spares", ARG_COUNT, "spares", "members that may be lost and are replaced without a command; 0: none" },
	OPT_ALLOW,
	OPT_ID,
	OPT_END,
};

static const struct verb_arg wait_opts[] = {
	{ "--timeout", ARG_SECONDS, "timeout", "give up after that many seconds" },
	OPT_END,
};

static const struct verb_arg scrub_opts[] = {
	{ "--repair", ARG_FLAG, "repair", "write again what differs: what --from names of a mirror, what explains it of "
	  "ec" },
	{ "--from", ARG_MEMBER, "from", "with --repair: the member of a mirror whose copy is right" },
	{ "--stop", ARG_FLAG, "stop", "end the scrub that runs" },
	{ "--all", ARG_FLAG, "all", "every volume with redundancy that is attached for writing, on any host" },
	{ "--timer", ARG_FLAG, "timer", "those of this host, and nothing where its meshd.conf has scrub = never" },
	OPT_ID,
	OPT_END,
};

static const struct verb_arg tasks_opts[] = {
	{ "--all", ARG_FLAG, "all", "those that have ended, too" },
	OPT_END,
};

static const struct verb_arg events_opts[] = {
	{ "--volume", ARG_TEXT, "volume", "of this volume alone" },
	{ "--last", ARG_NUMBER, "last", "the last that many (default 100)" },
	OPT_END,
};

const struct verb verbs[] = {
	{ "cluster init", { }, init_opts,
	  "make a cluster of this machine, which other hosts may join; what it has stays",
	  "meshctl cluster init --name rack7", RESULT_CLUSTER },
	{ "cluster token", { }, token_opts,
	  "print a token, with which one host joins the cluster",
	  "meshctl cluster token --role client --expires 1h", RESULT_TOKEN },
	{ "cluster join", { { "[TOKEN]", ARG_TEXT, "token", NULL } }, join_opts,
	  "make this machine a host of the cluster that the token is of",
	  "meshctl cluster join TOKEN", RESULT_CLUSTER },
	{ "cluster leave", { }, none,
	  "make this machine a cluster of its own again",
	  "meshctl cluster leave", RESULT_CLUSTER },
	{ "cluster set", { { "NAME=VALUE", ARG_TEXT, "setting", NULL } }, none,
	  "change a setting of all hosts: spare_delay, seconds until a lost member is replaced by a spare",
	  "meshctl cluster set spare_delay=1800", RESULT_DONE },
	{ "cluster status", { }, none,
	  "say in one line how the cluster is, then what is wrong and what to type; status 1 if anything is",
	  "meshctl cluster status", RESULT_STATUS },
	{ "cluster backup", { { "FILE|-", ARG_TEXT, "file", NULL } }, none,
	  "write all that the store has, and the key of its labels, to a new file on this store host",
	  "meshctl cluster backup /root/cluster.backup", RESULT_BACKUP },
	{ "cluster recover", { }, recover_opts,
	  "make the store again from itself, labels and what hosts have attached; until it has ended nothing is decided",
	  "meshctl cluster recover --dry-run\n"
	  "  meshctl cluster recover --without s3", RESULT_RECOVER },

	{ "host list", { }, none,
	  "list the hosts of the cluster",
	  "meshctl host list", RESULT_MEMBERS },
	{ "host remove", { HOST }, host_remove_opts,
	  "remove a host from the cluster for good: its key is refused at once",
	  "meshctl host remove s3 --dry-run", RESULT_DONE },
	{ "host maintenance", { HOST, { "on|off", ARG_WORD, "state", NULL } }, none,
	  "say that a host is worked on: no spares are used for it, and no alarms raised",
	  "meshctl host maintenance s2 on", RESULT_DONE },
	{ "host set", { HOST }, host_set_opts,
	  "set the rack and the labels of a host, from which failure domains are made",
	  "meshctl host set s1 --rack r7 --label room=north", RESULT_DONE },
	{ "host check", { { "HOST|ADDRESS", ARG_HOST, "host", NULL } }, none,
	  "say in words what is wrong with the way to a host; status 1 if anything is",
	  "meshctl host check s2", RESULT_CHECKS },

	{ "drive scan", { }, scan_opts,
	  "list the disks of all hosts and say which can be exported, and why not",
	  "meshctl drive scan --host s2", RESULT_DISKS },
	{ "drive list", { }, none,
	  "list the drives of the cluster",
	  "meshctl drive list --json", RESULT_EXPORTED },
	{ "drive export", { { "[DEVICE]", ARG_TEXT, "path", NULL } }, export_opts,
	  "label a disk of this host, or of another one by HOST:DEVICE, and export it",
	  "meshctl drive export s2:/dev/nvme1n1\n"
	  "  meshctl drive export --all --host s1,s2,s3 --dry-run", RESULT_EXPORTED },
	{ "drive unexport", { DRIVE }, unexport_opts,
	  "stop exporting a drive; the label of an empty one is wiped",
	  "meshctl drive unexport s2:/dev/nvme1n1", RESULT_DONE },
	{ "drive drain", { DRIVE }, id_opts,
	  "copy what is on a drive to others, member by member; 'task cancel' ends it",
	  "meshctl drive drain s2:/dev/nvme1n1", RESULT_DONE },
	{ "drive forget", { DRIVE }, forget_opts,
	  "give up a drive that does not come back, with what no other drive has of it",
	  "meshctl drive forget d0021101 --dry-run", RESULT_DONE },
	{ "drive health", { { "[DRIVE]", ARG_TEXT, "drive", NULL } }, none,
	  "show SMART values of drives, as their hosts have read them last",
	  "meshctl drive health s2:/dev/nvme1n1", RESULT_HEALTH },

	{ "volume create", { { "NAME", ARG_NAME, "name", NULL } }, create_opts,
	  "make a volume, and attach it where --attach says; ^C gives it up",
	  "meshctl volume create data --size 40T --layout ec:4+2 --domain host --attach g1\n"
	  "  meshctl volume create scratch --size 200G --layout linear", RESULT_ATTACHED },
	{ "volume list", { }, list_opts,
	  "list the volumes of the cluster, and where they are attached",
	  "meshctl volume list --json", RESULT_VOLUMES },
	{ "volume show", { VOLUME }, none,
	  "show a volume with its segments, groups, members and hosts",
	  "meshctl volume show data", RESULT_LAYOUT },
	{ "volume attach", { VOLUME }, attach_opts,
	  "show a volume as /dev/meshN on a host, after its reboots too; ^C leaves it to the host",
	  "meshctl volume attach data --host g2", RESULT_ATTACHED },
	{ "volume detach", { VOLUME }, detach_opts,
	  "remove the volume's block device from a host; ^C leaves it to the host",
	  "meshctl volume detach data --host g2", RESULT_DONE },
	{ "volume extend", { VOLUME }, extend_opts,
	  "make a volume larger, while it is used",
	  "meshctl volume extend data --size 2T && xfs_growfs /data", RESULT_DONE },
	{ "volume replace", { VOLUME, MEMBER }, replace_opts,
	  "give a member that is lost a new extent on another drive, and rebuild it",
	  "meshctl volume replace data 2 --with s3:/dev/nvme1n1", RESULT_DONE },
	{ "volume evict", { VOLUME, MEMBER }, replace_opts,
	  "copy a member that is still good to another drive, and let it go then",
	  "meshctl volume evict data 2", RESULT_DONE },
	{ "volume rename", { VOLUME, { "NEW-NAME", ARG_NAME, "name", NULL } }, id_opts,
	  "give a volume another name",
	  "meshctl volume rename data data-old", RESULT_DONE },
	{ "volume set", { VOLUME }, volume_set_opts,
	  "change how many spares a volume may use, and which hosts may attach it",
	  "meshctl volume set data --spares 2 --allow g1,g2", RESULT_DONE },
	{ "volume delete", { VOLUME }, delete_opts,
	  "delete a volume: what is on it is lost; ^C leaves the rest to the cluster",
	  "meshctl volume delete scratch --dry-run", RESULT_DONE },

	{ "volume wait", { VOLUME }, wait_opts,
	  "wait until all members of a volume have all data again, and a scrub is done",
	  "meshctl volume wait data --timeout 600", RESULT_DONE },
	{ "volume scrub", { { "[VOLUME]", ARG_TEXT, "volume", NULL } }, scrub_opts,
	  "compare all members of a volume in the background",
	  "meshctl volume scrub data && meshctl volume wait data", RESULT_DONE },
	{ "volume rejoin", { VOLUME, MEMBER }, id_opts,
	  "let a member in again that left its group too often",
	  "meshctl volume rejoin data 2", RESULT_DONE },

	{ "task list", { }, tasks_opts,
	  "list the work of the cluster that goes on, and what it waits for",
	  "meshctl task list --all", RESULT_TASKS },
	{ "task show", { TASK }, none,
	  "show a task, by its UUID or the start of it",
	  "meshctl task show 7c0d5f8e", RESULT_TASK },
	{ "task cancel", { TASK }, none,
	  "end a task and undo what it has done; what is decided already is finished",
	  "meshctl task cancel 7c0d5f8e", RESULT_DONE },
	{ "event list", { }, events_opts,
	  "list what happened in the cluster",
	  "meshctl event list --volume data", RESULT_EVENTS },
	{ "stats", { }, none,
	  "show counters of this host's volumes, of their targets, and of hosts that use its drives",
	  "meshctl stats --json", RESULT_STATS },
	{ "version", { }, none,
	  "show versions, this host's UUID and its cluster",
	  "meshctl version", RESULT_VERSION },
	{ NULL, { }, NULL, NULL, NULL, RESULT_DONE },
};

static const char *export_wrong(const json_t *args)
{
	bool all = json_is_true(json_object_get(args, "all"));

	if (!all && json_object_get(args, "hosts"))
		return "--host: goes with --all; one disk is named as HOST:DEVICE";
	if (all && json_object_get(args, "path"))
		return "--all: takes every disk, so none is named";
	if (all && (json_object_get(args, "name") || json_object_get(args, "id")))
		return "--all: several drives cannot share a name, or an id";
	if (all && (json_is_true(json_object_get(args, "force")) || json_is_true(json_object_get(args, "erase_label"))))
		return "--all: erases nothing; name a disk to go with --force or --erase-label";
	return all || json_object_get(args, "path") ? NULL : "DEVICE is missing, or --all";
}

static const char *scrub_wrong(const json_t *args)
{
	bool all = json_is_true(json_object_get(args, "all")) || json_is_true(json_object_get(args, "timer"));
	bool repair = json_is_true(json_object_get(args, "repair")), from = json_object_get(args, "from");

	if (json_is_true(json_object_get(args, "stop")) && (repair || from))
		return "--stop: ends a scrub, and goes with no other option";
	if (from && !repair)
		return "--from: says what --repair writes; add --repair";
	if (all && (json_object_get(args, "volume") || from || json_object_get(args, "id")))
		return "--all: scrubs every volume; leave out VOLUME, --from and --id";
	return all || json_object_get(args, "volume") ? NULL : "VOLUME is missing, or --all";
}

const char *verbs_wrong(const struct verb *v, const json_t *args)
{
	if (!strcmp(v->words, "volume scrub"))
		return scrub_wrong(args);
	if (!strcmp(v->words, "drive export"))
		return export_wrong(args);
	if (!strcmp(v->words, "cluster join"))
		return json_object_get(args, "token") ? NULL : "TOKEN is missing, or --token-file";
	if (!strcmp(v->words, "host set"))
		return json_object_get(args, "rack") || json_object_get(args, "labels") ? NULL :
		       "name --rack or --label";
	if (!strcmp(v->words, "volume set"))
		return json_object_get(args, "spares") || json_object_get(args, "allow") ? NULL :
		       "name --spares or --allow";
	if (!strcmp(v->words, "volume attach") && json_array_size(json_object_get(args, "hosts")) > 1 &&
	    !json_is_true(json_object_get(args, "readonly")))
		return "--host: one host alone has it for writing; several go with --readonly";
	return NULL;
}
