# SPDX-License-Identifier: GPL-2.0-only
"""The parts of tests/lab/lab; README.md beside it draws them."""
