// SPDX-License-Identifier: GPL-2.0-only
/* The rule taken out; compiled to nothing without PROT_MUTANTS. See mutant.h. */
#include "protect/mutant.h"

#ifdef PROT_MUTANTS
enum prot_mutant prot_mutant;
#endif
