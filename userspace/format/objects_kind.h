/* SPDX-License-Identifier: GPL-2.0-only */
/* Kinds of objects: one table entry each, from the file of its noun to objects.c. */
#ifndef FORMAT_OBJECTS_KIND_H
#define FORMAT_OBJECTS_KIND_H

#include "userspace/format/fields.h"
#include "userspace/format/objects.h"

struct obj_type {
	const char *noun;		/* first in sentences */
	size_t	bytes;			/* of the structure, which begins with struct obj */
	const struct field *fields;	/* without "v" and "op" */
	bool	file;			/* no operation id, and a checksum */
	/* Judge what no field alone can, and compute views; 0, or field_wrong(); NULL: nothing to do. */
	int	(*check)(struct field_at *a, void *x);
	void	(*drop)(void *x);	/* free views; NULL: there are none */
	void	(*key)(const void *x, struct key *k);
};

extern const struct obj_type obj_type_cluster, obj_type_leader, obj_type_host, obj_type_alive,
	obj_type_device, obj_type_drive, obj_type_volume, obj_type_name, obj_type_access,
	obj_type_reader, obj_type_want, obj_type_writer, obj_type_roster, obj_type_task,
	obj_type_event, obj_type_status, obj_type_token, obj_type_recover, obj_type_report,
	obj_type_seen, obj_type_attached, obj_type_known;

/* The text, before it is parsed: no zero byte, no deeper than OBJ_DEPTH_MAX, no more than OBJ_VALUES_MAX values. */
int obj_check_bounds(struct field_at *a, const void *text, size_t len);
/* Numbers of access in the store: below the highest one, and the restart is the kernel's alone. */
int obj_check_number(struct field_at *a, const char *name, u64 number);
/* No UUID twice in an array of structures that have one each at the byte @at. */
int obj_check_unique(struct field_at *a, const char *name, const void *array, size_t n, size_t each,
		     size_t at);

/* No place twice, and none that the layout does not have. */
int obj_check_places(struct field_at *a, const u16 *place, u32 n, u32 members);

/* objects_volume.c: what volume/V and the record of an attached volume have in common. */
extern const struct field obj_layout_fields[], obj_member_fields[], obj_leaving_fields[], obj_io_fields[];
extern const struct field obj_segment_fields[];
int obj_check_layout(struct field_at *a, struct layout *l, const struct muuid *volume,
		     const struct obj_leaving *leaving, u32 leavings, bool fresh);

/* A list of UUIDs, or of places, as values. */
extern const struct field obj_uuid_element[], obj_place_element[];

/* Words. */
extern const char *const obj_mode_words[3];	/* enum plan_mode */
extern const char *const obj_role_words[4];	/* enum plan_role */
/* A name of a label or a setting: lower-case letters, digits, '.', '_', '-'. */
bool obj_plain_name(const char *name);

#endif
