// SPDX-License-Identifier: GPL-2.0-only
/* From words to a request; the rest is meshd's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/size.h"
#include "userspace/meshctl/meshctl.h"

/* What the command line said besides the request itself. */
struct command {
	const struct verb *verb;
	const char *socket;
	json_t	*args;
	int	operands;
	bool	json;
	bool	help;
};

/* What follows an option; "" when it takes no value. */
static const char *value_word(const struct verb_arg *o)
{
	static const char *const words[] = {
		[ARG_FLAG] = "", [ARG_OFF] = "", [ARG_TEXT] = "TEXT", [ARG_NAME] = "NAME",
		[ARG_HOST] = "HOST", [ARG_DRIVE] = "DRIVE", [ARG_MEMBER] = "MEMBER", [ARG_KEY] = "KEY",
		[ARG_SIZE] = "SIZE", [ARG_STRIP] = "SIZE", [ARG_NUMBER] = "N", [ARG_SECONDS] = "SECONDS",
		[ARG_LIST] = "DRIVE,...", [ARG_ITEM] = "DRIVE", [ARG_LAYOUT] = "LAYOUT", [ARG_DOMAIN] = "host|drive",
		[ARG_LINE] = "FILE", [ARG_HOSTS] = "HOST,...", [ARG_PAIRS] = "NAME=VALUE",
		[ARG_ROLE] = "ROLE", [ARG_PERIOD] = "TIME", [ARG_LABEL] = "DOMAIN", [ARG_COUNT] = "N",
		[ARG_ID] = "UUID",
	};

	return words[o->kind];
}

static void synopsis(const struct verb *v)
{
	const struct verb_arg *a;
	bool more = false;

	printf("meshctl %s", v->words);
	for (a = v->operand; a < v->operand + VERB_OPERANDS && a->name; a++)
		printf(" %s", a->name);
	for (a = v->opts; a->name; a++) {
		more |= !arg_required(a);
		if (arg_required(a))
			printf(" %s %s", a->name, value_word(a));
	}
	printf("%s\n", more ? " [OPTION...]" : "");
}

static void help_verb(const struct verb *v)
{
	const struct verb_arg *o;
	char words[40];

	printf("Usage: ");
	synopsis(v);
	printf("\nTo %s.\n\nOptions:\n", v->summary);
	for (o = v->opts; o->name; o++) {
		snprintf(words, sizeof(words), "%s %s", o->name, value_word(o));
		printf("  %-19s %s\n", words, o->help);
	}
	printf("  %-19s print the result as JSON\n  %-19s this text\n\nExample:\n  %s\n",
	       "--json", "--help", v->example);
}

/* Whether it is a verb of @noun; of any, when that is NULL. */
static bool of_noun(const struct verb *v, const char *noun)
{
	size_t len = noun ? strlen(noun) : 0;

	return !noun || (!strncmp(v->words, noun, len) && v->words[len] == ' ');
}

static void help_all(FILE *f, const char *noun)
{
	const struct verb *v;

	fprintf(f, "Usage: meshctl %s VERB ... (every verb has --help and --json)\n\n",
		noun ? noun : "[NOUN]");
	for (v = verbs; v->words; v++)
		if (of_noun(v, noun))
			fprintf(f, "  %-20s %s\n", v->words, v->summary);
	if (!noun)
		fprintf(f, "\nSizes take binary suffixes: 64k, 10G, 1.5T. Manual: meshctl(8).\n");
}

static bool is_noun(const char *word)
{
	const struct verb *v;

	for (v = verbs; v->words; v++)
		if (of_noun(v, word))
			return true;
	return false;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static int bad_value(const char *name, const char *value, const char *want)
{
	return complain(EXIT_USAGE, "%s %s: %s", name, value, want);
}

/* What is not understood here stays text: arg_wrong() has the words for that. */
static json_t *number(const char *text)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	return errno || end == text || *end ? json_string(text) : json_integer(n);
}

static json_t *size(const char *text)
{
	u64 bytes;
	int err = size_parse(text, &bytes);

	if (err == -ERANGE || (!err && bytes > INT64_MAX))
		return json_integer(INT64_MAX);
	return err ? json_string(text) : json_integer((json_int_t)bytes);
}

static json_t *period(const char *text)
{
	static const struct { char unit; long seconds; } units[] = {
		{ 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 },
	};
	char *end;
	size_t i;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	for (i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!errno && end != text && n > 0 && n <= VERB_PERIOD_MAX && *end == units[i].unit && !end[1])
			return json_integer(n * units[i].seconds);
	return json_string(text);
}

/* @text is added to what the list is by now. */
static json_t *list(const struct command *c, const struct verb_arg *a, const char *text)
{
	const json_t *so_far = json_object_get(c->args, a->key);
	json_t *j = so_far ? json_copy((json_t *)so_far) : json_array();
	char *copy = strdup(text), *rest = copy, *item;

	while ((a->kind == ARG_LIST || a->kind == ARG_HOSTS) && (item = strsep(&rest, ",")))
		json_array_append_new(j, json_string(item));
	if (a->kind == ARG_ITEM || a->kind == ARG_PAIRS)
		json_array_append_new(j, json_string(text));
	free(copy);
	return j;
}

