// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which agents have a turn, and when: over agents, a store and a machine of the test, which note
 * their calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "suite.h"
#include "userspace/agent/report.h"
#include "userspace/daemon/control.h"
#include "userspace/daemon/job.h"
#include "userspace/daemon/kernel.h"
#include "userspace/daemon/log.h"
#include "userspace/daemon/machine.h"
#include "userspace/daemon/report.h"
#include "userspace/daemon/hook.h"

#define DISKS	3

struct disk {
	struct muuid uuid;
	bool	listed, begun;
	int	begins, turns;
	bool	stopped;
};

static struct disk disk[DISKS];

static struct {
	u64	now;
	char	calls[1024];		/* one letter for each call */
	int	steps;			/* of the agents' next turns, all of them together */
	u8	state;			/* enum host_state after the next host_turn() */
	bool	may, whole, leads, again, kernel, notes;
	u8	role;
	int	copy_err, removed_err, rescan_err, begin_err;
	u64	revision;
	struct copy_item item[4];
	struct obj_host host[4];
	int	items;
	bool	marked;
	struct obj_recover mark;
	struct muuid removed[4];
	size_t	removeds;
	unsigned int timeout, lines;
	bool	attach_away, attach_stopped, tasks_stopped;
	u32	says, aboves;
	struct obj_cluster cluster;
	u32	raised, labels;		/* generations: in the store since, of a label */
	int	fresh_err;
	bool	attach_above, drive_above;
	char	above[80];
	unsigned int spares;		/* turns since this host leads */
	unsigned int prunes;		/* calls */
	int	store_fd, turns;
	int	end_after;		/* turns, of daemon_run() */
	int	kernel_fd, kernel_events, disks_changed;
} W;

static struct daemon d;

static void call(char c)
{
	size_t n = strlen(W.calls);

	if (n + 1 < sizeof(W.calls))
		W.calls[n] = c;
}

static bool called(char c)
{
	return strchr(W.calls, c);
}

static int step(char c)
{
	call(c);
	if (W.steps <= 0)
		return 0;
	W.steps--;
	return 1;
}

/* The store */
u64 store_now_ms(void) { return W.now; }
struct store *cluster_store(struct cluster *c) { (void)c; return (struct store *)&W; }
void store_timeout(struct store *s, unsigned int ms) { (void)s; W.timeout = ms; }
void store_close(struct store *s) { (void)s; }
int store_fd(struct store *s) { (void)s; return W.store_fd; }
const char *store_why(const struct store *s) { (void)s; return "the test's store is away"; }
struct copy *copy_open(struct store *s) { (void)s; return (struct copy *)&W; }
void copy_close(struct copy *c) { (void)c; }
bool copy_whole(const struct copy *c) { (void)c; return W.whole; }
u64 copy_revision(const struct copy *c) { (void)c; return W.revision; }
const void *copy_obj(const struct copy *c, const struct key *k)
{
	(void)c;
	if (k->kind == KEY_RECOVER)
		return W.marked ? &W.mark : NULL;
	CU_ASSERT_EQUAL(k->kind, KEY_CLUSTER);
	return W.cluster.plan.generation ? &W.cluster : NULL;
}

int copy_fresh(struct copy *c, const struct key *k)
{
	(void)c;
	CU_ASSERT_EQUAL(k->kind, KEY_CLUSTER);
	W.cluster.plan.generation += W.raised;
	return W.fresh_err;
}

int copy_follow(struct copy *c, const struct key *k, unsigned int given)
{
	(void)c, (void)given;
	CU_ASSERT_NOT_EQUAL(k->kind, KEY_TOKEN);
	return -EIO;
}

int copy_turn(struct copy *c, unsigned int ms, void (*changed)(const struct key *, void *), void *arg)
{
	(void)c, (void)changed, (void)arg;
	CU_ASSERT_EQUAL(ms, 0);
	call('c');
	return W.copy_err;
}

const struct copy_item *copy_next(const struct copy *c, const struct key *k, unsigned int given,
				  const struct copy_item *after)
{
	int i = after ? after - W.item + 1 : 0;

	(void)c, (void)given;
	CU_ASSERT_EQUAL(k->kind, KEY_HOST);
	return i < W.items ? &W.item[i] : NULL;
}

