// SPDX-License-Identifier: GPL-2.0-only
/* The pure parts of the store's etcd engine: framing, what an answer means, how far a watch is. */
#include <errno.h>
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "userspace/store/et_progress.h"
#include "userspace/store/et_verdict.h"

#define IS(text, want) CU_ASSERT_STRING_EQUAL(text, want)

/* Three messages of 0, 3 and 300 bytes. */
static size_t stream_of(u8 *out)
{
	static const size_t lens[] = { 0, 3, 300 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		grpc_prefix(out + n, lens[i]);
		n += GRPC_PREFIX;
		memset(out + n, 'a' + i, lens[i]);
		n += lens[i];
	}
	return n;
}

/* Messages of a piece; -1: an error. */
static int messages(struct grpc_rx *rx, const u8 *bytes, size_t n, size_t *total)
{
	static const size_t lens[] = { 0, 3, 300 };
	size_t used, at = 0;
	int ret, nr = 0;

	while (at < n) {
		ret = grpc_feed(rx, bytes + at, n - at, &used);
		CU_ASSERT_FATAL(used <= n - at && (ret || used == n - at));
		at += used;
		if (ret < 0)
			return -1;
		if (!ret)
			break;
		CU_ASSERT(rx->len == lens[*total] && (!rx->len || rx->msg[rx->len - 1] == 'a' + (int)*total));
		grpc_next(rx);
		nr++;
		(*total)++;
	}
	return nr;
}

/* Cut into three pieces at each pair of places. */
static void feed_pieces(void)
{
	u8 bytes[512];
	size_t n = stream_of(bytes), total;
	struct grpc_rx rx;

	for (size_t a = 0; a <= n; a++) {
		for (size_t b = a; b <= n; b += 1 + b / 7) {
			memset(&rx, 0, sizeof(rx));
			rx.max = 300;
			total = 0;
			messages(&rx, bytes, a, &total);
			messages(&rx, bytes + a, b - a, &total);
			messages(&rx, bytes + b, n - b, &total);
			CU_ASSERT_EQUAL_FATAL(total, 3);
			CU_ASSERT_FALSE(grpc_cut(&rx));
			grpc_rx_end(&rx);
		}
	}
}

static void feed_bounds(void)
{
	u8 bytes[16] = { 0 };
	struct grpc_rx rx = { .max = 1000 };
	size_t used;

	grpc_prefix(bytes, 1001);
	CU_ASSERT_EQUAL(grpc_feed(&rx, bytes, 5, &used), -EMSGSIZE);
	CU_ASSERT_EQUAL(rx.len, 1001);
	CU_ASSERT_EQUAL(rx.room, 0);
	grpc_rx_end(&rx);
	/* a length that is claimed takes no memory */
	rx.max = 1U << 31;
	grpc_prefix(bytes, 1U << 31);
	CU_ASSERT_EQUAL(grpc_feed(&rx, bytes, 7, &used), 0);
	CU_ASSERT(used == 7 && rx.room <= 4096 && grpc_cut(&rx));
	grpc_rx_end(&rx);
	rx.max = 1000;
	bytes[0] = 1;
	CU_ASSERT_EQUAL(grpc_feed(&rx, bytes, 5, &used), -EPROTO);
	grpc_rx_end(&rx);
	/* in the prefix a stream is cut too */
	CU_ASSERT_EQUAL(grpc_feed(&rx, (u8 *)"\0\0", 2, &used), 0);
	CU_ASSERT_TRUE(grpc_cut(&rx));
	grpc_rx_end(&rx);
}

static struct grpc_head head_of(const char *const *lines)
{
	struct grpc_head h;

	grpc_head_begin(&h);
	for (; *lines; lines++)
		grpc_header(&h, *lines, strlen(*lines));
	return h;
}

#define HEAD(...) head_of((const char *const []) { __VA_ARGS__, NULL })

