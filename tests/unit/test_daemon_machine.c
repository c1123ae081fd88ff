// SPDX-License-Identifier: GPL-2.0-only
/*
 * This machine: on which one the state folder is at home, the file "seen", and the addresses that other
 * hosts reach. IDs, interfaces and RDMA devices are the test's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "suite.h"
#include "userspace/daemon/disk.h"
#include "userspace/daemon/file.h"
#include "userspace/daemon/machine.h"
#include "userspace/daemon/machine_net.h"

#define OK(x)	CU_ASSERT_EQUAL((x), 0)

static char folder[64], state[80], why[MACHINE_WHY], said[1024];
static u8 os;				/* 0: no machine-id */
static int sync_err;
static u32 syncs;
static struct ifaddrs *interfaces;
static char host[256];

int __wrap_sd_id128_get_machine_app_specific(sd_id128_t app, sd_id128_t *out);
int __wrap_sd_id128_get_machine_app_specific(sd_id128_t app, sd_id128_t *out)
{
	(void)app;
	memset(out, os, sizeof(*out));
	return os ? 0 : -ENOENT;
}

int __wrap_getifaddrs(struct ifaddrs **out);
int __wrap_getifaddrs(struct ifaddrs **out)
{
	*out = interfaces;
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *i);
void __wrap_freeifaddrs(struct ifaddrs *i)
{
	(void)i;
}

int __wrap_gethostname(char *out, size_t n);
int __wrap_gethostname(char *out, size_t n)
{
	snprintf(out, n, "%s", host);
	return 0;
}

int fsync(int fd)
{
	__atomic_fetch_add(&syncs, 1, __ATOMIC_SEQ_CST);
	errno = sync_err;
	return fd < 0 || sync_err ? -1 : 0;
}

int disks_list(void *m, struct obj_disk **out, u32 *n)
{
	CU_ASSERT_PTR_EQUAL(m, &said);
	*out = calloc(1, sizeof(**out));
	*n = 1;
	return 0;
}

