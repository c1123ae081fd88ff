// SPDX-License-Identifier: GPL-2.0-only
/*
 * A backup of the store: JSON lines, each with a checksum, of all keys at one revision.
 *
 *   {"meshblk_backup":1, "cluster":UUID, "revision":R, .., "label_key":HEX, "sum":..}
 *   {"key":"volume/..", "value":{..}, "sum":..}		one for each key
 *   {"keys":N, "sum":..}					the end: without it the file is not whole
 *
 * Keys on a lease are left out: they say what is alive now. The label key is in it, so that labels of
 * drives can be checked after all hosts are lost; masters are not, so hosts join again then.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "userspace/daemon/cluster_in.h"
#include "userspace/daemon/file.h"
#include "userspace/format/json.h"
#include "userspace/format/objects.h"
#include "userspace/format/objects_sum.h"

#define FORM	1
#define TRIES	3	/* a revision may be compacted while it is read */

struct writing {
	FILE	*f;
	char	*text;
	size_t	bytes;
	u64	keys;
};

static int line(struct writing *w, json_t *j)
{
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	text = text ? sum_append(text) : NULL;
	if (!text)
		return -ENOMEM;
	fprintf(w->f, "%s\n", text);
	free(text);
	return ferror(w->f) ? -ENOMEM : 0;
}

