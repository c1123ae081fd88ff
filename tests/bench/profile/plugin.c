// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU TCG plugin that charges each instruction of a guest to an owner.
 *
 *      -plugin file=profile.so,rules=RULES,dir=DIR      x86-64, one vCPU
 *
 *      DIR/kallsyms             read at the first window: the guest's symbols
 *      DIR/results/counts.N     written at the end of window N = 1, 2, ...
 *
 * A window opens and closes where the guest executes one of two no-ops
 * (window.c). RULES names an owner for modules and for kernel functions. A
 * function without a rule is charged to the owner of its caller:
 *
 *      call   the owner goes into a slot, whose key is the stack address that
 *             the return address is written to
 *      ret    the owner comes back from the slot of the address that is read
 *
 * So a switch of tasks or of stacks needs no care: the slots of a task wait where
 * its stack is. An interrupt or exception keeps the owner on a stack until its
 * iret; there is one such stack, because the kernels here are not preemptible:
 * between an interrupt of kernel code and its iret no other task runs.
 */
#define _GNU_SOURCE
#include "plugin.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWNERS		32
#define RULES		256
#define NAME		128
#define SLOTS		(1u << 20)
#define NESTED		32
#define KERNEL(pc)	((pc) >> 63)

/* Owners that need no rule; the rest are numbered as RULES has them. */
enum { OTHER, USER, INTERRUPT };

struct rule {
	unsigned int owner;
	bool module;
	char pattern[NAME];
};

struct tally {
	uint64_t instructions, calls;
};

/* A function of the guest's kernel, or all of userspace. */
struct function {
	uint64_t addr;
	char *name, *module;
	unsigned int owner;		/* by a rule, or OTHER */
	bool entry;			/* the CPU comes here by itself */
	struct tally *tally;		/* one for each owner, once it has run */
};

/* A translated block of instructions. */
struct block {
	struct block *next;
	uint64_t pc;
	unsigned int n;
	struct function *function;	/* NULL until it ran with symbols there */
};

struct slot {
	uint64_t key;
	unsigned int owner;
};

QEMU_EXPORT int qemu_plugin_version = QEMU_API;

static const char *dir, *rules_path;
static char owners[OWNERS][NAME] = { "other", "user", "interrupt" };
static unsigned int n_owners = INTERRUPT + 1;
static struct rule rules[RULES];
static unsigned int n_rules;

static struct function *functions, userspace = { .name = "userspace", .owner = USER };
static size_t n_functions;
static struct block *blocks, *running;
static struct slot slots[SLOTS];

static unsigned int owner;		/* whom the instructions of now are charged to */
static unsigned int interrupted[NESTED], nested;
static bool counting;
static unsigned int windows;
static uint64_t returns, unmatched;

static void die(const char *what, const char *arg)
{
	fprintf(stderr, "profile: %s: %s\n", what, arg);
	exit(2);
}

static char *copy_of(const char *s)
{
	char *p = strdup(s);

	if (!p)
		die("no memory", s);
	return p;
}

/* --- rules and symbols ------------------------------------------------- */

static unsigned int owner_of_name(const char *name)
{
	for (unsigned int i = 0; i < n_owners; i++)
		if (!strcmp(owners[i], name))
			return i;
	if (n_owners == OWNERS)
		die("too many owners", name);
	strcpy(owners[n_owners], name);
	return n_owners++;
}

/* Lines of an owner and a function's name, or a [module]'s; both with * and ?. */
static void read_rules(void)
{
	char line[1024], who[NAME], what[NAME];
	FILE *f = fopen(rules_path, "r");

	if (!f)
		die("cannot read rules", rules_path);
	while (fgets(line, sizeof(line), f)) {
		struct rule *r = &rules[n_rules];
		size_t len;

		if (sscanf(line, "%127s %127s", who, what) != 2 || who[0] == '#')
			continue;
		if (n_rules++ == RULES)
			die("too many rules", line);
		len = strlen(what);
		r->owner = owner_of_name(who);
		r->module = what[0] == '[' && what[len - 1] == ']';
		if (r->module)
			what[len - 1] = '\0';
		strcpy(r->pattern, what + r->module);
	}
	fclose(f);
}

static unsigned int rule_for(const char *name, const char *module)
{
	for (unsigned int i = 0; i < n_rules; i++)
		if (!fnmatch(rules[i].pattern, rules[i].module ? module : name, 0))
			return rules[i].owner;
	return OTHER;
}

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static int by_address(const void *a, const void *b)
{
	const struct function *f = a, *g = b;

	if (f->addr != g->addr)
		return f->addr < g->addr ? -1 : 1;
	return strcmp(f->name, g->name);
}

