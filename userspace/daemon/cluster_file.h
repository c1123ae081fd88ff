/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file "keys" of the state folder: which cluster this host is of, in which role, with its keys.
 * One file, so that a crash leaves the former membership or the next one, never a mixture.
 *
 *   meshkeys 1
 *   cluster UUID        host UUID        role store
 *   alone yes           founded no
 *   master 1 HEX        former 0 HEX     own 0 HEX      ownformer 0 HEX
 *   label HEX
 *   address NAME:PORT   (up to 8)
 *   check HEX           xxh64 of all before
 *
 *   one line for each, in this order; the file that is read is the one that would be written
 *
 * The file is for root alone, and names the host: that of another host is never followed.
 */
#ifndef DAEMON_CLUSTER_FILE_H
#define DAEMON_CLUSTER_FILE_H

#include "userspace/store/address.h"
#include "userspace/store/secret.h"

struct cluster_file {
	struct muuid cluster, host;
	u8	role;			/* enum plan_role */
	bool	alone;			/* a cluster of one, which admits no other host */
	bool	founded;		/* its own store had the cluster's key once */
	struct secret_masters masters;	/* of storage and store hosts */
	struct secret_masters own;	/* of clients: host keys in place of masters */
	struct secret label;		/* of storage and store hosts */
	size_t	addresses;		/* of store hosts, where another host has the store */
	struct address address[ADDRESS_MAX];
};

#define CLUSTER_FILE_WHY	256

/* A first start: a cluster of one with a master of its own, which never leaves the host. 0 or -EIO. */
int cluster_file_new(struct cluster_file *f, const struct muuid *host);

/**
 * cluster_file_read() - the file, or why it is not believed
 *
 * Return: 0; -ENOENT: there is none; -EPERM: others than root could read or write it; -EUCLEAN:
 * damaged; or the error of the file. @why is a sentence then.
 */
int cluster_file_read(const char *path, struct cluster_file *f, char why[CLUSTER_FILE_WHY]);
/* Durable when it returns 0. */
int cluster_file_write(const char *path, const struct cluster_file *f, char why[CLUSTER_FILE_WHY]);

#endif
