# SPDX-License-Identifier: GPL-2.0-only
#
#   make sim [SEEDS=N] [FIRST=S]   N random schedules from seed S on, all cores
#   make sim SEED=S                one, minimised if it fails (TRACE=1: each I/O)
#                                  LEVEL=mirror (else), or ec; LBA=512 (else), or 4096
#   make sim-volume [SEEDS=N]      volumes of several groups (or SEED=S)
#   make sim-mutants               rules taken out one by one: each must be caught
#   make sim-exhaustive [SIM_SECONDS=N]   every schedule at small bounds, for N seconds
#   make sim-cluster [TIER=long]   the cluster store: every order of two hosts' steps (cluster/)
#   make check-sim                 what `make check` runs of these

SEEDS       ?= 100000
FIRST       ?= 0
MUTANT_SEEDS ?= 100000
SIM_SECONDS  ?= 3600
SIM_PURE    := $(filter-out protect/roster/% %/geometry.c %/codec_select.c,$(filter protect/%,$(pure-protect:%.o=%.c)))
SIM_SEARCH  := $(BUILD)/sim/sim-search $(addprefix $(BUILD)/sim/sim-search-ec,3 4 5)
SIM_FILES   := $(SIM_PURE) $(addprefix tests/sim/,world.c action.c check.c oracle.c stage.c bypass.c aside.c)
SIM_MAIN    := $(addprefix tests/sim/,main.c mutants.c story.c guard.c)
SIM_VOLUME  := $(addprefix tests/sim/,volume.c guard.c)
SIM_ROSTER  := $(addprefix tests/sim/,roster.c roster_steps.c roster_ro.c roster_evict.c)
SIM_ROSTER  += protect/roster/roster.c protect/roster/membership.c
SIM_CLUSTER := $(wildcard tests/sim/cluster/*.c userspace/plan/*.c) userspace/format/uuid.c
SIM_RSTORE  := $(wildcard tests/sim/roster_store*.c userspace/plan/*.c) userspace/format/uuid.c
SIM_RSTORE  += protect/mutant.c protect/roster/roster.c protect/roster/membership.c
SIM_HDR     := $(wildcard driver/uapi/*.h protect/*.h protect/*/*.h tests/sim/*.h userspace/shim/*/*.h)
SIM_CFLAGS  := -std=gnu11 -g -O2 -Wall -Wextra -Werror -DPROT_MUTANTS -Iuserspace/shim -I.

$(BUILD)/sim/sim: $(SIM_MAIN) $(SIM_FILES) $(SIM_HDR)
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) -o $@ $(SIM_MAIN) $(SIM_FILES) -lxxhash

$(BUILD)/sim/sim-4k: $(SIM_MAIN) $(SIM_FILES) $(SIM_HDR)
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) -DSIM_LBA=4096 -o $@ $(SIM_MAIN) $(SIM_FILES) -lxxhash

$(BUILD)/sim/sim-asan: $(SIM_MAIN) $(SIM_FILES) $(SIM_HDR)
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) $(SANITIZE) -o $@ $(SIM_MAIN) $(SIM_FILES) -lxxhash

$(BUILD)/sim/sim-volume: $(SIM_VOLUME) $(SIM_FILES) $(SIM_HDR)
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) -DSIM_VOLUME -o $@ $(SIM_VOLUME) $(SIM_FILES) -lxxhash

$(BUILD)/sim/sim-search: tests/sim/search.c $(SIM_FILES) $(SIM_HDR)
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) -DSIM_SMALL -o $@ tests/sim/search.c $(SIM_FILES) -lxxhash

# Worlds are copied all the time, so each width has its own size.
$(BUILD)/sim/sim-search-ec%: tests/sim/search.c $(SIM_FILES) $(SIM_HDR)
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) -DSIM_SMALL_EC -DSIM_WIDTH=$* -o $@ tests/sim/search.c $(SIM_FILES) -lxxhash

$(BUILD)/sim/sim-roster: $(SIM_ROSTER) $(SIM_HDR)
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) -o $@ $(SIM_ROSTER) -lxxhash

# Decisions of the cluster with rules that can be taken out.
$(BUILD)/sim/sim-cluster: $(SIM_CLUSTER) $(wildcard tests/sim/cluster/*.h userspace/plan/*.h \
		userspace/format/uuid.h driver/uapi/number.h userspace/shim/*/*.h)
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) -DPLAN_MUTANTS -o $@ $(SIM_CLUSTER) -lxxhash

$(BUILD)/sim/sim-roster-store: $(SIM_RSTORE) $(SIM_HDR) $(wildcard userspace/plan/*.h)
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) -DPLAN_MUTANTS -o $@ $(SIM_RSTORE) -lxxhash

sim: $(BUILD)/sim/sim$(if $(filter 4096,$(LBA)),-4k)
	@SIM_LEVEL=$(LEVEL) $(if $(SEED),$(if $(TRACE),SIM_TRACE=1) $< seed $(SEED),$< random $(SEEDS) $(FIRST))

sim-volume: $(BUILD)/sim/sim-volume
	@$(if $(SEED),$< seed $(SEED),$< random $(SEEDS) $(FIRST))

sim-mutants: $(BUILD)/sim/sim
	@$< mutants $(MUTANT_SEEDS)

sim-exhaustive: $(SIM_SEARCH)
	@SIM_SECONDS=$(SIM_SECONDS) tests/sim/exhaustive long $<

sim-cluster: $(BUILD)/sim/sim-cluster
	@$< $(if $(TIER),$(TIER),check)

check-sim: $(BUILD)/sim/sim-volume $(addprefix $(BUILD)/sim/,sim sim-4k sim-asan sim-roster sim-roster-store sim-cluster) $(SIM_SEARCH)
	@tests/sim/check $(if $(TIER),$(TIER),check) $(BUILD)/sim

.PHONY: sim sim-cluster sim-volume sim-mutants sim-exhaustive check-sim
