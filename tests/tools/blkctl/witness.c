// SPDX-License-Identifier: GPL-2.0-only
/*
 * A witness in the place of meshd: it notes the roster of one group in a file, or is mute. It ends
 * at the next note, after SIGUSR1 before that is in the file, after SIGUSR2 before it says so.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>

#include "tests/tools/blkctl/blkctl.h"

static const char *file;	/* NULL: questions are not answered */

static volatile sig_atomic_t ends;	/* SIGUSR1 or SIGUSR2; 0: it does not */

static void on_signal(int sig)
{
	ends = sig;
}

static size_t load(char *roster)
{
	FILE *f = fopen(file, "re");
	size_t n = f ? fread(roster, 1, MESHBLK_ROSTER_BYTES, f) : 0;

	if (f)
		fclose(f);
	return n;
}

static void save(const char *roster)
{
	FILE *f = fopen(file, "we");

	if (!f || fwrite(roster, 1, MESHBLK_ROSTER_BYTES, f) != MESHBLK_ROSTER_BYTES || fclose(f))
		die(2, "cannot write %s", file);
}

static int on_note(struct nl_msg *msg, void *arg)
{
	struct genlmsghdr *g = nlmsg_data(nlmsg_hdr(msg));
	struct nlattr *tb[MESHBLK_A_MAX + 1];
	char roster[MESHBLK_ROSTER_BYTES];
	struct nl_msg *m;

	(void)arg;
	if (!file || g->cmd != MESHBLK_CMD_ROSTER_NOTE ||
	    genlmsg_parse(nlmsg_hdr(msg), 0, tb, MESHBLK_A_MAX, NULL) < 0)
		return NL_OK;
	if (tb[MESHBLK_A_ROSTER]) {
		if (ends == SIGUSR1)
			_exit(0);
		save(nla_data(tb[MESHBLK_A_ROSTER]));
		if (ends == SIGUSR2)
			_exit(0);
	}
	m = new_msg(MESHBLK_CMD_ROSTER_NOTED, 0);
	nla_put(m, MESHBLK_A_VOLUME_UUID, 16, nla_data(tb[MESHBLK_A_VOLUME_UUID]));
	nla_put_u32(m, MESHBLK_A_PLACE, nla_get_u32(tb[MESHBLK_A_PLACE]));
	if (load(roster))
		nla_put(m, MESHBLK_A_ROSTER, sizeof(roster), roster);
	nl_send_auto(sock, m);
	nlmsg_free(m);
	return NL_OK;
}

/* witness FILE|- SECONDS */
int cmd_witness(int argc, char **argv)
{
	struct timeval tv = { .tv_usec = 100 * 1000 };
	time_t end;
	int err;

	if (argc < 3)
		die(2, "witness: FILE|- SECONDS");
	file = strcmp(argv[1], "-") ? argv[1] : NULL;
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	end = time(NULL) + atoi(argv[2]);
	err = talk(new_msg(MESHBLK_CMD_WITNESS, 0), on_note, NULL);
	if (err)
		return finish(err);
	puts("{\"listening\":true}");
	fflush(stdout);
	nl_socket_disable_seq_check(sock);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_note, NULL);
	setsockopt(nl_socket_get_fd(sock), SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	while (time(NULL) < end)
		nl_recvmsgs_default(sock);
	return 0;
}

/* noted UUID PLACE BYTES: an answer that was not requested; with "witness" as the witness */
int cmd_noted(int argc, char **argv)
{
	struct nl_msg *m;
	struct uuid u;
	char *roster;
	size_t n;
	int err;

	if (argc < 4)
		die(2, "noted: UUID PLACE BYTES [witness]");
	if (argc > 4) {
		err = talk(new_msg(MESHBLK_CMD_WITNESS, 0), NULL, NULL);
		if (err)
			return finish(err);
	}
	m = new_msg(MESHBLK_CMD_ROSTER_NOTED, 0);
	u = parse_uuid(argv[1]);
	n = strtoul(argv[3], NULL, 0);
	roster = malloc(n + 1);
	if (!roster)
		die(2, "out of memory");
	memset(roster, 0x5a, n);
	put_uuid(m, MESHBLK_A_VOLUME_UUID, &u);
	nla_put_u32(m, MESHBLK_A_PLACE, strtoul(argv[2], NULL, 0));
	if (n)
		nla_put(m, MESHBLK_A_ROSTER, n, roster);
	free(roster);
	return finish(talk(m, NULL, NULL));
}