static void headers(void)
{
	struct grpc_head h = HEAD("HTTP/2 200 \r\n", "content-type: application/grpc\r\n", "\r\n", "grpc-status: 0\r\n");

	CU_ASSERT(h.http == 200 && h.grpc && h.status == 0);
	h = HEAD("HTTP/2 200\r\n", "Content-Type: application/grpc+proto", "GRPC-Status:14", "grpc-message:a b");
	CU_ASSERT(h.http == 200 && h.grpc && h.status == 14);
	IS(h.words, "a b");
	h = HEAD("HTTP/1.1 503 Service Unavailable", "content-type: text/html");
	CU_ASSERT(h.http == 503 && !h.grpc && h.status == GRPC_NONE);
	/* a response that is not the last one */
	h = HEAD("HTTP/2 100", "grpc-status: 3", "HTTP/2 200");
	CU_ASSERT(h.http == 200 && h.status == GRPC_NONE);
	/* what is no number is none */
	h = HEAD("HTTP/2 2x0", "grpc-status: 0x", "grpc-status: 1234");
	CU_ASSERT(h.http == 0 && h.status == GRPC_NONE);
	h = HEAD("HTTP/2 200", "grpc-status:");
	CU_ASSERT_EQUAL(h.status, GRPC_NONE);
	h = HEAD("HTTP/", "", ":", "x", "grpc-status 3");
	CU_ASSERT(h.http == 0 && h.status == GRPC_NONE);
}

static void words(void)
{
	struct grpc_head h = HEAD("grpc-message: etcdserver%3A no%20leader 100%25");
	char longer[2000] = "grpc-message: ";

	IS(h.words, "etcdserver: no leader 100%");
	h = HEAD("grpc-message: %4 %zz %41%");
	IS(h.words, "%4 %zz A%");
	/* controls and bytes that are no text do not come to a terminal */
	h = HEAD("grpc-message: a%00b%1b[2J%ff");
	IS(h.words, "a b\\x1b[2J\\xff");
	memset(longer + 14, 'w', sizeof(longer) - 15);
	h = HEAD(longer);
	CU_ASSERT_EQUAL(strlen(h.words), GRPC_WORDS - 1);
}

static struct et_verdict verdict(int transport, bool sent, bool reply, bool cut, int http, int status,
				 const char *text)
{
	struct grpc_head h = { .http = http, .status = status, .grpc = http == 200 };
	struct et_answer a = { transport, sent, reply, cut, &h };

	snprintf(h.words, sizeof(h.words), "%s", text ? text : "");
	return et_verdict(&a);
}

#define V(want_err, want_unknown, want_other, ...) do {			\
	struct et_verdict v_ = verdict(__VA_ARGS__);			\
	CU_ASSERT_EQUAL(v_.err, want_err);				\
	CU_ASSERT_EQUAL(v_.unknown, want_unknown);			\
	CU_ASSERT_EQUAL(v_.other, want_other);				\
} while (0)

static void verdict_transport(void)
{
	V(0, false, false, 0, true, true, false, 200, 0, NULL);
	/* all has come before the connection broke */
	V(0, false, false, -EIO, true, true, false, 200, 0, NULL);
	/* not sent; sent */
	V(-EIO, false, true, -EIO, false, false, false, 0, GRPC_NONE, NULL);
	V(-EIO, true, true, -EIO, true, false, false, 0, GRPC_NONE, NULL);
	V(-ETIMEDOUT, false, true, -ETIMEDOUT, false, false, false, 0, GRPC_NONE, NULL);
	V(-ETIMEDOUT, true, true, -ETIMEDOUT, true, false, false, 200, GRPC_NONE, NULL);
	/* no status; no message; half a message; a proxy's page */
	V(-EIO, true, true, 0, true, true, false, 200, GRPC_NONE, NULL);
	V(-EIO, true, true, 0, true, false, false, 200, 0, NULL);
	V(-EIO, true, true, 0, true, true, true, 200, 0, NULL);
	V(-EIO, true, true, 0, true, false, false, 503, GRPC_NONE, NULL);
	V(-EIO, true, true, 0, true, true, false, 503, 0, NULL);
	V(-EMSGSIZE, true, false, -EMSGSIZE, true, false, false, 200, GRPC_NONE, NULL);
	V(-ENOMEM, true, false, -ENOMEM, true, false, false, 200, GRPC_NONE, NULL);
}

