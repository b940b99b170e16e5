// Models from files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "examples/serve/model.h"

namespace serve {

struct LoadedModel {
  std::string name;
  std::unique_ptr<Model> model;
};

/// The model in a file, whose format its contents say; a .pt2 file of several programs becomes NAME.PROGRAM each.
/// `signature`: of a TorchScript module, which does not say what tensors it takes; empty: any tensors. Throws
/// c10::Error and its kinds that name the file.
std::vector<LoadedModel> load_models(const std::string& name, const std::string& path, const Signature* signature);

}  // namespace serve