/* Agents */
int host_turn(struct host_agent *h, u64 now)
{
	CU_ASSERT_EQUAL(now, W.now);
	h->state = W.state;
	snprintf(h->why, sizeof(h->why), "state %u", h->state);
	return W.state == HOST_AWAY ? (call('h'), -EIO) : step('h');
}

bool host_may(const struct host_agent *h) { return h->state == HOST_UP && W.may; }
bool host_notes(const struct host_agent *h) { (void)h; return W.notes; }
bool host_stopped(const struct host_agent *h) { return h->state >= HOST_STOPPED; }
void host_end(struct host_agent *h) { (void)h; call('H'); }
void host_disks_changed(struct host_agent *h) { (void)h; W.disks_changed++; }
int lead_turn(struct lead *l, u64 now) { (void)l, (void)now; call('l'); return W.leads; }
void lead_end(struct lead *l) { (void)l; call('L'); }
int tasks_turn(struct tasks *t) { W.tasks_stopped = t->stopped; return step('t'); }
int spares_turn(struct spares *s, u64 now)
{
	CU_ASSERT(W.leads && s->tasks);
	CU_ASSERT_EQUAL(now, W.now);
	W.spares++;
	return 0;
}
int prune_tasks(struct tasks *t)
{
	CU_ASSERT(W.leads && !t->stopped);
	W.prunes++;
	return 0;
}

int prune_events(struct copy *c, const struct muuid *host)
{
	CU_ASSERT(c && host && W.state != HOST_STOPPED);
	W.prunes++;
	return 0;
}

void spares_end(struct spares *s) { (void)s; W.spares = 0; }
int events_turn(struct events *e, u64 now)
{
	CU_ASSERT(e->copy && now == W.now);
	return step('v');
}

void events_end(struct events *e) { (void)e; call('V'); }
void hook_turn(struct hook *h) { (void)h; call('x'); }
void volumes_watch(struct volumes *v, u64 now) { (void)v; CU_ASSERT_EQUAL(now, W.now); call('w'); }
void report_event(void *daemon, const struct obj_event *e, u32 how)
{
	CU_ASSERT(daemon == &d && how == REPORT_STORED);
	CU_ASSERT_STRING_EQUAL(e->what, "spare");
	call('p');
}

int export_turn(struct export_agent *e) { CU_ASSERT_FALSE(e->stopped); return step('e'); }
void export_end(struct export_agent *e) { (void)e; }

int drive_say_turn(struct drive_say *a)
{
	CU_ASSERT_TRUE(a->left == disks_left && a->now_ms && muuid_equal(&a->host, &d.host));
	W.says++;
	return 0;
}

int drive_begin(struct drive_agent *a)
{
	struct disk *k = a->dev;

	k->begins++;
	a->begun = !W.begin_err;
	return W.begin_err;
}

int drive_turn(struct drive_agent *a)
{
	struct disk *k = a->dev;

	CU_ASSERT_TRUE(a->begun && muuid_equal(&a->drive, &k->uuid));
	k->turns++;
	k->stopped = a->stopped;
	if (W.drive_above)
		strcpy(a->above, "a label");
	W.drive_above = false;
	return step('d');
}

struct attach_agent *attach_open(struct copy *c, const struct muuid *h, const struct attach_ops *o, void *m)
{
	(void)c, (void)h, (void)o, (void)m;
	return (struct attach_agent *)&W;
}

void attach_close(struct attach_agent *a) { (void)a; }
bool attach_above(struct attach_agent *a, char *words, size_t size)
{
	bool is = W.attach_above;

	(void)a;
	W.attach_above = false;
	snprintf(words, size, "a target");
	return is;
}

void host_label_above(struct host_agent *h, const char *words)
{
	CU_ASSERT_PTR_EQUAL(h, &d.self);
	W.aboves++;
	snprintf(W.above, sizeof(W.above), "%s", words);
}

void attach_may(struct attach_agent *a, bool stopped, u64 lease) { (void)a, (void)lease; W.attach_stopped = stopped; }
int attach_turn(struct attach_agent *a, bool away, u64 now)
{
	(void)a, (void)now;
	W.attach_away = away;
	return step('a');
}

