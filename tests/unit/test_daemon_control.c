// SPDX-License-Identifier: GPL-2.0-only
/* The control socket of the daemon: bounds, several peers at once, and lines that make no sense. */
#include <sys/stat.h>

#include "tests/unit/api_rig.h"

#define STORM	3000

static u32 seed = 7;

static u32 draw(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static void line(struct client *k, const char *text)
{
	client_open(k);
	client_send(k, text, strlen(text));
}

static void test_lines(void)
{
	static const char *const bad[] = {
		"\n", "{}\n", "[]\n", "null\n", "{\"verb\":1}\n", "{\"verb\":\"version\",\"args\":[]}\n",
		"{\"verb\":\"version\",\"verb\":\"version\"}\n", "{\"verb\":\"version\"}\n{\"verb\":\"version\"}\n",
		"{\"verb\":\"version\"} x\n", "{\"verb\":\"\"}\n", "{\"verb\":\"volume\"}\n",
		"{\"verb\":\"volume frobnicate\",\"args\":{}}\n", "\xff\xfe\n",
	};
	struct client k;

	api_begin();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		line(&k, bad[i]);
		client_fails(&k, "usage", "");
	}
	line(&k, "{\"verb\":\"version\"}\n");
	client_ok(&k);
	client_close(&k);
	/* In pieces. */
	line(&k, "{\"verb\":\"ver");
	client_waits(&k, 2);
	client_send(&k, "sion\",\"args\":{}}", 16);
	client_waits(&k, 2);
	client_send(&k, "\n", 1);
	client_ok(&k);
	client_close(&k);
	api_end();
}

/* A peer that shuts down its sending side waits for the answer; one that has gone gets none. */
static void test_half(void)
{
	struct client k, w;

	api_begin();
	line(&k, "{\"verb\":\"version\"}\n");
	OK(shutdown(k.fd, SHUT_WR));
	client_ok(&k);
	client_close(&k);
	line(&k, "{\"verb\":\"version\"}");
	OK(shutdown(k.fd, SHUT_WR));
	client_fails(&k, "usage", "");
	client_request(&w, "drive export", "{'path':'s2:/dev/nvme2n1'}");
	OK(shutdown(w.fd, SHUT_WR));
	client_waits(&w, 5);
	client_close(&w);
	line(&k, "{\"verb\":\"ver");
	daemon_step();
	client_close(&k);
	daemon_step();
	line(&k, "{\"verb\":\"version\"}\n");
	client_ok(&k);
	client_close(&k);
	api_end();
}

/* A request has 1 MiB; what is longer is answered before all of it has come. */
static void test_long(void)
{
	char *text = malloc(2 << 20);
	struct client k;
	size_t at = 0;
	ssize_t n;

	api_begin();
	memset(text, ' ', 2 << 20);
	for (int i = 0; i < 2; i++) {
		size_t len = i ? (1 << 20) + 4096 : 900 << 10;

		client_open(&k);
		memcpy(text + len - 20, "{\"verb\":\"version\"}\n", 19);
		text[len - 1] = '\n';
		for (at = 0; at < len && !k.answer; ) {
			n = send(k.fd, text + at, len - 1 - at, MSG_NOSIGNAL);
			at += n > 0 ? (size_t)n : 0;
			if (at == len - 1)
				break;
			daemon_step();
			client_read(&k);
		}
		if (i)
			client_fails(&k, "usage", "at most 1 MiB");
		else
			client_ok(&k);
		client_close(&k);
		memset(text, ' ', 2 << 20);
	}
	free(text);
	api_end();
}