static void put(const char *path, const char *text)
{
	char whole[256], dir[256];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s/%s", folder, path);
	for (char *at = whole + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(at - whole), whole);
		mkdir(dir, 0700);
	}
	f = fopen(whole, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static void begin(void)
{
	static char board[80], boot[80], infiniband[80], modules[80];

	strcpy(folder, "/tmp/machine-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	snprintf(state, sizeof(state), "%s/state", folder);
	OK(mkdir(state, 0700));
	snprintf(board, sizeof(board), "%s/board", folder);
	snprintf(boot, sizeof(boot), "%s/boot", folder);
	snprintf(infiniband, sizeof(infiniband), "%s/infiniband", folder);
	snprintf(modules, sizeof(modules), "%s/modules", folder);
	machine_paths = (struct machine_paths) { board, boot, infiniband, modules };
	os = 1;
	sync_err = 0;
	interfaces = NULL;
	strcpy(host, "s1");
	said[0] = 0;
	put("board", "4c4c4544-0033-4d10-8051-b4c04f564432\n");
}

static void end(void)
{
	char rm[96];

	snprintf(rm, sizeof(rm), "rm -rf %s", folder);
	OK(system(rm));
}

#define OTHER_BOARD "4c4c4544-0033-4d10-8051-b4c04f564433\n"

static void test_first(void)
{
	struct muuid u, v;

	begin();
	OK(machine_home(state, &u, why));
	CU_ASSERT(!muuid_null(&u));
	OK(machine_home(state, &v, why));
	CU_ASSERT(muuid_equal(&u, &v));
	/* another folder is another host */
	put("other/x", "");
	snprintf(state, sizeof(state), "%s/other", folder);
	OK(machine_home(state, &v, why));
	CU_ASSERT(!muuid_equal(&u, &v));
	end();
}

static void test_moved(void)
{
	struct muuid u, v;

	for (int by = 0; by < 3; by++) {
		begin();
		OK(machine_home(state, &u, why));
		if (by != 0)
			os = 2;
		if (by != 1)
			put("board", OTHER_BOARD);
		CU_ASSERT_EQUAL(machine_home(state, &v, why), -EXDEV);
		CU_ASSERT(muuid_equal(&u, &v));
		CU_ASSERT_PTR_NOT_NULL(strstr(why, by == 0 ? "another firmware UUID than" : by == 1 ?
					      "another machine-id than" : "another machine-id and firmware UUID than"));
		CU_ASSERT_PTR_NOT_NULL(strstr(why, "identity accept"));
		/* it is refused at each start, until it is settled */
		CU_ASSERT_EQUAL(machine_home(state, &v, why), -EXDEV);
		if (by) {
			OK(machine_accept(state));
			OK(machine_home(state, &v, why));
			CU_ASSERT(muuid_equal(&u, &v));
		} else {
			OK(machine_renew(state, &v));
			CU_ASSERT(!muuid_equal(&u, &v) && !muuid_null(&v));
			OK(machine_home(state, &u, why));
			CU_ASSERT(muuid_equal(&u, &v));
		}
		end();
	}
}

/* Killed between the two files, a copy is refused as before. */
static void test_renew_cut(void)
{
	static const char *const files[] = { "host", "machine" };
	char new[128], rm[160];
	struct muuid u, v;

	for (int i = 0; i < 2; i++) {
		begin();
		OK(machine_home(state, &u, why));
		os = 2;
		snprintf(new, sizeof(new), "state/%s.new/x", files[i]);
		put(new, "");		/* a folder lies in the way of this file */
		CU_ASSERT(machine_renew(state, &v) < 0);
		CU_ASSERT_EQUAL(machine_home(state, &v, why), -EXDEV);
		snprintf(rm, sizeof(rm), "rm -rf %s/%s.new", state, files[i]);
		OK(system(rm));
		OK(machine_renew(state, &v));
		OK(machine_home(state, &v, why));
		CU_ASSERT(!muuid_equal(&u, &v));
		end();
	}
}

/* One of both may be unknown for a while: it is learnt, and never forgotten. */
static void test_learn(void)
{
	struct muuid u;

	begin();
	os = 0;
	OK(machine_home(state, &u, why));
	os = 1;
	OK(machine_home(state, &u, why));
	put("board", "Not Settable\n");
	OK(machine_home(state, &u, why));
	os = 2;
	CU_ASSERT_EQUAL(machine_home(state, &u, why), -EXDEV);
	os = 0;
	put("board", OTHER_BOARD);
	CU_ASSERT_EQUAL(machine_home(state, &u, why), -EXDEV);
	end();
	/* one is learnt while the other cannot be read */
	begin();
	os = 0;
	OK(machine_home(state, &u, why));
	os = 1;
	put("board", "");
	OK(machine_home(state, &u, why));
	put("board", OTHER_BOARD);
	CU_ASSERT_EQUAL(machine_home(state, &u, why), -EXDEV);
	end();
}

static void test_damaged(void)
{
	struct muuid u, v;
	char path[128];

	begin();
	OK(machine_home(state, &u, why));
	put("state/machine", "meshmachine1:what");
	CU_ASSERT_EQUAL(machine_home(state, &v, why), -EUCLEAN);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "damaged"));
	put("state/machine", "");
	CU_ASSERT_EQUAL(machine_home(state, &v, why), -EUCLEAN);
	snprintf(path, sizeof(path), "%s/machine", state);
	OK(unlink(path));
	put("state/host", "00000000-0000-0000-0000-000000000000\n");
	CU_ASSERT_EQUAL(machine_home(state, &v, why), -EUCLEAN);
	put("state/host", "s1\n");
	CU_ASSERT_EQUAL(machine_home(state, &v, why), -EUCLEAN);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "put the right one back"));
	put("state/host", muuid_str(&u).s);
	OK(machine_home(state, &v, why));
	CU_ASSERT(muuid_equal(&u, &v));
	/* the UUID of a host that was one is not made again */
	snprintf(path, sizeof(path), "%s/host", state);
	OK(unlink(path));
	CU_ASSERT_EQUAL(machine_home(state, &v, why), -ENOENT);
	CU_ASSERT(muuid_null(&v) && access(path, F_OK));
	end();
	/* none of the files can be written */
	begin();
	sync_err = EIO;
	CU_ASSERT_EQUAL(machine_home(state, &v, why), -EIO);
	end();
}

static void test_boot(void)
{
	struct muuid want, is;

	begin();
	is = machine_boot();
	CU_ASSERT(muuid_null(&is));
	put("boot", "0c000000-0000-4000-8000-000000000001\n");
	OK(muuid_parse("0c000000-0000-4000-8000-000000000001", &want));
	is = machine_boot();
	CU_ASSERT(muuid_equal(&want, &is));
	end();
}

static void log_words(void *priv, const char *words)
{
	(void)priv;
	snprintf(said, sizeof(said), "%s", words);
}

