#include "tests/recorded/functional_arguments.h"

#include <set>

#include "aten/ops/copy/ops.h"

namespace recorded {

Arguments::Arguments(const Json& one, const Recordings& recordings)
    : Arguments(one.at("args"), member_or_empty(one, "kwargs"),
                [&](const Json& v) { return recordings.tensor(v); }) {}

Arguments::Arguments(const Json& args, const Json& kwargs, const std::function<at::Tensor(const Json&)>& tensor)
    : args_(args), kwargs_(kwargs) {
  for (size_t i = 0; i < args_.size(); ++i)
    places_.push_back(take(args_[i], "argument " + std::to_string(i), tensor));
  // Named ones are in Python's order, which an object here has lost.
  std::vector<std::string> names{"weight", "bias", "q_proj_weight", "k_proj_weight", "v_proj_weight"};
  const std::set<std::string> first(names.begin(), names.end());
  for (const auto& [name, value] : kwargs_.items()) {
    if (first.count(name) == 0) names.push_back(name);
  }
  for (const std::string& name : names) {
    if (kwargs_.contains(name)) names_[name] = take(kwargs_.at(name), name, tensor);
  }
}

at::Tensor Arguments::take(const Json& v, const std::string& name,
                           const std::function<at::Tensor(const Json&)>& tensor) {
  if (!conformance::is_tensor(v)) return {};
  at::Tensor t = tensor(v);
  if (conformance::is_marked(v, "requires_grad")) {
    leaves_.push_back(t = at::clone(t).set_requires_grad(true));
    leaf_names_.push_back(name);
  }
  return t;
}

at::Tensor Arguments::tensor(const std::string& name) const {
  reads().emplace(&kwargs_, name);
  const auto found = names_.find(name);
  return found == names_.end() ? at::Tensor() : found->second;
}

void Arguments::check_all_read() const {
  recorded::check_all_read(kwargs_, "argument");
  for (size_t i = 0; i < args_.size(); ++i) {
    if (places_read_.count(i) == 0) throw std::runtime_error("argument " + std::to_string(i) + " is not known here");
  }
}

at::ScalarType Arguments::dtype(const std::string& name) const {
  const std::string text = value(name).at("dtype");
  for (at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    if (text == (type == at::kFloat    ? "float32"
                 : type == at::kDouble ? "float64"
                 : type == at::kHalf   ? "float16"
                                       : "bfloat16"))
      return type;
  }
  throw std::runtime_error("no dtype " + text + " here");
}

}  // namespace recorded
