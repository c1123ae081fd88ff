/* SPDX-License-Identifier: GPL-2.0-only */
/* Bounds that are searched, and the rules that are taken out one by one: each must be noticed. */
#ifndef SIM_CLUSTER_LAYERS_H
#define SIM_CLUSTER_LAYERS_H

#include <stdbool.h>

/* Return: exit status. */
int layers_all(bool large);
int layers_one(char **arg);

#endif
