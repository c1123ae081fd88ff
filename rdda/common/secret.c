// SPDX-License-Identifier: GPL-2.0-only
/*
 * Secrets do not travel by netlink: Linux shows each message to taps of the network namespace
 * (nlmon). A message has the serial number of a key of type "logon", possessed by the sender: the
 * handler runs in the sender's context and reads the key there. No program can read such a key, and
 * the key's name states its purpose, so that no other key is taken for it.
 */
#include <keys/user-type.h>
#include <linux/key.h>
#include <linux/string.h>
#include <net/netlink.h>

#include "driver/uapi/meshblk.h"
#include "rdda/common/secret.h"

/* Length of the shortest key of a cluster. */
#define SECRET_KEY_MIN	16

/* Report why lookup_user_key() found no key. Return: @err. */
static int secret_refuse(int err, struct netlink_ext_ack *extack)
{
	switch (err) {
	case -ENOKEY:
		NL_SET_ERR_MSG(extack, "there is no key with this serial number");
		break;
	case -EKEYEXPIRED:
		NL_SET_ERR_MSG(extack, "the key with this serial number has expired");
		break;
	case -EKEYREVOKED:
		NL_SET_ERR_MSG(extack, "the key with this serial number has been revoked");
		break;
	case -EACCES:
		NL_SET_ERR_MSG(extack, "the key is in none of the sender's keyrings");
		break;
	default:
		NL_SET_ERR_MSG(extack, "the key cannot be looked up");
	}
	return err;
}

static int secret_copy(struct key *key, void *bytes, size_t size, struct netlink_ext_ack *extack)
{
	const struct user_key_payload *payload;
	int len;

	down_read(&key->sem);
	payload = user_key_payload_locked(key);
	if (!payload)
		len = secret_refuse(-EKEYREVOKED, extack);
	else
		len = payload->datalen;
	if (len > 0 && (size_t)len > size) {
		NL_SET_ERR_MSG(extack, "the key's payload is too long");
		len = -EINVAL;
	}
	if (len > 0)
		memcpy(bytes, payload->data, len);
	up_read(&key->sem);
	return len;
}

/*
 * Read the payload of a "logon" key. @serial: of a key in a keyring of the current process. @name:
 * the description that the key must have. @bytes: set; the caller wipes them. Context: the handler
 * of a netlink message; sleeps. Return: length of the payload, or a negative errno.
 */
int rdda_secret_read(s32 serial, const char *name, void *bytes, size_t size,
		     struct netlink_ext_ack *extack)
{
	key_ref_t ref = lookup_user_key(serial, 0, KEY_NEED_SEARCH);
	struct key *key;
	int len;

	if (IS_ERR(ref))
		return secret_refuse(PTR_ERR(ref), extack);
	key = key_ref_to_ptr(ref);
	if (key->type != &key_type_logon) {
		NL_SET_ERR_MSG(extack, "the key is not of type \"logon\"");
		len = -EINVAL;
	} else if (strcmp(key->description, name)) {
		NL_SET_ERR_MSG(extack, "the key's description says that it is for something else");
		len = -EINVAL;
	} else {
		len = secret_copy(key, bytes, size, extack);
	}
	key_ref_put(ref);
	return len;
}

/*
 * Get the keys of a message with a host's identity. @attrs: of the message, checked against its
 * policy. @first: attribute of the newest key's id; the serial number of its secret follows, then
 * both of the key before. @key: set; RDDA_KEY_NONE for a key not in the message; the caller wipes
 * both. Context: as rdda_secret_read(). Return: 0, or a negative errno.
 */
int rdda_keys_get(struct nlattr *const attrs[], int first, struct rdda_key key[2],
		  struct netlink_ext_ack *extack)
{
	char name[sizeof(MESHBLK_KEY_NAME "65535")];
	int i, len;

	memset(key, 0, 2 * sizeof(*key));
	for (i = 0; i < 2; i++) {
		const struct nlattr *id = attrs[first + 2 * i], *serial = attrs[first + 2 * i + 1];

		if (!id != !serial || (id && !attrs[first])) {
			NL_SET_ERR_MSG(extack, "a key goes with its id, a second one with a first");
			return -EINVAL;
		}
		if (!id)
			continue;
		snprintf(name, sizeof(name), MESHBLK_KEY_NAME "%u", nla_get_u16(id));
		len = rdda_secret_read(nla_get_s32(serial), name, key[i].key, sizeof(key[i].key),
				       extack);
		if (len < 0)
			return len;
		if (len < SECRET_KEY_MIN) {
			NL_SET_ERR_MSG(extack, "a cluster's key has at least 16 bytes");
			return -EINVAL;
		}
		key[i].id = nla_get_u16(id);
		key[i].len = len;
	}
	return 0;
}
