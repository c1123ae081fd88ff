# SPDX-License-Identifier: GPL-2.0-only
check-lab:
	tests/lab/run-cases --tier check

check-debug: deps
	tests/lab/run-cases --tier debug

lab-selftest:
	tests/lab/selftest

.PHONY: check-lab check-debug lab-selftest
