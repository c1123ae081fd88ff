/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which store this host follows, and its keys.
 *
 *   file "keys" says             store                            who serves it
 *   ----------------             -----                            -------------
 *   (no file: it is made)        SQLite, of a cluster of one      this host alone: no port
 *   alone                        likewise
 *   role store                   SQLite                           this host, and the link's port
 *   role store; store = etcd     etcd                             likewise
 *   other roles, addresses       the link to a store host         another host
 *
 *   cluster.c         which engine, its handles, the port, keys for the kernel
 *   cluster_admit.c   init, token, join, leave
 *   cluster_names.c   what a store names: drives, volumes, hosts
 *   cluster_backup.c  all keys at one revision, as a file, and back
 *   cluster_in.h      what these files share
 *   cluster_file.[ch] the file
 *
 * cluster_init() makes the master of what the machine has; cluster_join() takes a token, and is
 * refused while the machine's own store names drives or volumes. A host has a master from its first
 * start on: its target and its client log in by it, and cluster_init() keeps it. The SQLite file is
 * named by its cluster, so that no file of a former cluster is ever taken for the present one.
 */
#ifndef DAEMON_CLUSTER_H
#define DAEMON_CLUSTER_H

#include "userspace/agent/recover.h"
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
	void	(*log)(void *priv, const char *words);	/* any thread */
	/* Another host UUID, durable in place of the present one: of cluster_leave(). NULL: -ENOSYS. */
	int	(*renew)(void *priv, struct muuid *host);
	void	*priv;
};

/* -EBUSY, -EUCLEAN and other errors of the store's file; the words in @why. */
int cluster_open(const struct cluster_config *config, struct cluster **out, char why[CLUSTER_WHY]);
/* All handles are closed before. */
void cluster_close(struct cluster *c);
/* A handle of the store for one thread; NULL: no memory. */
struct store *cluster_store(struct cluster *c);
u8 cluster_role(const struct cluster *c);	/* enum plan_role */
bool cluster_alone(const struct cluster *c);	/* admits no other host */
/* The cluster's UUID, as this host's file says: what the store answers must be of it. */
struct muuid cluster_uuid(const struct cluster *c);
/* Changes when the keys of the kernel have: cluster_identity() is to be called again. */
u64 cluster_keys(const struct cluster *c);
/* Host UUID, role and keys to both families of the kernel, by the session keyring. 0, -ENOPKG: no module. */
int cluster_identity(struct cluster *c, bool target);
/*
 * The hosts that are removed, from the copy once that is whole: for the target's kernel, and for
 * the link. Its port opens with the first call: before it the list may be an old one. It is durable
 * on this host: the target's kernel has it from the start, without the store. 0, or the port's
 * error: to be called again.
 */
int cluster_removed(struct cluster *c, const struct muuid *host, size_t n);
/* True after join, leave, or init into etcd: all that was read is of another store; start again. */
bool cluster_again(const struct cluster *c);

/* Each may block: a job. Sentences in @why. */
int cluster_init(struct cluster *c, const char *name, char why[CLUSTER_WHY]);
int cluster_token(struct cluster *c, u8 role, unsigned int seconds, char text[TOKEN_TEXT],
		  char why[CLUSTER_WHY]);
/* The caller starts again afterwards: everything that it has read was of another store. */
int cluster_join(struct cluster *c, const char *text, char why[CLUSTER_WHY]);
int cluster_leave(struct cluster *c, char why[CLUSTER_WHY]);
/*
 * @path: a file that is not there yet, of mode 600; NULL: the lines become @text, malloc()ed. It has a secret.
 * @keys: becomes their number
 */
int cluster_backup(struct cluster *c, const char *path, char **text, u64 *keys, char why[CLUSTER_WHY]);

/* What a backup has. */
struct cluster_saved {
	struct muuid cluster;
	struct recover_item *item;
	u32	items;
};

/* -EBADMSG: damaged, or not whole. @b is to be freed in any case. */
int cluster_saved_read(const char *path, struct cluster_saved *b, char why[CLUSTER_WHY]);
void cluster_saved_free(struct cluster_saved *b);

#endif
