// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "userspace/daemon/api_in.h"

#define STARTING_MS	15000	/* for the first list of the store to be read */

/* What a verb needs before it begins. */
enum need {
	NEED_NOTHING,
	NEED_COPY,		/* the store's objects as they were read last, however old */
	NEED_STORE,		/* the store answers */
	NEED_DECIDE,		/* and this host may decide */
};

static const struct {
	const char *verb;
	api_step *step;
	enum need need;
} table[] = {
	{ "cluster init", api_cluster_init, NEED_STORE },
	{ "cluster token", api_cluster_token, NEED_DECIDE },
	{ "cluster join", api_cluster_join, NEED_NOTHING },
	{ "cluster leave", api_cluster_leave, NEED_NOTHING },
	{ "cluster set", api_cluster_set, NEED_DECIDE },
	{ "cluster status", api_cluster_status, NEED_COPY },
	{ "cluster backup", api_cluster_backup, NEED_STORE },
	{ "cluster recover", api_cluster_recover, NEED_STORE },
	{ "host list", api_host_list, NEED_COPY },
	{ "host remove", api_host_remove, NEED_DECIDE },
	{ "host maintenance", api_host_maintenance, NEED_DECIDE },
	{ "host set", api_host_set, NEED_DECIDE },
	{ "host check", api_host_check, NEED_COPY },
	{ "drive scan", api_drive_scan, NEED_COPY },
	{ "drive list", api_drive_list, NEED_COPY },
	{ "drive export", api_drive_export, NEED_DECIDE },
	{ "drive unexport", api_drive_unexport, NEED_DECIDE },
	{ "drive drain", api_drive_drain, NEED_DECIDE },
	{ "drive forget", api_drive_forget, NEED_DECIDE },
	{ "drive health", api_drive_health, NEED_COPY },
	{ "volume create", api_volume_create, NEED_DECIDE },
	{ "volume list", api_volume_list, NEED_COPY },
	{ "volume show", api_volume_show, NEED_COPY },
	{ "volume attach", api_volume_attach, NEED_DECIDE },
	{ "volume detach", api_volume_detach, NEED_STORE },
	{ "volume extend", api_volume_extend, NEED_DECIDE },
	{ "volume replace", api_volume_replace, NEED_DECIDE },
	{ "volume evict", api_volume_evict, NEED_DECIDE },
	{ "volume rename", api_volume_rename, NEED_DECIDE },
	{ "volume set", api_volume_set, NEED_DECIDE },
	{ "volume delete", api_volume_delete, NEED_DECIDE },
	{ "volume wait", api_volume_wait, NEED_COPY },
	{ "volume scrub", api_volume_scrub, NEED_DECIDE },
	{ "volume rejoin", api_volume_rejoin, NEED_DECIDE },
	{ "task list", api_task_list, NEED_COPY },
	{ "task show", api_task_show, NEED_COPY },
	{ "task cancel", api_task_cancel, NEED_DECIDE },
	{ "event list", api_event_list, NEED_COPY },
	{ "stats", api_stats, NEED_NOTHING },
	{ "version", api_version, NEED_NOTHING },
};

static int find(const char *verb)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].verb, verb))
			return (int)i;
	return -1;
}

api_step *api_find(const char *verb)
{
	int i = find(verb);

	return i < 0 ? NULL : table[i].step;
}

const char *api_verb(unsigned int n)
{
	return n < sizeof(table) / sizeof(table[0]) ? table[n].verb : NULL;
}

static int store_away(struct api *a)
{
	struct daemon *d = a->d;

	return api_fail(a, -ENOTCONN, "unreachable", "the cluster store has not answered for %llu s, so nothing can be "
			"changed now; attached volumes go on: see 'meshctl cluster status'",
			(unsigned long long)(store_now_ms() - d->store_away_ms) / 1000);
}

/* Where the store answers: has this host read it, and may it decide? */
static int may_decide(struct api *a, enum need need, bool waits)
{
	const struct host_agent *h = &a->d->self;

	if (need == NEED_DECIDE && host_stopped(h))
		return api_fail(a, -ESHUTDOWN, "stopped", "this host decides nothing: %s", h->why[0] ? h->why :
				"see 'meshctl cluster status'");
	if (copy_whole(a->d->copy) && (need != NEED_DECIDE || host_may(h)))
		return 0;
	/* It starts, or notes durably what it has seen. */
	if (waits)
		return -EINPROGRESS;
	return api_fail(a, -EAGAIN, "unreachable", "meshd has not read all of the cluster store yet%s%s: see 'meshctl "
			"cluster status', and try again", h->why[0] ? ": " : "", h->why);
}

int api_may(struct api *a)
{
	enum need need = table[find(a->verb)].need;
	bool waits = store_now_ms() - a->since_ms < STARTING_MS;

	if (need == NEED_NOTHING || (need == NEED_COPY && (copy_whole(a->d->copy) || !waits)))
		return 0;
	if (a->d->store_away)
		return need == NEED_COPY ? 0 : store_away(a);
	return may_decide(a, need, waits);
}

const char *api_text(const struct api *a, const char *key)
{
	const char *s = json_string_value(json_object_get(a->args, key));

	return s && *s ? s : NULL;
}

bool api_flag(const struct api *a, const char *key)
{
	return json_is_true(json_object_get(a->args, key));
}

u64 api_number(const struct api *a, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(a->args, key));

	return n > 0 ? (u64)n : 0;
}

const json_t *api_list(const struct api *a, const char *key)
{
	const json_t *j = json_object_get(a->args, key);

	return json_array_size(j) ? j : NULL;
}

u64 api_now(void)
{
	return (u64)time(NULL);
}

bool api_id(const struct api *a, struct muuid *id)
{
	const char *text = api_text(a, "id");

	return text && !muuid_parse(text, id);
}

int api_random(struct api *a, struct muuid *id)
{
	if (getrandom(id, sizeof(*id), 0) != sizeof(*id))
		return api_fail(a, -EIO, "failed", "the kernel has no random numbers yet");
	muuid_mark_random(id);
	return 0;
}

int api_deal(struct api *a, struct deal *d)
{
	int ret = deal_close(d, API_TXN_MS);

	if (ret == 1)
		return 1;
	if (!ret)
		return -EINPROGRESS;
	if (ret == -EACCES || ret == -EPERM)
		return api_fail(a, ret, "refused", "the cluster store refused it to this host: %s%s", d->why,
				a->d->self.role == PLAN_CLIENT ? "; a storage or store host may: type it there" : "");
	if (ret == -ETIMEDOUT || ret == -EIO || ret == -ECANCELED)
		return api_fail(a, ret, "unreachable", "the cluster store does not answer (%s): it may have been done; "
				"see 'meshctl cluster status', then repeat it", d->why);
	return api_fail(a, ret, ret == -ENOSPC ? "no-space" : "failed", "%s", d->why[0] ? d->why : strerror(-ret));
}
