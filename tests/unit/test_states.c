// SPDX-License-Identifier: GPL-2.0-only
/* States of members and volumes: every pair, against the diagrams. */
#include <errno.h>
#include <string.h>

#include "driver/states.h"
#include "suite.h"

static void test_member_pairs(void)
{
	/* rows: from down, up, gone, refused; columns: to the same */
	static const char *const may[MESH_MEMBER_STATES] = { ".xxx", "x.xx", "xx..", "x..." };
	int i, j;

	for (i = 0; i < MESH_MEMBER_STATES; i++)
		for (j = 0; j < MESH_MEMBER_STATES; j++)
			CU_ASSERT_EQUAL(mesh_member_may(i, j), may[i][j] == 'x');
	CU_ASSERT_FALSE(mesh_member_may(MESH_MEMBER_STATES, 0));
	CU_ASSERT_FALSE(mesh_member_may(0, MESH_MEMBER_STATES));
}

/* From every state DOWN is one step, which is what the setter relies on. */
static void test_member_by_down(void)
{
	int i, j;

	for (i = 0; i < MESH_MEMBER_STATES; i++)
		for (j = 0; j < MESH_MEMBER_STATES; j++)
			if (i != j && !mesh_member_may(i, j))
				CU_ASSERT(mesh_member_may(i, MESH_MEMBER_DOWN) &&
					  mesh_member_may(MESH_MEMBER_DOWN, j));
}

static void test_volume_pairs(void)
{
	/* opening, active, waiting, broken, removing, fenced */
	static const char *const may[MESH_VOLUME_STATES] = {
		".x..xx", "..xxxx", ".x.xxx", ".xx.xx", "......", "....x." };
	int i, j;

	for (i = 0; i < MESH_VOLUME_STATES; i++)
		for (j = 0; j < MESH_VOLUME_STATES; j++)
			CU_ASSERT_EQUAL(mesh_volume_may(i, j), may[i][j] == 'x');
	CU_ASSERT_FALSE(mesh_volume_may(MESH_VOLUME_STATES, 0));
	CU_ASSERT_FALSE(mesh_volume_may(0, MESH_VOLUME_STATES));
}

/* What members call for is always a step that the table allows, or none. */
static void test_volume_wants(void)
{
	unsigned int now, down, lost;

	for (now = 0; now < MESH_VOLUME_STATES; now++)
		for (down = 0; down < 3; down++)
			for (lost = 0; lost < 3; lost++) {
				int want = mesh_volume_wants(now, down, lost);

				CU_ASSERT(want == (int)now || mesh_volume_may(now, want));
			}
	CU_ASSERT_EQUAL(mesh_volume_wants(MESH_VOLUME_OPENING, 1, 0), MESH_VOLUME_OPENING);
	CU_ASSERT_EQUAL(mesh_volume_wants(MESH_VOLUME_OPENING, 0, 1), MESH_VOLUME_OPENING);
	CU_ASSERT_EQUAL(mesh_volume_wants(MESH_VOLUME_OPENING, 0, 0), MESH_VOLUME_ACTIVE);
	CU_ASSERT_EQUAL(mesh_volume_wants(MESH_VOLUME_ACTIVE, 1, 0), MESH_VOLUME_WAITING);
	CU_ASSERT_EQUAL(mesh_volume_wants(MESH_VOLUME_WAITING, 1, 1), MESH_VOLUME_BROKEN);
	CU_ASSERT_EQUAL(mesh_volume_wants(MESH_VOLUME_BROKEN, 0, 0), MESH_VOLUME_ACTIVE);
	CU_ASSERT_EQUAL(mesh_volume_wants(MESH_VOLUME_REMOVING, 0, 0), MESH_VOLUME_REMOVING);
	/* A fenced volume is never active again, whatever its members do. */
	for (down = 0; down < 3; down++)
		for (lost = 0; lost < 3; lost++)
			CU_ASSERT_EQUAL(mesh_volume_wants(MESH_VOLUME_FENCED, down, lost),
					MESH_VOLUME_FENCED);
}

static void test_names_and_errors(void)
{
	int i;

	for (i = 0; i < MESH_MEMBER_STATES; i++) {
		CU_ASSERT(strlen(mesh_member_state_name(i)) > 1);
		CU_ASSERT_EQUAL(!mesh_member_errno(i, -ESTALE), i == MESH_MEMBER_UP);
	}
	for (i = 0; i < MESH_VOLUME_STATES; i++)
		CU_ASSERT(strlen(mesh_volume_state_name(i)) > 1);
	CU_ASSERT_STRING_EQUAL(mesh_member_state_name(MESH_MEMBER_STATES), "?");
	CU_ASSERT_STRING_EQUAL(mesh_volume_state_name(MESH_VOLUME_STATES), "?");
	CU_ASSERT_EQUAL(mesh_member_errno(MESH_MEMBER_STATES, 0), -EIO);
	CU_ASSERT_EQUAL(mesh_member_errno(MESH_MEMBER_DOWN, -EBUSY), -ENOLINK);
	CU_ASSERT_EQUAL(mesh_member_errno(MESH_MEMBER_GONE, -ESTALE), -ENODEV);
	CU_ASSERT_EQUAL(mesh_member_errno(MESH_MEMBER_REFUSED, -EBUSY), -EACCES);
	/* The newer layout may come. */
	CU_ASSERT_EQUAL(mesh_member_errno(MESH_MEMBER_REFUSED, -ESTALE), -ENOLINK);
	/* It is DOWN by now, or UP. */
	CU_ASSERT_EQUAL(mesh_member_errno(MESH_MEMBER_REFUSED, -ENOLINK), -ENOLINK);
	CU_ASSERT_EQUAL(mesh_member_errno(MESH_MEMBER_REFUSED, 0), -ENOLINK);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "member: every pair", test_member_pairs },
		{ "member: by way of down", test_member_by_down },
		{ "volume: every pair", test_volume_pairs },
		{ "volume: what members call for", test_volume_wants },
		{ "names and errors", test_names_and_errors },
		{ NULL, NULL }
	};

	return suite_main("states", tests);
}
