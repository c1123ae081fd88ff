// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules taken out one by one, of protect/roster and of userspace/plan, each with bounds at which
 * the search must notice that. In brackets: the counter-example of the cluster's protocol that the
 * rule answers.
 * Bars and FREE_OUT make up for each other as to what is lost: a bar keeps the member out that the
 * kernel is to replace. So they are taken out together.
 *
 * Not here, as another rule answers alone in this world:
 *   [4e] RELEASE_ROSTERS  A place is changed while the volume is attached, by the report of that
 *       holder. After the end the store lacks adds alone, and the roster found has them.
 *   [8a] FORGET_FOUND  With all that is not forgotten opened, the store's roster could only name
 *       an extent of an eviction. test_prot_numbered.c has it.
 *   [8c] AGAIN_OLDER, AGAIN_FOREIGN  The record lacks what was forgotten, and targets refuse a
 *       lower number.
 *   N_RESTART, N_STORE_OLD  The first roster of an attach by the record has a higher epoch than all
 *       those found, and names no witness. A roster with WITNESS is noted first, so only a store
 *       that was put back is older. test_prot_numbered.c has both.
 *   N_READ_FLAG  Where the roster found names no witness, the next writer needs all copies, and its
 *       OPENs end readers on each.
 */
#include <stdio.h>
#include <string.h>
#include <linux/kernel.h>

#include "tests/sim/roster_store.h"
#include "userspace/plan/mutant.h"

