// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a host comes into a cluster and out of it: several hosts in one process, each with a state
 * folder, over TLS on loopback. The kernel below is one of the test.
 */
#include "daemon_cluster_rig.h"

static void test_first_start(void)
{
	struct cluster_file f, again;
	struct stat st;

	begin();
	f = file_of(&H[1]);
	OK(stat(path_in(&H[1], "keys"), &st));
	CU_ASSERT_EQUAL(st.st_mode & 07777, 0600);
	CU_ASSERT_TRUE(f.alone && f.founded && f.role == PLAN_STORE && f.masters.now.id == 1);
	CU_ASSERT_TRUE(!f.masters.before.id && muuid_equal(&f.host, &H[1].uuid) && !muuid_null(&f.cluster));
	CU_ASSERT_TRUE(cluster_alone(H[1].c) && cluster_role(H[1].c) == PLAN_STORE);
	again = file_of(&H[2]);
	CU_ASSERT_FALSE(secret_equal(&f.masters.now.key, &again.masters.now.key));
	CU_ASSERT_FALSE(secret_equal(&f.label, &again.label) || secret_equal(&f.label, &f.masters.now.key));
	again.cluster = cluster_in_store(&H[1]);
	CU_ASSERT_TRUE(muuid_equal(&again.cluster, &f.cluster));
	host_again(&H[1]);
	again = file_of(&H[1]);
	CU_ASSERT_EQUAL(memcmp(&again, &f, sizeof(f)), 0);
	OK(cluster_removed(H[1].c, NULL, 0));
	CU_ASSERT_FALSE(connects(H[1].port));
	end();
}

/* A crash between the file and the store's first transaction. */
static void test_found_again(void)
{
	struct cluster_file f;
	char words[CLUSTER_FILE_WHY];

	begin();
	host_close(&H[1]);
	f = file_of(&H[1]);
	f.founded = false;
	OK(cluster_file_write(path_in(&H[1], "keys"), &f, words));
	host_open(&H[1]);
	CU_ASSERT_TRUE(file_of(&H[1]).founded);
	/* The file was lost with a store that has keys: what is there is not this cluster's. */
	host_close(&H[1]);
	f.cluster.b[0] ^= 1;
	OK(cluster_file_write(path_in(&H[1], "keys"), &f, words));
	{
		char from[128], to[128];
		struct muuid was = f.cluster;

		was.b[0] ^= 1;
		snprintf(from, sizeof(from), "%s/cluster-%s.db", H[1].folder, muuid_str(&was).s);
		snprintf(to, sizeof(to), "%s/cluster-%s.db", H[1].folder, muuid_str(&f.cluster).s);
		OK(rename(from, to));
	}
	CU_ASSERT_EQUAL(host_try(&H[1]), -EEXIST);
	SAYS("is not empty");
	end();
}

/* A store that is gone is not founded again: recover alone may decide what it was. */
static void test_store_gone(void)
{
	struct cluster_file f;
	struct muuid none;
	char path[160];

	begin();
	host_close(&H[1]);
	f = file_of(&H[1]);
	snprintf(path, sizeof(path), "%s/cluster-%s.db", H[1].folder, muuid_str(&f.cluster).s);
	OK(unlink(path));
	host_open(&H[1]);
	CU_ASSERT_PTR_NOT_NULL(strstr(last_log, "is gone"));
	none = cluster_in_store(&H[1]);
	CU_ASSERT_TRUE(muuid_null(&none));
	end();
}

static void test_file_refused(void)
{
	char text[4096], words[CLUSTER_FILE_WHY];
	struct cluster_file f;
	unsigned int taken = 0;
	int n;

	begin();
	host_close(&H[1]);
	n = file_read(path_in(&H[1], "keys"), text, sizeof(text), true);
	CU_ASSERT_FATAL(n > 200);
	for (int i = 0; i < n; i++) {
		text[i] ^= 1;
		OK(file_replace(path_in(&H[1], "keys"), text, n));
		taken += cluster_file_read(path_in(&H[1], "keys"), &f, words) != -EUCLEAN;
		text[i] ^= 1;
		OK(file_replace(path_in(&H[1], "keys"), text, i));
		taken += cluster_file_read(path_in(&H[1], "keys"), &f, words) != -EUCLEAN;
	}
	CU_ASSERT_EQUAL(taken, 0);
	CU_ASSERT_EQUAL(host_try(&H[1]), -EUCLEAN);
	SAYS("damaged");
	OK(file_replace(path_in(&H[1], "keys"), text, n));
	OK(chmod(path_in(&H[1], "keys"), 0640));
	CU_ASSERT_EQUAL(host_try(&H[1]), -EPERM);
	SAYS("mode 600");
	OK(chmod(path_in(&H[1], "keys"), 0600));
	snprintf(text, sizeof(text), "%s/elsewhere", H[1].folder);
	OK(rename(path_in(&H[1], "keys"), text));
	OK(symlink(text, path_in(&H[1], "keys")));
	CU_ASSERT_EQUAL(host_try(&H[1]), -EPERM);
	end();
}