/* The machine, the kernel, the cluster */
const struct export_ops disks_export_ops;
const struct drive_ops disk_ops;
const struct attach_ops volumes_ops;
const struct host_ops machine_host_ops;
struct muuid machine_boot(void) { return (struct muuid) { .b = { 1 } }; }
u32 disks_generation(const struct disks *s, const char **where)
{
	(void)s;
	*where = "/dev/x";
	return W.labels;
}

int disks_left(void *m, const struct muuid *u, char *w, size_t n) { (void)m, (void)u, (void)w, (void)n; return 0; }
int report_turn(struct report_agent *r, u32 followed) { (void)r, (void)followed; return step('p'); }
int disk_about(struct disk *k, struct obj_disk *out) { (void)k, (void)out; return 0; }
int disk_layout(struct disk *k, const struct muuid *v, struct layout *out) { (void)k, (void)v, (void)out; return 0; }
int disks_allow(struct disks *s, const struct copy *c) { (void)s, (void)c; call('A'); return 0; }
int disks_rescan(struct disks *s, const struct copy *c) { (void)s, (void)c; call('r'); return W.rescan_err; }
int disks_rescan_alone(struct disks *s, const struct plan_seen *seen)
{
	(void)s;
	CU_ASSERT_EQUAL(seen->generation, W.marked ? W.mark.generation : 5);
	call('o');
	return W.rescan_err;
}

const struct muuid *disk_uuid(const struct disk *k) { return &k->uuid; }
int volumes_fd(struct volumes *v) { (void)v; return W.kernel_fd; }
void volumes_events(struct volumes *v)
{
	u64 n;

	(void)v;
	CU_ASSERT_EQUAL(read(W.kernel_fd, &n, sizeof(n)), sizeof(n));
	W.kernel_events++;
}
void kernel_turn(struct kernel *k, u64 now) { (void)k, (void)now; call('k'); }
bool kernel_there(const struct kernel *k) { (void)k; return W.kernel; }
u8 cluster_role(const struct cluster *c) { (void)c; return W.role; }
bool cluster_again(const struct cluster *c) { (void)c; return W.again; }

struct disk *disks_next(struct disks *s, struct disk *after)
{
	(void)s;
	for (int i = after ? after - disk + 1 : 0; i < DISKS; i++)
		if (disk[i].listed)
			return &disk[i];
	return NULL;
}

int cluster_removed(struct cluster *c, const struct muuid *host, size_t n)
{
	(void)c;
	call('R');
	W.removeds = n;
	for (size_t i = 0; i < n; i++)
		W.removed[i] = host[i];
	return W.removed_err;
}

void control_turn(struct control *c)
{
	(void)c;
	call('C');
	if (++W.turns == W.end_after)
		W.again = true;
}

int job_wake_fd(void) { static int fd = -1; return fd < 0 ? fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : fd; }
void log_info(const char *fmt, ...) { (void)fmt; }
void log_debug(const char *fmt, ...) { (void)fmt; }
void log_warn(const char *fmt, ...) { (void)fmt; W.lines++; }

static void begin(void)
{
	memset(&W, 0, sizeof(W));
	memset(disk, 0, sizeof(disk));
	memset(&d, 0, sizeof(d));
	W.now = 100000;
	W.state = HOST_UP;
	W.may = W.whole = W.leads = W.kernel = true;
	W.role = PLAN_STORE;
	W.revision = 7;
	W.store_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (u8 i = 0; i < DISKS; i++)
		disk[i].uuid = (struct muuid) { .b = { 0xd, i } };
	disk[0].listed = true;
	d.disks = (struct disks *)disk;
	d.control = (struct control *)&W;
	CU_ASSERT_TRUE_FATAL(sd_event_new(&d.event) >= 0);
	CU_ASSERT_EQUAL_FATAL(daemon_follow(&d), 0);
	CU_ASSERT_EQUAL_FATAL(daemon_begin(&d), 0);
}

static void turn(void)
{
	memset(W.calls, 0, sizeof(W.calls));
	daemon_turn(&d);
}

static void end(void)
{
	daemon_end(&d);
	sd_event_unref(d.event);
	close(W.store_fd);
}

/* The store first, then its judge, then all else; the control socket sees what they have done. */
static void test_order(void)
{
	begin();
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "kchltveda" "rARC");
	CU_ASSERT_EQUAL(W.timeout, 3000);
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "kchltvedpa" "AC");
	CU_ASSERT_EQUAL(disk[0].begins, 1);
	CU_ASSERT_EQUAL(W.prunes, 4);
	end();
}