static struct this_machine *open_it(void)
{
	struct machine_config c = { .state = state, .log = log_words, .disks = (struct disks *)&said };
	struct this_machine *m = machine_open(&c);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	return m;
}

static int write_seen(struct this_machine *m, const struct obj_seen *s)
{
	int err;

	while ((err = machine_host_ops.seen_put(m, s)) == -EINPROGRESS)
		usleep(1000);
	return err;
}

static void test_seen(void)
{
	struct obj_seen s = { .plan = { .generation = 2, .id = "store 1", .term = 3, .revision = 4 } }, back;
	struct this_machine *m;
	char path[128], text[4096];
	int n;

	begin();
	s.plan.cluster.b[0] = 7;
	m = open_it();
	CU_ASSERT_EQUAL(machine_host_ops.seen_get(m, &back), -ENOENT);
	syncs = 0;
	CU_ASSERT_EQUAL(machine_host_ops.seen_put(m, &s), -EINPROGRESS);
	OK(write_seen(m, &s));
	CU_ASSERT(syncs >= 2);		/* file and folder */
	OK(machine_host_ops.seen_get(m, &back));
	CU_ASSERT(!memcmp(&back.plan, &s.plan, sizeof(s.plan)));
	obj_free(OBJ_SEEN, &back);
	/* a write that fails leaves the file as it was */
	s.plan.revision = 5;
	sync_err = EIO;
	CU_ASSERT_EQUAL(write_seen(m, &s), -EIO);
	sync_err = 0;
	OK(machine_host_ops.seen_get(m, &back));
	CU_ASSERT_EQUAL(back.plan.revision, 4);
	obj_free(OBJ_SEEN, &back);
	OK(write_seen(m, &s));
	machine_close(m);
	/* one byte that changed */
	snprintf(path, sizeof(path), "%s/seen", state);
	n = file_read(path, text, sizeof(text), false);
	CU_ASSERT_FATAL(n > 0);
	*strstr(text, "\"revision\":5") = ' ';
	put("state/seen", text);
	m = open_it();
	CU_ASSERT(machine_host_ops.seen_get(m, &back) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "/seen"));
	/* closed while a write is in flight, which goes on: file, then folder */
	syncs = 0;
	CU_ASSERT_EQUAL(machine_host_ops.seen_put(m, &s), -EINPROGRESS);
	machine_close(m);
	while (__atomic_load_n(&syncs, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
	machine_close(NULL);
	end();
}

static void facts_are(struct this_machine *m, const char *name, const char *module)
{
	struct obj_alive alive = { .started = 0 };
	struct obj_host h = { .plan.role = 0 };

	OK(machine_host_ops.facts(m, &h, &alive));
	CU_ASSERT_STRING_EQUAL(h.name, name);
	CU_ASSERT_STRING_EQUAL(alive.module, module);
	CU_ASSERT(alive.meshd[0] && alive.started && alive.format == OBJ_FORMAT(OBJ_MAJOR, OBJ_MINOR));
	obj_free(KEY_HOST, &h);
}

static void test_facts(void)
{
	struct this_machine *m;
	struct obj_disk *disk;
	char cut[OBJ_TEXT];
	u32 n;

	begin();
	m = open_it();
	facts_are(m, "s1", "");
	put("modules/meshblk/srcversion", "ABCDEF\n");
	strcpy(host, "s1.example.net");
	facts_are(m, "s1.example.net", "ABCDEF");
	put("modules/meshblk/version", "1.0\n");
	strcpy(host, "a b/\xc3\xa4");
	facts_are(m, "a-b---", "1.0");
	strcpy(host, "-x");
	facts_are(m, "", "1.0");
	/* what is too long is cut */
	memset(host, 'a', 100);
	host[100] = 0;
	memcpy(cut, host, sizeof(cut));
	cut[OBJ_TEXT - 1] = 0;
	facts_are(m, cut, "1.0");
	OK(machine_host_ops.disks(m, &disk, &n));
	CU_ASSERT_EQUAL(n, 1);
	free(disk);
	machine_host_ops.log(m, "words");
	CU_ASSERT_STRING_EQUAL(said, "words");
	machine_close(m);
	end();
}

/* Interfaces of the test: in the order that the kernel lists them in. */
static struct ifaddrs list[16];
static union {
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_ll ll;
} addr[16];
static size_t nr;

static void interface(const char *name, const char *text, u32 flags)
{
	struct ifaddrs *i = &list[nr];

	memset(i, 0, sizeof(*i));
	memset(&addr[nr], 0, sizeof(addr[nr]));
	i->ifa_name = (char *)name;
	i->ifa_flags = flags;
	i->ifa_addr = (void *)&addr[nr];
	if (inet_pton(AF_INET, text, &addr[nr].v4.sin_addr) == 1)
		addr[nr].v4.sin_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &addr[nr].v6.sin6_addr) == 1)
		addr[nr].v6.sin6_family = AF_INET6;
	else
		addr[nr].ll = (struct sockaddr_ll) { .sll_family = AF_PACKET, .sll_hatype = atoi(text) };
	if (nr)
		list[nr - 1].ifa_next = i;
	nr++;
	interfaces = list;
}

