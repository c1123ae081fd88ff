/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the etcd engine.
 *
 *   etcd.c         settings, start, end, handles
 *   et_xfer.c      one request of gRPC by libcurl: settings, bytes out, messages in
 *   et_call.c      a call with one answer: endpoints in turn, time-outs, interrupts
 *   et_kv.c        reads and the identity       et_txn.c   transactions
 *   et_lease.c     leases
 *   et_watch.c     watches: the side of the handles
 *   et_stream.c    the engine's thread: a stream of watches for each handle
 *   et_events.c    responses of a stream: events, ends of watches
 *   et_grpc.[ch]   framing      et_verdict.[ch]   what an answer means      both pure
 *   et_progress.[ch]   how far a watch is, pure
 *   etcd.proto     messages
 *
 * A call runs on the handle's own thread with a connection of the handle's own. Watches of a handle
 * share one stream, which has a connection of its own and runs on the engine's thread. So a member
 * that hangs holds up what it serves alone.
 *
 * The mutex guards the list of handles, and of each handle: the list of watches, events, the
 * outage. It is not held over a call of libcurl. A handle leaves the list on the engine's thread,
 * which therefore walks it without the mutex.
 */
#ifndef STORE_ET_H
#define STORE_ET_H

#include <curl/curl.h>
#include <pthread.h>

#include "userspace/store/engine.h"
#include "userspace/store/et_grpc.h"
#include "userspace/store/et_progress.h"
#include "userspace/store/et_verdict.h"
#include "userspace/store/etcd.h"
#include "userspace/store/etcd.pb-c.h"

#define ET_KEY_MAX	(ETCD_ROOT_MAX + STORE_KEY_MAX + 1)
#define ET_REPLY_MAX	(4U << 20)	/* of an answer: a page of large values is read in parts */
#define ET_STREAM_MAX	(16U << 20)	/* of a response of a watch: etcd splits at its --max-request-bytes */
#define ET_FIRST_ID	(1ULL << 32)	/* of watches: above those that etcd before 3.4 gives itself */
#define ET_PING_ID	INT64_MAX	/* a watch that is made and ended to see if a member answers */

/* One request, of which the transport reads bytes and gathers messages. */
struct et_xfer {
	CURL	*easy;
	CURLM	*multi;		/* while it runs */
	struct curl_slist *headers;
	struct grpc_head head;
	struct grpc_rx rx;
	u8	*out;		/* messages with their prefixes */
	size_t	out_len;
	size_t	out_at;		/* read by the transport */
	size_t	out_room;
	bool	open;		/* more may be sent: a stream */
	bool	paused;
	bool	replied;
	u64	moved_ms;	/* when bytes of the answer came last */
	int	err;		/* of on_message(), or of the bytes */
	char	words[CURL_ERROR_SIZE];
	/* Of a stream: each message. NULL: the one message stays in @rx. */
	int	(*on_message)(void *priv, const u8 *msg, size_t len);
	void	*priv;
};

/* How a request is sent. */
struct et_send {
	const char *method;	/* "KV/Range" */
	unsigned int endpoint;
	unsigned int connect_ms;
	unsigned int ms;	/* 0: a stream, which has no end */
	bool	alone;		/* on a connection of its own, which ends with it */
};

enum et_watch_state {
	ET_WATCH_NEW,		/* to be requested on the present stream */
	ET_WATCH_SENT,
	ET_WATCH_LIVE,
	ET_WATCH_DOUBT,		/* the member is behind: a read decides */
};

struct et_watch {
	struct et_watch *next;
	u64	id;
	enum et_watch_state state;
	struct et_progress at;
	struct et_store store;	/* as it is known: cluster and term */
	char	prefix[STORE_KEY_MAX];
};

struct et_event {
	struct et_event *next;
	enum store_event_kind kind;
	u64	watch;
	struct store_kv kv;
	char	bytes[];	/* the value, then the key with its end */
};

/* Of the engine's thread, but what the mutex guards. */
struct et_stream {
	struct et_xfer x;
	struct et_xfer probe;
	bool	running;
	bool	probing;
	bool	heard;		/* since it began */
	unsigned int endpoint;
	unsigned int fails;	/* since a watch was answered last */
	u64	began_ms;
	u64	heard_ms;
	u64	ping_ms;	/* 0: none is pending */
	u64	retry_ms;	/* not before */
	u64	probe_ms;	/* not before */
	char	why[256];
	/* Under the mutex. */
	bool	full;		/* ended, as the handle does not read */
	bool	restart;	/* end and begin again */
	/* Watches whose end is to be requested. */
	u64	*cancel;
	size_t	cancels;
	size_t	cancel_room;
};

struct et_handle {
	struct store base;
	struct store_etcd *e;
	struct et_handle *next;
	int	fd;		/* eventfd of store_fd() */
	int	wake_fd;	/* eventfd that ends a wait in a call */

	/* Of the handle's thread. */
	CURLM	*multi;
	struct et_xfer x;
	u64	last_id;
	struct et_event *current;
	u64	range_limit;	/* keys of a page that are expected to fit; 0: not known */
	size_t	too_long;	/* bytes of an answer that was refused for them */

