// SPDX-License-Identifier: GPL-2.0-only
/* The table of everything that can be typed. */
#include "userspace/meshctl/meshctl.h"

#define PRINTER(name) \
	static void print_##name(const struct print_ops *p, const json_t *r) { p->name(r); }
PRINTER(version)
PRINTER(scan)
PRINTER(drives)
PRINTER(health)
PRINTER(hosts)
PRINTER(checks)
PRINTER(key)
PRINTER(volumes)
PRINTER(volume)
PRINTER(device)
PRINTER(stats)
PRINTER(done)
PRINTER(extents)
PRINTER(candidates)
PRINTER(identity)

void print_dry_run(const struct print_ops *p, const json_t *r)
{
	p->dry_run(r);
}

/*
 * --force is for data alone, on a drive, a volume or in use; each other thing that is
 * overridden has an option that says which.
 */
#define OPT_DRY_RUN	{ "dry-run", OPT_FLAG, "dry_run", "say what would be destroyed, and change nothing" }
#define OPT_PREEMPT(help)	{ "preempt", OPT_FLAG, "preempt", help }
#define OPT_STALE(help)		{ "stale", OPT_FLAG, "stale", help }
#define DRIVES_HELP	"UUIDs, starts of one, HOST:DEVICE, or a device (of every host), with commas between"
#define DOMAIN_HELP	"no two members on one 'host' or one 'drive'"
#define OPT_END		{ NULL, OPT_FLAG, NULL, NULL }

static const struct opt none[] = { OPT_END };

static const struct opt scan_opts[] = {
	{ "all", OPT_FLAG, "all", "every disk, not only NVMe drives" },
	OPT_END,
};

static const struct opt import_opts[] = {
	{ "as", OPT_TEXT, "as", "list it here under this name, where its own is taken" },
	OPT_STALE("although some of the hosts are silent"),
	OPT_END,
};

static const struct opt export_opts[] = {
	{ "force", OPT_FLAG, "force", "erase what is on it, or export it although it is on a network; never what was "
	  "a drive with a label" },
	{ "erase-label", OPT_FLAG, "erase_label", "erase it although it was a drive whose label is damaged, lost or "
	  "of another version" },
	{ "as-is", OPT_FLAG, "as_is", "take it up with its label as it is, although older than noted or of another "
	  "size" },
	{ "take-over", OPT_FLAG, "take_over", "although its label names another host: it was moved here" },
	OPT_STALE("with --take-over: although that host cannot be asked whether it still serves it"),
	OPT_DRY_RUN,
	OPT_END,
};

static const struct opt unexport_opts[] = {
	{ "force", OPT_FLAG, "force", "although volumes have extents on it; their data stays there" },
	OPT_PREEMPT("although extents are open now: their I/O fails"),
	OPT_DRY_RUN,
	OPT_END,
};

static const struct opt extents_opts[] = {
	{ "all", OPT_FLAG, "all", "all extents, not only those that no volume claims" },
	OPT_END,
};

static const struct opt free_opts[] = {
	OPT_PREEMPT("although a host is noted as its holder"),
	OPT_STALE("although it may be claimed: by a silent host, a record that cannot be read, or work "
		  "that goes on"),
	OPT_DRY_RUN,
	OPT_END,
};

static const struct opt restore_opts[] = {
	{ "force", OPT_FLAG, "force", "although something else is on it, or nothing but the device tells that it was that drive" },
	OPT_DRY_RUN,
	OPT_END,
};

static const struct opt host_add_opts[] = {
	{ "port", OPT_NUMBER, "port", "its listener's port (default 4421)" },
	{ "name", OPT_TEXT, "name", "what to call it (default: what it calls itself)" },
	{ "replace", OPT_TEXT, "replace", "the known host, by name or address, that it is: installed again, or moved" },
	{ "no-wait", OPT_FLAG, "no_wait", "do not wait until it is connected" },
	OPT_END,
};

static const struct opt host_remove_opts[] = { OPT_DRY_RUN, OPT_END };

static const struct opt key_opts[] = {
	{ "key", OPT_TEXT, "key", "with 'set': the line that 'show' printed, or 32 and more hex digits" },
	{ "key-file", OPT_LINE, "key", "the same from a file, - is standard input: not seen in ps" },
	{ "key-id", OPT_NUMBER, "key_id", "number of a key in digits, 1 to 65535, the same on all hosts" },
	OPT_END,
};

static const struct opt create_opts[] = {
	{ "size", OPT_SIZE_MAX, "size", "bytes, or with a suffix: 10G, 1.5T; max: all there is" },
	{ "layout", OPT_LAYOUT, "layout", "linear, or stripe:N over N drives" },
	{ "strip", OPT_SIZE, "strip", "bytes on one drive before the next, 4k to 1m (default 64k)" },
	{ "drives", OPT_LIST, "drives", DRIVES_HELP },
	{ "domain", OPT_TEXT, "domain", DOMAIN_HELP " (default drive)" },
	{ "no-attach", OPT_OFF, "attach", "only make it" },
	OPT_END,
};

static const struct opt attach_opts[] = {
	{ "readonly", OPT_FLAG, "readonly", "open it for reading only" },
	OPT_PREEMPT("take it from the host that holds it, which is fenced"),
	OPT_STALE("although a host is silent that could know a later layout; undoes an extend whose new "
		  "drive is lost"),
	OPT_END,
};

static const struct opt detach_opts[] = {
	{ "force", OPT_FLAG, "force", "although it is in use: I/O in flight fails" },
	OPT_STALE("although a change of it is not finished, since hosts are silent"),
	OPT_END,
};

