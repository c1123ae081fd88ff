# SPDX-License-Identifier: GPL-2.0-only
# What single unit tests need beside the pure files.

# protect/codec/codec.mk knows the x86 files and their flags; none on other machines.
UNIT_EXTRA_codec := $(CODEC_X86:%.c=$(BUILD)/unit/obj/%.o)
UNIT_LIBS_codec  := $(if $(CODEC_X86),-lisal)

$(BUILD)/unit/test_codec: $(UNIT_EXTRA_codec)
$(foreach f,$(CODEC_X86),$(eval $(BUILD)/unit/obj/$(f:.c=.o): SANITIZE += $(call codec_flags,$(f))))

# A level of its own, before the table of levels.
UNIT_LDFLAGS_prot_level := -Wl,--wrap=prot_level

# meshd's links: threads, sockets and TLS, with the rest of meshd left out.
LINK_SRC  := $(wildcard userspace/meshd/link*.c) userspace/meshd/util.c userspace/machine/line.c
LINK_OBJ  := $(LINK_SRC:%.c=$(BUILD)/unit/obj/%.o)
LINK_TEST := link link_strangers

$(foreach t,$(LINK_TEST),$(eval UNIT_EXTRA_$(t) := $(LINK_OBJ)) \
	$(eval UNIT_LIBS_$(t) := -lgnutls -lpthread) $(eval UNIT_CFLAGS_$(t) := -D_GNU_SOURCE))

# meshd's store, in a file.
STORE_OBJ := $(addprefix $(BUILD)/unit/obj/userspace/meshd/,store.o store_volume.o store_extent.o)
UNIT_EXTRA_store := $(STORE_OBJ)
UNIT_LIBS_store  := -lsqlite3
UNIT_CFLAGS_store := -D_GNU_SOURCE