/*
 * A secret must not be on a command line, where ps shows it to every user. The last
 * line that is not empty counts: what 'host key show' prints can be given as it is.
 */
static int last_line(const char *name, const char *path, json_t **text)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char line[512] = "", next[512];

	if (!f)
		return bad_value(name, path, strerror(errno));
	while (fgets(next, sizeof(next), f)) {
		next[strcspn(next, "\r\n")] = '\0';
		if (*next)
			strcpy(line, next);
	}
	if (f != stdin)
		fclose(f);
	*text = *line ? json_string(line) : NULL;
	explicit_bzero(line, sizeof(line));
	explicit_bzero(next, sizeof(next));
	return *text ? 0 : bad_value(name, path, "there is nothing in it");
}

/* @typed: NULL for an option that takes no value */
static int set(struct command *c, const struct verb_arg *a, const char *typed)
{
	const char *wrong;
	json_t *value;

	switch (a->kind) {
	case ARG_FLAG:
	case ARG_OFF:
		value = json_boolean(a->kind == ARG_FLAG);
		break;
	case ARG_NUMBER:
	case ARG_SECONDS:
	case ARG_COUNT:
		value = number(typed);
		break;
	case ARG_PERIOD:
		value = period(typed);
		break;
	case ARG_SIZE:
	case ARG_STRIP:
		value = size(typed);
		break;
	case ARG_LIST:
	case ARG_ITEM:
	case ARG_HOSTS:
	case ARG_PAIRS:
		value = list(c, a, typed);
		break;
	case ARG_LINE:
		if (last_line(a->name, typed, &value))
			return EXIT_USAGE;
		break;
	default:
		value = json_string(typed);	/* NULL: no UTF-8 */
	}
	wrong = arg_wrong(a, value);
	if (wrong) {
		json_decref(value);
		if (a->kind == ARG_WORD)
			return complain(EXIT_USAGE, "%s: one of %s is wanted", typed, a->name);
		return bad_value(a->name, typed, wrong);
	}
	return json_object_set_new(c->args, a->key, value) ? EXIT_FAILED : 0;
}

/* What an administrator may try in order to have more redundancy, or less, of a volume that is there. */
static bool is_shape(const char *verb, const char *option, size_t len)
{
	static const char *const names[] = { "--copies", "--layout", "--groups", "--parity", "--mirror" };
	size_t i;

	if (strncmp(verb, "volume ", 7) || !strcmp(verb, "volume create"))
		return false;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == len && !strncmp(option, names[i], len))
			return true;
	return false;
}

/* "--name", "--name=value" or "--name value"; *used: words taken besides the first */
static int option(struct command *c, char **argv, int *used)
{
	const char *value = strchr(argv[0], '=');
	size_t len = value ? (size_t)(value - argv[0]) : strlen(argv[0]);
	const struct verb_arg *o;

	*used = 0;
	if (len == strlen("--json") && !strncmp(argv[0], "--json", len))
		return value ? bad_value("--json", value + 1, "it takes no value") : (c->json = true, 0);
	if (is_help(argv[0]))
		return c->help = true, 0;
	for (o = c->verb->opts; o->name; o++)
		if (strlen(o->name) == len && !strncmp(o->name, argv[0], len))
			break;
	if (!o->name && is_shape(c->verb->words, argv[0], len))
		return complain(EXIT_USAGE, "%s: the layout of a volume does not change, nor its copies or "
				"parity: make another volume and copy it; a lost member gets a new drive by "
				"'meshctl volume replace'", c->verb->words);
	if (!o->name) {
		return complain(EXIT_USAGE, "%s has no option %.*s: see 'meshctl %s --help'",
				c->verb->words, (int)len, argv[0], c->verb->words);
	}
	if (o->kind == ARG_FLAG || o->kind == ARG_OFF)
		return value ? bad_value(o->name, value + 1, "it takes no value") : set(c, o, NULL);
	if (value)
		return set(c, o, value + 1);
	if (!argv[1])
		return complain(EXIT_USAGE, "%s: a value is missing", o->name);
	*used = 1;
	return set(c, o, argv[1]);
}

static int operand(struct command *c, const char *word)
{
	const struct verb_arg *a = &c->verb->operand[c->operands];

	if (c->operands == VERB_OPERANDS || !a->name)
		return complain(EXIT_USAGE, "%s: '%s' is one word too many: see 'meshctl %s --help'",
				c->verb->words, word, c->verb->words);
	c->operands++;
	return set(c, a, word);
}