static void test_until_no_step(void)
{
	begin();
	W.steps = 3;
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "kchltveda" "chltveda" "rARC");
	/* Agents that never end leave room for events. */
	W.steps = 100000;
	turn();
	CU_ASSERT_TRUE(called('C') && W.steps > 0);
	end();
}

static void test_away(void)
{
	begin();
	turn();
	W.state = HOST_AWAY;
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "kchaAC");
	CU_ASSERT_TRUE(d.store_away && d.store_away_ms == W.now && W.attach_away && W.timeout == 500);
	W.now += 5000;
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "khaAC");
	CU_ASSERT_EQUAL(d.store_away_ms, W.now - 5000);
	W.state = HOST_UP;
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "khltvedpaAC");
	CU_ASSERT_TRUE(!d.store_away && !W.attach_away && W.timeout == 3000);
	end();
}

/* The file of what was seen is being written, or a list is not read: nothing is decided. */
static void test_not_yet(void)
{
	begin();
	W.may = false;
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "kchrARC");
	/* Meanwhile the copy stays as it is. */
	W.notes = true;
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "khAC");
	W.notes = false;
	W.may = true;
	W.whole = false;
	W.copy_err = -EIO;
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "kchC");
	CU_ASSERT_EQUAL(W.lines, 1);
	turn();
	CU_ASSERT_EQUAL(W.lines, 1);
	W.state = HOST_STARTING;
	W.whole = true;
	turn();
	CU_ASSERT_FALSE(called('l') || called('t') || called('e') || called('d') || called('a'));
	end();
}

/* While the copy stays as it is, a store that has changed does not wake the loop again and again. */
static void test_noting(void)
{
	const u64 one = 1;

	begin();
	CU_ASSERT_EQUAL(write(W.store_fd, &one, sizeof(one)), sizeof(one));
	W.notes = true;
	turn();
	CU_ASSERT_EQUAL(sd_event_run(d.event, 0), 0);
	W.notes = false;
	turn();
	CU_ASSERT(sd_event_run(d.event, 0) > 0);
	W.notes = true;
	W.state = HOST_AWAY;
	turn();
	W.notes = false;
	turn();
	CU_ASSERT_EQUAL(sd_event_run(d.event, 0), 0);
	end();
}

/* What drives and targets have above the store is the host's to know, once. */
static void test_above(void)
{
	begin();
	turn();
	CU_ASSERT_EQUAL(W.aboves, 0);
	W.drive_above = true;
	turn();
	CU_ASSERT_EQUAL(W.aboves, 1);
	CU_ASSERT_STRING_EQUAL(W.above, "a label");
	W.attach_above = true;
	turn();
	CU_ASSERT_EQUAL(W.aboves, 2);
	CU_ASSERT_STRING_EQUAL(W.above, "a target");
	turn();
	CU_ASSERT_EQUAL(W.aboves, 2);
	/* A label that is not taken up: the store is read before it counts. */
	W.labels = 4;
	turn();
	W.cluster.plan.generation = 4;
	turn();
	CU_ASSERT_EQUAL(W.aboves, 2);
	W.cluster.plan.generation = 3;
	W.raised = 1;
	turn();
	CU_ASSERT(W.aboves == 2 && W.cluster.plan.generation == 4);
	W.raised = 0;
	W.cluster.plan.generation = 3;
	W.fresh_err = -EIO;
	turn();
	W.fresh_err = 0;
	W.state = HOST_STOPPED;
	turn();
	CU_ASSERT_EQUAL(W.aboves, 2);
	W.state = HOST_UP;
	turn();
	CU_ASSERT_EQUAL(W.aboves, 3);
	CU_ASSERT_PTR_NOT_NULL(strstr(W.above, "the label of /dev/x"));
	end();
}

static void test_stopped(void)
{
	begin();
	W.state = HOST_STOPPED;
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "kchdarARC");
	CU_ASSERT_TRUE(disk[0].stopped && W.attach_stopped && !W.attach_away);
	CU_ASSERT_TRUE(W.says);
	/* The removed hosts stay those of before. */
	W.revision++;
	turn();
	CU_ASSERT_FALSE(called('R'));
	W.state = HOST_UP;
	turn();
	CU_ASSERT_TRUE(called('R'));
	CU_ASSERT_FALSE(disk[0].stopped || W.attach_stopped || W.tasks_stopped);
	end();
}

