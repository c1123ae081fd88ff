// SPDX-License-Identifier: GPL-2.0-only
/*
 * The codec beside ISA-L: GB of source strips per second (what is written does
 * not count), both on the same page-aligned buffers. Contenders take turns in
 * short slices and the best slice of each counts, so that whatever else the
 * machine does hurts all alike. Every result is compared with ISA-L's.
 */
#include <getopt.h>
#include <isa-l.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "userspace/codec.h"

#define CONTENDERS_MAX	16
#define STRIPS		PROT_CODEC_STRIPS_MAX
#define LEN_MAX		(1 << 20)
#define FIELD		11		/* column width */

/* decode: m data strips lost; decode-1: one; update: parity follows one strip. */
enum op { OP_ENCODE, OP_DECODE, OP_DECODE_1, OP_UPDATE, OPS };

static const char *const op_name[OPS] = { "encode", "decode", "decode-1", "update" };

/* What is computed: @map from src to dst. */
static struct row {
	unsigned int k, m;
	size_t len;
	enum op op;
	u8 *src[STRIPS];
	u8 *dst[PROT_CODEC_M_MAX];
	u8 *strips[STRIPS];		/* src and dst, for ISA-L's RAID functions */
	struct prot_map map;
} row;

typedef void isal_fn(int len, int k, int rows, unsigned char *tables,
		     unsigned char **src, unsigned char **dst);

struct contender {
	const char *name;
	const struct prot_codec_ops *ops;	/* ours */
	isal_fn	*isal;				/* or ISA-L's */
	double	best;
};

static struct contender contenders[CONTENDERS_MAX];
static unsigned int n_contenders;
static unsigned int rounds = 40;
static double slice_bytes = 16e6;
static bool json;
static u8 isal_tables[32 * STRIPS * PROT_CODEC_M_MAX];

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* ISA-L's functions for P and for P and Q; its library picks by CPU. */
static void isal_raid(int len, int k, int rows, unsigned char *tables,
		      unsigned char **src, unsigned char **dst)
{
	(void)tables;
	(void)src;
	(void)dst;
	if (rows == 1)
		xor_gen(k + 1, len, (void **)row.strips);
	else
		pq_gen(k + 2, len, (void **)row.strips);
}

/* Its updates take the difference of strip 0; each makes an isal_fn here. */
#define UPDATE(name, fn) \
static void name(int len, int k, int rows, unsigned char *tables, \
		 unsigned char **src, unsigned char **dst) \
{ \
	fn(len, k, rows, 0, tables, src[0], dst); \
}
UPDATE(isal_update, ec_encode_data_update)
UPDATE(isal_update_avx2, ec_encode_data_update_avx2)
UPDATE(isal_update_sse, ec_encode_data_update_sse)

static void add(const char *name, const struct prot_codec_ops *ops, isal_fn *isal)
{
	contenders[n_contenders++] = (struct contender) { name, ops, isal, 0 };
}

static void set_contenders(void)
{
	const struct prot_codec_ops *const *o;
	bool update = row.op == OP_UPDATE;

	n_contenders = 0;
	for (o = codec_list; *o; o++)
		if (!(*o)->usable || (*o)->usable())
			add((*o)->name, *o, NULL);
	if (__builtin_cpu_supports("sse4.1"))
		add("isal-sse", NULL, update ? isal_update_sse : ec_encode_data_sse);
	if (__builtin_cpu_supports("avx2"))
		add("isal-avx2", NULL, update ? isal_update_avx2 : ec_encode_data_avx2);
	add("isal", NULL, update ? isal_update : ec_encode_data);
	if (row.map.shape != PROT_MAP_ANY && !update)
		add("isal-raid", NULL, isal_raid);
}

/* Lost strips are the first data strips: all of m, or one. */
static void set_row(u8 *memory, unsigned int k, unsigned int m, size_t len, enum op op)
{
	struct prot_code code;
	prot_strips_t have, want;
	unsigned int s, ns = 0, nd = 0, lost = op == OP_DECODE ? m : 1;

	row.k = k;
	row.m = m;
	row.len = len;
	row.op = op;
	prot_code_init(&code, k, m);
	want = prot_code_parity(&code);
	have = prot_code_data(&code);
	if (op == OP_DECODE || op == OP_DECODE_1) {
		want = (1ULL << lost) - 1;
		have = (have & ~want) | (((1ULL << lost) - 1) << k);
	}
	if (prot_map_init(&row.map, &prot_codec_portable, &code, have, want))
		abort();
	for (s = 0; s < k + m; s++) {
		u8 *p = memory + s * len;

		if (have >> s & 1)
			row.src[ns++] = p;
		if (want >> s & 1)
			row.dst[nd++] = p;
	}
	memcpy(row.strips, row.src, ns * sizeof(u8 *));
	memcpy(row.strips + ns, row.dst, nd * sizeof(u8 *));
}

