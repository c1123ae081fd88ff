// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "userspace/daemon/volumes_in.h"

/* More groups than one host serves: the kernel repeats what finds no room. */
#define WAITS_MAX	4096

struct vol_witness {
	struct mesh *m;
	int	stop;		/* an eventfd */
	pthread_t thread;
	pthread_mutex_t lock;	/* of what follows */
	size_t	n;
	struct meshblk_note *wait;	/* in the order in which they came */
};

/* The kernel repeats a request each second, with the roster that counts by then. */
static void on_note(void *priv, struct meshblk_note *note)
{
	struct vol_witness *w = priv;
	struct meshblk_note *at = NULL;

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->n && !at; i++)
		if (w->wait[i].place == note->place && muuid_equal(&w->wait[i].volume, &note->volume))
			at = &w->wait[i];
	if (!at && w->n < WAITS_MAX)
		at = mesh_grow((void **)&w->wait, &w->n, sizeof(*at));
	if (at)
		*at = *note;
	pthread_mutex_unlock(&w->lock);
	job_wake();
}

static void *witness_thread(void *arg)
{
	struct vol_witness *w = arg;

	meshblk_witness(w->m, w->stop, on_note, w);
	return NULL;
}

static void witness_free(struct vol_witness *w)
{
	mesh_close(w->m);
	if (w->stop >= 0)
		close(w->stop);
	pthread_mutex_destroy(&w->lock);
	free(w->wait);
	free(w);
}

void witness_end(struct volumes *s)
{
	static const u64 one = 1;
	struct vol_witness *w = s->witness;

	s->witness = NULL;
	if (!w)
		return;
	if (write(w->stop, &one, sizeof(one)) == sizeof(one)) {
		pthread_join(w->thread, NULL);
		witness_free(w);
	}
}

int witness_begin(struct volumes *s)
{
	struct vol_witness *w = calloc(1, sizeof(*w));
	int err;

	witness_end(s);
	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	w->stop = eventfd(0, EFD_CLOEXEC);
	w->m = w->stop < 0 ? NULL : mesh_open();
	err = w->m ? meshblk_witness_begin(w->m) : -EIO;
	if (!err)
		err = -pthread_create(&w->thread, NULL, witness_thread, w);
	if (err) {
		witness_free(w);
		return err;
	}
	s->witness = w;
	return 0;
}

int vol_note(void *m, struct attach_note *n)
{
	struct volumes *s = m;
	struct vol_witness *w = s->witness;
	struct meshblk_note first;
	bool any = false;

	if (!w)
		return -ENOENT;
	pthread_mutex_lock(&w->lock);
	if (w->n) {
		first = w->wait[0];
		memmove(w->wait, w->wait + 1, --w->n * sizeof(*w->wait));
		any = true;
	}
	pthread_mutex_unlock(&w->lock);
	if (!any)
		return -ENOENT;
	*n = (struct attach_note) { .volume = first.volume, .place = first.place, .any = first.any };
	memcpy(n->roster, first.roster, sizeof(n->roster));
	return 0;
}

int vol_noted(void *m, const struct attach_note *n)
{
	struct volumes *s = m;
	struct meshblk_note note = { .volume = n->volume, .place = n->place, .any = n->any };

	if (!s->witness)
		return vol_fail(s, -ENOPKG, "the kernel's module meshblk is not loaded");
	memcpy(note.roster, n->roster, sizeof(note.roster));
	return meshblk_roster_noted(s->witness->m, &note);
}
