/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * meshpeer: speaks RDDA as a client, one verb at a time, well or badly; or
 * serves as a target that lies.
 *
 *   echo 'login a 10.77.0.1 4421 UUID 1 1' > /sys/kernel/debug/meshpeer/do
 *   cat /sys/kernel/debug/meshpeer/do
 *
 * main.c has the verbs, conn.c connections and proofs, msg.c sends, receives
 * and answers, io.c honest commands, load.c many of them, hostile.c the others,
 * hammer.c strangers that log in and never prove anything, serve.c and liar.c the
 * target. One verb runs at a time; connections are found by the name that login
 * gave them.
 */
#ifndef MESHPEER_H
#define MESHPEER_H

#include <linux/completion.h>
#include <linux/prandom.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "rdda/common/auth.h"
#include "rdda/common/qp.h"
#include "rdda/common/verbs.h"
#include "rdda/wire.h"

#define PEER_BUF	(512U << 10)	/* of data, and of the bounce arena */
#define PEER_SENDS	64
#define PEER_MS		5000		/* until an answer is overdue */

struct peer_conn;
struct peer_load;

struct peer_rx {
	struct ib_cqe	cqe;
	struct ib_sge	sge;
	void		*msg;
};

/* A command in flight, by the command slot of its CID. */
struct peer_cmd {
	bool	busy;		/* sent */
	bool	ended;		/* completed ... */
	bool	pushed;		/* ... by an immediate */
	u16	status;		/* enum rdda_status */
};

/* A port where connections are served. */
struct peer_listener {
	struct list_head	node;
	struct rdma_cm_id	*id;
	u32			permille;	/* lies at most */
	u32			seed;
	bool			stop;
	atomic_t		conns;		/* ever */
	atomic_t		live;
	atomic_t		messages;
	atomic_t		lies;
	atomic_t		malformed;	/* that the client sent */
};

/* A connection that is served: what its target has more than a client. */
struct peer_serve {
	struct peer_conn	*c;
	struct peer_listener	*li;
	struct work_struct	work;		/* all below is its own, but for the inbox */
	struct rnd_state	rnd;
	u32			permille;
	u32			handle;
	u16			cid;		/* of the last command */
	u32			bounce_rkey;
	u32			bounce_len;
	struct scatterlist	arena_sg;
	struct ib_mr		*arena_mr;
	struct list_head	inbox;		/* the connection's lock */
	unsigned int		inbox_nr;
};

/* One channel, as its client; or, with @sv, as its target. */
struct peer_conn {
	struct list_head	node;
	char			name[16];
	struct peer_serve	*sv;
	struct rdda_qp		q;
	struct ib_pd		*pd;
	struct rdda_limits	lim;
	int			event;
	int			event_status;
	struct rdda_reject	reject;
	struct completion	cm_event;
	bool			lost;
	bool			light;		/* connects and never says anything */
	struct rdda_proof	proof;
	struct rdda_session_key	key;
	struct sockaddr_storage	addr;
	struct sockaddr_storage	from;		/* ss_family 0: any */
	struct rdda_join	join;		/* any but channel 0 */
	struct rdda_joined	joined;
	struct peer_rx		*rx;
	unsigned int		nr_rx;
	atomic_t		sends;
	struct delayed_work	ping;
	bool			quiet;

	spinlock_t		lock;		/* all below */
	wait_queue_head_t	wake;
	u8			answer[RDDA_MSG_MAX] __aligned(8);
	bool			answered;
	u64			answer_tag;
	unsigned int		events;
	u32			last_event;
	u32			bye;		/* why the login was refused */
	u64			next_tag;
	struct rdda_piece	piece[RDDA_PIECES_MAX];
	unsigned int		nr_pieces;
	u32			arena_off;
	u32			arena_len;
	struct peer_cmd		cmd[RDDA_CMD_SLOTS_MAX];
	struct peer_load	*load;		/* reads all the time; NULL: none */

	void			*buf;
	u64			buf_dma;
	void			*bounce;
	struct scatterlist	bounce_sg;
	struct ib_mr		*bounce_mr;
};

/* main.c */
__printf(1, 2) void peer_say(const char *fmt, ...);
struct peer_conn *peer_find(const char *name);

/* conn.c */
extern struct list_head peer_conns;
int peer_login(int argc, char **argv);
int peer_join(int argc, char **argv);
int peer_conn_login(struct peer_conn *c, int argc, char **argv);
int peer_prove(struct peer_conn *c, int argc, char **argv);
int peer_bounce(struct peer_conn *c);
void peer_drop(struct peer_conn *c);
struct peer_conn *peer_conn_new(const char *name);
int peer_conn_setup(struct peer_conn *c);
void peer_conn_lost(struct peer_conn *c);
void peer_conn_end(struct peer_conn *c, bool id);
void peer_conn_free(struct peer_conn *c);

/* msg.c */
int peer_rx_setup(struct peer_conn *c, unsigned int nr);
void peer_rx_free(struct peer_conn *c);
int peer_send(struct peer_conn *c, const void *msg, size_t len);
int peer_request(struct peer_conn *c, void *msg, size_t len, void *answer, size_t size);
int peer_post(struct peer_conn *c, struct ib_send_wr *first, struct ib_send_wr *last);
bool peer_wait(struct peer_conn *c, bool (*cond)(struct peer_conn *c, long arg), long arg,
	       unsigned int ms);

/* io.c */
int peer_open(struct peer_conn *c, int argc, char **argv);
int peer_close(struct peer_conn *c, int argc, char **argv);
int peer_io(struct peer_conn *c, int argc, char **argv);
int peer_io_wait(struct peer_conn *c, int argc, char **argv);
int peer_rdma(struct peer_conn *c, int write, u32 rkey, u64 addr, u32 off, u32 len);

/* hostile.c */
int peer_raw(struct peer_conn *c, int argc, char **argv);
int peer_storm(struct peer_conn *c, int argc, char **argv);
int peer_touch(struct peer_conn *c, int argc, char **argv);
int peer_flood(struct peer_conn *c, int argc, char **argv);

/* hammer.c */
int peer_hammer(int argc, char **argv);
void peer_hammer_stop(void);

/* load.c */
extern atomic64_t peer_loaded;			/* reads that ended, of all loads */
int peer_load(struct peer_conn *c, int argc, char **argv);
void peer_load_ended(struct peer_conn *c, u32 slot, u32 more, u16 status);
u32 peer_load_stop(struct peer_conn *c);
void peer_load_free(struct peer_conn *c);

/* serve.c */
int peer_serve_init(void);
void peer_serve_exit(void);
void peer_serve_rx(struct peer_conn *c, const void *msg, u32 len);
int peer_serve(int argc, char **argv);
void peer_served(void);
void peer_unserve(void);

/* liar.c */
bool peer_lies(struct peer_conn *c);
void peer_lie_accept(struct peer_conn *c, struct rdda_accept *a);
void peer_lie_unasked(struct peer_conn *c);
void peer_out(struct peer_conn *c, const void *msg, size_t len);
void peer_push(struct peer_conn *c, u64 to, u32 len, u32 imm);

#endif
