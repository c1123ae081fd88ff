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

static const char *verb_words(const struct verb *v)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s%s%s", v->noun ? v->noun : "", v->noun ? " " : "", v->name);
	return text;
}

/* What follows an option; "" when it takes no value. */
static const char *value_word(const struct opt *o)
{
	static const char *const words[] = {
		[OPT_FLAG] = "", [OPT_OFF] = "", [OPT_TEXT] = "TEXT", [OPT_SIZE] = "SIZE",
		[OPT_SIZE_MAX] = "SIZE", [OPT_NUMBER] = "N", [OPT_LIST] = "DRIVE,...",
		[OPT_LAYOUT] = "LAYOUT", [OPT_LINE] = "FILE",
	};

	return words[o->kind];
}

/* Size and layout of a volume have no default. */
static bool required(const struct opt *o)
{
	return o->kind == OPT_LAYOUT || o->kind == OPT_SIZE_MAX;
}

static void synopsis(const struct verb *v)
{
	const struct opt *o;
	bool more = false;

	printf("meshctl %s", verb_words(v));
	if (v->operand)
		printf(" %s", v->operand_name);
	if (v->second)
		printf(" %s", v->second_name);
	for (o = v->opts; o->name; o++) {
		more |= !required(o);
		if (required(o))
			printf(" --%s %s", o->name, value_word(o));
	}
	printf("%s\n", more ? " [OPTION...]" : "");
}

static void help_verb(const struct verb *v)
{
	const struct opt *o;
	char words[32];

	printf("Usage: ");
	synopsis(v);
	printf("\nTo %s.\n\nOptions:\n", v->summary);
	for (o = v->opts; o->name; o++) {
		snprintf(words, sizeof(words), "%s %s", o->name, value_word(o));
		printf("  --%-17s %s\n", words, o->help);
	}
	printf("  --%-17s print the result as JSON\n  --%-17s this text\n\nExample:\n  %s\n",
	       "json", "help", v->example);
}

static void help_all(FILE *f, const char *noun)
{
	const struct verb *v;

	fprintf(f, "Usage: meshctl %s VERB ... (every verb has --help and --json)\n\n",
		noun ? noun : "[NOUN]");
	for (v = verbs; v->name; v++)
		if (!noun || (v->noun && !strcmp(v->noun, noun)))
			fprintf(f, "  %-20s %s\n", verb_words(v), v->summary);
	if (!noun)
		fprintf(f, "\nSizes take binary suffixes: 64k, 10G, 1.5T. Manual: meshctl(8).\n");
}

static const struct verb *find_verb(const char *noun, const char *name)
{
	const struct verb *v;

	for (v = verbs; v->name; v++)
		if (noun ? v->noun && !strcmp(v->noun, noun) && !strcmp(v->name, name) :
			   !v->noun && !strcmp(v->name, name))
			return v;
	return NULL;
}

static bool is_noun(const char *word)
{
	const struct verb *v;

	for (v = verbs; v->name; v++)
		if (v->noun && !strcmp(v->noun, word))
			return true;
	return false;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static int bad_value(const char *option, const char *value, const char *want)
{
	return complain(EXIT_USAGE, "--%s %s: %s", option, value, want);
}

/* "linear" or "stripe:N", 2 <= N <= 255 */
static int set_layout(json_t *args, const struct opt *o, const char *value)
{
	char *end;
	long n;

	if (!strcmp(value, "linear")) {
		json_object_set_new(args, "level", json_string("linear"));
		json_object_set_new(args, "columns", json_integer(1));
		return 0;
	}
	if (!strncmp(value, "mirror", 6) || !strncmp(value, "raid10", 6) ||
	    !strncmp(value, "ec:", 3))
		return bad_value(o->name, value, "volumes with redundancy are not served by "
				 "this version yet; say linear or stripe:N");
	if (strncmp(value, "stripe:", 7))
		return bad_value(o->name, value, "say linear or stripe:N");
	errno = 0;
	n = strtol(value + 7, &end, 10);
	if (errno || end == value + 7 || *end || n < 2 || n > 255)
		return bad_value(o->name, value, "a stripe goes over 2 to 255 drives");
	json_object_set_new(args, "level", json_string("stripe"));
	json_object_set_new(args, "columns", json_integer(n));
	return 0;
}

static int set_number(json_t *args, const struct opt *o, const char *value)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (errno || end == value || *end || n < 1 || n > 65535)
		return bad_value(o->name, value, "a number from 1 to 65535 is wanted");
	json_object_set_new(args, o->key, json_integer(n));
	return 0;
}

