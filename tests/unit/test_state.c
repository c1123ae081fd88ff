// SPDX-License-Identifier: GPL-2.0-only
/* Every state with every event, and what refusals mean. */
#include <stdlib.h>
#include <string.h>

#include "rdda/common/auth.h"
#include "rdda/state.h"
#include "rdda/wire.h"
#include "suite.h"

#include <linux/errno.h>

/* One letter a state, '-' where the event cannot happen; columns as the enum. */
static void target_table(void)
{
	static const char letters[] = "DCU";
	static const char *const want[] = {
		/* TRY, LOGGED_IN, LOST */
		[RDDA_TARGET_DOWN]	 = "C--",
		[RDDA_TARGET_CONNECTING] = "-UD",
		[RDDA_TARGET_UP]	 = "--D",
	};
	unsigned int s, e;

	CU_ASSERT_EQUAL(RDDA_TEV_NR, 3);
	for (s = 0; s < 3; s++)
		for (e = 0; e < RDDA_TEV_NR; e++) {
			int next = rdda_target_next(s, e);

			CU_ASSERT_EQUAL(next < 0 ? '-' : letters[next], want[s][e]);
		}
	CU_ASSERT_EQUAL(rdda_target_next(3, RDDA_TEV_TRY), -1);
	CU_ASSERT_EQUAL(rdda_target_next(0, RDDA_TEV_NR), -1);
}

static void extent_table(void)
{
	static const char letters[] = "DOUGR";
	static const char *const want[] = {
		/* OPEN, OPENED, LATER, REFUSED, GONE, LOST, RENEW */
		[RDDA_EXTENT_DOWN]	= "O----DD",
		[RDDA_EXTENT_OPENING]	= "OUORGDO",
		[RDDA_EXTENT_UP]	= "UUURGDU",
		[RDDA_EXTENT_GONE]	= "GUGRGDD",
		[RDDA_EXTENT_REFUSED]	= "---RRRD",
	};
	unsigned int s, e;

	CU_ASSERT_EQUAL(RDDA_EEV_NR, 7);
	for (s = 0; s < 5; s++)
		for (e = 0; e < RDDA_EEV_NR; e++) {
			int next = rdda_extent_next(s, e);

			CU_ASSERT_EQUAL(next < 0 ? '-' : letters[next], want[s][e]);
		}
	CU_ASSERT_EQUAL(rdda_extent_next(5, RDDA_EEV_OPEN), -1);
	CU_ASSERT_EQUAL(rdda_extent_next(0, RDDA_EEV_NR), -1);
}

static void backoff(void)
{
	unsigned int n, i, seed = 7;

	for (n = 0; n < 40; n++)
		for (i = 0; i < 1000; i++) {
			u32 ms = rdda_backoff_ms(n, rand_r(&seed));

			CU_ASSERT_TRUE_FATAL(ms >= RDDA_BACKOFF_MIN_MS && ms <= RDDA_BACKOFF_MAX_MS);
			CU_ASSERT_TRUE_FATAL(n || ms <= 2 * RDDA_BACKOFF_MIN_MS);
			CU_ASSERT_TRUE_FATAL(n < 6 || ms >= RDDA_BACKOFF_MAX_MS / 2);
		}
	CU_ASSERT_NOT_EQUAL(rdda_backoff_ms(9, 0), rdda_backoff_ms(9, 1));
}

