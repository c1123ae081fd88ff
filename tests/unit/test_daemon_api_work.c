// SPDX-License-Identifier: GPL-2.0-only
/* Verbs about what groups of volumes do in the background: scrub, rejoin, wait; and counters. */
#include "tests/unit/api_rig.h"

#define ID "7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c11"

static u64 skipped;		/* milliseconds that requests believe have passed; not the store */
static __thread bool in_turn;

u64 __real_store_now_ms(void);
u64 __wrap_store_now_ms(void);
void __real_control_turn(struct control *c);
void __wrap_control_turn(struct control *c);

u64 __wrap_store_now_ms(void)
{
	return __real_store_now_ms() + (in_turn ? skipped : 0);
}

void __wrap_control_turn(struct control *c)
{
	in_turn = true;
	__real_control_turn(c);
	in_turn = false;
}

static void begin(void)
{
	api_begin();
	skipped = 0;
	kernel_lacks = false;
	memset(&kernel_work, 0, sizeof(kernel_work));
	D.volumes = (void *)&D;
}

static void end(void)
{
	D.volumes = NULL;
	api_end();
}

static void made(const char *name, const char *layout)
{
	char args[200];

	snprintf(args, sizeof(args), "{'name':'%s','size':33554432,'layout':'%s'}", name, layout);
	does("volume create", args);
}

static void attach(u8 h, const char *name, bool reads)
{
	struct obj_want w = { .host = host_id(h), .volume = volume_id(name), .mode = reads ? PLAN_RO : PLAN_RW,
			      .boot = true };

	rig_put(A, KEY_WANT, &w);
	play_attach(h, &w.volume);
}

static const struct obj_request *request(u8 h, const char *name)
{
	struct muuid v = volume_id(name);
	const struct obj_want *w = want(h, &v);

	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	return &w->request;
}

/* The agent has carried out what is requested; @error: or has not. */
static void answer(u8 h, const char *name, const char *error)
{
	struct muuid v = volume_id(name);
	const struct obj_want *now = want(h, &v);
	struct obj_status s = { .host = host_id(h), .about = v, .subject = OBJ_OF_VOLUME, .at = 1, .state = "attached" };
	struct obj_want w;

	CU_ASSERT_PTR_NOT_NULL_FATAL(now);
	CU_ASSERT(!muuid_null(&now->request.id));
	w = *now;
	s.details = json_pack("{s:{s:s}}", "request", "id", muuid_str(&w.request.id).s);
	if (error)
		json_object_set_new(json_object_get(s.details, "request"), "error", json_string(error));
	rig_put(A, KEY_STATUS, &s);
	json_decref(s.details);
	memset(&w.request, 0, sizeof(w.request));
	rig_put(A, KEY_WANT, &w);
}

static void test_scrub(void)
{
	struct client k;
	struct muuid v, id;

	begin();
	fails("volume scrub", "{'volume':'data'}", "not-found", "no volume 'data'");
	made("data", "mirror:2");
	fails("volume scrub", "{'volume':'data'}", "refused", "is not attached for writing");
	attach(G1, "data", true);
	fails("volume scrub", "{'volume':'data'}", "refused", "is not attached for writing");
	v = volume_id("data");
	play_detach(G1, &v);
	attach(G1, "data", false);
	client_request(&k, "volume scrub", "{'volume':'data','id':'" ID "'}");
	client_waits(&k, 3);
	OK(muuid_parse(ID, &id));
	CU_ASSERT(muuid_equal(&request(G1, "data")->id, &id) && request(G1, "data")->what == OBJ_SCRUB);
	answer(G1, "data", NULL);
	client_ok(&k);
	client_close(&k);
	/* its repeat is answered by what is known, without another request */
	does("volume scrub", "{'volume':'data','id':'" ID "'}");
	CU_ASSERT(muuid_null(&request(G1, "data")->id));
	client_request(&k, "volume scrub", "{'volume':'data','repair':true}");
	client_waits(&k, 3);
	CU_ASSERT_EQUAL(request(G1, "data")->what, OBJ_SCRUB_REPAIR);
	CU_ASSERT(muuid_null(&request(G1, "data")->extent));
	answer(G1, "data", "it is not repaired");
	client_fails(&k, "refused", "volume data: it is not repaired");
	client_request(&k, "volume scrub", "{'volume':'data','stop':true}");
	client_waits(&k, 3);
	CU_ASSERT_EQUAL(request(G1, "data")->what, OBJ_SCRUB_STOP);
	client_close(&k);
	end();
}

