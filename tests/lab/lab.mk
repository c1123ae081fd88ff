# SPDX-License-Identifier: GPL-2.0-only
check-lab:
	tests/lab/run-cases --lane check

check-debug: deps
	tests/lab/run-cases --lane debug

lab-selftest:
	tests/lab/selftest

.PHONY: check-lab check-debug lab-selftest
