#include "aten/core/result_spec.h"

#include <utility>

#include "c10/core/default_dtype.h"
#include "c10/util/exception.h"

namespace at::pointwise {
namespace {

bool floating_or_complex(ScalarType t) { return isFloatingType(t) || isComplexType(t); }

// Dense strides for `sizes` whose order of dimensions follows the inputs' (the first that has an opinion decides).
DimVector follow_layout(IntArrayRef sizes, Inputs inputs) {
  const int64_t rank = static_cast<int64_t>(sizes.size());
  bool permuted = false;
  for (const Input& in : inputs) {
    if (in.tensor() == nullptr || in.tensor()->dim() == 0) continue;
    if (!in.tensor()->is_contiguous()) permuted = true;
  }
  if (!permuted || rank < 2) return {};
  checked_numel(sizes);  // or the strides would overflow
  const auto stride_of = [&](const TensorBase& t, int64_t d) -> int64_t {
    const int64_t own = d - (rank - t.dim());
    if (own < 0 || (t.sizes()[own] == 1 && sizes[d] != 1)) return 0;
    return t.strides()[own];
  };
  // 1: `a` belongs outside `b`; -1: inside; 0: no opinion.
  const auto outside = [&](int64_t a, int64_t b) {
    for (const Input& in : inputs) {
      if (in.tensor() == nullptr) continue;
      const int64_t sa = stride_of(*in.tensor(), a), sb = stride_of(*in.tensor(), b);
      if (sa == 0 || sb == 0) continue;
      if (sa != sb) return sa > sb ? 1 : -1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  };
  DimVector order;  // innermost first
  for (int64_t d = rank - 1; d >= 0; --d) order.push_back(d);
  for (int64_t i = 1; i < rank; ++i) {
    int64_t at = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      const int verdict = outside(order[j], order[at]);
      if (verdict > 0) {
        std::swap(order[j], order[at]);
        at = j;
      } else if (verdict < 0) {
        break;
      }
    }
  }
  DimVector strides(rank, 1);
  int64_t step = 1;
  for (int64_t i = 0; i < rank; ++i) {
    strides[order[i]] = step;
    step *= sizes[order[i]] > 1 ? sizes[order[i]] : 1;
  }
  return strides;
}

}  // namespace

ScalarType promoted_type(Inputs inputs) {
  TypePromotion p;
  for (const Input& in : inputs) {
    if (in.tensor() == nullptr) {
      p.add(in.number());
    } else {
      p.add_tensor(in.tensor()->scalar_type(), in.tensor()->dim(), in.tensor()->unsafeGetTensorImpl()->is_wrapped_number());
    }
  }
  return p.result();
}

ScalarType to_floating(ScalarType type) { return floating_or_complex(type) ? type : get_default_dtype_as_scalartype(); }

TensorSpec result_spec(Inputs inputs, ScalarType dtype) {
  const TensorBase* first = nullptr;
  for (const Input& in : inputs) {
    first = in.tensor();
    if (first != nullptr) break;
  }
  if (first == nullptr) return {DimVector(), DimVector(), dtype, Device(DeviceType::CPU)};
  TensorSpec spec{DimVector(first->sizes()), DimVector(), dtype, first->device()};
  bool same = first->is_contiguous();
  for (const Input& in : inputs) {
    const TensorBase* t = in.tensor();
    if (t == nullptr || t == first) continue;
    if (t->device() != spec.device) {
      if (t->dim() == 0 && t->is_cpu()) {
        // A 0-dim CPU tensor goes with any device.
      } else if (spec.device.type() == DeviceType::CPU && spec.sizes.empty()) {
        spec.device = t->device();
      } else {
        TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", spec.device,
                    " and ", t->device(), "!");
      }
    }
    same = same && t->is_contiguous();
    const IntArrayRef sizes = t->sizes();
    if (IntArrayRef(spec.sizes) == sizes) continue;
    const size_t a = spec.sizes.size(), b = sizes.size(), rank = a > b ? a : b;
    DimVector merged(rank, 1);
    for (size_t back = 1; back <= rank; ++back) {
      const int64_t x = back <= a ? spec.sizes[a - back] : 1, y = back <= b ? sizes[b - back] : 1;
      TORCH_CHECK(x == y || x == 1 || y == 1, "The size of tensor a (", x, ") must match the size of tensor b (", y,
                  ") at non-singleton dimension ", rank - back);
      merged[rank - back] = x == 1 ? y : x;
    }
    spec.sizes = std::move(merged);
  }
  if (!same) spec.strides = follow_layout(spec.sizes, inputs);
  return spec;
}

}  // namespace at::pointwise
