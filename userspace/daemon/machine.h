/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This machine, as the cluster sees it: struct host_ops over files of the state folder, sysfs and the
 * disks; and on which machine the state folder is at home.
 *
 *   host      UUID of this host, made once
 *   machine   what identifies the machine that the UUID is at home on: format/machine.h
 *   seen      the store as it was seen last: format/objects.h, with a checksum
 *
 *                 file "machine" agrees, or says nothing yet
 *      (start) ------------------------------------------------> at home: all else starts
 *         | it names another machine                        ^          ^
 *         v                               machine_accept()  |          |
 *      -EXDEV: nothing is served, attached or decided ------'          |
 *         '------------- machine_renew(): another UUID, and no store --'
 *
 * A folder that was copied with its disk would make two hosts of one UUID, and each target would
 * grant both of them what one holds.
 */
#ifndef DAEMON_MACHINE_H
#define DAEMON_MACHINE_H

#include "userspace/agent/host.h"

#define MACHINE_WHY	400

struct disks;
struct this_machine;

struct machine_config {
	const char *state;		/* folder */
	const char *listen;		/* address of the target; NULL: all addresses of RDMA devices */
	u16	port;			/* of the target; 0: the usual one */
	struct disks *disks;		/* for device/H; NULL: none are listed */
	void	(*log)(void *priv, const char *words);
	void	*priv;
};

/**
 * machine_home() - the UUID of this host, where the state folder is at home on this machine
 * @state: folder, which is there
 * @host: set unless the file of it cannot be read
 * @why: becomes a sentence
 *
 * Return: 0: at home, also at the first start, which makes both files; -EXDEV: the folder is another
 * machine's; or another negative errno.
 */
int machine_home(const char *state, struct muuid *host, char why[MACHINE_WHY]);
/* An administrator says that this is the host that it was, on other hardware. 0 or a negative errno. */
int machine_accept(const char *state);
/**
 * machine_renew() - it is a copy of that host, and becomes another one
 *
 * The caller has put aside store and keys, which are the other one's, before this. Return: as above.
 */
int machine_renew(const char *state, struct muuid *host);
/* /proc's boot id; null: it cannot be read. */
struct muuid machine_boot(void);

/* NULL: no memory. */
struct this_machine *machine_open(const struct machine_config *config);
void machine_close(struct this_machine *m);

extern const struct host_ops machine_host_ops;	/* @m: struct this_machine */

/* Where machine.c reads; tests set them. */
struct machine_paths {
	const char *board;		/* the firmware's product UUID */
	const char *boot;
	const char *infiniband;		/* folder with a folder for each RDMA device */
	const char *modules;		/* folder with a folder for each module of the kernel */
};

extern struct machine_paths machine_paths;

#endif
