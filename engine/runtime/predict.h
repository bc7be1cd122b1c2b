// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The worker's verb "predict": a request in, what a trained model makes of it out, both JSON.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace trainyard::engine {

/// Request, "trainyard.predict/1":
/// {"weights": FILE, "inputs": ["FILE", ...] or ["5.1,3.5", ...] or ["text"], "labels": FILE,
/// "validation": bool,
///  "samples": [0, 7], "top": 5, "stream": bool}
/// "samples" are numbers of samples of the input; absent: all. To a model of sequences, "inputs" is
/// one text to go on with (a list of tokens, "5,17,3", where there is no tokenizer), and there are
/// "tokens": how many (200), "temperature": 1, "top_k": 0 (all), "seed": 1.
///
/// Answer, "trainyard.prediction/1": {"problems": [...]} as inspectExperiment() has them, and where
/// there are none
/// {"step", "output": "classes", "probabilities" or "numbers", "classes", "class_names", "samples",
///  "accuracy", "mean_absolute_error",
///  "predictions": [{"sample", "input", "label", "top": [{"class", "probability"}]}
///               or {"sample", "targets": [...], "values": [...]}]}
/// or {"step", "output": "tokens", "text", "tokens": [...]}, without "text" where there is no
/// tokenizer.
/// With "stream", lines {"grown": "..."} come before it with the pieces of the text as they are
/// made. "input" is the file of a picture; "label", "targets", "accuracy" and the error only where
/// the right answers are known. A number that is not finite is null.
std::string predict(std::string_view requestJson,
                    const std::function<void(const std::string& line)>& say = {});

} // namespace trainyard::engine
