// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/string.h>
#include <stdio.h>

#include "userspace/format/machine.h"

#define HEAD	"meshmachine1:"

enum match { UNKNOWN, NEW, EQUAL, DIFFERENT };

static enum match compare(const struct muuid *noted, const struct muuid *now)
{
	if (muuid_null(now))
		return UNKNOWN;
	if (muuid_null(noted))
		return NEW;
	return muuid_equal(noted, now) ? EQUAL : DIFFERENT;
}

/*
 * One difference is enough: a clone of a guest often keeps its machine-id and
 * gets another firmware UUID; on the same hardware a copied disk has both
 * machine-ids, one of them newly made.
 */
enum machine_verdict machine_judge(const struct machine *noted, const struct machine *now)
{
	enum match os = compare(&noted->os, &now->os), board = compare(&noted->board, &now->board);

	if (os == DIFFERENT || board == DIFFERENT)
		return MACHINE_OTHER;
	return os == NEW || board == NEW ? MACHINE_LEARN : MACHINE_SAME;
}

struct machine machine_merge(const struct machine *noted, const struct machine *now)
{
	struct machine m = *noted;

	if (muuid_null(&m.os))
		m.os = now->os;
	if (muuid_null(&m.board))
		m.board = now->board;
	return m;
}

struct muuid machine_uuid(const char *text)
{
	struct muuid u, none = { { 0 } };

	if (muuid_parse(text, &u))
		return none;
	for (size_t i = 0; i < sizeof(u.b); i++)
		if (u.b[i] != 0xff)
			return u;
	return none;
}

void machine_print(const struct machine *m, char out[MACHINE_TEXT])
{
	snprintf(out, MACHINE_TEXT, HEAD "%s:%s", muuid_str(&m->os).s, muuid_str(&m->board).s);
}

int machine_parse(const char *text, struct machine *m)
{
	char os[MUUID_TEXT], board[MUUID_TEXT];
	size_t head = sizeof(HEAD) - 1, each = MUUID_TEXT - 1;

	if (strlen(text) != head + 2 * each + 1 || strncmp(text, HEAD, head) ||
	    text[head + each] != ':')
		return -EINVAL;
	snprintf(os, sizeof(os), "%s", text + head);
	snprintf(board, sizeof(board), "%s", text + head + each + 1);
	return muuid_parse(os, &m->os) || muuid_parse(board, &m->board) ? -EINVAL : 0;
}
