// SPDX-License-Identifier: GPL-2.0-only
/*
 * blkctl: drives the family "meshblk" by hand, for tests of the driver alone.
 *
 *   blkctl make [options] MEMBER... [+ MEMBER...]...   VOLUME_SET, one segment a group
 *       -u UUID -n NAME -e EPOCH -b LBA -s STRIP -o OFFSET -t TIMEOUT_MS -q DEPTH
 *       -r (read-only) -w SECONDS (wait until active, print the disk) -x (do not
 *       round the last segment's length)
 *       -l mirror|raid10:C|ec:K+M (data begins at 16M, or -o) -F (fresh) -S (stale)
 *       -a ATTACH -N NUMBER (NUMBERED: the access number, as GENERATION.COUNTER[.RESTART])
 *       -R SERVED (a retake) -B PLACE,... (where no member may join) -P (preempt)
 *       -X PLACE,... (forgotten) -A (again, by the record) -D (beside the only store host)
 *       -L PLACE=MEMBER (leaves that place)
 *     MEMBER: mem:SIZE[:PATH]  bdev:[PATH]:SIZE[:DRIVE[:START]]
 *             rdda:TARGET:EXTENT:DRIVE:SIZE[:EPOCH]
 *       each may be followed by @UUID; else a UUID is made from -u and its place
 *   blkctl set FILE            VOLUME_SET from JSON (see cmd_set())
 *   blkctl del UUID [force]    prints the last rosters, of a volume with an access number
 *   blkctl probe TARGET EXTENT
 *   blkctl get [UUID]          a JSON object a line
 *   blkctl abandoned           members whose devices have I/O that was given up, one a line
 *   blkctl wait UUID STATE [SECONDS]
 *   blkctl identity UUID [KEY_ID KEY [KEY_ID2 KEY2]] [role=N]   KEY: text; in hex if
 *                              KEY_ID is master:N or own:N
 *   blkctl bad-keys UUID    what IDENTITY_SET says of keys that it must not take
 *   blkctl target-set ID ADDR [PORT] | target-del ID | target-get
 *   blkctl events SECONDS      a JSON object an event
 *   blkctl witness FILE|- SECONDS   notes the roster of one group in FILE, "-": is mute
 *   blkctl noted UUID PLACE BYTES [witness]   an answer that was not requested
 *   blkctl storm SEED COUNT    bad messages at random; prints how many were taken,
 *                              and how many were refused without words
 *
 * Exit status: 0, 1 refused (the kernel's words on standard error), 2 misuse.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <netlink/genl/ctrl.h>

#include "driver/uapi/number.h"
#include "tests/tools/blkctl/blkctl.h"
#include "tests/tools/secret.h"

#define MODULE	"/sys/module/meshblk"

void die(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("blkctl: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(status);
}

/* Values */

uint64_t parse_size(const char *s)
{
	const char *units = "KMGTP", *u;
	char *e;
	uint64_t v = strtoull(s, &e, 0);

	u = *e ? strchr(units, toupper(*e)) : NULL;
	if (u) {
		v <<= 10 * (u - units + 1);
		e++;
	}
	if (e == s || *e)
		die(2, "not a size: %s", s);
	return v;
}

uint64_t parse_number(const char *s)
{
	unsigned long long generation, counter, restart = 0;

	if (sscanf(s, "%llu.%llu.%llu", &generation, &counter, &restart) >= 2)
		return mesh_number(generation, counter, restart);
	return strtoull(s, NULL, 0);
}

struct uuid parse_uuid(const char *s)
{
	struct uuid u;
	unsigned int i, v;
	const char *p = s;

	for (i = 0; i < 16; i++) {
		while (*p == '-')
			p++;
		if (!isxdigit(p[0]) || !isxdigit(p[1]) || sscanf(p, "%2x", &v) != 1)
			die(2, "not a UUID: %s", s);
		u.b[i] = v;
		p += 2;
	}
	return u;
}

const char *show_uuid(const void *data)
{
	static char buf[4][40];
	static int n;
	const unsigned char *b = data;
	char *s = buf[n++ % 4];
	int i, at = 0;

	for (i = 0; i < 16; i++)
		at += sprintf(s + at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
	return s;
}

/* Volumes */

static int cmd_del(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_VOLUME_DEL, 0);
	struct uuid u;

	if (argc < 2)
		die(2, "del: which volume?");
	u = parse_uuid(argv[1]);
	put_uuid(m, MESHBLK_A_VOLUME_UUID, &u);
	if (argc > 2)
		nla_put_flag(m, MESHBLK_A_FORCE);
	return finish(talk(m, print_answer, NULL));
}