/* More requests than there is room for; @refused: how many of these are. */
static void many(struct client *k, unsigned int n, unsigned int refused)
{
	static const struct { const char *verb, *args; } waits[] = {
		{ "drive export", "{'path':'s2:/dev/nvme2n1'}" },
		{ "drive unexport", "{'drive':'s3:/dev/nvme0n1'}" },
		{ "volume attach", "{'volume':'data'}" },
		{ "volume detach", "{'volume':'data','hosts':['g1']}" },
	};
	unsigned int no = 0;

	for (unsigned int i = 0; i < n; i++) {
		client_request(&k[i], waits[i % 4].verb, waits[i % 4].args);
		daemon_step();		/* a backlog is shorter */
	}
	for (int t = 0; t < 3; t++)
		daemon_step();
	for (unsigned int i = 0; i < n; i++) {
		client_read(&k[i]);
		no += k[i].answer && strstr(text_of(k[i].answer, "error"), "too many requests");
	}
	CU_ASSERT_EQUAL(no, refused);
	for (unsigned int i = 0; i < n; i++)
		client_close(&k[i]);
	for (int t = 0; t < 3; t++)
		daemon_step();
}

/* Those whose peers have gone make room at once. */
static void test_many(void)
{
	static struct client k[70];
	struct muuid v;

	api_begin();
	does("volume create", "{'name':'data','size':67108864,'layout':'linear'}");
	v = volume_id("data");
	rig_put(A, KEY_WANT, &(struct obj_want) { .host = host_id(G1), .volume = v, .mode = PLAN_RO });
	many(k, 70, 6);
	many(k, 64, 0);
	line(&k[0], "{\"verb\":\"version\"}\n");
	client_ok(&k[0]);
	client_close(&k[0]);
	api_end();
}

/* A peer that does not read holds up no other one, and gets all of its answer in the end. */
static void test_slow(void)
{
	struct client slow, k;
	json_t *r = NULL;
	char *text = calloc(1, 4 << 20), *end;
	size_t len = 0;
	ssize_t n;
	int small = 4096;

	api_begin();
	for (u64 i = 0; i < 2000; i++) {
		struct obj_event e = { .host = host_id(S1), .serial = i, .at = i, .what = "word" };

		memset(e.words, 'x', 400);
		rig_put(A, KEY_EVENT, &e);
	}
	client_open(&slow);
	OK(setsockopt(slow.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)));
	client_send(&slow, "{\"verb\":\"event list\",\"args\":{\"last\":2000}}\n", 43);
	for (int i = 0; i < 5; i++)
		daemon_step();
	line(&k, "{\"verb\":\"version\"}\n");
	client_ok(&k);
	client_close(&k);
	for (int i = 0; i < 100000 && !r; i++) {
		n = recv(slow.fd, text + len, (4 << 20) - 1 - len, 0);
		len += n > 0 ? (size_t)n : 0;
		end = n > 0 ? strchr(text, '\n') : NULL;
		if (end)
			r = json_loadb(text, (size_t)(end - text), 0, NULL);
		else
			daemon_step();
	}
	CU_ASSERT_EQUAL(json_array_size(json_object_get(json_object_get(r, "result"), "events")), 2000);
	json_decref(r);
	client_close(&slow);
	free(text);
	api_end();
}

/* Progress that is not read is left out; the answer is not. */
static void test_chatter(void)
{
	struct obj_task t;
	struct client k;

	api_begin();
	client_request(&k, "drive export", "{'path':'s2:/dev/nvme2n1'}");
	daemon_step();
	for (u64 i = 1; i <= 6000; i++) {
		t = *last_task();
		t.state = OBJ_TASK_RUNNING;
		t.progress = (struct obj_progress) { i, 6000 };
		rig_put(A, KEY_TASK, &t);
		daemon_step();
	}
	t = *last_task();
	t.state = OBJ_TASK_DONE;
	rig_put(A, KEY_TASK, &t);
	daemon_step();
	client_ok(&k);
	CU_ASSERT(k.progress > 100 && k.progress < 6000);
	client_close(&k);
	api_end();
}

static void test_rights(void)
{
	struct stat s;
	struct client k;
	char run[80];

	api_begin();
	OK(stat(socket_path, &s));
	CU_ASSERT_EQUAL(s.st_mode & 0777, 0600);
	if (geteuid()) {
		api_end();
		return;
	}
	/* A mode that was widened by hand gives no rights. */
	snprintf(run, sizeof(run), "%s/run", folder);
	OK(chmod(socket_path, 0666));
	OK(chmod(run, 0755));
	OK(chmod(folder, 0755));
	OK(seteuid(65534));
	client_open(&k);
	OK(seteuid(0));
	client_send(&k, "{\"verb\":\"version\"}\n", 19);
	client_fails(&k, "refused", "only root");
	api_end();
}

