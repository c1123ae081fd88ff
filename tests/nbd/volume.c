// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: cut by prot_op into I/O of groups, these into pieces that a group
 * takes, and back. What the kernel's glue will do, with one lock and malloc.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/nbd/volume.h"

struct volume vol = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
};

/* One I/O of an op: over when all its pieces are. */
struct group_io {
	struct request *rq;
	uint32_t tag, pieces;
	int err;
};

struct piece {
	struct piece *next;
	struct group_io *io;
	uint64_t addr;
	uint32_t length, nr_runs;
	uint8_t kind, flags;
	struct prot_run runs[PROT_RUNS_MAX];
};

static void go_on(struct request *rq);

static void piece_done(struct piece *p, int err)
{
	struct group_io *io = p->io;
	struct request *rq = io->rq;

	free(p);
	if (err && !io->err)
		io->err = err;
	if (--io->pieces)
		return;
	prot_op_result(&rq->op, io->tag, io->err);
	free(io);
	go_on(rq);
}

static void cut(struct request *rq, const struct prot_io *io, const struct prot_run *runs)
{
	struct group_io *gio = calloc(1, sizeof(*gio));
	struct group *grp = &vol.grp[io->member / vol.grp[0].width];
	uint64_t at = 0;

	*gio = (struct group_io){ .rq = rq, .tag = io->tag };
	while (at < io->length) {
		struct piece *p = calloc(1, sizeof(*p));
		uint64_t span = prot_group_span(grp->g, io->kind, io->addr + at);

		p->io = gio;
		p->addr = io->addr + at;
		p->length = span < io->length - at ? span : io->length - at;
		p->kind = io->kind;
		p->flags = io->flags;
		if (io->nr_runs)
			p->nr_runs = prot_runs_cut(runs, io->nr_runs, at, p->length, p->runs);
		at += p->length;
		gio->pieces++;
		*grp->tail = p;
		grp->tail = &p->next;
	}
	grp->kick = true;
}

/* Call the op until it waits or is done. */
static void go_on(struct request *rq)
{
	struct prot_run runs[PROT_RUNS_MAX];
	enum prot_verdict v;
	struct prot_io io;

	while ((v = prot_op_next(&rq->op, vol.layout, &io, runs)) == PROT_IO)
		cut(rq, &io, runs);
	if (v == PROT_DONE && !rq->done) {
		rq->done = true;
		pthread_cond_broadcast(&rq->cond);
	}
}

/* The memory that a run of an event names, at most PROT_RUNS_MAX pieces of it. */
static void payload(struct job *j, struct group *grp, const struct prot_run *run)
{
	const struct piece *p;
	struct prot_run out[PROT_RUNS_MAX];
	uint32_t n;

	if (run->buffer == PROT_BUFFER_ZERO) {
		j->kind = PROT_ZEROES;
		return;
	}
	if (run->buffer != PROT_BUFFER_REQUEST) {
		j->vec[j->nr].at = (uint8_t *)prot_group_buffer(grp->g, run->buffer) + run->offset;
		j->vec[j->nr++].length = run->length;
		return;
	}
	p = grp->of_op[j->op];
	j->rq = p->io->rq;
	n = prot_runs_cut(p->runs, p->nr_runs, run->offset, run->length, out);
	for (uint32_t i = 0; i < n; i++) {
		j->vec[j->nr].at = j->rq->data + out[i].offset;
		j->vec[j->nr++].length = out[i].length;
	}
}

static void start_job(struct group *grp, const struct prot_event *ev)
{
	struct job *j = calloc(1, sizeof(*j));

	j->grp = grp;
	j->what = ev->kind;
	j->op = ev->op;
	j->tag = ev->io.tag;
	grp->jobs++;
	if (ev->kind == PROT_EV_IO) {
		j->member = grp->first + ev->io.member;
		j->kind = ev->io.kind;
		j->addr = ev->io.addr;
		j->length = ev->io.length;
		vol.member[j->member].jobs++;
		for (uint32_t i = 0; i < ev->io.nr_runs; i++)
			payload(j, grp, &ev->runs[i]);
	} else if (ev->kind == PROT_EV_COPY) {
		j->copy = ev->copy;
		j->rq = grp->of_op[ev->op]->io->rq;
	}
	if (j->rq)
		j->rq->refs++;
	pool_add(j);
}

