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

/* The description of a key of the cluster, without its id, says its kind. */
static const char * const secret_kinds[] = {
	[RDDA_KEY_SHARED] = MESHBLK_KEY_NAME,
	[RDDA_KEY_MASTER] = MESHBLK_MASTER_NAME,
	[RDDA_KEY_OWN] = MESHBLK_OWN_NAME,
};

static_assert(RDDA_ROLE_CLIENT == (int)MESHBLK_HOST_CLIENT &&
	      RDDA_ROLE_STORAGE == (int)MESHBLK_HOST_STORAGE &&
	      RDDA_ROLE_STORE == (int)MESHBLK_HOST_STORE, "a role has one number");

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
 * Look a "logon" key up and read its payload. @kinds: @nr beginnings of a description, of which the
 * key's is one, with @rest behind it. @kind: set to the one. Return: as rdda_secret_read().
 */
static int secret_read(s32 serial, const char * const kinds[], unsigned int nr, const char *rest,
		       u8 *kind, void *bytes, size_t size, struct netlink_ext_ack *extack)
{
	key_ref_t ref = lookup_user_key(serial, 0, KEY_NEED_SEARCH);
	const char *behind = NULL;
	struct key *key;
	int len;

	if (IS_ERR(ref))
		return secret_refuse(PTR_ERR(ref), extack);
	key = key_ref_to_ptr(ref);
	if (key->type != &key_type_logon) {
		NL_SET_ERR_MSG(extack, "the key is not of type \"logon\"");
		len = -EINVAL;
		goto out;
	}
	for (*kind = 0; *kind < nr; (*kind)++) {
		behind = key->description + str_has_prefix(key->description, kinds[*kind]);
		if (behind != key->description && !strcmp(behind, rest))
			break;
	}
	if (*kind < nr) {
		len = secret_copy(key, bytes, size, extack);
	} else {
		NL_SET_ERR_MSG(extack, "the key's description says that it is for something else");
		len = -EINVAL;
	}
out:
	key_ref_put(ref);
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
	u8 kind;

	return secret_read(serial, &name, 1, "", &kind, bytes, size, extack);
}

/* Read one key of the cluster. @role: of this host; counts unless the key is a shared one. */
static int secret_key_read(s32 serial, u16 id, u8 role, struct rdda_key *key,
			   struct netlink_ext_ack *extack)
{
	char number[sizeof("65535")];
	const char *why;
	int len;

	snprintf(number, sizeof(number), "%u", id);
	len = secret_read(serial, secret_kinds, ARRAY_SIZE(secret_kinds), number, &key->kind,
			  key->key, sizeof(key->key), extack);
	if (len < 0)
		return len;
	key->id = id;
	key->len = len;
	key->role = key->kind == RDDA_KEY_SHARED ? RDDA_ROLE_NONE : role;
	why = rdda_key_refuse(key);
	if (!why)
		return 0;
	if (extack)
		extack->_msg = why;
	return -EINVAL;
}

/*
 * Get the keys of a message with a host's identity. @attrs: of the message, checked against its
 * policy. @first: attribute of the newest key's id; the serial number of its secret follows, then
 * both of the key before, then the host's role. @key: set; RDDA_KEY_NONE for a key not in the
 * message; the caller wipes both. Context: as rdda_secret_read(). Return: 0, or a negative errno.
 */
int rdda_keys_get(struct nlattr *const attrs[], int first, struct rdda_key key[2],
		  struct netlink_ext_ack *extack)
{
	const struct nlattr *role = attrs[first + 4];
	int i, err;

	memset(key, 0, 2 * sizeof(*key));
	for (i = 0; i < 2; i++) {
		const struct nlattr *id = attrs[first + 2 * i], *serial = attrs[first + 2 * i + 1];

		if (!id != !serial || (id && !attrs[first])) {
			NL_SET_ERR_MSG(extack, "a key goes with its id, a second one with a first");
			return -EINVAL;
		}
		if (!id)
			continue;
		err = secret_key_read(nla_get_s32(serial), nla_get_u16(id),
				      role ? nla_get_u8(role) : RDDA_ROLE_NONE, &key[i], extack);
		if (err)
			return err;
	}
	return 0;
}
