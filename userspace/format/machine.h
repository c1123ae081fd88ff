/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On which machine a state folder is at home. Beside the host's UUID it keeps
 * what identifies the machine, so that a copied folder (a cloned guest, a golden
 * image, a restored backup) does not make two hosts of one UUID, which would
 * both be granted the same volumes.
 */
#ifndef FORMAT_MACHINE_H
#define FORMAT_MACHINE_H

#include <linux/types.h>

#include "userspace/format/uuid.h"

#define MACHINE_TEXT	96

/* Zero: unknown. */
struct machine {
	struct muuid os;	/* of /etc/machine-id, hashed: changes when it is reinstalled */
	struct muuid board;	/* the firmware's product UUID: changes with the hardware */
};

enum machine_verdict {
	MACHINE_SAME,
	MACHINE_LEARN,		/* the same, and more is known of it now: note that */
	MACHINE_OTHER,
};

/* What the state folder says against what this machine says. */
enum machine_verdict machine_judge(const struct machine *noted, const struct machine *now);
/* @noted with what only @now knows. */
struct machine machine_merge(const struct machine *noted, const struct machine *now);

/* A UUID as firmware gives it; all zeroes, all ones or no UUID count as unknown. */
struct muuid machine_uuid(const char *text);

/* "meshmachine1:UUID:UUID", as in the state folder; 0 or -EINVAL. */
void machine_print(const struct machine *m, char out[MACHINE_TEXT]);
int machine_parse(const char *text, struct machine *m);

#endif
