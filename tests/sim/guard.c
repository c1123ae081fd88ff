// SPDX-License-Identifier: GPL-2.0-only
/* A limit of CPU for what may never end: an engine with a rule taken out. */
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

#include "tests/sim/sim.h"

#define GUARD_SECONDS 5		/* of CPU; a schedule takes a thousandth */

static sigjmp_buf guard_stuck;

static void guard_alarm(int sig)
{
	(void)sig;
	siglongjmp(guard_stuck, 1);
}

int sim_guarded(void (*run)(void *arg), void *arg)
{
	struct itimerval limit = { .it_value.tv_sec = GUARD_SECONDS }, none = { 0 };

	signal(SIGVTALRM, guard_alarm);
	if (sigsetjmp(guard_stuck, 1))
		return 0;
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	run(arg);
	setitimer(ITIMER_VIRTUAL, &none, NULL);
	return 1;
}
