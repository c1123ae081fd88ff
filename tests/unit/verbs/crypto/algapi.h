/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_UNIT_ALGAPI_H
#define TESTS_UNIT_ALGAPI_H

#include <gnutls/gnutls.h>
#include <string.h>

#define crypto_memneq(a, b, n)		gnutls_memcmp(a, b, n)
#define memzero_explicit(at, n)		explicit_bzero(at, n)

#endif
