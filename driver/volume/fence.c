// SPDX-License-Identifier: GPL-2.0-only
/*
 * A volume that another host has by now, under a higher access number: its use here is over for
 * good, though the volume stays until VOLUME_DEL.
 *
 *   number seen (access.c) -> requests that wait, and new ones, fail
 *                          -> no layout: members are closed, and none is opened again
 *                          -> requests in flight end, their members are kicked
 *                          -> the disk is dead; file systems are notified, where the kernel can
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include "driver/netlink/events.h"
#include "driver/volume/volume.h"

/* Requests in flight end by themselves within FENCE_GRACE_MS, or are kicked each FENCE_KICK_MS. */
#define FENCE_GRACE_MS	200
#define FENCE_KICK_MS	400
/* After this number of kicks only a local device keeps I/O: the disk does not wait for that. */
#define FENCE_KICKS	3

static bool fence_drained(struct mesh_volume *vol, unsigned int ms)
{
	return wait_for_completion_timeout(&vol->drained, msecs_to_jiffies(ms));
}

/* Return: false: the volume is being removed, which does all of this, too. */
static bool fence_begin(struct mesh_volume *vol)
{
	bool begin;

	mutex_lock(&vol->lock);
	begin = vol->state != MESH_VOLUME_REMOVING && vol->state != MESH_VOLUME_FENCED;
	if (begin) {
		mesh_volume_set_why(vol, MESH_VOLUME_FENCED, -ESTALE,
				    "another host has it now; detach it");
		mesh_layout_end(vol);
	}
	mutex_unlock(&vol->lock);
	return begin;
}

void mesh_volume_fence_work(struct work_struct *work)
{
	struct mesh_volume *vol = container_of(work, struct mesh_volume, fence_work);
	unsigned int kicks;
	uuid_t host;
	u64 number;

	if (!mesh_access_fenced(vol, &number, &host) || !fence_begin(vol))
		return;
	pr_warn("%s: host %pUb has it now, under access number %llu: I/O fails, detach it\n",
		vol->conf.name, &host, number);
	mesh_event_fenced(vol, number, &host);
	for (kicks = 0; kicks < FENCE_KICKS; kicks++) {
		if (fence_drained(vol, kicks ? FENCE_KICK_MS : FENCE_GRACE_MS))
			break;
		mesh_layout_kick(vol);
	}
	/* it may be in an attach, whose reads have failed */
	flush_work(&vol->state_work);
	mesh_disk_kill(vol);
	while (!fence_drained(vol, FENCE_KICK_MS))
		mesh_layout_kick(vol);
}
