// SPDX-License-Identifier: GPL-2.0-only
#include "tests/sim/cluster/layers.h"

const struct layer layers[] = {
	{ "L1 attach, release, fencing",
	  "writes=2 crashes=1 attaches=3 restarts=1 late_opens=1 lates=1" },
	{ "L1 readers", "writes=1 crashes=1 attaches=3 restarts=1 readers=1 lates=2" },
	{ "L2 extend, free", "drives=3 writes=1 attaches=1 changes=1 allocs=1 lates=1" },
	{ "L2 two hosts", "drives=3 writes=1 crashes=1 attaches=2 changes=1 allocs=1 flights=0" },
	{ "L3 delete", "writes=1 attaches=2 others=1 allocs=1 deletes=1 lates=1" },
	{ "L3 moved drives", "writes=1 attaches=1 others=1 allocs=1 deletes=1 views=1 moves=1" },
	{ "L3 agents behind",
	  "drives=3 changes=1 allocs=1 deletes=1 moves=1 views=1" },
	{ "L5 two hosts", "writes=1 attaches=2 backs=1 recovers=1 lates=1" },
	{ "L5 with an extend", "drives=3 writes=1 attaches=1 changes=1 allocs=1 backs=1 recovers=1" },
	{ "L5 agents behind",
	  "drives=3 changes=1 allocs=1 backs=1 recovers=1 views=1 window=1" },
	{ "L6 again, restart", "writes=2 attaches=2 crashes=2 record=1 agains=2 raises=1 restarts=1" },
	{ "L6 again, extended",
	  "drives=3 writes=1 attaches=1 crashes=1 record=1 agains=1 changes=1 allocs=1 flights=0" },
	{ "L6 retake twice", "writes=2 attaches=3 retakes=2" },
	{ "L6 retake, readers, recover",
	  "writes=1 attaches=3 retakes=1 readers=1 record=1 backs=1 recovers=1" },
	{ "L6 readers, HELD",
	  "writes=1 attaches=2 crashes=1 retakes=1 readers=1 plain=1 restarts=1 cuts=1" },
	{ "L6 deleted",
	  "writes=1 attaches=1 crashes=1 record=1 agains=1 deletes=1 others=1 allocs=1" },
	{ "L6 HELD, late",
	  "writes=1 crashes=1 attaches=2 plain=1 restarts=1 cuts=1 retakes=1 lates=1" },
	{ "L6 all of it", "writes=1 attaches=2 crashes=1 record=1 agains=1 retakes=1 plain=1 readers=1 "
	  "backs=1 recovers=1 restarts=1" },
	{ "L6 HELD, probes", "writes=1 crashes=1 attaches=2 plain=1 restarts=1 cuts=1 retakes=1" },
	{ NULL, NULL }
};

const struct layer larger[] = {
	{ "L1 four attaches", "writes=2 crashes=2 attaches=4 restarts=1 late_opens=1 lates=1" },
	{ "L2 rename beside", "drives=3 writes=1 attaches=1 changes=2 allocs=2 lates=1" },
	{ "L3 and late", "drives=3 changes=1 allocs=2 deletes=1 moves=1 views=1 lates=1" },
	{ "L3 readers", "writes=1 attaches=2 readers=1 deletes=1 others=1 allocs=1 lates=1" },
	{ "L5 put back twice", "writes=1 attaches=2 backs=2 recovers=2" },
	{ "L5 and moved", "drives=3 changes=1 allocs=1 backs=1 recovers=1 views=1 window=1 moves=1" },
	{ "L5 two recovers", "writes=1 attaches=3 crashes=1 backs=1 recovers=2 late_opens=1" },
	{ "L5 extended, two hosts", "drives=3 writes=1 attaches=2 changes=1 allocs=1 backs=1 recovers=1 "
	  "flights=0" },
	{ "L6 readers, three attaches",
	  "writes=1 attaches=3 crashes=1 retakes=1 readers=1 plain=1 restarts=1 cuts=1" },
	{ "L6 HELD, three attaches",
	  "writes=1 crashes=1 attaches=3 plain=1 restarts=1 cuts=1 retakes=1" },
	{ "L6 retake twice, recover", "writes=2 attaches=3 retakes=2 backs=1 recovers=1" },
	{ NULL, NULL }
};