static void open_answers(void)
{
	static const struct {
		enum rdda_extent_event ev;
		int err;
	} want[] = {
		[RDDA_OPEN_OK]		= { RDDA_EEV_OPENED, 0 },
		[RDDA_OPEN_NO_EXTENT]	= { RDDA_EEV_GONE, -ENODEV },
		[RDDA_OPEN_HELD]	= { RDDA_EEV_REFUSED, -EBUSY },
		[RDDA_OPEN_STALE]	= { RDDA_EEV_REFUSED, -ESTALE },
		[RDDA_OPEN_DRAINING]	= { RDDA_EEV_LATER, -EBUSY },
		[RDDA_OPEN_GRACE]	= { RDDA_EEV_LATER, -EAGAIN },
		[RDDA_OPEN_DRIVE_GONE]	= { RDDA_EEV_GONE, -ENODEV },
		[RDDA_OPEN_NO_DAEMON]	= { RDDA_EEV_LATER, -EHOSTDOWN },
		[RDDA_OPEN_NOT_READY]	= { RDDA_EEV_LATER, -EAGAIN },
		[RDDA_OPEN_LIMIT]	= { RDDA_EEV_REFUSED, -ENOSPC },
		[RDDA_OPEN_OLD_ATTACH]	= { RDDA_EEV_REFUSED, -ESTALE },
		[RDDA_OPEN_UNKNOWN]	= { RDDA_EEV_LATER, -EAGAIN },
		[RDDA_OPEN_NOT_ALLOWED]	= { RDDA_EEV_REFUSED, -EPERM },
		[RDDA_OPEN_FAR]		= { RDDA_EEV_REFUSED, -ERANGE },
		[14]			= { RDDA_EEV_REFUSED, -EPROTO },
	};
	unsigned int i;
	int err;

	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		CU_ASSERT_EQUAL(rdda_open_event(i, &err), want[i].ev);
		CU_ASSERT_EQUAL(err, want[i].err);
	}
	CU_ASSERT_EQUAL(rdda_open_event(255, &err), RDDA_EEV_REFUSED);
}

/* A refused number: refused for good, or only an older OPEN of the same writer. */
static void number_fenced(void)
{
	u64 own = 5 << 16;

	CU_ASSERT_FALSE(rdda_number_fenced(own, 0, own + 1, true));
	CU_ASSERT_FALSE(rdda_number_fenced(own + 7, 0, own + 9, true));
	CU_ASSERT_TRUE(rdda_number_fenced(own, 0, own, false));
	CU_ASSERT_TRUE(rdda_number_fenced(own + 9, 0, own + 1, false));
	CU_ASSERT_TRUE(rdda_number_fenced(own + 9, 0, own + (1 << 16), true));
	CU_ASSERT_TRUE(rdda_number_fenced(own, 0, own + (1 << 16), false));
	CU_ASSERT_TRUE(rdda_number_fenced(own, 0, 1ULL << 51, true));
	/* The label could not be written, say. */
	CU_ASSERT_FALSE(rdda_number_fenced(own, 0, own - (1 << 16), false));
	/* While the volume is served: another host wrote in between. */
	CU_ASSERT_TRUE(rdda_number_fenced(own, 3 << 16, 4 << 16, false));
	CU_ASSERT_FALSE(rdda_number_fenced(own, 3 << 16, own + 1, true));
}

static void errnos(void)
{
	unsigned int i;

	CU_ASSERT_EQUAL(rdda_status_errno(RDDA_ST_OK), 0);
	CU_ASSERT_EQUAL(rdda_status_errno(RDDA_ST_GONE), -ENODEV);
	CU_ASSERT_EQUAL(rdda_status_errno(RDDA_ST_INVALID_NS), -ENODEV);
	CU_ASSERT_EQUAL(rdda_status_errno(RDDA_ST_READ_ERROR), -ENODATA);
	CU_ASSERT_EQUAL(rdda_status_errno(RDDA_ST_WRITE_FAULT), -EIO);
	CU_ASSERT_EQUAL(rdda_status_errno(RDDA_ST_ACCESS_DENIED), -EACCES);
	CU_ASSERT_EQUAL(rdda_status_errno(RDDA_ST_RO), -EACCES);
	for (i = 1; i < 0x10000; i++)
		CU_ASSERT_TRUE_FATAL(rdda_status_errno(i) < 0);
	for (i = 0; i < 300; i++) {
		CU_ASSERT_TRUE_FATAL(rdda_reject_errno(i) < 0);
		CU_ASSERT_TRUE_FATAL(strlen(rdda_reject_text(i)) > 10 && strlen(rdda_reject_text(i)) < 64);
	}
	CU_ASSERT_EQUAL(rdda_reject_errno(RDDA_REJ_KEY), -EKEYREJECTED);
	CU_ASSERT_EQUAL(rdda_reject_errno(RDDA_REJ_STALE), -ESTALE);
	CU_ASSERT_EQUAL(rdda_reject_errno(RDDA_REJ_TWIN), -ENOTUNIQ);
	CU_ASSERT_STRING_EQUAL(rdda_reject_text(RDDA_REJ_TWIN),
			       "another host lives under this host's UUID");
	CU_ASSERT_EQUAL(rdda_reject_errno(0), -ECONNREFUSED);
}