static int set_size(json_t *args, const struct opt *o, const char *value)
{
	u64 bytes;
	int err;

	if (o->kind == OPT_SIZE_MAX && !strcmp(value, "max")) {
		json_object_set_new(args, o->key, json_string("max"));
		return 0;
	}
	err = size_parse(value, &bytes);
	if (err == -ERANGE)
		return bad_value(o->name, value, "that is too large");
	if (err || !bytes)
		return bad_value(o->name, value, o->kind == OPT_SIZE_MAX ?
				 "a size like 64k, 10G or 1.5T is wanted, or max" :
				 "a size like 64k, 10G or 1.5T is wanted");
	json_object_set_new(args, o->key, json_integer((json_int_t)bytes));
	return 0;
}

static int set_list(json_t *args, const struct opt *o, const char *value)
{
	json_t *list = json_array();
	char *copy = strdup(value), *save = NULL, *item;

	for (item = copy ? strtok_r(copy, ",", &save) : NULL; item; item = strtok_r(NULL, ",", &save))
		json_array_append_new(list, json_string(item));
	free(copy);
	json_object_set_new(args, o->key, list);
	return 0;
}

static int set_text(json_t *args, const char *name, const char *key, const char *value)
{
	json_t *text = json_string(value);	/* NULL: no UTF-8 */

	if (!text)
		return bad_value(name, value, "this is no text in UTF-8");
	json_object_set_new(args, key, text);
	return 0;
}

/*
 * A secret must not be on a command line, where ps shows it to every user. The last
 * line that is not empty counts: what 'host key show' prints can be given as it is.
 */
static int set_line(json_t *args, const struct opt *o, const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char line[512] = "", next[512];
	int ret;

	if (!f)
		return bad_value(o->name, path, strerror(errno));
	while (fgets(next, sizeof(next), f)) {
		next[strcspn(next, "\r\n")] = '\0';
		if (*next)
			strcpy(line, next);
	}
	if (f != stdin)
		fclose(f);
	ret = *line ? set_text(args, o->name, o->key, line) :
		      bad_value(o->name, path, "there is nothing in it");
	explicit_bzero(line, sizeof(line));
	explicit_bzero(next, sizeof(next));
	return ret;
}

static int set_option(json_t *args, const struct opt *o, const char *value)
{
	switch (o->kind) {
	case OPT_FLAG:
		return json_object_set_new(args, o->key, json_true()) ? EXIT_FAILED : 0;
	case OPT_OFF:
		return json_object_set_new(args, o->key, json_false()) ? EXIT_FAILED : 0;
	case OPT_TEXT:
		return set_text(args, o->name, o->key, value);
	case OPT_SIZE:
	case OPT_SIZE_MAX:
		return set_size(args, o, value);
	case OPT_NUMBER:
		return set_number(args, o, value);
	case OPT_LIST:
		return set_list(args, o, value);
	case OPT_LAYOUT:
		return set_layout(args, o, value);
	case OPT_LINE:
		return set_line(args, o, value);
	}
	return EXIT_USAGE;
}

