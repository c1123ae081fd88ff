/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hosts with a state folder each, in one process, over TLS on loopback; the kernel below is one of
 * the test. Files are durable by order alone, which the test sees.
 */
#ifndef TESTS_UNIT_DAEMON_CLUSTER_RIG_H
#define TESTS_UNIT_DAEMON_CLUSTER_RIG_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"
#include "userspace/agent/deal.h"
#include "userspace/daemon/cluster_file.h"
#include "userspace/daemon/cluster.h"
#include "userspace/daemon/file.h"
#include "userspace/libmesh/mesh.h"

#define OK(x)		CU_ASSERT_EQUAL((x), 0)
#define SAYS(words)	do {						\
		CU_ASSERT_PTR_NOT_NULL(strstr(why, words));		\
		if (!strstr(why, words))				\
			printf("\n  %d: %s\n", __LINE__, why);		\
	} while (0)

#define HOSTS	3

/* One host: its folder, and its membership while it runs. */
struct host {
	char	folder[64], conf[64];
	struct muuid uuid;
	struct cluster *c;
	u16	port;
};

static struct host H[HOSTS];
static char why[CLUSTER_WHY], last_log[512];
static char token[TOKEN_TEXT];

/* The kernel, as the last identity_set left it. */
static struct {
	int	err;		/* of each call */
	unsigned int calls[2];	/* client, target */
	size_t	n;
	struct mesh_key key[2];
	u8	bytes[2][SECRET_BYTES];
	struct muuid host;
	unsigned int lists;	/* of removed hosts that were set */
	size_t	removeds;
	struct muuid removed;	/* the first one */
} K;

struct mesh *mesh_open(void)
{
	return (struct mesh *)&K;
}

void mesh_close(struct mesh *m)
{
	(void)m;
}

static int identity_set(int target, const struct muuid *host, const struct mesh_key *keys, size_t n)
{
	K.calls[target]++;
	if (K.err)
		return K.err;
	K.host = *host;
	K.n = n;
	for (size_t i = 0; i < n; i++) {
		K.key[i] = keys[i];
		memcpy(K.bytes[i], keys[i].key, SECRET_BYTES);
	}
	return 0;
}

int meshblk_identity_set(struct mesh *m, const struct muuid *host, const struct mesh_key *keys, size_t n)
{
	(void)m;
	return identity_set(0, host, keys, n);
}

int meshtgt_identity_set(struct mesh *m, const struct muuid *host, const struct mesh_key *keys, size_t n)
{
	(void)m;
	return identity_set(1, host, keys, n);
}

int meshtgt_identity_removed(struct mesh *m, const struct muuid *host, const struct mesh_key *keys,
			     size_t nr_keys, const struct muuid *removed, size_t n)
{
	(void)m;
	K.lists++;
	K.removeds = n;
	if (n)
		K.removed = removed[0];
	return identity_set(1, host, keys, nr_keys);
}

/* The order of what makes a file durable: f, a file; r, a rename; d, a folder. */
static char order[64];
static bool ordered;

static void note(char c)
{
	size_t n = strlen(order);

	if (ordered && n + 1 < sizeof(order))
		order[n] = c;
}

int fsync(int fd)
{
	struct stat st;

	if (!fstat(fd, &st))
		note(S_ISDIR(st.st_mode) ? 'd' : 'f');
	return 0;
}

int fdatasync(int fd)
{
	return fd < 0 ? -1 : 0;
}

int rename(const char *from, const char *to)
{
	note('r');
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static void keep_log(void *priv, const char *words)
{
	(void)priv;
	snprintf(last_log, sizeof(last_log), "%s", words);
}

/* As the machine's file "host" would. */
static bool renewed;

static int renew(void *priv, struct muuid *host)
{
	struct host *h = priv;

	h->uuid.b[1]++;
	*host = h->uuid;
	renewed = true;
	return 0;
}

static u16 free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CU_ASSERT_FATAL(fd >= 0 && !bind(fd, (void *)&a, n) && !getsockname(fd, (void *)&a, &n));
	close(fd);
	return ntohs(a.sin_port);
}

static int host_try(struct host *h)
{
	struct cluster_config c = { .host = h->uuid, .state = h->folder, .listen = "127.0.0.1", .port = h->port,
				    .store = h->conf[0] ? h->conf : NULL, .log = keep_log, .renew = renew,
				    .priv = h };

	why[0] = 0;
	return cluster_open(&c, &h->c, why);
}

static void host_open(struct host *h)
{
	int err = host_try(h);

	if (err)
		printf("\n  %s\n", why);
	CU_ASSERT_EQUAL_FATAL(err, 0);
}

static void host_close(struct host *h)
{
	cluster_close(h->c);
	h->c = NULL;
}

static void host_again(struct host *h)
{
	host_close(h);
	host_open(h);
}

