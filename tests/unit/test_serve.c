// SPDX-License-Identifier: GPL-2.0-only
/* What this host says to others of its drives. */
#define _GNU_SOURCE
#include <linux/kernel.h>

#include "userspace/meshd/serve.c"
#include "suite.h"

struct meshd D = { .stop = -1 };
static int left_err;

/* The rest of meshd */

int left_list(json_t *list)
{
	static const struct mgmt_drive m = { .uuid.b[0] = 5, .state = MGMT_UNMANAGED };

	if (!left_err)
		json_array_append_new(list, mgmt_drive_pack(&m));
	return left_err;
}

#define QUIET(name) void name(const char *fmt, ...) { (void)fmt; }
QUIET(log_error) QUIET(log_debug)

#define ANSWERS(name) void name(struct serve_req *s) { (void)s; }
ANSWERS(records_extents) ANSWERS(records_volumes) ANSWERS(records_records) ANSWERS(records_meta)
ANSWERS(health_drives)

void alloc_submit(struct tdrive *d, struct serve_req *s) { (void)d, (void)s; }

void grant_submit(struct tdrive *d, struct mesh *m, const struct meshtgt_grant *q)
{
	(void)d, (void)m, (void)q;
}

struct tdrive **tdrives_all(size_t *n) { *n = 0; return NULL; }

struct mgmt_drive *tdrives_draining(size_t *n)
{
	struct mgmt_drive *one = calloc(1, sizeof(*one));

	*one = (struct mgmt_drive) { .uuid.b[0] = 6, .state = MGMT_DRAINING };
	*n = 1;
	return one;
}

struct tdrive *tdrive_find(const struct muuid *u) { (void)u; return NULL; }
void tdrive_describe(struct tdrive *d, struct mgmt_drive *m) { (void)d, (void)m; }
void tdrive_put(struct tdrive *d) { (void)d; }
void export_twins(json_t *list) { (void)list; }
void export_push(struct tdrive *d) { (void)d; }
int export_start(void) { return 0; }
int identity_push(struct mesh *m) { (void)m; return 0; }
int modules_load(const char *name, char *why, size_t n) { (void)name, (void)why, (void)n; return 0; }
void home_words(char out[HOME_WORDS]) { out[0] = 0; }
const struct link_peer *link_req_peer(const struct link_req *q) { (void)q; return NULL; }
void link_reply(struct link_req *q, const void *m, size_t n) { (void)q, (void)m, (void)n; }
int read_line(char *out, size_t n, const char *f, ...) { (void)out, (void)n, (void)f; return -1; }
u64 now_ms(void) { return 1; }
void sleep_ms(unsigned int ms) { (void)ms; }
bool stopping(void) { return false; }
int thread_start(void *(*fn)(void *), void *arg) { (void)fn, (void)arg; return 0; }
struct mesh *mesh_open(void) { return NULL; }
void mesh_close(struct mesh *m) { (void)m; }
const char *mesh_why(const struct mesh *m) { (void)m; return ""; }
int mesh_family_id(struct mesh *m, bool target) { (void)m, (void)target; return 0; }
int meshtgt_grant_reply(struct mesh *m, u64 q, int err) { (void)m, (void)q, (void)err; return 0; }

int meshtgt_listen(struct mesh *m, const char *addr, u16 port)
{
	(void)m, (void)addr, (void)port;
	return 0;
}

int meshtgt_serve(struct mesh *m, int stop, void (*fn)(void *priv, struct meshtgt_grant *q),
		  void *priv)
{
	(void)m, (void)stop, (void)fn, (void)priv;
	return 0;
}

struct links *links_own(void) { return NULL; }

int links_listen(struct links *l, const char *addr, u16 port, link_serve_fn fn)
{
	(void)l, (void)addr, (void)port, (void)fn;
	return 0;
}

/* Without it another host may take over what is served here; not known is not nothing. */
static void test_drives(void)
{
	struct mgmt_req q = { .op = MGMT_DRIVES };
	char why[MGMT_REASON];
	struct mgmt_drive m;
	char *text = mgmt_req_encode(&q);
	size_t len;
	json_t *data;
	void *rsp;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_EQUAL(serve_local(text, strlen(text), &rsp, &len), 0);
	CU_ASSERT_EQUAL_FATAL(mgmt_rsp_decode(rsp, len, &data, why), 0);
	CU_ASSERT_EQUAL(mgmt_drive_unpack(json_array_get(json_object_get(data, "drives"), 0), &m), 0);
	CU_ASSERT(m.uuid.b[0] == 6 && mgmt_drive_served(&m));
	CU_ASSERT_EQUAL(mgmt_drive_unpack(json_array_get(json_object_get(data, "drives"), 1), &m), 0);
	CU_ASSERT(m.uuid.b[0] == 5 && mgmt_drive_served(&m));
	json_decref(data);
	free(rsp);
	left_err = -EIO;
	CU_ASSERT_EQUAL(serve_local(text, strlen(text), &rsp, &len), 0);
	CU_ASSERT_EQUAL(mgmt_rsp_decode(rsp, len, &data, why), -EIO);
	free(rsp);
	free(text);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "drives", test_drives },
		{ NULL, NULL },
	};

	return suite_main("serve", tests);
}
