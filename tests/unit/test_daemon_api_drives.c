// SPDX-License-Identifier: GPL-2.0-only
/* Drives by the names of their devices, which change: what a host lists now counts. */
#include "tests/unit/api_rig.h"

#define S2_0	{ .b = { 0xd0, S2, 0x11, 0 } }
#define S2_1	{ .b = { 0xd0, S2, 0x11, 1 } }

static void put_disks(u8 h, struct obj_disk *disk, u32 n)
{
	struct obj_device d = { .host = host_id(h), .disks = n, .disk = disk };

	for (u32 i = 0; i < n; i++) {
		disk[i].size = disk[i].size ? disk[i].size : GIB;
		disk[i].lba = 512;
		strcpy(disk[i].why, "a drive");
	}
	rig_put(A, KEY_DEVICE, &d);
}

/* The row of drives with this UUID. */
static const json_t *row(const json_t *r, const char *uuid)
{
	const json_t *drives = json_object_get(r, "drives");
	json_t *j;
	size_t i;

	json_array_foreach((json_t *)drives, i, j) {
		if (!strcmp(text_of(j, "uuid"), uuid))
			return j;
	}
	return NULL;
}

/* The drive that a dry run of "unexport" would take: its volume. */
static void takes(const char *args, const char *volume)
{
	json_t *r = works("drive unexport", args);

	CU_ASSERT_STRING_EQUAL(text_of(json_array_get(json_object_get(r, "unreachable"), 0), "name"), volume);
	json_decref(r);
}

static void path_is(const char *uuid, const char *path)
{
	json_t *r = works("drive list", "{}");

	CU_ASSERT_STRING_EQUAL(text_of(row(r, uuid), "path"), path);
	json_decref(r);
}

#define UUID_0	"d0021100-0000-0000-0000-000000000000"
#define UUID_1	"d0021101-0000-0000-0000-000000000000"

/* Two devices get each other's name: neither is taken for the other. */
static void test_swapped(void)
{
	struct obj_disk swapped[] = { { .path = "/dev/nvme0n1", .drive = S2_1 },
				      { .path = "/dev/nvme1n1", .drive = S2_0 } };
	struct obj_disk one[] = { { .path = "/dev/nvme0n1", .drive = S2_1 } };
	struct obj_disk copy[] = { { .path = "/dev/nvme7n1", .drive = S2_0, .serial = "other" },
				   { .path = "/dev/nvme5n1", .drive = S2_1 } };

	api_begin();
	does("volume create", "{'name':'v0','size':67108864,'layout':'linear','drives':['s2:/dev/nvme0n1']}");
	does("volume create", "{'name':'v1','size':67108864,'layout':'linear','drives':['s2:/dev/nvme1n1']}");
	takes("{'drive':'s2:/dev/nvme0n1','dry_run':true}", "v0");
	put_disks(S2, swapped, 2);
	takes("{'drive':'s2:/dev/nvme0n1','dry_run':true}", "v1");
	takes("{'drive':'s2:/dev/nvme1n1','dry_run':true}", "v0");
	path_is(UUID_0, "/dev/nvme1n1");
	path_is(UUID_1, "/dev/nvme0n1");
	/* The other one is away, and its last name is another's. */
	put_disks(S2, one, 1);
	takes("{'drive':'s2:/dev/nvme0n1','dry_run':true}", "v1");
	path_is(UUID_0, "");
	fails("drive unexport", "{'drive':'s2:/dev/nvme1n1','dry_run':true}", "not-found", "no drive");
	/* A copy has its label; a name that no disk has is the last one. */
	put_disks(S2, copy, 2);
	path_is(UUID_0, "/dev/nvme0n1");
	path_is(UUID_1, "/dev/nvme5n1");
	takes("{'drive':'s2:/dev/nvme0n1','dry_run':true}", "v0");
	fails("drive unexport", "{'drive':'s2:/dev/nvme7n1','dry_run':true}", "not-found", "no drive");
	fails("drive drain", "{'drive':'s2:/dev/nvme0n1'}", "refused", "does not find the device");
	api_end();
}