$(STORE_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE
$(STORE_OBJ): $(wildcard userspace/meshd/*.h)
$(BUILD)/unit/test_store: $(STORE_OBJ)

$(LINK_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE
$(LINK_OBJ): $(wildcard userspace/meshd/*.h)
$(LINK_TEST:%=$(BUILD)/unit/test_%): $(LINK_OBJ)
$(LINK_TEST:%=$(BUILD)/unit/test_%.o): tests/unit/link_rig.h

# Volumes of a daemon, over a kernel that is made up.
VOLUMES_OBJ  = $(patsubst %.c,$(BUILD)/unit/obj/%.o,$(wildcard userspace/daemon/volumes*.c)) \
	$(addprefix $(BUILD)/unit/obj/userspace/,daemon/job.o daemon/file.o libmesh/grow.o agent/copy.o agent/deal.o \
	agent/event.o plan/health.o)
VOLUMES_TEST := daemon_volumes daemon_volumes_end daemon_volumes_evict daemon_volumes_work daemon_watch

$(foreach t,$(VOLUMES_TEST),$(eval UNIT_EXTRA_$(t) = $$(sort $$(VOLUMES_OBJ) $$(CLUSTER_OBJ))) \
	$(eval UNIT_LIBS_$(t) := -lsqlite3 -lpthread) $(eval UNIT_CFLAGS_$(t) := -D_GNU_SOURCE))

# Files of meshd, which include it.
$(BUILD)/unit/test_detach.o: userspace/meshd/attach.c $(wildcard userspace/meshd/*.h)


RIG_TEST := volume orphan delete extents import replace pending

$(foreach t,$(RIG_TEST),$(eval UNIT_EXTRA_$(t) := $(STORE_OBJ)) \
	$(eval UNIT_LIBS_$(t) := -lsqlite3) $(eval UNIT_CFLAGS_$(t) := -D_GNU_SOURCE))
$(RIG_TEST:%=$(BUILD)/unit/test_%): $(STORE_OBJ)
$(RIG_TEST:%=$(BUILD)/unit/test_%.o): tests/unit/volume_rig.h $(wildcard userspace/meshd/*.h) \
	$(addprefix userspace/meshd/,bring.c change.c choose.c delete.c extents.c gather.c import.c orphan.c \
	replace.c volume.c)

# The queue pair code, over verbs of its own.
UNIT_CFLAGS_qp := -Itests/unit/verbs -Wno-unused-parameter
$(BUILD)/unit/test_qp.o: rdda/common/qp.c $(wildcard rdda/common/*.h tests/unit/verbs/rdma/*.h)

# libmesh, over the kernel's generic netlink.
GENL_OBJ := $(addprefix $(BUILD)/unit/obj/userspace/libmesh/,genl.o client.o access.o target.o secret.o grow.o)
UNIT_EXTRA_genl := $(GENL_OBJ)
UNIT_LIBS_genl  := -lnl-genl-3 -lnl-3 -lkeyutils -lpthread
UNIT_CFLAGS_genl := -I/usr/include/libnl3 -D_GNU_SOURCE

# The same without a kernel.
UNIT_LIBS_again  := -lnl-genl-3 -lnl-3
UNIT_CFLAGS_again := -I/usr/include/libnl3
UNIT_LIBS_numbered := -lnl-genl-3 -lnl-3 -lpthread
UNIT_CFLAGS_numbered := -I/usr/include/libnl3 -D_GNU_SOURCE
$(BUILD)/unit/test_again.o $(BUILD)/unit/test_numbered.o: $(wildcard userspace/libmesh/*.[ch])

$(GENL_OBJ): UNIT_CFLAGS += -I/usr/include/libnl3 -D_GNU_SOURCE
$(GENL_OBJ): $(wildcard userspace/libmesh/*.h)
$(BUILD)/unit/test_genl: $(GENL_OBJ)
$(BUILD)/unit/test_genl.o: userspace/libmesh/serve.c

# A search of a minute of a model, under sanitizers: it has no memory of its own, and test_truth
# tries the same decisions under them. Of the layouts' file it uses what has no bytes.
TRUTH_SRC := $(addprefix userspace/format/,truth.c uuid.c layout.c)
$(BUILD)/unit/test_truth_replace: tests/unit/test_truth_replace.c $(TRUTH_SRC) $(PURE_HDR) \
		tests/unit/replace_world.h tests/unit/replace_hosts.h
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -O2 -ffunction-sections -Wl,--gc-sections -o $@ $(filter %.c,$^) -lcunit -lxxhash

# Decisions of the cluster with rules that can be taken out, in a world of objects with revisions.
PLAN_SRC := $(wildcard userspace/plan/*.c) tests/unit/task_world.c
PLAN_OBJ := $(PLAN_SRC:%.c=$(BUILD)/unit/plan/%.o)
UNIT_EXTRA_plan_task  := $(PLAN_OBJ)
UNIT_CFLAGS_plan_task := -DPLAN_MUTANTS
UNIT_EXTRA_plan_rules  := $(PLAN_OBJ)
UNIT_CFLAGS_plan_rules := -DPLAN_MUTANTS

$(BUILD)/unit/plan/%.o: %.c $(PURE_HDR) $(wildcard userspace/plan/*.h tests/unit/task_world.h)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) $(SANITIZE) -DPLAN_MUTANTS -c -o $@ $<

$(BUILD)/unit/test_plan_task $(BUILD)/unit/test_plan_rules: $(PLAN_OBJ)
$(BUILD)/unit/test_plan_task.o $(BUILD)/unit/test_plan_rules.o: tests/unit/task_world.h $(wildcard userspace/plan/*.h)

# The cluster store: its SQLite engine, with faults of the disk.
CLUSTER_OBJ  := $(addprefix $(BUILD)/unit/obj/userspace/store/,$(notdir $(patsubst %.c,%.o,\
	$(wildcard userspace/store/s[qt]*.c))) key.o page.o settle.o)
CLUSTER_TEST := store_key store_sqlite store_sqlite_file

$(foreach t,$(CLUSTER_TEST),$(eval UNIT_EXTRA_$(t) := $(CLUSTER_OBJ)) \
	$(eval UNIT_LIBS_$(t) := -lsqlite3 -lpthread) $(eval UNIT_CFLAGS_$(t) := -D_GNU_SOURCE))
# Allocations of the engine fail in turn; those of SQLite do by its own table.
UNIT_LDFLAGS_store_sqlite_file := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

$(CLUSTER_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE
$(CLUSTER_OBJ): $(wildcard userspace/store/*.h)
$(CLUSTER_TEST:%=$(BUILD)/unit/test_%): $(CLUSTER_OBJ)
$(CLUSTER_TEST:%=$(BUILD)/unit/test_%.o): $(wildcard userspace/store/*.h tests/unit/store_suite*.h) \
	tests/unit/sqlite_rig.h

# Keys, tokens and rights of the cluster store: pure files and the TLS library.
RIGHTS_OBJ  := $(addprefix $(BUILD)/unit/obj/userspace/store/,address.o rights.o rights_rules.o secret.o token.o)
RIGHTS_TEST := store_rights store_rights_drives store_rights_values store_secret

$(foreach t,$(RIGHTS_TEST),$(eval UNIT_EXTRA_$(t) := $(RIGHTS_OBJ)) \
	$(eval UNIT_LIBS_$(t) := -lgnutls) $(eval UNIT_CFLAGS_$(t) := -D_GNU_SOURCE))

$(RIGHTS_TEST:%=$(BUILD)/unit/test_%): $(RIGHTS_OBJ)
$(RIGHTS_TEST:%=$(BUILD)/unit/test_%.o): $(wildcard userspace/store/*.h userspace/plan/*.h)

# Proofs of a login, with the keys that the cluster store hands out.
UNIT_EXTRA_login  := $(RIGHTS_OBJ)
UNIT_LIBS_login   := -lgnutls
UNIT_CFLAGS_login := -Itests/unit/verbs -D_GNU_SOURCE
$(BUILD)/unit/test_login: $(RIGHTS_OBJ)
$(BUILD)/unit/test_login.o: rdda/common/auth.c $(wildcard rdda/common/*.h userspace/store/*.h \
	userspace/plan/*.h tests/unit/verbs/*/*.h)


# The cluster store's etcd engine; userspace/store/etcd.mk makes its messages.
ETCD_OBJ  := $(patsubst %.c,$(BUILD)/unit/obj/%.o,$(ETCD_SRC) \
	$(addprefix userspace/store/,key.c page.c settle.c store.c)) $(BUILD)/unit/obj/etcd.pb-c.o
ETCD_TEST := etcd etcd_cluster etcd_fake etcd_faults etcd_grpc etcd_tls etcd_unit

$(foreach t,$(ETCD_TEST),$(eval UNIT_EXTRA_$(t) := $(ETCD_OBJ)) \
	$(eval UNIT_LIBS_$(t) := -lcurl -lprotobuf-c -lgnutls -lpthread) \
	$(eval UNIT_CFLAGS_$(t) := -D_GNU_SOURCE -I$(GEN)))

$(BUILD)/unit/obj/etcd.pb-c.o: $(ETCD_GEN)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) $(SANITIZE) -I$(GEN) -c -o $@ $(ETCD_GEN)