static void test_durable(void)
{
	begin();
	memset(order, 0, sizeof(order));
	ordered = true;
	OK(file_replace(path_in(&H[1], "some"), "x", 1));
	ordered = false;
	CU_ASSERT_STRING_EQUAL(order, "frd");
	end();
}

/* A folder that was copied to another machine, which has a UUID of its own by now. */
static void test_copied(void)
{
	struct cluster_file f, now;
	struct muuid was;
	char aside[160];

	begin();
	cluster_of(&H[0]);
	host_close(&H[0]);
	was = H[0].uuid;
	f = file_of(&H[0]);
	H[0].uuid.b[5] = 9;
	host_open(&H[0]);
	CU_ASSERT_TRUE(cluster_alone(H[0].c));
	CU_ASSERT_FALSE(of_cluster(&H[0], &f.cluster));
	now = file_of(&H[0]);
	CU_ASSERT_FALSE(secret_equal(&f.masters.now.key, &now.masters.now.key));
	CU_ASSERT_PTR_NOT_NULL(strstr(last_log, "not this host's"));
	snprintf(aside, sizeof(aside), "%s/keys.of-%s", H[0].folder, muuid_str(&was).s);
	OK(access(aside, R_OK));
	end();
}

static void test_init(void)
{
	const struct key k = { .kind = KEY_CLUSTER };
	struct cluster_file before, after;
	union obj_any x;

	begin();
	before = file_of(&H[0]);
	OK(cluster_removed(H[0].c, NULL, 0));
	CU_ASSERT_FALSE(connects(H[0].port));
	CU_ASSERT_EQUAL(cluster_init(H[0].c, "two\nlines", why), -EINVAL);
	block_file(&H[0], true);
	CU_ASSERT_NOT_EQUAL(cluster_init(H[0].c, "lab", why), 0);
	CU_ASSERT_TRUE(cluster_alone(H[0].c));
	CU_ASSERT_FALSE(connects(H[0].port));
	block_file(&H[0], false);
	OK(cluster_init(H[0].c, "lab", why));
	CU_ASSERT_FALSE(cluster_alone(H[0].c) || cluster_again(H[0].c));
	CU_ASSERT_TRUE(connects(H[0].port));
	after = file_of(&H[0]);
	CU_ASSERT_FALSE(after.alone);
	CU_ASSERT_TRUE(secret_equal(&before.masters.now.key, &after.masters.now.key));
	CU_ASSERT_TRUE(secret_equal(&before.label, &after.label));
	OK(get(&H[0], &k, &x));
	CU_ASSERT_STRING_EQUAL(x.cluster.name, "lab");
	obj_free(KEY_CLUSTER, &x);
	CU_ASSERT_EQUAL(cluster_init(H[0].c, NULL, why), -EEXIST);
	/* After a start it is closed until the hosts that are removed are known. */
	host_again(&H[0]);
	CU_ASSERT_FALSE(connects(H[0].port));
	OK(cluster_removed(H[0].c, NULL, 0));
	CU_ASSERT_TRUE(connects(H[0].port));
	end();
}

/* Begun before the removed hosts were read: none is admitted yet. */
static void test_init_early(void)
{
	begin();
	OK(cluster_init(H[0].c, NULL, why));
	CU_ASSERT_FALSE(connects(H[0].port));
	OK(cluster_removed(H[0].c, NULL, 0));
	CU_ASSERT_TRUE(connects(H[0].port));
	end();
}

