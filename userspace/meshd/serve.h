/* SPDX-License-Identifier: GPL-2.0-only */
/* The target role's front: requests of other meshds, grants for its kernel. */
#ifndef MESHD_SERVE_H
#define MESHD_SERVE_H

#include "userspace/format/mgmt.h"
#include "userspace/libmesh/mesh.h"
#include "userspace/meshd/drive.h"

#define SERVE_MS	4000	/* in which every request is answered, whatever drives do */

/* Start the target role: take drives up, serve, listen. */
int target_start(void);
/* Every second or so: a module that was loaded again is given everything. */
void target_tick(void);

/* A request of this host to itself: as over the link, without it. @rsp is malloc()ed. */
int serve_local(const void *msg, size_t len, void **rsp, size_t *rsp_len);

struct serve_req;		/* a request of a meshd that waits for its answer */

/* Answer one request and forget it. @data is taken over. */
void serve_reply(struct serve_req *s, int err, const char *reason, json_t *data);
/* The same with a reason in words. */
void serve_refuse(struct serve_req *s, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const struct mgmt_req *serve_mgmt(const struct serve_req *s);
const struct muuid *serve_host(const struct serve_req *s);	/* proved by its session */

/* Long scans of drives, each drive on its own thread: records.c, health.c */
void records_extents(struct serve_req *s);
void records_volumes(struct serve_req *s);
void records_records(struct serve_req *s);
void records_meta(struct serve_req *s);
void health_drives(struct serve_req *s);
/* Extents of the drives here that @q wants, struct mgmt_extent as JSON. */
json_t *records_local(const struct mgmt_req *q);

/* record_put.c: layout records on this host's drives; any thread reads */

/* On the drive's thread: a record and the label that makes it count. */
int record_put(struct tdrive *d, const struct mgmt_req *q, const struct muuid *host,
	       char why[MGMT_REASON]);
/* One copy at byte @at. @buf: LAYOUT_COPY_BYTES bytes, aligned. As layout_decode(), or -EIO. */
int record_read(int fd, u64 at, void *buf, struct layout *l);
/* Which copy is the record that the label means, or -ENODATA, -EIO: a copy cannot be read. */
int record_current(int fd, const struct label_extent *e, void *buf, struct layout *l);
/* Whether there is one. */
bool record_there(struct tdrive *d, const struct label_extent *e);

/* alloc.c: jobs on the drive's thread */
void alloc_submit(struct tdrive *d, struct serve_req *s);	/* ALLOC, FREE, RELEASE, RECORD_PUT */
void grant_submit(struct tdrive *d, struct mesh *m, const struct meshtgt_grant *grant);
/* On the drive's thread: what a kernel is to have noted before it opens an extent. */
int grant_note(struct tdrive *d, const struct meshtgt_grant *q);
/* Whether @b is what the label says; else words. */
bool alloc_believed(const struct label_extent *e, const struct mgmt_believed *b,
		    char why[MGMT_REASON]);

/* opens.c: how often the kernel has each extent open */
struct opens;
struct opens *opens_get(void);		/* NULL: the kernel does not say */
u32 opens_of(const struct opens *o, const struct muuid *extent);
void opens_free(struct opens *o);

#endif
