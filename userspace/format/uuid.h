/* SPDX-License-Identifier: GPL-2.0-only */
/* UUIDs as 16 bytes in the order they are printed. */
#ifndef FORMAT_UUID_H
#define FORMAT_UUID_H

#include <linux/types.h>

struct muuid {
	u8 b[16];
};

#define MUUID_TEXT	37	/* bytes of the text with its end */

void muuid_text(const struct muuid *u, char out[MUUID_TEXT]);
/* For an argument of printf(): muuid_str(u).s is there until the call returns. */
struct muuid_str {
	char s[MUUID_TEXT];
};

static inline struct muuid_str muuid_str(const struct muuid *u)
{
	struct muuid_str text = { "" };

	muuid_text(u, text.s);
	return text;
}

/* 0, or -EINVAL when @text is not a whole UUID. */
int muuid_parse(const char *text, struct muuid *u);
bool muuid_null(const struct muuid *u);
bool muuid_equal(const struct muuid *a, const struct muuid *b);
int muuid_cmp(const struct muuid *a, const struct muuid *b);
/* Turn 16 random bytes into a random UUID (version 4). */
void muuid_mark_random(struct muuid *u);

#endif