static void prepare(const struct contender *c)
{
	u8 matrix[STRIPS * PROT_CODEC_M_MAX];
	u8 *tbl = row.map.tbl;
	unsigned int r, j;

	if (c->isal) {
		for (r = 0; r < row.map.ndst; r++)
			memcpy(matrix + r * row.k, row.map.coef[r], row.k);
		ec_init_tables(row.k, row.map.ndst, matrix, isal_tables);
		return;
	}
	for (j = 0; j < row.map.nsrc; j++)
		for (r = 0; r < row.map.ndst; r++, tbl += c->ops->coef_size)
			c->ops->prepare(row.map.coef[r][j], tbl);
}

static void apply(const struct contender *c)
{
	if (c->isal)
		c->isal(row.len, row.k, row.map.ndst, isal_tables, row.src, row.dst);
	else if (row.op == OP_UPDATE)
		prot_codec_delta(&row.map, c->ops, 0, row.src[0], NULL, row.dst, row.len);
	else
		prot_map_apply(&row.map, c->ops, row.src, row.dst, row.len);
}

static void slice(struct contender *c)
{
	double bytes = (row.op == OP_UPDATE ? 1.0 : row.k) * row.len, t;
	unsigned int i, n = slice_bytes / bytes + 1;

	prepare(c);
	apply(c);
	t = seconds();
	for (i = 0; i < n; i++)
		apply(c);
	t = seconds() - t;
	c->best = max(c->best, n * bytes / t / 1e9);
}

/* All must write what ISA-L writes, in place of what was there. */
static bool all_agree(void)
{
	static u8 expect[PROT_CODEC_M_MAX][LEN_MAX];
	unsigned int i, r;

	for (i = n_contenders; i--; ) {
		for (r = 0; r < row.map.ndst; r++)
			memset(row.dst[r], row.op == OP_UPDATE ? 0 : i, row.len);
		prepare(&contenders[i]);
		apply(&contenders[i]);
		for (r = 0; r < row.map.ndst; r++) {
			if (i == n_contenders - 1)
				memcpy(expect[r], row.dst[r], row.len);
			else if (memcmp(expect[r], row.dst[r], row.len))
				return false;
		}
	}
	return true;
}

static double best_of(bool isal, const char **name)
{
	double best = 0;
	unsigned int i;

	for (i = 0; i < n_contenders; i++)
		if (!contenders[i].isal == !isal && contenders[i].best > best) {
			best = contenders[i].best;
			*name = contenders[i].name;
		}
	return best;
}

static double speed_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < n_contenders; i++)
		if (!strcmp(contenders[i].name, name))
			return contenders[i].best;
	return 0;
}

/* Portable and chosen, then ISA-L's best; all the others with --json. */
static const char *const columns[] = {
	"portable", "ssse3", "isal-sse", "avx2", "isal-avx2", "gfni-avx2", "gfni-avx512",
	"isal", "isal-raid",
};

static void print_head(const char *chosen)
{
	unsigned int i;

	printf("GB/s of source strips; chosen here: %s; ratio: chosen / best of ISA-L\n\n", chosen);
	printf("%-5s %8s %7s", "code", "op", "strip");
	for (i = 0; i < ARRAY_SIZE(columns); i++)
		printf("%*s", FIELD + 1, columns[i]);
	printf("%8s\n", "ratio");
}

static void print_row(const char *chosen, double ratio)
{
	unsigned int i;

	printf("%u+%-3u %8s %6zuK", row.k, row.m, op_name[row.op], row.len >> 10);
	for (i = 0; i < ARRAY_SIZE(columns); i++) {
		double speed = speed_of(columns[i]);

		if (speed)
			printf("%*.2f%c", FIELD, speed, strcmp(columns[i], chosen) ? ' ' : '*');
		else
			printf("%*s ", FIELD, "-");
	}
	printf("%7.2f\n", ratio);
	fflush(stdout);
}

