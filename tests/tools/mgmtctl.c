// SPDX-License-Identifier: GPL-2.0-only
/*
 * mgmtctl ADDRESS PORT HOST [KEY-HEX ID]: send each line of standard input to a
 * meshd as a management request, as the host HOST (a UUID), and print what it
 * answers. Without a key: as a host without one (insecure). For hostile tests.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "userspace/meshd/link.h"

#define CALL_MS	20000

static size_t unhex(const char *text, unsigned char *out, size_t size)
{
	size_t n = 0;

	while (n < size && sscanf(text + 2 * n, "%2hhx", &out[n]) == 1)
		n++;
	return n;
}

static int call(const char *addr, unsigned short port, const char *line)
{
	char why[LINK_REASON] = "";
	void *rsp = NULL;
	size_t n = 0;
	int err = links_call(links_own(), addr, port, NULL, line, strlen(line), CALL_MS, &rsp, &n, why);

	if (err)
		printf("%d %s\n", err, why);
	else
		printf("%.*s\n", (int)n, (const char *)rsp);
	fflush(stdout);
	free(rsp);
	return err;
}

int main(int argc, char **argv)
{
	static char line[1 << 20];
	unsigned char key[64] = { 0 };
	struct link_key k;
	size_t n = 0;
	int err = 0;

	if ((argc != 4 && argc != 6) || muuid_parse(argv[3], &D.host)) {
		fprintf(stderr, "usage: mgmtctl ADDRESS PORT HOST-UUID [KEY-HEX ID] <REQUESTS\n");
		return 2;
	}
	D.stop = eventfd(0, EFD_CLOEXEC);
	if (argc == 6)
		n = unhex(argv[4], key, sizeof(key));
	link_psk(key, n, argc == 6 ? atoi(argv[5]) : 0, &k);
	links_keys(links_own(), &k, 1);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (call(argv[1], atoi(argv[2]), line))
			err = 1;
	}
	return err;
}
