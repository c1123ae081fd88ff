/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A protection group under load, in virtual time: members that answer after a while,
 * a fixed number of requests in flight, and how long each of them took. For one test
 * program to include.
 */
#ifndef TESTS_UNIT_CLOCK_RIG_H
#define TESTS_UNIT_CLOCK_RIG_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "protect/engine/group_priv.h"
#include "suite.h"

#define CLOCK_READ	100	/* microseconds of a member's read, and up to a quarter more */
#define CLOCK_WRITE	30
#define CLOCK_DEPTH	4096	/* requests in flight, at most */

struct clock_io {
	u64 when;		/* virtual nanoseconds, no two alike */
	u32 tag;
};

struct clock_load {
	u32 depth;		/* requests in flight */
	u32 requests;		/* in all */
	u32 length;
	u32 reads;		/* of a hundred */
	u32 large;		/* likewise: of @large_length */
	u32 large_length;
	u64 range;		/* bytes of the group that they lie in */
	u64 idle_us;		/* prot_group_idle() this often; 0: never */
	bool timed;		/* each call is timed, which takes longer than the call */
};

/* What came of it: times are virtual microseconds, but for those of the CPU. */
struct clock_result {
	u64 took;
	u64 mean;
	u64 longest;
	u64 ios;
	u64 meta;
	u64 looked;		/* entries of tables a request, where they are counted */
	u64 cpu;		/* nanoseconds a request, this rig's own among them */
	u64 worst;		/* nanoseconds of CPU of the longest prot_group_next() */
};

static struct clock_io clock_heap[65536];
static u32 clock_flying;
static u64 clock_now, clock_seed = 88172645463325252ULL;

static inline u64 clock_random(u64 below)
{
	clock_seed ^= clock_seed << 13;
	clock_seed ^= clock_seed >> 7;
	clock_seed ^= clock_seed << 17;
	return (clock_seed >> 11) % below;
}

static u64 clock_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static u64 clock_looked(void)
{
#ifdef PROT_COUNT
	return prot_looked;
#else
	return 0;
#endif
}

static void clock_swap(u32 a, u32 b)
{
	struct clock_io t = clock_heap[a];

	clock_heap[a] = clock_heap[b];
	clock_heap[b] = t;
}

static void clock_push(u32 tag, u64 after)
{
	u32 i = clock_flying++;

	CU_ASSERT_FATAL(clock_flying < sizeof(clock_heap) / sizeof(clock_heap[0]));
	clock_heap[i] = (struct clock_io){ .when = clock_now + after, .tag = tag };
	for (; i && clock_heap[i].when < clock_heap[(i - 1) / 2].when; i = (i - 1) / 2)
		clock_swap(i, (i - 1) / 2);
}

static struct clock_io clock_pop(void)
{
	struct clock_io first = clock_heap[0];
	u32 i = 0, c;

	clock_heap[0] = clock_heap[--clock_flying];
	while ((c = 2 * i + 1) < clock_flying) {
		if (c + 1 < clock_flying && clock_heap[c + 1].when < clock_heap[c].when)
			c++;
		if (clock_heap[i].when <= clock_heap[c].when)
			break;
		clock_swap(i, c);
		i = c;
	}
	return first;
}

static struct {
	struct {
		u64 began;
		u64 addr;
		u32 length;
		u8 kind;
	} rq[CLOCK_DEPTH];	/* by cookie */
	u16 spare[CLOCK_DEPTH];	/* cookies not in use */
	u32 nr_spare;
	u16 fifo[CLOCK_DEPTH];	/* requests that the group has no op for yet */
	u32 first;
	u32 nr_fifo;
	u32 ops;		/* that the group has free, by its events */
	u32 begun;
	u32 over;
	u64 sum;
	bool timed;
	struct clock_result r;
} clock_run;

static void clock_event(struct prot_group *g, const struct prot_event *ev)
{
	u64 us;

	switch (ev->kind) {
	case PROT_EV_IO:
		us = ev->io.kind == PROT_READ ? CLOCK_READ : CLOCK_WRITE;
		clock_push(ev->io.tag, us * 1000 + clock_random(us * 250));
		clock_run.r.ios++;
		clock_run.r.meta += !!(ev->io.tag & PROT_TAG_META);
		break;
	case PROT_EV_COPY:
	case PROT_EV_CODEC:	/* what the bytes are makes no difference here */
		prot_group_result(g, ev->io.tag, 0);
		break;
	case PROT_EV_DONE:
		CU_ASSERT_EQUAL(ev->err, 0);
		us = (clock_now - clock_run.rq[ev->cookie].began) / 1000;
		clock_run.sum += us;
		clock_run.r.longest = max(clock_run.r.longest, us);
		clock_run.spare[clock_run.nr_spare++] = ev->cookie;
		clock_run.over++;
		clock_run.ops += ev->freed;
		break;
	case PROT_EV_FREE:
		clock_run.ops++;
		break;
	}
}

