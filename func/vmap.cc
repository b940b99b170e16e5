#include "func/vmap.h"

#include <algorithm>
#include <string>

#include "aten/core/context.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::func::detail {
namespace {

using at::Tensor;

std::string type_name(const Structure& leaf) {
  if (leaf.type == nullptr) return "a structure";
  if (*leaf.type == typeid(double) || *leaf.type == typeid(float)) return "float";
  if (*leaf.type == typeid(int) || *leaf.type == typeid(int64_t)) return "int";
  return *leaf.type == typeid(bool) ? "bool" : leaf.type->name();
}

Tensor expanded(const Tensor& tensor, int64_t batch_size) {
  std::vector<int64_t> sizes{batch_size};
  sizes.insert(sizes.end(), tensor.sizes().begin(), tensor.sizes().end());
  return at::expand(tensor, sizes);
}

}  // namespace

VmapInputs vmap_inputs(const Dims& in_dims, const Structure& arguments) {
  TORCH_CHECK_VALUE(
      !arguments.children.empty(),
      "vmap: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no "
      "inputs. The latter is unsupported.");
  const std::vector<const Structure*> leaves = leaves_of(arguments);
  VmapInputs inputs{dims_of_leaves(in_dims, arguments, "vmap: in_dims="), 0};
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < leaves.size(); ++i) {
    std::optional<int64_t>& dim = inputs.dims[i];
    if (!dim.has_value()) continue;
    const auto what = "vmap(f, in_dims=" + in_dims.str() + ", ...)(<inputs>): Got in_dim=" + std::to_string(*dim);
    TORCH_CHECK_VALUE(leaves[i]->kind == Structure::Kind::kTensor, what, " for an input but the input is of type ",
                      type_name(*leaves[i]),
                      ". We cannot vmap over non-Tensor arguments, please use nullopt as the respective in_dim");
    if (!leaves[i]->tensor->defined()) {
      dim.reset();
      continue;
    }
    const int64_t rank = leaves[i]->tensor->dim();
    TORCH_CHECK_VALUE(*dim >= -rank && *dim < rank, what,
                      " for some input, but that input is a Tensor of dimensionality ", rank,
                      " so expected in_dim to satisfy -", rank, " <= in_dim < ", rank, ".");
    if (*dim < 0) *dim += rank;
    sizes.push_back(leaves[i]->tensor->size(*dim));
  }
  TORCH_CHECK_VALUE(!sizes.empty(), "vmap: Expected at least one Tensor to vmap over");
  TORCH_CHECK_VALUE(std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size == sizes[0]; }),
                    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes ",
                    at::IntArrayRef(sizes), " for the mapped dimension");
  inputs.batch_size = sizes[0];
  return inputs;
}

void batch_inputs(const VmapInputs& inputs, const Structure& arguments, const VmapLevel& level) {
  const std::vector<const Structure*> leaves = leaves_of(arguments);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (inputs.dims[i]) *leaves[i]->tensor = make_batched(*leaves[i]->tensor, *inputs.dims[i], level);
  }
}

void cut_inputs(const VmapInputs& inputs, const Structure& arguments, int64_t begin, int64_t length) {
  const std::vector<const Structure*> leaves = leaves_of(arguments);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (inputs.dims[i]) *leaves[i]->tensor = at::narrow(*leaves[i]->tensor, *inputs.dims[i], begin, length);
  }
}

void unbatch_outputs(const Dims& out_dims, const Structure& results, const VmapLevel& level) {
  const std::vector<const Structure*> leaves = leaves_of(results);
  for (const Structure* leaf : leaves) {
    TORCH_CHECK_VALUE(leaf->kind == Structure::Kind::kTensor, "vmap(f, ...): `f` must only return Tensors, got type ",
                      type_name(*leaf), ". Did you mean to set out_dims= to nullopt for output?");
  }
  const std::vector<std::optional<int64_t>> dims = dims_of_leaves(out_dims, results, "vmap(f, ...): out_dims=");
  const AtLevel outside(level.outer);
  for (size_t i = 0; i < leaves.size(); ++i) {
    Tensor& result = *leaves[i]->tensor;
    if (!result.defined()) continue;
    const BatchedTensorImpl* batched = batched_of(result, level);
    if (!dims[i].has_value()) {
      TORCH_CHECK_VALUE(batched == nullptr, "vmap(f, ...): `f` can not return a BatchedTensor when out_dim is nullopt");
      continue;
    }
    const int64_t rank = result.dim() + 1;
    TORCH_CHECK_INDEX(*dims[i] >= -rank && *dims[i] < rank, "vmap(f, ...): out_dims=", out_dims.str(),
                      ": Dimension out of range (expected to be in range of [", -rank, ", ", rank - 1, "], but got ",
                      *dims[i], ")");
    const int64_t to = *dims[i] < 0 ? *dims[i] + rank : *dims[i];
    const Tensor all = batched != nullptr ? batched->value() : expanded(result, level.batch_size);
    const int64_t from = batched != nullptr ? batched->batch_dim() : 0;
    result = from == to ? all : at::movedim(all, from, to);
  }
}

void join_outputs(const Dims& out_dims, const std::vector<Structure>& chunks) {
  const std::vector<std::optional<int64_t>> dims = dims_of_leaves(out_dims, chunks[0], "vmap(f, ...): out_dims=");
  std::vector<std::vector<const Structure*>> leaves;
  for (const Structure& chunk : chunks) leaves.push_back(leaves_of(chunk));
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i] || !leaves[0][i]->tensor->defined()) continue;
    std::vector<Tensor> parts;
    for (const auto& chunk : leaves) parts.push_back(*chunk.at(i)->tensor);
    *leaves[0][i]->tensor = at::cat(parts, *dims[i]);
  }
}

void check_chunk_size(const std::optional<int64_t>& chunk_size) {
  TORCH_CHECK_VALUE(chunk_size.value_or(1) > 0, "vmap: chunk_size should be nullopt or greater than 0. (got ",
                    chunk_size.value_or(1), ")");
}

std::function<void()> generator_reset(const VmapOptions& options) {
  if (options.randomness != Randomness::kSame) return nullptr;
  at::Generator generator = at::globalContext().defaultGenerator(c10::Device(c10::kCPU));
  return [generator, state = generator.get_state()]() mutable { generator.set_state(state); };
}

}  // namespace torch::func::detail
