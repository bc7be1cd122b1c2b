// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Catalogue entries of data formats (with the files each part of the data has) and of augmentation.
#include "engine/spec/catalogue_fields.h"

namespace trainyard::spec {

std::vector<TypeInfo> dataFormatEntries() {
    return {{.kind = Kind::DataFormat,
             .type = "idx",
             .label = "IDX",
             .help = "IDX files, plain or gzip: pictures and their labels.",
             .fields = {},
             .roles = {{"images", "Images"}, {"labels", "Labels"}},
             .pictures = true}};
}

std::vector<TypeInfo> augmentationEntries() {
    return {{.kind = Kind::Augmentation,
             .type = kPictureAugmentation,
             .label = "Pictures",
             .help = "Changes training pictures a little, in another way each epoch."}};
}

} // namespace trainyard::spec
