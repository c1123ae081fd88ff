// SPDX-License-Identifier: GPL-2.0-only
/* The rule that is taken out; nothing but in a build with PROT_MUTANTS. See mutant.h. */
#include "protect/mutant.h"

#ifdef PROT_MUTANTS
enum prot_mutant prot_mutant;
#endif