/* Some take all they may and give nothing back; there is always a part for one more. */
static void shares(void)
{
	static const unsigned int totals[] = { 32, 128, 512 };
	unsigned int t, n, i, used, avail;

	CU_ASSERT_FALSE(rdda_share_may(0, 0, 128, false));
	CU_ASSERT_TRUE(rdda_share_may(0, 1, 128, false));
	for (t = 0; t < sizeof(totals) / sizeof(totals[0]); t++) {
		avail = totals[t];
		while (avail >= 3) {
			unsigned int before = avail;

			for (used = 0; rdda_share_may(used, avail, totals[t], false); used++)
				avail--;
			CU_ASSERT_TRUE(used > 0 && avail > 0);
			CU_ASSERT_TRUE(avail * 3 + 2 >= before);
		}
	}
	/* Beside each other, one at a time: what they leave is a part as theirs are. */
	for (n = 1; n <= 8; n++) {
		unsigned int has[8] = { 0 }, took = 1;

		for (avail = 128; took;)
			for (took = i = 0; i < n; i++)
				if (rdda_share_may(has[i], avail, 128, false)) {
					has[i]++;
					avail--;
					took = 1;
				}
		CU_ASSERT_TRUE(avail * (2 * n + 1) + 2 * n >= 128);
		for (i = 1; i < n; i++)
			CU_ASSERT_TRUE(has[i] + 1 >= has[0]);
	}
}

/* One that is alone takes nearly all, and another that comes then still gets a part. */
static void shares_alone(void)
{
	static const unsigned int totals[] = { 1, 2, 15, 16, 32, 128, 1024 };
	unsigned int t, used, late;

	for (t = 0; t < sizeof(totals) / sizeof(totals[0]); t++) {
		unsigned int all = totals[t], avail = all;

		for (used = 0; rdda_share_may(used, avail, all, true); used++)
			avail--;
		CU_ASSERT_EQUAL(avail, all / 16);
		for (late = 0; rdda_share_may(late, avail, all, false); late++)
			avail--;
		CU_ASSERT_TRUE(all < 16 || late);
	}
	CU_ASSERT_TRUE(rdda_share_may(0, 1, 128, true));
	CU_ASSERT_FALSE(rdda_share_may(0, 0, 128, true));
}

/* A key counts by its content: one with the id of another is another one. */
static void keys(void)
{
	static const struct rdda_key none, a = { 7, 16, "aaaaaaaaaaaaaaa" }, b = { 8, 16, "b" },
		id = { 9, 16, "aaaaaaaaaaaaaaa" }, len = { 7, 15, "aaaaaaaaaaaaaaa" };
	struct rdda_key other = a, table[2] = { a, none };

	CU_ASSERT_TRUE(rdda_key_counts(table, &a));
	CU_ASSERT_FALSE(rdda_key_counts(table, &none));
	CU_ASSERT_FALSE(rdda_key_counts(table, &b));
	CU_ASSERT_FALSE(rdda_key_counts(table, &id));
	CU_ASSERT_FALSE(rdda_key_counts(table, &len));
	other.key[sizeof(other.key) - 1] = 1;
	CU_ASSERT_FALSE(rdda_key_counts(table, &other));
	/* A newer one is in use, and the one before it. */
	table[0] = b;
	table[1] = a;
	CU_ASSERT_TRUE(rdda_key_counts(table, &a));
	CU_ASSERT_TRUE(rdda_key_counts(table, &b));
	CU_ASSERT_FALSE(rdda_key_counts(table, &none));
	/* Without authentication none counts but none. */
	table[0] = none;
	table[1] = none;
	CU_ASSERT_TRUE(rdda_key_counts(table, &none));
	CU_ASSERT_FALSE(rdda_key_counts(table, &a));
}

static const struct suite_test tests[] = {
	{ "target states", target_table },
	{ "extent states", extent_table },
	{ "backoff", backoff },
	{ "answers to OPEN", open_answers },
	{ "numbers refused for good", number_fenced },
	{ "errors", errnos },
	{ "keys", keys },
	{ "shares", shares },
	{ "shares of one that is alone", shares_alone },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("state", tests);
}