/* The port is taken: the cluster is there, and the port opens later. */
static void test_port_taken(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd;

	begin();
	a.sin_port = htons(H[0].port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	OK(bind(fd, (void *)&a, sizeof(a)));
	OK(listen(fd, 1));
	OK(cluster_removed(H[0].c, NULL, 0));
	CU_ASSERT_EQUAL(cluster_init(H[0].c, NULL, why), -EADDRINUSE);
	CU_ASSERT_FALSE(cluster_alone(H[0].c));
	CU_ASSERT_EQUAL(cluster_removed(H[0].c, NULL, 0), -EADDRINUSE);
	close(fd);
	OK(cluster_removed(H[0].c, NULL, 0));
	CU_ASSERT_TRUE(connects(H[0].port));
	end();
}

static void test_token(void)
{
	struct token t;

	begin();
	CU_ASSERT_EQUAL(cluster_token(H[0].c, PLAN_CLIENT, 0, token, why), -EINVAL);
	SAYS("in no cluster");
	cluster_of(&H[0]);
	CU_ASSERT_EQUAL(cluster_token(H[0].c, PLAN_STORE, 0, token, why), -EINVAL);
	SAYS("etcd");
	CU_ASSERT_EQUAL(cluster_token(H[0].c, 0, 0, token, why), -EINVAL);
	CU_ASSERT_EQUAL(cluster_token(H[0].c, 9, 0, token, why), -EINVAL);
	CU_ASSERT_EQUAL(cluster_token(H[0].c, PLAN_CLIENT, 31 * 86400, token, why), -EINVAL);
	OK(cluster_token(H[0].c, PLAN_CLIENT, 30 * 86400, token, why));
	OK(token_parse(token, &t));
	CU_ASSERT_EQUAL(t.addresses, 1);
	CU_ASSERT_EQUAL(t.address[0].port, H[0].port);
	joined(&H[1], PLAN_STORAGE);
	CU_ASSERT_EQUAL(cluster_token(H[1].c, PLAN_CLIENT, 0, token, why), -EACCES);
	SAYS("store host");
	end();
}

/* Without store = the addresses are those of store hosts in the store, and of no others. */
static void test_token_addresses(void)
{
	struct token t;

	begin();
	H[0].conf[0] = 0;
	host_again(&H[0]);
	cluster_of(&H[0]);
	CU_ASSERT_EQUAL(cluster_token(H[0].c, PLAN_CLIENT, 0, token, why), -EADDRNOTAVAIL);
	SAYS("store = ADDRESS");
	put_host(&H[0], &H[1], PLAN_STORAGE, "192.0.2.1");
	CU_ASSERT_EQUAL(cluster_token(H[0].c, PLAN_CLIENT, 0, token, why), -EADDRNOTAVAIL);
	put_host(&H[0], &H[0], PLAN_STORE, "127.0.0.1");
	OK(cluster_token(H[0].c, PLAN_CLIENT, 0, token, why));
	OK(token_parse(token, &t));
	CU_ASSERT_EQUAL(t.addresses, 1);
	CU_ASSERT_STRING_EQUAL(t.address[0].name, "127.0.0.1");
	CU_ASSERT_EQUAL(t.address[0].port, H[0].port);
	end();
}

static void test_join(void)
{
	struct cluster_file own, client, storage;
	struct secret derived;
	struct muuid u;
	char former[160];

	begin();
	cluster_of(&H[0]);
	own = file_of(&H[0]);
	client = file_of(&H[1]);
	snprintf(former, sizeof(former), "%s/cluster-%s.db", H[1].folder, muuid_str(&client.cluster).s);
	OK(access(former, R_OK));
	joined(&H[1], PLAN_CLIENT);
	joined(&H[2], PLAN_STORAGE);
	client = file_of(&H[1]);
	storage = file_of(&H[2]);
	CU_ASSERT_TRUE(access(former, R_OK) < 0);
	CU_ASSERT_TRUE(muuid_equal(&client.cluster, &own.cluster) && muuid_equal(&storage.cluster, &own.cluster));
	CU_ASSERT_TRUE(client.role == PLAN_CLIENT && storage.role == PLAN_STORAGE);
	CU_ASSERT_FALSE(client.alone || storage.alone || client.masters.now.id);
	secret_host(&own.masters.now, &H[1].uuid, PLAN_CLIENT, &derived);
	CU_ASSERT_TRUE(secret_equal(&client.own.now.key, &derived));
	memset(&derived, 0, sizeof(derived));
	CU_ASSERT_TRUE(secret_equal(&client.label, &derived) && secret_equal(&client.masters.now.key, &derived));
	CU_ASSERT_TRUE(secret_equal(&storage.masters.now.key, &own.masters.now.key));
	CU_ASSERT_TRUE(secret_equal(&storage.label, &own.label));
	for (int i = 1; i < HOSTS; i++) {
		u = cluster_in_store(&H[i]);
		CU_ASSERT_TRUE(muuid_equal(&u, &own.cluster));
		CU_ASSERT_EQUAL(cluster_init(H[i].c, NULL, why), -EEXIST);
		CU_ASSERT_EQUAL(cluster_join(H[i].c, token, why), -EEXIST);
	}
	end();
}

static void refuse_own(const char *name)
{
	why[0] = 0;
	CU_ASSERT_EQUAL(cluster_join(H[1].c, token, why), -EBUSY);
	SAYS(name);
	CU_ASSERT_TRUE(cluster_alone(H[1].c) && !cluster_again(H[1].c));
}

static void test_join_used(void)
{
	struct obj_task t = { .uuid = { .b = { 7 } }, .verb = "drive export", .state = OBJ_TASK_RUNNING,
			      .host = H[1].uuid };

	begin();
	cluster_of(&H[0]);
	OK(cluster_token(H[0].c, PLAN_STORAGE, 0, token, why));
	put_drive(&H[1], &H[1].uuid);
	refuse_own("/dev/nvme7n1");
	erase(&H[1], "drive/0d010000-0000-0000-0000-000000000000");
	t.host = H[1].uuid;
	put(&H[1], KEY_TASK, &t);
	refuse_own("task 07000000");
	/* The token was not used up by what is refused here. */
	OK(cluster_join(H[2].c, token, why));
	t.state = OBJ_TASK_DONE;
	put(&H[1], KEY_TASK, &t);
	OK(cluster_token(H[0].c, PLAN_STORAGE, 0, token, why));
	OK(cluster_join(H[1].c, token, why));
	end();
}

static void test_join_refused(void)
{
	struct cluster_file was;

	begin();
	cluster_of(&H[0]);
	was = file_of(&H[1]);
	CU_ASSERT_EQUAL(cluster_join(H[1].c, "a word", why), -EINVAL);
	SAYS("no token");
	OK(cluster_token(H[0].c, PLAN_CLIENT, 0, token, why));
	token[strlen(token) - 1] ^= 1;
	CU_ASSERT_EQUAL(cluster_join(H[1].c, token, why), -EBADMSG);
	SAYS("damaged");
	token[strlen(token) - 1] ^= 1;
	/* A host that is in a cluster has begun, or joined, one. */
	CU_ASSERT_EQUAL(cluster_join(H[0].c, token, why), -EEXIST);
	OK(cluster_join(H[1].c, token, why));
	CU_ASSERT_EQUAL(cluster_join(H[2].c, token, why), -EACCES);
	SAYS("another host");
	CU_ASSERT_FALSE(cluster_again(H[2].c));
	CU_ASSERT_FALSE(of_cluster(&H[1], &was.cluster));
	end();
}

/* The answer came, and the file was not written: the host repeats the join with the same token. */
static void test_join_crash(void)
{
	begin();
	cluster_of(&H[0]);
	OK(cluster_token(H[0].c, PLAN_CLIENT, 0, token, why));
	block_file(&H[1], true);
	CU_ASSERT_NOT_EQUAL(cluster_join(H[1].c, token, why), 0);
	CU_ASSERT_TRUE(cluster_alone(H[1].c) && !cluster_again(H[1].c));
	block_file(&H[1], false);
	host_again(&H[1]);
	CU_ASSERT_TRUE(cluster_alone(H[1].c));
	OK(cluster_join(H[1].c, token, why));
	host_again(&H[1]);
	CU_ASSERT_EQUAL(cluster_role(H[1].c), PLAN_CLIENT);
	end();
}

static void test_roles_and_etcd(void)
{
	struct token t = { .role = PLAN_STORE, .key_id = 1, .id = { .b = { 1 } }, .addresses = 1 };

	begin();
	cluster_of(&H[0]);
	strcpy(t.address[0].name, "127.0.0.1");
	t.address[0].port = H[0].port;
	OK(token_print(&t, token));
	CU_ASSERT_EQUAL(cluster_join(H[1].c, token, why), -EINVAL);
	SAYS("store = etcd");
	strcpy(H[1].conf, "etcd https://e1:2379");
	host_again(&H[1]);
	CU_ASSERT_TRUE(cluster_alone(H[1].c));
	OK(cluster_token(H[0].c, PLAN_CLIENT, 0, token, why));
	CU_ASSERT_EQUAL(cluster_join(H[1].c, token, why), -EINVAL);
	SAYS("for store hosts");
	H[1].conf[0] = 0;
	host_again(&H[1]);
	OK(cluster_join(H[1].c, token, why));
	strcpy(H[1].conf, "etcd https://e1:2379");
	host_close(&H[1]);
	CU_ASSERT_EQUAL(host_try(&H[1]), -EINVAL);
	SAYS("role is client");
	end();
}

static bool removed_in_store(const struct muuid *host)
{
	const struct key k = { .kind = KEY_HOST, .host = *host };
	union obj_any x;
	bool is = !get(&H[0], &k, &x) && x.host.plan.removed;

	obj_free(KEY_HOST, &x);
	return is;
}

static void test_leave(void)
{
	struct muuid was;
	struct cluster_file f;

	begin();
	CU_ASSERT_EQUAL(cluster_leave(H[1].c, why), -EINVAL);
	cluster_of(&H[0]);
	CU_ASSERT_EQUAL(cluster_leave(H[0].c, why), -EINVAL);
	SAYS("has the cluster's store");
	joined(&H[1], PLAN_CLIENT);
	was = H[1].uuid;
	OK(cluster_leave(H[1].c, why));
	CU_ASSERT_TRUE(renewed && cluster_again(H[1].c) && removed_in_store(&was));
	host_again(&H[1]);
	f = file_of(&H[1]);
	CU_ASSERT_TRUE(f.alone && f.role == PLAN_STORE && muuid_equal(&f.host, &H[1].uuid));
	CU_ASSERT_FALSE(of_cluster(&H[0], &f.cluster));
	joined(&H[1], PLAN_CLIENT);
	end();
}

static void refuse_leave(const char *name)
{
	why[0] = 0;
	CU_ASSERT_EQUAL(cluster_leave(H[1].c, why), -EBUSY);
	SAYS(name);
	CU_ASSERT_FALSE(renewed || cluster_again(H[1].c) || removed_in_store(&H[1].uuid));
}

static void test_leave_used(void)
{
	struct muuid v = { .b = { 5 } };
	struct obj_access a = { .volume = v, .plan = { .mode = PLAN_RW, .number = 1ULL << 52 | 1 << 16 } };
	struct obj_want w = { .volume = v, .mode = PLAN_RW };
	struct obj_reader r = { .volume = v, .plan = { .number = 1ULL << 52 | 1 << 16 } };
	char key[STORE_KEY_MAX];

	begin();
	cluster_of(&H[0]);
	joined(&H[1], PLAN_STORAGE);
	put_drive(&H[0], &H[0].uuid);
	erase(&H[0], "drive/0d010000-0000-0000-0000-000000000000");
	put_drive(&H[0], &H[1].uuid);
	refuse_leave("/dev/nvme7n1");
	erase(&H[0], "drive/0d010000-0000-0000-0000-000000000000");
	a.plan.holder = H[1].uuid;
	put(&H[0], KEY_ACCESS, &a);
	refuse_leave("attached volume 05000000");
	a.plan.holder = H[0].uuid;
	put(&H[0], KEY_ACCESS, &a);
	w.host = H[1].uuid;
	put(&H[0], KEY_WANT, &w);
	refuse_leave("volume to attach 05000000");
	snprintf(key, sizeof(key), "want/%s/%s", muuid_str(&H[1].uuid).s, muuid_str(&v).s);
	erase(&H[0], key);
	r.plan.host = H[1].uuid;
	put(&H[0], KEY_READER, &r);
	refuse_leave("attached volume 05000000");
	snprintf(key, sizeof(key), "reader/%s/%s", muuid_str(&v).s, muuid_str(&H[1].uuid).s);
	erase(&H[0], key);
	/* Those of others are nothing to it. */
	put_drive(&H[0], &H[0].uuid);
	w.host = H[0].uuid;
	put(&H[0], KEY_WANT, &w);
	OK(cluster_leave(H[1].c, why));
	end();
}

/* The next UUID was durable, and the file was not: it names a host that no longer is. */
static void test_leave_crash(void)
{
	char key[STORE_KEY_MAX];
	struct muuid was;

	begin();
	cluster_of(&H[0]);
	joined(&H[1], PLAN_CLIENT);
	block_file(&H[1], true);
	was = H[1].uuid;
	CU_ASSERT_NOT_EQUAL(cluster_leave(H[1].c, why), 0);
	CU_ASSERT_TRUE(renewed && !removed_in_store(&was));
	block_file(&H[1], false);
	host_again(&H[1]);
	CU_ASSERT_TRUE(cluster_alone(H[1].c));
	/* The tombstone cannot be written: the host has left, and the log says what is to be done. */
	joined(&H[1], PLAN_CLIENT);
	snprintf(key, sizeof(key), "host/%s", muuid_str(&H[1].uuid).s);
	erase(&H[0], key);
	OK(cluster_leave(H[1].c, why));
	CU_ASSERT_PTR_NOT_NULL(strstr(last_log, "meshctl host remove"));
	host_again(&H[1]);
	CU_ASSERT_TRUE(cluster_alone(H[1].c));
	end();
}

static void test_removed(void)
{
	struct store *s;
	struct store_page p;
	int err;

	begin();
	cluster_of(&H[0]);
	joined(&H[1], PLAN_CLIENT);
	s = store_of(&H[1]);
	OK(store_get(s, "cluster", &p));
	store_page_free(&p);
	OK(cluster_removed(H[0].c, &H[1].uuid, 1));
	store_timeout(s, 100);
	do {
		err = store_get(s, "cluster", &p);
		store_page_free(&p);
	} while (!err);
	CU_ASSERT_NOT_EQUAL(err, -ENOENT);
	/* After a start as well. */
	host_again(&H[0]);
	OK(cluster_removed(H[0].c, &H[1].uuid, 1));
	err = store_get(s, "cluster", &p);
	store_page_free(&p);
	CU_ASSERT_NOT_EQUAL(err, 0);
	/* And a list without it admits it. */
	OK(cluster_removed(H[0].c, NULL, 0));
	store_timeout(s, 30000);
	OK(store_get(s, "cluster", &p));
	store_page_free(&p);
	store_close(s);
	end();
}

static void test_kernel_keys(void)
{
	struct cluster_file f;

	begin();
	f = file_of(&H[1]);
	OK(cluster_identity(H[1].c, true));
	CU_ASSERT_TRUE(K.calls[0] == 1 && K.calls[1] == 1 && K.n == 1);
	CU_ASSERT_TRUE(K.key[0].kind == MESH_KEY_MASTER && K.key[0].id == 1 && K.key[0].role == MESHBLK_HOST_STORE);
	CU_ASSERT_TRUE(K.key[0].len == SECRET_BYTES && muuid_equal(&K.host, &H[1].uuid));
	CU_ASSERT_EQUAL(memcmp(K.bytes[0], f.masters.now.key.b, SECRET_BYTES), 0);
	OK(cluster_identity(H[1].c, false));
	CU_ASSERT_TRUE(K.calls[0] == 2 && K.calls[1] == 1);
	K.err = -ENOENT;
	CU_ASSERT_EQUAL(cluster_identity(H[1].c, true), -ENOPKG);
	CU_ASSERT_TRUE(K.calls[0] == 3 && K.calls[1] == 2);
	K.err = 0;
	cluster_of(&H[0]);
	joined(&H[1], PLAN_CLIENT);
	f = file_of(&H[1]);
	OK(cluster_identity(H[1].c, true));
	CU_ASSERT_TRUE(K.key[0].kind == MESH_KEY_OWN && K.key[0].role == MESHBLK_HOST_CLIENT);
	CU_ASSERT_EQUAL(memcmp(K.bytes[0], f.own.now.key.b, SECRET_BYTES), 0);
	end();
}

/* The target's kernel gets the list once it is known, and each other one: the keys are another number. */
static void test_kernel_removed(void)
{
	u64 keys;

	begin();
	OK(cluster_identity(H[1].c, true));
	CU_ASSERT_EQUAL(K.lists, 0);
	keys = cluster_keys(H[1].c);
	OK(cluster_removed(H[1].c, NULL, 0));
	CU_ASSERT_NOT_EQUAL(cluster_keys(H[1].c), keys);
	OK(cluster_identity(H[1].c, true));
	CU_ASSERT_TRUE(K.lists == 1 && !K.removeds);
	keys = cluster_keys(H[1].c);
	OK(cluster_removed(H[1].c, NULL, 0));
	CU_ASSERT_EQUAL(cluster_keys(H[1].c), keys);
	OK(cluster_removed(H[1].c, &H[2].uuid, 1));
	CU_ASSERT_NOT_EQUAL(cluster_keys(H[1].c), keys);
	OK(cluster_identity(H[1].c, true));
	CU_ASSERT_TRUE(K.removeds == 1 && muuid_equal(&K.removed, &H[2].uuid));
	end();
}

static void spoil(struct host *h, const char *command)
{
	char text[256];

	host_close(h);
	snprintf(text, sizeof(text), command, h->folder);
	OK(system(text));
	host_open(h);
}

/* A target that starts while the store is away has the list that it saw last. */
static void test_kernel_removed_file(void)
{
	begin();
	cluster_of(&H[0]);
	OK(cluster_removed(H[0].c, &H[2].uuid, 1));
	host_again(&H[0]);
	K.lists = K.removeds = 0;
	OK(cluster_identity(H[0].c, true));
	CU_ASSERT_TRUE(K.lists == 1 && K.removeds == 1 && muuid_equal(&K.removed, &H[2].uuid));
	/* An empty list is one, too; what is damaged is none, and a list of another cluster neither. */
	OK(cluster_removed(H[0].c, NULL, 0));
	host_again(&H[0]);
	OK(cluster_identity(H[0].c, true));
	CU_ASSERT_TRUE(K.lists == 2 && !K.removeds);
	OK(cluster_removed(H[0].c, &H[2].uuid, 1));
	spoil(&H[0], "sed -i '3s/./x/' %s/removed");
	CU_ASSERT_PTR_NOT_NULL(strstr(last_log, "damaged"));
	OK(cluster_identity(H[0].c, true));
	CU_ASSERT_EQUAL(K.lists, 2);
	OK(cluster_removed(H[0].c, &H[2].uuid, 1));
	spoil(&H[0], "truncate -s -1 %s/removed");
	OK(cluster_identity(H[0].c, true));
	CU_ASSERT_EQUAL(K.lists, 2);
	OK(cluster_removed(H[0].c, &H[2].uuid, 1));
	joined(&H[1], PLAN_STORAGE);
	spoil(&H[0], "true %s");
	OK(cluster_identity(H[0].c, true));
	CU_ASSERT_EQUAL(K.lists, 3);
	end();
}

/* A host that joins another cluster does not refuse what its former one has removed. */
static void test_removed_former(void)
{
	begin();
	OK(cluster_removed(H[1].c, &H[2].uuid, 1));
	cluster_of(&H[0]);
	joined(&H[1], PLAN_STORAGE);
	K.lists = 0;
	OK(cluster_identity(H[1].c, true));
	CU_ASSERT_EQUAL(K.lists, 0);
	end();
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "first start", test_first_start }, { "founded again", test_found_again },
		{ "store gone", test_store_gone }, { "file refused", test_file_refused },
		{ "durable", test_durable }, { "copied folder", test_copied }, { "init", test_init },
		{ "early init", test_init_early }, { "port taken", test_port_taken }, { "token", test_token },
		{ "addresses of tokens", test_token_addresses }, { "join", test_join },
		{ "join refused, own store", test_join_used }, { "join refused", test_join_refused },
		{ "join, crash", test_join_crash }, { "roles and etcd", test_roles_and_etcd },
		{ "leave", test_leave }, { "leave refused", test_leave_used },
		{ "leave, crash", test_leave_crash }, { "removed hosts", test_removed },
		{ "keys of the kernel", test_kernel_keys },
		{ "removed hosts, the kernel", test_kernel_removed },
		{ "removed hosts, from the file", test_kernel_removed_file },
		{ "removed hosts of a former cluster", test_removed_former }, { NULL, NULL },
	};

	return suite_main("daemon_cluster", tests);
}
