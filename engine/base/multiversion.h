// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// TRAINYARD_MULTIVERSION before a function definition: plain loops compiled for several instruction
// sets, the best one chosen when the program is loaded. One binary is fast on every x86-64 machine.
// Only for loops whose results do not depend on the set: no product may feed a sum (it would become
// a fused multiply-add on some machines). Empty where the compiler or a sanitizer cannot do it.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TRAINYARD_SANITIZED)
#define TRAINYARD_MULTIVERSION __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define TRAINYARD_MULTIVERSION
#endif
