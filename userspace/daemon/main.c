// SPDX-License-Identifier: GPL-2.0-only
/* Options, start and end. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "userspace/daemon/conf.h"
#include "userspace/daemon/control.h"
#include "userspace/daemon/crash.h"
#include "userspace/daemon/hook.h"
#include "userspace/daemon/kernel.h"
#include "userspace/daemon/log.h"
#include "userspace/daemon/machine.h"
#include "userspace/daemon/report.h"

/* Exit status beside 1 and 2: only an administrator's command helps, so the unit does not start it again. */
#define EXIT_IDENTITY	3

static const char usage[] =
	"Usage: meshd [OPTION...]\n"
	"Keeps drives and volumes of this host as its cluster wants them; see meshd(8).\n\n"
	"  --config FILE    what is not given here (" CONF_FILE ")\n"
	"  --state DIR      where host UUID, keys and store are (" CONF_STATE ")\n"
	"  --socket PATH    where meshctl finds it (" MESHD_SOCKET ")\n"
	"  --listen ADDR    address for other hosts: drives, and the store on a store host (0.0.0.0)\n"
	"  --port N         and port (" MESH_PORT_TEXT ")\n"
	"  --no-target      export no drives\n"
	"  --identity accept|new\n"
	"                   the state folder came from another machine: this is that host, or another one\n"
	"  --debug          log debug messages\n"
	"  --version, --help\n\n"
	"Example:\n"
	"  systemctl enable --now meshd\n"
	"  meshd --debug                        # by hand, while the unit is stopped\n";

static struct daemon_conf conf;
static const char *config;		/* NULL: the usual one, which may be missing */
static const char *identity;

static const struct option opts[] = {
	{ "config", 1, NULL, 'c' }, { "state", 1, NULL, 's' }, { "socket", 1, NULL, 'S' },
	{ "listen", 1, NULL, 'l' }, { "port", 1, NULL, 'p' }, { "no-target", 0, NULL, 'n' },
	{ "identity", 1, NULL, 'i' }, { "debug", 0, NULL, 'd' }, { "version", 0, NULL, 'v' },
	{ "help", 0, NULL, 'h' },
#ifdef MESHD_CRASH_POINTS
	{ "die-at", 1, NULL, 'x' }, { "pause-at", 1, NULL, 'P' },
#endif
	{ NULL, 0, NULL, 0 },
};

/* Those that the file has too are its values. */
static int set_option(const char *key, const char *value)
{
	const char *why = conf_set(&conf, key, value);

	if (why)
		fprintf(stderr, "meshd: --%s %s: %s\n", key, value, why);
	return why ? 2 : 0;
}

static int set_path(char *out, size_t size, const char *name)
{
	if (snprintf(out, size, "%s", optarg) < (int)size && optarg[0])
		return 0;
	fprintf(stderr, "meshd: --%s: the name is empty, or too long\n", name);
	return 2;
}

static int option(int c)
{
	switch (c) {
	case 'c':
		config = optarg;
		return 0;
	case 's':
		return set_path(conf.state, sizeof(conf.state), "state");
	case 'S':
		return set_path(conf.socket, sizeof(conf.socket), "socket");
	case 'l':
		return set_option("listen", optarg);
	case 'p':
		return set_option("port", optarg);
	case 'n':
		return set_option("target", "no");
	case 'd':
		return set_option("debug", "yes");
	case 'i':
		identity = optarg;
		if (!strcmp(identity, "accept") || !strcmp(identity, "new"))
			return 0;
		fprintf(stderr, "meshd: --identity %s: accept or new is wanted\n", identity);
		return 2;
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
		crash_pause_at(optarg);
		return 0;
#endif
	}
	return -1;
}

static int options(int argc, char **argv)
{
	int c, bad = 0;

	opterr = 0;
	optind = 1;
	while (!bad && (c = getopt_long(argc, argv, "", opts, NULL)) != -1)
		bad = option(c);
	if (bad > 0)
		return bad;
	if (bad || optind < argc) {
		fprintf(stderr, "meshd: wrong options at '%s'; see meshd --help\n",
			argv[bad ? optind - 1 : optind]);
		return 2;
	}
	return 0;
}

/* The first pass finds the file; a value of the command line wins over it. */
static int configure(int argc, char **argv)
{
	char why[CONF_WHY];
	int err;

	conf_usual(&conf);
	err = options(argc, argv);
	if (err)
		return err;
	if (conf_read(&conf, config, why)) {
		fprintf(stderr, "meshd: %s\n", why);
		return 2;
	}
	return options(argc, argv);
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
 * There is one meshd on a host, whatever its folder: the kernel's modules take from it the host's
 * name, its keys and what its mirrors have noted. So each holds the @usual folder, if that can be
 * there: none runs with one that cannot be made.
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
		log_warn("%s cannot be made: %s; another meshd that runs here with another folder is not "
			 "noticed", usual, strerror(-fd));
		return true;
	}
	if (fd == -EWOULDBLOCK)
		log_error("another meshd runs, with %s; a host has one", usual);
	else
		log_error("%s: %s", usual, strerror(-fd));
	return false;
}

static int lock_state(void)
{
	int fd = lock_folder(conf.state);

	if (fd < 0) {
		log_error("%s: %s", conf.state, fd == -EWOULDBLOCK ? "another meshd runs" : strerror(-fd));
		return fd;
	}
	return alone(CONF_STATE, fd) ? 0 : -EBUSY;
}

