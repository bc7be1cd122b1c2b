// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/check.h"

#include <cstring>

namespace trainyard {

void throwBrokenInvariant(const char* file, int line, const char* condition,
                          const std::string& detail) {
    const char* slash = std::strrchr(file, '/');
    std::ostringstream out;
    out << "internal error at " << (slash ? slash + 1 : file) << ":" << line << ": expected "
        << condition;
    if (!detail.empty())
        out << " (" << detail << ")";
    throw BrokenInvariant(out.str());
}

} // namespace trainyard
