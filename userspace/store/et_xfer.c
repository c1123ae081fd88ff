// SPDX-License-Identifier: GPL-2.0-only
/*
 * One request of gRPC by libcurl.
 *
 * The body is given by a read function without a way to rewind it, though it is in memory: libcurl
 * sends a request again by itself when a connection that it has used before ends without an answer,
 * and a transaction must not be sent twice. Without a rewind it fails once a byte is sent.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "userspace/store/et.h"

#define IDLE_S		60	/* a connection that was idle longer is not used again */
#define PENDING_MS	10U
#define UNANSWERED_MS	100U
#define QUIET_MS	200	/* a stream that was silent so long has nothing pending */
#define UNACKED_MS	10000U	/* bytes that the peer's kernel does not acknowledge */

static size_t on_read(char *to, size_t size, size_t n, void *priv)
{
	struct et_xfer *x = priv;
	size_t left = x->out_len - x->out_at;

	n *= size;
	/* A request whose length is known is read to its end once: libcurl sends it again. */
	if (!left && !x->open)
		return CURL_READFUNC_ABORT;
	if (!left) {
		x->paused = true;
		return CURL_READFUNC_PAUSE;
	}
	if (n > left)
		n = left;
	memcpy(to, x->out + x->out_at, n);
	x->out_at += n;
	return n;
}

static size_t on_header(char *line, size_t size, size_t n, void *priv)
{
	struct et_xfer *x = priv;

	grpc_header(&x->head, line, size * n);
	return size * n;
}

static int whole(struct et_xfer *x)
{
	int err = 0;

	x->replied = true;
	if (!x->on_message)
		return 0;
	err = x->on_message(x->priv, x->rx.msg, x->rx.len);
	grpc_next(&x->rx);
	return err;
}

/* A body that is not gRPC's is a proxy's page. */
static size_t on_body(char *bytes, size_t size, size_t n, void *priv)
{
	struct et_xfer *x = priv;
	size_t at = 0, used;
	int ret;

	n *= size;
	x->moved_ms = store_now_ms();
	if (x->head.http != 200 || !x->head.grpc)
		return n;
	while (at < n) {
		if (x->replied && !x->on_message) {
			x->err = -EPROTO;	/* a second answer */
			return 0;
		}
		ret = grpc_feed(&x->rx, (u8 *)bytes + at, n - at, &used);
		at += used;
		if (ret == 1)
			ret = whole(x);
		if (ret < 0) {
			x->err = ret;
			return 0;
		}
	}
	return n;
}

/* Keep-alive by TCP alone sees a peer that is gone, not one that hangs. */
static int on_socket(void *priv, curl_socket_t fd, curlsocktype type)
{
	const unsigned int ms = UNACKED_MS;

	(void)priv;
	(void)type;
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return CURL_SOCKOPT_OK;
}

static int reserve(struct et_xfer *x, size_t more)
{
	size_t room = x->out_room ? x->out_room : 1024;
	u8 *out;

	if (x->out_at == x->out_len && x->open)
		x->out_at = x->out_len = 0;
	while (room < x->out_len + more)
		room *= 2;
	if (room == x->out_room)
		return 0;
	out = realloc(x->out, room);
	if (!out)
		return -ENOMEM;
	x->out = out;
	x->out_room = room;
	return 0;
}

int et_xfer_put(struct et_xfer *x, const ProtobufCMessage *m)
{
	size_t len = protobuf_c_message_get_packed_size(m);
	int err = reserve(x, GRPC_PREFIX + len);

	if (err)
		return err;
	grpc_prefix(x->out + x->out_len, len);
	protobuf_c_message_pack(m, x->out + x->out_len + GRPC_PREFIX);
	x->out_len += GRPC_PREFIX + len;
	return 0;
}

u64 et_xfer_wait(const struct et_xfer *x, u64 now, u64 ms)
{
	u64 most = ms;

	if (!x->open)
		most = x->head.http ? PENDING_MS : UNANSWERED_MS;
	else if (grpc_cut(&x->rx) || now < x->moved_ms + QUIET_MS)
		most = PENDING_MS;
	return ms < most ? ms : most;
}

void et_xfer_go_on(struct et_xfer *x)
{
	if (!x->paused || x->out_at == x->out_len)
		return;
	x->paused = false;
	curl_easy_pause(x->easy, CURLPAUSE_CONT);
}

static int add_header(struct et_xfer *x, const char *line)
{
	struct curl_slist *more = curl_slist_append(x->headers, line);

	if (more)
		x->headers = more;
	return more ? 0 : -ENOMEM;
}

/* "hasleader": a member without a leader refuses the request, or ends the stream. */
static int set_headers(struct et_xfer *x, const struct et_send *send)
{
	static const char *const always[] = {
		"content-type: application/grpc+proto", "te: trailers", "hasleader: true",
		"expect:", "accept:",
	};
	char timeout[32];
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(always) / sizeof(always[0]); i++)
		err = add_header(x, always[i]);
	if (!err && send->ms) {
		snprintf(timeout, sizeof(timeout), "grpc-timeout: %um", send->ms);
		err = add_header(x, timeout);
	}
	if (!err)
		curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers);
	return err;
}

