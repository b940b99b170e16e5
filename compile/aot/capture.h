// Models that C++ code makes while a target is built: what the sources of the rule kindling_capture define.
//
//   kindling_capture(name = "ranker_model", srcs = ["ranker_model.cc"], deps = [...])
//   kindling_program(name = "ranker", model = ":ranker_model")
#pragma once

#include "export/exported_program.h"

namespace torch {

/// Defined by the user: the model. Called once. What it throws fails the build.
ExportedProgram make_model();

}  // namespace torch
