/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside link*.c: the state of one host's links. */
#ifndef MESHD_LINKS_H
#define MESHD_LINKS_H

#include "userspace/machine/guard.h"
#include "userspace/meshd/link.h"
#include "userspace/meshd/link_tls.h"

#define LINK_CONNS_MAX	512	/* connections of peers that hold the key */
#define LINK_WORKERS	128
#define LINK_PEER_RUNS	16	/* workers of one connection */
#define LINK_OUT_BYTES	(16U << 10)	/* one TLS record */

/* In ms; tests shorten them. */
struct link_times {
	unsigned int shake;	/* connecting, TLS, HELLO: each; 5 s for a stranger */
	unsigned int ping;
	unsigned int silent;	/* PINGs without a byte from the peer: it is dead */
	unsigned int spare;	/* a second connection to a peer is closed when idle so long */
};

/* A message that leaves, a page at a time. */
struct link_out {
	struct link_out *next;
	struct link_frame f;	/* f.off: what of it has left */
	struct link_call_state *call;	/* whose request it is, or NULL */
	u8	data[];
};

struct link_call_state {
	struct link_call_state *next;
	u64	id;
	size_t	len;		/* of the request: it counts in the peer's window */
	bool	begun;		/* its first page may have left */
	bool	waited;		/* a caller waits for it */
	bool	done;
	int	err;
	u8	*rsp;
	u32	rsp_len;
};

struct link_req {
	struct link_req *next;
	struct link_conn *conn;
	u64	id;
	u8	*msg;
	u32	len;
};

enum link_state { LINK_DIALS, LINK_UP, LINK_DEAD };

struct link_conn {
	/* Set before the thread starts. */
	struct links *l;
	bool	dialled;
	int	wake;			/* eventfd */

	/* Under links.lock. */
	struct link_conn *next;
	unsigned int refs;
	enum link_state state;
	char	addr[64];
	u16	port;			/* of the peer's meshd, 0: it listens nowhere */
	struct link_peer peer;		/* constant once state is LINK_UP */
	struct link_key key;		/* the same */
	int	kill;			/* an error: the thread ends */
	int	err;			/* with LINK_DEAD */
	char	why[LINK_REASON];
	struct link_out *out;		/* what waits to leave, in turn */
	struct link_out **out_end;
	struct link_out *page;		/* whose page is being sent; in out, too */
	u32	page_left;
	u64	begun_bytes;		/* of messages of several pages that are begun */
	struct link_call_state *calls;
	unsigned int nr_calls;
	u64	call_bytes;
	struct link_req *ready;		/* requests that no worker has taken */
	struct link_req **ready_end;
	unsigned int running;		/* workers that are in fn for it */
	unsigned int taken;		/* requests without an answer */
	u64	taken_bytes;
	unsigned int pongs;		/* that wait to leave */
	u64	used;			/* now_ms() of the last request or answer */

	/* The thread's own. */
	int	fd;
	struct tls *tls;
	struct link_rx rx;
	bool	greeted;		/* its HELLO has come */
	u64	pinged;
	unsigned int silent;
	u32	buf_at, buf_len;
	u8	buf[LINK_OUT_BYTES];
	u8	in[TLS_READ_BYTES];
};

struct links {
	pthread_mutex_t lock;		/* all below; leaf */
	pthread_cond_t cond;		/* a connection, a call or a thread changed state */
	struct muuid host;		/* constant */
	struct muuid machine;		/* constant */
	u64	boot;			/* constant */
	struct link_times times;	/* constant */
	struct link_key keys[LINK_KEYS];
	size_t	nr_keys;
	struct link_conn *conns;
	unsigned int accepted;		/* connections that peers opened */
	u64	last_id;
	link_serve_fn fn;
	unsigned int workers;
	unsigned int threads;
	bool	ending;
	/* The port. */
	bool	listens;		/* links_listen() was called */
	char	on[64];			/* "": every address */
	u16	port;
	int	port_fd[2];		/* listening sockets, -1: none */
	int	port_wake;		/* eventfd */
	/* Log lines of strangers: one in 10 s, with the number of the rest. */
	u64	warned;
	unsigned int unsaid;
};

/* link.c */
struct links *links_new(const struct muuid *host);
void links_free(struct links *l);
/* Under l->lock from here. */
bool links_key_valid(const struct links *l, const struct link_key *k);
/* False: no thread could be made. */
bool links_thread(struct links *l, void *(*fn)(void *), void *arg);
/* The last act of a thread. */
void links_thread_end(struct links *l);
void links_wake(int fd);
/* Not under the lock: a warning of what strangers do. */
void links_warn(struct links *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* link_conn.c; under l->lock */
struct link_conn *conn_new(struct links *l, const char *addr, u16 port, bool dialled);
int conn_start(struct link_conn *c);
void conn_put(struct link_conn *c);
void conn_kill(struct link_conn *c, int err, const char *why);
void conn_send(struct link_conn *c, struct link_out *o, bool first);
/* A request that has not begun to leave is taken out; false: it is too late. */
bool conn_unsend(struct link_conn *c, const struct link_call_state *k);
/* Of two connections to a peer both sides use the same: that made by the smaller UUID. */
bool conn_preferred(const struct link_conn *a, const struct link_conn *b);
/* Not under the lock. */
struct link_out *conn_out(enum link_type type, u64 id, const void *data, size_t len);

/* link_dial.c: connect and prove the key; sets c->fd and c->tls, or why */
int dial(struct link_conn *c, char *why);
/* The one way to write an address; -EINVAL: it is none. */
int addr_normal(const char *addr, char out[64]);
void addr_text(const void *sockaddr, char out[64]);

/* link_serve.c; under l->lock */
int serve_take(struct link_conn *c, struct link_msg *m, struct link_out **refuse);
void serve_drop(struct link_conn *c);

#endif