static void add_function(uint64_t addr, const char *name, const char *module)
{
	static size_t room;

	if (n_functions == room) {
		room = room ? 2 * room : 1 << 17;
		functions = realloc(functions, room * sizeof(*functions));
		if (!functions)
			die("no memory", name);
	}
	functions[n_functions++] = (struct function) {
		.addr = addr,
		.name = copy_of(name),
		.module = copy_of(module),
		.owner = rule_for(name, module),
		.entry = begins(name, "asm_exc_") || begins(name, "asm_sysvec_") ||
			 begins(name, "irq_entries_start"),
	};
}

static void read_symbols(void)
{
	char path[4096], line[1024], name[512], module[NAME], type;
	uint64_t addr;
	FILE *f;

	snprintf(path, sizeof(path), "%s/kallsyms", dir);
	f = fopen(path, "r");
	if (!f)
		die("cannot read the guest's symbols", path);
	while (fgets(line, sizeof(line), f)) {
		module[0] = '\0';
		if (sscanf(line, "%" SCNx64 " %c %511s [%127[^]]", &addr, &type, name, module) < 3)
			continue;
		if (addr && strchr("tTwW", type) && !begins(name, "__pfx_"))
			add_function(addr, name, module);
	}
	fclose(f);
	if (!n_functions)
		die("no symbol has an address; is the guest's reader root?", path);
	qsort(functions, n_functions, sizeof(*functions), by_address);
}

/* The last function that begins at or before @pc. */
static struct function *function_at(uint64_t pc)
{
	size_t low = 0, high = n_functions;

	if (!KERNEL(pc))
		return &userspace;
	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (functions[mid].addr <= pc)
			low = mid;
		else
			high = mid;
	}
	return &functions[low];
}

/* --- windows ----------------------------------------------------------- */

static void clear_tally(struct function *f)
{
	if (f->tally)
		memset(f->tally, 0, OWNERS * sizeof(*f->tally));
}

/* Owner, "own" by a rule or "called", module, function, instructions, calls. */
static void write_tally(FILE *out, const struct function *f)
{
	for (unsigned int i = 0; f->tally && i < n_owners; i++)
		if (f->tally[i].instructions)
			fprintf(out, "%s %s %s %s %" PRIu64 " %" PRIu64 "\n", owners[i],
				f->owner ? "own" : "called",
				f->module && f->module[0] ? f->module : "-", f->name,
				f->tally[i].instructions, f->tally[i].calls);
}

static void open_window(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	if (!n_functions)
		read_symbols();
	for (size_t i = 0; i < n_functions; i++)
		clear_tally(&functions[i]);
	clear_tally(&userspace);
	returns = 0;
	unmatched = 0;
	counting = true;
}

static void close_window(unsigned int vcpu, void *data)
{
	char path[4096];
	FILE *out;

	(void)vcpu, (void)data;
	if (!counting)
		return;
	counting = false;
	snprintf(path, sizeof(path), "%s/results/counts.%u", dir, ++windows);
	out = fopen(path, "w");
	if (!out)
		die("cannot write", path);
	fprintf(out, "# returns %" PRIu64 " unmatched %" PRIu64 "\n", returns, unmatched);
	for (size_t i = 0; i < n_functions; i++)
		write_tally(out, &functions[i]);
	write_tally(out, &userspace);
	if (fclose(out))
		die("cannot write", path);
}

/* --- what the guest executes ------------------------------------------- */

static struct slot *slot_of(uint64_t key)
{
	return &slots[(key >> 3) * 0x9e3779b97f4a7c15u >> 44];
}

/* QEMU 7.2 also calls on_call() and on_return() for memory that a later block
 * accesses by a helper, as XSAVE does: @data is the block that they are meant for.
 */
static void on_call(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	(void)vcpu, (void)info;
	if (data == running)
		*slot_of(vaddr) = (struct slot) { .key = vaddr, .owner = owner };
}

/* A return address that no call wrote, as a new task's, leaves the owner. */
static void on_return(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct slot *s = slot_of(vaddr);

	(void)vcpu, (void)info;
	if (data != running)
		return;
	returns++;
	if (s->key == vaddr) {
		owner = s->owner;
		s->key = 0;
	} else {
		unmatched++;
	}
}

