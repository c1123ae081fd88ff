// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is reported of the extents of a drive that is a plain file: what cannot be read is
 * not called absent, and reads of a drive that hangs do not pile up.
 */
#define _GNU_SOURCE
#include <semaphore.h>

#include "drive_rig.h"

static unsigned int bad_records;	/* copies of the record that cannot be read, as bits */
static int reads;			/* of records, that were begun ... */
static bool hang;			/* ... and do not end */
static unsigned int serve_ms = 60000;

static ssize_t records_pread(int fd, void *buf, size_t n, off_t at)
{
	__atomic_add_fetch(&reads, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&hang, __ATOMIC_SEQ_CST))
		usleep(1000);
	errno = EIO;
	return bad_records & 1U << (at >= (off_t)(MIB + LAYOUT_COPY_BYTES)) ? -1 : pread(fd, buf, n, at);
}

#include "userspace/meshd/serve.h"
#undef SERVE_MS
#define SERVE_MS	serve_ms

#define pread		records_pread
#define write_copy	write_record
#include "userspace/meshd/record_put.c"
#include "userspace/meshd/records.c"
#undef pread
#undef write_copy
#include "userspace/meshd/fan.c"

/* The rest of meshd */

struct opens *opens_get(void) { return NULL; }
u32 opens_of(const struct opens *o, const struct muuid *e) { (void)o, (void)e; return 0; }
void opens_free(struct opens *o) { (void)o; }

bool alloc_believed(const struct label_extent *e, const struct mgmt_believed *b,
		    char why[MGMT_REASON])
{
	(void)e, (void)b, (void)why;
	return false;
}

struct serve_req {
	struct mgmt_req req;
	json_t *data;
	int err;
};

const struct mgmt_req *serve_mgmt(const struct serve_req *s)
{
	return &s->req;
}

void serve_reply(struct serve_req *s, int err, const char *reason, json_t *data)
{
	(void)reason;
	s->err = err;
	s->data = data;
}

void serve_refuse(struct serve_req *s, int err, const char *fmt, ...)
{
	(void)fmt;
	serve_reply(s, err, NULL, NULL);
}

/* What was said of the extent, and how many records there were. */
static struct mgmt_extent said;
static size_t records;

static void request(void (*fn)(struct serve_req *s))
{
	struct serve_req s = { .req = { .drive = id, .volume = vol, .extent = ext, .length = 512 } };

	memset(&said, 0, sizeof(said));
	fn(&s);
	if (fn == records_meta) {
		CU_ASSERT_EQUAL(s.err, reads ? 0 : -EIO);
	} else {
		CU_ASSERT_FATAL(!s.err);
		CU_ASSERT(!mgmt_extent_unpack(json_array_get(json_object_get(s.data, "extents"), 0), &said));
		CU_ASSERT(muuid_equal(&said.uuid, &ext));
		records = json_array_size(json_object_get(s.data, "records"));
	}
	json_decref(s.data);
}

/* @copies: those of the record that are on the drive, as bits. */
static void begin(unsigned int copies)
{
	static u8 buf[LAYOUT_PEEK];
	struct layout *l = calloc(1, sizeof(*l));
	u32 i;

	rig_begin(LABEL_READY);
	d->label->extent[0].commit = 7;
	*l = (struct layout) { .volume = vol, .version = 1, .commit = 7, .name = "v", .lba = 512,
			       .size = MIB, .members = 1, .segments = 1, .refs = 1 };
	l->member[0] = (struct layout_member) { .extent = ext, .drive = id, .size = 4 * MIB };
	l->segment[0] = (struct layout_segment) { .length = MIB, .level = PROT_LINEAR, .data = 1,
						  .groups = 1, .refs = 1 };
	l->ref[0].offset = LAYOUT_DATA;
	CU_ASSERT_FATAL(layout_encode(l, buf, sizeof(buf)) > 0);
	for (i = 0; i < LAYOUT_COPIES; i++)
		if (copies & 1U << i)
			CU_ASSERT_EQUAL(pwrite(d->fd, buf, sizeof(buf), MIB + i * LAYOUT_COPY_BYTES),
					(ssize_t)sizeof(buf));
	free(l);
	reads = 0;
}

static void test_read(void)
{
	unsigned int copies;

	for (copies = 0; copies <= 3; copies++) {
		begin(copies);
		for (bad_records = 0; bad_records <= 3; bad_records++) {
			request(records_records);
			CU_ASSERT_EQUAL(said.recorded, !!(copies & ~bad_records));
			CU_ASSERT_EQUAL(said.unread, !said.recorded && bad_records);
			CU_ASSERT_EQUAL(records, said.recorded);
			request(records_extents);
			CU_ASSERT_EQUAL(said.recorded, !!(copies & ~bad_records));
			CU_ASSERT_EQUAL(said.unread, !said.recorded && bad_records);
		}
		bad_records = 0;
	}
	rig_begin(LABEL_ZEROING);	/* it has none yet, for sure */
	bad_records = 3;
	request(records_records);
	CU_ASSERT(!said.recorded && !said.unread);
	bad_records = 0;
}

static void wait_readers(u32 n)
{
	u32 is = n + 1;

	for (int i = 0; i < 20000 && is != n; i++) {
		usleep(1000);
		pthread_mutex_lock(&d->lock);
		is = d->readers;
		pthread_mutex_unlock(&d->lock);
	}
	CU_ASSERT_EQUAL(is, n);
}

/* Its own thread is not stuck, and still there is an end to those that are. */
static void test_slow(void)
{
	int i;

	begin(3);
	hang = true;
	serve_ms = 20;
	for (i = 0; i < READERS_MAX + 20; i++) {
		request(i % 2 ? records_records : records_extents);
		CU_ASSERT(!said.recorded && said.unread);
	}
	wait_readers(READERS_MAX);
	CU_ASSERT_EQUAL(__atomic_load_n(&reads, __ATOMIC_SEQ_CST), READERS_MAX);
	serve_ms = 60000;
	__atomic_store_n(&hang, false, __ATOMIC_SEQ_CST);
	wait_readers(0);
}

static void test_silent(void)
{
	static struct hung h = { .job = { .fn = hung_fn } };

	begin(3);
	clock_ms = 1000;
	rig_hang(&h);
	__atomic_store_n(&clock_ms, 9000, __ATOMIC_RELAXED);
	CU_ASSERT_EQUAL(tdrive_silent(d), 8);
	for (int i = 0; i < 10; i++) {
		request(i % 2 ? records_records : records_extents);
		CU_ASSERT(!said.recorded && said.unread && said.version == 1);
	}
	request(records_meta);
	CU_ASSERT_EQUAL(reads, 0);
	sem_post(&h.go);
	sem_wait(&h.in);
	for (int i = 0; i < 20000 && tdrive_silent(d); i++)
		usleep(1000);
	wait_readers(0);
	reads = 1;
	request(records_meta);
	clock_ms = 0;
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "read or not", test_read },
		{ "slow", test_slow },
		{ "silent", test_silent },
		{ NULL, NULL },
	};
	int err;

	alarm(120);
	err = suite_main("records", tests);
	rig_end();
	return err;
}
