// Rules of operators that work element by element, of losses, and of new tensors.
#include <algorithm>

#include "aten/ops/copy/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/type_promotion.h"
#include "c10/util/exception.h"
#include "func/rules.h"

namespace torch::func::detail {
namespace {

using at::Tensor;
using c10::IValue;

// A sample without dimensions yields to tensors with some in type promotion; all samples together do not. So where the
// types differ and there is such a one, all are cast to what they promote to.
void promote(BatchedCall& call) {
  c10::TypePromotion promotion;
  bool differ = false, samples_without = false;
  std::optional<at::ScalarType> first;
  const auto takes_part = [&](size_t i) {
    if (!call.is_tensor(i)) return false;
    const std::string& name = call.schema().arguments()[i].name();
    return name != "condition" && name != "mask" && !call.schema().arguments()[i].is_write();
  };
  for (size_t i = 0; i < call.size(); ++i) {
    if (call[i].isScalar()) promotion.add(call[i].toScalar());
    if (!takes_part(i)) continue;
    const Tensor t = call.tensor(i);
    if (!first) first = t.scalar_type();
    differ = differ || *first != t.scalar_type();
    samples_without = samples_without || (call.batched(i) && call.rank(i) == 0);
    promotion.add_tensor(t.scalar_type(), call.rank(i), t.unsafeGetTensorImpl()->is_wrapped_number());
  }
  if (!differ || !samples_without || call.schema().is_mutable()) return;
  for (size_t i = 0; i < call.size(); ++i) {
    if (takes_part(i) && call.tensor(i).scalar_type() != promotion.result()) {
      call.set(i, IValue(at::_to_copy(call.tensor(i), at::TensorOptions().dtype(promotion.result()))));
    }
  }
}

int64_t highest_rank(const BatchedCall& call) {
  int64_t rank = 0;
  for (size_t i = 0; i < call.size(); ++i) {
    if (call.is_tensor(i)) rank = std::max(rank, call.rank(i));
  }
  return rank;
}

void pad_all(BatchedCall& call) {
  const int64_t rank = highest_rank(call);
  for (size_t i = 0; i < call.size(); ++i) {
    if (call.is_tensor(i)) call.set(i, IValue(call.padded(call.tensor(i), call.batched(i), rank)));
  }
}

void element_wise(BatchedCall& call) {
  promote(call);
  pad_all(call);
  call.run();
}

// copy(self, src): the sizes are those of self.
void copy(BatchedCall& call) {
  if (!call.schema().is_mutable()) call.replace(0, call.every_sample(0));
  element_wise(call);
}

// fill(self, value) with a value of each sample.
void fill(BatchedCall& call) {
  if (!call.batched(1)) return call.run();
  TORCH_CHECK(call.rank(1) == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", call.rank(1),
              " dimensions.");
  const Tensor self = call.every_sample(0);
  const Tensor value = at::to(call.padded(call.tensor(1), true, call.rank(0)), self.scalar_type());
  call.give(at::clone(at::expand(value, self.sizes()), at::MemoryFormat::Contiguous));
}

// 0: no reduction, 1: the mean, 2: the sum.
void loss(BatchedCall& call) {
  const int at = call.index("reduction");
  TORCH_INTERNAL_ASSERT(at >= 0);
  const int64_t reduction = call[static_cast<size_t>(at)].toInt();
  const int64_t rank = highest_rank(call);
  call.set(static_cast<size_t>(at), IValue(int64_t{0}));
  // Of one size, as those of a sample are.
  if (call.sizes(0) == call.sizes(1)) {
    const Tensor input = call.every_sample(0), target = call.every_sample(1);
    call.replace(0, input);
    call.replace(1, target);
  }
  element_wise(call);
  if (reduction == 0 || rank == 0) return;
  std::vector<int64_t> dims;
  for (int64_t d = 1; d <= rank; ++d) dims.push_back(d);
  const Tensor each = call.results[0].toTensor();
  call.give(reduction == 1 ? at::mean(each, dims) : at::sum(each, dims));
}

// Samples in front of whatever the operator takes: it sees one more of the dimensions that it does not care for.
void leading(BatchedCall& call) {
  for (size_t i = 0; i < call.size(); ++i) {
    if (call.is_tensor(i)) call.set(i, IValue(call.every_sample(i)));
  }
  call.run();
}

// The argument `size` (and `stride`) with the samples in front.
void fresh(BatchedCall& call) {
  const auto in_front = [&](const char* name, int64_t first) {
    const int i = call.index(name);
    if (i < 0 || call[static_cast<size_t>(i)].isNone()) return;
    std::vector<int64_t> values = call[static_cast<size_t>(i)].toIntVector();
    values.insert(values.begin(), first);
    call.set(static_cast<size_t>(i), IValue(values));
  };
  int64_t span = 1;
  if (const int i = call.index("stride"); i >= 0) {
    const std::vector<int64_t> sizes = call.named("size").toIntVector(), strides = call.named("stride").toIntVector();
    for (size_t d = 0; d < sizes.size() && d < strides.size(); ++d)
      span += std::max<int64_t>(sizes[d] - 1, 0) * strides[d];
  }
  in_front("size", call.batch_size());
  in_front("stride", span);
  call.run();
}

// masked_fill(self, mask, value) with a value of each sample.
void masked_fill(BatchedCall& call) {
  if (!call.batched(2)) return element_wise(call);
  TORCH_CHECK(call.rank(2) == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              call.rank(2), " dimension(s).");
  pad_all(call);
  const Tensor self = call.tensor(0);
  call.give(at::where(call.tensor(1), at::to(call.tensor(2), self.scalar_type()), self));
}

constexpr NamedRule kRules[] = {
    {"copy", &copy, true},
    {"fill", &fill},
    {"masked_fill", &masked_fill},
    {"auto_element_wise", &element_wise, true},
    {"leading", &leading, true},
    {"like", &leading},
    {"fresh", &fresh},
    {"loss", &loss},
};

}  // namespace

c10::ArrayRef<NamedRule> pointwise_rules() {
  return kRules;
}

}  // namespace torch::func::detail
