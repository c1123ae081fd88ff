// SPDX-License-Identifier: GPL-2.0-only
/* The way to a host, over a kernel and RDMA devices of the test: lines, and the session that is tried. */
#include <poll.h>

/* States of the kernel's session are of the test: no time has to pass. */
static int test_poll(struct pollfd *p, nfds_t n, int ms);
#define poll	test_poll
#include "userspace/daemon/host_check.c"
#undef poll
#include "suite.h"

static const struct muuid other = { { 'h', 2 } };

static struct {
	bool	no_module, is_set;
	int	set_err;
	struct meshblk_target session;	/* the one that is tried */
	struct meshblk_target has;	/* of a volume; id 0: none */
	const char *after;		/* state of the next poll; NULL: as it is */
	int	error;
	unsigned int polls, sets, dels;
	bool	connected[4];
	unsigned int links;
	bool	bad;
} K;

static int test_poll(struct pollfd *p, nfds_t n, int ms)
{
	struct meshblk_target *t = K.has.id ? &K.has : &K.session;

	CU_ASSERT(!p && !n && ms == POLL_MS);
	K.polls++;
	if (K.after && K.polls == 3) {
		snprintf(t->state, sizeof(t->state), "%s", K.after);
		t->error = K.error;
		if (K.error)
			snprintf(t->reason, sizeof(t->reason), "the cluster's key was not proved");
	}
	return 0;
}

struct mesh { int unused; };
struct mesh *mesh_open(void) { return calloc(1, sizeof(struct mesh)); }
void mesh_close(struct mesh *m) { free(m); }
const char *mesh_why(const struct mesh *m) { (void)m; return "not an IP address"; }
int mesh_family_id(struct mesh *m, bool target) { (void)m; CU_ASSERT(!target); return K.no_module ? -ENOENT : 30; }

int meshblk_targets(struct mesh *m, struct meshblk_target **out, size_t *n)
{
	(void)m;
	*n = !!K.has.id;
	*out = malloc(sizeof(**out));
	**out = K.has;
	return K.no_module ? -ENOENT : 0;
}

int meshblk_target_set(struct mesh *m, u32 id, const char *addr, u16 port, const struct muuid *expect)
{
	(void)m;
	CU_ASSERT(!K.is_set && muuid_equal(expect, &other));
	K.sets++;
	if (K.set_err)
		return K.set_err;
	K.is_set = true;
	K.session = (struct meshblk_target) { .id = id, .port = port, .state = MESHBLK_STATE_CONNECTING };
	snprintf(K.session.addr, sizeof(K.session.addr), "%s", addr);
	return 0;
}

int meshblk_target_get(struct mesh *m, u32 id, struct meshblk_target *t)
{
	(void)m;
	*t = K.has.id == id ? K.has : K.session;
	return K.has.id == id || (K.is_set && K.session.id == id) ? 0 : -ENOENT;
}

int meshblk_target_del(struct mesh *m, u32 id)
{
	(void)m;
	CU_ASSERT(K.is_set && id == K.session.id);
	K.is_set = false;
	K.dels++;
	return 0;
}

size_t rdma_check(const char *addr, bool connected, struct rdma_line *out, size_t max)
{
	CU_ASSERT(max >= 2);
	K.connected[K.links++] = connected;
	out[0] = (struct rdma_line) { .bad = false };
	snprintf(out[0].text, sizeof(out[0].text), "a host answers at %s", addr);
	out[1] = (struct rdma_line) { .bad = K.bad, .text = "port rxe0/1 is active" };
	return 2;
}

static struct host_check C;

static void begin(u32 places)
{
	memset(&K, 0, sizeof(K));
	C = (struct host_check) { .host = other, .exports = true, .places = places,
				  .place = { { .addr = "10.0.0.2" }, { .addr = "10.1.0.2", .port = 4500 } } };
}

static bool says(enum host_verdict v, const char *what, const char *text)
{
	for (u32 i = 0; i < C.lines; i++)
		if (C.line[i].verdict == v && !strcmp(C.line[i].what, what) && strstr(C.line[i].text, text))
			return true;
	return false;
}

