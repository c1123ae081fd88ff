/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of a host's membership: what cluster.c, cluster_admit.c and cluster_names.c share. */
#ifndef DAEMON_CLUSTER_IN_H
#define DAEMON_CLUSTER_IN_H

#include <pthread.h>

#include "userspace/daemon/cluster.h"
#include "userspace/daemon/cluster_file.h"
#include "userspace/store/etcd.h"
#include "userspace/store/link.h"
#include "userspace/store/link_server.h"
#include "userspace/store/sqlite.h"

#define CLUSTER_PATH	320

/* Removed hosts in the file: far above what a message to the kernel holds. */
#define REMOVED_KEPT	4096

struct cluster {
	struct muuid host;
	char	state[CLUSTER_PATH / 2];
	char	*store, *ca, *cert, *key, *listen;	/* NULL: not given */
	u16	port;
	void	(*log)(void *priv, const char *words);
	int	(*renew)(void *priv, struct muuid *host);
	void	*priv;

	/* One of these is the engine. */
	struct store_sqlite *q;
	char	file[CLUSTER_PATH];		/* of @q */
	struct store_etcd *e;
	struct store_link *l;

	pthread_mutex_t changing;	/* one of init, join, leave, and the port: held over I/O */
	struct link_server *server;	/* of @changing */
	bool	known;			/* of @changing: the store has said which hosts are removed */

	pthread_mutex_t lock;		/* of what follows; held over no I/O */
	struct cluster_file f;
	u64	keys;
	bool	again;
	bool	listed;			/* @removed was set, by the store or the file */
	bool	saved;			/* ... and the file has it */
	struct muuid *removed;		/* sorted */
	size_t	removeds;
};

/* cluster.c */
__attribute__((format(printf, 3, 4)))
int cluster_fail(char why[CLUSTER_WHY], int err, const char *fmt, ...);
struct cluster_file cluster_now(const struct cluster *c);
/* Durable first, then in memory. Context: @changing. */
int cluster_follow(struct cluster *c, const struct cluster_file *f, bool again, char why[CLUSTER_WHY]);
/* Make the cluster's key in a store that is empty; 0 as well if the store is this cluster's. */
int cluster_found(struct store *s, const struct muuid *cluster, char why[CLUSTER_WHY]);
/* The SQLite file goes: this host has joined another cluster, and nothing of worth is in it. */
void cluster_drop(const struct cluster *c);
/* Context: @changing. 0: the port is open, or is not to be. */
int cluster_serve(struct cluster *c);
int cluster_etcd_open(struct cluster *c, struct store_etcd **out, char why[CLUSTER_WHY]);
bool cluster_wants_etcd(const struct cluster *c);
/* Addresses of meshd.conf; their number, 0 if it names none. */
size_t cluster_addresses(const struct cluster *c, struct address out[ADDRESS_MAX]);

/* cluster_removed.c: the list as it was seen last; at the start. */
void cluster_removed_read(struct cluster *c);
/* Durable when it returns 0. */
int cluster_removed_write(const struct cluster *c, const struct muuid *cluster, const struct muuid *host, size_t n);

/* cluster_names.c */
/* -EBUSY: the store names drives, volumes, or tasks that have not ended: the sentence lists them. */
int cluster_store_used(struct store *s, char why[CLUSTER_WHY]);
/* -EBUSY: drives, attachments or wanted ones of @host: the sentence lists them. */
int cluster_host_used(struct store *s, const struct muuid *host, char why[CLUSTER_WHY]);
/* Addresses of all store hosts in the store; @port for those that have none. 0 or the store's error. */
int cluster_store_hosts(struct store *s, u16 port, struct address out[ADDRESS_MAX], size_t *n,
			char why[CLUSTER_WHY]);

#endif
