#include "func/jacobian.h"

#include <algorithm>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "func/dual_level.h"

namespace torch::func::detail {
namespace {

int64_t numel_of(const TensorList& tensors) {
  int64_t numel = 0;
  for (const at::Tensor& t : tensors) numel += t.numel();
  return numel;
}

void check_real(const TensorList& tensors, const char* what) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    TORCH_CHECK(!tensors[i].is_complex(), what, " to be real but received complex tensor at flattened input idx: ", i);
  }
}

// Rows `from` to `to` of the identity of all elements of `like`, one after the other, cut into its tensors: of sizes
// [to - from, sizes of the tensor].
TensorList identity_rows(const TensorList& like, int64_t from, int64_t to) {
  TensorList blocks;
  int64_t first = 0;
  for (const at::Tensor& t : like) {
    const int64_t numel = t.numel();
    at::Tensor block = at::zeros({to - from, numel}, t.options());
    // Row r of the block has its one in column from + r - first.
    if (from < first + numel && first < to) {
      at::Tensor ones = at::diagonal(block, from - first);
      at::fill_(ones, 1);
    }
    c10::DimVector sizes{to - from};
    sizes.append(t.sizes().begin(), t.sizes().end());
    blocks.push_back(at::reshape(block, sizes));
    first += numel;
  }
  return blocks;
}

TensorList batched_at(const TensorList& samples, const VmapLevel& level) {
  TensorList batched;
  for (const at::Tensor& t : samples) batched.push_back(make_batched(t, 0, level));
  return batched;
}

// The samples in dimension 0, also of what is the same for all.
at::Tensor samples_of(const at::Tensor& t, const VmapLevel& level) {
  if (batched_of(t, level) != nullptr) return samples_first(t, level);
  c10::DimVector sizes{level.batch_size};
  sizes.append(t.sizes().begin(), t.sizes().end());
  return at::expand(t, sizes);
}

c10::DimVector joined(at::IntArrayRef a, at::IntArrayRef b) {
  c10::DimVector sizes(a.begin(), a.end());
  sizes.append(b.begin(), b.end());
  return sizes;
}

}  // namespace

std::vector<TensorList> jacobian_by_rows(const Pullback& pullback, const TensorList& outputs, const TensorList& inputs,
                                         std::optional<int64_t> chunk_size) {
  TORCH_CHECK_VALUE(!chunk_size.has_value() || *chunk_size > 0, "jacrev: `chunk_size` should be greater than 0.");
  check_real(outputs, "jacrev: Expected all outputs");
  const int64_t count = numel_of(outputs);
  const int64_t step = std::min(chunk_size.value_or(count), count);
  std::vector<TensorList> chunks(inputs.size());  // by input
  for (int64_t from = 0; from < count; from += step) {
    const int64_t to = std::min(from + step, count);
    const TensorList rows = identity_rows(outputs, from, to);
    const NewLevel fresh(to - from, Randomness::kError);
    const TensorList products = pullback(batched_at(rows, fresh.level()), /*retain_graph=*/true, std::nullopt);
    const AtLevel outside(fresh.level().outer);
    for (size_t j = 0; j < inputs.size(); ++j) chunks[j].push_back(samples_of(products[j], fresh.level()));
  }
  std::vector<TensorList> result(outputs.size());
  for (size_t j = 0; j < inputs.size(); ++j) {
    const at::Tensor all = chunks[j].size() == 1 ? chunks[j][0] : chunks[j].empty() ? at::Tensor() : at::cat(chunks[j]);
    int64_t first = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const c10::DimVector sizes = joined(outputs[i].sizes(), inputs[j].sizes());
      const int64_t numel = outputs[i].numel();
      result[i].push_back(all.defined() ? at::reshape(at::narrow(all, 0, first, numel), sizes)
                                        : at::zeros(sizes, inputs[j].options()));
      first += numel;
    }
  }
  return result;
}

std::vector<TensorList> jacobian_by_columns(const std::function<Called(const TensorList& inputs)>& function,
                                            const TensorList& inputs, Randomness randomness) {
  check_real(inputs, "jacfwd: Expected all inputs");
  const int64_t count = numel_of(inputs);
  const TensorList basis = identity_rows(inputs, 0, count);
  TensorList tangents;  // by output, [count, sizes of the output]
  {
    const NewLevel fresh(count, randomness);
    const DualLevel duals(inputs, batched_at(basis, fresh.level()));
    const Called called = function(duals.duals());
    for (const at::Tensor& output : called.outputs) {
      const at::Tensor tangent = duals.unpack(output, /*strict=*/false).second;
      const AtLevel outside(fresh.level().outer);
      tangents.push_back(samples_of(tangent, fresh.level()));
    }
    for (at::Tensor* t : called.aux) {
      const at::Tensor samples = samples_first(duals.finished(*t), fresh.level());
      *t = batched_of(*t, fresh.level()) == nullptr ? samples : at::select(samples, 0, 0);
    }
  }
  std::vector<TensorList> result;
  for (const at::Tensor& all : tangents) {
    const at::Tensor columns = at::movedim(all, 0, -1);
    TensorList blocks;
    int64_t first = 0;
    for (const at::Tensor& input : inputs) {
      const c10::DimVector sizes = joined(all.sizes().slice(1), input.sizes());
      blocks.push_back(at::reshape(at::narrow(columns, -1, first, input.numel()), sizes));
      first += input.numel();
    }
    result.push_back(std::move(blocks));
  }
  return result;
}

}  // namespace torch::func::detail
