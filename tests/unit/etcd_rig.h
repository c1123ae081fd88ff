/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Members of etcd, real ones, in a folder of their own and on free ports of loopback: started,
 * stopped, paused, killed. They end with the test program. What only tests request of etcd goes by
 * its JSON gateway.
 */
#ifndef TESTS_UNIT_ETCD_RIG_H
#define TESTS_UNIT_ETCD_RIG_H

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kernel.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/store/engine.h"
#include "userspace/store/etcd.h"

#define MEMBERS		3
#define PATIENCE_MS	60000	/* for a state to come on a loaded machine */

struct member {
	pid_t	pid;		/* 0: it does not run */
	unsigned short client, peer;
};

static struct member M[MEMBERS];
static unsigned int members;
static char folder[64];
/* More for the command line of each member. */
static const char *member_args[16];
static bool tls;		/* pki_all() has been called */

__attribute__((format(printf, 1, 2), noreturn))
static void give_up(const char *fmt, ...)
{
	char command[128];
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	snprintf(command, sizeof(command), "tail -n 12 %s/*.log >&2", folder);
	if (folder[0] && system(command))
		fprintf(stderr, "no logs\n");
	for (unsigned int i = 0; i < members; i++)
		if (M[i].pid)
			kill(M[i].pid, SIGKILL);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	if (folder[0] && system(command))
		fprintf(stderr, "%s stays\n", folder);
	exit(3);
}

static inline int port_fd(unsigned short *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (void *)&a, sizeof(a)) || getsockname(fd, (void *)&a, &len))
		give_up("no port of loopback is free: %s", strerror(errno));
	*port = ntohs(a.sin_port);
	return fd;
}

/* Below the ports that the kernel gives to connections, where one of those would take it. */
static inline void ports(void)
{
	int fd[2 * MEMBERS];

	for (int i = 0; i < MEMBERS; i++) {
		fd[2 * i] = port_fd(&M[i].client);
		fd[2 * i + 1] = port_fd(&M[i].peer);
	}
	for (int i = 0; i < 2 * MEMBERS; i++)
		close(fd[i]);
}

static inline void run(const char *fmt, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command))
		give_up("%s: failed", command);
}

static inline const char *cluster(void)
{
	static char text[256];
	size_t n = 0;

	for (unsigned int i = 0; i < members; i++)
		n += snprintf(text + n, sizeof(text) - n, "%sm%u=http://127.0.0.1:%u", i ? "," : "", i, M[i].peer);
	return text;
}

static void exec_member(unsigned int i)
{
	char name[8], data[96], log[96], client[48], peer[48];
	const char *arg[40] = { "etcd", "--name", name, "--data-dir", data,
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
		"--initial-cluster", cluster(), "--heartbeat-interval", "100",
		"--election-timeout", "1000", "--log-level", "warn", "--logger", "zap" };
	int n = 0, fd;

	snprintf(name, sizeof(name), "m%u", i);
	snprintf(data, sizeof(data), "%s/m%u", folder, i);
	snprintf(log, sizeof(log), "%s/m%u.log", folder, i);
	snprintf(client, sizeof(client), "%s://127.0.0.1:%u", tls ? "https" : "http", M[i].client);
	snprintf(peer, sizeof(peer), "http://127.0.0.1:%u", M[i].peer);
	while (arg[n])
		n++;
	for (int k = 0; member_args[k]; k++)
		arg[n++] = member_args[k];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, 1);
	dup2(fd, 2);
	setenv("GOMAXPROCS", "1", 1);
	execvp("etcd", (char **)arg);
	_exit(127);
}

static inline void member_start(unsigned int i)
{
	M[i].pid = fork();
	if (M[i].pid < 0)
		give_up("no process: %s", strerror(errno));
	if (!M[i].pid)
		exec_member(i);
}

static inline void member_end(unsigned int i, int sig)
{
	if (!M[i].pid)
		return;
	kill(M[i].pid, sig);
	if (sig == SIGKILL || sig == SIGTERM)
		waitpid(M[i].pid, NULL, 0);
	M[i].pid = 0;
}

/* The path of a file in the folder; until the fourth next call. */
static inline const char *in_folder(const char *name)
{
	static char path[4][128];
	static unsigned int n;

	snprintf(path[++n % 4], sizeof(path[0]), "%s/%s", folder, name);
	return path[n % 4];
}

struct answer {
	char	text[1024];
	size_t	len;
};