/* A copy's bytes may lie in several runs of the request: one job each. */
static void start_copy(struct group *grp, const struct prot_event *ev)
{
	const struct piece *p = grp->of_op[ev->op];
	struct prot_run out[PROT_RUNS_MAX];
	struct prot_event part = *ev;
	uint32_t n = prot_runs_cut(p->runs, p->nr_runs, ev->copy.request, ev->copy.length, out);
	uint8_t *theirs = prot_group_buffer(grp->g, ev->copy.buffer);

	/* all but the last here and now: the engine waits for one result */
	for (uint32_t i = 0; i + 1 < n; i++) {
		uint8_t *mine = p->io->rq->data + out[i].offset;

		if (ev->copy.out)
			memcpy(mine, theirs + part.copy.offset, out[i].length);
		else
			memcpy(theirs + part.copy.offset, mine, out[i].length);
		part.copy.offset += out[i].length;
	}
	part.copy.request = out[n - 1].offset;
	part.copy.length = out[n - 1].length;
	start_job(grp, &part);
}

static void event(struct group *grp, const struct prot_event *ev)
{
	struct piece *p;

	switch (ev->kind) {
	case PROT_EV_IO:
	case PROT_EV_CODEC:
		start_job(grp, ev);
		break;
	case PROT_EV_COPY:
		start_copy(grp, ev);
		break;
	case PROT_EV_DONE:
		p = (struct piece *)(uintptr_t)ev->cookie;
		piece_done(p, ev->err);
		break;
	case PROT_EV_SERVING:
		fprintf(stderr, "volume: group %u serves, %ju replayed\n", grp->first / grp->width,
			(uintmax_t)ev->members);
		break;
	case PROT_EV_EPOCH:
		grp->requested |= ev->members;
		break;
	case PROT_EV_CAUGHT_UP:
		grp->caught |= ev->members;
		break;
	case PROT_EV_STOPPED:
		fprintf(stderr, "volume: group %u stopped, members %jx failed\n",
			grp->first / grp->width, (uintmax_t)ev->members);
		if (!grp->admit) {	/* half-way: begun again without those */
			grp->requested |= ev->members;
			grp->again = true;
		}
		break;
	default:
		break;
	}
}

static void submit(struct group *grp)
{
	while (grp->head && grp->admit) {
		struct piece *p = grp->head, *next = p->next;
		int op = prot_group_submit(grp->g, p->kind, p->flags, p->addr, p->length,
					   (uintptr_t)p);

		if (op == -EAGAIN)
			return;
		grp->head = next;
		if (!next)
			grp->tail = &grp->head;
		if (op < 0)
			piece_done(p, op);
		else
			grp->of_op[op] = p;
	}
}

void volume_drive(void)
{
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t i = 0; i < vol.st.groups; i++) {
			struct group *grp = &vol.grp[i];
			struct prot_event ev;

			if (!grp->kick)
				continue;
			grp->kick = false;
			more = true;
			submit(grp);
			for (;;) {
				prot_group_next(grp->g, &ev);
				if (ev.kind == PROT_EV_NONE)
					break;
				event(grp, &ev);
				grp->kick |= ev.freed;
			}
		}
	}
}

/* Begin an attachment of a group; it has no jobs. */
void volume_attach(struct group *grp)
{
	struct prot_group_config c;

	state_config(&vol.st, grp - vol.grp, &c);
	memset(grp->mem, 0, prot_group_bytes(&c));
	grp->g = prot_group_init(grp->mem, &c);
	grp->requested = 0;
	grp->caught = 0;
	grp->again = false;
	grp->admit = false;
	grp->kick = true;
}

static void put(struct request *rq)
{
	if (--rq->refs)
		return;
	pthread_cond_destroy(&rq->cond);
	free(rq->data);
	free(rq);
}

void volume_job_done(struct job *j)
{
	if (j->rq)
		put(j->rq);
	free(j);
}

int volume_run(uint8_t kind, void *buf, uint64_t offset, uint64_t length)
{
	struct prot_request what = { .offset = offset, .length = length, .kind = kind };
	struct request *rq = calloc(1, sizeof(*rq));
	int err;

	if (!rq)
		return -ENOMEM;
	err = prot_op_init(&rq->op, vol.layout, &what);
	if (!err && kind <= PROT_WRITE) {
		rq->data = malloc(length);
		err = rq->data ? 0 : -ENOMEM;
	}
	if (err) {
		free(rq);
		return err;
	}
	if (kind == PROT_WRITE)
		memcpy(rq->data, buf, length);
	rq->refs = 1;
	pthread_cond_init(&rq->cond, NULL);
	pthread_mutex_lock(&vol.lock);
	vol.requests++;
	go_on(rq);
	volume_drive();
	while (!rq->done)
		pthread_cond_wait(&rq->cond, &vol.lock);
	vol.requests--;
	err = rq->op.err;
	if (kind == PROT_READ && !err)
		memcpy(buf, rq->data, length);
	put(rq);
	pthread_mutex_unlock(&vol.lock);
	return err;
}