$(ETCD_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE -I$(GEN)
$(ETCD_OBJ): $(wildcard userspace/store/*.h) $(ETCD_GEN)
$(ETCD_TEST:%=$(BUILD)/unit/test_%): $(ETCD_OBJ)
$(ETCD_TEST:%=$(BUILD)/unit/test_%.o): $(wildcard userspace/store/*.h tests/unit/store_suite*.h) \
	tests/unit/etcd_rig.h tests/unit/etcd_fake.h tests/unit/etcd_pki.h tests/unit/etcd_proxy.h $(ETCD_GEN)

# The link to the cluster store, over SQLite's engine; test_etcd_link: over etcd's.
LINKED_OBJ  := $(patsubst %.c,$(BUILD)/unit/obj/%.o,$(filter-out $(ETCD_SRC),$(wildcard userspace/store/*.c)))
LINKED_TEST := store_link store_link_faults store_link_suite store_wire

$(foreach t,$(LINKED_TEST),$(eval UNIT_EXTRA_$(t) := $(LINKED_OBJ)) \
	$(eval UNIT_LIBS_$(t) := -lgnutls -lsqlite3 -lpthread) $(eval UNIT_CFLAGS_$(t) := -D_GNU_SOURCE))

$(LINKED_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE
$(LINKED_OBJ): $(wildcard userspace/store/*.h userspace/plan/*.h)
$(LINKED_TEST:%=$(BUILD)/unit/test_%): $(LINKED_OBJ)
$(LINKED_TEST:%=$(BUILD)/unit/test_%.o): $(wildcard userspace/store/*.h tests/unit/store_suite*.h) \
	tests/unit/store_link_rig.h

$(VOLUMES_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE
$(VOLUMES_OBJ): $(wildcard userspace/daemon/*.h userspace/agent/*.h userspace/libmesh/*.h userspace/store/*.h)
$(VOLUMES_TEST:%=$(BUILD)/unit/test_%): $(VOLUMES_OBJ) $(CLUSTER_OBJ)
$(VOLUMES_TEST:%=$(BUILD)/unit/test_%.o): tests/unit/kernel_rig.h tests/unit/agent_rig.h \
	$(wildcard userspace/daemon/*.h userspace/agent/*.h)

# What a daemon does with the store's objects, over a store in a file.
AGENT_OBJ  := $(patsubst %.c,$(BUILD)/unit/obj/%.o,$(wildcard userspace/agent/*.c))
AGENT_PLAN := $(patsubst %.c,$(BUILD)/unit/obj/%.o,$(wildcard userspace/plan/*.c))
AGENT_TEST := $(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_agent_*.c)) export_judge

$(foreach t,$(AGENT_TEST),$(eval UNIT_EXTRA_$(t) := $(AGENT_OBJ) $(CLUSTER_OBJ) $(AGENT_PLAN)) \
	$(eval UNIT_LIBS_$(t) := -lsqlite3 -lpthread) $(eval UNIT_CFLAGS_$(t) := -D_GNU_SOURCE))

# A store that does not answer; hosts that die.
$(foreach t,agent_host agent_host_keys,$(eval UNIT_LDFLAGS_$(t) := -Wl,--wrap=store_identity,--wrap=store_txn_settle))
UNIT_LDFLAGS_agent_export := -Wl,--wrap=store_txn_settle
UNIT_LDFLAGS_agent_leave := -Wl,--wrap=store_txn_settle
UNIT_LDFLAGS_agent_event := -Wl,--wrap=store_txn_settle
$(foreach t,agent_recover agent_recover_believe,$(eval UNIT_LDFLAGS_$(t) := -Wl,--wrap=store_txn_settle))

# Their transactions are judged as by a store host.
JUDGED_TEST := agent_export agent_leave agent_host agent_host_keys agent_recover agent_recover_believe
$(foreach t,$(JUDGED_TEST),$(eval UNIT_EXTRA_$(t) += $(RIGHTS_OBJ)) $(eval UNIT_LIBS_$(t) += -lgnutls))
$(JUDGED_TEST:%=$(BUILD)/unit/test_%): $(RIGHTS_OBJ)
$(JUDGED_TEST:%=$(BUILD)/unit/test_%.o): tests/unit/agent_rights.h tests/unit/host_rig.h tests/unit/recover_rig.h

# Agents die in any transaction; a list of objects is not read.
ATTACH_TEST := $(filter agent_attach%,$(AGENT_TEST))
ATTACH_OBJ  := $(addprefix $(BUILD)/unit/obj/userspace/store/,rights.o rights_rules.o)
$(foreach t,$(ATTACH_TEST),$(eval UNIT_LDFLAGS_$(t) := -Wl,--wrap=store_txn_settle,--wrap=store_watch,--wrap=store_identity,--wrap=copy_revision) \
	$(eval UNIT_EXTRA_$(t) += $(ATTACH_OBJ)))
$(ATTACH_TEST:%=$(BUILD)/unit/test_%): $(ATTACH_OBJ)
$(ATTACH_TEST:%=$(BUILD)/unit/test_%.o): tests/unit/attach_rig.h tests/unit/attach_kernel.h

$(AGENT_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE
$(AGENT_OBJ): $(wildcard userspace/agent/*.h userspace/plan/*.h userspace/store/*.h)
$(AGENT_TEST:%=$(BUILD)/unit/test_%): $(AGENT_OBJ) $(CLUSTER_OBJ) $(AGENT_PLAN)
$(AGENT_TEST:%=$(BUILD)/unit/test_%.o): tests/unit/agent_rig.h tests/unit/export_rig.h tests/unit/tasks_rig.h $(wildcard userspace/agent/*.h userspace/plan/*.h userspace/store/*.h)

UNIT_EXTRA_etcd_link  := $(sort $(LINKED_OBJ) $(ETCD_OBJ))
UNIT_LIBS_etcd_link   := -lgnutls -lsqlite3 -lcurl -lprotobuf-c -lpthread
UNIT_CFLAGS_etcd_link := -D_GNU_SOURCE -I$(GEN)
$(BUILD)/unit/test_etcd_link: $(LINKED_OBJ) $(ETCD_OBJ)
$(BUILD)/unit/test_etcd_link.o: $(wildcard userspace/store/*.h userspace/plan/*.h tests/unit/store_suite*.h) \
	tests/unit/store_link_rig.h tests/unit/etcd_rig.h $(ETCD_GEN)

# The daemon of the cluster store: its machine, without a kernel.
DAEMON_JOB := $(BUILD)/unit/obj/userspace/daemon/job.o
UNIT_EXTRA_daemon_job  := $(DAEMON_JOB)
UNIT_LIBS_daemon_job   := -lpthread
UNIT_CFLAGS_daemon_job := -D_GNU_SOURCE

$(DAEMON_JOB): UNIT_CFLAGS += -D_GNU_SOURCE
$(DAEMON_JOB): $(wildcard userspace/daemon/*.h)
$(BUILD)/unit/test_daemon_job: $(DAEMON_JOB)
$(BUILD)/unit/test_daemon_job.o: userspace/daemon/job.h

# The program that is run at events.
HOOK_OBJ := $(DAEMON_JOB)
UNIT_EXTRA_daemon_hook  := $(HOOK_OBJ)
UNIT_LIBS_daemon_hook   := -lpthread
UNIT_CFLAGS_daemon_hook := -D_GNU_SOURCE
UNIT_LDFLAGS_daemon_hook := -Wl,--wrap=pthread_create
$(BUILD)/unit/test_daemon_hook: $(HOOK_OBJ)
$(BUILD)/unit/test_daemon_hook.o: userspace/daemon/hook.c $(wildcard userspace/daemon/*.h)

$(BUILD)/unit/test_machine_rdma.o: $(wildcard userspace/machine/*.[ch])

# The way to a host, over a kernel of the test.
UNIT_CFLAGS_daemon_check := -D_GNU_SOURCE
$(BUILD)/unit/test_daemon_check.o: userspace/daemon/host_check.c $(wildcard userspace/daemon/*.h userspace/libmesh/*.h)

GRANT_OBJ := $(BUILD)/unit/obj/userspace/plan/grant.o
UNIT_EXTRA_plan_grant := $(GRANT_OBJ)
$(GRANT_OBJ) $(BUILD)/unit/test_plan_grant.o: userspace/plan/grant.h
$(BUILD)/unit/test_plan_grant: $(GRANT_OBJ)

HEALTH_OBJ := $(BUILD)/unit/obj/userspace/plan/health.o
UNIT_EXTRA_plan_health := $(HEALTH_OBJ)
$(HEALTH_OBJ) $(BUILD)/unit/test_plan_health.o: userspace/plan/health.h
$(BUILD)/unit/test_plan_health: $(HEALTH_OBJ)

EVICTION_OBJ := $(BUILD)/unit/obj/userspace/plan/evict.o
UNIT_EXTRA_plan_evict := $(EVICTION_OBJ)
$(EVICTION_OBJ) $(BUILD)/unit/test_plan_evict.o: userspace/plan/evict.h
$(BUILD)/unit/test_plan_evict: $(EVICTION_OBJ)

# Where a test build dies.
DAEMON_CRASH := $(BUILD)/unit/obj/userspace/machine/line.o
UNIT_EXTRA_daemon_crash  := $(DAEMON_CRASH)
UNIT_LIBS_daemon_crash   := -lpthread
UNIT_CFLAGS_daemon_crash := -D_GNU_SOURCE
$(DAEMON_CRASH): UNIT_CFLAGS += -D_GNU_SOURCE
$(BUILD)/unit/test_daemon_crash: $(DAEMON_CRASH)
$(BUILD)/unit/test_daemon_crash.o: userspace/daemon/crash.c userspace/daemon/crash.h userspace/agent/deal.h

# The daemon: its configuration and its membership of a cluster, without a kernel.
DAEMON_OBJ = $(addprefix $(BUILD)/unit/obj/userspace/daemon/,$(1:%=%.o))
DAEMON_CONF_OBJ    := $(call DAEMON_OBJ,conf file) $(BUILD)/unit/obj/userspace/store/address.o
DAEMON_CLUSTER_OBJ := $(call DAEMON_OBJ,cluster cluster_admit cluster_file cluster_names cluster_removed file)

UNIT_EXTRA_daemon_conf  := $(DAEMON_CONF_OBJ)
UNIT_CFLAGS_daemon_conf := -D_GNU_SOURCE
UNIT_EXTRA_daemon_cluster  := $(sort $(DAEMON_CLUSTER_OBJ) $(LINKED_OBJ) $(ETCD_OBJ) $(addprefix \
	$(BUILD)/unit/obj/userspace/agent/,copy.o deal.o host.o) $(AGENT_PLAN))
UNIT_LIBS_daemon_cluster   := -lgnutls -lsqlite3 -lcurl -lprotobuf-c -lpthread
UNIT_CFLAGS_daemon_cluster := -D_GNU_SOURCE

$(DAEMON_CONF_OBJ) $(DAEMON_CLUSTER_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE
$(DAEMON_CONF_OBJ) $(DAEMON_CLUSTER_OBJ): $(wildcard userspace/daemon/*.h userspace/store/*.h)
$(BUILD)/unit/test_daemon_conf: $(DAEMON_CONF_OBJ)
$(BUILD)/unit/test_daemon_cluster: $(UNIT_EXTRA_daemon_cluster)
$(BUILD)/unit/test_daemon_cluster.o: tests/unit/daemon_cluster_rig.h $(wildcard userspace/daemon/*.h userspace/store/*.h)

# ... its loop and the kernel's modules, over agents and a kernel of the test
DAEMON_LOOP_OBJ   := $(call DAEMON_OBJ,loop)
DAEMON_KERNEL_OBJ := $(call DAEMON_OBJ,kernel)
UNIT_EXTRA_daemon_loop    := $(DAEMON_LOOP_OBJ)
UNIT_EXTRA_daemon_kernel  := $(DAEMON_KERNEL_OBJ)
UNIT_LIBS_daemon_loop     := -lsystemd
UNIT_CFLAGS_daemon_loop   := -D_GNU_SOURCE
UNIT_CFLAGS_daemon_kernel := -D_GNU_SOURCE

$(DAEMON_LOOP_OBJ) $(DAEMON_KERNEL_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE
$(DAEMON_LOOP_OBJ) $(DAEMON_KERNEL_OBJ): $(wildcard userspace/daemon/*.h userspace/agent/*.h)
$(BUILD)/unit/test_daemon_loop: $(DAEMON_LOOP_OBJ)
$(BUILD)/unit/test_daemon_kernel: $(DAEMON_KERNEL_OBJ)
$(BUILD)/unit/test_daemon_loop.o $(BUILD)/unit/test_daemon_kernel.o: $(wildcard userspace/daemon/*.h userspace/agent/*.h)

# This machine for the daemon: IDs, names and interfaces are the test's.
DAEMON_MACHINE := $(addprefix $(BUILD)/unit/obj/userspace/daemon/,machine.o machine_home.o machine_net.o file.o) $(DAEMON_JOB)
UNIT_EXTRA_daemon_machine   := $(DAEMON_MACHINE)
UNIT_LIBS_daemon_machine    := -lpthread
UNIT_CFLAGS_daemon_machine  := -D_GNU_SOURCE
UNIT_LDFLAGS_daemon_machine := -Wl,--wrap=sd_id128_get_machine_app_specific,--wrap=getifaddrs,--wrap=freeifaddrs,--wrap=gethostname

$(DAEMON_MACHINE): UNIT_CFLAGS += -D_GNU_SOURCE
$(DAEMON_MACHINE): $(wildcard userspace/daemon/*.h userspace/agent/*.h)
$(BUILD)/unit/test_daemon_machine: $(DAEMON_MACHINE)
$(BUILD)/unit/test_daemon_machine.o: $(wildcard userspace/daemon/*.h userspace/agent/*.h)

# Verbs and the control socket of the daemon, over a store in a file.
API_OBJ  := $(patsubst %.c,$(BUILD)/unit/obj/%.o,$(wildcard userspace/daemon/api*.c) \
	$(addprefix userspace/daemon/,control.c job.c) userspace/format/verbs_one.c userspace/store/token.c \
	userspace/store/address.c userspace/store/secret.c)
API_TEST := daemon_api daemon_api_drives daemon_api_lists daemon_api_seen daemon_api_work daemon_control daemon_verbs

$(foreach t,$(API_TEST),$(eval UNIT_EXTRA_$(t) := $(API_OBJ) $(AGENT_OBJ) $(CLUSTER_OBJ) $(AGENT_PLAN)) \
	$(eval UNIT_LIBS_$(t) := -lsystemd -lsqlite3 -lgnutls -lpthread) $(eval UNIT_CFLAGS_$(t) := -D_GNU_SOURCE))

# ... what waits for long, without the time
UNIT_LDFLAGS_daemon_api_work := -Wl,--wrap=store_now_ms,--wrap=control_turn

$(API_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE
$(API_OBJ): $(wildcard userspace/daemon/*.h userspace/agent/*.h userspace/plan/*.h userspace/store/*.h)
$(API_TEST:%=$(BUILD)/unit/test_%): $(API_OBJ) $(AGENT_OBJ) $(CLUSTER_OBJ) $(AGENT_PLAN)
$(API_TEST:%=$(BUILD)/unit/test_%.o): tests/unit/api_rig.h tests/unit/agent_rig.h \
	$(wildcard userspace/daemon/*.h userspace/agent/*.h userspace/plan/*.h userspace/store/*.h)

# Drives of a machine that are files, under a kernel that the test is.
DISK_OBJ := $(patsubst %.c,$(BUILD)/unit/obj/%.o,$(filter-out userspace/daemon/disk_dev.c,\
	$(wildcard userspace/daemon/disk*.c)) userspace/libmesh/grow.c $(addprefix userspace/machine/,below.c \
	label_io.c line.c))
DISK_TEST := daemon_disk daemon_drives daemon_leave daemon_devices
DISK_ALL  := $(sort $(DISK_OBJ) $(DAEMON_JOB) $(AGENT_OBJ) $(CLUSTER_OBJ) $(AGENT_PLAN))

$(foreach t,$(DISK_TEST),$(eval UNIT_EXTRA_$(t) := $(DISK_ALL)) \
	$(eval UNIT_LIBS_$(t) := -lsqlite3 -lblkid -lpthread) $(eval UNIT_CFLAGS_$(t) := -D_GNU_SOURCE) \
	$(eval UNIT_LDFLAGS_$(t) := -Wl,--wrap=pwrite,--wrap=close))

UNIT_LDFLAGS_daemon_drives += -Wl,--wrap=disk_paths,--wrap=disk_stacked,--wrap=job_run,--wrap=job_since,--wrap=copy_whole
UNIT_LDFLAGS_daemon_devices += -Wl,--wrap=disk_paths,--wrap=disk_now

$(DISK_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE
$(DISK_OBJ): $(wildcard userspace/daemon/*.h userspace/agent/*.h userspace/plan/*.h userspace/store/*.h userspace/libmesh/mesh.h)
$(DISK_TEST:%=$(BUILD)/unit/test_%): $(DISK_ALL)
$(DISK_TEST:%=$(BUILD)/unit/test_%.o): tests/unit/agent_rig.h tests/unit/disk_rig.h tests/unit/disk_kernel.h tests/unit/drives_rig.h \
	$(wildcard userspace/daemon/*.h userspace/agent/*.h)

# Results of the daemon as meshctl prints them.
TEXT_OBJ := $(addprefix $(BUILD)/unit/obj/userspace/meshctl/,text.o text_one.o table.o)
UNIT_EXTRA_daemon_text  := $(TEXT_OBJ)
UNIT_CFLAGS_daemon_text := -D_GNU_SOURCE
$(TEXT_OBJ): UNIT_CFLAGS += -D_GNU_SOURCE
$(TEXT_OBJ): $(wildcard userspace/meshctl/*.h)
$(BUILD)/unit/test_daemon_text: $(TEXT_OBJ)