/* probe TARGET EXTENT */
static int cmd_probe(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_MEMBER_PROBE, 0);
	struct uuid u;

	if (argc > 1)
		nla_put_u32(m, MESHBLK_A_TARGET_ID, strtoul(argv[1], NULL, 0));
	if (argc > 2) {
		u = parse_uuid(argv[2]);
		put_uuid(m, MESHBLK_A_EXTENT_UUID, &u);
	}
	return finish(talk(m, print_answer, NULL));
}

/* scrub UUID [stop | repair [MEMBER]] */
static int cmd_scrub(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_VOLUME_SCRUB, 0);
	struct uuid u;

	if (argc < 2)
		die(2, "scrub: which volume?");
	u = parse_uuid(argv[1]);
	put_uuid(m, MESHBLK_A_VOLUME_UUID, &u);
	if (argc > 2)
		nla_put_flag(m, strcmp(argv[2], "stop") ? MESHBLK_A_REPAIR : MESHBLK_A_STOP);
	if (argc > 3)
		nla_put_u32(m, MESHBLK_A_INDEX, strtoul(argv[3], NULL, 0));
	return finish(talk(m, NULL, NULL));
}

/* rejoin UUID MEMBER */
static int cmd_rejoin(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_VOLUME_REJOIN, 0);
	struct uuid u;

	if (argc < 3)
		die(2, "rejoin: which volume, and which member?");
	u = parse_uuid(argv[1]);
	put_uuid(m, MESHBLK_A_VOLUME_UUID, &u);
	nla_put_u32(m, MESHBLK_A_INDEX, strtoul(argv[2], NULL, 0));
	return finish(talk(m, NULL, NULL));
}

static int cmd_get(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_VOLUME_GET, argc > 1 ? 0 : NLM_F_DUMP);
	struct uuid u;

	if (argc > 1) {
		u = parse_uuid(argv[1]);
		put_uuid(m, MESHBLK_A_VOLUME_UUID, &u);
	}
	return finish(talk(m, print_answer, NULL));
}

static int keep_answer(struct nl_msg *msg, void *arg)
{
	*(json_t **)arg = answer_json(msg);
	return NL_OK;
}

static int keep_any(struct nl_msg *msg, void *arg)
{
	(void)msg;
	*(int *)arg = 1;
	return NL_OK;
}

