// SPDX-License-Identifier: GPL-2.0-only
/* Keys for hosts: a storage or store host gets the master and the label key, a client its own key alone. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/store/join.h"
#include "userspace/store/link_serve.h"

void join_keys(struct link_server *s, const struct muuid *host, u8 role, struct link_keys *out)
{
	struct link_secrets known;

	memset(out, 0, sizeof(*out));
	s->c.secrets(s->c.priv, &known);
	out->key_id = known.masters.now.id;
	out->role = role;
	out->cluster = known.cluster;
	secret_cluster(&known.label, &known.cluster, out->fingerprint);
	secret_host(&known.masters.now, host, role, &out->host);
	out->knows = role >= PLAN_STORAGE;
	if (out->knows) {
		out->masters = known.masters;
		out->label = known.label;
	}
	explicit_bzero(&known, sizeof(known));
}

int join_host(struct serve_job *j, struct store *h, struct link_keys *out, char why[FRAME_WORDS])
{
	struct link_server *s = j->conn->s;
	int err;

	if (muuid_null(&j->f.host) || s->c.removed(s->c.priv, &j->f.host)) {
		snprintf(why, FRAME_WORDS, "the cluster has removed host %s: join with a new UUID",
			 muuid_str(&j->f.host).s);
		return -EACCES;
	}
	err = join_bind(h, &j->conn->who.uuid, &j->f.host, j->f.role, why);
	if (!err)
		join_keys(s, &j->f.host, j->f.role, out);
	return err;
}