/* Joined by spaces. */
static const char *addresses(const char *listen)
{
	static char text[512];
	struct obj_address *a;
	size_t at = 0;
	u32 n;

	text[0] = 0;
	OK(machine_addresses(listen, 4500, &a, &n));
	CU_ASSERT_EQUAL(!n, !a);
	for (u32 i = 0; i < n; i++) {
		at += snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "", a[i].addr);
		CU_ASSERT_EQUAL(a[i].port, 4500);
	}
	free(a);
	return text;
}

static void usual_interfaces(void)
{
	nr = 0;
	interface("lo", "127.0.0.1", IFF_UP | IFF_LOOPBACK);
	interface("lo", "10.9.0.1", IFF_UP | IFF_LOOPBACK);
	interface("eth1", "192.168.7.2", IFF_UP);
	interface("eth1", "2001:db8::7", IFF_UP);
	interface("eth1", "fe80::1", IFF_UP);
	interface("eth0", "10.0.0.5", IFF_UP);
	interface("eth0", "10.0.0.5", IFF_UP);
	interface("eth2", "10.0.0.6", 0);
	interface("eth3", "169.254.1.1", IFF_UP);
	list[nr - 1].ifa_addr = (void *)&addr[nr - 1];
	interface("tun0", "10.1.1.1", IFF_UP);
	list[nr - 1].ifa_addr = NULL;
}

static void test_addresses(void)
{
	begin();
	usual_interfaces();
	/* no RDMA device */
	CU_ASSERT_STRING_EQUAL(addresses(NULL), "10.0.0.5 192.168.7.2 2001:db8::7");
	CU_ASSERT_STRING_EQUAL(addresses("10.3.3.3"), "10.3.3.3");
	/* RoCE: GIDs are addresses; the port of loopback's address, and one that is down, are none */
	put("infiniband/mlx0/ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001\n");
	put("infiniband/mlx0/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:c0a8:0702\n");
	put("infiniband/mlx0/ports/1/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	put("infiniband/mlx0/ports/2/gids/0", "0000:0000:0000:0000:0000:ffff:0a09:0001\n");
	put("infiniband/mlx0/ports/2/gids/1", "0000:0000:0000:0000:0000:ffff:0a00:0006\n");
	CU_ASSERT_STRING_EQUAL(addresses(NULL), "192.168.7.2");
	CU_ASSERT_STRING_EQUAL(addresses("0.0.0.0"), "192.168.7.2");
	CU_ASSERT_STRING_EQUAL(addresses("::"), "192.168.7.2");
	put("infiniband/mlx1/ports/1/gids/0", "2001:0db8:0000:0000:0000:0000:0000:0007\n");
	CU_ASSERT_STRING_EQUAL(addresses(NULL), "192.168.7.2 2001:db8::7");
	/* IP over InfiniBand */
	interface("ib0", "32", IFF_UP);
	interface("ib0", "10.5.0.1", IFF_UP);
	interface("ib0:1", "10.5.0.2", IFF_UP);
	interface("ib", "10.5.0.3", IFF_UP);
	CU_ASSERT_STRING_EQUAL(addresses(NULL), "10.5.0.1 10.5.0.2 192.168.7.2 2001:db8::7");
	end();
	/* a device whose ports are down: no address, not all */
	begin();
	usual_interfaces();
	put("infiniband/mlx0/node_type", "1\n");
	CU_ASSERT_STRING_EQUAL(addresses(NULL), "");
	end();
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "first start", test_first }, { "moved", test_moved }, { "renew is cut", test_renew_cut },
		{ "learn", test_learn }, { "damaged", test_damaged }, { "boot", test_boot },
		{ "seen", test_seen }, { "facts", test_facts }, { "addresses", test_addresses },
		{ NULL, NULL },
	};

	return suite_main("daemon machine", tests);
}
