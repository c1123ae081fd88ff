// SPDX-License-Identifier: GPL-2.0-only
/* Each verb of the table has its part in the daemon, help, and an example that meshctl understands. */
#define main meshctl_main
#include "userspace/meshctl/main.c"
#undef main

#include "tests/unit/api_rig.h"

static json_t *requested;		/* by meshctl, of the last command line */

/* The rest of meshctl. */

bool json_errors;
json_t *json_more;
const print_fn print_text[RESULTS];
static char said[1024];

int complain(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
	return status;
}

void json_show(const json_t *j)
{
	(void)j;
}

int control_call(const char *path, const json_t *request, json_t **result)
{
	(void)path;
	(void)result;
	json_decref(requested);
	requested = json_deep_copy(request);
	return EXIT_FAILED;
}

/* A command line as a shell has it, without quotes. Return: the exit status. */
static int typed(const char *text)
{
	char *copy = strdup(text), *rest = copy, *word, *argv[32] = { NULL };
	int argc = 0, status;

	json_decref(requested);
	requested = NULL;
	said[0] = 0;
	json_more = NULL;
	while ((word = strsep(&rest, " ")) && argc < 31)
		if (*word)
			argv[argc++] = word;
	status = meshctl_main(argc, argv);
	free(copy);
	return status;
}

static void check_example(const struct verb *v, const char *text)
{
	char why[256] = "";

	CU_ASSERT_EQUAL(typed(text), EXIT_FAILED);
	if (!requested)
		printf("\n%s: %s\n", text, said);
	CU_ASSERT_PTR_NOT_NULL_FATAL(requested);
	CU_ASSERT_STRING_EQUAL(text_of(requested, "verb"), v->words);
	CU_ASSERT(verb_ok(v, json_object_get(requested, "args"), why, sizeof(why)));
}

/* The command of each line; what follows it is the shell's. */
static void test_examples(void)
{
	for (const struct verb *v = verbs; v->words; v++) {
		char *copy = strdup(v->example), *rest = copy, *text, *shell;
		unsigned int n = 0;

		while ((text = strsep(&rest, "\n"))) {
			text += strspn(text, " ");
			CU_ASSERT_EQUAL(strncmp(text, "meshctl ", 8), 0);
			shell = strstr(text, " && ");
			if (shell)
				*shell = 0;
			check_example(v, text);
			n++;
		}
		CU_ASSERT(n > 0);
		free(copy);
	}
}

static void test_table(void)
{
	unsigned int n = 0;

	for (const struct verb *v = verbs; v->words; v++) {
		if (!api_find(v->words))
			printf("\nno api of %s\n", v->words);
		CU_ASSERT_PTR_NOT_NULL(api_find(v->words));
		CU_ASSERT(v->summary && v->summary[0] && v->result < RESULTS);
		for (const struct verb_arg *o = v->opts; o->name; o++) {
			CU_ASSERT(!strncmp(o->name, "--", 2) && o->help && o->help[0] && o->key);
			CU_ASSERT_PTR_NOT_NULL(value_word(o));
		}
		n++;
	}
	for (unsigned int i = 0; api_verb(i); i++, n--)
		CU_ASSERT_PTR_NOT_NULL(verb_find(api_verb(i)));
	CU_ASSERT_EQUAL(n, 0);
	CU_ASSERT_PTR_NULL(api_find("volume"));
}

/* A line, and the arguments that it gives; @is NULL: it is refused with a part of a sentence. */
static void gives(const char *text, const char *is, const char *part)
{
	json_t *want_args = is ? json_loads(is, 0, NULL) : NULL;
	int status = typed(text);

	CU_ASSERT_EQUAL(status, is ? EXIT_FAILED : EXIT_USAGE);
	if (is && !json_equal(json_object_get(requested, "args"), want_args))
		printf("\n%s: %s %s\n", text, requested ? json_dumps(requested, 0) : "none", said);
	CU_ASSERT(!is || json_equal(json_object_get(requested, "args"), want_args));
	if (!is && !strstr(said, part))
		printf("\n%s: \"%s\"\n", text, said);
	CU_ASSERT(is || strstr(said, part));
	json_decref(want_args);
}

