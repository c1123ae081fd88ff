#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# probe.sh OUT CC FLAGS...: which kernel interfaces are there? Each probe is a
# few lines that compile or do not, with the flags of the kernel that the
# modules are built for; OUT gets one define for each that does. Version
# numbers say too little: distributions carry interfaces back.
out=$1; shift
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

probe() { # DEFINE, snippet on standard input
	cat >"$dir/$1.c"
	names="$names $1"
}

probe HAVE_NOTHING <<'END'
#include <linux/blk-mq.h>
END
probe HAVE_RQ_LIST <<'END'
#include <linux/blk-mq.h>
static void queue_rqs(struct rq_list *list) { list->head = NULL; }
const struct blk_mq_ops ops = { .queue_rqs = queue_rqs };
END
probe HAVE_ALLOC_DISK_LIMITS <<'END'
#include <linux/blk-mq.h>
struct gendisk *f(struct blk_mq_tag_set *set, struct queue_limits *lim, void *data);
struct gendisk *f(struct blk_mq_tag_set *set, struct queue_limits *lim, void *data)
{
	return blk_mq_alloc_disk(set, lim, data);
}
END
probe HAVE_BLK_FEATURES <<'END'
#include <linux/blkdev.h>
blk_features_t f = BLK_FEAT_ROTATIONAL | BLK_FEAT_STABLE_WRITES;
END
probe HAVE_DISK_OPEN <<'END'
#include <linux/blkdev.h>
static int open(struct gendisk *disk, blk_mode_t mode) { return 0; }
const struct block_device_operations ops = { .open = open };
END

for n in $names; do
	"$@" -Wno-unused -Wno-missing-prototypes -Wno-missing-declarations \
		-Werror=incompatible-pointer-types -Werror=implicit-function-declaration \
		-Werror=int-conversion -DKBUILD_MODNAME='"probe"' -DKBUILD_BASENAME='"probe"' \
		-fsyntax-only "$dir/$n.c" 2>"$dir/$n.err" && : >"$dir/$n.yes" &
done
wait
# The first compiles on every kernel; when it does not, the flags are wrong and
# each other answer would be a false no.
if [ ! -e "$dir/HAVE_NOTHING.yes" ]; then
	echo "probe.sh: the empty probe does not compile:" >&2
	cat "$dir/HAVE_NOTHING.err" >&2
	exit 1
fi
{
	echo "/* made by driver/compat/probe.sh */"
	for n in $names; do
		[ -e "$dir/$n.yes" ] && echo "#define $n 1"
	done
	:
} >"$out.tmp" && mv "$out.tmp" "$out"