static void begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	memset(&K, 0, sizeof(K));
	last_log[0] = 0;
	renewed = false;
	for (u8 i = 0; i < HOSTS; i++) {
		H[i] = (struct host) { .uuid = { .b = { 0xa0 + i, 1 } }, .port = free_port() };
		snprintf(H[i].folder, sizeof(H[i].folder), "%s/cluster-XXXXXX",
			 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
		CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(H[i].folder));
		host_open(&H[i]);
	}
	snprintf(H[0].conf, sizeof(H[0].conf), "127.0.0.1:%u", H[0].port);
	host_again(&H[0]);
}

static void end(void)
{
	char command[128];

	for (int i = 0; i < HOSTS; i++) {
		host_close(&H[i]);
		snprintf(command, sizeof(command), "rm -rf '%s'", H[i].folder);
		OK(system(command));
	}
}

static const char *path_in(const struct host *h, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", h->folder, name);
	return path;
}

static struct cluster_file file_of(const struct host *h)
{
	struct cluster_file f;
	char words[CLUSTER_FILE_WHY];

	OK(cluster_file_read(path_in(h, "keys"), &f, words));
	return f;
}

/* True if the file of @h is of this cluster. */
static bool of_cluster(const struct host *h, const struct muuid *cluster)
{
	struct cluster_file f = file_of(h);

	return muuid_equal(&f.cluster, cluster);
}

static bool connects(u16 port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is = !connect(fd, (void *)&a, sizeof(a));

	close(fd);
	return is;
}

static struct store *store_of(struct host *h)
{
	struct store *s = cluster_store(h->c);

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	store_timeout(s, 20000);
	return s;
}

/* Write an object into the store that @h follows. */
static void put(struct host *h, enum key_kind kind, void *x)
{
	struct store *s = store_of(h);
	struct copy *c = copy_open(s);
	struct deal d;
	struct key k;

	obj_key(kind, x, &k);
	OK(copy_fresh(c, &k));
	deal_begin(&d, c);
	deal_put(&d, kind, x, 0);
	CU_ASSERT_EQUAL(deal_close(&d, 10000), 1);
	if (d.why[0])
		printf("\n  %s\n", d.why);
	copy_close(c);
	store_close(s);
}

static void erase(struct host *h, const char *key)
{
	struct store *s = store_of(h);
	struct store_op op = { .key = key };

	CU_ASSERT_EQUAL(store_txn(s, &(struct store_txn) { NULL, 0, &op, 1 }, NULL), 1);
	store_close(s);
}

/* 0: @out is the key's object in the store that @h follows. */
static int get(struct host *h, const struct key *k, union obj_any *out)
{
	struct store *s = store_of(h);
	char key[STORE_KEY_MAX];
	struct store_page p = { 0 };
	int err = key_text(k, key);

	memset(out, 0, sizeof(*out));
	if (!err)
		err = store_get(s, key, &p);
	if (!err)
		err = obj_read(k, p.kv->value, p.kv->len, out, NULL, 0);
	store_page_free(&p);
	store_close(s);
	return err;
}

static struct muuid cluster_in_store(struct host *h)
{
	const struct key k = { .kind = KEY_CLUSTER };
	struct muuid u = { { 0 } };
	union obj_any x;

	if (!get(h, &k, &x))
		u = x.cluster.plan.uuid;
	obj_free(KEY_CLUSTER, &x);
	return u;
}

static void put_drive(struct host *h, const struct muuid *of)
{
	struct obj_drive d = { .plan = { .uuid = { .b = { 0xd, 1 } }, .host = *of, .wanted = PLAN_IN },
			       .path = "/dev/nvme7n1", .size = 1 << 30, .lba = 4096 };

	put(h, KEY_DRIVE, &d);
}

static void put_host(struct host *h, const struct host *of, u8 role, const char *addr)
{
	struct obj_address a = { .port = of->port };
	struct obj_host o = { .plan = { .uuid = of->uuid, .role = role }, .name = "a-host" };

	if (addr) {
		snprintf(a.addr, sizeof(a.addr), "%s", addr);
		o.address = &a;
		o.addresses = 1;
	}
	put(h, KEY_HOST, &o);
}

/* The first host begins a cluster, and its port is open. */
static void cluster_of(struct host *h)
{
	OK(cluster_init(h->c, NULL, why));
	OK(cluster_removed(h->c, NULL, 0));
}

static void joined(struct host *h, u8 role)
{
	OK(cluster_token(H[0].c, role, 0, token, why));
	why[0] = 0;
	OK(cluster_join(h->c, token, why));
	if (why[0])
		printf("\n  %s\n", why);
	CU_ASSERT_TRUE(cluster_again(h->c));
	host_again(h);
}

/* A file that cannot be replaced, as on a full disk. */
static void block_file(const struct host *h, bool blocked)
{
	const char *path = path_in(h, "keys.new");

	OK(blocked ? mkdir(path, 0700) : rmdir(path));
}

#endif
