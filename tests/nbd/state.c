// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state file: what meshd's store would know, as lines of text. It is written
 * beside, synced and renamed, so it is one version or the next after any kill.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "tests/nbd/volume.h"

void random_bytes(void *to, size_t n)
{
	if (getrandom(to, n, 0) != (ssize_t)n)
		memset(to, 0x5a, n);
}

static void put_uuid(FILE *f, const uint8_t *uuid)
{
	for (int i = 0; i < PROT_UUID_LEN; i++)
		fprintf(f, "%02x", uuid[i]);
}

static int put(FILE *f, const struct state *s)
{
	fprintf(f, "level %u\ndata %u\nparity %u\ngroups %u\nstrip %u\nlba %u\nregion %u\n",
		s->level, s->data, s->parity, s->groups, s->strip, s->lba, s->region);
	fprintf(f, "bytes %ju\nmeta_at %ju\ndata_at %ju\nepoch %ju\nattach %ju\nsalt %ju\n",
		(uintmax_t)s->bytes, (uintmax_t)s->meta_at, (uintmax_t)s->data_at,
		(uintmax_t)s->epoch, (uintmax_t)s->attach, (uintmax_t)s->salt);
	fprintf(f, "fresh %u\nmembers %u\n", s->fresh, s->members);
	for (uint32_t i = 0; i < s->members; i++) {
		fprintf(f, "member %u %s %ju ", i, s->member[i].in_sync ? "in" : "out",
			(uintmax_t)s->member[i].left);
		put_uuid(f, s->member[i].uuid);
		fputc('\n', f);
	}
	return fflush(f) || fsync(fileno(f));
}

int state_commit(const char *dir, const struct state *s)
{
	char tmp[4096], path[4096];
	int fd, err;
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%s/state.new", dir);
	snprintf(path, sizeof(path), "%s/state", dir);
	f = fopen(tmp, "w");
	if (!f)
		return -errno;
	err = put(f, s);
	if (fclose(f) || err || rename(tmp, path))
		return -EIO;
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || fsync(fd))
		err = -EIO;
	close(fd);
	return err;
}

static int take_member(const char *line, struct state *s)
{
	uint32_t i;
	uintmax_t left;
	char in[8], uuid[64];

	if (sscanf(line, "%u %7s %ju %63s", &i, in, &left, uuid) != 4 || i >= s->members ||
	    strlen(uuid) != 2 * PROT_UUID_LEN)
		return -EINVAL;
	s->member[i].in_sync = !strcmp(in, "in");
	s->member[i].left = left;
	for (int k = 0; k < PROT_UUID_LEN; k++)
		if (sscanf(uuid + 2 * k, "%2hhx", &s->member[i].uuid[k]) != 1)
			return -EINVAL;
	return 0;
}

static int take(const char *key, const char *value, struct state *s)
{
	struct { const char *key; uint32_t *to; } small[] = {
		{ "level", &s->level }, { "data", &s->data }, { "parity", &s->parity },
		{ "groups", &s->groups }, { "strip", &s->strip }, { "lba", &s->lba },
		{ "region", &s->region }, { "fresh", &s->fresh }, { "members", &s->members },
	};
	struct { const char *key; uint64_t *to; } large[] = {
		{ "bytes", &s->bytes }, { "meta_at", &s->meta_at }, { "data_at", &s->data_at },
		{ "epoch", &s->epoch }, { "attach", &s->attach }, { "salt", &s->salt },
	};

	if (!strcmp(key, "member"))
		return take_member(value, s);
	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		if (!strcmp(key, small[i].key))
			return sscanf(value, "%u", small[i].to) == 1 ? 0 : -EINVAL;
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		if (!strcmp(key, large[i].key))
			return sscanf(value, "%ju", (uintmax_t *)large[i].to) == 1 ? 0 : -EINVAL;
	return -EINVAL;
}

int state_load(const char *dir, struct state *s)
{
	char path[4096], line[256];
	int err = 0;
	FILE *f;

	memset(s, 0, sizeof(*s));
	snprintf(path, sizeof(path), "%s/state", dir);
	f = fopen(path, "r");
	if (!f)
		return -errno;
	while (!err && fgets(line, sizeof(line), f)) {
		char *space = strchr(line, ' ');

		if (!space) {
			err = -EINVAL;
			break;
		}
		*space = 0;
		err = take(line, space + 1, s);
	}
	fclose(f);
	if (!err && (!s->members || s->members > MEMBERS_MAX || !s->groups ||
		     s->groups > GROUPS_MAX))
		err = -EINVAL;
	return err;
}

void state_config(const struct state *s, uint32_t group, struct prot_group_config *c)
{
	uint32_t width = s->members / s->groups, first = group * width;

	memset(c, 0, sizeof(*c));
	memset(c->owner.volume, 0x77, PROT_UUID_LEN);
	c->owner.salt = s->salt;
	c->owner.group = group;
	c->level = s->level == PROT_EC ? PROT_EC : PROT_MIRROR;
	c->width = width;
	c->lba = s->lba;
	c->region = s->region;
	c->bytes = s->bytes;
	c->buf_bytes = 32768;
	c->ops = 34;
	c->errors = 0xffff;
	c->bufs = 12;
	c->epoch = s->epoch;
	c->fresh = s->fresh;
	if (s->level == PROT_EC) {
		c->attach = s->attach;
		c->k = s->data;
		c->m = s->parity;
		c->strip = s->strip;
		c->slot_bytes = s->strip;
		c->slot_head = 4096;
		c->rings = 4;
		c->slots = 8;
		c->bufs = 20;
		c->small = s->lba;
		c->smalls = 8;
	}
	for (uint32_t i = 0; i < width; i++) {
		memcpy(c->uuid[i], s->member[first + i].uuid, PROT_UUID_LEN);
		c->left[i] = s->member[first + i].left;
		c->meta[i] = s->meta_at;
		c->data[i] = s->data_at;
		c->in_sync |= (uint64_t)!!s->member[first + i].in_sync << i;
	}
}
