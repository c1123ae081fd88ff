// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <libgen.h>
#include <linux/xxhash.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/machine/guard.h"
#include "userspace/machine/line.h"
#include "userspace/meshd/alone_key.h"
#include "userspace/meshd/identity.h"
#include "userspace/meshd/link.h"

/* Of the key that is never shown: other keys are counted from 1. */
#define ALONE_ID	0xffff
#define KEY_BYTES	32

struct key {
	u16	id;		/* 0: none */
	struct muuid cluster;
	u8	bytes[MESHBLK_KEY_MAX];
	size_t	len;
};

static struct key key, old_key;
static struct key alone;		/* of a host without one: alone_key.h */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of both keys */
/* Held by what changes them, over their files and the links as well; taken before the one above. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
/* Kernels must not get an older key after a newer one; apart, since a disk that hangs holds that up. */
static pthread_mutex_t pushing = PTHREAD_MUTEX_INITIALIZER;

static void state_drop(const char *name)
{
	char tmp[272];

	snprintf(tmp, sizeof(tmp), "%s/%s.new", D.state, name);
	unlink(tmp);
}

/* What shall be in the file, beside it. */
static int state_prepare(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", D.state, name);
	return file_prepare(path, text, strlen(text));
}

static int state_commit(const char *name)
{
	char path[256];
	int err;

	snprintf(path, sizeof(path), "%s/%s", D.state, name);
	err = file_commit(path, NULL);
	if (!err)
		folder_sync(D.state);
	return err;
}

int state_write(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", D.state, name);
	return file_replace(path, NULL, text, strlen(text));
}

static int unhex(const char *text, u8 *out, size_t size)
{
	size_t n;
	unsigned int v;

	for (n = 0; *text; text += 2, n++) {
		if (n == size || !text[1] || sscanf(text, "%2x", &v) != 1 ||
		    strspn(text, "0123456789abcdefABCDEF") < 2)
			return -EINVAL;
		out[n] = v;
	}
	return n;
}

static int parse_key(const char *line, struct key *k)
{
	char cluster[MUUID_TEXT], hex[2 * MESHBLK_KEY_MAX + 1];
	unsigned int id;
	int n;

	if (sscanf(line, "meshkey1:%5u:%36[^:]:%128[0-9a-fA-F]", &id, cluster, hex) != 3)
		return -EINVAL;
	n = unhex(hex, k->bytes, sizeof(k->bytes));
	if (!id || id > 0xffff || n < 16 || muuid_parse(cluster, &k->cluster))
		return -EINVAL;
	k->id = id;
	k->len = n;
	return 0;
}

static void print_key(const struct key *k, char out[KEY_LINE])
{
	int at;

	out[0] = 0;
	if (!k->id)
		return;
	at = snprintf(out, KEY_LINE, "meshkey1:%u:%s:", k->id, muuid_str(&k->cluster).s);
	for (size_t i = 0; i < k->len; i++)
		at += sprintf(out + at, "%02x", k->bytes[i]);
}

/* A key that cannot be read must not let every host in. */
static int load_key(const char *name, struct key *k)
{
	char line[KEY_LINE], path[256];
	struct stat st;
	int err;

	memset(k, 0, sizeof(*k));
	snprintf(path, sizeof(path), "%s/%s", D.state, name);
	if (stat(path, &st) ? errno == ENOENT : !st.st_size)
		return 0;
	err = read_line(line, sizeof(line), "%s", path);
	if (!err)
		err = parse_key(line, k);
	if (err)
		log_error("%s/%s is not a key: put the right one back, or remove it and set the key again",
			  D.state, name);
	return err;
}

/* The links between meshds have other keys, derived from these. Context: changing held. */
static void push_links(void)
{
	struct link_key keys[2];
	size_t n = 0;

	if (key.id) {
		link_psk(key.bytes, key.len, key.id, &keys[n++]);
		if (old_key.id)
			link_psk(old_key.bytes, old_key.len, old_key.id, &keys[n++]);
	} else if (D.insecure) {
		link_psk(NULL, 0, 0, &keys[n++]);
	}
	links_keys(links_own(), keys, n);
	explicit_bzero(keys, sizeof(keys));
}

static int load_keys(void)
{
	int err = load_key("key", &key);
	char folder[256];

	if (!err)
		err = load_key("key.old", &old_key);
	if (err)
		return err;
	alone = (struct key) { .id = ALONE_ID, .len = KEY_BYTES };
	snprintf(folder, sizeof(folder), "%s", D.socket);
	err = alone_key(dirname(folder), alone.bytes, alone.len);
	if (err)
		return err;
	D.cluster = key.cluster;
	push_links();
	if (key_warning())
		log_warn("%s", key_warning());
	return 0;
}

int identity_renew(void)
{
	struct muuid host;
	char text[MUUID_TEXT];
	int err;

	uuid_random(&host);
	muuid_text(&host, text);
	err = state_write("host", text);
	if (!err) {
		D.host = host;
		links_host(links_own(), &D.host);
		log_warn("this host has a new UUID: %s", text);
	}
	return err;
}

