// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/plan/mutant.h"

#ifdef PLAN_MUTANTS
enum plan_mutant plan_mutation, plan_mutation_too;
#endif
