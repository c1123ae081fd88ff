/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many entries of its long tables the engine reads: unit tests, which are
 * built with PROT_COUNT, compare it with what changed. Elsewhere it is nothing.
 */
#ifndef PROTECT_COUNT_H
#define PROTECT_COUNT_H

#ifdef PROT_COUNT
extern u64 prot_looked;
#define PROT_LOOK()	((void)prot_looked++)
#else
#define PROT_LOOK()	((void)0)
#endif

#endif
