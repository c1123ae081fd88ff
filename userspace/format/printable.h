/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FORMAT_PRINTABLE_H
#define FORMAT_PRINTABLE_H

#include <linux/types.h>

/*
 * What may go to a terminal as it is stays; controls, escapes, marks that turn the
 * direction of writing, and what is no UTF-8 become \xNN, byte by byte. What does
 * not fit into @size bytes is cut between characters.
 */
void printable(const char *text, char *out, size_t size);
/* True if printable() would change nothing, whatever the length. */
bool printable_ok(const char *text);

#endif
