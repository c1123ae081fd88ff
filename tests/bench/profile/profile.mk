# SPDX-License-Identifier: GPL-2.0-only
#
# make profile: instructions a request of Meshblk, nvme-rdma and what they run on
# (README.md beside this). PROFILE_AGAINST=FOLDER compares with an earlier run.

PROFILE_ARGS	?=
PROFILE_OUT	?= $(BUILD)/bench/profile
PROFILE_REPORT	?= $(if $(PROFILE_AGAINST),--against $(PROFILE_AGAINST),--functions 12)

PROFILE_SO	:= $(BUILD)/bench/profile.so
PROFILE_WINDOW	:= $(BUILD)/bench/window

$(PROFILE_SO): tests/bench/profile/plugin.c tests/bench/profile/plugin.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -g -O2 -Wall -Wextra -Werror -fvisibility=hidden -shared -fPIC -o $@ $<

$(PROFILE_WINDOW): tests/bench/profile/window.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -g -O2 -Wall -Wextra -Werror -o $@ $<

PROFILE_LAB	:= tests/lab/lab run --kernel 6.12 --icount --cpus 1 --mem 4G --timeout 3000 \
		   --plugin $(PROFILE_SO),rules=$(TOP)/tests/bench/profile/rules

profile: deps $(PROFILE_SO) $(PROFILE_WINDOW)
	$(PROFILE_LAB) --results $(PROFILE_OUT) \
		tests/bench/profile/measure $(PROFILE_WINDOW) $(PROFILE_ARGS)
	tests/bench/profile/report $(PROFILE_OUT) $(PROFILE_REPORT)

# the target's share of it, with few clients and with many
SESSIONS_OUT	?= $(BUILD)/bench/sessions
SESSIONS_ARGS	?=

profile-sessions: deps $(PROFILE_SO) $(PROFILE_WINDOW)
	$(PROFILE_LAB) --results $(SESSIONS_OUT) \
		tests/bench/profile/sessions $(PROFILE_WINDOW) $(SESSIONS_ARGS)
	tests/bench/profile/report $(SESSIONS_OUT) $(PROFILE_REPORT) --owner target

.PHONY: profile profile-sessions
