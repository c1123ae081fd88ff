/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A member of etcd that is played: HTTP/2 without TLS, one connection after the other, and answers
 * as bytes. It knows no HPACK but its own headers, which are literals.
 */
#ifndef TESTS_UNIT_ETCD_FAKE_H
#define TESTS_UNIT_ETCD_FAKE_H

#include <poll.h>
#include <pthread.h>

#include "etcd_rig.h"

enum { H2_DATA, H2_HEADERS, H2_RST = 3, H2_SETTINGS, H2_PING = 6, H2_GOAWAY };
#define H2_END		0x1	/* of a stream; ACK of SETTINGS and PING */
#define H2_WHOLE	0x4	/* of a block of headers */

struct fake {
	int	listen_fd, fd;
	unsigned short port;
	pthread_t thread;
	bool	stop;			/* atomic */
	unsigned int requests;		/* atomic: messages of clients */
	/*
	 * Called for each message of a client: answer by the functions below. @msg is without its
	 * prefix. False: the connection ends.
	 */
	bool	(*answer)(struct fake *f, unsigned int stream, const u8 *msg, size_t len);
	/* Bytes of the message that is being gathered. */
	u8	in[4096];
	size_t	got;
};

static bool fake_write(struct fake *f, const void *bytes, size_t n)
{
	return send(f->fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static bool fake_frame(struct fake *f, u8 type, u8 flags, unsigned int stream, const void *bytes, size_t n)
{
	u8 frame[9 + 16384] = { n >> 16, n >> 8, n, type, flags, stream >> 24, stream >> 16, stream >> 8, stream };

	if (n)
		memcpy(frame + 9, bytes, n);
	return fake_write(f, frame, 9 + n);
}

/* Pairs of names and values, then NULL. @end: nothing follows on the stream. */
static inline bool fake_headers(struct fake *f, unsigned int stream, bool end, const char *const *pairs)
{
	u8 block[1024];
	size_t n = 0;

	/* A literal that is not indexed, name and value without Huffman's code. */
	for (; *pairs; pairs += 2) {
		block[n++] = 0;
		for (int i = 0; i < 2; i++) {
			block[n++] = strlen(pairs[i]);
			memcpy(block + n, pairs[i], strlen(pairs[i]));
			n += strlen(pairs[i]);
		}
	}
	return fake_frame(f, H2_HEADERS, H2_WHOLE | (end ? H2_END : 0), stream, block, n);
}

#define PAIRS_OF(...) ((const char *const []) { __VA_ARGS__, NULL })
#define OK_HEADERS PAIRS_OF(":status", "200", "content-type", "application/grpc")

/* One message in frames of @piece bytes. */
static inline bool fake_message(struct fake *f, unsigned int stream, const u8 *msg, size_t len, size_t piece)
{
	u8 bytes[8192] = { 0, len >> 24, len >> 16, len >> 8, len };
	bool ok = true;

	memcpy(bytes + 5, msg, len);
	for (size_t at = 0, n; ok && at < len + 5; at += n) {
		n = len + 5 - at < piece ? len + 5 - at : piece;
		ok = fake_frame(f, H2_DATA, 0, stream, bytes + at, n);
	}
	return ok;
}

static inline bool fake_status(struct fake *f, unsigned int stream, const char *status, const char *words)
{
	return fake_headers(f, stream, true, PAIRS_OF("grpc-status", status, "grpc-message", words));
}

static bool read_all(int fd, u8 *to, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t k = recv(fd, to + at, n - at, 0);

		if (k <= 0)
			return false;
		at += k;
	}
	return true;
}

/* Messages are whole once their bytes are there, in one DATA frame or several. */
static bool fake_data(struct fake *f, unsigned int stream, const u8 *bytes, size_t n)
{
	size_t len;

	if (f->got + n > sizeof(f->in))
		return false;
	memcpy(f->in + f->got, bytes, n);
	f->got += n;
	while (f->got >= 5) {
		len = (size_t)f->in[3] << 8 | f->in[4];
		if (f->got < 5 + len)
			break;
		__atomic_fetch_add(&f->requests, 1, __ATOMIC_RELAXED);
		if (!f->answer(f, stream, f->in + 5, len))
			return false;
		f->got -= 5 + len;
		memmove(f->in, f->in + 5 + len, f->got);
	}
	return true;
}

static bool fake_one_frame(struct fake *f)
{
	u8 head[9], bytes[1 << 14];
	unsigned int stream;
	size_t n;

	if (!read_all(f->fd, head, 9))
		return false;
	n = (size_t)head[0] << 16 | head[1] << 8 | head[2];
	stream = (unsigned int)head[5] << 24 | head[6] << 16 | head[7] << 8 | head[8];
	if (n > sizeof(bytes) || !read_all(f->fd, bytes, n))
		return false;
	if (head[3] == H2_SETTINGS && !(head[4] & H2_END))
		return fake_frame(f, H2_SETTINGS, H2_END, 0, NULL, 0);
	if (head[3] == H2_PING && !(head[4] & H2_END))
		return fake_frame(f, H2_PING, H2_END, 0, bytes, n);
	return head[3] != H2_DATA || fake_data(f, stream, bytes, n);
}

static void fake_connection(struct fake *f)
{
	struct pollfd p = { .fd = f->fd, .events = POLLIN };
	u8 preface[24];

	f->got = 0;
	if (!read_all(f->fd, preface, sizeof(preface)) || !fake_frame(f, H2_SETTINGS, 0, 0, NULL, 0))
		return;
	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED))
		if (poll(&p, 1, 20) && !fake_one_frame(f))
			return;
}

/* Bytes that are not read would make the kernel drop what the client has not read. */
static void fake_close(struct fake *f)
{
	struct timeval most = { .tv_sec = 20 };
	u8 bytes[4096];

	setsockopt(f->fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	shutdown(f->fd, SHUT_WR);
	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED) && recv(f->fd, bytes, sizeof(bytes), 0) > 0)
		;
	close(f->fd);
}

static void *fake_run(void *arg)
{
	struct fake *f = arg;
	struct pollfd p = { .fd = f->listen_fd, .events = POLLIN };

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		if (!poll(&p, 1, 20))
			continue;
		f->fd = accept4(f->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (f->fd < 0)
			continue;
		fake_connection(f);
		fake_close(f);
	}
	close(f->listen_fd);
	return NULL;
}

static inline void fake_begin(struct fake *f)
{
	memset(f, 0, sizeof(*f));
	f->listen_fd = port_fd(&f->port);
}

static inline void fake_start(struct fake *f)
{
	if (listen(f->listen_fd, 16) || pthread_create(&f->thread, NULL, fake_run, f))
		give_up("no member is played: %s", strerror(errno));
}

static inline void fake_end(struct fake *f)
{
	__atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
	pthread_join(f->thread, NULL);
}

#endif
