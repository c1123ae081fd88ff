/* SPDX-License-Identifier: GPL-2.0-only */
/* Small files of the state folder, for root alone, that are whole after a crash. */
#ifndef DAEMON_FILE_H
#define DAEMON_FILE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * file_read() - a whole file, with an end behind it
 * @size: of @out; a file of @size bytes or more is -EFBIG
 * @secret: a link, no plain file, another owner, or one that others can read or write: -EPERM
 *
 * Return: bytes, or a negative errno.
 */
int file_read(const char *path, void *out, size_t size, bool secret);

/*
 * Durable when it returns 0: until then the file is as it was. The new bytes are in PATH.new
 * meanwhile, of mode 600.
 */
int file_replace(const char *path, const void *bytes, size_t n);
/* The same of a folder's names: after a rename or an unlink. */
int file_sync_folder(const char *path_of_file);

#endif