/* Bounds that several rows have. */
#define FENCING	"writes=2 crashes=1 attaches=3 restarts=1 late_opens=1"
#define READERS	"writes=1 crashes=1 attaches=3 restarts=1 readers=1"
#define LATES	"writes=1 crashes=1 attaches=3 readers=1 lates=2"
#define EXTEND	"drives=3 writes=1 attaches=1 changes=1 allocs=1 lates=1"
#define RENAME	"drives=3 changes=2 allocs=1 lates=1"
#define DELETES	"writes=1 attaches=2 others=1 allocs=1 deletes=1 lates=1"
#define MOVES	"drives=3 changes=1 allocs=1 deletes=1 moves=1 views=1"
#define BACK	"drives=3 writes=1 attaches=1 changes=1 allocs=1 backs=1 recovers=1"
#define BACKS	"drives=3 changes=1 allocs=2 backs=1 recovers=1"
#define WINDOW	"drives=3 changes=1 allocs=1 backs=1 recovers=1 views=1 window=1"
#define AGAIN	"writes=1 attaches=2 crashes=2 record=1 agains=1 raises=1 restarts=1"
#define RETAKE	"writes=2 attaches=2 crashes=1 retakes=1 backs=1 recovers=1 lates=1"
#define HELD	"writes=1 crashes=1 attaches=3 plain=1 restarts=1 cuts=1 retakes=1"
#define UNNAMED	"writes=1 attaches=3 retakes=1 readers=1 record=1 plain=1 cuts=1"

#define FORMER	"a write of a former holder"
#define NONE	"access is none though"
#define ACROSS	"a reader reads beside or across"
#define LIVES	"a plain attach fences a holder that lives"
#define FIT	"the layout names an extent that is not ready"
#define LACKS	"the store calls an extent ready that its label does not have"
#define STAYS	"a record that stays another one"
#define UNNAMEABLE	"a kernel serves, access names a host that is dead"

#define PLAN(m)	.plan = PLAN_MUT_##m
#define RULE(r)	.rule = RULE_##r