static void test_roles(void)
{
	begin();
	W.role = PLAN_STORAGE;
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "kchvedarARC");
	W.role = PLAN_STORE;
	turn();
	CU_ASSERT_TRUE(W.spares > 0);
	W.leads = false;
	turn();
	CU_ASSERT_TRUE(called('l') && !called('t'));
	/* The time that a drive has been away counts from when this host leads. */
	CU_ASSERT_EQUAL(W.spares, 0);
	d.disks = NULL;
	turn();
	CU_ASSERT_FALSE(called('e') || called('d') || called('A'));
	W.kernel = false;
	turn();
	CU_ASSERT_FALSE(called('a'));
	end();
}

static void test_disks(void)
{
	begin();
	turn();
	disk[1].listed = disk[2].listed = true;
	W.begin_err = -EIO;
	turn();
	CU_ASSERT_TRUE(disk[0].turns == 2 && disk[1].begins == 1 && !disk[1].turns);
	W.begin_err = 0;
	turn();
	CU_ASSERT_TRUE(disk[1].begins == 2 && disk[1].turns == 1 && disk[2].turns == 1);
	disk[0].listed = false;
	turn();
	CU_ASSERT_TRUE(disk[0].turns == 3 && disk[1].turns == 2 && disk[2].turns == 2);
	/* Taken up again it begins again: an older view may name an extent that is gone. */
	disk[0].listed = true;
	turn();
	CU_ASSERT_TRUE(disk[0].begins == 2 && disk[0].turns == 4);
	end();
}

static void test_rescan(void)
{
	begin();
	W.rescan_err = -EINPROGRESS;
	turn();
	turn();
	CU_ASSERT_TRUE(called('r'));
	W.rescan_err = 0;
	turn();
	turn();
	CU_ASSERT_FALSE(called('r'));
	W.now += 60000;
	turn();
	CU_ASSERT_TRUE(called('r'));
	turn();
	CU_ASSERT_FALSE(called('r'));
	/* With the store away what was seen of it decides, if anything was. */
	W.now += 60000;
	W.state = HOST_AWAY;
	turn();
	CU_ASSERT_FALSE(called('r') || called('o'));
	d.self.seen.plan.generation = 5;
	d.self.seen_known = true;
	turn();
	CU_ASSERT_TRUE(called('o') && !called('r'));
	turn();
	CU_ASSERT_FALSE(called('o'));
	end();
}

/*
 * A store that was put back does not know each drive: labels count, at once, also those that recover has
 * marked; and the host hands in once these disks are known.
 */
static void test_rescan_stopped(void)
{
	begin();
	turn();
	CU_ASSERT_TRUE(called('r'));
	turn();
	CU_ASSERT_TRUE(called('p') && !called('r'));
	d.self.seen.plan.generation = 5;
	d.self.seen_known = true;
	W.state = HOST_STOPPED;
	turn();
	CU_ASSERT_TRUE(called('o') && !called('r') && !called('p'));
	turn();
	CU_ASSERT_TRUE(!called('o') && called('p'));
	W.marked = true;
	W.mark.generation = 9;
	W.rescan_err = -EINPROGRESS;
	turn();
	turn();
	CU_ASSERT_TRUE(called('o') && !called('p'));
	W.rescan_err = 0;
	turn();
	turn();
	CU_ASSERT_TRUE(!called('o') && called('p'));
	/* A second machine with this UUID, and a host that was removed, hand in nothing. */
	W.state = HOST_TWIN;
	turn();
	CU_ASSERT_TRUE(called('r') && !called('o') && !called('p'));
	turn();
	CU_ASSERT_TRUE(!called('p'));
	end();
}

static void put_host(int i, bool removed, bool refused)
{
	W.item[i].key = (struct key) { .kind = KEY_HOST, .host = { .b = { 0xa, i } } };
	W.host[i].plan.removed = removed;
	W.item[i].obj = refused ? NULL : &W.host[i];
	W.items = i + 1;
}

