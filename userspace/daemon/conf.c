// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/daemon/conf.h"
#include "userspace/daemon/file.h"
#include "userspace/format/conf.h"
#include "userspace/format/verbs.h"
#include "userspace/store/address.h"
#include "userspace/store/etcd.h"

#define FILE_BYTES	(8 << 10)

static const char *const too_long = "the value is too long";

void conf_usual(struct daemon_conf *c)
{
	memset(c, 0, sizeof(*c));
	strcpy(c->state, CONF_STATE);
	strcpy(c->socket, MESHD_SOCKET);
	strcpy(c->listen, "0.0.0.0");
	c->port = MESH_PORT;
}

static const char *set_text(char *out, size_t size, const char *value)
{
	if (strlen(value) >= size)
		return too_long;
	strcpy(out, value);
	return NULL;
}

static const char *set_path(char *out, size_t size, const char *value)
{
	return value[0] == '/' ? set_text(out, size, value) : "a path that begins with / is wanted";
}

static const char *set_flag(const char *value, bool *out)
{
	return conf_bool(value, out) ? "yes or no is wanted" : NULL;
}

/* This host may not have it yet. */
static const char *set_listen(struct daemon_conf *c, const char *value)
{
	char bare[64];
	u8 raw[16];

	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(value, "%"), value);
	if (inet_pton(AF_INET, bare, raw) != 1 && inet_pton(AF_INET6, bare, raw) != 1)
		return "an IP address is wanted";
	return set_text(c->listen, sizeof(c->listen), value);
}

static const char *set_port(struct daemon_conf *c, const char *value)
{
	unsigned int port = 0;
	const char *at = value;

	for (; *at >= '0' && *at <= '9' && port <= 0xffff; at++)
		port = port * 10 + (*at - '0');
	if (*at || !port || port > 0xffff)
		return "a number from 1 to 65535 is wanted";
	c->port = port;
	return NULL;
}

static const char *set_scrub(struct daemon_conf *c, const char *value)
{
	c->scrub_never = !strcmp(value, "never");
	return c->scrub_never || !strcmp(value, "monthly") ? NULL : "monthly or never is wanted";
}

/* Appends: lines of addresses are one list, and so are those of endpoints. */
static const char *set_store(struct daemon_conf *c, const char *value)
{
	size_t at = strlen(c->store);
	bool etcd = !strncmp(value, "etcd ", 5);
	const char *list = etcd && at ? value + 5 : value;

	if (at && etcd != !strncmp(c->store, "etcd ", 5))
		return "store hosts and endpoints of etcd exclude each other";
	if (at + strlen(list) + 2 > sizeof(c->store))
		return too_long;
	snprintf(c->store + at, sizeof(c->store) - at, "%s%s", at ? "," : "", list);
	return NULL;
}

const char *conf_set(struct daemon_conf *c, const char *key, const char *value)
{
	static const char spares[] = "spares belong to volumes: meshctl volume set --spares";
	const char *why;
	bool target = true;

	if (!strcmp(key, "listen"))
		return set_listen(c, value);
	if (!strcmp(key, "port"))
		return set_port(c, value);
	if (!strcmp(key, "target")) {
		why = set_flag(value, &target);
		c->no_target = !target;
		return why;
	}
	if (!strcmp(key, "debug"))
		return set_flag(value, &c->debug);
	if (!strcmp(key, "scrub"))
		return set_scrub(c, value);
	if (!strcmp(key, "hook"))
		return set_path(c->hook, sizeof(c->hook), value);
	if (!strcmp(key, "store"))
		return set_store(c, value);
	if (!strcmp(key, "ca"))
		return set_path(c->ca, sizeof(c->ca), value);
	if (!strcmp(key, "cert"))
		return set_path(c->cert, sizeof(c->cert), value);
	if (!strcmp(key, "key"))
		return set_path(c->key, sizeof(c->key), value);
	if (!strcmp(key, "insecure"))
		return "every host has a key of its own: meshctl cluster join";
	return strncmp(key, "spare", 5) ? "no such key; meshd(8) has them all" : spares;
}

static const char *one_line(void *priv, const char *key, const char *value)
{
	return conf_set(priv, key, value);
}

/* Each address of the list; a list that is refused at its use would be noticed too late. */
static const char *store_wrong(const struct daemon_conf *c)
{
	bool etcd = !strncmp(c->store, "etcd ", 5);
	char list[CONF_TEXT], *at = list, *one;
	struct address a;
	size_t n = 0;

	strcpy(list, c->store + (etcd ? 5 : 0));
	while ((one = strsep(&at, ", "))) {
		if (!one[0])
			continue;
		if (!etcd && address_parse(one, &a))
			return "store: NAME or NAME:PORT of a store host is wanted, or etcd URL";
		if (etcd && strncmp(one, "https://", 8))
			return "store: an endpoint of etcd begins with https://";
		n++;
	}
	if (c->store[0] && !n)
		return "store: it names nothing";
	if (n > (etcd ? ETCD_ENDPOINTS_MAX : ADDRESS_MAX))
		return etcd ? "store: more than 9 endpoints" : "store: more than 8 store hosts";
	if (etcd && (!c->ca[0] || !c->cert[0] || !c->key[0]))
		return "store: etcd needs ca, cert and key as well";
	return NULL;
}

int conf_read(struct daemon_conf *c, const char *path, char why[CONF_WHY])
{
	const char *name = path ? path : CONF_FILE, *wrong;
	char text[FILE_BYTES + 1];
	unsigned int line = 0;
	int ret = file_read(name, text, sizeof(text), false);

	if (ret == -ENOENT && !path)
		return 0;
	if (ret < 0) {
		snprintf(why, CONF_WHY, "%s: %s", name, ret == -EFBIG ? "the file is longer than 8 KiB" :
			 strerror(-ret));
		return ret;
	}
	wrong = conf_parse(text, one_line, c, &line);
	if (wrong) {
		snprintf(why, CONF_WHY, "%s, line %u: %s", name, line, wrong);
		return -EINVAL;
	}
	wrong = store_wrong(c);
	if (wrong)
		snprintf(why, CONF_WHY, "%s: %s", name, wrong);
	return wrong ? -EINVAL : 0;
}
