// SPDX-License-Identifier: GPL-2.0-only
/*
 * GnuTLS rather than OpenSSL: its priority string leaves PSK with (EC)DHE as the only key
 * exchange, so a peer without the key cannot get through in another way, and its licence, the
 * LGPL, goes with GPL-2.0-only programs.
 *
 * A peer that is refused gets not a byte, no alert either: a stranger gets a closed connection.
 * Session tickets are off, so each connection proves the key.
 */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "userspace/store/link_tls.h"
#include "userspace/store/token.h"

/* SHA-256 alone: a host key has 256 bits. A signature must be named, though no key exchange makes one. */
#define PRIORITY \
	"NONE:+VERS-TLS1.3:+ECDHE-PSK:+DHE-PSK:+AES-128-GCM:+CHACHA20-POLY1305:+AEAD:" \
	"+GROUP-X25519:+SIGN-EDDSA-ED25519"

struct link_tls {
	gnutls_session_t s;
	gnutls_psk_client_credentials_t client;
	gnutls_psk_server_credentials_t server;
	link_tls_find find;
	void	*priv;
	struct link_identity who;
	int	fd;
	size_t	pulled;		/* bytes of the handshake */
	size_t	held;		/* bytes that GnuTLS took and could not send */
	bool	known;		/* a key of this identity was found */
	bool	up;
	bool	pushed;		/* something was sent */
	int	io_err;		/* of the socket: GnuTLS takes a reset for an end */
};

void link_identity_text(const struct link_identity *i, char out[LINK_IDENTITY])
{
	const char *role = token_role(i->role);

	snprintf(out, LINK_IDENTITY, "meshblk %u %s %s", i->key_id, role ? role : "token",
		 muuid_str(&i->uuid).s);
}

int link_identity_parse(const char *text, size_t len, struct link_identity *i)
{
	char copy[LINK_IDENTITY], again[LINK_IDENTITY], role[8], uuid[MUUID_TEXT];
	unsigned int id;

	memset(i, 0, sizeof(*i));
	if (len >= sizeof(copy) || memchr(text, 0, len))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = 0;
	if (sscanf(copy, "meshblk %5u %7s %36s", &id, role, uuid) != 3 || id > 0xffff)
		return -EINVAL;
	i->key_id = id;
	i->role = token_role_of(role);
	if (!i->key_id || (!i->role && strcmp(role, "token")) || muuid_parse(uuid, &i->uuid))
		return -EINVAL;
	link_identity_text(i, again);
	return strcmp(copy, again) ? -EINVAL : 0;
}

static void io_failed(struct link_tls *t, int err)
{
	if (err != EAGAIN && err != EINTR)
		t->io_err = err;
	gnutls_transport_set_errno(t->s, err);
}

static ssize_t pull(gnutls_transport_ptr_t arg, void *buf, size_t len)
{
	struct link_tls *t = arg;
	ssize_t n;

	if (!t->up && t->pulled + len > LINK_TLS_SHAKE)
		len = LINK_TLS_SHAKE - t->pulled;
	if (!len) {
		io_failed(t, EMSGSIZE);
		return -1;
	}
	n = recv(t->fd, buf, len, MSG_DONTWAIT);
	if (n < 0)
		io_failed(t, errno);
	else if (!t->up)
		t->pulled += n;
	return n;
}