	/* Under the mutex. */
	bool	closing;
	bool	unlinked;
	struct et_store seen;		/* by the last read or change */
	struct et_watch *watches;
	struct et_event *events;
	struct et_event **events_end;
	size_t	event_bytes;
	unsigned int outage_ms;
	u64	down_ms;		/* since when no stream answers; 0: one does, or none is needed */
	bool	outage_due;
	bool	outage_shown;
	char	outage[256];

	struct et_stream stream;
};

struct store_etcd {
	pthread_mutex_t lock;
	pthread_cond_t unlinked;
	struct et_handle *handles;
	bool	closing;
	unsigned int current;	/* atomic: the endpoint in use */

	/* Constant after the start. */
	char	*endpoint[ETCD_ENDPOINTS_MAX];
	unsigned int endpoints;
	bool	tls;
	char	*ca, *cert, *key;
	char	root[ETCD_ROOT_MAX];
	unsigned int dial_ms, ping_ms, dead_ms, pause_ms;
	size_t	events;
	int	wake_fd;
	pthread_t thread;
	CURLM	*multi;		/* of the thread */
};

static inline struct et_handle *et_handle(struct store *s)
{
	return (struct et_handle *)s;
}

/* etcd.c */
void et_signal(int fd);
/* True: it was signalled. */
bool et_drain(int fd);
/* Leave an endpoint that failed, unless another thread has. */
void et_leave(struct store_etcd *e, unsigned int endpoint);

/* et_xfer.c */
/* Append a message to be sent. */
int et_xfer_put(struct et_xfer *x, const ProtobufCMessage *m);
/*
 * The longest wait for the transport, at most @ms: libcurl 7.88 waits for its socket while bytes of
 * a long message that it has read are left in it, or the peer waits for leave to send more.
 */
u64 et_xfer_wait(const struct et_xfer *x, u64 now, u64 ms);
/* The transport goes on after a pause; not in a callback. */
void et_xfer_go_on(struct et_xfer *x);
int et_xfer_begin(struct et_xfer *x, struct store_etcd *e, CURLM *multi, const struct et_send *send);
/* Also in the middle of it. The bytes to be sent stay for another attempt. */
void et_xfer_end(struct et_xfer *x);
void et_xfer_free(struct et_xfer *x);
struct et_verdict et_xfer_verdict(const struct et_xfer *x, CURLcode code);
/* One sentence about a failure. */
void et_xfer_words(const struct et_xfer *x, const struct store_etcd *e, unsigned int endpoint,
		   const struct et_verdict *v, char *out, size_t size);

/* et_call.c */
struct et_call {
	const char *method;
	const ProtobufCMessage *request;
	bool	safe;
	u64	deadline_ms;	/* 0: the handle's time-out from now on */
	bool	again;		/* result: an attempt before the last one may have been done */
	const u8 *reply;
	size_t	len;
};

/* One request, one answer. Return: 0 or negative with words for store_why(). */
int et_call(struct et_handle *h, struct et_call *c);
/* The answer cannot be decoded: the outcome is unknown. */
int et_bad_reply(struct et_handle *h, const char *method);
/* Connections of the handle are closed. */
void et_call_reset(struct et_handle *h);

/* et_kv.c */
struct et_key {
	ProtobufCBinaryData data;
	u8	bytes[ET_KEY_MAX];
};

void et_key(const struct store_etcd *e, struct et_key *k, const char *key);
/* The first key behind @key. */
void et_key_after(const struct store_etcd *e, struct et_key *k, const char *key);
/* The range of a prefix. */
void et_key_range(const struct store_etcd *e, struct et_key *from, struct et_key *to, const char *prefix);
/* The key of an answer without the root; NULL: it is not below the root. */
const char *et_key_of(const struct store_etcd *e, const Etcd__KeyValue *kv, size_t *len);
void et_seen(struct et_handle *h, const Etcd__Header *header);
struct et_store et_store_of(const Etcd__Header *header);
int et_range(struct store *s, const struct store_span *span, struct store_page *out);
int et_get(struct store *s, const char *key, struct store_page *out);
int et_identity(struct store *s, struct store_identity *out);

/* et_txn.c */
int et_txn(struct store *s, const struct store_txn *t, u64 *revision);

/* et_lease.c */
int et_lease_grant(struct store *s, unsigned int seconds, u64 *lease);
int et_lease_keep(struct store *s, u64 lease);
int et_lease_revoke(struct store *s, u64 lease);

/* et_watch.c */
int et_watch(struct store *s, const char *prefix, u64 after, u64 *id);
void et_unwatch(struct store *s, u64 id);
int et_next(struct store *s, unsigned int timeout_ms, struct store_event *e);
/* Under the mutex. */
struct et_watch *et_watch_find(struct et_handle *h, u64 id);
int et_watch_event(struct et_handle *h, u64 id, const struct store_kv *kv, size_t key_len);
/* STORE_RELIST, and the watch is gone. */
int et_watch_lost(struct et_handle *h, struct et_watch *w);
void et_watch_free_all(struct et_handle *h);

/* et_stream.c */
int et_stream_start(struct store_etcd *e);
void et_stream_stop(struct store_etcd *e);

/* et_events.c */
int et_events_message(void *priv, const u8 *msg, size_t len);
/* The read of a probe has ended: watches in doubt go on or are lost. */
int et_events_probed(struct et_handle *h, const struct et_xfer *x);

#endif
