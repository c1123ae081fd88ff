// SPDX-License-Identifier: GPL-2.0-only
/*
 * TLS 1.3 with an external pre-shared key, by GnuTLS.
 *
 * GnuTLS rather than OpenSSL: its priority string leaves PSK with (EC)DHE as the
 * only key exchange, so a peer without the key cannot get through by another
 * way. With OpenSSL 3.0 the PSK is offered as a hand-made resumption ticket; a
 * server that ignores it goes on with a certificate, which a client must detect
 * after each handshake. And its licence, the LGPL, goes with GPL-2.0-only
 * programs, which the Apache licence of OpenSSL 3 does not.
 *
 * Nothing is sent to a peer that is refused, no alert either: a stranger gets a
 * closed connection. Session tickets are off: each connection proves the key.
 */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "userspace/meshd/link_tls.h"

/* It wants the name of a signature, too; no key exchange here makes one. */
#define PRIORITY \
	"NONE:+VERS-TLS1.3:+ECDHE-PSK:+DHE-PSK:+AES-128-GCM:+CHACHA20-POLY1305:+AEAD:" \
	"+GROUP-X25519:+SIGN-EDDSA-ED25519"
#define IDENTITY	"meshblk "

struct tls {
	gnutls_session_t s;
	gnutls_psk_client_credentials_t client;
	gnutls_psk_server_credentials_t server;
	struct link_key keys[LINK_KEYS];
	size_t n;
	int fd;
	int key;		/* of keys[], -1: none yet */
	int offered;
	size_t pulled;
	size_t held;		/* bytes that GnuTLS took and could not send */
	bool up;
	bool pushed;		/* something was sent */
	int io_err;		/* of the socket; GnuTLS takes a reset for an end */
};

static void io_failed(struct tls *t, int err)
{
	if (err != EAGAIN && err != EINTR)
		t->io_err = err;
	gnutls_transport_set_errno(t->s, err);
}