static void test_removed(void)
{
	begin();
	put_host(0, false, false);
	put_host(1, true, false);
	put_host(2, false, true);
	turn();
	CU_ASSERT_EQUAL(W.removeds, 2);
	CU_ASSERT_TRUE(W.removed[0].b[1] == 1 && W.removed[1].b[1] == 2);
	turn();
	CU_ASSERT_FALSE(called('R'));
	W.revision++;
	W.removed_err = -EADDRINUSE;
	turn();
	turn();
	CU_ASSERT_TRUE(called('R') && W.lines == 1);
	W.removed_err = -EAGAIN;
	turn();
	CU_ASSERT_EQUAL(W.lines, 1);
	W.whole = false;
	W.revision++;
	turn();
	CU_ASSERT_FALSE(called('R'));
	end();
}

static void test_run(void)
{
	begin();
	W.steps = 70 * 5;	/* more than one turn */
	W.end_after = 3;
	CU_ASSERT_EQUAL(daemon_run(&d), 0);
	CU_ASSERT_TRUE(d.again && W.turns == 3);
	CU_ASSERT(W.disks_changed > 0);
	memset(W.calls, 0, sizeof(W.calls));
	end();
	/* Of another cluster: the former one has no lease of this host any more. */
	CU_ASSERT_STRING_EQUAL(W.calls, "LHV");
}

/* A module, as a pipe that has an event. Return: the end of it that writes. */
static int module_comes(void)
{
	u64 n = 1;
	int fd[2];

	CU_ASSERT_EQUAL_FATAL(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
	CU_ASSERT_EQUAL(write(fd[1], &n, sizeof(n)), sizeof(n));
	W.kernel_fd = fd[0];
	return fd[1];
}

static void events_run(void)
{
	for (int i = 0; i < 20; i++)
		CU_ASSERT(sd_event_run(d.event, 0) >= 0);
}

/* Events of a module that comes after the daemon, and again: the socket has the number of the former one. */
static void test_kernel_events(void)
{
	int out, was;

	begin();
	d.volumes = (struct volumes *)&W;
	W.kernel_fd = -1;
	turn();
	out = module_comes();
	turn();
	events_run();
	CU_ASSERT_EQUAL(W.kernel_events, 1);
	was = W.kernel_fd;
	close(W.kernel_fd);
	close(out);
	out = module_comes();
	CU_ASSERT_EQUAL(W.kernel_fd, was);
	turn();
	events_run();
	CU_ASSERT_EQUAL(W.kernel_events, 2);
	d.volumes = NULL;
	end();
	close(W.kernel_fd);
	close(out);
}

static void test_signal(void)
{
	begin();
	raise(SIGTERM);
	CU_ASSERT_EQUAL(daemon_run(&d), 0);
	CU_ASSERT_FALSE(d.again);
	memset(W.calls, 0, sizeof(W.calls));
	end();
	CU_ASSERT_STRING_EQUAL(W.calls, "LV");
}

/* After all agents, so that what they did is seen; also while the store is away. */
static void test_reports(void)
{
	const struct obj_event e = { .what = "spare" };

	begin();
	d.volumes = (struct volumes *)&W;
	d.hook = (struct hook *)&W;
	W.kernel_fd = -1;
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "kchltveda" "wx" "rARC");
	W.state = HOST_AWAY;
	turn();
	CU_ASSERT_STRING_EQUAL(W.calls, "kchawxAC");
	memset(W.calls, 0, sizeof(W.calls));
	d.spares.report(d.spares.priv, &e);
	CU_ASSERT_STRING_EQUAL(W.calls, "p");
	d.volumes = NULL;
	d.hook = NULL;
	end();
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "order", test_order }, { "until no step", test_until_no_step }, { "store away", test_away },
		{ "not yet", test_not_yet }, { "noting", test_noting }, { "stopped", test_stopped }, { "a label above", test_above }, { "roles", test_roles },
		{ "disks", test_disks }, { "rescan", test_rescan }, { "rescan by labels", test_rescan_stopped },
		{ "removed hosts", test_removed }, { "run", test_run }, { "kernel's events", test_kernel_events },
		{ "signal", test_signal }, { "reports", test_reports }, { NULL, NULL },
	};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return suite_main("daemon_loop", tests);
}
