/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The daemon's configuration: the file, whose keys are below, and options, which win over it.
 *
 *   listen = ADDR    port = N    target = yes|no    debug = yes|no    scrub = monthly|never
 *   hook = PATH      store = ADDRESS[,ADDRESS..] or etcd URL[,URL..]  ca, cert, key = PATH
 *
 * A line that cannot be understood keeps the daemon from starting: it must not run without the
 * values that the line should have given. "store" may be repeated, for lists that are long.
 */
#ifndef DAEMON_CONF_H
#define DAEMON_CONF_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define CONF_FILE	"/etc/meshblk/meshd.conf"
#define CONF_STATE	"/var/lib/meshd"
#define CONF_TEXT	1536	/* of a list of addresses */
#define CONF_WHY	384

struct daemon_conf {
	char	state[CONF_WHY / 2], socket[108];
	char	listen[64];
	u16	port;
	bool	no_target;		/* this host exports no drives */
	bool	debug;
	bool	scrub_never;
	char	hook[192];		/* empty: none */
	char	store[CONF_TEXT];	/* empty: not given */
	char	ca[192], cert[192], key[192];
};

/* Before any file or option. */
void conf_usual(struct daemon_conf *c);

/**
 * conf_read() - what the file says, over what @c has
 * @path: NULL: the usual one, which may be missing
 *
 * Return: 0, or an errno with the sentence in @why, which names file and line.
 */
int conf_read(struct daemon_conf *c, const char *path, char why[CONF_WHY]);

/* One value, as the file's; NULL, or a sentence. For options. */
const char *conf_set(struct daemon_conf *c, const char *key, const char *value);

#endif
