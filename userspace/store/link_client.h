/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the link's client: one engine, its handles, the thread of its connection.
 *
 *   handle's thread                            the line's thread
 *   call: QUEUED ---------------------------> SENT: its first byte may have left
 *         waits  <---- DONE: the answer came, or LOST: the connection ended first
 *   time-out: a QUEUED call never leaves; the answer of a SENT one is ignored
 *
 * The mutex guards all that both sides touch. It is held by nothing that waits, and not over I/O.
 */
#ifndef STORE_LINK_CLIENT_H
#define STORE_LINK_CLIENT_H

#include <pthread.h>

#include "userspace/store/engine.h"
#include "userspace/store/link.h"

#define LINK_EVENT_BYTES	(4U << 20)	/* that wait for a handle; beyond: STORE_RELIST */

enum link_call_state { CALL_NONE, CALL_QUEUED, CALL_SENT, CALL_DONE, CALL_LOST };

/* Of a handle: it has one at a time. */
struct link_call {
	enum link_call_state state;
	u64	id, order;
	u8	*bytes;
	size_t	len;
	u64	watch;		/* the request is for this watch; 0: for none */
	struct frame f;		/* the answer */
	u8	*payload;
	size_t	payload_len;
};

/* A key whose event of revision @last has come: a watch that begins again reports it again. */
struct link_seen {
	struct link_seen *next;
	char	key[];
};

struct link_watch {
	struct link_watch *next;
	u64	id;
	u64	after, last;	/* last: revision of the newest event, 0: none yet */
	struct link_seen *seen;	/* of revision @last */
	bool	begun;		/* the store host has said OK once */
	bool	send;		/* to be begun again over a new connection */
	u64	request;	/* ... which was sent with this id */
	char	prefix[STORE_KEY_MAX];
};

struct link_event {
	struct link_event *next;
	struct frame f;
	u8	*payload;
	size_t	len;
};

struct link_lease {
	struct link_lease *next;
	u64	id;
	struct secret_proof proof;
};

struct link_handle {
	struct store base;
	struct store_link *l;
	int	fd;			/* eventfd */

	/* Under the mutex. */
	struct link_handle *next;
	pthread_cond_t cond;
	struct link_call call;
	struct link_watch *watches;
	struct link_event *events, **events_end;
	size_t	event_bytes;
	u64	outage_shown;		/* number of the last outage that store_next() has reported */
	unsigned int outage_ms;		/* the handle's time-out, as store_next() saw it last */

	/* The handle's own. */
	struct link_event *current;	/* what store_next() returned last */
};

struct store_link {
	int	wake;			/* eventfd */
	pthread_t thread;
	unsigned int dial_ms, ping_ms, dead_ms, pause_ms;	/* constant */

	/* The line's thread's own. */
	int	fd;			/* -1: no connection */
	struct link_tls *tls;
	struct frame_rx rx;
	u8	*sending;		/* one frame */
	size_t	sending_len, sending_at;
	u64	heard, pinged;		/* pinged: 0: no ping is open */
	bool	ping;			/* one is to be sent */
	unsigned int bad_answers;	/* running */
	unsigned int turn;		/* counts attempts: chooses the address */
	u8	in[LINK_TLS_READ];

	pthread_mutex_t lock;		/* of what follows */
	struct address address[ADDRESS_MAX];
	size_t	addresses;
	struct link_identity self;
	struct secret psk;
	bool	again;			/* the connection is to be made again */
	bool	ending;
	bool	up;
	u64	outage, down_since;	/* outage: its number */
	char	why[LINK_WHY];		/* of the last failure to connect, or of the end */
	unsigned int in_flight;		/* requests that are sent and not answered */
	u64	last_id, last_order, last_watch;
	struct link_handle *handles;
	struct link_lease *leases;
	u64	*unwatch;		/* watches that the store host is to end */
	size_t	unwatches;
};

/* link.c */
void link_wake(struct store_link *l);
void link_poke(struct link_handle *h);	/* its store_fd() is readable */
/* Request and answer; @again: may be sent again. 0: the answer is in h->call until link_call_end(). */
int link_call(struct link_handle *h, struct frame *f, bool again);
void link_call_end(struct link_handle *h);
extern const struct store_ops link_ops;

/* link_watch.c */
int link_watch_begin(struct store *s, const char *prefix, u64 after, u64 *id);
void link_watch_end(struct store *s, u64 id);
int link_watch_next(struct store *s, unsigned int timeout_ms, struct store_event *e);
void link_watches_free(struct link_handle *h);
/* Under the mutex: */
void link_watch_event(struct store_link *l, struct frame *f, u8 *payload, size_t len);
/* The answer to a watch that was begun again; false: none waits for it. */
bool link_watch_answer(struct store_link *l, const struct frame *f);
struct link_watch *link_watch_find(struct link_handle *h, u64 id);

/* link_dial.c; the line's thread: connect to the next address. 0, or an error and @why. */
int link_dial(struct store_link *l, char why[LINK_WHY]);
/* Until the socket is ready, something is to be done (-ECANCELED), or @until (-ETIMEDOUT). */
int link_dial_wait(struct store_link *l, int fd, short events, u64 until);

/* link_line.c */
void *link_line_thread(void *link);

#endif
