/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The key that a host without the cluster's key shares with itself: the client and the target
 * of one machine. It lies in the folder of the control socket, below /run, so that it outlives a
 * meshd that begins again (a session ends with its key), but neither a reboot nor a copy of the
 * state folder: two machines never have the same one.
 */
#ifndef MESHD_ALONE_KEY_H
#define MESHD_ALONE_KEY_H

#include <stddef.h>

/**
 * alone_key() - read that key, or make it
 * @folder: of the control socket
 * @bytes, @size: what it becomes; the size is that of every such key
 *
 * A file that is not ours alone (another owner, other modes, a link, another size) is not
 * believed: a new key replaces it.
 *
 * Return: 0, or a negative errno: there are no random bytes. A folder that takes no file is no
 * error: the key is then in memory only.
 */
int alone_key(const char *folder, unsigned char *bytes, size_t size);

#endif