#define S(want_err, want_unknown, want_other, status, text)		\
	V(want_err, want_unknown, want_other, 0, true, false, false, 200, status, text)

static void verdict_status(void)
{
	S(-ENOSPC, false, false, 8, "etcdserver: mvcc: database space exceeded");
	S(-EIO, false, true, 8, "etcdserver: too many requests");
	S(-E2BIG, false, false, 8, "grpc: received message larger than max (2 vs. 1)");
	S(-EIO, true, true, 8, "something else");
	S(-ESTALE, false, false, 11, "etcdserver: mvcc: required revision has been compacted");
	S(-ESTALE, false, false, 11, "etcdserver: mvcc: required revision is a future revision");
	S(-ENOENT, false, false, 5, "etcdserver: requested lease not found");
	S(-EEXIST, false, false, 9, "etcdserver: lease already exists");
	S(-E2BIG, false, false, 3, "etcdserver: request is too large");
	S(-E2BIG, false, false, 3, "etcdserver: too many operations in txn request");
	S(-EINVAL, false, false, 3, "etcdserver: key is not provided");
	S(-EACCES, false, false, 7, "etcdserver: permission denied");
	S(-EACCES, false, false, 16, "etcdserver: invalid auth token");
	S(-EIO, false, false, 12, "unknown service");
	/* a leader that is lost in the middle may have carried it out; without any it was not sent on */
	S(-EIO, false, true, 14, "etcdserver: no leader");
	S(-EIO, true, true, 14, "etcdserver: leader changed");
	S(-EIO, true, true, 14, "etcdserver: request timed out, possibly due to previous leader failure");
	S(-EIO, true, true, 14, "etcdserver: request timed out");
	S(-EIO, true, true, 14, "transport is closing");
	S(-ETIMEDOUT, true, true, 4, "context deadline exceeded");
	S(-ETIMEDOUT, true, true, 1, "context canceled");
	S(-EUCLEAN, true, false, 15, "etcdserver: corrupt cluster");
	S(-EIO, true, true, 2, "anything");
	S(-EIO, true, true, 13, "internal");
	/* a status that came beside an error of the connection counts */
	V(-ENOSPC, false, false, -EIO, true, false, false, 200, 8, "etcdserver: mvcc: database space exceeded");
}

/* One event: 'd' delivered, '-' left out. */
static char event(struct et_progress *p, u64 revision)
{
	if (!et_progress_event(p, revision))
		return '-';
	et_progress_delivered(p, revision);
	return 'd';
}

static void progress_whole(void)
{
	struct et_progress p;

	et_progress_begin(&p, 7);
	CU_ASSERT_EQUAL(et_progress_stream(&p), 8);
	CU_ASSERT_EQUAL(et_progress_known(&p), 7);
	CU_ASSERT_EQUAL(event(&p, 7), '-');
	CU_ASSERT_EQUAL(event(&p, 9), 'd');
	CU_ASSERT_EQUAL(event(&p, 9), 'd');
	CU_ASSERT_EQUAL(event(&p, 12), 'd');
	et_progress_whole(&p);
	CU_ASSERT_EQUAL(et_progress_stream(&p), 13);
	CU_ASSERT_EQUAL(event(&p, 12), '-');
	/* a response without events changes nothing */
	et_progress_whole(&p);
	CU_ASSERT_EQUAL(et_progress_stream(&p), 13);
}

