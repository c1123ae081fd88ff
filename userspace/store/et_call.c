// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call with one answer, on the handle's thread.
 *
 *	for each endpoint, beginning with the one in use, within the time-out:
 *	  done, or refused for good ------------------------------------> the answer
 *	  a change whose outcome is unknown, and which is not safe ------> its error
 *	  else: the next endpoint; a pause after each round of all
 *
 * An attempt has its share of the time that is left, so that a silent member does not use it up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/store/et.h"

#define SHARE_MIN_MS	200
#define PAUSE_MS	20	/* doubles with each round */
#define PAUSE_MAX_MS	320

void et_call_reset(struct et_handle *h)
{
	u8 *out = h->x.out;
	size_t len = h->x.out_len, room = h->x.out_room;

	h->x.out = NULL;
	et_xfer_free(&h->x);
	h->x.out = out;
	h->x.out_len = len;
	h->x.out_room = room;
	if (h->multi)
		curl_multi_cleanup(h->multi);
	h->multi = NULL;
}

/* Wait for the transport or for an interrupt. */
static void wait_for(struct et_handle *h, u64 ms)
{
	struct curl_waitfd wake = { .fd = h->wake_fd, .events = CURL_WAIT_POLLIN };

	if (h->multi)
		curl_multi_poll(h->multi, &wake, 1, ms, NULL);
	if (wake.revents)
		et_drain(h->wake_fd);
}

/* Return: a code of libcurl, or -ECANCELED. */
static int run(struct et_handle *h, u64 end)
{
	CURLMsg *m;
	int left;
	u64 now;

	for (;;) {
		curl_multi_perform(h->multi, &left);
		while ((m = curl_multi_info_read(h->multi, &left)))
			if (m->msg == CURLMSG_DONE)
				return m->data.result;
		if (store_interrupted(&h->base))
			return -ECANCELED;
		now = store_now_ms();
		if (now >= end)
			return CURLE_OPERATION_TIMEDOUT;
		wait_for(h, et_xfer_wait(&h->x, now, end - now));
	}
}

static int interrupted(struct et_handle *h)
{
	return store_fail(&h->base, -ECANCELED, "store: interrupted");
}

static struct et_verdict attempt(struct et_handle *h, const struct et_send *send)
{
	struct et_verdict v = { -ENOMEM, false, false };
	const u64 end = store_now_ms() + send->ms;
	int code;

	if (!h->multi)
		h->multi = curl_multi_init();
	if (!h->multi || et_xfer_begin(&h->x, h->e, h->multi, send) < 0) {
		et_call_reset(h);
		store_fail(&h->base, -ENOMEM, "store: the host is out of memory");
		return v;
	}
	code = run(h, end);
	if (code == -ECANCELED) {
		v = (struct et_verdict) { interrupted(h), true, false };
	} else {
		v = et_xfer_verdict(&h->x, code);
		if (v.err)
			et_xfer_words(&h->x, h->e, send->endpoint, &v, h->base.why, sizeof(h->base.why));
	}
	et_xfer_end(&h->x);
	h->too_long = h->x.rx.len;
	/* What hangs now, or broke, is not used for the next call. */
	if (code != CURLE_OK)
		et_call_reset(h);
	return v;
}

static int pause_ms(struct et_handle *h, u64 ms)
{
	for (u64 now = store_now_ms(), end = now + ms; now < end; now = store_now_ms()) {
		if (!h->multi)
			h->multi = curl_multi_init();
		if (!h->multi)
			return -ENOMEM;
		wait_for(h, end - now);
		if (store_interrupted(&h->base))
			return interrupted(h);
	}
	return 0;
}

/* The share of one attempt; a change that is sent has all of the time. */
static void share(const struct et_handle *h, const struct et_call *c, unsigned int tries, u64 left,
		  struct et_send *send)
{
	unsigned int others = h->e->endpoints - tries % h->e->endpoints;
	u64 part = left / others;

	if (part < SHARE_MIN_MS)
		part = left < SHARE_MIN_MS ? left : SHARE_MIN_MS;
	send->connect_ms = part;
	send->ms = c->safe ? part : left;
}

/* Attempts until one is final. Return: as et_call(). */
static int attempts(struct et_handle *h, struct et_call *c, u64 deadline)
{
	struct et_send send = { .method = c->method };
	u64 pause = PAUSE_MS, now = store_now_ms();
	struct et_verdict v = { -ETIMEDOUT, false, true };
	int err;

	store_fail(&h->base, -ETIMEDOUT, "store: no time is left for etcd");
	for (unsigned int tries = 0; now < deadline; now = store_now_ms()) {
		send.endpoint = __atomic_load_n(&h->e->current, __ATOMIC_RELAXED);
		share(h, c, tries, deadline - now, &send);
		v = attempt(h, &send);
		if (v.other)
			et_leave(h->e, send.endpoint);
		if (!v.other || (v.unknown && !c->safe))
			return v.err;
		c->again |= v.unknown;
		now = store_now_ms();
		if (++tries % h->e->endpoints || now >= deadline)
			continue;
		err = pause_ms(h, deadline - now < pause ? deadline - now : pause);
		if (err)
			return err;
		pause = pause < PAUSE_MAX_MS ? 2 * pause : pause;
	}
	return v.err;
}

int et_call(struct et_handle *h, struct et_call *c)
{
	int err;

	if (store_interrupted(&h->base))
		return interrupted(h);
	c->again = false;
	h->x.out_len = 0;
	err = et_xfer_put(&h->x, c->request);
	if (err)
		return store_fail(&h->base, err, "store: the host is out of memory");
	err = attempts(h, c, c->deadline_ms ? c->deadline_ms : store_now_ms() + h->base.timeout_ms);
	c->reply = h->x.rx.msg;
	c->len = h->x.rx.len;
	return err;
}

int et_bad_reply(struct et_handle *h, const char *method)
{
	return store_fail(&h->base, -EIO, "etcd: an answer to %s that is not understood: check that its"
			  " version is 3.4 or later", method);
}
