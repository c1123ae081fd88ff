// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <libkmod.h>
#include <stdio.h>
#include <string.h>

#include "userspace/machine/modules.h"

int modules_load(const char *name, char *why, size_t size)
{
	struct kmod_ctx *ctx = kmod_new(NULL, NULL);
	struct kmod_list *list = NULL;
	struct kmod_module *mod;
	int err;

	why[0] = 0;
	if (!ctx)
		return -ENOMEM;
	err = kmod_module_new_from_lookup(ctx, name, &list);
	if (!err && !list)
		err = -ENOENT;
	if (!err) {
		mod = kmod_module_get_module(list);
		err = kmod_module_probe_insert_module(mod, KMOD_PROBE_APPLY_BLACKLIST, NULL, NULL,
						      NULL, NULL);
		kmod_module_unref(mod);
		if (err > 0)
			err = -EPERM;
	}
	if (err == -ENOENT)
		snprintf(why, size, "module %s is not installed for this kernel", name);
	else if (err)
		snprintf(why, size, "module %s does not load: %s", name, strerror(-err));
	kmod_module_unref_list(list);
	kmod_unref(ctx);
	return err;
}
