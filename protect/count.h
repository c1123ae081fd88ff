/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Number of entries of long tables read by the engine. Unit tests, built with PROT_COUNT, compare
 * the number with the number of changes. Elsewhere PROT_LOOK() is nothing.
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