static void progress_cut(void)
{
	struct et_progress p;

	et_progress_begin(&p, 7);
	event(&p, 9);
	event(&p, 10);
	event(&p, 10);
	/* cut off within 10: 9 is whole */
	CU_ASSERT_EQUAL(et_progress_known(&p), 10);
	for (int again = 0; again < 2; again++) {
		CU_ASSERT_EQUAL(et_progress_stream(&p), 10);
		CU_ASSERT_EQUAL(event(&p, 9), '-');
		CU_ASSERT_EQUAL(event(&p, 10), '-');
	}
	CU_ASSERT_EQUAL(event(&p, 10), '-');
	CU_ASSERT_EQUAL(event(&p, 10), 'd');
	CU_ASSERT_EQUAL(event(&p, 10), 'd');
	CU_ASSERT_EQUAL(et_progress_stream(&p), 10);
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(event(&p, 10), '-');
	et_progress_whole(&p);
	CU_ASSERT_EQUAL(et_progress_stream(&p), 11);
	CU_ASSERT_EQUAL(event(&p, 11), 'd');
	CU_ASSERT_EQUAL(event(&p, 10), '-');
	CU_ASSERT_EQUAL(event(&p, 13), 'd');
	CU_ASSERT_EQUAL(et_progress_stream(&p), 13);
	CU_ASSERT_EQUAL(event(&p, 14), 'd');
	CU_ASSERT_EQUAL(et_progress_stream(&p), 14);
}

/* Each way to cut a history of revisions with several events: all of them once, in order. */
static void progress_all_cuts(void)
{
	static const u8 history[] = { 1, 1, 2, 3, 3, 3, 4, 6, 6 };
	struct et_progress p;
	unsigned int next;

	for (unsigned int cuts = 0; cuts < 1U << ARRAY_SIZE(history); cuts++) {
		et_progress_begin(&p, 0);
		next = 0;
		while (next < ARRAY_SIZE(history)) {
			u64 from = et_progress_stream(&p);
			unsigned int i = 0;

			while (history[i] < from)
				i++;
			for (; i < ARRAY_SIZE(history); i++) {
				if (!et_progress_event(&p, history[i]))
					continue;
				CU_ASSERT_EQUAL_FATAL(i, next);
				et_progress_delivered(&p, history[i]);
				next++;
				if (cuts & 1U << i)
					break;
			}
			if (i == ARRAY_SIZE(history))
				et_progress_whole(&p);
		}
		CU_ASSERT_EQUAL(next, ARRAY_SIZE(history));
	}
}

static enum et_same same(u64 cluster, u64 term, u64 revision, bool linearizable)
{
	const struct et_store known = { 5, 3, 100 }, now = { cluster, term, revision };

	return et_same(&known, &now, linearizable);
}

static void which_store(void)
{
	const struct et_store unknown = { 0, 0, 100 }, now = { 5, 3, 100 };

	CU_ASSERT_EQUAL(same(5, 3, 100, false), ET_SAME);
	CU_ASSERT_EQUAL(same(5, 4, 200, true), ET_SAME);
	CU_ASSERT_EQUAL(same(5, 3, 99, false), ET_DOUBT);
	CU_ASSERT_EQUAL(same(5, 3, 99, true), ET_OTHER);
	CU_ASSERT_EQUAL(same(5, 2, 200, false), ET_DOUBT);
	CU_ASSERT_EQUAL(same(5, 2, 200, true), ET_OTHER);
	CU_ASSERT_EQUAL(same(6, 3, 100, false), ET_OTHER);
	CU_ASSERT_EQUAL(same(6, 9, 900, true), ET_OTHER);
	CU_ASSERT_EQUAL(et_same(&unknown, &now, true), ET_SAME);
}

static const struct suite_test tests[] = {
	{ "framing: pieces", feed_pieces },
	{ "framing: bounds", feed_bounds },
	{ "headers", headers },
	{ "headers: words", words },
	{ "verdict: transport", verdict_transport },
	{ "verdict: status", verdict_status },
	{ "progress: whole revisions", progress_whole },
	{ "progress: cut off", progress_cut },
	{ "progress: all cuts", progress_all_cuts },
	{ "which store answers", which_store },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("gRPC of etcd", tests);
}
