// SPDX-License-Identifier: GPL-2.0-only
/* Results of the daemon of the cluster store as people read them. */
#include <stdlib.h>
#include <string.h>

#include "userspace/meshctl/meshctl.h"
#include "suite.h"

static char noted[512];

void note_show(const char *text)
{
	snprintf(noted, sizeof(noted), "%s", text);
}

/* The text of a result. @json: with ' for " */
static char *shown(enum verb_result kind, const char *json)
{
	char *text = strdup(json), *out = NULL;
	FILE *real = stdout;
	size_t len;
	json_t *r;

	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	r = json_loads(text, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL(r);
	stdout = open_memstream(&out, &len);
	print_text[kind](r);
	fclose(stdout);
	stdout = real;
	json_decref(r);
	free(text);
	return out;
}

/* The text has each of @parts, in their order. */
static void shows(enum verb_result kind, const char *json, const char *const *parts)
{
	char *text = shown(kind, json), *at = text;

	for (; *parts; parts++) {
		at = at ? strstr(at, *parts) : NULL;
		if (!at)
			fprintf(stderr, "\nno \"%s\" in:\n%s", *parts, text);
		CU_ASSERT_PTR_NOT_NULL(at);
	}
	free(text);
}

#define SHOWS(kind, json, ...)	shows(kind, json, (const char *const []) { __VA_ARGS__, NULL })

static void test_lists(void)
{
	SHOWS(RESULT_MEMBERS, "{'hosts':[{'name':'s1','role':'store','state':'up','rack':'r7','addr':'10.0.0.1'}]}",
	      "HOST", "ROLE", "s1", "store", "up", "r7", "10.0.0.1");
	SHOWS(RESULT_DISKS, "{'drives':[{'host':'s1','path':'/dev/sda','size':1073741824,'state':'unusable','reason':'mounted'}]}",
	      "DISK", "/dev/sda", "1 GiB", "unusable", "mounted");
	SHOWS(RESULT_EXPORTED, "{'drives':[{'uuid':'d0','host':'s1','path':'/dev/nvme0n1','free':5,'state':'in'}]}",
	      "DRIVE", "FREE", "d0", "s1", "in");
	SHOWS(RESULT_EXPORTED, "{'drives':[]}", "meshctl drive export");
	SHOWS(RESULT_TASKS, "{'tasks':[{'uuid':'t','verb':'volume create','about':'data','state':'running','created':0}]}",
	      "TASK", "volume create", "data", "running", "1970-01-01");
	SHOWS(RESULT_EVENTS, "{'events':[{'at':86400000,'host':'s1','what':'fenced','words':'w\\u001b[2J'}]}", "1970-01-02",
	      "fenced", "w\\x1b[2J");
	SHOWS(RESULT_VOLUMES, "{'volumes':[{'name':'data','state':'attached','health':'whole','holder':'g1'}]}", "HOLDER", "g1");
}

static void test_things(void)
{
	SHOWS(RESULT_STATUS, "{'words':'rack7: ok','problems':[]}", "rack7: ok\n");
	SHOWS(RESULT_STATUS, "{'words':'rack7: trouble','problems':[{'grade':'trouble','words':'host s2 is away','todo':'look'},"
	      "{'grade':'note','words':'two','todo':null}]}", "rack7: trouble\n", "trouble", "host s2 is away\n", "type: look\n",
	      "note", "two\n");
	SHOWS(RESULT_TOKEN, "{'token':'meshjoin1/x'}", "meshjoin1/x\n");
	SHOWS(RESULT_CLUSTER, "{'cluster':'rack7','cluster_uuid':'u','host':'s1','role':'store'}", "rack7", "s1, store");
	SHOWS(RESULT_CLUSTER, "{'restarts':true}", "starts again");
	SHOWS(RESULT_TASK, "{'uuid':'t','done':1,'total':4,'step':'zero','args':{'a':1},'reason':'slow'}", "{\"a\":1}",
	      "zero, 25 %", "slow");
	SHOWS(RESULT_ATTACHED, "{'name':'data','here':true,'device':'/dev/mesh0','attached':[{'host':'s1'}]}", "/dev/mesh0\n");
	SHOWS(RESULT_ATTACHED, "{'name':'data','here':false,'attached':[{'host':'g1','device':'/dev/mesh3'}]}",
	      "data: attached on host g1 as /dev/mesh3\n");
	SHOWS(RESULT_ATTACHED, "{'name':'data','here':false}", "not attached ('meshctl volume attach data')");
	SHOWS(RESULT_DRY_RUN, "{'dry_run':true,'exports':[{'host':'s1','path':'/dev/a','state':'exportable'},"
	      "{'host':'s1','path':'/dev/b','state':'exported'}]}", "would export s1:/dev/a\n", "would leave", "s1:/dev/b\n");
	SHOWS(RESULT_VERSION, "{'version':'0.1','host_uuid':'h','cluster_uuid':'u','cluster':'rack7'}", "meshd 0.1", "rack7");
}

static void test_layout(void)
{
	SHOWS(RESULT_LAYOUT, "{'name':'data','size':1073741824,'layout':'mirror:2','version':2,'reason':'member 1: away',"
	      "'hosts':[{'host':'g1','mode':'rw','state':'attached','device':'/dev/mesh0'}],"
	      "'segments':[{'start':0,'length':1073741824,'level':'mirror','groups':1,'columns':2,'parity':0,'strip':null}],"
	      "'groups':[{'index':0,'health':'degraded','epoch':4,'witness':false}],"
	      "'members':[{'index':0,'host':'s1','path':'/dev/a','state':'up'}],"
	      "'kernel':{'members':[{'index':0,'state':'up'}],'groups':[{'segment':0,'group':0,'state':'rebuilding',"
	      "'members':[{'index':0,'role':'joining','behind':4096}]}]}}", "1 GiB", "g1", "/dev/mesh0", "COPIES", "degraded",
	      "needs all copies", "0.0", "rebuilding", "4 KiB", "MEMBER", "/dev/a");
	CU_ASSERT_STRING_EQUAL(noted, "member 1: away");
}

/* Another version of meshd may leave members out, or have others: nothing is printed of these. */
static void test_strange(void)
{
	for (int kind = 0; kind < RESULTS; kind++) {
		CU_ASSERT_PTR_NOT_NULL(print_text[kind]);
		free(shown(kind, "{}"));
		free(shown(kind, "{'hosts':1,'drives':{},'tasks':[1,null,[]],'events':[{}],'problems':[{}],'attached':[{}],"
			   "'groups':[{}],'segments':[{}],'members':[{}],'kernel':{'groups':[{'members':[{'index':7}]}]}}"));
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "lists", test_lists },
		{ "things", test_things },
		{ "a volume", test_layout },
		{ "strange results", test_strange },
		{ NULL, NULL },
	};

	setenv("TZ", "UTC", 1);
	return suite_main("daemon_text", tests);
}