int identity_load(void)
{
	char line[64];
	int err;

	err = read_line(line, sizeof(line), "%s/host", D.state);
	if (err == -ENOENT) {
		uuid_random(&D.host);
		muuid_text(&D.host, line);
		err = state_write("host", line);
		log_info("first start: this host is %s", line);
	} else if (!err && muuid_parse(line, &D.host)) {
		err = -EINVAL;
	}
	if (err == -EINVAL || err == -ENODATA)
		log_error("%s/host has no UUID in it: put the right one back, or remove the file, and "
			  "this is another host to all that it talks to", D.state);
	else if (err)
		log_error("%s/host: %s", D.state, strerror(-err));
	if (err)
		return err;
	if (gethostname(D.hostname, sizeof(D.hostname) - 1))
		strcpy(D.hostname, "?");
	return load_keys();
}

int identity_push(struct mesh *m)
{
	struct mesh_key keys[2];
	struct key k, o;
	int err = 0, e;
	size_t nr;

	guard(&pushing);
	pthread_mutex_lock(&lock);
	k = key.id || D.insecure ? key : alone;
	o = old_key;
	pthread_mutex_unlock(&lock);
	keys[0] = (struct mesh_key) { .id = k.id, .key = k.bytes, .len = k.len };
	keys[1] = (struct mesh_key) { .id = o.id, .key = o.bytes, .len = o.len };
	nr = k.id ? (o.id ? 2 : 1) : 0;
	/* The target first: it then knows what the client says. Without the role: not ours. */
	if (D.listen)
		err = meshtgt_identity_set(m, &D.host, keys, nr);
	e = meshblk_identity_set(m, &D.host, keys, nr);
	explicit_bzero(&k, sizeof(k));
	explicit_bzero(&o, sizeof(o));
	if (err == -ENOENT)
		err = 0;
	return err ? err : e == -ENOENT ? 0 : e;
}

const char *key_warning(void)
{
	if (key_id())
		return NULL;
	return D.insecure ?
	       "INSECURE: no key is set and insecure = yes: any host that reaches this one can read "
	       "and destroy all that it exports" :
	       "no key is set: this host exports to itself alone, and cannot use others; 'meshctl host "
	       "key set' with the cluster's key, or 'host key generate' on its first host";
}

u16 key_id(void)
{
	guard(&lock);
	return key.id;
}

u16 key_line(char out[KEY_LINE])
{
	guard(&lock);
	print_key(&key, out);
	return key.id;
}

void key_words(char *out, size_t size)
{
	guard(&lock);
	if (key.id)
		snprintf(out, size, "key %u, fingerprint %08llx", key.id,
			 (unsigned long long)(xxh64(key.bytes, key.len, 0x6d657368) >> 32));
	else
		snprintf(out, size, "none here: %s", D.insecure ?
			 "insecure, any host may log in, and one that has a key refuses this one" :
			 "other hosts can neither be used nor use this one until it has the cluster's "
			 "(meshctl host key set)");
}

/* Both files are replaced, or none: the disk may be full. */
static int keep_keys(const struct key *k, const struct key *old)
{
	char line[KEY_LINE];
	int err;

	print_key(old, line);
	err = state_prepare("key.old", line);
	print_key(k, line);
	if (err)
		return err;
	err = state_prepare("key", line);
	if (err) {
		state_drop("key.old");
		return err;
	}
	err = state_commit("key.old");
	if (err) {
		state_drop("key");
		return err;
	}
	err = state_commit("key");
	if (!err)
		return 0;
	print_key(&old_key, line);
	if (state_write("key.old", line))
		log_error("%s/key.old: the key that was in it is lost", D.state);
	return err;
}

/*
 * The key before stays valid for hosts that have not got the new one yet. Context: changing
 * held.
 */
static int key_use(const struct key *k)
{
	struct key old = k->id ? key : (struct key) { 0 };
	int err = keep_keys(k, &old);

	if (err)
		return err;
	pthread_mutex_lock(&lock);
	old_key = old;
	key = *k;
	D.cluster = k->cluster;
	pthread_mutex_unlock(&lock);
	push_links();
	return 0;
}

int key_generate(void)
{
	struct key k;

	guard(&changing);
	k = (struct key) { .id = key.id % 0xffff + 1, .cluster = key.cluster, .len = KEY_BYTES };
	if (muuid_null(&k.cluster))
		uuid_random(&k.cluster);
	if (getrandom(k.bytes, k.len, 0) != (ssize_t)k.len)
		return -EIO;
	return key_use(&k);
}

/* Hosts given the same bare key agree on the cluster without a message. */
static int parse_bare(const char *hex, u16 id, struct key *k)
{
	u64 half[2];
	int n = unhex(hex, k->bytes, sizeof(k->bytes));

	if (n < 16 || !id)
		return -EINVAL;
	k->id = id;
	k->len = n;
	k->cluster = key.cluster;
	if (muuid_null(&k->cluster)) {
		half[0] = xxh64(k->bytes, n, 1);
		half[1] = xxh64(k->bytes, n, 2);
		memcpy(k->cluster.b, half, sizeof(half));
		muuid_mark_random(&k->cluster);
	}
	return 0;
}

int key_set(const char *text, u16 id)
{
	struct key k = { 0 };
	int err;

	guard(&changing);
	err = parse_key(text, &k);
	if (err)
		err = parse_bare(text, id, &k);
	if (err)
		return err;
	if (k.id == key.id && k.len == key.len && !memcmp(k.bytes, key.bytes, k.len))
		return 0;
	return key_use(&k);
}

int key_clear(void)
{
	struct key none = { 0 };

	guard(&changing);
	return key_use(&none);
}
