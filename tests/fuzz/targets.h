// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything that reads bytes which others wrote, as functions from bytes. Rule: whatever the bytes
// are, a function returns; what must hold of all input is a TRAINYARD_CHECK, which throws.
// libFuzzer calls them with bytes it makes up, tst_fuzz_inputs with the files of inputs/NAME.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace trainyard::test {

using FuzzBytes = std::span<const std::byte>;

// spec_targets.cpp
void fuzzExperiment(FuzzBytes bytes);
void fuzzSettings(FuzzBytes bytes); ///< path and value lines, changes of a sample
void fuzzEvent(FuzzBytes bytes);    ///< a type, then the payload
void fuzzFrames(FuzzBytes bytes);   ///< a journal
void fuzzLogLines(FuzzBytes bytes);
void fuzzTrace(FuzzBytes bytes); ///< what a trace file holds of one rank
void fuzzNumbers(FuzzBytes bytes);

// data_targets.cpp; where a format has choices the first byte makes them
void fuzzGzip(FuzzBytes bytes); ///< what follows the two bytes that mark gzip
void fuzzIdx(FuzzBytes bytes);
void fuzzCifar(FuzzBytes bytes); ///< repeated to whole records
void fuzzCsv(FuzzBytes bytes);
void fuzzNpy(FuzzBytes bytes); ///< .npy or .npz
void fuzzText(FuzzBytes bytes);
void fuzzTokens(FuzzBytes bytes);
void fuzzTokenizer(FuzzBytes bytes); ///< its JSON
void fuzzPicture(FuzzBytes bytes);   ///< JPEG or PNG
void fuzzExif(FuzzBytes bytes);

// weights_targets.cpp
void fuzzSafetensors(FuzzBytes bytes);
void fuzzWeights(FuzzBytes bytes); ///< metadata, one entry a line, then rows to predict

struct FuzzTarget {
    std::string_view name; ///< of its folder in inputs/ and of its executable
    void (*run)(FuzzBytes bytes);
};
/// JPEG and PNG have a corpus each and run the same function.
inline constexpr FuzzTarget kFuzzTargets[] = {{"experiment", fuzzExperiment},
                                              {"settings", fuzzSettings},
                                              {"event", fuzzEvent},
                                              {"frames", fuzzFrames},
                                              {"log_lines", fuzzLogLines},
                                              {"trace", fuzzTrace},
                                              {"numbers", fuzzNumbers},
                                              {"gzip", fuzzGzip},
                                              {"idx", fuzzIdx},
                                              {"cifar", fuzzCifar},
                                              {"csv", fuzzCsv},
                                              {"npy", fuzzNpy},
                                              {"text", fuzzText},
                                              {"tokens", fuzzTokens},
                                              {"tokenizer", fuzzTokenizer},
                                              {"jpeg", fuzzPicture},
                                              {"png", fuzzPicture},
                                              {"exif", fuzzExif},
                                              {"safetensors", fuzzSafetensors},
                                              {"weights", fuzzWeights}};

} // namespace trainyard::test