const struct mutant mutants[] = {
	{ RULE(LOWER), .name = "a lower number is accepted", FENCING, FORMER },
	{ RULE(EQUAL), .name = "an equal one of another host",
	  "writes=1 attaches=2 backs=1 unseen=1", FORMER },
	{ RULE(DURABLE), .name = "granted before the label is durable", FENCING, FORMER },
	{ RULE(FLIGHT), .name = "... before what is in flight has ended", FENCING, FORMER },
	{ RULE(READERS_END), .name = "... and readers go on", READERS, ACROSS },
	{ RULE(READER_NUMBER), .name = "a reader's OPEN without number [1a]", READERS, ACROSS },
	{ RULE(READER_RESTART), .name = "restart counts for readers [5i]",
	  "writes=1 attaches=2 crashes=1 restarts=1 raises=1 readers=1 record=1",
	  "no holder, and a reader" },
	{ RULE(RESTART), .name = "a lower restart of the same host", AGAIN, NULL },
	{ RULE(SERVE_ALL), .name = "the disk appears with one member [1b]", FENCING, FORMER },
	{ RULE(KERNEL_FIRST), .name = "released before the kernel ends", FENCING, NONE },
	{ PLAN(ATTACH_BLIND), .name = "the attach compares no access", LATES,
	  "a store that was never put back" },
	{ PLAN(ATTACH_LAYOUT), .name = "... no layout", EXTEND, NULL },
	{ PLAN(ATTACH_DELETED), .name = "a deleted volume is attached", DELETES,
	  "a volume that was deleted before" },
	{ PLAN(ATTACH_OWN), .name = "no new number for the same host", LATES, NONE },
	{ PLAN(ATTACH_OPEN), .name = "openings at targets do not count", HELD,
	  "a plain attach takes a volume that is open" },
	{ PLAN(READER_BLIND), .name = "a reader's txn compares no access", LATES, NULL },
	{ PLAN(READER_UNCLEAN), .name = "a reader attaches beside an unnamed kernel", UNNAMED,
	  ACROSS },
	{ PLAN(RELEASE_ANY), .name = "a release judges nothing", LATES, NONE },
	{ PLAN(RELEASE_HOLDER), .name = "... the holder alone", LATES, NONE },
	{ PLAN(NOTE_ANY), .name = "another kernel's version is noted", EXTEND, NULL },
	/* extend, free */
	{ RULE(ZEROED), .name = "a target opens what is not zeroed", EXTEND, NULL },
	{ PLAN(EXTENT_UNZEROED), .name = "ready before it is zeroed", EXTEND,
	  "everything is repaired, and a member refuses" },
	{ PLAN(CHANGE_VERSION), .name = "a change compares no version", RENAME, "a change is lost" },
	{ PLAN(CHANGE_ACCESS), .name = "... no access", EXTEND, NULL },
	{ PLAN(CHANGE_EXTENT), .name = "... no extent", RENAME, FIT },
	{ PLAN(CHANGE_UNREADY), .name = "... and names what is not ready", EXTEND, FIT },
	{ PLAN(FREE_EARLY), .name = "freed before the kernel has the version", EXTEND, NULL },
	{ PLAN(FREE_TXN), .name = "... and compares nothing", RENAME, FIT },
	/* delete, agents, moved drives */
	{ PLAN(DELETE_HELD), .name = "deleted while it is attached", DELETES, "a plain delete" },
	{ RULE(TABLE), .name = "a session outlives its extent", DELETES,
	  "V reads bytes that are V's no more" },
	{ RULE(TABLE_FLIGHT), .name = "... a write in flight does", DELETES,
	  "a write of V lands on bytes" },
	{ PLAN(EXTENT_TXN), .name = "an agent's txn compares nothing",
	  "drives=3 changes=1 allocs=1 lates=1", LACKS },
	{ PLAN(EXTENT_KEY), .name = "the key is erased before the label", DELETES,
	  "space that nothing will ever free" },
	{ PLAN(EXTENT_ABSENT), .name = "... for a drive that is away", MOVES,
	  "a volume that is being deleted" },
	{ PLAN(EXTENT_ANY), .name = "... whatever is in the label", MOVES " others=1", NULL },
	{ PLAN(TAKE_BEHIND), .name = "a moved drive by an older view [3a]", MOVES,
	  "a volume that is being deleted for ever" },
	/* put back, recover */
	{ PLAN(BACK_UNSEEN), .name = "a store put back is followed [5a, 5b]", BACKS, STAYS },
	{ PLAN(BACK_LABEL), .name = "... and no label says so", BACK,
	  "an extent is removed by a store that its label proves" },
	{ PLAN(EXTENT_VERSION), .name = "label before record [5d]", BACK, "recover refuses" },
	{ PLAN(EXTENT_BEHIND), .name = "removed by an older view [5e]",
	  "drives=3 changes=1 allocs=1 backs=1 recovers=1 views=1 behind=4 unmarked=1", LACKS },
	{ RULE(RECOVER_LABELS), .name = "recover reads labels before it marks them [5e]",
	  WINDOW " behind=4", LACKS },
	{ RULE(RECOVER_LABELS), .name = "... and an agent behind writes a lost record", WINDOW, STAYS },
	{ PLAN(SET_EARLY), .name = "a version that recover cannot find [5f]", BACK,
	  "attached after repair, a part of the volume is gone" },
	{ PLAN(OPEN_BEHIND), .name = "... that an attach begins with [5f]", BACK,
	  "attached after repair, a part of the volume is gone" },
	{ PLAN(RECORD_VERSION), .name = "a record of another layout of that version",
	  "drives=3 changes=2 allocs=1 backs=1 recovers=1", STAYS },
	{ PLAN(EXTENT_UNKNOWN), .name = "an unknown extent is left alone [5g]", BACKS,
	  "space that nothing will ever free" },
	{ PLAN(RECOVER_GENERATION), .name = "a generation that hosts have seen",
	  "attaches=1 backs=2 recovers=2", "hosts do not follow" },
	{ PLAN(RECOVER_KEYS), .name = "extents of unseen drives stay [5g]", BACKS, LACKS },
	{ PLAN(EXTENT_OVER), .name = "written over an unknown extent", BACKS,
	  "an extent of the decided layout is written over" },
	{ PLAN(RECOVER_PART), .name = "recovered without all members", BACK, STAYS },
	{ PLAN(RECOVER_VERSION), .name = "... by a record that a label exceeds", BACKS, NULL },
	{ PLAN(RECOVER_NUMBER), .name = "the number is not raised [5h]", RETAKE,
	  "everything is repaired, and a member refuses" },
	{ PLAN(RECOVER_HOLDER), .name = "the label's holder is kept", RETAKE, NULL },
	/* record, retake, HELD */
	{ PLAN(AGAIN_RESTART), .name = "the record's restart + 1 [5i]", AGAIN, FORMER },
	{ PLAN(AGAIN_FOREIGN), .name = "by the record over another attacher",
	  "attaches=2 crashes=1 retakes=1 plain=1 record=1 agains=1", NONE },
	{ PLAN(AGAIN_OLDER), .name = "... by labels of another number", AGAIN, NULL },
	{ RULE(RECORD_ATTACH), .name = "no record after the attach", AGAIN, "power cut now: nothing" },
	{ RULE(RECORD_ERASED), .name = "the record outlives the release", AGAIN, NONE },
	{ RULE(RECORD_SET), .name = "... follows VOLUME_SET",
	  "drives=3 writes=1 attaches=1 crashes=1 record=1 agains=1 changes=1 allocs=1 flights=0",
	  "an older layout is served" },
	{ PLAN(RETAKE_BLIND), .name = "a retake compares no access", RETAKE, NULL },
	{ PLAN(RETAKE_SAME), .name = "... keeps the number", RETAKE, NONE },
	{ PLAN(RETAKE_OPEN), .name = "... names no number served so far [6a, 6b]", RETAKE,
	  "a retake goes on under the live disk" },
	{ PLAN(RETAKE_AGAIN), .name = "... a second one the first one's",
	  "writes=2 attaches=3 retakes=2", "a retake goes on under the live disk" },
	{ PLAN(RETAKE_FREE), .name = "B dies after its attach txn", RETAKE, UNNAMEABLE },
	{ PLAN(HELD_ANY), .name = "HELD writes none over another's", HELD, NONE },
	{ RULE(HELD), .name = "no HELD", HELD, LIVES },
	{ RULE(HELD_NONE), .name = "HELD leaves access as it is", HELD, UNNAMEABLE },
	{ RULE(FENCED_NONE), .name = "... so does a fence", HELD, UNNAMEABLE },
	{ RULE(UNKNOWN), .name = "a target knows at once", HELD, LIVES },
	{ RULE(UNKNOWN_OPEN), .name = "... or for OPEN [7a]", HELD, LIVES },
	{ .name = NULL }
};

