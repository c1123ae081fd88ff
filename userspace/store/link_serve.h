/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the link's server: a connection, and the threads that work for it.
 *
 *   port --> stranger --(TLS proves a key)--> up --> dead --> freed with the last reference
 *                  \-----------------------------------^
 *
 *   I/O thread: frame --> job --> worker: answer --> block --> I/O thread: bytes
 *                    \--> command --> watch thread: event --> block --^
 *
 * References: the I/O thread until the connection is dead; each job, command and watch; each of
 * the two queues while the connection is in it.
 */
#ifndef STORE_LINK_SERVE_H
#define STORE_LINK_SERVE_H

#include <pthread.h>

#include "userspace/store/link_server.h"
#include "userspace/store/link_wire.h"
#include "userspace/store/rights.h"

#define SERVE_WORKERS		4
#define SERVE_OUT_MAX		(8U << 20)	/* bytes of answers that wait: no request begins beyond */
#define SERVE_IN_MAX		(256U << 20)	/* bytes of requests of all connections */
#define SERVE_STACK		(1U << 20)
#define SERVE_ADDR		64		/* text of an address */
#define SERVE_BUCKETS		1024

enum serve_state { SERVE_STRANGER, SERVE_UP, SERVE_DEAD };

/* One frame that leaves. */
struct serve_block {
	struct serve_block *next;
	u8	*bytes;
	size_t	len, at;
	bool	event;		/* counts as one */
	bool	secret;
};

struct serve_job {
	struct serve_job *next;
	struct serve_conn *conn;
	struct frame f;
	u8	*payload;
	u32	len;
	u64	until;		/* the answer is useless afterwards */
};

struct serve_conn {
	/* Constant. */
	struct link_server *s;
	int	fd;
	char	addr[SERVE_ADDR];
	u64	since;

	/* The I/O thread's own. */
	struct link_tls *tls;
	struct frame_rx rx;
	struct serve_conn *next;	/* of strangers, or of connections that are up */
	struct serve_block *sending;
	struct secret psk;		/* by which it proved itself */
	u32	rx_room;		/* as counted in the server's rx_bytes */
	u64	read_at, wrote_at;	/* last progress of each way */
	unsigned int events;		/* of epoll, as they are set */

	/* Constant once the connection is up. */
	struct link_identity who;

	/* Under the server's lock. */
	enum serve_state state;
	unsigned int refs;
	struct serve_block *out, **out_end;
	size_t	out_bytes, event_bytes;
	struct serve_conn *dirty_next;	/* has something to send */
	bool	dirty;
	struct serve_job *jobs, **jobs_end;
	struct serve_conn *ready_next;	/* has jobs, and no worker has seen it yet */
	bool	ready;
	unsigned int taken;		/* requests without an answer */
	unsigned int watches;		/* requested and not ended */
	bool	broken;			/* no memory for an answer: it cannot go on */
};

/* A watch of a peer. */
struct serve_watch {
	struct serve_watch *next;	/* of its bucket */
	u64	engine_id, peer_id;
	struct serve_conn *conn;
};

enum serve_verb { SERVE_WATCH, SERVE_UNWATCH };

/* For the watch thread. */
struct serve_command {
	struct serve_command *next;
	enum serve_verb verb;
	struct serve_conn *conn;
	u64	request;	/* id of the frame */
	u64	watch, after;
	char	prefix[STORE_KEY_MAX];
};

struct link_server {
	struct link_server_config c;	/* constant */
	u16	port;
	int	epoll, wake;		/* eventfd */
	int	listen[2];		/* -1: none */
	pthread_t io, watcher, worker[SERVE_WORKERS];
	struct store *watch_handle, *handle[SERVE_WORKERS];
	unsigned int handles_taken;	/* atomic: each worker takes the next one */

	/* The I/O thread's own. */
	struct serve_conn *conns, *strangers, *graves;
	unsigned int nr_strangers;
	size_t	rx_bytes;
	u64	warned;
	unsigned int unsaid;
	u8	in[LINK_TLS_READ];

	/* The watch thread's own. */
	struct serve_watch *watch[SERVE_BUCKETS];

	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t work;
	struct serve_conn *dirty;
	struct serve_conn *ready, **ready_end;
	struct serve_command *commands, **commands_end;
	size_t	job_bytes, event_bytes;
	unsigned int nr_conns, nr_jobs, nr_watches;
	unsigned int strangers_shown;	/* nr_strangers, for link_server_count() */
	bool	check;
	bool	sweep;			/* a connection with watches is dead */
	bool	ending, watch_ending;	/* the watch thread ends last */
};

/* link_server.c */
int serve_find(void *server, const struct link_identity *who, struct secret *psk);
void serve_wake(struct link_server *s);
/* A line about strangers: one in 10 s, with the number of the rest. I/O thread. */
__attribute__((format(printf, 2, 3)))
void serve_warn(struct link_server *s, const char *fmt, ...);
/* A line about this host; any thread. */
__attribute__((format(printf, 2, 3)))
void serve_log(struct link_server *s, const char *fmt, ...);
void serve_get(struct serve_conn *c);
void serve_put(struct serve_conn *c);	/* not under the lock */

/* link_accept.c; I/O thread */
int serve_listen(struct link_server *s);
void serve_accept(struct link_server *s, int fd);
/* Go on with the handshake: 1: it is proved, 0: not yet, negative: the connection is gone. */
int serve_stranger(struct serve_conn *c);
void serve_strangers_late(struct link_server *s, u64 now);

/* link_io.c */
void *serve_io_thread(void *server);
/* Not under the lock; the end of the connection comes later. I/O thread. */
void serve_kill(struct serve_conn *c);
void serve_epoll(struct serve_conn *c, unsigned int events);
/*
 * Queue a frame, unless the connection is dead, and end the request that it answers. Any thread,
 * not under the lock.
 */
void serve_answer(struct serve_conn *c, const struct frame *f);
__attribute__((format(printf, 4, 5)))
void serve_error(struct serve_conn *c, u64 id, int err, const char *fmt, ...);
/* Queue an event; false: too much waits already, and nothing was queued. */
bool serve_event(struct serve_conn *c, const struct frame *f);

/* link_work.c */
void *serve_work_thread(void *server);
/* Takes the payload of the connection's frame over. I/O thread. */
void serve_job(struct serve_conn *c);
/* Under the lock: let a worker see the connection, if it has jobs and room for answers. */
void serve_ready(struct serve_conn *c);
/* Workers have ended: connections that none of them has seen. */
void serve_ready_end(struct link_server *s);

/* link_events.c */
void *serve_watch_thread(void *server);
/* False: no memory. */
bool serve_command(struct serve_conn *c, enum serve_verb verb, const struct frame *f);

/* link_join.c; errors have their words in @why */
int join_host(struct serve_job *job, struct store *h, struct link_keys *out, char why[FRAME_WORDS]);
void join_keys(struct link_server *s, const struct muuid *host, u8 role, struct link_keys *out);

#endif