static const struct opt delete_opts[] = {
	{ "force", OPT_FLAG, "force", "although data is on it, or what is on it cannot be read: that is lost" },
	OPT_PREEMPT("although another host holds it"),
	OPT_STALE("although hosts with parts of it are silent"),
	OPT_DRY_RUN,
	OPT_END,
};

static const struct opt extend_opts[] = {
	{ "size", OPT_SIZE_MAX, "size", "its new size; max: all there is" },
	{ "drives", OPT_LIST, "drives", DRIVES_HELP },
	{ "domain", OPT_TEXT, "domain", DOMAIN_HELP " (default: as it was made or extended last)" },
	OPT_END,
};

const struct verb verbs[] = {
	{ "drive", "scan", NULL, NULL, NULL, NULL, scan_opts,
	  "list this machine's drives and say which can be exported, and why not",
	  "meshctl drive scan", print_scan },
	{ "drive", "export", "path", "DEVICE", NULL, NULL, export_opts,
	  "label a drive and export it to clients",
	  "meshctl drive export /dev/nvme0n1", print_done },
	{ "drive", "unexport", "drive", "DRIVE", NULL, NULL, unexport_opts,
	  "stop exporting a drive; the label of an empty one is wiped",
	  "meshctl drive unexport /dev/nvme0n1", print_done },
	{ "drive", "list", NULL, NULL, NULL, NULL, none,
	  "list the drives that all known hosts export",
	  "meshctl drive list --json", print_drives },
	{ "drive", "extents", "drive", "[DRIVE]", NULL, NULL, extents_opts,
	  "list extents that no volume claims, and why; then free them or import their volume",
	  "meshctl drive extents", print_extents },
	{ "drive", "free", "extent", "EXTENT", NULL, NULL, free_opts,
	  "free an extent that no volume claims: what is on it is lost",
	  "meshctl drive free 7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c11 --dry-run", print_done },
	{ "drive", "restore-label", "path", "DEVICE", NULL, NULL, restore_opts,
	  "write a drive's label again from its backup, when both copies are unreadable",
	  "meshctl drive restore-label /dev/nvme0n1 --dry-run", print_done },
	{ "drive", "health", NULL, NULL, NULL, NULL, none,
	  "show how the exported drives of all known hosts are",
	  "meshctl drive health", print_health },

	{ "host", "add", "addr", "ADDRESS", NULL, NULL, host_add_opts,
	  "get to know a host that exports drives, by its RDMA address",
	  "meshctl host add 10.0.0.7", print_done },
	{ "host", "list", NULL, NULL, NULL, NULL, none,
	  "list the known hosts and the state of their sessions",
	  "meshctl host list", print_hosts },
	{ "host", "remove", "host", "HOST", NULL, NULL, host_remove_opts,
	  "forget a host",
	  "meshctl host remove 10.0.0.7", print_done },
	{ "host", "check", "host", "HOST", NULL, NULL, none,
	  "say in words what is wrong with the RDMA link to a host",
	  "meshctl host check 10.0.0.7", print_checks },
	{ "host", "key", "action", "generate|set|show|clear", NULL, NULL, key_opts,
	  "manage the cluster's key, without which hosts are refused",
	  "meshctl host key generate\n"
	  "  meshctl host key show | ssh gpu7 meshctl host key set --key-file -", print_key },
	{ "host", "identity", "action", "show|accept|new", NULL, NULL, none,
	  "say on which machine this host is at home; settle it after a move or a copy",
	  "meshctl host identity accept", print_identity },

	{ "volume", "create", "name", "NAME", NULL, NULL, create_opts,
	  "make a volume, attach it and print its device",
	  "meshctl volume create data --size 1T --layout stripe:4\n"
	  "  mkfs.xfs $(meshctl volume create scratch --size 200G --layout linear)", print_device },
	{ "volume", "list", NULL, NULL, NULL, NULL, none,
	  "list volumes",
	  "meshctl volume list --json", print_volumes },
	{ "volume", "show", "volume", "VOLUME", NULL, NULL, none,
	  "show a volume with its segments and members",
	  "meshctl volume show data", print_volume },
	{ "volume", "attach", "volume", "VOLUME", NULL, NULL, attach_opts,
	  "show a volume as /dev/meshN on this host and print the device",
	  "meshctl volume attach data", print_device },
	{ "volume", "detach", "volume", "VOLUME", NULL, NULL, detach_opts,
	  "take its device away",
	  "meshctl volume detach data", print_done },
	{ "volume", "extend", "volume", "VOLUME", NULL, NULL, extend_opts,
	  "make a volume larger, while it is used",
	  "meshctl volume extend data --size 2T && xfs_growfs /data", print_device },
	{ "volume", "delete", "volume", "VOLUME", NULL, NULL, delete_opts,
	  "delete a volume and free its extents",
	  "meshctl volume delete scratch", print_done },
	{ "volume", "rename", "volume", "VOLUME", "name", "NEW-NAME", none,
	  "give a volume another name",
	  "meshctl volume rename data data-old", print_done },
	{ "volume", "import", "volume", "[VOLUME]", NULL, NULL, import_opts,
	  "find a volume on the known hosts' drives, by name or UUID; without: list all there are",
	  "meshctl volume import\n"
	  "  meshctl volume import data --as data-old", print_candidates },

	{ NULL, "stats", NULL, NULL, NULL, NULL, none,
	  "show counters of volumes and targets",
	  "meshctl stats --json", print_stats },
	{ NULL, "version", NULL, NULL, NULL, NULL, none,
	  "show versions, this host's UUID and the modules' state",
	  "meshctl version", print_version },
	{ NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL },
};