static void test_member(void)
{
	const struct obj_volume *o;
	struct muuid v, x;
	struct client k;
	char args[160];

	begin();
	made("data", "mirror:2");
	v = volume_id("data");
	attach(S1, "data", false);
	o = copy_obj(A, &(struct key) { .kind = KEY_VOLUME, .volume = v });
	x = o->record->member[1].extent;
	fails("volume rejoin", "{'volume':'data','member':'2'}", "usage", "members 0 to 1");
	fails("volume rejoin", "{'volume':'data','member':'x'}", "usage", "members 0 to 1");
	fails("volume rejoin", "{'volume':'data','member':'1x'}", "usage", "members 0 to 1");
	client_request(&k, "volume rejoin", "{'volume':'data','member':'1'}");
	client_waits(&k, 3);
	CU_ASSERT(request(S1, "data")->what == OBJ_REJOIN && muuid_equal(&request(S1, "data")->extent, &x));
	answer(S1, "data", NULL);
	client_ok(&k);
	client_close(&k);
	/* by its extent, or its drive; one that fits two is none */
	snprintf(args, sizeof(args), "{'volume':'data','repair':true,'from':'%.8s'}", muuid_str(&x).s);
	client_request(&k, "volume scrub", args);
	client_waits(&k, 3);
	CU_ASSERT(request(S1, "data")->what == OBJ_SCRUB_REPAIR && muuid_equal(&request(S1, "data")->extent, &x));
	answer(S1, "data", NULL);
	client_ok(&k);
	client_close(&k);
	snprintf(args, sizeof(args), "{'volume':'data','member':'%s'}", muuid_str(&o->record->member[1].drive).s);
	client_request(&k, "volume rejoin", args);
	client_waits(&k, 3);
	CU_ASSERT(muuid_equal(&request(S1, "data")->extent, &x));
	client_close(&k);
	does("volume create", "{'name':'one','size':33554432,'layout':'mirror:2','domain':'drive',"
	     "'drives':['s2:/dev/nvme0n1','s2:/dev/nvme1n1']}");
	attach(S1, "one", false);
	fails("volume rejoin", "{'volume':'one','member':'d00211'}", "usage", "members 0 to 1");
	fails("volume rejoin", "{'volume':'data','member':'d00'}", "usage", "members 0 to 1");
	end();
}

/* What may come between the request and its answer. */
static void test_scrub_between(void)
{
	struct client k, second;
	struct muuid v, first;
	struct obj_want w;

	begin();
	made("data", "mirror:2");
	v = volume_id("data");
	attach(G1, "data", false);
	put_alive(G1, false);
	client_request(&k, "volume scrub", "{'volume':'data'}");
	client_waits(&k, 3);
	CU_ASSERT_PTR_NOT_NULL(strstr(k.notes, "host g1 is away"));
	first = request(G1, "data")->id;
	/* A second one waits behind it; one that is given up is not written any more. */
	client_request(&second, "volume scrub", "{'volume':'data','stop':true}");
	client_waits(&second, 3);
	CU_ASSERT(muuid_equal(&request(G1, "data")->id, &first));
	client_close(&second);
	daemon_step();
	client_request(&second, "volume scrub", "{'volume':'data','repair':true}");
	client_waits(&second, 3);
	put_alive(G1, true);
	answer(G1, "data", NULL);
	client_ok(&k);
	client_close(&k);
	client_waits(&second, 3);
	CU_ASSERT_EQUAL(request(G1, "data")->what, OBJ_SCRUB_REPAIR);
	answer(G1, "data", NULL);
	client_ok(&second);
	client_close(&second);
	/* detached meanwhile */
	client_request(&k, "volume scrub", "{'volume':'data'}");
	client_waits(&k, 3);
	play_detach(G1, &v);
	client_fails(&k, "failed", "was detached from host g1 meanwhile");
	/* taken away without an answer */
	attach(G1, "data", false);
	client_request(&k, "volume scrub", "{'volume':'data'}");
	client_waits(&k, 3);
	w = *want(G1, &v);
	memset(&w.request, 0, sizeof(w.request));
	rig_put(A, KEY_WANT, &w);
	client_waits(&k, 3);
	skipped += 4000;
	client_waits(&k, 3);
	skipped += 1000;
	client_fails(&k, "failed", "host g1 does not say what became of it");
	/* fenced: nothing is carried out there */
	w = *want(G1, &v);
	w.fenced = true;
	rig_put(A, KEY_WANT, &w);
	fails("volume scrub", "{'volume':'data'}", "refused", "is not attached for writing");
	end();
}

