// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access and attach numbers: a higher one under a live extent, and the state of an extent that is
 * not opened here. The numbers in answers to OPEN are opened.c's.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/delay.h>

#include "driver/uapi/number.h"
#include "rdda/client/channel.h"
#include "rdda/client/control.h"
#include "rdda/client/extent.h"
#include "rdda/client/session.h"
#include "rdda/client/target.h"
#include "rdda/wire.h"

#define NUMBER_TIMEOUT_MS	30000	/* OPEN may have to be sent again */
#define PROBE_TIMEOUT_MS	5000
#define PROBE_LOOK_MS		10	/* for a free message buffer */

static int number_may_rise(const struct rdda_extent *e, u64 number)
{
	if (!e->want.rw || !number || number > RDDA_ATTACH_MAX)
		return -EINVAL;
	if (e->fenced || number < e->want.number)
		return -ESTALE;
	if (!e->released && (e->info.state == RDDA_EXTENT_UP ||
			     (e->info.state == RDDA_EXTENT_REFUSED && e->info.err == -ESTALE)))
		return 0;
	return -ENOLINK;
}

/*
 * rdda_extent_number() - have the target note a number; see rdda.h. The work item sends OPEN as for
 * a new epoch: while the extent is UP, its I/O goes on under the present grant.
 */
int rdda_extent_number(struct rdda_extent *e, u64 number, u64 served)
{
	struct rdda_target *t = e->t;
	int err;

	spin_lock_irq(&t->lock);
	err = number_may_rise(e, number);
	if (!err) {
		e->want.number = number;
		/* The lowest one counts until the label names this host again. */
		if (e->want.numbered && !e->want.served)
			e->want.served = served;
		e->attach_err = -EINPROGRESS;
		e->reports |= EXTENT_RENEW;
		rdda_target_kick(t);
		wait_event_lock_irq_timeout(e->wait, e->attach_err != -EINPROGRESS, t->lock,
					    msecs_to_jiffies(NUMBER_TIMEOUT_MS));
		rdda_attach_end(e, -ENOLINK);
		err = e->attach_err;
	}
	spin_unlock_irq(&t->lock);
	return err;
}

/* Wait for room in the session, and send a probe. Return: 0, or as rdda_extent_probe(). */
static int probe_send(struct rdda_session *s, struct rdda_open *m, struct rdda_call *c,
		      unsigned long until)
{
	long left;
	int ret;

	left = wait_event_killable_timeout(s->wait, rdda_session_dead(s) || rdda_room_try(s),
					   msecs_to_jiffies(PROBE_TIMEOUT_MS));
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	if (rdda_session_dead(s))	/* no room is needed in it any more */
		return -ENOLINK;
	rdda_call_start(s, c);
	m->hdr.tag = cpu_to_le64(c->tag);
	while ((ret = rdda_control_send(s->chan[0], m, sizeof(*m))) == -EAGAIN &&
	       time_before(jiffies, until) && !fatal_signal_pending(current))
		msleep(PROBE_LOOK_MS);
	if (!ret)
		wait_for_completion_killable_timeout(&c->done, max_t(long, until - jiffies, 1));
	ret = rdda_call_end(s, c);
	rdda_room_give(s);
	if (ret != -ETIMEDOUT)
		return ret ? -ENOLINK : 0;
	return fatal_signal_pending(current) ? -EINTR : -ETIMEDOUT;
}

/* Convert the answer to a probe. Return: as rdda_extent_probe(). */
static int probe_result(const struct rdda_opened *a, struct rdda_probe *out)
{
	int err;

	*out = (struct rdda_probe) {
		.number = le64_to_cpu(a->attach),
		.writers = le32_to_cpu(a->writers),
		.readers = le32_to_cpu(a->readers),
		.unknown = a->status == RDDA_OPEN_UNKNOWN,
	};
	import_uuid(&out->attacher, a->attacher);
	rdda_open_event(a->status, &err);
	return out->unknown ? 0 : err;
}

/* rdda_extent_probe() - number and openings of an extent; see rdda.h */
int rdda_extent_probe(struct rdda_target *t, const uuid_t *extent, struct rdda_probe *out)
{
	unsigned long until = jiffies + msecs_to_jiffies(PROBE_TIMEOUT_MS);
	struct rdda_open m = {
		.hdr.type = RDDA_OPEN,
		.hdr.len = cpu_to_le32(sizeof(m)),
		.hdr.flags = RDDA_OPEN_PROBE,
		.access = RDDA_RO,
	};
	struct rdda_session *s = rdda_session_get(t);
	struct rdda_opened a;
	struct rdda_call c = { .type = RDDA_OPENED, .rsp = &a, .rsp_max = sizeof(a) };
	int ret;

	if (!s)
		return -ENOLINK;
	export_uuid(m.extent, extent);
	ret = probe_send(s, &m, &c, until);
	rdda_session_put(s);
	return ret ?: probe_result(&a, out);
}