static void test_arguments(void)
{
	gives("meshctl cluster token --role storage --expires 2d", "{\"role\":\"storage\",\"expires\":172800}", NULL);
	gives("meshctl cluster token --expires 90s", "{\"expires\":90}", NULL);
	gives("meshctl cluster token --expires 90", NULL, "a time like");
	gives("meshctl cluster token --expires 31d", NULL, "a time like");
	gives("meshctl cluster token --expires -1h", NULL, "a time like");
	gives("meshctl cluster token --expires 1hh", NULL, "a time like");
	gives("meshctl cluster token --role root", NULL, "client, storage or store");
	gives("meshctl volume attach data --host a --host b,c --readonly",
	      "{\"volume\":\"data\",\"hosts\":[\"a\",\"b\",\"c\"],\"readonly\":true}", NULL);
	gives("meshctl volume attach data --host a --host b", NULL, "several go with --readonly");
	gives("meshctl volume attach data --host a,,b", NULL, "a name in it is empty");
	gives("meshctl volume attach data --host=", NULL, "name at least one host");
	gives("meshctl host set s1 --label a=b --label c=", "{\"host\":\"s1\",\"labels\":[\"a=b\",\"c=\"]}", NULL);
	gives("meshctl host set s1 --label a", NULL, "NAME=VALUE");
	gives("meshctl host set s1 --label =b", NULL, "NAME=VALUE");
	gives("meshctl host maintenance s1 up", NULL, "on|off");
	gives("meshctl volume set data --spares 0", "{\"volume\":\"data\",\"spares\":0}", NULL);
	gives("meshctl volume set data --spares 1025", NULL, "0 to 1024");
	gives("meshctl volume set data", NULL, "--spares or --allow");
	gives("meshctl volume create v --size 1G --layout mirror:2 --domain rack --id 7C0D5F8E-0b53-4a0e-9a55-1f4f0a9d2c11",
	      "{\"name\":\"v\",\"size\":1073741824,\"layout\":\"mirror:2\",\"domain\":\"rack\","
	      "\"id\":\"7C0D5F8E-0b53-4a0e-9a55-1f4f0a9d2c11\"}", NULL);
	gives("meshctl volume create v --size 1G --layout linear --id 7c0d", NULL, "a whole UUID");
	gives("meshctl volume create v --size 1G --layout linear --domain A/B", NULL, "drive, host, rack");
	gives("meshctl volume create v --size 1G", NULL, "--layout is missing");
	gives("meshctl volume scrub data --repair --from 2", "{\"volume\":\"data\",\"repair\":true,\"from\":\"2\"}", NULL);
	gives("meshctl volume scrub --timer --repair", "{\"timer\":true,\"repair\":true}", NULL);
	gives("meshctl volume scrub --all --stop", "{\"all\":true,\"stop\":true}", NULL);
	gives("meshctl volume scrub", NULL, "VOLUME is missing");
	gives("meshctl volume scrub data --all", NULL, "leave out VOLUME");
	gives("meshctl volume scrub data --timer", NULL, "leave out VOLUME");
	gives("meshctl volume scrub --all --repair --from 2", NULL, "leave out VOLUME");
	gives("meshctl volume scrub --all --id 7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c11", NULL, "leave out VOLUME");
	gives("meshctl volume scrub data --from 2", NULL, "add --repair");
	gives("meshctl volume scrub data --stop --repair", NULL, "no other option");
	gives("meshctl volume rejoin data", NULL, "MEMBER");
	gives("meshctl volume wait data --timeout 60", "{\"volume\":\"data\",\"timeout\":60}", NULL);
	gives("meshctl drive export --all --name x", NULL, "cannot share");
	gives("meshctl drive export", NULL, "DEVICE is missing");
	gives("meshctl cluster join", NULL, "TOKEN is missing");
}

static const struct rig_test tests[] = {
	{ "table", test_table },
	{ "examples", test_examples },
	{ "arguments", test_arguments },
};

int main(void)
{
	int failed = rig_main("daemon_verbs", tests, sizeof(tests) / sizeof(tests[0]));

	json_decref(requested);
	return failed;
}
