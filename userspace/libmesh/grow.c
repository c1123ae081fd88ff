// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "userspace/libmesh/mesh.h"

void *mesh_grow(void **array, size_t *n, size_t size)
{
	char *p = realloc(*array, (*n + 1) * size);

	if (!p)
		return NULL;
	*array = p;
	p += (*n)++ * size;
	memset(p, 0, size);
	return p;
}