static bool idle(u8 h, const char *name)
{
	struct muuid v = volume_id(name);

	return !want(h, &v) || muuid_null(&want(h, &v)->request.id);
}

static void test_scrub_all(void)
{
	struct client k;

	begin();
	does("volume scrub", "{'all':true}");
	made("mine", "mirror:2");
	made("there", "mirror:2");
	made("plain", "linear");
	made("free", "mirror:2");
	attach(S1, "mine", false);
	attach(S1, "plain", false);
	attach(G1, "there", false);
	D.scrub_never = true;
	does("volume scrub", "{'timer':true}");
	CU_ASSERT(idle(S1, "mine"));
	D.scrub_never = false;
	client_request(&k, "volume scrub", "{'timer':true}");
	client_waits(&k, 3);
	CU_ASSERT(!idle(S1, "mine") && idle(G1, "there") && idle(S1, "plain"));
	answer(S1, "mine", NULL);
	client_ok(&k);
	client_close(&k);
	D.scrub_never = true;
	client_request(&k, "volume scrub", "{'all':true,'repair':true}");
	client_waits(&k, 3);
	CU_ASSERT(!idle(S1, "mine") && !idle(G1, "there") && idle(S1, "plain"));
	CU_ASSERT(!muuid_equal(&request(S1, "mine")->id, &request(G1, "there")->id));
	CU_ASSERT_EQUAL(request(G1, "there")->what, OBJ_SCRUB_REPAIR);
	answer(G1, "there", "it is not repaired");
	client_waits(&k, 3);
	answer(S1, "mine", NULL);
	client_fails(&k, "failed", "not every volume is scrubbed");
	CU_ASSERT_PTR_NOT_NULL(strstr(k.notes, "volume there: it is not repaired"));
	CU_ASSERT_PTR_NULL(strstr(k.notes, "mine:"));
	D.scrub_never = false;
	end();
}

static void test_wait(void)
{
	struct muuid v;
	struct client k;

	begin();
	fails("volume wait", "{'volume':'data'}", "not-found", "no volume 'data'");
	made("data", "mirror:2");
	fails("volume wait", "{'volume':'data'}", "refused", "is not attached");
	attach(S1, "data", false);
	kernel_work = (struct plan_work) { .health = PLAN_REBUILDING, .behind = 100 };
	client_request(&k, "volume wait", "{'volume':'data'}");
	client_waits(&k, 2);
	CU_ASSERT(k.progress == 1 && k.done == 0 && k.total == 100);
	kernel_work.behind = 40;
	client_waits(&k, 2);
	CU_ASSERT(k.progress == 2 && k.done == 60 && k.total == 100);
	kernel_work = (struct plan_work) { .health = PLAN_WHOLE, .scrubs = true, .scrubbed = 5, .bytes = 9 };
	client_waits(&k, 2);
	CU_ASSERT(k.done == 5 && k.total == 9);
	kernel_work.scrubs = false;
	client_ok(&k);
	client_close(&k);
	/* the kernel does not have it yet; it is deleted */
	kernel_lacks = true;
	client_request(&k, "volume wait", "{'volume':'data'}");
	client_waits(&k, 3);
	kernel_lacks = false;
	client_ok(&k);
	client_close(&k);
	kernel_work.health = PLAN_DEGRADED;
	client_request(&k, "volume wait", "{'volume':'data'}");
	client_waits(&k, 3);
	v = volume_id("data");
	play_detach(S1, &v);
	client_fails(&k, "refused", "is not attached");
	attach(S1, "data", true);
	kernel_work.health = PLAN_WHOLE;
	does("volume wait", "{'volume':'data'}");
	end();
}

static void report(u8 h, const char *name, const char *state, const struct plan_work *w)
{
	struct obj_status s = { .host = host_id(h), .about = volume_id(name), .subject = OBJ_OF_VOLUME, .at = 1,
				.words = "volume data: its members are opened" };
	json_t *work = attach_work_json(w);

	snprintf(s.state, sizeof(s.state), "%s", state);
	if (work)
		s.details = json_pack("{s:o}", "work", work);
	rig_put(A, KEY_STATUS, &s);
	json_decref(s.details);
}

