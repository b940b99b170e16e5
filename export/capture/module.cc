#include "export/capture/module.h"

#include <algorithm>

#include "c10/util/exception.h"

namespace torch {
namespace {

// The module at a dotted path, made where it is not there.
nn::Module& module_at(nn::Module& root, const std::string& path) {
  nn::Module* at = &root;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    TORCH_CHECK_VALUE(!name.empty(), "a program has a tensor in '", path, "', which names no module");
    const auto children = at->named_children();
    const std::shared_ptr<nn::Module>* const known = children.find(name);
    at = known != nullptr ? known->get() : at->register_module(name, std::make_shared<nn::Module>(name)).get();
    begin = end + 1;
  }
  return *at;
}

}  // namespace

ExportedModuleImpl::ExportedModuleImpl(ExportedProgram program)
    : nn::Module("ExportedModule"), program_(std::move(program)) {
  for (const InputSpec& spec : program_.signature.inputs) {
    const bool parameter = spec.kind == InputSpec::Kind::kParameter;
    if (!parameter && spec.kind != InputSpec::Kind::kBuffer) continue;
    const auto state = program_.state_dict.find(spec.target);
    const at::Tensor tensor = state != program_.state_dict.end() ? state->second : program_.constants.at(spec.target);
    const size_t dot = spec.target.rfind('.');
    nn::Module& owner = module_at(*this, dot == std::string::npos ? "" : spec.target.substr(0, dot));
    const std::string name = dot == std::string::npos ? spec.target : spec.target.substr(dot + 1);
    if (parameter) {
      owner.register_parameter(name, tensor, tensor.requires_grad());
    } else {
      owner.register_buffer(name, tensor, spec.persistent);
    }
  }
}

c10::IValue ExportedModuleImpl::forward(std::vector<c10::IValue> args,
                                        std::vector<std::pair<std::string, c10::IValue>> kwargs) const {
  return program_(std::move(args), std::move(kwargs));
}

}  // namespace torch
