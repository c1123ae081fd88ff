// SPDX-License-Identifier: GPL-2.0-only
/* The table of everything that can be requested; verbs_one.c has the one that follows it. */
#include <string.h>

#include "userspace/format/verbs.h"

/*
 * --force is for data alone, on a drive, a volume or in use; each other thing that is
 * overridden has an option that says which.
 */
#define VOLUME		{ "VOLUME", ARG_TEXT, "volume", NULL }
#define DEVICE		{ "DEVICE", ARG_TEXT, "path", NULL }
#define HOST		{ "HOST", ARG_TEXT, "host", NULL }
#define OPT_DRY_RUN	{ "--dry-run", ARG_FLAG, "dry_run", "say what would be destroyed, and change nothing" }
#define OPT_PREEMPT(help)	{ "--preempt", ARG_FLAG, "preempt", help }
#define OPT_STALE(help)		{ "--stale", ARG_FLAG, "stale", help }
#define DRIVES_HELP	"UUIDs, starts of one, HOST:DEVICE, or a device (of every host), with commas between"
#define DRIVE_HELP	"one of them; or bdev:DEVICE, a block device of this host that gets a label"
#define DOMAIN_HELP	"no two members of a group, or stripe, on one host, or one drive"
#define OPT_END		{ NULL, ARG_FLAG, NULL, NULL }

static const char force_help[] = "with bdev: although the device carries a file system or the like, which is erased";
static const char erase_help[] = "with bdev: although it was a drive whose label is damaged, lost or of another version";

static const struct verb_arg none[] = { OPT_END };

static const struct verb_arg scan_opts[] = {
	{ "--all", ARG_FLAG, "all", "every disk, not only NVMe drives" },
	OPT_END,
};

static const struct verb_arg import_opts[] = {
	{ "--as", ARG_NAME, "as", "list it here under this name, where its own is taken" },
	OPT_STALE("although some of the hosts are silent"),
	OPT_END,
};

static const struct verb_arg export_opts[] = {
	{ "--force", ARG_FLAG, "force", "erase what is on it, or export it although it is on a network; never what was "
	  "a drive with a label" },
	{ "--erase-label", ARG_FLAG, "erase_label", "erase it although it was a drive whose label is damaged, lost or "
	  "of another version" },
	{ "--as-is", ARG_FLAG, "as_is", "take it up with its label as it is, although older than noted, or of "
	  "another device or size" },
	{ "--take-over", ARG_FLAG, "take_over", "although its label names another host: it was moved here" },
	OPT_STALE("with --take-over: although that host does not say whether it still serves it"),
	OPT_DRY_RUN,
	OPT_END,
};

static const struct verb_arg unexport_opts[] = {
	{ "--force", ARG_FLAG, "force", "although volumes have extents on it; their data stays there" },
	OPT_PREEMPT("although extents are open now: their I/O fails"),
	OPT_DRY_RUN,
	OPT_END,
};

static const struct verb_arg extents_opts[] = {
	{ "--all", ARG_FLAG, "all", "all extents, not only those that no volume claims" },
	OPT_END,
};

static const struct verb_arg free_opts[] = {
	OPT_PREEMPT("although a host is noted as its holder"),
	OPT_STALE("although it may be claimed: by a silent host, a record that cannot be read, or work "
		  "that goes on"),
	OPT_DRY_RUN,
	OPT_END,
};

static const struct verb_arg restore_opts[] = {
	{ "--force", ARG_FLAG, "force", "although something else is on it, or nothing but the device says that it was that drive" },
	OPT_DRY_RUN,
	OPT_END,
};

static const struct verb_arg host_add_opts[] = {
	{ "--port", ARG_NUMBER, "port", "its listener's port (default " MESH_PORT_TEXT ")" },
	{ "--name", ARG_NAME, "name", "what to call it (default: what it calls itself)" },
	{ "--replace", ARG_HOST, "replace", "the known host, by name or address, that it is: installed again, or moved" },
	{ "--no-wait", ARG_FLAG, "no_wait", "do not wait until it is connected" },
	OPT_END,
};

