/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which store this host follows, and its keys.
 *
 *   state folder            store                                    who serves it
 *   ------------            -----                                    -------------
 *   (nothing)               SQLite, of a cluster of one              this host alone: no master
 *   master                  SQLite                                   this host, and the link's port
 *   master, store = etcd    etcd                                     likewise
 *   host key, addresses     the link to a store host                 another host
 *
 * cluster_init() makes the master of what the machine has; cluster_join() takes a token, and is
 * refused while the machine's own store names drives or volumes.
 */
#ifndef DAEMON_CLUSTER_H
#define DAEMON_CLUSTER_H

#include "userspace/store/secret.h"
#include "userspace/store/store.h"
#include "userspace/store/token.h"

#define CLUSTER_WHY	400

struct cluster;

struct cluster_config {
	struct muuid host;
	const char *state;		/* folder */
	const char *store;		/* of meshd.conf: NULL, "etcd https://..", or addresses */
	const char *ca, *cert, *key;	/* of etcd; NULL */
	const char *listen;		/* address of the link's port; NULL: all */
	u16	port;			/* 0: 4421 */
	void	(*log)(void *priv, const char *words);
	void	*priv;
};

/* -EBUSY, -EUCLEAN and other errors of the store's file; the words in @why. */
int cluster_open(const struct cluster_config *config, struct cluster **out, char why[CLUSTER_WHY]);
void cluster_close(struct cluster *c);
/* A handle of the store for one thread; NULL: no memory. */
struct store *cluster_store(struct cluster *c);
u8 cluster_role(const struct cluster *c);	/* enum plan_role */
bool cluster_alone(const struct cluster *c);	/* no master: admits no other host */
/* Changes when the keys of the kernel have: cluster_identity() is to be called again. */
u64 cluster_keys(const struct cluster *c);
/* Host UUID, role and keys to both families of the kernel, by the session keyring. 0, -ENOPKG: no module. */
int cluster_identity(struct cluster *c, bool target);

/* Each may block: a job. Sentences in @why. */
int cluster_init(struct cluster *c, const char *name, char why[CLUSTER_WHY]);
int cluster_token(struct cluster *c, u8 role, unsigned int seconds, char text[TOKEN_TEXT], char why[CLUSTER_WHY]);
/* The caller starts again afterwards: everything that it has read was of another store. */
int cluster_join(struct cluster *c, const char *text, char why[CLUSTER_WHY]);
int cluster_leave(struct cluster *c, char why[CLUSTER_WHY]);

#endif