/* "--name", "--name=value" or "--name value"; *used: words taken besides the first */
static int option(struct command *c, char **argv, int *used)
{
	const char *word = argv[0] + 2, *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : strlen(word);
	const struct opt *o;

	*used = 0;
	if (!value && !strcmp(word, "json"))
		return c->json = true, 0;
	if (!value && is_help(argv[0]))
		return c->help = true, 0;
	for (o = c->verb->opts; o->name; o++)
		if (strlen(o->name) == len && !strncmp(o->name, word, len))
			break;
	if (!o->name) {
		return complain(EXIT_USAGE, "%s has no option --%.*s: see 'meshctl %s --help'",
				verb_words(c->verb), (int)len, word, verb_words(c->verb));
	}
	if (o->kind == OPT_FLAG || o->kind == OPT_OFF)
		return value ? bad_value(o->name, value + 1, "it takes no value") :
			       set_option(c->args, o, NULL);
	if (!value) {
		if (!argv[1])
			return complain(EXIT_USAGE, "--%s: a value is missing", o->name);
		*used = 1;
		return set_option(c->args, o, argv[1]);
	}
	return set_option(c->args, o, value + 1);
}

static int operand(struct command *c, const char *word)
{
	const char *key = c->operands == 0 ? c->verb->operand :
			  c->operands == 1 ? c->verb->second : NULL;

	if (!key)
		return complain(EXIT_USAGE, "%s: '%s' is one word too many: see 'meshctl %s --help'",
				verb_words(c->verb), word, verb_words(c->verb));
	c->operands++;
	return set_text(c->args, key, key, word);
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

static int missing(const struct verb *v, const char *what)
{
	return complain(EXIT_USAGE, "%s: %s is missing: see 'meshctl %s --help'", verb_words(v), what,
			verb_words(v));
}

/* What a verb requires. */
static int complete(const struct command *c)
{
	const struct verb *v = c->verb;
	const struct opt *o;

	if (v->operand && v->operand_name[0] != '[' && c->operands < 1)
		return missing(v, v->operand_name);
	if (v->second && c->operands < 2)
		return missing(v, v->second_name);
	for (o = v->opts; o->name; o++)
		if (required(o) && !json_object_get(c->args, o->kind == OPT_LAYOUT ? "level" : o->key))
			return missing(v, o->kind == OPT_LAYOUT ? "--layout" : "--size");
	return 0;
}

static void print_version(void)
{
	printf("meshctl %s\n", MESHCTL_VERSION);
}

static int run(struct command *c)
{
	json_t *request, *result = NULL;
	int status;

	request = json_pack("{s:s, s:O}", "verb", verb_words(c->verb), "args", c->args);
	status = control_call(c->socket, request, &result);
	if (json_is_true(json_object_get(result, "dry_run")))
		print_dry_run(c->json ? &print_json : &print_text, result);
	else if (status == EXIT_DONE || status == EXIT_FOUND)
		c->verb->print(c->json ? &print_json : &print_text, result);
	else if (!c->json && !c->verb->noun && !strcmp(c->verb->name, "version"))
		print_version();	/* meshctl's own is known without meshd */
	if (status == EXIT_FOUND)
		status = EXIT_FAILED;
	json_decref(result);
	json_decref(request);
	if (fflush(stdout) || ferror(stdout))
		return EXIT_FAILED;
	return status;
}

/* Finds the verb; returns how many words it took, 0 when there is none. */
static int which(struct command *c, char **argv)
{
	if (!is_noun(argv[1])) {
		c->verb = find_verb(NULL, argv[1]);
		if (!c->verb)
			complain(EXIT_USAGE, "no such command: '%s': see 'meshctl --help'", argv[1]);
		return c->verb ? 2 : 0;
	}
	if (!argv[2] || is_help(argv[2])) {
		help_all(argv[2] ? stdout : stderr, argv[1]);
		exit(argv[2] ? EXIT_DONE : EXIT_USAGE);
	}
	c->verb = find_verb(argv[1], argv[2]);
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

	c.socket = getenv("MESHD_SOCKET") ? getenv("MESHD_SOCKET") : MESHCTL_SOCKET;
	json_errors = wants_json(argv);
	if (argc < 2) {
		help_all(stderr, NULL);
		return EXIT_USAGE;
	}
	if (is_help(argv[1])) {
		help_all(stdout, NULL);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "help")) {
		status = help(&c, argv + 1);
		json_decref(c.args);
		return status;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		print_version();
		return EXIT_DONE;
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