static void print_json(const char *chosen, double ratio, bool first)
{
	unsigned int i;

	printf("%s\n  {\"k\": %u, \"m\": %u, \"op\": \"%s\", \"strip\": %zu, \"chosen\": \"%s\", \"ratio\": %.3f, \"gb_s\": {",
	       first ? "" : ",", row.k, row.m, op_name[row.op], row.len, chosen, ratio);
	for (i = 0; i < n_contenders; i++)
		printf("%s\"%s\": %.3f", i ? ", " : "", contenders[i].name, contenders[i].best);
	printf("}}");
}

/* Return: the ratio, or 0 when one of the two computed something else. */
static double run_row(const char *chosen, bool first)
{
	const char *name = "";
	unsigned int i, round;
	double ratio;

	set_contenders();
	if (!all_agree()) {
		fprintf(stderr, "%u+%u %s: results differ\n", row.k, row.m, op_name[row.op]);
		return 0;
	}
	for (round = 0; round < rounds; round++)
		for (i = 0; i < n_contenders; i++)
			slice(&contenders[i]);
	ratio = speed_of(chosen) / best_of(true, &name);
	if (json)
		print_json(chosen, ratio, first);
	else
		print_row(chosen, ratio);
	return ratio;
}

/* What it costs to make the map of a rebuild, for a request that needs one. */
static double map_cost(const struct prot_codec_ops *ops, unsigned int k, unsigned int m)
{
	struct prot_code code;
	double t;
	int i;

	prot_code_init(&code, k, m);
	t = seconds();
	for (i = 0; i < 20000; i++)
		prot_map_init(&row.map, ops, &code, (prot_code_data(&code) & ~1) | 1ULL << k, 1);
	return (seconds() - t) / 20000 * 1e9;
}

static int usage(const char *name, int code)
{
	printf("usage: %s [--json] [--rounds N] [--code K+M] [--strip KIB]\n", name);
	return code;
}

static unsigned int only_k, only_m;	/* rows to be run; 0: all */
static size_t only_len;

/* Return: the exit status, or -1 to go on. */
static int parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "code", required_argument, NULL, 'c' },
		{ "strip", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == 'j')
			json = true;
		else if (o == 'r')
			rounds = strtoul(optarg, NULL, 0);
		else if (o == 'c' && sscanf(optarg, "%u+%u", &only_k, &only_m) == 2)
			;
		else if (o == 's')
			only_len = strtoul(optarg, NULL, 0) << 10;
		else
			return usage(argv[0], o == 'h' ? 0 : 2);
	}
	return -1;
}

int main(int argc, char **argv)
{
	static const unsigned int codes[][2] = { { 4, 2 }, { 8, 3 }, { 10, 4 } };
	unsigned int c, below = 0, n = 0;
	const char *chosen = codec_best()->name;
	int status = parse_options(argc, argv);
	double ratio, worst = 1e9;
	size_t len, i;
	enum op op;
	u8 *memory;

	if (status >= 0)
		return status;
	memory = aligned_alloc(4096, (size_t)STRIPS * LEN_MAX);
	if (!memory)
		return 2;
	for (i = 0; i < (size_t)STRIPS * LEN_MAX; i++)
		memory[i] = i * 0x9e3779b1u >> 13;

	if (json)
		printf("{\"chosen\": \"%s\", \"rows\": [", chosen);
	else
		print_head(chosen);
	for (c = 0; c < ARRAY_SIZE(codes); c++) {
		if (only_k && (codes[c][0] != only_k || codes[c][1] != only_m))
			continue;
		for (op = 0; op < OPS; op++)
			for (len = 4096; len <= LEN_MAX; len *= 4) {
				if (only_len && len != only_len)
					continue;
				set_row(memory, codes[c][0], codes[c][1], len, op);
				ratio = run_row(chosen, !n++);
				if (!ratio)
					return 1;
				worst = min(worst, ratio);
				below += ratio < 1;
			}
	}
	if (json)
		printf("\n], \"below\": %u, \"map_ns\": %.0f}\n", below, map_cost(codec_best(), 8, 3));
	else
		printf("\n%u rows, %u below ISA-L, worst ratio %.2f; a map for one lost strip of 8+3 takes %.0f ns\n",
		       n, below, worst, map_cost(codec_best(), 8, 3));
	return 0;
}
