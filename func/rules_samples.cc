// Rules of operators with a bounded number of dimensions: the samples join the dimension in front.
#include <charconv>

#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "func/rules.h"

namespace torch::func::detail {
namespace {

using at::Tensor;
using c10::IValue;

// [B, d1 .. dk, rest] as [B * d1 .. * dk, rest].
Tensor joined(const Tensor& t, int64_t dims) {
  return at::flatten(t, 0, dims);
}

// samples(m): of samples with at most m dimensions a stack is what the operator takes for one with another dimension in
// front; of those with more, the dimensions in front become one.
void samples(BatchedCall& call) {
  int64_t most = 0;
  std::from_chars(call.parameters().data(), call.parameters().data() + call.parameters().size(), most);
  const Tensor self = call.every_sample(0);
  const int64_t join = call.rank(0) - most;
  for (size_t i = 0; i < call.size(); ++i) {
    if (!call.is_tensor(i)) continue;
    const Tensor all = call.every_sample(i);
    call.set(i, IValue(join > 0 ? joined(all, join) : all));
  }
  // The sizes of an input with its dimension in front.
  if (const int i = call.index("input_size"); i >= 0 && join > 0) {
    std::vector<int64_t> size = call[static_cast<size_t>(i)].toIntVector();
    TORCH_CHECK(!size.empty(), call.schema().name(), ": input_size is empty");
    size[0] *= call.batch_size();
    call.set(static_cast<size_t>(i), IValue(size));
  }
  call.run();
  if (join <= 0) return;
  std::vector<int64_t> front;
  int64_t count = 1;
  for (int64_t d = 0; d <= join; ++d) {
    front.push_back(self.size(d));
    count *= self.size(d);
  }
  for (IValue& result : call.results) {
    // What was not asked for has size [0].
    if (result.isTensor() && result.toTensor().defined() && result.toTensor().size(0) == count) {
      result = IValue(at::unflatten(result.toTensor(), 0, front));
    }
  }
}

constexpr NamedRule kRules[] = {
    {"samples", &samples},
};

}  // namespace

c10::ArrayRef<NamedRule> sample_rules() {
  return kRules;
}

}  // namespace torch::func::detail