/* How many modules use meshblk's functions. */
static int module_users(void)
{
	DIR *d = opendir(MODULE "/holders");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* How often meshblk is in use: by modules, volumes, local devices. */
static int module_refs(void)
{
	FILE *f = fopen(MODULE "/refcnt", "r");
	int n = 0;

	if (f && fscanf(f, "%d", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/*
 * A volume that is not listed any more still has the number of its disk for a moment, and after a
 * forced detach its devices. Where there is no other volume that is waited for, so that the next
 * one is mesh0; not for ever, as one that hangs is as well.
 */
void wait_freed(void)
{
	struct timespec nap = { .tv_nsec = 10 * 1000 * 1000 };
	int i, any = 0;

	if (talk(new_msg(MESHBLK_CMD_VOLUME_GET, NLM_F_DUMP), keep_any, &any) || any)
		return;
	for (i = 0; i < 200 && module_refs() > module_users(); i++)
		nanosleep(&nap, NULL);
}

/* Prints the disk when the volume comes to @state; "gone": is not there. */
int wait_state(const char *uuid, const char *state, double seconds)
{
	struct timespec nap = { .tv_nsec = 50 * 1000 * 1000 };
	struct uuid u = parse_uuid(uuid);
	const char *now = "?", *why = "";
	json_t *o = NULL;

	for (; seconds > 0; seconds -= 0.05) {
		struct nl_msg *m = new_msg(MESHBLK_CMD_VOLUME_GET, 0);

		o = NULL;
		put_uuid(m, MESHBLK_A_VOLUME_UUID, &u);
		if (talk(m, keep_answer, &o) == -ENOENT && !strcmp(state, "gone"))
			return 0;
		now = o ? j_str(o, "state", "?") : "?";
		why = o ? j_str(o, "reason", "") : refusal;
		if (o && !strcmp(now, state)) {
			puts(j_str(o, "disk", "-"));
			return 0;
		}
		nanosleep(&nap, NULL);
	}
	fprintf(stderr, "blkctl: the volume is %s, not %s %s\n", now, state, why);
	return 1;
}

static int cmd_wait(int argc, char **argv)
{
	if (argc < 3)
		die(2, "wait: UUID STATE [SECONDS]");
	return wait_state(argv[1], argv[2], argc > 3 ? atof(argv[3]) : 10);
}

/* Targets */

static void put_key(struct nl_msg *m, int id_attr, int serial_attr, const char *id, const char *key)
{
	const char *number = id, *kind = key_kind(&number);
	unsigned char bytes[MESHBLK_KEY_MAX];
	size_t n = 0;

	nla_put_u16(m, id_attr, atoi(number));
	if (number == id) {
		secret(m, serial_attr, kind, number, key, strlen(key));
		return;
	}
	for (; n < sizeof(bytes) && sscanf(key + 2 * n, "%2hhx", &bytes[n]) == 1; n++)
		;
	secret(m, serial_attr, kind, number, bytes, n);
}

static int cmd_identity(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_IDENTITY_SET, 0);
	struct uuid u;
	int role;

	if (argc < 2)
		die(2, "identity: UUID [KEY_ID KEY [KEY_ID2 KEY2]] [role=N]");
	u = parse_uuid(argv[1]);
	put_uuid(m, MESHBLK_A_HOST_UUID, &u);
	if (sscanf(argv[argc - 1], "role=%d", &role) == 1) {
		nla_put_u8(m, MESHBLK_A_HOST_ROLE, role);
		argc--;
	}
	if (argc > 3)
		put_key(m, MESHBLK_A_KEY_ID, MESHBLK_A_KEY_SERIAL, argv[2], argv[3]);
	if (argc > 5)
		put_key(m, MESHBLK_A_KEY_ID2, MESHBLK_A_KEY_SERIAL2, argv[4], argv[5]);
	return finish(talk(m, NULL, NULL));
}

static int cmd_target_set(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_TARGET_SET, 0);

	if (argc < 3)
		die(2, "target-set: ID ADDR [PORT]");
	nla_put_u32(m, MESHBLK_A_TARGET_ID, strtoul(argv[1], NULL, 0));
	nla_put_string(m, MESHBLK_A_ADDR, argv[2]);
	if (argc > 3)
		nla_put_u16(m, MESHBLK_A_PORT, atoi(argv[3]));
	return finish(talk(m, NULL, NULL));
}

static int cmd_target_del(int argc, char **argv)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_TARGET_DEL, 0);

	if (argc < 2)
		die(2, "target-del: ID");
	nla_put_u32(m, MESHBLK_A_TARGET_ID, strtoul(argv[1], NULL, 0));
	return finish(talk(m, NULL, NULL));
}

static int cmd_target_get(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return finish(talk(new_msg(MESHBLK_CMD_TARGET_GET, NLM_F_DUMP), print_answer, NULL));
}

/* Members with I/O that was given up */

static int cmd_abandoned(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return finish(talk(new_msg(MESHBLK_CMD_ABANDONED_GET, NLM_F_DUMP), print_answer, NULL));
}

/* Events */

static int cmd_events(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	struct nl_sock *s = open_socket();
	struct timeval tv = { .tv_usec = 100 * 1000 };
	int group = genl_ctrl_resolve_grp(sock, MESHBLK_GENL_NAME, MESHBLK_GENL_EVENTS);
	time_t end = time(NULL) + (time_t)seconds;

	if (group < 0 || nl_socket_add_membership(s, group))
		die(2, "no group %s", MESHBLK_GENL_EVENTS);
	nl_socket_disable_seq_check(s);
	nl_socket_modify_cb(s, NL_CB_VALID, NL_CB_CUSTOM, print_answer, NULL);
	setsockopt(nl_socket_get_fd(s), SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	puts("{\"listening\":true}");
	fflush(stdout);
	while (time(NULL) < end)
		nl_recvmsgs_default(s);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{ "make", cmd_make }, { "set", cmd_set }, { "del", cmd_del }, { "get", cmd_get },
	{ "probe", cmd_probe }, { "scrub", cmd_scrub }, { "rejoin", cmd_rejoin }, { "evict", cmd_evict },
	{ "wait", cmd_wait }, { "abandoned", cmd_abandoned },
	{ "identity", cmd_identity }, { "bad-keys", cmd_bad_keys }, { "target-set", cmd_target_set },
	{ "target-del", cmd_target_del }, { "target-get", cmd_target_get },
	{ "witness", cmd_witness }, { "noted", cmd_noted },
	{ "events", cmd_events }, { "storm", cmd_storm },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[1], verbs[i].name))
			continue;
		connect_family();
		return verbs[i].run(argc - 1, argv + 1);
	}
	die(2, "make|set|del|get|scrub|rejoin|evict|wait|abandoned|read|write|identity|target-set|target-del|target-get|witness|noted|events|storm");
}
