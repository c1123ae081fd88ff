// SPDX-License-Identifier: GPL-2.0-only
/*
 * The byte tables of docs/label.md and the sizes in docs/wire.md against the
 * structs. A table follows a line that begins with its title; a field that has no
 * row of its own is reserved and belongs to the row before or after it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "rdda/wire.h"
#include "tests/unit/suite.h"
#include "userspace/format/label.h"
#include "userspace/format/layout.h"

struct field {
	size_t at, bytes;
	const char *says;	/* in its row: two fields of one size may change places there */
};

#define F(s, f, says)		{ offsetof(struct s, f), sizeof(((struct s *)NULL)->f), says }
#define SPAN(s, f, l, says)	{ offsetof(struct s, f), offsetof(struct s, l) + \
				  sizeof(((struct s *)NULL)->l) - offsetof(struct s, f), says }

static const struct field label_head[] = {
	F(label_disk_head, magic, "magic"), F(label_disk_head, version, "version"),
	F(label_disk_head, bytes, "bytes of header"), F(label_disk_head, csum, "checksum"),
	F(label_disk_head, sequence, "sequence"), F(label_disk_head, drive, "UUID of the drive"),
	F(label_disk_head, cluster, "UUID of the cluster"),
	F(label_disk_head, owner, "UUID of the host"),
	F(label_disk_head, size, "size of the drive"), F(label_disk_head, lba, "block size"),
	F(label_disk_head, flags, "flags"), F(label_disk_head, extents, "number of records"),
	F(label_disk_head, generation, "generation of the cluster store"),
	F(label_disk_head, reserved, "zero"),
};

static const struct field label_extent[] = {
	F(label_disk_extent, uuid, "UUID of the extent"),
	F(label_disk_extent, volume, "UUID of the volume"), F(label_disk_extent, holder, "holder"),
	F(label_disk_extent, start, "start"), F(label_disk_extent, length, "length"),
	F(label_disk_extent, version, "version"),
	F(label_disk_extent, zeroed, "bytes known to read zero"),
	F(label_disk_extent, commit, "commit"), F(label_disk_extent, state, "state"),
	F(label_disk_extent, reserved, "zero"), F(label_disk_extent, name, "name"),
	F(label_disk_extent, attach, "attach"), F(label_disk_extent, attacher, "attacher"),
	F(label_disk_extent, reserved2, "zero"),
};

static const struct field layout_head[] = {
	F(layout_disk_head, magic, "magic"), F(layout_disk_head, version, "version of the format"),
	F(layout_disk_head, bytes, "bytes of the whole record"),
	F(layout_disk_head, csum, "checksum, as"),
	F(layout_disk_head, layout_version, "version of the layout"),
	F(layout_disk_head, volume, "UUID of the volume"), F(layout_disk_head, size, "its size"),
	F(layout_disk_head, lba, "block size"), F(layout_disk_head, flags, "flags"),
	F(layout_disk_head, members, "members"), F(layout_disk_head, segments, "segments"),
	F(layout_disk_head, refs, "references"), F(layout_disk_head, reserved0, "zero"),
	F(layout_disk_head, created, "when it was made"), F(layout_disk_head, name, "name"),
	F(layout_disk_head, commit, "commit"),
	F(layout_disk_head, head_csum, "checksum of this header"),
	F(layout_disk_head, level, "level"), F(layout_disk_head, columns, "data members"),
	F(layout_disk_head, parity, "parity members"), F(layout_disk_head, reserved1, "zero"),
	F(layout_disk_head, groups, "groups"), F(layout_disk_head, reserved2, "zero"),
	F(layout_disk_head, salt, "salt"), F(layout_disk_head, spares, "spares:"),
	F(layout_disk_head, spares_used, "spares used"), F(layout_disk_head, reserved, "zero"),
};

static const struct field layout_member[] = {
	F(layout_disk_member, target, "UUID of the target"),
	F(layout_disk_member, drive, "UUID of the drive"),
	F(layout_disk_member, extent, "UUID of the extent"),
	F(layout_disk_member, size, "size of the extent"), F(layout_disk_member, port, "port"),
	F(layout_disk_member, kind, "kind"), F(layout_disk_member, flags, "flags"),
	F(layout_disk_member, reserved, "zero"), F(layout_disk_member, addr, "address"),
};