/* All that the group has to say now. */
static void clock_events(struct prot_group *g)
{
	struct prot_event ev;
	u64 before = 0;

	do {
		if (clock_run.timed)
			before = clock_cpu();
		prot_group_next(g, &ev);
		if (clock_run.timed)
			clock_run.r.worst = max(clock_run.r.worst, clock_cpu() - before);
		clock_event(g, &ev);
	} while (ev.kind != PROT_EV_NONE);
}

/* Requests begin where others were over; those that find no op wait for one, in order. */
static void clock_submit(struct prot_group *g, const struct clock_load *l)
{
	u16 cookie;

	for (; clock_run.nr_spare && clock_run.begun < l->requests; clock_run.begun++) {
		cookie = clock_run.spare[--clock_run.nr_spare];
		clock_run.rq[cookie].began = clock_now;
		clock_run.rq[cookie].kind = clock_random(100) < l->reads ? PROT_READ : PROT_WRITE;
		clock_run.rq[cookie].length = l->large && clock_random(100) < l->large ?
					      l->large_length : l->length;
		clock_run.rq[cookie].addr = clock_random(l->range / clock_run.rq[cookie].length) *
					    clock_run.rq[cookie].length;
		clock_run.fifo[(clock_run.first + clock_run.nr_fifo++) % CLOCK_DEPTH] = cookie;
	}
	for (; clock_run.nr_fifo && clock_run.ops; clock_run.nr_fifo--, clock_run.ops--) {
		cookie = clock_run.fifo[clock_run.first];
		clock_run.first = (clock_run.first + 1) % CLOCK_DEPTH;
		CU_ASSERT_FATAL(prot_group_submit(g, clock_run.rq[cookie].kind, 0,
						  clock_run.rq[cookie].addr,
						  clock_run.rq[cookie].length, cookie) >= 0);
	}
}

static inline struct clock_result clock_load(struct prot_group *g, const struct clock_load *l)
{
	u64 start = clock_now, next_idle = clock_now + l->idle_us * 1000;
	u64 cpu = clock_cpu(), looked = clock_looked();
	u32 i;

	memset(&clock_run, 0, sizeof(clock_run));
	clock_run.timed = l->timed;
	clock_run.ops = g->cfg.ops - g->shape.first_op;
	for (i = 0; i < l->depth; i++)
		clock_run.spare[clock_run.nr_spare++] = i;
	while (clock_run.over < l->requests) {
		clock_submit(g, l);
		clock_events(g);
		if (!clock_flying && !clock_run.nr_spare)
			break;
		if (l->idle_us && clock_now >= next_idle) {
			prot_group_idle(g);
			next_idle = clock_now + l->idle_us * 1000;
		}
		while (clock_flying) {
			struct clock_io io = clock_pop();

			clock_now = io.when;
			prot_group_result(g, io.tag, 0);
			if (!clock_flying || clock_heap[0].when / 1000 != clock_now / 1000)
				break;
		}
	}
	while (clock_flying) {		/* what goes on behind those that are over */
		prot_group_result(g, clock_pop().tag, 0);
		clock_events(g);
	}
	CU_ASSERT_EQUAL(clock_run.over, l->requests);
	CU_ASSERT_EQUAL(clock_run.ops, (u32)g->cfg.ops - g->shape.first_op);
	clock_run.r.looked = (clock_looked() - looked) / l->requests;
	clock_run.r.took = (clock_now - start) / 1000;
	clock_run.r.mean = clock_run.sum / l->requests;
	clock_run.r.cpu = (clock_cpu() - cpu) / l->requests;
	return clock_run.r;
}

/* Attach, and serve. */
static inline struct prot_group *clock_group(const struct prot_group_config *c)
{
	struct prot_group *g = prot_group_init(calloc(1, prot_group_bytes(c)), c);

	clock_flying = 0;
	clock_events(g);
	while (clock_flying) {
		prot_group_result(g, clock_pop().tag, 0);
		clock_events(g);
	}
	CU_ASSERT_EQUAL_FATAL(g->state, PROT_G_SERVING);
	return g;
}

static inline void clock_print(const char *what, const struct clock_result *r)
{
	printf("%s: mean %llu us, longest %llu us, took %llu us, %llu I/Os, %llu of records; "
	       "CPU %llu ns a request", what, (unsigned long long)r->mean,
	       (unsigned long long)r->longest, (unsigned long long)r->took,
	       (unsigned long long)r->ios, (unsigned long long)r->meta,
	       (unsigned long long)r->cpu);
	if (r->looked)
		printf(", %llu entries read", (unsigned long long)r->looked);
	if (r->worst)
		printf(", longest call %llu ns", (unsigned long long)r->worst);
	printf("\n");
}

#endif
