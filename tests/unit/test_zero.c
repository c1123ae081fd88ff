// SPDX-License-Identifier: GPL-2.0-only
/* Fresh extents are zeroed while the drive is this host's, and no longer. */
#define _GNU_SOURCE
#include "drive_rig.h"
#include "userspace/meshd/zero.c"

/* The rest of meshd */

static int rests;

void sleep_ms(unsigned int ms) { (void)ms; rests++; }
bool stopping(void) { return rests > 300; }

static u8 state_now(void)
{
	u8 state;

	pthread_mutex_lock(&d->lock);
	state = d->label->extent[0].state;
	pthread_mutex_unlock(&d->lock);
	return state;
}

static bool works(void)
{
	bool zeroing;

	pthread_mutex_lock(&d->lock);
	zeroing = d->zeroing;
	pthread_mutex_unlock(&d->lock);
	return zeroing;
}

static void zero_all(void)
{
	rests = 0;
	zero_kick(d);
	for (int i = 0; i < 3000 && works(); i++)
		usleep(10000);
	CU_ASSERT(!works());
	CU_ASSERT_EQUAL(rests, 0);
}

static void test_zeroes(void)
{
	u8 page[4096];

	rig_begin(LABEL_ZEROING);
	memset(page, 0x5a, sizeof(page));
	CU_ASSERT_EQUAL(pwrite(d->fd, page, 4096, 3 * MIB), 4096);
	zero_all();
	CU_ASSERT_EQUAL(state_now(), LABEL_READY);
	CU_ASSERT_EQUAL(pread(d->fd, page, 4096, 3 * MIB), 4096);
	CU_ASSERT(!page[0] && !memcmp(page, page + 1, 4095));
}

/* Another host gave the room to a volume since: not a byte of that is touched. */
static void test_taken_over(void)
{
	rig_begin(LABEL_ZEROING);
	rig_take_over();
	for (int i = 0; i < 2; i++) {
		zero_all();
		CU_ASSERT_EQUAL(rig_damage(d->fd), 0);
		CU_ASSERT(rig_theirs(d->fd));
		CU_ASSERT_EQUAL(state_now(), LABEL_ZEROING);
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "zeroes", test_zeroes },
		{ "taken over", test_taken_over },
		{ NULL, NULL },
	};

	alarm(120);
	return suite_main("zero", tests);
}