/* An iret to userspace needs nothing: that owner is known by the address. */
static void on_iret(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	if (nested)
		owner = interrupted[--nested];
}

/* An entry's stubs for the device interrupts lie side by side, eight bytes or
 * sixteen each; the others have a symbol each.
 */
static bool is_entered(const struct block *b)
{
	const struct function *f = b->function;

	return f->entry && (b->pc == f->addr ||
			    (begins(f->name, "irq_entries_start") && !((b->pc - f->addr) & 7)));
}

static void on_block(unsigned int vcpu, void *data)
{
	static bool in_kernel;
	struct block *b = data;
	struct function *f;

	(void)vcpu;
	running = b;
	if (!n_functions)
		return;
	if (!b->function)
		b->function = function_at(b->pc);
	f = b->function;
	if (!KERNEL(b->pc)) {
		nested = 0;
	} else if (is_entered(b)) {
		if (in_kernel && nested < NESTED)
			interrupted[nested++] = owner;
		owner = INTERRUPT;
	}
	in_kernel = KERNEL(b->pc);
	if (f->owner)
		owner = f->owner;
	if (!counting)
		return;
	if (!f->tally)
		f->tally = calloc(OWNERS, sizeof(*f->tally));
	if (!f->tally)
		die("no memory", f->name);
	f->tally[owner].instructions += b->n;
	f->tally[owner].calls += b->pc == f->addr;
}

/* --- what QEMU translates ---------------------------------------------- */

/* nopl 0x4d4553NN(%rax): NN is 1 to open a window, 2 to close it. */
static int mark_of(const uint8_t *code, size_t size)
{
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x80 }, tail[] = { 'S', 'E', 'M' };

	if (size != 7 || memcmp(code, nop, sizeof(nop)) || memcmp(code + 4, tail, sizeof(tail)))
		return 0;
	return code[3];
}

static bool is_prefix(uint8_t byte)
{
	return (byte & 0xf0) == 0x40 || byte == 0x66 || byte == 0x67 || byte == 0x2e ||
	       byte == 0x3e || byte == 0xf2 || byte == 0xf3;
}

/* Calls and returns end a block, so only its last instruction can be one. QEMU 7.2
 * does not report loads to a callback for loads alone, hence MEM_RW: what a call
 * reads its target from becomes a slot that no return looks up.
 */
static void watch_last(struct qemu_plugin_insn *insn, struct block *b)
{
	const uint8_t *code = qemu_plugin_insn_data(insn);
	size_t size = qemu_plugin_insn_size(insn), at = 0;
	qemu_mem_cb on_access = NULL;

	while (at + 1 < size && is_prefix(code[at]))
		at++;
	if (code[at] == 0xe8 || (code[at] == 0xff && at + 1 < size && (code[at + 1] & 0x38) == 0x10))
		on_access = on_call;
	else if (code[at] == 0xc3 || code[at] == 0xc2)
		on_access = on_return;
	else if (code[at] == 0xcf)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_iret, QEMU_PLUGIN_CB_NO_REGS, NULL);
	if (on_access)
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, b);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct block *b = calloc(1, sizeof(*b));
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	if (!b)
		die("no memory", "block");
	b->pc = qemu_plugin_tb_vaddr(tb);
	b->n = n;
	b->next = blocks;
	blocks = b;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, b);
	if (KERNEL(b->pc)) {
		watch_last(qemu_plugin_tb_get_insn(tb, n - 1), b);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		int mark = mark_of(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));

		if (mark == 1 || mark == 2)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, mark == 1 ? open_window :
							       close_window,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}

/* QEMU drops all of its translations at once. */
static void on_flush(qemu_plugin_id_t id)
{
	(void)id;
	running = NULL;
	while (blocks) {
		struct block *b = blocks;

		blocks = b->next;
		free(b);
	}
}

QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				    char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (begins(argv[i], "rules="))
			rules_path = copy_of(argv[i] + strlen("rules="));
		else if (begins(argv[i], "dir="))
			dir = copy_of(argv[i] + strlen("dir="));
		else
			die("unknown argument", argv[i]);
	}
	if (!rules_path || !dir)
		die("missing argument", "rules=FILE,dir=FOLDER");
	if (strcmp(info->target_name, "x86_64") || !info->system_emulation || info->smp_vcpus != 1)
		die("needs an x86_64 machine of one CPU, not", info->target_name);
	read_rules();
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_flush_cb(id, on_flush);
	return 0;
}