static ssize_t pull(gnutls_transport_ptr_t arg, void *buf, size_t len)
{
	struct tls *t = arg;
	ssize_t n;

	if (!t->up && t->pulled + len > TLS_SHAKE_BYTES)
		len = TLS_SHAKE_BYTES - t->pulled;
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
	struct tls *t = arg;
	ssize_t n;

	/* A stranger without any key gets no request, not for another key share either. */
	if (t->key < 0) {
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
	struct pollfd p = { .fd = ((struct tls *)arg)->fd, .events = POLLIN };

	(void)ms;
	return poll(&p, 1, 0);
}

/* An identity is a peer's word: only the exact text of a number is one. */
static int parse_identity(const gnutls_datum_t *name)
{
	static const char prefix[] = IDENTITY;
	size_t i = sizeof(prefix) - 1;
	int id = 0;

	if (name->size <= i || name->size > i + 5 || memcmp(name->data, prefix, i))
		return -1;
	for (; i < name->size; i++) {
		if (name->data[i] < '0' || name->data[i] > '9')
			return -1;
		id = id * 10 + (name->data[i] - '0');
	}
	return id > 0xffff ? -1 : id;
}

static int find_key(gnutls_session_t s, const gnutls_datum_t *name, gnutls_datum_t *out)
{
	struct tls *t = gnutls_session_get_ptr(s);
	size_t i;

	t->offered = parse_identity(name);
	for (i = 0; i < t->n && t->keys[i].id != t->offered; i++)
		;
	if (i == t->n)
		return -1;
	out->data = gnutls_malloc(sizeof(t->keys[i].psk));
	if (!out->data)
		return -1;
	memcpy(out->data, t->keys[i].psk, sizeof(t->keys[i].psk));
	out->size = sizeof(t->keys[i].psk);
	t->key = i;
	return 0;
}

static int server_key(struct tls *t)
{
	int err = gnutls_psk_allocate_server_credentials(&t->server);

	if (err < 0)
		return err;
	gnutls_psk_set_server_credentials_function2(t->server, find_key);
	return gnutls_credentials_set(t->s, GNUTLS_CRD_PSK, t->server);
}

static int client_key(struct tls *t)
{
	gnutls_datum_t psk = { t->keys[0].psk, sizeof(t->keys[0].psk) };
	char name[24];
	int err = gnutls_psk_allocate_client_credentials(&t->client);

	if (err < 0)
		return err;
	snprintf(name, sizeof(name), IDENTITY "%u", t->keys[0].id);
	t->key = 0;
	err = gnutls_psk_set_client_credentials(t->client, name, &psk, GNUTLS_PSK_KEY_RAW);
	return err < 0 ? err : gnutls_credentials_set(t->s, GNUTLS_CRD_PSK, t->client);
}

struct tls *tls_new(int fd, bool server, const struct link_key *keys, size_t n)
{
	unsigned int flags = GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS;
	struct tls *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return NULL;
	t->fd = fd;
	t->key = t->offered = -1;
	t->n = n < LINK_KEYS ? n : LINK_KEYS;
	memcpy(t->keys, keys, t->n * sizeof(*keys));
	err = gnutls_init(&t->s, flags | (server ? GNUTLS_SERVER : GNUTLS_CLIENT));
	if (err >= 0)
		err = gnutls_priority_set_direct(t->s, PRIORITY, NULL);
	if (err >= 0)
		err = server ? server_key(t) : client_key(t);
	if (err < 0) {
		log_error("links: TLS does not start: %s", gnutls_strerror(err));
		tls_free(t);
		return NULL;
	}
	gnutls_session_set_ptr(t->s, t);
	gnutls_transport_set_ptr(t->s, t);
	gnutls_transport_set_pull_function(t->s, pull);
	gnutls_transport_set_push_function(t->s, push);
	gnutls_transport_set_pull_timeout_function(t->s, pull_timeout);
	return t;
}

static int to_errno(const struct tls *t, ssize_t err)
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
static bool proved(const struct tls *t)
{
	gnutls_kx_algorithm_t kx = gnutls_kx_get(t->s);

	return t->key >= 0 && gnutls_protocol_get_version(t->s) == GNUTLS_TLS1_3 &&
	       gnutls_auth_get_type(t->s) == GNUTLS_CRD_PSK &&
	       (kx == GNUTLS_KX_ECDHE_PSK || kx == GNUTLS_KX_DHE_PSK);
}

int tls_shake(struct tls *t)
{
	int err = gnutls_handshake(t->s);

	if (err < 0)
		return to_errno(t, err);
	if (!proved(t))
		return -EKEYREJECTED;
	t->up = true;
	return 0;
}

short tls_wants(const struct tls *t)
{
	return gnutls_record_get_direction(t->s) ? POLLOUT : POLLIN;
}

ssize_t tls_read(struct tls *t, void *buf, size_t len)
{
	ssize_t n = gnutls_record_recv(t->s, buf, len);

	if (n == GNUTLS_E_PREMATURE_TERMINATION && !t->io_err)
		return 0;
	return n < 0 ? to_errno(t, n) : n;
}

ssize_t tls_write(struct tls *t, const void *buf, size_t len)
{
	ssize_t n = t->held ? gnutls_record_send(t->s, NULL, 0) : gnutls_record_send(t->s, buf, len);

	if (n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED) {
		t->held = len;
		return -EAGAIN;
	}
	t->held = 0;
	return n < 0 ? to_errno(t, n) : n;
}

const struct link_key *tls_key(const struct tls *t)
{
	return &t->keys[t->key];
}

int tls_offered(const struct tls *t)
{
	return t->offered;
}

bool tls_answered(const struct tls *t)
{
	return t->pushed;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	if (t->s)
		gnutls_deinit(t->s);
	if (t->client)
		gnutls_psk_free_client_credentials(t->client);
	if (t->server)
		gnutls_psk_free_server_credentials(t->server);
	gnutls_memset(t->keys, 0, sizeof(t->keys));
	free(t);
}
