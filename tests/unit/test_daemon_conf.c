// SPDX-License-Identifier: GPL-2.0-only
/* The daemon's configuration: its keys, the line of an error, what excludes each other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"
#include "userspace/daemon/conf.h"

static char folder[] = "/tmp/daemon-conf-XXXXXX";
static char path[64], why[CONF_WHY];
static struct daemon_conf c;

static int read_text(const char *text)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
	conf_usual(&c);
	why[0] = 0;
	return conf_read(&c, path, why);
}

static void test_usual(void)
{
	CU_ASSERT_EQUAL(read_text(""), 0);
	CU_ASSERT_STRING_EQUAL(c.state, "/var/lib/meshd");
	CU_ASSERT_STRING_EQUAL(c.socket, "/run/meshd/meshd.sock");
	CU_ASSERT_STRING_EQUAL(c.listen, "0.0.0.0");
	CU_ASSERT_EQUAL(c.port, 4421);
	CU_ASSERT_FALSE(c.no_target || c.debug || c.scrub_never);
	CU_ASSERT_FALSE(c.store[0] || c.hook[0] || c.ca[0] || c.cert[0] || c.key[0]);
}

static void test_keys(void)
{
	CU_ASSERT_EQUAL(read_text("listen = fe80::1%eth0\nport = 4500 # here\ntarget = no\ndebug = yes\n"
				  "scrub = never\nhook = /bin/hook\nca = /a\ncert = /b\nkey = /c\n"
				  "store = etcd https://e1:2379\n"), 0);
	CU_ASSERT_STRING_EQUAL(c.listen, "fe80::1%eth0");
	CU_ASSERT_EQUAL(c.port, 4500);
	CU_ASSERT_TRUE(c.no_target && c.debug && c.scrub_never);
	CU_ASSERT_STRING_EQUAL(c.hook, "/bin/hook");
	CU_ASSERT_STRING_EQUAL(c.ca, "/a");
	CU_ASSERT_STRING_EQUAL(c.cert, "/b");
	CU_ASSERT_STRING_EQUAL(c.key, "/c");
	CU_ASSERT_STRING_EQUAL(c.store, "etcd https://e1:2379");
	CU_ASSERT_EQUAL(read_text("target = yes\ndebug = no\nscrub = monthly\n"), 0);
	CU_ASSERT_FALSE(c.no_target || c.debug || c.scrub_never);
}

static void test_lists(void)
{
	CU_ASSERT_EQUAL(read_text("store = s1, s2:4500\nstore = 192.0.2.7\n"), 0);
	CU_ASSERT_STRING_EQUAL(c.store, "s1, s2:4500,192.0.2.7");
	CU_ASSERT_EQUAL(read_text("ca=/a\ncert=/b\nkey=/c\nstore = etcd https://e1:1\nstore = etcd https://e2:1\n"), 0);
	CU_ASSERT_STRING_EQUAL(c.store, "etcd https://e1:1,https://e2:1");
}

static void test_wrong(void)
{
	static const struct { const char *text, *says; } in[] = {
		{ "listen = 0.0.0.0\n\nlisten = here\n", "line 3: an IP address is wanted" },
		{ "port = 0\n", "line 1: a number from 1 to 65535" },
		{ "port = 65536\n", "line 1: a number from 1 to 65535" },
		{ "port = 44x\n", "line 1: a number from 1 to 65535" },
		{ "target = perhaps\n", "line 1: yes or no" },
		{ "debug = 2\n", "line 1: yes or no" },
		{ "scrub = daily\n", "line 1: monthly or never" },
		{ "hook = hook\n", "line 1: a path that begins with /" },
		{ "ca = ca.pem\n", "line 1: a path that begins with /" },
		{ "# a comment\nstorage = s1\n", "line 2: no such key" },
		{ "insecure = yes\n", "line 1: every host has a key" },
		{ "spare = auto\n", "line 1: spares belong to volumes" },
		{ "spare_delay = 5\n", "line 1: spares belong to volumes" },
		{ "store = s1\nstore = etcd https://e1:2379\n", "line 2: store hosts and endpoints" },
		{ "ca=/a\ncert=/b\nkey=/c\nstore = etcd https://e1:1\nstore = s1\n", "line 5: store hosts and" },
		{ "store = s1:0\n", "store: NAME or NAME:PORT" },
		{ "store = http://e1:2379\n", "store: NAME or NAME:PORT" },
		{ "ca=/a\ncert=/b\nkey=/c\nstore = etcd http://e1:1\n", "begins with https://" },
		{ "store = etcd https://e1:2379\n", "etcd needs ca, cert and key" },
		{ "store = ,\n", "names nothing" },
		{ "store = a,b,c,d,e,f,g,h,i\n", "more than 8 store hosts" },
	};

	for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++) {
		CU_ASSERT_EQUAL(read_text(in[i].text), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(why, in[i].says));
		CU_ASSERT_PTR_NOT_NULL(strstr(why, path));
		if (!strstr(why, in[i].says))
			printf("\n  %s says: %s", in[i].text, why);
	}
}

static void test_file(void)
{
	char text[9 << 10];

	memset(text, '\n', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	CU_ASSERT_EQUAL(read_text(text), -EFBIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "longer than 8 KiB"));
	unlink(path);
	CU_ASSERT_EQUAL(conf_read(&c, path, why), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, path));
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "usual values", test_usual }, { "keys", test_keys }, { "lists of addresses", test_lists },
		{ "wrong lines", test_wrong }, { "the file", test_file }, { NULL, NULL },
	};
	int ret;

	if (!mkdtemp(folder))
		return 2;
	snprintf(path, sizeof(path), "%s/meshd.conf", folder);
	ret = suite_main("daemon_conf", tests);
	unlink(path);
	rmdir(folder);
	return ret;
}