static void t_tried(void)
{
	begin(1);
	K.after = MESHBLK_STATE_UP;
	host_check_run(&C);
	CU_ASSERT(says(HOST_CHECK_OK, "link", "a host answers at 10.0.0.2"));
	CU_ASSERT(says(HOST_CHECK_OK, "session", "connected to 10.0.0.2 and logged in"));
	CU_ASSERT(K.sets == 1 && K.dels == 1 && !K.is_set && K.session.id == SESSION_ID && K.session.port == 4421);
	CU_ASSERT(C.lines == 3 && !K.connected[0]);
}

static void t_refused(void)
{
	begin(2);
	K.after = MESHBLK_STATE_CONNECTING;
	K.error = -EKEYREJECTED;
	host_check_run(&C);
	CU_ASSERT(says(HOST_CHECK_BAD, "session", "not connected to 10.0.0.2: the cluster's key was not proved; the host "
		       "proves another cluster's key, or was removed"));
	/* Each address, one session after another. */
	CU_ASSERT(K.sets == 2 && K.dels == 2 && K.session.port == 4500);
	CU_ASSERT(says(HOST_CHECK_BAD, "session", "not connected to 10.1.0.2"));
}

static void t_silent(void)
{
	begin(1);
	host_check_run(&C);
	CU_ASSERT(says(HOST_CHECK_BAD, "session", "not connected to 10.0.0.2: no answer; is meshd running there?"));
	CU_ASSERT(K.polls == SESSION_MS / POLL_MS + 1 && K.dels == 1);
	/* Where the way itself is bad, that is said alone. */
	begin(1);
	K.bad = true;
	host_check_run(&C);
	CU_ASSERT(says(HOST_CHECK_BAD, "link", "port rxe0/1"));
	CU_ASSERT(says(HOST_CHECK_BAD, "session", "no answer") && !says(HOST_CHECK_BAD, "session", "is meshd running"));
	begin(1);
	K.set_err = -EINVAL;
	host_check_run(&C);
	CU_ASSERT(says(HOST_CHECK_BAD, "session", "the kernel does not connect to 10.0.0.2: not an IP address"));
	CU_ASSERT_EQUAL(K.dels, 0);
}

/* Two sessions with one host would take the target from each other. */
static void t_has_one(void)
{
	begin(2);
	K.has = (struct meshblk_target) { .id = 3, .host = other, .addr = "10.1.0.2", .state = MESHBLK_STATE_UP,
					  .channels = 4, .arena = 2 << 20 };
	host_check_run(&C);
	CU_ASSERT(says(HOST_CHECK_OK, "session", "connected to 10.1.0.2 and logged in: 4 channels, 2048 KiB"));
	CU_ASSERT(!K.sets && !K.dels && !K.connected[0] && K.connected[1]);
	/* Its host was not seen yet: by the address. */
	begin(2);
	K.has = (struct meshblk_target) { .id = 3, .addr = "10.0.0.2", .state = MESHBLK_STATE_CONNECTING,
					  .error = -ETIMEDOUT, .reason = "no answer from the target" };
	host_check_run(&C);
	CU_ASSERT(says(HOST_CHECK_BAD, "session", "not connected to 10.0.0.2: no answer from the target"));
	CU_ASSERT(!K.sets && !K.connected[0]);
	/* Another host's is none. */
	begin(1);
	K.has = (struct meshblk_target) { .id = 3, .host = { { 'h', 9 } }, .addr = "10.9.9.9", .state = MESHBLK_STATE_UP };
	host_check_run(&C);
	CU_ASSERT_EQUAL(K.sets, 1);
}

static void t_not_tried(void)
{
	begin(1);
	C.host = (struct muuid) { { 0 } };
	host_check_run(&C);
	CU_ASSERT(says(HOST_CHECK_NOTE, "session", "no host of this cluster has the address") && !K.sets);
	begin(1);
	C.exports = false;
	host_check_run(&C);
	CU_ASSERT(says(HOST_CHECK_NOTE, "session", "a client exports no drives") && !K.sets);
	begin(1);
	K.no_module = true;
	host_check_run(&C);
	CU_ASSERT(says(HOST_CHECK_BAD, "session", "meshblk is not loaded here") && !K.sets);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a session is tried", t_tried },
		{ "a login that is refused", t_refused },
		{ "no answer", t_silent },
		{ "the kernel has a session", t_has_one },
		{ "nothing is tried", t_not_tried },
		{ NULL, NULL },
	};

	return suite_main("daemon_check", tests);
}
