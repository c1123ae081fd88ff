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
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "userspace/format/conf.h"
#include "userspace/meshd/control.h"
#include "userspace/meshd/crash.h"
#include "userspace/meshd/event.h"
#include "userspace/meshd/home.h"
#include "userspace/meshd/identity.h"
#include "userspace/meshd/roles.h"
#include "userspace/meshd/store.h"
#include "userspace/meshd/witness.h"

static const char usage[] =
	"Usage: meshd [OPTION...]\n"
	"Keeps exported drives and volumes of this host as they should be; see meshd(8).\n\n"
	"  --config FILE    what is not given here (" MESHD_CONF ")\n"
	"  --state DIR      where host UUID, key and store are (" MESHD_STATE ")\n"
	"  --socket PATH    where meshctl finds it (" MESHD_SOCKET ")\n"
	"  --listen ADDR    address on which drives are exported (0.0.0.0)\n"
	"  --port N         and port (" MESH_PORT_TEXT ")\n"
	"  --no-target      export no drives\n"
	"  --debug          log debug messages\n"
	"  --version, --help\n\n"
	"Example:\n"
	"  systemctl enable --now meshd\n"
	"  meshd --debug                        # by hand, while the unit is stopped\n";

static u16 port_option(const char *text)
{
	u16 port = port_parse(text);

	if (!port) {
		fprintf(stderr, "meshd: --port %s: a number from 1 to 65535 is wanted\n", text);
		exit(2);
	}
	return port;
}

/* This host may not have it yet. */
static const char *listen_option(const char *text)
{
	if (!address_ok(text)) {
		fprintf(stderr, "meshd: --listen %s: an IP address is wanted\n", text);
		exit(2);
	}
	return text;
}

static const char *config;		/* NULL: the usual one, which may be missing */

static int option(int c)
{
	switch (c) {
	case 'c':
		config = optarg;
		return 0;
	case 's':
		D.state = optarg;
		return 0;
	case 'S':
		D.socket = optarg;
		return 0;
	case 'l':
		D.listen = listen_option(optarg);
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
	case 'P':
		pause_at(optarg);
		return 0;
#endif
	}
	return 2;
}

static const struct option opts[] = {
	{ "config", 1, NULL, 'c' },
	{ "state", 1, NULL, 's' }, { "socket", 1, NULL, 'S' }, { "listen", 1, NULL, 'l' },
	{ "port", 1, NULL, 'p' }, { "no-target", 0, NULL, 'n' }, { "debug", 0, NULL, 'd' },
	{ "version", 0, NULL, 'v' }, { "help", 0, NULL, 'h' },
#ifdef MESHD_CRASH_POINTS
	{ "die-at", 1, NULL, 'x' }, { "pause-at", 1, NULL, 'P' },
#endif
	{ NULL, 0, NULL, 0 },
};

static int options(int argc, char **argv)
{
	int c, bad = 0;

	opterr = 0;
	optind = 1;
	while (!bad && (c = getopt_long(argc, argv, "", opts, NULL)) != -1)
		bad = option(c);
	if (bad || optind < argc) {
		fprintf(stderr, "meshd: wrong options at '%s'; see meshd --help\n",
			argv[bad ? optind - 1 : optind]);
		return 2;
	}
	return 0;
}

#define CONF_BYTES		(8 << 10)
#define CONF_SECONDS_MAX	9999999
#define SPARE_DELAY		600

static const char *conf_flag(const char *value, bool *out)
{
	return conf_bool(value, out) ? "yes or no is wanted" : NULL;
}

/* The second of two words is true. */
static const char *conf_word(const char *value, const char *no, const char *yes, bool *out)
{
	static char wanted[48];

	snprintf(wanted, sizeof(wanted), "%s or %s is wanted", no, yes);
	*out = !strcmp(value, yes);
	return *out || !strcmp(value, no) ? NULL : wanted;
}

static const char *conf_seconds(const char *value, u32 *out)
{
	u32 n = 0;

	for (; *value >= '0' && *value <= '9' && n <= CONF_SECONDS_MAX; value++)
		n = n * 10 + (*value - '0');
	*out = n;
	return *value || !n || n > CONF_SECONDS_MAX ? "a number of seconds from 1 to 9999999 is wanted" : NULL;
}

/* Of volumes that are used here. */
static const char *conf_client(const char *key, const char *value)
{
	if (!strcmp(key, "scrub"))
		return conf_word(value, "monthly", "never", &D.scrub_never);
	if (!strcmp(key, "spare"))
		return conf_word(value, "none", "auto", &D.spare_auto);
	if (!strcmp(key, "spare_delay"))
		return conf_seconds(value, &D.spare_delay);
	if (strcmp(key, "hook"))
		return "no such key; meshd(8) has them all";
	D.hook = strdup(value);
	return value[0] == '/' ? NULL : "a path that begins with / is wanted";
}

