// SPDX-License-Identifier: GPL-2.0-only
/*
 * nvmekick: rings the doorbells of a guest's emulated NVMe drives again, every two seconds.
 *
 * QEMU 7.2 reports to the guest in memory up to where it has fetched commands (EventIdx), and reads the
 * shadow doorbell after that without a barrier between. Now and then both sides see the other's old
 * value: the guest rings no doorbell, QEMU sleeps, and the drive answers nothing any more. One ring
 * is enough for it to go on.
 *
 * The value that is written does not matter: with shadow doorbells QEMU takes the tail from memory.
 * Without them it would be taken for the tail, so a controller that does not have them is left alone.
 * The kernel's command line needs iomem=relaxed.
 */
#include <fcntl.h>
#include <glob.h>
#include <linux/nvme_ioctl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define DOORBELLS	0x1000
#define PAIR		8		/* bytes of a queue's two doorbells */
#define MAPPED		0x2000
#define OACS		256		/* of Identify Controller (NVMe 5.17.2.1) */
#define OACS_DBBUF	(1 << 8)
#define IDENTIFY	0x06

static sigjmp_buf gone;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(gone, 1);		/* the drive was pulled */
}

static bool text_of(const char *folder, const char *name, char *out, size_t size)
{
	char path[300];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "re");
	ok = f && fgets(out, (int)size, f);
	if (f)
		fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = 0;
	return ok;
}

static bool is(const char *folder, const char *name, const char *text)
{
	char out[64];

	return text_of(folder, name, out, sizeof(out)) && !strcmp(out, text);
}

/* Known by its name: all drives of a guest are of one emulator. */
static bool shadowed(const char *folder)
{
	static char known[32][16];
	static bool answer[32];
	static unsigned int n;
	const char *name = strrchr(folder, '/') + 1;
	static uint8_t data[4096];
	struct nvme_admin_cmd c = { .opcode = IDENTIFY, .addr = (uintptr_t)data, .data_len = sizeof(data),
				    .cdw10 = 1 };
	char path[64];
	int fd;

	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(known[i], name))
			return answer[i];
	snprintf(path, sizeof(path), "/dev/%.15s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (n < 32 && !ioctl(fd, NVME_IOCTL_ADMIN_CMD, &c)) {
		snprintf(known[n], sizeof(known[n]), "%.15s", name);
		answer[n++] = (data[OACS] | data[OACS + 1] << 8) & OACS_DBBUF;
	}
	close(fd);
	return n && !strcmp(known[n - 1], name) && answer[n - 1];
}

static void ring(const char *folder)
{
	char count[16], bdf[32], path[120];
	volatile uint8_t *bar;
	unsigned long queues;
	int fd;

	if (!is(folder, "transport", "pcie") || !is(folder, "state", "live") ||
	    !is(folder, "device/vendor", "0x1b36") || !shadowed(folder))
		return;
	if (!text_of(folder, "queue_count", count, sizeof(count)) || !text_of(folder, "address", bdf, sizeof(bdf)))
		return;
	queues = strtoul(count, NULL, 10);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource0", bdf);
	fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		return;
	bar = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (bar == MAP_FAILED)
		return;
	if (!sigsetjmp(gone, 1))
		for (unsigned long q = 1; q < queues && DOORBELLS + q * PAIR < MAPPED; q++)
			*(volatile uint32_t *)(bar + DOORBELLS + q * PAIR) = 0;
	munmap((void *)bar, MAPPED);
}

int main(void)
{
	signal(SIGBUS, on_bus);
	for (;;) {
		glob_t g;

		if (!glob("/sys/class/nvme/nvme*", 0, NULL, &g)) {
			for (size_t i = 0; i < g.gl_pathc; i++)
				ring(g.gl_pathv[i]);
			globfree(&g);
		}
		sleep(2);
	}
}
