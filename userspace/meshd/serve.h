/* SPDX-License-Identifier: GPL-2.0-only */
/* The target role's front: answers what its kernel asks. */
#ifndef MESHD_SERVE_H
#define MESHD_SERVE_H

#include "userspace/format/mgmt.h"
#include "userspace/libmesh/mesh.h"
#include "userspace/meshd/drive.h"

/* Start the target role: listen, serve, take drives up. */
int target_start(void);
/* Every second or so: a module that was loaded anew is told everything. */
void target_tick(void);

/* A request of this host to itself: as over the link, without it. @rsp is malloc()ed. */
int serve_local(const void *msg, size_t len, void **rsp, size_t *rsp_len);

struct ask;

/* Answer one question and forget it. @data is taken over. */
void ask_reply(struct ask *a, int err, const char *reason, json_t *data);
const struct mgmt_req *ask_req(const struct ask *a);
const struct muuid *ask_host(const struct ask *a);	/* who asks */

/* Long looks at drives, each on a thread of its own: records.c, health.c */
void records_volumes(struct ask *a);
void records_record(struct ask *a);
void health_ask(struct ask *a);
json_t *health_of(struct tdrive *d);

/* alloc.c: jobs on the drive's thread */
void alloc_submit(struct tdrive *d, struct ask *a);
void free_submit(struct tdrive *d, struct ask *a);
void grant_submit(struct tdrive *d, struct mesh *m, const struct mesh_ask *ask);

#endif