static ssize_t push(gnutls_transport_ptr_t arg, const void *buf, size_t len)
{
	struct link_tls *t = arg;
	ssize_t n;

	/* A stranger without any key gets no request, not for another key share either. */
	if (!t->known) {
		io_failed(t, EACCES);
		return -1;
	}
	n = send(t->fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		io_failed(t, errno);
	else
		t->pushed = true;
	return n;
}

/* It never waits: a caller that needs a byte polls for it. */
static int pull_timeout(gnutls_transport_ptr_t arg, unsigned int ms)
{
	struct pollfd p = { .fd = ((struct link_tls *)arg)->fd, .events = POLLIN };

	(void)ms;
	return poll(&p, 1, 0);
}

static int find_key(gnutls_session_t s, const gnutls_datum_t *name, gnutls_datum_t *out)
{
	struct link_tls *t = gnutls_session_get_ptr(s);
	struct secret psk;

	t->known = false;
	if (link_identity_parse((const char *)name->data, name->size, &t->who) ||
	    t->find(t->priv, &t->who, &psk))
		return -1;
	out->data = gnutls_malloc(SECRET_BYTES);
	if (out->data) {
		memcpy(out->data, psk.b, SECRET_BYTES);
		out->size = SECRET_BYTES;
		t->known = true;
	}
	explicit_bzero(&psk, sizeof(psk));
	return t->known ? 0 : -1;
}

static int server_key(struct link_tls *t)
{
	int err = gnutls_psk_allocate_server_credentials(&t->server);

	if (err < 0)
		return err;
	gnutls_psk_set_server_credentials_function2(t->server, find_key);
	return gnutls_credentials_set(t->s, GNUTLS_CRD_PSK, t->server);
}

static int client_key(struct link_tls *t, const struct secret *psk)
{
	gnutls_datum_t key = { (u8 *)psk->b, SECRET_BYTES };
	char name[LINK_IDENTITY];
	int err = gnutls_psk_allocate_client_credentials(&t->client);

	if (err < 0)
		return err;
	link_identity_text(&t->who, name);
	t->known = true;
	err = gnutls_psk_set_client_credentials(t->client, name, &key, GNUTLS_PSK_KEY_RAW);
	return err < 0 ? err : gnutls_credentials_set(t->s, GNUTLS_CRD_PSK, t->client);
}

static struct link_tls *begin(struct link_tls *t, unsigned int side, const struct secret *psk)
{
	int err = gnutls_init(&t->s, GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS | side);

	if (err >= 0)
		err = gnutls_priority_set_direct(t->s, PRIORITY, NULL);
	if (err >= 0)
		err = psk ? client_key(t, psk) : server_key(t);
	if (err < 0) {
		link_tls_free(t);
		return NULL;
	}
	gnutls_session_set_ptr(t->s, t);
	gnutls_transport_set_ptr(t->s, t);
	gnutls_transport_set_pull_function(t->s, pull);
	gnutls_transport_set_push_function(t->s, push);
	gnutls_transport_set_pull_timeout_function(t->s, pull_timeout);
	return t;
}

struct link_tls *link_tls_client(int fd, const struct link_identity *self, const struct secret *psk)
{
	struct link_tls *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->fd = fd;
	t->who = *self;
	return begin(t, GNUTLS_CLIENT, psk);
}

struct link_tls *link_tls_server(int fd, link_tls_find find, void *priv)
{
	struct link_tls *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->fd = fd;
	t->find = find;
	t->priv = priv;
	return begin(t, GNUTLS_SERVER, NULL);
}

static int to_errno(const struct link_tls *t, ssize_t err)
{
	if (err == GNUTLS_E_AGAIN || err == GNUTLS_E_INTERRUPTED)
		return -EAGAIN;
	if (t->io_err == EMSGSIZE || t->io_err == EACCES)
		return -t->io_err;
	if (t->io_err)
		return -ECONNRESET;
	if (err == GNUTLS_E_PREMATURE_TERMINATION)
		return -EPIPE;
	if (err == GNUTLS_E_MEMORY_ERROR)
		return -ENOMEM;
	return t->up ? -EBADMSG : -EKEYREJECTED;
}

/* PRIORITY allows nothing else; all rests on it, so it is checked again. */
static bool proved(const struct link_tls *t)
{
	gnutls_kx_algorithm_t kx = gnutls_kx_get(t->s);

	return t->known && gnutls_protocol_get_version(t->s) == GNUTLS_TLS1_3 &&
	       gnutls_auth_get_type(t->s) == GNUTLS_CRD_PSK &&
	       (kx == GNUTLS_KX_ECDHE_PSK || kx == GNUTLS_KX_DHE_PSK);
}

int link_tls_shake(struct link_tls *t)
{
	int err = gnutls_handshake(t->s);

	if (err < 0)
		return to_errno(t, err);
	if (!proved(t))
		return -EKEYREJECTED;
	t->up = true;
	return 0;
}

short link_tls_wants(const struct link_tls *t)
{
	return gnutls_record_get_direction(t->s) ? POLLOUT : POLLIN;
}

ssize_t link_tls_read(struct link_tls *t, void *buf, size_t len)
{
	ssize_t n = gnutls_record_recv(t->s, buf, len);

	if (n == GNUTLS_E_PREMATURE_TERMINATION && !t->io_err)
		return 0;
	return n < 0 ? to_errno(t, n) : n;
}

ssize_t link_tls_write(struct link_tls *t, const void *buf, size_t len)
{
	ssize_t n = t->held ? gnutls_record_send(t->s, NULL, 0) : gnutls_record_send(t->s, buf, len);

	if (n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED) {
		t->held = len;
		return -EAGAIN;
	}
	t->held = 0;
	return n < 0 ? to_errno(t, n) : n;
}

const struct link_identity *link_tls_who(const struct link_tls *t)
{
	return &t->who;
}

bool link_tls_answered(const struct link_tls *t)
{
	return t->pushed;
}

void link_tls_free(struct link_tls *t)
{
	if (!t)
		return;
	if (t->s)
		gnutls_deinit(t->s);
	if (t->client)
		gnutls_psk_free_client_credentials(t->client);
	if (t->server)
		gnutls_psk_free_server_credentials(t->server);
	free(t);
}
