// SPDX-License-Identifier: GPL-2.0-only
/* Options, start and end of meshd. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/meshd/control.h"
#include "userspace/meshd/crash.h"
#include "userspace/meshd/identity.h"
#include "userspace/meshd/serve.h"
#include "userspace/meshd/store.h"
#include "userspace/meshd/volume.h"

static const char usage[] =
	"Usage: meshd [OPTION...]\n"
	"Keeps lent drives and volumes of this host as they should be; see meshd(8).\n\n"
	"  --state DIR      where host UUID, key and store are (" MESHD_STATE ")\n"
	"  --socket PATH    where meshctl finds it (" MESHD_SOCKET ")\n"
	"  --listen ADDR    address on which drives are lent (0.0.0.0)\n"
	"  --port N         and port (4421)\n"
	"  --no-target      lend no drives\n"
	"  --debug          say more\n"
	"  --version, --help\n";

static u16 port_option(const char *text)
{
	u16 port = port_parse(text);

	if (!port) {
		fprintf(stderr, "meshd: --port %s: a number from 1 to 65535 is wanted\n", text);
		exit(2);
	}
	return port;
}

static int option(int c)
{
	switch (c) {
	case 's':
		D.state = optarg;
		return 0;
	case 'S':
		D.socket = optarg;
		return 0;
	case 'l':
		D.listen = optarg;
		return 0;
	case 'p':
		D.port = port_option(optarg);
		return 0;
	case 'n':
		D.listen = NULL;
		return 0;
	case 'd':
		D.debug = true;
		return 0;
	case 'v':
		printf("meshd %s\n", MESHD_VERSION);
		exit(0);
	case 'h':
		fputs(usage, stdout);
		exit(0);
#ifdef MESHD_CRASH_POINTS
	case 'x':
		crash_at(optarg);
		return 0;
#endif
	}
	return 2;
}

static int options(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "state", 1, NULL, 's' }, { "socket", 1, NULL, 'S' }, { "listen", 1, NULL, 'l' },
		{ "port", 1, NULL, 'p' }, { "no-target", 0, NULL, 'n' }, { "debug", 0, NULL, 'd' },
		{ "version", 0, NULL, 'v' }, { "help", 0, NULL, 'h' },
#ifdef MESHD_CRASH_POINTS
		{ "die-at", 1, NULL, 'x' },
#endif
		{ NULL, 0, NULL, 0 },
	};
	int c, bad = 0;

	opterr = 0;
	while (!bad && (c = getopt_long(argc, argv, "", opts, NULL)) != -1)
		bad = option(c);
	if (bad || optind < argc) {
		fprintf(stderr, "meshd: wrong options at '%s'; see meshd --help\n",
			argv[bad ? optind - 1 : optind]);
		return 2;
	}
	return 0;
}

/* It is in the write path when a member fails: no page of it may wait for I/O. */
static void stay_in_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		log_warn("memory is not locked: %s", strerror(errno));
	if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0))
		log_debug("not an I/O flusher: %s", strerror(errno));
}

static int open_state(void)
{
	char path[256];
	int fd;

	if (mkdir(D.state, 0700) && errno != EEXIST) {
		log_error("%s: %s", D.state, strerror(errno));
		return -1;
	}
	snprintf(path, sizeof(path), "%s/lock", D.state);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB)) {
		log_error("%s: %s", path, errno == EWOULDBLOCK ? "another meshd runs" : strerror(errno));
		return -1;
	}
	if (identity_load())
		return -1;
	snprintf(path, sizeof(path), "%s/store.db", D.state);
	return store_open(path);
}

static void client_start(void)
{
	char why[128];

	if (modules_load("meshblk", why, sizeof(why)))
		log_error("%s: no volumes on this host", why);
	if (reconcile_start())
		log_error("the reconciler does not start");
}

static void watch(int ep, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e))
		log_error("epoll: %s", strerror(errno));
}

static int loop(int signals, int control)
{
	struct epoll_event e;
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (ep < 0)
		return 1;
	watch(ep, signals);
	watch(ep, control);
	notify_systemd("READY=1");
	log_info("ready");
	for (;;) {
		if (epoll_wait(ep, &e, 1, -1) != 1)
			continue;
		if (e.data.fd == signals)
			break;
		control_accept(control);
	}
	close(ep);
	return 0;
}

int main(int argc, char **argv)
{
	sigset_t set;
	u64 one = 1;
	int signals, control, err;

	D.started = now_ms();
	D.state = MESHD_STATE;
	D.socket = MESHD_SOCKET;
	D.listen = "0.0.0.0";
	D.port = MESH_PORT;
	err = options(argc, argv);
	if (err)
		return err;
	/* Blocked before any thread is made: the signalfd alone gets them. */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	D.stop = eventfd(0, EFD_CLOEXEC);
	umask(0077);
	if (open_state())
		return 1;
	control = control_listen(D.socket);
	if (control < 0) {
		log_error("%s: %s", D.socket, strerror(-control));
		return 1;
	}
	stay_in_memory();
	if (target_start())
		log_error("the target role does not start");
	client_start();
	err = loop(signals, control);
	notify_systemd("STOPPING=1");
	log_info("ends; drives stay lent and volumes attached");
	unlink(D.socket);
	if (write(D.stop, &one, sizeof(one)) < 0)
		log_error("threads are not told");
	/* Transactions are whole whenever they end: the threads need no waiting for. */
	usleep(100000);
	_exit(err);
}
