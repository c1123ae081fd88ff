// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/agent/event.h"

#define EVENT_TXN_MS	5000
#define EVENT_RETRY_MS	5000

void event_begin(struct obj_event *e, const struct muuid *host, const char *what)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	*e = (struct obj_event) { .host = *host, .serial = t.tv_sec * 1000000000ULL + t.tv_nsec };
	e->at = e->serial / 1000000;
	snprintf(e->what, sizeof(e->what), "%s", what);
}

void event_words(struct obj_event *e, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(e->words, sizeof(e->words), format, ap);
	va_end(ap);
}

/* Forget the oldest. */
static void pop(struct events *s)
{
	obj_free(KEY_EVENT, &s->event[0]);
	memmove(s->event, s->event + 1, --s->waiting * sizeof(s->event[0]));
}

void events_add(struct events *s, const struct obj_event *e)
{
	struct obj_event *at;

	if (s->waiting == EVENTS_MAX)
		pop(s);
	at = &s->event[s->waiting++];
	*at = *e;
	at->o.kept = NULL;
	json_incref(at->details);
}

/* A value that the store or the codec refuses is refused for good: the log has it. */
static bool refused(int err)
{
	return err == -EINVAL || err == -EUCLEAN || err == -EACCES || err == -EPERM || err == -E2BIG;
}

/* A clock that was set back gives a serial again. */
static void free_serial(const struct copy *c, struct obj_event *e)
{
	struct key k = { .kind = KEY_EVENT, .host = e->host, .serial = e->serial };

	for (; copy_get(c, &k); k.serial++)
		;
	e->serial = k.serial;
}

int events_turn(struct events *s, u64 now_ms)
{
	struct deal *d;
	int ret;

	if (!s->waiting || now_ms < s->again_ms)
		return 0;
	d = malloc(sizeof(*d));
	if (!d)
		return -ENOMEM;
	free_serial(s->copy, &s->event[0]);
	deal_begin(d, s->copy);
	deal_put(d, KEY_EVENT, &s->event[0], 0);
	ret = deal_close(d, EVENT_TXN_MS);
	free(d);
	if (ret == 1 || refused(ret)) {
		pop(s);
		return ret;
	}
	if (ret)
		s->again_ms = now_ms + EVENT_RETRY_MS;
	return ret;
}

void events_end(struct events *s)
{
	while (s->waiting)
		pop(s);
}
