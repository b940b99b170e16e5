// Rules of normalizations, attention and activations with parameters.
#include <algorithm>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "func/rules.h"

namespace torch::func::detail {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;

// [B, N, ..] as [B * N, ..].
Tensor first_two(const Tensor& t) {
  return at::flatten(t, 0, 1);
}

bool is_batched(const BatchedCall& call, size_t i) {
  return call.is_tensor(i) && call.batched(i);
}

// The first result times a weight plus a bias, of which each sample has its own, as `view` lays them out.
template <typename View>
void scale_and_shift(BatchedCall& call, size_t weight, size_t bias, const View& view) {
  Tensor result = call.results[0].toTensor();
  if (call.is_tensor(weight)) result = at::mul(result, view(weight));
  if (call.is_tensor(bias)) result = at::add(result, view(bias));
  call.results[0] = IValue(result);
}

// prelu(self, weight): one number, or one for each of the channels in the second dimension.
void prelu(BatchedCall& call) {
  const int64_t rank = call.rank(0);
  const Tensor weight = call.tensor(1);
  TORCH_CHECK(call.rank(1) <= 1,
              "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", call.rank(1));
  const int64_t count = c10::checked_numel(call.sizes(1)), channels = rank > 1 ? call.sizes(0)[1] : 1;
  TORCH_CHECK(count == 1 || count == channels,
              "Mismatch of parameter numbers and input channel size. Found parameter numbers = ", count,
              " and channel size = ", channels, ".");
  c10::DimVector sizes(static_cast<size_t>(rank + 1), 1);
  sizes[0] = call.batched(1) ? call.batch_size() : 1;
  if (count > 1) sizes[2] = count;
  call.give(at::_prelu_kernel(call.every_sample(0), at::reshape(weight, sizes)));
}

// _fused_layer_norm(input, normalized_shape, weight, bias, eps).
void layer_norm(BatchedCall& call) {
  Stack arguments = call.arguments();
  arguments[0] = IValue(call.every_sample(0));
  const bool own = is_batched(call, 2) || is_batched(call, 3);
  if (own) arguments[2] = arguments[3] = IValue();
  call.run(call.op(), std::move(arguments));
  if (!own) return;
  const int64_t rank = call.rank(0);
  scale_and_shift(call, 2, 3, [&](size_t i) { return call.padded(call.tensor(i), call.batched(i), rank); });
}

// _fused_group_norm(input, weight, bias, num_groups, eps), whose input has samples of its own in front.
void group_norm(BatchedCall& call) {
  const Tensor input = call.every_sample(0);
  Stack arguments = call.arguments();
  arguments[0] = IValue(first_two(input));
  const bool own = is_batched(call, 1) || is_batched(call, 2);
  if (own) arguments[1] = arguments[2] = IValue();
  call.run(call.op(), std::move(arguments));
  for (IValue& result : call.results) {
    if (result.toTensor().defined())
      result = IValue(at::unflatten(result.toTensor(), 0, {input.size(0), input.size(1)}));
  }
  if (!own) return;
  scale_and_shift(call, 1, 2, [&](size_t i) {
    c10::DimVector sizes(static_cast<size_t>(input.dim()), 1);
    sizes[0] = call.batched(i) ? call.batch_size() : 1;
    sizes[2] = call.sizes(i)[0];
    return at::reshape(call.tensor(i), sizes);
  });
}

// _fused_batch_norm and its backward: each sample has channels of its own.
void batch_norm(BatchedCall& call) {
  const int64_t batch = call.batch_size();
  int64_t channels = 0;
  for (size_t i = 0; i < call.size(); ++i) {
    if (!call.is_tensor(i)) continue;
    const Tensor all = call.every_sample(i);
    const bool parameter = call.rank(i) == 1;
    if (!parameter) channels = all.size(2);
    // [B, N, C, ..] as [N, B * C, ..].
    call.set(i, IValue(parameter ? first_two(all) : at::flatten(at::movedim(all, 0, 1), 1, 2)));
  }
  call.run();
  for (IValue& result : call.results) {
    const Tensor t = result.toTensor();
    if (!t.defined()) continue;
    result = IValue(t.dim() == 1 ? at::unflatten(t, 0, {batch, channels})
                                 : at::movedim(at::unflatten(t, 1, {batch, channels}), 1, 0));
  }
}

// _fused_attention and its backward: samples join the batch; a mask that lacks that dimension gets it.
void attention(BatchedCall& call) {
  // What a seed drops depends on the place in the batch.
  if (call.named("dropout_p").toDouble() != 0) return loop_rule(call);
  const size_t mask = static_cast<size_t>(call.index("attn_mask"));
  const Tensor query = call.every_sample(static_cast<size_t>(call.index("query")));
  TORCH_CHECK(query.dim() == 5 && call.rank(static_cast<size_t>(call.index("key"))) == 4, call.schema().base_name(),
              ": expected a query and keys of 4 dimensions, got a query of ", query.dim() - 1);
  const int64_t keys = call.sizes(static_cast<size_t>(call.index("key")))[2];
  for (size_t i = 0; i < call.size(); ++i) {
    if (!call.is_tensor(i)) continue;
    Tensor all = call.every_sample(i);
    if (i == mask) {
      all = at::expand(call.padded(all, true, 4), {query.size(0), query.size(1), query.size(2), query.size(3), keys});
    }
    call.set(i, IValue(first_two(all)));
  }
  call.run();
  for (IValue& result : call.results) {
    if (result.toTensor().defined())
      result = IValue(at::unflatten(result.toTensor(), 0, {query.size(0), query.size(1)}));
  }
}

constexpr NamedRule kRules[] = {
    {"prelu", &prelu},           {"layer_norm", &layer_norm}, {"group_norm", &group_norm},
    {"batch_norm", &batch_norm}, {"attention", &attention},
};

}  // namespace

c10::ArrayRef<NamedRule> layer_rules() {
  return kRules;
}

}  // namespace torch::func::detail
