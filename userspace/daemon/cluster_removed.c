// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file "removed" of the state folder: the hosts that the cluster has removed, as this host saw
 * them last. A target that starts while the store is away refuses them by it.
 *
 *   meshremoved 1
 *   cluster UUID
 *   host UUID           one line for each, sorted
 *   check HEX           xxh64 of all before
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/xxhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/cluster_in.h"
#include "userspace/daemon/file.h"

#define HEAD	"meshremoved 1\ncluster "
#define LINE	(5 + MUUID_TEXT)		/* "host ", the UUID, the end */
#define BYTES	(128 + REMOVED_KEPT * LINE)

static void path_of(const struct cluster *c, char out[CLUSTER_PATH])
{
	snprintf(out, CLUSTER_PATH, "%s/removed", c->state);
}

static size_t print(const struct muuid *cluster, const struct muuid *host, size_t n, char *out)
{
	size_t len = sprintf(out, HEAD "%s\n", muuid_str(cluster).s);

	for (size_t i = 0; i < n; i++)
		len += sprintf(out + len, "host %s\n", muuid_str(&host[i]).s);
	return len + sprintf(out + len, "check %016" PRIx64 "\n", (uint64_t)xxh64(out, len, 0));
}

/* The UUID behind @word at @*at, which moves behind the line. */
static int uuid_of(const char **at, const char *word, struct muuid *out)
{
	size_t n = strlen(word);
	char text[MUUID_TEXT];

	if (strncmp(*at, word, n) || strlen(*at) < n + MUUID_TEXT)
		return -EINVAL;
	memcpy(text, *at + n, MUUID_TEXT - 1);
	text[MUUID_TEXT - 1] = 0;
	*at += n + MUUID_TEXT;
	return muuid_parse(text, out);
}

/* Printed again it must be the same text, which refuses damage. Return: number of hosts, or negative. */
static int parse(const char *text, struct muuid *cluster, struct muuid *host, char *again)
{
	const char *at = text;
	int n = 0;

	if (uuid_of(&at, HEAD, cluster))
		return -EUCLEAN;
	while (!strncmp(at, "host ", 5)) {
		if (n == REMOVED_KEPT || uuid_of(&at, "host ", &host[n]))
			return -EUCLEAN;
		n++;
	}
	print(cluster, host, n, again);
	return strcmp(text, again) ? -EUCLEAN : n;
}

void cluster_removed_read(struct cluster *c)
{
	char *text = malloc(BYTES), *again = malloc(BYTES), path[CLUSTER_PATH], words[CLUSTER_WHY];
	struct muuid *host = calloc(REMOVED_KEPT, sizeof(*host)), cluster;
	int n = -ENOMEM;

	path_of(c, path);
	if (text && again && host)
		n = file_read(path, text, BYTES, false);
	if (n >= 0 || n == -EFBIG)
		n = n < 0 ? -EUCLEAN : parse(text, &cluster, host, again);
	/* Of a former cluster of this host it says nothing. */
	if (n >= 0 && muuid_equal(&cluster, &c->f.cluster)) {
		c->removed = host;
		c->removeds = n;
		c->listed = true;
		host = NULL;
	}
	if (n < 0 && n != -ENOENT) {
		snprintf(words, sizeof(words), "%.200s is not used: %s; hosts that were removed are refused once the "
			 "store answers", path, n == -EUCLEAN ? "it is damaged" : strerror(-n));
		c->log(c->priv, words);
	}
	free(host);
	free(again);
	free(text);
}

int cluster_removed_write(const struct cluster *c, const struct muuid *cluster, const struct muuid *host, size_t n)
{
	char *text = malloc(BYTES), path[CLUSTER_PATH];
	int err = -ENOMEM;

	path_of(c, path);
	if (text)
		err = file_replace(path, text, print(cluster, host, n < REMOVED_KEPT ? n : REMOVED_KEPT, text));
	free(text);
	return err;
}
