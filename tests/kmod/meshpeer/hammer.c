// SPDX-License-Identifier: GPL-2.0-only
/*
 * Strangers without the key, whose id any host can read on the wire: each of them
 * logs in from one address as fast as it can, keeps what it gets for as long as it
 * is let, and never proves anything.
 */
#define pr_fmt(fmt) "meshpeer: " fmt
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "peer.h"

#define STRANGERS	8
#define KEEPS		16	/* connections of one stranger */

struct stranger {
	struct task_struct	*task;
	char			host[40], addr[48], port[8], key_id[8], from[56];
	struct peer_conn	*kept[KEEPS];
	unsigned int		tries;
	unsigned int		connected;
};

static struct stranger strangers[STRANGERS];	/* the verbs' lock */

static void stranger_drop(struct peer_conn **at)
{
	if (!*at)
		return;
	peer_conn_end(*at, true);
	peer_conn_free(*at);
	*at = NULL;
}

/* One more; the oldest goes. */
static void stranger_try(struct stranger *s)
{
	char name[] = "stranger", number[12], boot[] = "7", key[] = "00";
	char *argv[9] = { name, s->addr, s->port, s->host, boot, number,
			  s->key_id, key, s->from };
	struct peer_conn **at = &s->kept[s->tries++ % KEEPS];

	stranger_drop(at);
	*at = peer_conn_new("stranger");
	if (!*at)
		return;
	(*at)->light = true;
	snprintf(number, sizeof(number), "%u", 1000000 + s->tries);
	if (peer_conn_login(*at, ARRAY_SIZE(argv), argv))
		stranger_drop(at);
	else
		s->connected++;
}

static int stranger_run(void *data)
{
	struct stranger *s = data;
	unsigned int i;

	while (!kthread_should_stop()) {
		stranger_try(s);
		cond_resched();
	}
	for (i = 0; i < KEEPS; i++)
		stranger_drop(&s->kept[i]);
	return 0;
}

/**
 * peer_hammer() - begin
 * @argc: words
 * @argv: HOST ADDR PORT KEYID FROM...
 */
int peer_hammer(int argc, char **argv)
{
	struct task_struct *task;
	struct stranger *s;
	int i;

	if (argc < 5 || argc - 4 > STRANGERS || strangers[0].task)
		return -EINVAL;
	memset(strangers, 0, sizeof(strangers));
	for (i = 4; i < argc; i++) {
		s = &strangers[i - 4];
		strscpy(s->host, argv[0], sizeof(s->host));
		strscpy(s->addr, argv[1], sizeof(s->addr));
		strscpy(s->port, argv[2], sizeof(s->port));
		strscpy(s->key_id, argv[3], sizeof(s->key_id));
		snprintf(s->from, sizeof(s->from), "from=%s", argv[i]);
		task = kthread_run(stranger_run, s, "stranger/%d", i - 4);
		if (IS_ERR(task))
			return PTR_ERR(task);
		s->task = task;
	}
	return 0;
}

/**
 * peer_hammer_stop() - end, and say what came of it
 */
void peer_hammer_stop(void)
{
	unsigned int i, tries = 0, connected = 0;

	for (i = 0; i < STRANGERS; i++) {
		struct stranger *s = &strangers[i];

		if (!s->task)
			continue;
		kthread_stop(s->task);
		s->task = NULL;
		tries += s->tries;
		connected += s->connected;
	}
	peer_say("tries=%u connected=%u\n", tries, connected);
}