static const struct field layout_segment[] = {
	F(layout_disk_segment, start, "start"), F(layout_disk_segment, length, "length"),
	F(layout_disk_segment, level, "level"), F(layout_disk_segment, data, "data members"),
	F(layout_disk_segment, parity, "parity members"), F(layout_disk_segment, domain, "domain"),
	F(layout_disk_segment, strip, "strip"), F(layout_disk_segment, groups, "groups"),
	F(layout_disk_segment, flags, "flags"),
	F(layout_disk_segment, first_ref, "first reference"),
	F(layout_disk_segment, refs, "references"), F(layout_disk_segment, reserved, "zero"),
};

static const struct field layout_ref[] = {
	F(layout_disk_ref, member, "member"), F(layout_disk_ref, reserved, "zero"),
	F(layout_disk_ref, offset, "byte of the extent"),
};

#define TABLE(title, fields, s) { title, fields, sizeof(fields) / sizeof((fields)[0]), sizeof(struct s) }

static const struct table {
	const char *title;
	const struct field *field;
	size_t n, bytes;
} tables[] = {
	TABLE("Header, 512 bytes", label_head, label_disk_head),
	TABLE("A record for each extent, 160 bytes", label_extent, label_disk_extent),
	TABLE("Header, 256 bytes", layout_head, layout_disk_head),
	TABLE("Then the members, 128 bytes each", layout_member, layout_disk_member),
	TABLE("Then the segments, 64 bytes each", layout_segment, layout_disk_segment),
	TABLE("Then the references, 16 bytes each", layout_ref, layout_disk_ref),
};

/* The lines of a file of docs/; the caller closes it. */
static FILE *doc(const char *name)
{
	FILE *f = fopen(name, "r");

	if (!f) {
		perror(name);
		abort();
	}
	return f;
}

static void check_table(FILE *f, const struct table *t)
{
	size_t at, bytes, end = 0, n = 0;
	bool inside = false;
	char line[512];

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "| %zu | %zu |", &at, &bytes) == 2) {
			inside = true;
			CU_ASSERT_FATAL(n < t->n);
			if (at != t->field[n].at || bytes != t->field[n].bytes)
				fprintf(stderr, "%s: row %zu is %s", t->title, n, line);
			if (!strstr(line, t->field[n].says))
				fprintf(stderr, "%s: row %zu is not of %s: %s", t->title, n,
					t->field[n].says, line);
			CU_ASSERT_PTR_NOT_NULL(strstr(line, t->field[n].says));
			CU_ASSERT_EQUAL(at, t->field[n].at);
			CU_ASSERT_EQUAL(bytes, t->field[n].bytes);
			CU_ASSERT_EQUAL(at, end);
			end = at + bytes;
			n++;
		} else if (inside) {
			break;
		}
	}
	CU_ASSERT_EQUAL(n, t->n);
	CU_ASSERT_EQUAL(end, t->bytes);
}

static void test_label(void)
{
	char line[512], title[64];
	FILE *f = doc("docs/label.md");
	size_t i = 0, bytes;

	while (i < sizeof(tables) / sizeof(tables[0]) && fgets(line, sizeof(line), f)) {
		if (strncmp(line, tables[i].title, strlen(tables[i].title)))
			continue;
		CU_ASSERT_EQUAL(sscanf(line, "%63[^0-9]%zu bytes", title, &bytes), 2);
		CU_ASSERT_EQUAL(bytes, tables[i].bytes);
		check_table(f, &tables[i++]);
	}
	CU_ASSERT_EQUAL(i, sizeof(tables) / sizeof(tables[0]));
	fclose(f);
}

static void test_wire(void)
{
	static const struct {
		const char *name;
		size_t bytes;
	} message[] = {
		{ "login (", sizeof(struct rdda_login) },
		{ "accept (", sizeof(struct rdda_accept) },
		{ "join (", sizeof(struct rdda_join) },
		{ "joined (", sizeof(struct rdda_joined) },
	};
	FILE *f = doc("docs/wire.md");
	size_t i = 0, bytes;
	char line[512], *p;

	while (i < sizeof(message) / sizeof(message[0]) && fgets(line, sizeof(line), f)) {
		p = strstr(line, message[i].name);
		if (!p)
			continue;
		CU_ASSERT_EQUAL(sscanf(p + strlen(message[i].name), "%zu bytes", &bytes), 1);
		CU_ASSERT_EQUAL(bytes, message[i++].bytes);
	}
	CU_ASSERT_EQUAL(i, sizeof(message) / sizeof(message[0]));
	fclose(f);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "bytes of the label and the layout record", test_label },
		{ "bytes of the login", test_wire },
		{ NULL, NULL },
	};

	return suite_main("docs", tests);
}
