// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "userspace/daemon/volumes_in.h"

void work_end(struct vol_work *w)
{
	if (w->job)
		job_free(w->job);
	*w = (struct vol_work) { NULL, 0, NULL };
}

int work_result(struct vol_work *w, u64 of)
{
	int err;

	if (!w->job)
		return WORK_NONE;
	err = job_run(w->job);
	if (err == -EINPROGRESS)
		return err;
	if (w->of != of) {
		work_end(w);
		return WORK_NONE;
	}
	return err;
}

int work_begin(struct vol_work *w, u64 of, int (*fn)(void *arg), void *arg, void (*drop)(void *arg))
{
	struct job *job = job_new(fn, arg, drop);
	int err;

	if (!job) {
		drop(arg);
		return -ENOMEM;
	}
	*w = (struct vol_work) { job, of, arg };
	err = job_run(job);
	if (err != -EINPROGRESS)
		work_end(w);
	return err;
}

bool work_runs(struct vol_work *w)
{
	if (!w->job)
		return false;
	if (job_run(w->job) == -EINPROGRESS)
		return true;
	work_end(w);
	return false;
}