static void hex(const struct secret *s, char out[2 * SECRET_BYTES + 1])
{
	for (int i = 0; i < SECRET_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", s->b[i]);
}

static int head(struct writing *w, struct cluster *c, struct store *s, u64 revision)
{
	struct cluster_file f = cluster_now(c);
	char key[2 * SECRET_BYTES + 1];
	struct store_identity id;
	json_t *j = json_object();
	int err = store_identity(s, &id);

	if (err) {
		json_decref(j);
		return err;
	}
	hex(&f.label, key);
	jset_u64(j, "meshblk_backup", FORM);
	jset_uuid(j, "cluster", &f.cluster);
	jset_u64(j, "revision", revision);
	jset_u64(j, "term", id.term);
	jset_str(j, "store", id.id);
	jset_u64(j, "written", (u64)time(NULL));
	jset_str(j, "label_key", key);
	explicit_bzero(&f, sizeof(f));
	explicit_bzero(key, sizeof(key));
	return line(w, j);
}

/* What recover itself has in the store is of one run. */
static bool is_left_out(const struct store_kv *kv)
{
	struct key k;

	return kv->lease || (!key_parse(kv->key, &k) && (k.kind == KEY_RECOVER || k.kind == KEY_REPORT));
}

static int one(struct writing *w, const struct store_kv *kv)
{
	json_t *value = json_loadb(kv->value, kv->len, 0, NULL), *j;

	if (is_left_out(kv)) {
		json_decref(value);
		return 0;
	}
	if (!value)
		value = json_stringn(kv->value, kv->len);
	j = json_object();
	if (!value || json_object_set_new(j, "value", value)) {
		json_decref(j);
		return -EILSEQ;
	}
	jset_str(j, "key", kv->key);
	w->keys++;
	return line(w, j);
}

static int all(struct writing *w, struct cluster *c, struct store *s)
{
	char after[STORE_KEY_MAX] = "";
	struct store_page p;
	u64 at = 0;
	bool more;
	int err;

	do {
		err = store_range(s, "", after[0] ? after : NULL, STORE_PAGE_MAX, at, &p);
		if (err)
			return err;
		if (!at)
			err = head(w, c, s, p.revision);
		at = p.revision;
		for (size_t i = 0; i < p.nr && !err; i++)
			err = one(w, &p.kv[i]);
		more = p.more && p.nr;
		if (more)
			snprintf(after, sizeof(after), "%s", p.kv[p.nr - 1].key);
		store_page_free(&p);
	} while (more && !err);
	return err ? err : line(w, json_pack("{s:I}", "keys", (json_int_t)w->keys));
}

static int text_of(struct writing *w, struct cluster *c, char why[CLUSTER_WHY])
{
	struct store *s = cluster_store(c);
	int err = s ? -ESTALE : -ENOMEM;

	for (int i = 0; i < TRIES && err == -ESTALE; i++) {
		free(w->text);
		memset(w, 0, sizeof(*w));
		w->f = open_memstream(&w->text, &w->bytes);
		err = w->f ? all(w, c, s) : -ENOMEM;
		if (w->f && fclose(w->f) && !err)
			err = -ENOMEM;
	}
	if (err)
		cluster_fail(why, err, "the store cannot be copied: %.300s",
			     err == -ENOMEM ? "no memory" : err == -EILSEQ ? "a value is no text" : store_why(s));
	if (s)
		store_close(s);
	return err;
}

int cluster_backup(struct cluster *c, const char *path, char **text, u64 *keys, char why[CLUSTER_WHY])
{
	struct writing w = { 0 };
	int err = 0;

	*text = NULL;
	if (path && !access(path, F_OK))
		return cluster_fail(why, -EEXIST, "%.300s is there already, and is not written over", path);
	err = text_of(&w, c, why);
	if (!err && path) {
		err = file_replace(path, w.text, w.bytes);
		if (err)
			cluster_fail(why, err, "%.300s: %s", path, strerror(-err));
	}
	*keys = w.keys;
	if (!err && !path)
		*text = w.text;
	else
		free(w.text);
	return err;
}

/* Reading */

static int wrong(char why[CLUSTER_WHY], const char *path, const char *words)
{
	return cluster_fail(why, -EBADMSG, "%.200s %s", path, words);
}

static int take(struct cluster_saved *b, const json_t *j)
{
	const json_t *value = json_object_get(j, "value");
	const char *key = json_string_value(json_object_get(j, "key"));
	struct recover_item *more = reallocarray(b->item, b->items + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	b->item = more;
	more[b->items] = (struct recover_item) {
		.key = key ? strdup(key) : NULL,
		.value = json_is_string(value) ? strdup(json_string_value(value)) : json_dumps(value, JSON_COMPACT) };
	b->items++;
	return more[b->items - 1].key && more[b->items - 1].value ? 0 : -EBADMSG;
}

static int read_line(struct cluster_saved *b, char *text, size_t n, bool *end)
{
	json_t *j;
	int err = 0;

	if (n && text[n - 1] == '\n')
		text[--n] = 0;
	if (*end || !sum_ok(text, n))
		return -EBADMSG;
	j = json_loadb(text, n, 0, NULL);
	if (json_object_get(j, "key"))
		err = muuid_null(&b->cluster) ? -EBADMSG : take(b, j);
	else if (json_object_get(j, "keys"))
		*end = json_integer_value(json_object_get(j, "keys")) == b->items;
	else if (json_integer_value(json_object_get(j, "meshblk_backup")) != FORM ||
		 muuid_parse(json_string_value(json_object_get(j, "cluster")) ?: "", &b->cluster))
		err = -EBADMSG;
	json_decref(j);
	return err;
}

int cluster_saved_read(const char *path, struct cluster_saved *b, char why[CLUSTER_WHY])
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	bool end = false;
	size_t room = 0;
	ssize_t n;
	int err = 0;

	memset(b, 0, sizeof(*b));
	if (!f)
		return cluster_fail(why, -errno, "%.300s: %s", path, strerror(errno));
	while (!err && (n = getline(&text, &room, f)) > 0)
		err = read_line(b, text, (size_t)n, &end);
	if (ferror(f))
		err = -EIO;
	fclose(f);
	if (text)
		explicit_bzero(text, room);
	free(text);
	if (err == -ENOMEM || err == -EIO)
		return cluster_fail(why, err, "%.300s: %s", path, strerror(-err));
	if (err)
		return wrong(why, path, "is damaged, or no backup: a line has another checksum than it says");
	return end ? 0 : wrong(why, path, "is not whole: its last line is missing");
}

void cluster_saved_free(struct cluster_saved *b)
{
	for (u32 i = 0; i < b->items; i++) {
		free(b->item[i].key);
		free(b->item[i].value);
	}
	free(b->item);
	memset(b, 0, sizeof(*b));
}
