// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/result.h"

namespace trainyard {

std::string Error::sentence() const {
    std::string out = where.empty() ? std::string() : where + ": ";
    out += what.text();
    if (!cure.empty())
        out += " " + cure.text();
    return out;
}

} // namespace trainyard
