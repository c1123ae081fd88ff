// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leases of the etcd engine. etcd keeps them: a lease may last longer than requested (at least two
 * seconds or so, and its full time again after a change of the leader), never shorter.
 */
#include <errno.h>
#include <sys/random.h>

#include "userspace/store/et.h"

/* 1 to 2^63 - 1. */
static int random_id(u64 *out)
{
	do {
		if (getrandom(out, sizeof(*out), 0) != sizeof(*out))
			return -EIO;
		*out &= INT64_MAX;
	} while (!*out);
	return 0;
}

/* The number is chosen here: a grant that is sent again makes no second lease. */
int et_lease_grant(struct store *s, unsigned int seconds, u64 *lease)
{
	Etcd__LeaseGrantRequest q = ETCD__LEASE_GRANT_REQUEST__INIT;
	struct et_call c = { .method = "Lease/LeaseGrant", .request = &q.base, .safe = true };
	Etcd__LeaseGrantResponse *r;
	u64 id;
	int err = random_id(&id);

	if (err)
		return store_fail(s, err, "store: the host gives no random numbers");
	q.id = id;
	q.ttl = seconds;
	err = et_call(et_handle(s), &c);
	if (err == -EEXIST && c.again)
		err = 0;
	else if (err == -EEXIST)
		err = store_fail(s, -EIO, "store: the number of a new lease is in use: try again");
	else if (!err) {
		r = etcd__lease_grant_response__unpack(NULL, c.len, c.reply);
		if (!r || (u64)r->id != id)
			err = et_bad_reply(et_handle(s), c.method);
		if (r)
			etcd__lease_grant_response__free_unpacked(r, NULL);
	}
	if (!err)
		*lease = id;
	return err;
}

static int ended(struct store *s)
{
	return store_fail(s, -ENOENT, "store: the lease has ended");
}

/* A stream of one request: etcd says that a lease has ended by a time of 0. */
int et_lease_keep(struct store *s, u64 lease)
{
	Etcd__LeaseKeepAliveRequest q = ETCD__LEASE_KEEP_ALIVE_REQUEST__INIT;
	struct et_call c = { .method = "Lease/LeaseKeepAlive", .request = &q.base, .safe = true };
	Etcd__LeaseKeepAliveResponse *r;
	int err;

	q.id = lease;
	err = et_call(et_handle(s), &c);
	if (err == -ENOENT)
		return ended(s);
	if (err)
		return err;
	r = etcd__lease_keep_alive_response__unpack(NULL, c.len, c.reply);
	if (!r)
		return et_bad_reply(et_handle(s), c.method);
	err = r->ttl > 0 ? 0 : ended(s);
	etcd__lease_keep_alive_response__free_unpacked(r, NULL);
	return err;
}

int et_lease_revoke(struct store *s, u64 lease)
{
	Etcd__LeaseRevokeRequest q = ETCD__LEASE_REVOKE_REQUEST__INIT;
	struct et_call c = { .method = "Lease/LeaseRevoke", .request = &q.base, .safe = true };
	int err;

	q.id = lease;
	err = et_call(et_handle(s), &c);
	if (err != -ENOENT)
		return err;
	/* An attempt without an answer may have ended it: done. */
	return c.again ? 0 : ended(s);
}