/* The members' CA alone is trusted, and a name or address that the certificate has. */
static void set_security(CURL *c, const struct store_etcd *e)
{
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, e->tls ? "https" : "http");
	curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	if (!e->tls) {
		curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
		return;
	}
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
	curl_easy_setopt(c, CURLOPT_CAINFO, e->ca);
	curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(c, CURLOPT_SSLCERT, e->cert);
	curl_easy_setopt(c, CURLOPT_SSLKEY, e->key);
}

/*
 * libcurl before 8.0 fails where it uses a connection without TLS again: it begins HTTP/2 on it a
 * second time.
 */
static bool used_once(const struct store_etcd *e)
{
	return !e->tls && curl_version_info(CURLVERSION_NOW)->version_num < 0x080000;
}

/* A name that is being resolved is left to its thread: the caller's time-out does not wait for it. */
static void set_transport(struct et_xfer *x, const struct store_etcd *e, const struct et_send *send)
{
	const long once = send->alone || used_once(e);
	CURL *c = x->easy;

	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)send->connect_ms);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)send->ms);
	curl_easy_setopt(c, CURLOPT_MAXAGE_CONN, (long)IDLE_S);
	curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, once);
	curl_easy_setopt(c, CURLOPT_FORBID_REUSE, once);
	curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(c, CURLOPT_TCP_KEEPIDLE, 5L);
	curl_easy_setopt(c, CURLOPT_TCP_KEEPINTVL, 2L);
	curl_easy_setopt(c, CURLOPT_SOCKOPTFUNCTION, on_socket);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, x->words);
}

static void set_body(struct et_xfer *x)
{
	CURL *c = x->easy;

	curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, "POST");
	curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, x->open ? (curl_off_t)-1 : (curl_off_t)x->out_len);
	curl_easy_setopt(c, CURLOPT_READFUNCTION, on_read);
	curl_easy_setopt(c, CURLOPT_READDATA, x);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(c, CURLOPT_PRIVATE, x);
}

int et_xfer_begin(struct et_xfer *x, struct store_etcd *e, CURLM *multi, const struct et_send *send)
{
	char url[ETCD_ENDPOINT_LEN + 64];

	if (!x->easy)
		x->easy = curl_easy_init();
	if (!x->easy || set_headers(x, send) < 0)
		return -ENOMEM;
	grpc_head_begin(&x->head);
	grpc_next(&x->rx);
	x->rx.max = x->on_message ? ET_STREAM_MAX : ET_REPLY_MAX;
	x->out_at = 0;
	x->paused = x->replied = false;
	x->err = 0;
	x->moved_ms = 0;
	x->words[0] = 0;
	snprintf(url, sizeof(url), "%s/etcdserverpb.%s", e->endpoint[send->endpoint], send->method);
	curl_easy_setopt(x->easy, CURLOPT_URL, url);
	set_security(x->easy, e);
	set_transport(x, e, send);
	set_body(x);
	if (curl_multi_add_handle(multi, x->easy) != CURLM_OK)
		return -ENOMEM;
	x->multi = multi;
	return 0;
}

void et_xfer_end(struct et_xfer *x)
{
	if (x->multi)
		curl_multi_remove_handle(x->multi, x->easy);
	x->multi = NULL;
	curl_slist_free_all(x->headers);
	x->headers = NULL;
}

void et_xfer_free(struct et_xfer *x)
{
	et_xfer_end(x);
	if (x->easy)
		curl_easy_cleanup(x->easy);
	grpc_rx_end(&x->rx);
	free(x->out);
	memset(x, 0, sizeof(*x));
}

struct et_verdict et_xfer_verdict(const struct et_xfer *x, CURLcode code)
{
	struct et_answer a = {
		.sent = x->out_at, .reply = x->replied, .head = &x->head,
		.cut = x->on_message ? grpc_cut(&x->rx) : grpc_cut(&x->rx) && !x->replied,
	};

	if (x->err == -EMSGSIZE || x->err == -ENOMEM)
		a.transport = x->err;
	else if (code == CURLE_OPERATION_TIMEDOUT)
		a.transport = -ETIMEDOUT;
	else if (code != CURLE_OK)
		a.transport = -EIO;
	return et_verdict(&a);
}

static const char *hint(int err)
{
	switch (err) {
	case -ENOSPC:
		return ": its quota is used up: compact, defragment, then disarm the alarm";
	case -EACCES:
		return ": it wants users, which are not supported: disable authentication";
	case -EUCLEAN:
		return ": its members differ: replace the damaged one";
	}
	return "";
}

void et_xfer_words(const struct et_xfer *x, const struct store_etcd *e, unsigned int endpoint,
		   const struct et_verdict *v, char *out, size_t size)
{
	const char *where = e->endpoint[endpoint];

	if (x->head.status > GRPC_OK)
		snprintf(out, size, "etcd at %.100s: %s%s", where, x->head.words, hint(v->err));
	else if (v->err == -ETIMEDOUT)
		snprintf(out, size, "etcd at %.100s: no answer in time%s", where,
			 v->unknown ? "" : ", it was not reached");
	else if (x->head.http && (x->head.http != 200 || !x->head.grpc))
		snprintf(out, size, "etcd at %.100s: an answer that is not etcd's (HTTP %d): check the"
			 " endpoint", where, x->head.http);
	else
		snprintf(out, size, "etcd at %.100s: %.120s", where,
			 x->words[0] ? x->words : "the connection ended without an answer");
}
