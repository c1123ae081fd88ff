// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/copy.h"

/* An item is found by its text, whose order is the store's. */
struct entry {
	char	text[STORE_KEY_MAX];
	bool	seen;		/* by the list that is being read */
	struct copy_item item;
};

struct follow {
	char	prefix[STORE_KEY_MAX];
	u64	watch;		/* 0: to be listed (again) */
};

struct copy {
	struct store *s;
	struct entry **entry;	/* sorted by text */
	size_t	nr, room;
	struct follow *follow;
	size_t	follows;
	u64	revision;
	/* of the copy_turn() that runs */
	void	(*changed)(const struct key *k, void *arg);
	void	*arg;
	int	changes;
};

static bool below(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Index of the first entry that is not before @text. */
static size_t place_of(const struct copy *c, const char *text)
{
	size_t lo = 0, hi = c->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(c->entry[mid]->text, text) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct entry *find(const struct copy *c, const char *text)
{
	size_t at = place_of(c, text);

	return at < c->nr && !strcmp(c->entry[at]->text, text) ? c->entry[at] : NULL;
}

static void item_drop(struct copy_item *i)
{
	if (i->obj)
		obj_free(i->key.kind, i->obj);
	free(i->obj);
	free(i->why);
	i->obj = NULL;
	i->why = NULL;
}

static void report(struct copy *c, const struct key *k)
{
	c->changes++;
	if (c->changed)
		c->changed(k, c->arg);
}

static void entry_remove(struct copy *c, size_t at)
{
	struct entry *e = c->entry[at];
	struct key k = e->item.key;

	memmove(&c->entry[at], &c->entry[at + 1], (--c->nr - at) * sizeof(*c->entry));
	item_drop(&e->item);
	free(e);
	report(c, &k);
}

static struct entry *entry_add(struct copy *c, const char *text, const struct key *k)
{
	size_t at = place_of(c, text);
	struct entry *e;

	if (c->nr == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct entry **more = realloc(c->entry, room * sizeof(*more));

		if (!more)
			return NULL;
		c->entry = more;
		c->room = room;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	snprintf(e->text, sizeof(e->text), "%s", text);
	e->item.key = *k;
	memmove(&c->entry[at + 1], &c->entry[at], (c->nr++ - at) * sizeof(*c->entry));
	c->entry[at] = e;
	return e;
}

/* Decode a value. What the codec refuses is kept as refused: it is there, and is compared. */
static int item_read(struct copy_item *i, const void *text, size_t len)
{
	char why[OBJ_WHY] = "";
	void *obj = calloc(1, obj_bytes(i->key.kind));
	int err;

	if (!obj)
		return -ENOMEM;
	err = obj_read(&i->key, text, len, obj, why, sizeof(why));
	if (err) {
		obj_free(i->key.kind, obj);
		free(obj);
		obj = NULL;
		if (err == -ENOMEM)
			return err;
	}
	item_drop(i);
	i->obj = obj;
	i->why = err ? strdup(why) : NULL;
	return err && !i->why ? -ENOMEM : 0;
}

/*
 * Keys that no table knows are of a later version's kinds: they are not followed. @listed: the
 * value is the store's of now, also where its revision is lower, since the store was put back. A
 * watch may report what a transaction of this host has changed again since.
 */
static int put(struct copy *c, const struct store_kv *kv, bool listed)
{
	struct entry *e = find(c, kv->key);
	struct key k;
	int err;

	if (key_parse(kv->key, &k))
		return 0;
	if (e) {
		e->seen = true;
		if (listed ? e->item.modified == kv->modified : e->item.modified >= kv->modified)
			return 0;
	} else {
		e = entry_add(c, kv->key, &k);
		if (!e)
			return -ENOMEM;
		e->seen = true;
	}
	err = item_read(&e->item, kv->value, kv->len);
	if (err)
		return err;
	e->item.modified = kv->modified;
	e->item.lease = kv->lease;
	report(c, &k);
	return 0;
}

static void gone(struct copy *c, const char *text, u64 revision)
{
	size_t at = place_of(c, text);

	if (at < c->nr && !strcmp(c->entry[at]->text, text) && c->entry[at]->item.modified < revision)
		entry_remove(c, at);
}

static void seen_at(struct copy *c, u64 revision)
{
	if (revision > c->revision)
		c->revision = revision;
}

/*
 * A list is not older than what was read before it, unless the store was put back: then all else in
 * the copy is of what it was, and is read again, too.
 */
static void listed_at(struct copy *c, const struct follow *f, u64 revision)
{
	for (size_t i = 0; revision < c->revision && i < c->follows; i++) {
		struct follow *o = &c->follow[i];

		if (o == f || !o->watch)
			continue;
		store_unwatch(c->s, o->watch);
		o->watch = 0;
	}
	c->revision = revision;
}

/* Read the list of a prefix at one revision, drop what is no longer in it, and watch behind it. */
static int list(struct copy *c, struct follow *f)
{
	char after[STORE_KEY_MAX] = "";
	struct store_page p;
	u64 at = 0;
	int err;

	for (size_t i = place_of(c, f->prefix); i < c->nr && below(c->entry[i]->text, f->prefix); i++)
		c->entry[i]->seen = false;
	do {
		err = store_range(c->s, f->prefix, after[0] ? after : NULL, STORE_PAGE_MAX, at, &p);
		if (err)
			return err;
		at = p.revision;
		for (size_t i = 0; i < p.nr && !err; i++)
			err = put(c, &p.kv[i], true);
		if (p.nr)
			snprintf(after, sizeof(after), "%s", p.kv[p.nr - 1].key);
		else
			p.more = false;
		store_page_free(&p);
	} while (!err && p.more);
	if (err)
		return err;
	for (size_t i = place_of(c, f->prefix); i < c->nr && below(c->entry[i]->text, f->prefix); ) {
		if (c->entry[i]->seen)
			i++;
		else
			entry_remove(c, i);
	}
	err = store_watch(c->s, f->prefix, at, &f->watch);
	if (!err)
		listed_at(c, f, at);
	return err;
}

static int list_all(struct copy *c)
{
	int err = 0, one;

	for (size_t i = 0; i < c->follows; i++) {
		if (c->follow[i].watch)
			continue;
		one = list(c, &c->follow[i]);
		if (one)
			err = one;
	}
	return err;
}

static struct follow *follow_of(struct copy *c, u64 watch)
{
	for (size_t i = 0; i < c->follows; i++) {
		if (c->follow[i].watch == watch)
			return &c->follow[i];
	}
	return NULL;
}

static int event(struct copy *c, const struct store_event *e)
{
	struct follow *f = follow_of(c, e->watch);

	if (!f)
		return 0;
	switch (e->kind) {
	case STORE_PUT:
		seen_at(c, e->kv.modified);
		return put(c, &e->kv, false);
	case STORE_DELETED:
		seen_at(c, e->kv.modified);
		gone(c, e->kv.key, e->kv.modified);
		return 0;
	case STORE_RELIST:
		f->watch = 0;
		return list(c, f);
	}
	return 0;
}

int copy_turn(struct copy *c, unsigned int timeout_ms,
	      void (*changed)(const struct key *k, void *arg), void *arg)
{
	struct store_event e;
	int got, err;

	c->changed = changed;
	c->arg = arg;
	c->changes = 0;
	err = list_all(c);
	if (c->changes)
		timeout_ms = 0;
	while (!err) {
		got = store_next(c->s, timeout_ms, &e);
		if (got <= 0) {
			err = got;
			break;
		}
		timeout_ms = 0;
		err = event(c, &e);
	}
	c->changed = NULL;
	return err && !c->changes ? err : c->changes;
}

struct copy *copy_open(struct store *s)
{
	struct copy *c = calloc(1, sizeof(*c));

	if (c)
		c->s = s;
	return c;
}

void copy_close(struct copy *c)
{
	if (!c)
		return;
	c->changed = NULL;
	for (size_t i = 0; i < c->follows; i++) {
		if (c->follow[i].watch)
			store_unwatch(c->s, c->follow[i].watch);
	}
	while (c->nr)
		entry_remove(c, c->nr - 1);
	free(c->entry);
	free(c->follow);
	free(c);
}

struct store *copy_store(struct copy *c)
{
	return c->s;
}

/* A key with all its segments is the only one that begins so. */
static int prefix_of(const struct key *k, unsigned int given, char out[STORE_KEY_MAX])
{
	return key_prefix(k, given, out) ? key_text(k, out) : 0;
}

int copy_follow(struct copy *c, const struct key *k, unsigned int given)
{
	struct follow *more, *f;
	int err;

	more = realloc(c->follow, (c->follows + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->follow = more;
	f = &more[c->follows];
	memset(f, 0, sizeof(*f));
	err = prefix_of(k, given, f->prefix);
	if (err)
		return err;
	c->follows++;
	return list(c, f);
}

void copy_leave(struct copy *c, const struct key *k, unsigned int given)
{
	char prefix[STORE_KEY_MAX];
	size_t i, at;

	if (prefix_of(k, given, prefix))
		return;
	for (i = 0; i < c->follows && strcmp(c->follow[i].prefix, prefix); i++)
		;
	if (i == c->follows)
		return;
	if (c->follow[i].watch)
		store_unwatch(c->s, c->follow[i].watch);
	c->follow[i] = c->follow[--c->follows];
	at = place_of(c, prefix);
	while (at < c->nr && below(c->entry[at]->text, prefix))
		entry_remove(c, at);
}

void copy_again(struct copy *c)
{
	for (size_t i = 0; i < c->follows; i++) {
		if (c->follow[i].watch)
			store_unwatch(c->s, c->follow[i].watch);
		c->follow[i].watch = 0;
	}
	/* Revisions of the other store say nothing of this one's. */
	for (size_t i = 0; i < c->nr; i++)
		c->entry[i]->item.modified = 0;
	c->revision = 0;
}

bool copy_whole(const struct copy *c)
{
	for (size_t i = 0; i < c->follows; i++) {
		if (!c->follow[i].watch)
			return false;
	}
	return true;
}

u64 copy_revision(const struct copy *c)
{
	return c->revision;
}

const struct copy_item *copy_get(const struct copy *c, const struct key *k)
{
	char text[STORE_KEY_MAX];
	struct entry *e;

	if (key_text(k, text))
		return NULL;
	e = find(c, text);
	return e ? &e->item : NULL;
}

const void *copy_obj(const struct copy *c, const struct key *k)
{
	const struct copy_item *i = copy_get(c, k);

	return i ? i->obj : NULL;
}

const struct copy_item *copy_next(const struct copy *c, const struct key *k, unsigned int given,
				  const struct copy_item *after)
{
	char prefix[STORE_KEY_MAX], text[STORE_KEY_MAX];
	size_t at;

	if (key_prefix(k, given, prefix))
		return NULL;
	if (!after) {
		at = place_of(c, prefix);
	} else {
		if (key_text(&after->key, text))
			return NULL;
		at = place_of(c, text);
		if (at < c->nr && !strcmp(c->entry[at]->text, text))
			at++;
	}
	return at < c->nr && below(c->entry[at]->text, prefix) ? &c->entry[at]->item : NULL;
}

struct key *copy_keys(const struct copy *c, const struct key *k, unsigned int given, size_t *n)
{
	const struct copy_item *i = NULL;
	struct key *keys = NULL, *more;

	*n = 0;
	while ((i = copy_next(c, k, given, i))) {
		more = realloc(keys, (*n + 1) * sizeof(*keys));
		if (!more)
			break;
		keys = more;
		keys[(*n)++] = i->key;
	}
	return keys;
}

int copy_fresh(struct copy *c, const struct key *k)
{
	char text[STORE_KEY_MAX];
	struct store_page p;
	int err;

	if (key_text(k, text))
		return -EINVAL;
	err = store_get(c->s, text, &p);
	if (err == -ENOENT) {
		gone(c, text, p.revision + 1);
		store_page_free(&p);
		return 0;
	}
	if (err)
		return err;
	err = put(c, &p.kv[0], true);
	store_page_free(&p);
	return err;
}

int copy_apply(struct copy *c, const struct store_op *op, u64 revision)
{
	struct store_kv kv = { .key = op->key, .value = op->value, .len = op->len, .modified = revision,
			       .lease = op->lease };
	bool followed = false;

	for (size_t i = 0; i < c->follows; i++)
		followed = followed || below(op->key, c->follow[i].prefix);
	if (!followed)
		return 0;
	if (op->value)
		return put(c, &kv, false);
	gone(c, op->key, revision);
	return 0;
}