static const struct mutant {
	const char *key;	/* on the command line */
	enum prot_mutant prot;
	enum plan_mutant plan, too;	/* too: makes up for the other one */
	const char *name, *bounds;
	bool large;		/* only in tier long */
} mutant[] = {
#define PROT(m)	.key = #m, .prot = PROT_MUT_##m, .name
#define PLAN(m)	.key = #m, .plan = PLAN_MUT_##m, .name
	{ PROT(N_STORE_EPOCH) = "[4c] no store that is behind in epochs", "2 a2 w1 e2 c1" },
	{ PROT(N_AGAIN) = "a witness for an attach by the host's record", "2 a2 w1 e1 c1 g1" },
	{ PROT(N_HELD_K) = "[4a] k members read on beside a witness", "2 a2 w1 e0 c0" },
	{ PROT(N_HELD_CUR) = "[4b] ... until the flag is committed", "2 a2 w1 e1" },
	{ PROT(N_HELD_ADD) = "[4c] ... or without the member of a pending add", "2 a2 w1 e1" },
	{ PROT(N_HELD_NAMED) = "... once a removal follows that add", "2 a2 w1 e2" },
	{ PROT(N_ADD_ORDER) = "[0] the new member gets the roster first", "2 a2 w1 e1 c1 g1" },
	{ PROT(R_READ_FEW) = "[5j] a reader on one copy", "2 a1 w1 r1" },
	{ PROT(R_HELD_K) = "[5j] ... once the other one is lost", "2 a1 w1 r1" },
	{ PROT(N_READ_FORGOTTEN) = "... without those that were forgotten", "2 a2 w1 r1 f1 c1" },
	{ PROT(N_NOTE_NAMED) = "an uncommitted add ends without a note", "2 a2 w1 e2" },
	{ PROT(N_BAR) = "[4d] a member joins at a barred place", "2 a1 w1 e2 v1",
	  .too = PLAN_MUT_FREE_OUT },
	{ PLAN(CHANGE_UNBARRED) = "[4d] replaced without a bar", "2 a1 w1 e2 v1",
	  .too = PLAN_MUT_FREE_OUT },
	{ PROT(N_BAR_EARLY) = "[4d] barred while an add is pending", "2 a1 w1 e2 v1",
	  .too = PLAN_MUT_FREE_OUT },
	{ PLAN(AGAIN_UNBARRED) = "[5k] bars forgotten across a crash", "2 a1 w1 e2 v1 g1 c1",
	  .too = PLAN_MUT_FREE_OUT },
	{ PLAN(MEMBERS_LAYOUT) = "[4f] opens what the layout names alone", "2 a1 w1 x1 b1" },
	{ PLAN(MEMBERS_LAYOUT) = "... an evicted member comes back by the record",
	  "2 a1 w1 c1 e1 g1 x1", .too = PLAN_MUT_LEFT_EARLY },
	{ PLAN(FREE_ROSTER) = "[4f] freed while a roster names it", "2 a2 w1 x1" },
	{ PLAN(FREE_OUT) = "... or as one that is out, and may be added", "2 a1 w1 e2 x1" },
	{ PLAN(FREE_UNCLEAN) = "... or while an unnamed kernel may serve", "2 a1 w1 x1 b1" },
	{ PLAN(LEFT_EARLY) = "leaving no more before the swap",
	  "2 a2 w1 x1", .too = PLAN_MUT_MEMBERS_LAYOUT },
	{ PLAN(OPEN_BEHIND) = "a member is opened before it has the record", "2 a2 w1 x1 b1" },
	{ PROT(N_DEAD) = "[4f] dead time by the layout's extents", "2 a2 w1 x1" },
	{ PLAN(RECOVER_ROSTERS) = "[5c] recovered rosters are a witness", "2 a2 w1 b1" },
	{ PROT(N_BESIDE) = "a witness on the host of a member", "2 o1 a1 w1 e1" },
	{ PROT(N_RELIES) = "what a store spoke for is not noted", "2 o1 a2 w1 e0 c1" },
	{ PROT(N_FORGET_ANY) = "[8a] one forgotten member lets any be missing", "3 a2 w1 f1" },
	{ PROT(N_FORGET_AWAY) = "[8a] ... others that are not in sync are away", "3 h1 a2 w1 f1" },
	{ PLAN(FORGET_AWAY) = "[8a] ... by the plan, others are away", "3 h1 a2 w1 f1" },
	{ PLAN(FORGET_ANY) = "[8a] ... by the plan", "3 a2 w1 f1" },
	{ PLAN(FORGET_HELD) = "[8b] forgotten while it is attached", "2 a2 w1 f1 e1" },
	{ PLAN(FORGET_RECORD) = "[8c] records keep what is forgotten", "2 a2 w1 f1 e1 c1 g1" },
	{ PLAN(NOTE_ANY) = "a host notes that is not the holder", "2 a2 w1 e1" },
	{ PLAN(NOTE_LOWER) = "a report takes a later note away", "2 a2 w1 e1" },
	{ PROT(R_ALONE) = "removes alone with a witness", "2 a2 w1 e1" },
	{ PROT(R_COMMIT) = "committed before durable on all", "2 a2 w1 e1" },
	{ PROT(R_KEEP) = "an uncommitted add kept by the removal after it", "2 a2 w1 e3" },
	{ PROT(R_READ_OLD) = "reads what the pending roster removes", "2 a2 w1 e1" },
	{ PROT(R_WRITE_NEW) = "writes only what the pending roster has", "2 a2 w1 e1" },
	{ PROT(R_ANY_STORE) = "store trusted without WITNESS", "2 a2 w1 e2" },
	{ PROT(R_FEW) = "attaches though k were not opened", "2 a2 w1 e1" },
	{ PROT(R_UNCLEAN) = "read without a clean detach", "2 a2 w1 r1 c1" },
	{ PROT(R_DEAD) = "no dead time", "2 a2 w1 e1 c1" },
	{ PROT(R_SWAP_NOTE) = "a swap is not noted first", "2 a2 w1 x1" },
	{ PROT(R_SWAP_READ) = "... and the extent before it is read meanwhile", "2 a2 w1 x1" },
};

static void mutant_set(const struct mutant *m)
{
	prot_mutant = m ? m->prot : PROT_MUT_NONE;
	plan_mutation = m ? m->plan : PLAN_MUT_NONE;
	plan_mutation_too = m ? m->too : PLAN_MUT_NONE;
}

bool rs_mutant(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(mutant); i++) {
		if (strcmp(mutant[i].key, name))
			continue;
		mutant_set(&mutant[i]);
		return true;
	}
	return false;
}

int rs_mutants(bool large, int seconds)
{
	int passed = 0, failed = 0;
	u32 states;

	for (u32 i = 0; i < ARRAY_SIZE(mutant); i++) {
		const char *bad;

		if (mutant[i].large && !large)
			continue;
		mutant_set(&mutant[i]);
		bad = rs_search(mutant[i].bounds, seconds, &states);
		if (bad && !*bad)
			bad = NULL;
		printf("%s  roster mutant %-52s %s %u states%s%s\n", bad ? "ok  " : "FAIL",
		       mutant[i].name, bad ? "caught after" : "not caught in", states,
		       bad ? ": " : "", bad ? bad : "");
		fflush(stdout);
		*(bad ? &passed : &failed) += 1;
	}
	mutant_set(NULL);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