/* Text of the storm: a request whose bytes are changed, or whose arguments are of other verbs. */
static size_t storm_line(char *out, size_t size)
{
	static const char *const values[] = {
		"true", "false", "null", "1", "-1", "0", "9223372036854775807", "1e300", "\"\"", "\"data\"", "\"s1\"", "\"max\"",
		"[]", "[\"\"]", "[\"s1\"]", "[\"s1\",\"s2\"]", "[1]", "{}", "{\"a\":{}}", "\"s2:/dev/nvme2n1\"", "\"on\"", "\"0\"",
		"\"linear\"", "\"ec:4+2\"", "\"mirror:2\"", "[\"a=b\"]", "[\"=\"]", "\"7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c11\"",
		"\"d0\"", "\"\\u0000\"", "\"%s%n\"", "\"host\"", "[\"all\"]",
	};
	static const char *const keys[] = {
		"volume", "name", "host", "hosts", "size", "layout", "drives", "drive", "path", "force", "all", "dry_run", "id",
		"member", "with", "spares", "allow", "task", "state", "rack", "labels", "readonly", "preempt", "attach", "token",
		"role", "expires", "last", "degraded", "lost", "domain", "strip", "groups",
	};
	u32 verbs_nr = 0, args = draw(6);
	size_t n;

	while (verbs[verbs_nr].words)
		verbs_nr++;
	n = (size_t)snprintf(out, size, "{\"verb\":\"%s\",\"args\":{", verbs[draw(verbs_nr)].words);
	for (u32 i = 0; i < args; i++)
		n += (size_t)snprintf(out + n, size - n, "%s\"%s\":%s", i ? "," : "",
				      keys[draw(sizeof(keys) / sizeof(keys[0]))],
				      values[draw(sizeof(values) / sizeof(values[0]))]);
	n += (size_t)snprintf(out + n, size - n, "}}\n");
	for (u32 i = draw(4) ? 0 : 1 + draw(3); i; i--)
		out[draw((u32)n - 1)] = (char)draw(256);
	return n;
}

static bool known(const char *kind)
{
	static const char *const kinds[] = { "not-found", "exists", "in-use", "refused", "no-space", "unreachable", "stopped",
					     "usage", "failed" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i]))
			return true;
	return false;
}

/* Each line gets an answer, or its request waits for the cluster. */
static void test_storm(void)
{
	unsigned int ok = 0, failed = 0, waited = 0;
	static struct client k;
	char text[4096];

	api_begin();
	cl.ret = -EIO;
	for (int i = 0; i < STORM; i++) {
		size_t n = storm_line(text, sizeof(text));

		client_open(&k);
		client_send(&k, text, n);
		for (int t = 0; t < 4 && !k.answer; t++) {
			daemon_step();
			client_read(&k);
		}
		if (!k.answer) {
			waited++;
		} else if (json_is_true(json_object_get(k.answer, "ok"))) {
			ok++;
		} else {
			failed++;
			CU_ASSERT(known(text_of(k.answer, "kind")) && text_of(k.answer, "error")[0]);
		}
		client_close(&k);
		if (!(i % 16))
			play();
	}
	CU_ASSERT(ok > STORM / 50 && failed > STORM / 4 && waited > 0);
	client_request(&k, "version", "{}");
	client_ok(&k);
	client_close(&k);
	api_end();
}

static const struct rig_test tests[] = {
	{ "lines", test_lines },
	{ "half closed", test_half },
	{ "long", test_long },
	{ "many", test_many },
	{ "slow", test_slow },
	{ "chatter", test_chatter },
	{ "rights", test_rights },
	{ "storm", test_storm },
};

int main(void)
{
	return rig_main("daemon_control", tests, sizeof(tests) / sizeof(tests[0]));
}