static size_t on_answer(char *bytes, size_t size, size_t n, void *priv)
{
	struct answer *a = priv;
	size_t take = sizeof(a->text) - 1 - a->len;

	if (take > size * n)
		take = size * n;
	memcpy(a->text + a->len, bytes, take);
	a->len += take;
	a->text[a->len] = 0;
	return size * n;
}

/* By the JSON gateway; @body NULL: GET. "" if there is no answer of success. */
static inline const char *gateway(unsigned int i, const char *path, const char *body)
{
	static struct answer a;
	char url[96];
	long code = 0;
	CURL *c = curl_easy_init();

	memset(&a, 0, sizeof(a));
	snprintf(url, sizeof(url), "%s://127.0.0.1:%u%s", tls ? "https" : "http", M[i].client, path);
	if (tls) {
		curl_easy_setopt(c, CURLOPT_CAINFO, in_folder("ca.crt"));
		curl_easy_setopt(c, CURLOPT_CAPATH, NULL);	/* 100 ms for those of this host */
		curl_easy_setopt(c, CURLOPT_SSLCERT, in_folder("client.crt"));
		curl_easy_setopt(c, CURLOPT_SSLKEY, in_folder("client.key"));
	}
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, 10000L);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &a);
	if (body)
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	if (curl_easy_perform(c) != CURLE_OK || curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &code) ||
	    code != 200)
		a.text[0] = 0;
	curl_easy_cleanup(c);
	return a.text;
}

/* The number after "NAME":, which etcd writes as a string; 0: there is none. */
static inline u64 number_in(const char *text, const char *name)
{
	char want[32];
	const char *at;

	snprintf(want, sizeof(want), "\"%s\":\"", name);
	at = strstr(text, want);
	return at ? strtoull(at + strlen(want), NULL, 10) : 0;
}

static inline bool healthy(unsigned int i)
{
	return strstr(gateway(i, "/health", NULL), "\"true\"");
}

/* Wait until @condition; else fail with a sentence. */
#define UNTIL(condition, ...) do {					\
	u64 end_ = store_now_ms() + PATIENCE_MS;			\
	while (!(condition)) {						\
		if (store_now_ms() > end_)				\
			give_up(__VA_ARGS__);				\
		usleep(10000);						\
	}								\
} while (0)

static inline void wait_healthy(unsigned int i)
{
	UNTIL((usleep(20000), healthy(i)), "member %u of etcd does not become healthy", i);
}

static inline bool leads(unsigned int i)
{
	char status[1024];
	u64 leader;

	snprintf(status, sizeof(status), "%s", gateway(i, "/v3/maintenance/status", "{}"));
	leader = number_in(status, "leader");
	return leader && leader == number_in(status, "member_id");
}

static inline void folder_begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	snprintf(folder, sizeof(folder), "%s/etcd-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(folder))
		give_up("%s: %s", folder, strerror(errno));
}

static inline void members_begin(unsigned int nr)
{
	members = nr;
	ports();
	for (unsigned int i = 0; i < nr; i++)
		member_start(i);
}

static inline void members_end(void)
{
	for (unsigned int i = 0; i < members; i++)
		member_end(i, SIGKILL);
	if (folder[0])
		run("rm -rf '%s'", folder);
	folder[0] = 0;
}

static inline struct store_etcd *open_etcd(const struct store_etcd_config *c)
{
	struct store_etcd *e;
	char why[512];

	if (store_etcd_open(c, &e, why, sizeof(why)))
		give_up("the engine does not start: %s", why);
	return e;
}

/* Of member 0: its folder, while it does not run, to be put back later. */
static inline void folder_keep(void)
{
	run("rm -rf '%s/kept' && cp -r '%s/m0' '%s/kept'", folder, folder, folder);
}

static inline void folder_put_back(void)
{
	run("rm -rf '%s/m0' && mv '%s/kept' '%s/m0'", folder, folder, folder);
}

static inline void member_compact(void)
{
	char body[96], text[1024];

	snprintf(text, sizeof(text), "%s", gateway(0, "/v3/kv/range", "{\"key\":\"AA==\",\"count_only\":true}"));
	snprintf(body, sizeof(body), "{\"revision\":\"%llu\",\"physical\":true}",
		 (unsigned long long)number_in(text, "revision"));
	if (!gateway(0, "/v3/kv/compaction", body)[0])
		give_up("etcd does not compact: %s", body);
}

#endif