static int parse(struct command *c, char **argv)
{
	bool only_operands = false;
	int used, ret;

	for (; *argv; argv++) {
		if (!only_operands && !strcmp(*argv, "--")) {
			only_operands = true;
			continue;
		}
		used = 0;
		if (!only_operands && (!strncmp(*argv, "--", 2) || is_help(*argv)))
			ret = option(c, argv, &used);
		else
			ret = operand(c, *argv);
		if (ret)
			return ret;
		argv += used;
	}
	return 0;
}

/* Each argument was checked as it came: one may be missing. */
static int complete(const struct command *c)
{
	char why[256];

	return verb_ok(c->verb, c->args, why, sizeof(why)) ? 0 :
	       complain(EXIT_USAGE, "%s: %s: see 'meshctl %s --help'", c->verb->words, why,
			c->verb->words);
}

static void print_version(void)
{
	printf("meshctl %s\n", MESHD_VERSION);
}

/* @status, if all of it could be printed. */
static int written(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	complain(EXIT_FAILED, "standard output: %s", strerror(errno));
	return EXIT_FAILED;
}

static int run(struct command *c)
{
	enum verb_result kind = c->verb->result;
	json_t *request, *result = NULL;
	int status;

	request = json_pack("{s:s, s:O}", "verb", c->verb->words, "args", c->args);
	if (kind == RESULT_VERSION)	/* meshctl's own is known without meshd */
		json_more = json_pack("{s:s}", "version", MESHD_VERSION);
	status = control_call(c->socket, request, &result);
	if (json_is_true(json_object_get(result, "dry_run")))
		kind = RESULT_DRY_RUN;
	if (status == EXIT_DONE || status == EXIT_FOUND)
		(c->json ? json_show : print_text[kind])(result);
	else if (!c->json && kind == RESULT_VERSION)
		print_version();
	if (status == EXIT_FOUND)
		status = EXIT_FAILED;
	json_decref(result);
	json_decref(request);
	json_decref(json_more);
	return written(status);
}

/* The same command line in its order, as far as it is known. */
static void option_first(char **argv)
{
	const char *noun = argv[2] ? argv[2] : "NOUN", *verb = "";

	if (!argv[2] || is_noun(noun))
		verb = argv[2] && argv[3] ? argv[3] : "VERB";
	complain(EXIT_USAGE, "options go behind the verb: meshctl %s%s%s %s", noun, *verb ? " " : "",
		 verb, argv[1]);
}

/* Finds the verb; returns how many words it took, 0 when there is none. */
static int which(struct command *c, char **argv)
{
	char words[64];

	if (argv[1][0] == '-') {
		option_first(argv);
		return 0;
	}
	if (!is_noun(argv[1])) {
		c->verb = verb_find(argv[1]);
		if (!c->verb)
			complain(EXIT_USAGE, "no such command: '%s': see 'meshctl --help'", argv[1]);
		return c->verb ? 2 : 0;
	}
	if (!argv[2] || is_help(argv[2])) {
		help_all(argv[2] ? stdout : stderr, argv[1]);
		exit(argv[2] ? EXIT_DONE : EXIT_USAGE);
	}
	if (argv[2][0] == '-') {
		complain(EXIT_USAGE, "options go behind the verb: meshctl %s VERB %s", argv[1], argv[2]);
		return 0;
	}
	snprintf(words, sizeof(words), "%s %s", argv[1], argv[2]);
	c->verb = verb_find(words);
	if (!c->verb)
		complain(EXIT_USAGE, "%s has no verb '%s': see 'meshctl %s --help'", argv[1], argv[2],
			 argv[1]);
	return c->verb ? 3 : 0;
}

/* "meshctl help", "help NOUN", "help NOUN VERB"; @argv: from "help" on */
static int help(struct command *c, char **argv)
{
	if (!argv[1] || (is_noun(argv[1]) && !argv[2])) {
		help_all(stdout, argv[1]);
		return EXIT_DONE;
	}
	if (!which(c, argv))
		return EXIT_USAGE;
	help_verb(c->verb);
	return EXIT_DONE;
}

/* Known before anything else is found wrong with the command line. */
static bool wants_json(char **argv)
{
	for (; *argv && strcmp(*argv, "--"); argv++)
		if (!strcmp(*argv, "--json"))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct command c = { .args = json_object() };
	int words, status;

	c.socket = getenv("MESHD_SOCKET") ? getenv("MESHD_SOCKET") : MESHD_SOCKET;
	json_errors = wants_json(argv);
	if (argc < 2) {
		help_all(stderr, NULL);
		return EXIT_USAGE;
	}
	if (is_help(argv[1])) {
		help_all(stdout, NULL);
		return written(EXIT_DONE);
	}
	if (!strcmp(argv[1], "help")) {
		status = written(help(&c, argv + 1));
		json_decref(c.args);
		return status;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		print_version();
		return written(EXIT_DONE);
	}
	words = which(&c, argv);
	status = words ? parse(&c, argv + words) : EXIT_USAGE;
	if (!status && c.help) {
		help_verb(c.verb);
	} else {
		if (!status)
			status = complete(&c);
		if (!status)
			status = run(&c);
	}
	json_decref(c.args);
	return status;
}
