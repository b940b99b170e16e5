// Operators under vmap: batched arguments, and the stack of what each sample gives.
#include <string>
#include <vector>

#include "aten/ops/unary/ops.h"
#include "func/vmap.h"
#include "tests/recorded/families.h"
#include "tests/recorded/sample_calls.h"

namespace recorded {
namespace {

using at::Tensor;

// The recorded tensors of nested values in order, each with its dimension in `dims`, which has the same form.
void collect(const Json& value, const Json& dims, Check& check, std::vector<Tensor>& tensors,
             std::vector<torch::func::Dims>& places) {
  if (conformance::is_tensor(value)) {
    tensors.push_back(check.recordings().tensor(value));
    if (dims.is_null()) {
      places.emplace_back(std::nullopt);
    } else {
      places.emplace_back(dims.get<int64_t>());
    }
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i)
      collect(value[i], dims.is_null() ? dims : dims.at(i), check, tensors, places);
  }
}

// The values with the interpreter's tensors in the place of recorded ones.
Json with_tensors(const Json& value, PythonInterpreter& python, const std::vector<Tensor>& tensors, size_t& next) {
  if (conformance::is_tensor(value)) return python.value(tensors.at(next++));
  if (!value.is_array()) return value;
  Json all = Json::array();
  for (const Json& element : value) all.push_back(with_tensors(element, python, tensors, next));
  return all;
}

// PyTorch's exponential of a float matrix with numbers of some hundreds is wrong in the fourth digit; its Bessel
// functions and, next to their poles, polygamma functions in the fifth.
double factor_of(const std::string& name) {
  const auto has_part = [&](const char* part) { return name.find(part) != std::string::npos; };
  return has_part("matrix_exp") ? 50 : has_part("bessel_") || has_part("digamma") || has_part("polygamma") ? 30 : 1;
}

}  // namespace

void replay_vmap_ops(const Json& one, Check& check) {
  if (!one.contains("args")) return check.skip("a list of what PyTorch refuses");
  const Json& args = read(one, "args");
  const Json none = Json::object();
  const Json& kwargs = has(one, "kwargs") ? read(one, "kwargs") : none;
  const Json& kwarg_dims = has(one, "kwarg_in_dims") ? read(one, "kwarg_in_dims") : none;
  std::vector<Tensor> tensors;
  std::vector<torch::func::Dims> dims;
  collect(args, read(one, "in_dims"), check, tensors, dims);
  for (const auto& [name, value] : kwargs.items()) collect(value, kwarg_dims.at(name), check, tensors, dims);
  const std::string op = text_of(one, "op", ""), sample = text_of(one, "sample_of", "");

  const auto call = [&](const std::vector<Tensor>& given) {
    PythonInterpreter python;
    PythonArguments arguments;
    size_t next = 0;
    for (const Json& value : args) arguments.positional.push_back(with_tensors(value, python, given, next));
    for (const auto& [name, value] : kwargs.items()) arguments.named[name] = with_tensors(value, python, given, next);
    std::vector<Tensor> results;
    results_of(op.empty() ? call_sample(python, sample, arguments) : call_recorded(python, op, arguments), python,
               results);
    return results;
  };
  std::vector<Tensor> results;
  try {
    const torch::func::Dims all = std::vector<torch::func::Dims>{torch::func::Dims(dims)};
    results = torch::func::vmap(call, all, conformance::integer(read(one, "out_dims")))(tensors);
  } catch (const NotExpressible& error) {
    return check.skip(error.what());
  }
  const Json& outputs = read(one, "outputs");
  check.expect(results.size() == outputs.size(),
               std::to_string(results.size()) + " results, recorded " + std::to_string(outputs.size()));
  for (size_t i = 0; i < results.size() && i < outputs.size(); ++i) {
    check.tensor("output " + std::to_string(i), at::resolve_neg(at::resolve_conj(results[i])), outputs[i],
                 factor_of(sample.empty() ? op : sample));
  }
}

}  // namespace recorded
