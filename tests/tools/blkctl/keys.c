// SPDX-License-Identifier: GPL-2.0-only
/* Keys of the kernel's keyrings that IDENTITY_SET refuses, and why. */
#include <keyutils.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/blkctl/blkctl.h"

static key_serial_t key(const char *type, const char *name, size_t len)
{
	static const char bytes[80] = "a key that is not to become the host's";

	return add_key(type, name, bytes, len, KEY_SPEC_THREAD_KEYRING);
}

static key_serial_t expired(void)
{
	key_serial_t k = key("logon", MESHBLK_KEY_NAME "9", 32);

	keyctl_set_timeout(k, 1);
	sleep(2);
	return k;
}

static key_serial_t revoked(void)
{
	key_serial_t k = key("logon", MESHBLK_KEY_NAME "9", 32);

	keyctl_revoke(k);
	return k;
}

/* Another process's, which lives as long as @hold is open. */
static key_serial_t of_another(int hold[2])
{
	key_serial_t k = -1;
	int said[2];

	if (pipe(hold) || pipe(said))
		return -1;
	if (!fork()) {
		k = key("logon", MESHBLK_KEY_NAME "9", 32);
		close(hold[1]);
		if (write(said[1], &k, sizeof(k)) < 0 || read(hold[0], &k, 1))
			_exit(1);
		_exit(0);
	}
	return read(said[0], &k, sizeof(k)) == sizeof(k) ? k : -1;
}

static void try(const char *what, const struct uuid *host, key_serial_t serial)
{
	struct nl_msg *m = new_msg(MESHBLK_CMD_IDENTITY_SET, 0);
	int err;

	put_uuid(m, MESHBLK_A_HOST_UUID, host);
	nla_put_u16(m, MESHBLK_A_KEY_ID, 9);
	nla_put_s32(m, MESHBLK_A_KEY_SERIAL, serial);
	err = talk(m, NULL, NULL);
	printf("%s: %s\n", what, err ? refusal : "taken");
	keyctl_clear(KEY_SPEC_THREAD_KEYRING);
}

int cmd_bad_keys(int argc, char **argv)
{
	struct uuid host;
	int hold[2];

	if (argc != 2)
		die(2, "bad-keys: UUID");
	host = parse_uuid(argv[1]);
	try("none", &host, 0x7ffffff1);
	try("readable", &host, key("user", MESHBLK_KEY_NAME "9", 32));
	try("other id", &host, key("logon", MESHBLK_KEY_NAME "8", 32));
	try("other use", &host, key("logon", MESHBLK_SALT_NAME "9", 32));
	try("long", &host, key("logon", MESHBLK_KEY_NAME "9", MESHBLK_KEY_MAX + 1));
	try("short", &host, key("logon", MESHBLK_KEY_NAME "9", 15));
	try("expired", &host, expired());
	try("revoked", &host, revoked());
	try("another process's", &host, of_another(hold));
	close(hold[1]);
	wait(NULL);
	return 0;
}
