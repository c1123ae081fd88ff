# SPDX-License-Identifier: GPL-2.0-only
#
# make demo: the main job in a guest. INTERACTIVE=1 ends in a shell inside.

DEMO_KERNEL ?= 6.12
DEMO_CPUS ?= $(shell n=$$(nproc); echo $$((n < 2 ? 2 : n > 4 ? 4 : n)))

demo:
	@[ "$$(id -u)" -eq 0 ] || { echo "make demo boots a guest on this machine's own kernel" \
		"images and files: run it as root"; exit 1; }
	@echo "demo: the packages"
	@$(MAKE) -s deps
	@echo "demo: the programs and the modules, then a guest"
	@mkdir -p $(BUILD); exec 8>$(BUILD)/.in-use; \
		flock -s -n 8 || { echo "demo: waiting for a make check in this checkout"; flock -s 8; }; \
		exec tests/lab/lab run --kernel $(DEMO_KERNEL) --mesh --drives 4 --drive-size 1G --cpus $(DEMO_CPUS) \
		--mem 3G $(if $(INTERACTIVE),--timeout 86400 --tty --stdin env INTERACTIVE=1,--timeout 3600) \
		$(CURDIR)/tests/demo/demo
	@echo "demo: passed"

.PHONY: demo