static const struct verb_arg host_remove_opts[] = { OPT_DRY_RUN, OPT_END };

static const struct verb_arg key_opts[] = {
	{ "--key", ARG_KEY, "key", "with 'set': the line that 'show' printed, or 32 and more hex digits" },
	{ "--key-file", ARG_LINE, "key", "the same from a file, - is standard input: not seen in ps" },
	{ "--key-id", ARG_NUMBER, "key_id", "number of a key in digits, 1 to 65535, the same on all hosts" },
	OPT_END,
};

static const struct verb_arg create_opts[] = {
	{ "--size", ARG_SIZE, "size", "bytes, or with a suffix: 10G, 1.5T; max: all there is" },
	{ "--layout", ARG_LAYOUT, "layout", "linear, stripe:N, mirror:C (C copies), raid10:NxC (a stripe over N "
	  "mirrors), or ec:K+M (K for data, any M may be lost)" },
	{ "--groups", ARG_NUMBER, "groups", "with mirror and ec: a stripe over that many of them" },
	{ "--strip", ARG_STRIP, "strip", "bytes on one drive before the next, 4k to 1m (default 64k)" },
	{ "--drives", ARG_LIST, "drives", DRIVES_HELP },
	{ "--drive", ARG_ITEM, "drives", DRIVE_HELP },
	{ "--force", ARG_FLAG, "force", force_help },
	{ "--erase-label", ARG_FLAG, "erase_label", erase_help },
	{ "--domain", ARG_DOMAIN, "domain", DOMAIN_HELP " (default: host for mirror, "
	  "raid10 and ec, else drive)" },
	{ "--spares", ARG_NUMBER, "spares", "members that may be lost and are replaced without a command, where there "
	  "is room; see spare_delay in meshd(8)" },
	{ "--no-attach", ARG_OFF, "attach", "do not attach it" },
	OPT_END,
};

static const struct verb_arg list_opts[] = {
	{ "--degraded", ARG_FLAG, "degraded", "those alone that lack members; ends with status 1 if there are any" },
	OPT_END,
};

static const struct verb_arg attach_opts[] = {
	{ "--readonly", ARG_FLAG, "readonly", "open it for reading only" },
	OPT_PREEMPT("take it from the host that holds it, which is fenced"),
	OPT_STALE("although a host is silent that could know a later layout, or members are missing that may "
		  "have newer data, which is given up; undoes an extend whose new drive is lost"),
	OPT_END,
};

static const struct verb_arg detach_opts[] = {
	{ "--force", ARG_FLAG, "force", "although it is in use: I/O in flight fails" },
	OPT_STALE("although a change of it is not finished, since hosts are silent"),
	OPT_END,
};

static const struct verb_arg delete_opts[] = {
	{ "--force", ARG_FLAG, "force", "although data is on it, or what is on it cannot be read: that is lost" },
	OPT_PREEMPT("although another host holds it"),
	OPT_STALE("although hosts with parts of it are silent"),
	OPT_DRY_RUN,
	OPT_END,
};

static const struct verb_arg extend_opts[] = {
	{ "--size", ARG_SIZE, "size", "its new size; max: all there is" },
	{ "--drives", ARG_LIST, "drives", DRIVES_HELP },
	{ "--drive", ARG_ITEM, "drives", DRIVE_HELP },
	{ "--force", ARG_FLAG, "force", force_help },
	{ "--erase-label", ARG_FLAG, "erase_label", erase_help },
	{ "--domain", ARG_DOMAIN, "domain", DOMAIN_HELP " (default: as it was made or extended last)" },
	OPT_END,
};

static const struct verb_arg replace_opts[] = {
	{ "--with", ARG_DRIVE, "with", "the drive: a UUID, a start of one, HOST:DEVICE, a device or bdev:DEVICE "
	  "(default: the one with most room that keeps the failure domain)" },
	{ "--force", ARG_FLAG, "force", force_help },
	{ "--erase-label", ARG_FLAG, "erase_label", erase_help },
	OPT_END,
};

