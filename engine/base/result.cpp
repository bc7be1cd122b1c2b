// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/result.h"

#include <string_view>

namespace trainyard {

std::string Error::sentence() const {
    std::string out = where.empty() ? std::string() : where + ": ";
    out += what.text();
    if (cure.empty())
        return out;
    // A sentence may end in a path or a number.
    const bool closed =
        !out.empty() && std::string_view(".!?:").find(out.back()) != std::string_view::npos;
    return out + (closed ? " " : ". ") + cure.text();
}

} // namespace trainyard