static const char *conf_line(void *priv, const char *key, const char *value)
{
	const char *why = NULL;
	bool target = true;

	(void)priv;
	if (!strcmp(key, "insecure")) {
		why = conf_flag(value, &D.insecure);
	} else if (!strcmp(key, "debug")) {
		why = conf_flag(value, &D.debug);
	} else if (!strcmp(key, "target")) {
		why = conf_flag(value, &target);
		if (!target)
			D.listen = NULL;
	} else if (!strcmp(key, "listen")) {
		D.listen = strdup(value);
		why = address_ok(value) ? NULL : "an IP address is wanted";
	} else if (!strcmp(key, "port")) {
		D.port = port_parse(value);
		why = D.port ? NULL : "a number from 1 to 65535 is wanted";
	} else {
		why = conf_client(key, value);
	}
	return why;
}

/* meshd must not run without the values that an invalid file should have given. */
static int configure(void)
{
	const char *path = config ? config : MESHD_CONF, *why;
	char text[CONF_BYTES + 2];	/* one more, to see that there is more, and the end */
	unsigned int line;
	int err;
	size_t n;
	FILE *f = fopen(path, "re");

	if (!f) {
		if (!config && errno == ENOENT)
			return 0;
		fprintf(stderr, "meshd: %s: %s\n", path, strerror(errno));
		return 2;
	}
	n = fread(text, 1, CONF_BYTES + 1, f);
	text[n] = 0;
	err = ferror(f) ? errno : 0;
	fclose(f);
	if (err || n > CONF_BYTES) {
		fprintf(stderr, "meshd: %s: %s\n", path, err ? strerror(err) : "the file is longer than 8 KiB");
		return 2;
	}
	why = conf_parse(text, conf_line, NULL, &line);
	if (!why)
		return 0;
	fprintf(stderr, "meshd: %s, line %u: %s\n", path, line, why);
	return 2;
}

/* It is in the write path when a member fails: no page of it may wait for I/O. */
static void stay_in_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		log_warn("memory is not locked: %s", strerror(errno));
	if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0))
		log_debug("not an I/O flusher: %s", strerror(errno));
}

/*
 * A folder is a lock itself: that needs no room, and nothing is written. Return: what holds it, or a
 * negative errno.
 */
static int lock_folder(const char *path)
{
	int fd;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
		return -errno;
	return fd;
}

/*
 * There is one meshd on a host, whatever its folder: the kernel's modules take what a meshd says for
 * the host's name, its key and what its mirrors have noted. So all that runs holds the @usual folder,
 * if it can be there: none runs with one that cannot be made.
 */
static bool alone(const char *usual, int held)
{
	struct stat own, at;
	bool there = !stat(usual, &at);
	int fd;

	if (there && !fstat(held, &own) && own.st_dev == at.st_dev && own.st_ino == at.st_ino)
		return true;
	fd = lock_folder(usual);
	if (fd >= 0)
		return true;
	if (!there && (fd == -EROFS || fd == -ENOENT || fd == -EACCES)) {
		log_warn("%s cannot be made: %s; whether another meshd runs here with another folder is not "
			 "checked", usual, strerror(-fd));
		return true;
	}
	if (fd == -EWOULDBLOCK)
		log_error("another meshd runs, with %s; a host has one", usual);
	else
		log_error("%s: %s", usual, strerror(-fd));
	return false;
}

static int open_state(void)
{
	int fd = lock_folder(D.state);

	if (fd < 0) {
		log_error("%s: %s", D.state, fd == -EWOULDBLOCK ? "another meshd runs" : strerror(-fd));
		return -1;
	}
	if (!alone(MESHD_STATE, fd))
		return -1;
	if (identity_load() || home_load())
		return -1;
	return home_refused() ? 0 : roles_start();
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
	sd_notify(0, "READY=1");
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
	D.spare_delay = SPARE_DELAY;
	/* The first pass finds the file; what is on the command line wins over it. */
	err = options(argc, argv);
	if (!err)
		err = configure();
	if (!err)
		err = options(argc, argv);
	if (err)
		return err;
	/* Blocked before any thread is made: the signalfd alone gets them. */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);	/* there is nothing to read again, and no reason to end */
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	D.stop = eventfd(0, EFD_CLOEXEC);
	umask(0077);
	/* Before any thread: what they map is locked, too. */
	stay_in_memory();
	if (D.hook && hook_wrong(D.hook))
		log_warn("hook %s is not run: %s", D.hook, hook_wrong(D.hook));
	if (open_state())
		return 1;
	control = control_listen(D.socket);
	if (control < 0) {
		log_error("%s: %s", D.socket, strerror(-control));
		return 1;
	}
	err = loop(signals, control);
	sd_notify(0, "STOPPING=1");
	log_info("ends; drives stay exported and volumes attached");
	witness_stops();
	unlink(D.socket);
	if (write(D.stop, &one, sizeof(one)) < 0)
		log_error("threads are not notified");
	/* Transactions are whole whenever they end: no need to wait for the threads. */
	usleep(100000);
	store_close();
	_exit(err);
}
