// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/xxhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/cluster_file.h"
#include "userspace/daemon/file.h"
#include "userspace/format/objects.h"

#define BYTES		4096
#define HEX		(2 * SECRET_BYTES + 1)
#define CHECK		"check "

int cluster_file_new(struct cluster_file *f, const struct muuid *host)
{
	struct secret random;
	int err = secret_random(&random);

	memset(f, 0, sizeof(*f));
	f->host = *host;
	f->role = PLAN_STORE;
	f->alone = true;
	memcpy(f->cluster.b, random.b, sizeof(f->cluster.b));
	muuid_mark_random(&f->cluster);
	if (!err)
		err = secret_random(&f->label);
	if (!err)
		err = secret_rotate(&f->masters);
	memset(&f->masters.before, 0, sizeof(f->masters.before));
	return err;
}

static void put_hex(const struct secret *s, char out[HEX])
{
	for (int i = 0; i < SECRET_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", s->b[i]);
}

static int get_hex(const char *text, struct secret *s)
{
	unsigned int v;

	for (int i = 0; i < SECRET_BYTES; i++, text += 2) {
		if (sscanf(text, "%2x", &v) != 1)
			return -EINVAL;
		s->b[i] = v;
	}
	return *text ? -EINVAL : 0;
}

static size_t put_key(char *out, const char *name, const struct secret_master *m)
{
	char hex[HEX];
	size_t n;

	put_hex(&m->key, hex);
	n = sprintf(out, "%s %u %s\n", name, m->id, hex);
	explicit_bzero(hex, sizeof(hex));
	return n;
}

static size_t put_check(char *text, size_t n)
{
	return sprintf(text + n, CHECK "%016llx\n", (unsigned long long)xxh64(text, n, 0));
}

/* All lines are bounded: their sum is below BYTES. */
static size_t print(const struct cluster_file *f, char out[BYTES])
{
	char hex[HEX], address[ADDRESS_TEXT];
	size_t n;

	n = sprintf(out, "meshkeys 1\ncluster %s\n", muuid_str(&f->cluster).s);
	n += sprintf(out + n, "host %s\nrole %s\n", muuid_str(&f->host).s, obj_role(f->role));
	n += sprintf(out + n, "alone %s\nfounded %s\n", f->alone ? "yes" : "no", f->founded ? "yes" : "no");
	n += put_key(out + n, "master", &f->masters.now);
	n += put_key(out + n, "former", &f->masters.before);
	n += put_key(out + n, "own", &f->own.now);
	n += put_key(out + n, "ownformer", &f->own.before);
	put_hex(&f->label, hex);
	n += sprintf(out + n, "label %s\n", hex);
	explicit_bzero(hex, sizeof(hex));
	for (size_t i = 0; i < f->addresses; i++) {
		address_text(&f->address[i], address);
		n += sprintf(out + n, "address %s\n", address);
	}
	return n + put_check(out, n);
}

/* The words behind @name of the next line; NULL: another line is there. */
static char *words_of(char **at, const char *name)
{
	size_t n = strlen(name);
	char *line = *at, *end = strchr(line, '\n');

	if (!end || strncmp(line, name, n) || line[n] != ' ')
		return NULL;
	*end = 0;
	*at = end + 1;
	return line + n + 1;
}

static int read_uuid(char **at, const char *name, struct muuid *out)
{
	const char *words = words_of(at, name);

	return words ? muuid_parse(words, out) : -EINVAL;
}

static int read_flag(char **at, const char *name, bool *out)
{
	const char *words = words_of(at, name);

	*out = words && !strcmp(words, "yes");
	return words ? 0 : -EINVAL;
}

static int read_key(char **at, const char *name, struct secret_master *m)
{
	char *words = words_of(at, name), *hex;

	if (!words)
		return -EINVAL;
	m->id = strtoul(words, &hex, 10);
	return *hex == ' ' ? get_hex(hex + 1, &m->key) : -EINVAL;
}

static int read_role(char **at, u8 *out)
{
	const char *words = words_of(at, "role");

	for (u8 role = PLAN_CLIENT; words && role <= PLAN_STORE; role++) {
		if (strcmp(words, obj_role(role)))
			continue;
		*out = role;
		return 0;
	}
	return -EINVAL;
}

static int read_addresses(char **at, struct cluster_file *f)
{
	const char *words;

	while ((words = words_of(at, "address"))) {
		if (f->addresses == ADDRESS_MAX || address_parse(words, &f->address[f->addresses++]))
			return -EINVAL;
	}
	return words_of(at, "check") && !**at ? 0 : -EINVAL;
}

static int parse(char *text, struct cluster_file *f)
{
	const char *words = words_of(&text, "meshkeys");
	int err = words && !strcmp(words, "1") ? 0 : -EINVAL;
	char *label;

	if (!err)
		err = read_uuid(&text, "cluster", &f->cluster);
	if (!err)
		err = read_uuid(&text, "host", &f->host);
	if (!err)
		err = read_role(&text, &f->role);
	if (!err)
		err = read_flag(&text, "alone", &f->alone);
	if (!err)
		err = read_flag(&text, "founded", &f->founded);
	if (!err)
		err = read_key(&text, "master", &f->masters.now);
	if (!err)
		err = read_key(&text, "former", &f->masters.before);
	if (!err)
		err = read_key(&text, "own", &f->own.now);
	if (!err)
		err = read_key(&text, "ownformer", &f->own.before);
	if (err)
		return err;
	label = words_of(&text, "label");
	err = label ? get_hex(label, &f->label) : -EINVAL;
	return err ? err : read_addresses(&text, f);
}

/* A role without its key can neither log in nor admit a host. */
static bool consistent(const struct cluster_file *f)
{
	if (f->role == PLAN_CLIENT)
		return f->own.now.id && f->addresses && !f->alone && !f->masters.now.id;
	if (f->role == PLAN_STORAGE && (f->alone || !f->addresses))
		return false;
	return f->masters.now.id;
}

int cluster_file_read(const char *path, struct cluster_file *f, char why[CLUSTER_FILE_WHY])
{
	char text[BYTES], cut[BYTES];
	int ret = file_read(path, text, sizeof(text), true);

	memset(f, 0, sizeof(*f));
	if (ret == -EPERM) {
		snprintf(why, CLUSTER_FILE_WHY, "%.120s is not a file of root alone (mode 600), so its keys "
			 "may be known to others", path);
		return ret;
	}
	if (ret < 0 && ret != -EFBIG) {
		snprintf(why, CLUSTER_FILE_WHY, "%.120s: %s", path, strerror(-ret));
		return ret;
	}
	/* Printed again it must be the same text: that refuses damage, and each second spelling. */
	ret = ret < 0 ? ret : parse(memcpy(cut, text, sizeof(cut)), f);
	if (!ret && consistent(f)) {
		print(f, cut);
		ret = strcmp(cut, text) ? -EUCLEAN : 0;
	} else {
		ret = -EUCLEAN;
	}
	if (ret) {
		explicit_bzero(f, sizeof(*f));
		snprintf(why, CLUSTER_FILE_WHY, "%.120s is damaged: put it back from a copy; without one, "
			 "remove it and join the cluster again", path);
	}
	explicit_bzero(text, sizeof(text));
	explicit_bzero(cut, sizeof(cut));
	return ret;
}

int cluster_file_write(const char *path, const struct cluster_file *f, char why[CLUSTER_FILE_WHY])
{
	char text[BYTES];
	int err = consistent(f) ? file_replace(path, text, print(f, text)) : -EINVAL;

	explicit_bzero(text, sizeof(text));
	if (err)
		snprintf(why, CLUSTER_FILE_WHY, "%.120s: %s", path, strerror(-err));
	return err;
}
