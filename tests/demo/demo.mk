# SPDX-License-Identifier: GPL-2.0-only
#
# make demo: the main job in a guest. INTERACTIVE=1 ends in a shell inside.

DEMO_KERNEL ?= 6.12

demo: deps
	@$(MAKE) -s modules KREL=$$(tests/lint/kernels | tail -n 1)
	@$(MAKE) -s userspace
	@tests/lab/lab run --kernel $(DEMO_KERNEL) --mesh --drives 4 --drive-size 1G --cpus 2 --mem 3G \
		--timeout 3600 $(if $(INTERACTIVE),--tty --stdin env INTERACTIVE=1) \
		$(CURDIR)/tests/demo/demo

.PHONY: demo