/* By what another host reports. */
static void test_wait_other(void)
{
	struct plan_work w = { .health = PLAN_REBUILDING, .behind = 100 };
	struct client k;
	json_t *r;

	begin();
	made("data", "mirror:2");
	made("plain", "linear");
	kernel_work.health = PLAN_WHOLE;
	attach(G1, "data", false);
	report(G1, "data", "attaching", &w);
	client_request(&k, "volume wait", "{'volume':'data'}");
	client_waits(&k, 3);
	CU_ASSERT_PTR_NOT_NULL(strstr(k.notes, "host g1: volume data: its members are opened"));
	CU_ASSERT_EQUAL(k.progress, 0);
	report(G1, "data", "attached", &(struct plan_work) { .health = PLAN_UNSEEN });
	client_waits(&k, 3);
	report(G1, "data", "attached", &w);
	client_waits(&k, 3);
	CU_ASSERT(k.done == 0 && k.total == 100);
	r = works("volume show", "{'volume':'data'}");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(json_array_get(json_object_get(r, "hosts"), 0),
									   "work"), "behind")), 100);
	json_decref(r);
	w.behind = 10;
	report(G1, "data", "attached", &w);
	client_waits(&k, 3);
	CU_ASSERT(k.done == 90 && k.total == 100);
	/* what was reported last is not what is */
	w = (struct plan_work) { .health = PLAN_WHOLE };
	put_alive(G1, false);
	report(G1, "data", "attached", &w);
	client_waits(&k, 3);
	CU_ASSERT_PTR_NOT_NULL(strstr(k.notes, "host g1 is away"));
	put_alive(G1, true);
	client_ok(&k);
	client_close(&k);
	/* this host reads it, and the one that writes knows */
	attach(S1, "data", true);
	w.health = PLAN_DEGRADED;
	report(G1, "data", "attached", &w);
	client_request(&k, "volume wait", "{'volume':'data'}");
	client_waits(&k, 3);
	D.store_away = true;
	client_waits(&k, 3);
	CU_ASSERT_PTR_NOT_NULL(strstr(k.notes, "store does not answer"));
	D.store_away = false;
	client_close(&k);
	attach(G1, "plain", false);
	does("volume wait", "{'volume':'plain'}");
	end();
}

/* A host is to have it, and does not yet. */
static void test_wait_early(void)
{
	struct obj_want w = { .host = host_id(G1), .mode = PLAN_RW, .boot = true };
	struct client k;

	begin();
	made("data", "mirror:2");
	w.volume = volume_id("data");
	rig_put(A, KEY_WANT, &w);
	client_request(&k, "volume wait", "{'volume':'data'}");
	client_waits(&k, 3);
	w.mode = PLAN_NONE;
	rig_put(A, KEY_WANT, &w);
	client_fails(&k, "refused", "is not attached");
	end();
}

static void test_wait_late(void)
{
	struct client k;

	begin();
	made("data", "mirror:2");
	attach(S1, "data", false);
	kernel_work = (struct plan_work) { .health = PLAN_DEGRADED, .why = "group 0.0: member 1 is out" };
	client_request(&k, "volume wait", "{'volume':'data','timeout':60}");
	skipped += 50000;
	client_waits(&k, 3);
	skipped += 10000;
	client_fails(&k, "failed", "not done after 60 s: group 0.0: member 1 is out");
	end();
}

/* Nothing moves, and a place is unread; the hosts that read are several. */
static void test_wait_stuck(void)
{
	struct client k;

	begin();
	made("data", "mirror:2");
	attach(S1, "data", true);
	attach(G1, "data", true);
	D.host = host_id(G1);
	kernel_work = (struct plan_work) { .health = PLAN_REBUILDING, .behind = 512, .unread_member = 1,
					   .unread_bytes = 512, .unread_at = 4096 };
	client_request(&k, "volume wait", "{'volume':'data'}");
	client_waits(&k, 3);
	CU_ASSERT_EQUAL(k.total, 512);
	skipped += PLAN_STUCK_MS;
	client_fails(&k, "failed", "member 1 lacks 512 bytes at byte 4096 of its data");
	end();
}

static void test_stats(void)
{
	json_t *r;

	begin();
	D.store_away = true;
	r = works("stats", "{}");
	CU_ASSERT(json_is_array(json_object_get(r, "volumes")));
	json_decref(r);
	D.store_away = false;
	end();
}

int main(void)
{
	static const struct rig_test tests[] = {
		{ "scrub", test_scrub },
		{ "members", test_member },
		{ "scrub, and what comes between", test_scrub_between },
		{ "scrub all", test_scrub_all },
		{ "wait", test_wait },
		{ "wait for another host", test_wait_other },
		{ "wait before the attach", test_wait_early },
		{ "wait in vain", test_wait_late },
		{ "wait for what does not come", test_wait_stuck },
		{ "counters", test_stats },
	};

	return rig_main("daemon_api_work", tests, sizeof(tests) / sizeof(tests[0]));
}