/* By hand, where machine_home() says that the folder is another machine's. */
static int settle_identity(void)
{
	struct muuid host;
	int err = !strcmp(identity, "new") ? machine_renew(conf.state, &host) : machine_accept(conf.state);

	if (err)
		log_error("%s: %s", conf.state, strerror(-err));
	else
		log_info("the state folder is at home on this machine now: start meshd");
	return err ? 1 : 0;
}

static int renew_host(void *priv, struct muuid *host)
{
	(void)priv;
	return machine_renew(conf.state, host);
}

static int open_cluster(struct daemon *d)
{
	struct cluster_config c = { .host = d->host, .state = conf.state, .port = conf.port, .log = daemon_log,
				    .renew = renew_host };
	char why[CLUSTER_WHY] = "";
	int err;

	c.store = conf.store[0] ? conf.store : NULL;
	c.ca = conf.ca[0] ? conf.ca : NULL;
	c.cert = conf.cert[0] ? conf.cert : NULL;
	c.key = conf.key[0] ? conf.key : NULL;
	c.listen = strcmp(conf.listen, "0.0.0.0") ? conf.listen : NULL;
	err = cluster_open(&c, &d->cluster, why);
	if (err)
		log_error("%s", why);
	return err;
}

static int open_machine(struct daemon *d)
{
	const char *listen = conf.no_target ? NULL : conf.listen;
	struct disks_config disks = { .host = d->host, .state = conf.state, .listen = listen,
				      .port = conf.port, .log = daemon_log };
	struct machine_config machine = { .state = conf.state, .port = conf.port, .log = daemon_log };
	int err = disks_open(&disks, &d->disks);

	if (err)
		return err;
	machine.disks = d->disks;
	if (strcmp(conf.listen, "0.0.0.0"))
		machine.listen = listen;
	d->machine = machine_open(&machine);
	return d->machine ? 0 : -ENOMEM;
}

/* What was seen of a cluster that the keys do not name is of a former one: join, leave, a copy. */
static void forget_former(struct daemon *d)
{
	struct muuid cluster = cluster_uuid(d->cluster);
	struct obj_seen seen = { .plan.generation = 0 };
	char path[sizeof(conf.state) + 8];

	if (!machine_host_ops.seen_get(d->machine, &seen) && !muuid_equal(&seen.plan.cluster, &cluster)) {
		snprintf(path, sizeof(path), "%s/seen", conf.state);
		unlink(path);
	}
	obj_free(OBJ_SEEN, &seen);
}

static int open_kernel(struct daemon *d)
{
	struct volumes_config v = { .host = d->host, .state = conf.state, .disks = d->disks, .copy = d->copy,
				    .log = daemon_log, .note = daemon_note, .event = report_event, .priv = d };
	struct kernel_config k = { .cluster = d->cluster, .disks = conf.no_target ? NULL : d->disks };
	int err = volumes_open(&v, &d->volumes);

	if (err)
		return err;
	d->scrub_never = conf.scrub_never;
	k.volumes = d->volumes;
	d->kernel = kernel_open(&k);
	return d->kernel ? 0 : -ENOMEM;
}

/* One that may not be run is named now: at its first event it would be too late. */
static int open_hook(struct daemon *d)
{
	const char *wrong;

	if (!conf.hook[0])
		return 0;
	wrong = hook_wrong(conf.hook);
	if (wrong)
		log_warn("hook %s is not run as it is: %s", conf.hook, wrong);
	d->hook = hook_new(conf.hook);
	return d->hook ? 0 : -ENOMEM;
}

static int open_all(struct daemon *d)
{
	char why[MACHINE_WHY] = "";
	int err = machine_home(conf.state, &d->host, why);

	if (err) {
		log_error("%s", why);
		return err;
	}
	err = open_cluster(d);
	if (err)
		return err;
	err = open_machine(d);
	if (!err) {
		forget_former(d);
		err = daemon_follow(d);
	}
	if (!err)
		err = open_kernel(d);
	if (!err)
		err = open_hook(d);
	if (!err)
		err = daemon_begin(d);
	if (!err)
		err = control_open(d, conf.socket, &d->control);
	if (err)
		log_error("%s: %s", conf.socket, strerror(-err));
	return err;
}

/*
 * Of another cluster now: all that was read is of the former one, and threads may still be in calls
 * of its store. The same process begins from nothing, as systemd knows it.
 */
static void start_again(char **argv)
{
	log_info("this host has changed its cluster, and starts again");
	execv("/proc/self/exe", argv);
	log_error("it does not start again: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	static struct daemon d;
	sigset_t set;
	int err = configure(argc, argv);

	/* One that started again would be called "exe" by ps and pkill. */
	prctl(PR_SET_NAME, program_invocation_short_name);
	if (err)
		return err;
	log_debug_too(conf.debug);
	/* Blocked before any thread is made: the loop alone gets them. */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);	/* there is nothing to read again, and no reason to end */
	umask(0077);
	/* Before any thread: what they map is locked, too. */
	stay_in_memory();
	if (lock_state())
		return 1;
	if (identity)
		return settle_identity();
	d.state = conf.state;
	d.socket = conf.socket;
	if (sd_event_new(&d.event) < 0)
		return 1;
	err = open_all(&d);
	if (err)
		return err == -EXDEV ? EXIT_IDENTITY : 1;
	err = daemon_run(&d);
	sd_notify(0, "STOPPING=1");
	if (!d.again)
		log_info("ends; drives stay exported and volumes attached");
	control_close(d.control);
	daemon_end(&d);
	hook_free(d.hook);
	if (d.again && !err)
		start_again(argv);
	/* Transactions are whole whenever they end: no need to wait for the threads. */
	_exit(err || d.again ? 1 : 0);
}