const struct elsewhere elsewhere[] = {
	{ PLAN_MUT_RELEASE_ROSTERS, "rosters" },
	{ PLAN_MUT_AGAIN_UNBARRED, "places are barred in groups alone" },
	{ PLAN_MUT_CHANGE_UNBARRED, "places are barred in groups alone" },
	{ PLAN_MUT_CHANGE_REPORT, "places are barred in groups alone" },
	{ PLAN_MUT_FREE_ROSTER, "rosters" },
	{ PLAN_MUT_FREE_OUT, "rosters" },
	{ PLAN_MUT_FREE_UNCLEAN, "a layout without redundancy drops no member here" },
	{ PLAN_MUT_EVICT_TWO, "rosters; test_plan_rules" },
	{ PLAN_MUT_LEFT_EARLY, "rosters; test_plan_rules" },
	{ PLAN_MUT_NOTE_LOWER, "rosters" },
	{ PLAN_MUT_MEMBERS_LAYOUT, "a layout without redundancy drops no member here" },
	{ PLAN_MUT_FREE_BEGUN, "rosters; test_plan_task" },
	{ PLAN_MUT_RECOVER_ROSTERS, "rosters" },
	{ PLAN_MUT_EXTENT_FORGOTTEN, "forget is of groups; test_plan_rules" },
	{ PLAN_MUT_FORGET_HELD, "forget is of groups" },
	{ PLAN_MUT_FORGET_ANY, "forget is of groups" },
	{ PLAN_MUT_FORGET_FOUND, "forget is of groups" },
	{ PLAN_MUT_FORGET_AWAY, "forget is of groups" },
	{ PLAN_MUT_FORGET_RECORD, "forget is of groups" },
	{ PLAN_MUT_NONE, NULL }
};
