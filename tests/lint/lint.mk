# SPDX-License-Identifier: GPL-2.0-only
#
# make lint: layer rules, kernel style, static checks. Each part is one line in
# the output; the last line counts them.

lint:
	@tests/lint/lint $(LINT_ONLY)

.PHONY: lint