static const struct verb_arg evict_opts[] = {
	{ "--with", ARG_DRIVE, "with", "the drive, as replace takes it, but not bdev:DEVICE" },
	{ "--stop", ARG_FLAG, "stop", "end it while the copy is made: the member stays" },
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
	{ "--all", ARG_FLAG, "all", "every volume with redundancy that is attached here" },
	{ "--timer", ARG_FLAG, "timer", "the same, but nothing where meshd.conf has scrub = never" },
	OPT_END,
};

const struct verb verbs[] = {
	{ "drive scan", { }, scan_opts,
	  "list this machine's drives and say which can be exported, and why not",
	  "meshctl drive scan", RESULT_SCAN },
	{ "drive export", { DEVICE }, export_opts,
	  "label a drive and export it to clients",
	  "meshctl drive export /dev/nvme0n1", RESULT_DONE },
	{ "drive unexport", { { "DRIVE", ARG_TEXT, "drive", NULL } }, unexport_opts,
	  "stop exporting a drive; the label of an empty one is wiped",
	  "meshctl drive unexport /dev/nvme0n1", RESULT_DONE },
	{ "drive list", { }, none,
	  "list the drives that all known hosts export",
	  "meshctl drive list --json", RESULT_DRIVES },
	{ "drive extents", { { "[DRIVE]", ARG_TEXT, "drive", NULL } }, extents_opts,
	  "list extents that no volume claims, and why; then free them or import their volume",
	  "meshctl drive extents", RESULT_EXTENTS },
	{ "drive free", { { "EXTENT", ARG_TEXT, "extent", NULL } }, free_opts,
	  "free an extent that no volume claims: what is on it is lost",
	  "meshctl drive free 7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c11 --dry-run", RESULT_DONE },
	{ "drive restore-label", { DEVICE }, restore_opts,
	  "write a drive's label again from its backup, when both copies are unreadable",
	  "meshctl drive restore-label /dev/nvme0n1 --dry-run", RESULT_DONE },
	{ "drive health", { }, none,
	  "show SMART health of the exported drives of all known hosts",
	  "meshctl drive health", RESULT_HEALTH },

	{ "host add", { { "ADDRESS", ARG_TEXT, "addr", NULL } }, host_add_opts,
	  "get to know a host that exports drives, by its RDMA address",
	  "meshctl host add 10.0.0.7", RESULT_DONE },
	{ "host list", { }, none,
	  "list the known hosts and the state of their sessions",
	  "meshctl host list", RESULT_HOSTS },
	{ "host remove", { HOST }, host_remove_opts,
	  "forget a host",
	  "meshctl host remove 10.0.0.7", RESULT_DONE },
	{ "host check", { HOST }, none,
	  "say in words what is wrong with the RDMA link to a host",
	  "meshctl host check 10.0.0.7", RESULT_CHECKS },
	{ "host key", { { "generate|set|show|clear", ARG_WORD, "action", NULL } }, key_opts,
	  "manage the cluster's key, without which hosts are refused",
	  "meshctl host key generate\n"
	  "  meshctl host key show | ssh gpu7 meshctl host key set --key-file -", RESULT_KEY },
	{ "host identity", { { "show|accept|new", ARG_WORD, "action", NULL } }, none,
	  "say on which machine this host is at home; settle it after a move or a copy",
	  "meshctl host identity accept", RESULT_IDENTITY },

	{ "volume create", { { "NAME", ARG_NAME, "name", NULL } }, create_opts,
	  "make a volume, attach it and print its device",
	  "meshctl volume create data --size 1T --layout mirror:2\n"
	  "  meshctl volume create big --size 40T --layout ec:4+2 --groups 2\n"
	  "  mkfs.xfs $(meshctl volume create scratch --size 200G --layout linear)", RESULT_DEVICE },
	{ "volume list", { }, list_opts,
	  "list volumes, and whether members are missing",
	  "meshctl volume list --json", RESULT_VOLUMES },
	{ "volume show", { VOLUME }, none,
	  "show a volume with its segments, groups and members",
	  "meshctl volume show data", RESULT_VOLUME },
	{ "volume wait", { VOLUME }, wait_opts,
	  "wait until all members of a volume have all data again, and a scrub is done",
	  "meshctl volume wait data", RESULT_DONE },
	{ "volume attach", { VOLUME }, attach_opts,
	  "show a volume as /dev/meshN on this host and print the device",
	  "meshctl volume attach data", RESULT_DEVICE },
	{ "volume detach", { VOLUME }, detach_opts,
	  "remove the volume's block device from this host",
	  "meshctl volume detach data", RESULT_DONE },
	{ "volume extend", { VOLUME }, extend_opts,
	  "make a volume larger, while it is used",
	  "meshctl volume extend data --size 2T && xfs_growfs /data", RESULT_DEVICE },
	{ "volume replace", { VOLUME, { "MEMBER", ARG_TEXT, "member", NULL } }, replace_opts,
	  "give a member that is lost a new extent on another drive, and rebuild it",
	  "meshctl volume replace data 2\n"
	  "  meshctl volume replace data 2 --with gpu3:nvme1n1", RESULT_DEVICE },
	{ "volume evict", { VOLUME, { "MEMBER", ARG_TEXT, "member", NULL } }, evict_opts,
	  "copy a member that is still good to another drive, and let it go then",
	  "meshctl volume evict data 2\n"
	  "  meshctl volume evict data 2 --stop", RESULT_DEVICE },
	{ "volume scrub", { { "[VOLUME]", ARG_TEXT, "volume", NULL } }, scrub_opts,
	  "compare all members of a volume in the background",
	  "meshctl volume scrub data && meshctl volume wait data", RESULT_DONE },
	{ "volume rejoin", { VOLUME, { "MEMBER", ARG_TEXT, "member", NULL } }, none,
	  "let a member in again that left its group too often",
	  "meshctl volume rejoin data 2", RESULT_DONE },
	{ "volume delete", { VOLUME }, delete_opts,
	  "delete a volume and free its extents",
	  "meshctl volume delete scratch", RESULT_DONE },
	{ "volume rename", { VOLUME, { "NEW-NAME", ARG_NAME, "name", NULL } }, none,
	  "give a volume another name",
	  "meshctl volume rename data data-old", RESULT_DONE },
	{ "volume import", { { "[VOLUME]", ARG_TEXT, "volume", NULL } }, import_opts,
	  "find a volume on the known hosts' drives, by name or UUID; without: list all there are",
	  "meshctl volume import\n"
	  "  meshctl volume import data --as data-old", RESULT_CANDIDATES },

	{ "stats", { }, none,
	  "show counters of volumes and targets",
	  "meshctl stats --json", RESULT_STATS },
	{ "version", { }, none,
	  "show versions, this host's UUID and the modules' state",
	  "meshctl version", RESULT_VERSION },
	{ NULL, { }, NULL, NULL, NULL, RESULT_DONE },
};

static bool is_local(const json_t *name)
{
	const char *text = json_string_value(name);

	return text && !strncmp(text, LOCAL_PREFIX, strlen(LOCAL_PREFIX));
}

/* What erases what devices carry has some named to it. */
const char *verbs_wrong(const struct verb *v, const json_t *args)
{
	const json_t *drives = json_object_get(args, "drives"), *j;
	bool named = is_local(json_object_get(args, "with"));
	const struct verb_arg *a;
	size_t i;

	json_array_foreach((json_t *)drives, i, j)
		named = named || is_local(j);
	for (a = v->opts; a->name && !named; a++) {
		if (!json_is_true(json_object_get(args, a->key)))
			continue;
		if (a->help == force_help)
			return "--force: goes with " LOCAL_PREFIX "DEVICE, and no such drive is named";
		if (a->help == erase_help)
			return "--erase-label: goes with " LOCAL_PREFIX "DEVICE, and no such drive is named";
	}
	return NULL;
}
