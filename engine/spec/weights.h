// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What who trains, who predicts and who keeps runs agree on about final weights.
#pragma once

namespace trainyard::spec {

/// In the folder of a run, from the end of its training until the run is deleted.
inline constexpr const char* kWeightsFile = "weights.safetensors";
/// The metadata "format" of such a file.
inline constexpr const char* kWeightsFormat = "trainyard.weights/1";

} // namespace trainyard::spec