/* Names in /dev/disk are links: this host follows its own. */
static void test_links(void)
{
	char disk[128], link[128], args[400];
	struct obj_disk own = { .drive = { .b = { 0xd0, S1, 0x11, 0 } } }, theirs = { .drive = S2_0 };
	int fd;

	api_begin();
	does("volume create", "{'name':'v0','size':67108864,'layout':'linear','drives':['s1:/dev/nvme0n1']}");
	snprintf(disk, sizeof(disk), "%s/disk", folder);
	snprintf(link, sizeof(link), "%s/by-id", folder);
	fd = open(disk, O_RDWR | O_CREAT, 0600);
	CU_ASSERT_FATAL(fd >= 0 && !symlink(disk, link));
	close(fd);
	strcpy(own.path, disk);
	put_disks(S1, &own, 1);
	snprintf(args, sizeof(args), "{'drive':'%s','dry_run':true}", link);
	takes(args, "v0");
	snprintf(args, sizeof(args), "{'drive':'s1:%s','dry_run':true}", link);
	takes(args, "v0");
	/* What is a link here may be anything there. */
	strcpy(theirs.path, disk);
	put_disks(S2, &theirs, 1);
	snprintf(args, sizeof(args), "{'drive':'s2:%s','dry_run':true}", link);
	fails("drive unexport", args, "not-found", "no drive");
	/* A drive already, by any name. */
	snprintf(args, sizeof(args), "{'path':'%s'}", link);
	does("drive export", args);
	CU_ASSERT_EQUAL(count(KEY_TASK), 1);
	api_end();
}

/* A drive whose device has grown is exported again, which grows it. */
static void test_grown(void)
{
	struct obj_disk disk = { .path = "/dev/nvme0n1", .drive = S2_0, .size = GIB + LABEL_AREA - 512 };
	struct client k;

	api_begin();
	put_disks(S2, &disk, 1);
	does("drive export", "{'path':'s2:/dev/nvme0n1'}");
	CU_ASSERT_EQUAL(count(KEY_TASK), 0);
	disk.size = GIB + LABEL_AREA;
	put_disks(S2, &disk, 1);
	client_request(&k, "drive export", "{'path':'s2:/dev/nvme0n1'}");
	client_waits(&k, 2);
	CU_ASSERT_EQUAL(count(KEY_TASK), 1);
	client_close(&k);
	api_end();
}

/* A member that was replaced has I/O in flight: this host's kernel knows. */
static void test_waits(void)
{
	struct client k;
	struct muuid v;

	api_begin();
	does("volume create", "{'name':'m','size':67108864,'layout':'mirror:2','drives':['s1:/dev/nvme0n1',"
	     "'s2:/dev/nvme0n1']}");
	v = volume_id("m");
	client_request(&k, "volume attach", "{'volume':'m'}");
	client_waits(&k, 2);
	play_attach(S1, &v);
	client_ok(&k);
	D.volumes = (void *)&D;
	kernel_says = "{\"groups\":[{\"members\":[{\"index\":0,\"waits\":false},{\"index\":1,\"waits\":true}]}],"
		      "\"abandoned\":[{\"member\":null,\"path\":\"/dev/nvme9n1\",\"ios\":3}]}";
	fails("volume replace", "{'volume':'m','member':'0'}", "refused",
	      "member 1 of volume m waits for its place: the I/O of the member before it has not ended, "
	      "abandoned I/O on /dev/nvme9n1");
	fails("volume evict", "{'volume':'m','member':'1'}", "refused", "waits for its place");
	/* Of another group it is in nothing's way. */
	kernel_says = "{\"groups\":[{\"members\":[{\"index\":4,\"waits\":true}]}]}";
	client_close(&k);
	client_request(&k, "volume replace", "{'volume':'m','member':'0','with':'s3:/dev/nvme1n1'}");
	client_waits(&k, 2);
	client_close(&k);
	kernel_says = NULL;
	D.volumes = NULL;
	api_end();
}

static const struct rig_test tests[] = {
	{ "a member waits for its place", test_waits },
	{ "names are swapped", test_swapped },
	{ "names that are links", test_links },
	{ "a device has grown", test_grown },
};

int main(void)
{
	return rig_main("daemon_api_drives", tests, sizeof(tests) / sizeof(tests[0]));
}
