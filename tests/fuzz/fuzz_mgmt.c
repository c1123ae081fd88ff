// SPDX-License-Identifier: GPL-2.0-only
/* Requests and answers of another host's meshd, on arbitrary bytes. */
#include <stdlib.h>
#include <string.h>

#include "userspace/format/mgmt.h"

static struct layout l;

static void try_data(json_t *data)
{
	struct mgmt_hello h;
	struct mgmt_drive d;
	struct mgmt_extent e;
	struct mgmt_volume v;

	mgmt_hello_unpack(data, &h);
	mgmt_drive_unpack(data, &d);
	if (!mgmt_extent_unpack(data, &e) && e.zeroed > e.length)
		abort();
	mgmt_volume_unpack(data, &v);
	mgmt_record_unpack(data, &l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char reason[MGMT_REASON], *text, *twice;
	struct mgmt_req r, again;
	json_t *j;

	if (!mgmt_req_decode(data, size, &r)) {
		text = mgmt_req_encode(&r);
		if (!text || mgmt_req_decode(text, strlen(text), &again))
			abort();
		twice = mgmt_req_encode(&again);
		if (!twice || strcmp(text, twice))
			abort();
		mgmt_req_clear(&again);
		free(twice);
		free(text);
	}
	mgmt_req_clear(&r);
	if (!mgmt_rsp_decode(data, size, &j, reason))
		try_data(j);
	json_decref(j);
	j = json_loadb((const char *)data, size, 0, NULL);
	if (j)
		try_data(j);
	json_decref(j);
	return 0;
}
