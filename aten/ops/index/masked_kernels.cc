// masked_fill, masked_select, masked_scatter, nonzero and its forms.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/strided_loop.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/indexing.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/index/plan.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/tensor_impl.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

cpu::Operand operand(const Tensor& t) {
  return {
      static_cast<char*>(t.mutable_data_ptr()), t.sizes().data(), t.strides().data(), t.dim(), static_cast<int64_t>(t.itemsize())};
}

// self[i] = value where mask[i]
template <class T>
void fill_run(char** data, const int64_t* strides, int64_t n, const void* context) {
  const T value = *static_cast<const T*>(context);
  char *to = data[0], *mask = data[1];
  if (strides[0] == static_cast<int64_t>(sizeof(T)) && strides[1] == 1) {
    T* out = reinterpret_cast<T*>(to);
    const auto* m = reinterpret_cast<const uint8_t*>(mask);
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_integral_v<T>) {
        out[i] = m[i] ? value : out[i];
      } else {
        if (m[i]) out[i] = value;
      }
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (*reinterpret_cast<const uint8_t*>(mask + i * strides[1])) *reinterpret_cast<T*>(to + i * strides[0]) = value;
  }
}

void fill_masked(const Tensor& self, const Tensor& mask, const Scalar& value) {
  if (self.numel() == 0) return;
  if (C10_UNLIKELY(!is_aligned(self))) {
    DenseInPlace work(self);
    fill_masked(work.tensor(), mask, value);
    return work.commit();
  }
  const ScalarBytes bytes = scalar_bytes(value, self.scalar_type());
  const cpu::Operand operands[] = {operand(self), operand(mask)};
  const cpu::LoopNest nest(operands, 2);
  cpu::visit_item_size(static_cast<int64_t>(self.itemsize()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    nest.run(fill_run<T>, bytes.bytes);
  });
}

Scalar scalar_value(const Tensor& value) {
  TORCH_CHECK(
      value.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.dim(), " dimension(s).");
  return at::item(value);
}

TensorSpec fill_spec(const Tensor& self, const Tensor& mask) {
  check_mask("masked_fill_", mask);
  return {broadcast_shapes(mask.sizes(), self.sizes()), {}, self.scalar_type(), self.device()};
}

Tensor dense_mask(const Tensor& mask, IntArrayRef sizes) {
  return dense(mask.sizes() == sizes ? mask : at::expand(mask, sizes));
}

// Which of n elements are taken, in order: pieces are counted in parallel, so that each knows where what it takes lies.
class Taken {
 public:
  // count(begin, end): how many of these are.
  template <class Count>
  Taken(int64_t n, const Count& count) : n_(n), starts_(static_cast<size_t>((n + kPiece - 1) / kPiece) + 1) {
    for_pieces([&](size_t piece, int64_t begin, int64_t end) { starts_[piece + 1] = count(begin, end); });
    for (size_t piece = 1; piece < starts_.size(); ++piece) starts_[piece] += starts_[piece - 1];
  }
  int64_t count() const { return starts_.back(); }
  // write(first element of a piece, number of the first that it takes, number of the first that it does not): may stop at the
  // last one.
  template <class Write>
  void write(const Write& write) const {
    for_pieces([&](size_t piece, int64_t begin, int64_t) { write(begin, starts_[piece], starts_[piece + 1]); });
  }

 private:
  static constexpr int64_t kPiece = 16384;
  template <class F>
  void for_pieces(const F& f) const {
    at::parallel_for(0, static_cast<int64_t>(starts_.size()) - 1, 4, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) f(static_cast<size_t>(p), p * kPiece, std::min(n_, (p + 1) * kPiece));
    });
  }

  int64_t n_;
  std::vector<int64_t> starts_;
};

Taken taken_by(const uint8_t* mask, int64_t n) {
  return {n, [mask](int64_t begin, int64_t end) {
            int64_t count = 0;
            for (int64_t i = begin; i < end; ++i) count += mask[i] != 0;
            return count;
          }};
}

void check_source(const Tensor& self, const Tensor& source) {
  TORCH_CHECK(
      self.scalar_type() == source.scalar_type(),
      "masked_scatter: expected self and source to have same dtypes but got ", toString(self.scalar_type()), " and ",
      toString(source.scalar_type()));
}

void scatter_masked(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_source(self, source);
  const Tensor wide = dense_mask(apart_from(self, mask), self.sizes());
  const auto* m = static_cast<const uint8_t*>(wide.const_data_ptr());
  const Taken taken = taken_by(m, wide.numel());
  TORCH_CHECK(taken.count() <= source.numel(), "Number of elements of source < number of ones in mask");
  const Tensor from = dense(apart_from(self, source));
  DenseInPlace work(self);
  cpu::visit_item_size(static_cast<int64_t>(self.itemsize()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(work.tensor().mutable_data_ptr());
    const T* values = static_cast<const T*>(from.const_data_ptr());
    taken.write([&](int64_t i, int64_t next, int64_t end) {
      for (; next < end; ++i) {
        if (m[i]) to[i] = values[next++];
      }
    });
  });
  work.commit();
}

template <class T>
bool is_nonzero(T x) {
  if constexpr (c10::is_complex_v<T>) {
    return x.real() != 0 || x.imag() != 0;
  } else if constexpr (std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>) {
    return static_cast<float>(x) != 0;
  } else {
    return x != T(0);
  }
}

template <class T>
Taken nonzeros(const T* x, int64_t n) {
  return {n, [x](int64_t begin, int64_t end) {
            int64_t count = 0;
            for (int64_t i = begin; i < end; ++i) count += is_nonzero(x[i]);
            return count;
          }};
}

// The coordinates, row by row of `to`, of those elements of the dense `x` that are not zero; of the first `limit`.
template <class T>
void write_nonzeros(const T* x, IntArrayRef sizes, const Taken& taken, int64_t limit, int64_t* to) {
  const auto rank = static_cast<int64_t>(sizes.size());
  if (rank == 0) return;
  const int64_t width = sizes[sizes.size() - 1];
  taken.write([&](int64_t begin, int64_t next, int64_t end) {
    end = std::min(end, limit);
    if (next >= end) return;
    DimVector at(static_cast<size_t>(rank));  // the coordinates of `begin`, then of the rows that follow
    int64_t rest = begin;
    for (int64_t d = rank - 1; d >= 0; rest /= sizes[static_cast<size_t>(d)], --d) {
      at[static_cast<size_t>(d)] = rest % sizes[static_cast<size_t>(d)];
    }
    int64_t column = at[static_cast<size_t>(rank - 1)];
    for (const T* row = x + begin - column;; row += width, column = 0) {
      // Without a branch on the element: each is written where the next that is not zero belongs.
      for (; column < width && next < end; ++column) {
        int64_t* const place = to + next * rank;
        for (int64_t d = 0; d < rank - 1; ++d) place[d] = at[static_cast<size_t>(d)];
        place[rank - 1] = column;
        next += is_nonzero(row[column]);
      }
      if (next == end) return;
      for (int64_t d = rank - 2; d >= 0 && ++at[static_cast<size_t>(d)] == sizes[static_cast<size_t>(d)]; --d) {
        at[static_cast<size_t>(d)] = 0;
      }
    }
  });
}

}  // namespace

TensorSpec masked_fill_meta(const Tensor& self, const Tensor& mask, const Scalar&) { return fill_spec(self, mask); }
void masked_fill_cpu(const Tensor& self, const Tensor& mask, const Scalar& value, Tensor& out) {
  scalar_bytes(value, out.scalar_type());  // throws before anything is written
  at::copy_(out, self);
  fill_masked(out, mask, value);
}
Tensor& masked_fill_inplace(Tensor& self, const Tensor& mask, const Scalar& value) {
  check_inplace_mask("masked_fill_", self, mask);
  fill_masked(self, apart_from(self, mask), value);
  return self;
}
TensorSpec masked_fill_tensor_meta(const Tensor& self, const Tensor& mask, const Tensor& value) {
  TORCH_CHECK(
      value.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.dim(), " dimension(s).");
  return fill_spec(self, mask);
}
void masked_fill_tensor_cpu(const Tensor& self, const Tensor& mask, const Tensor& value, Tensor& out) {
  masked_fill_cpu(self, mask, scalar_value(value), out);
}
Tensor& masked_fill_tensor_inplace(Tensor& self, const Tensor& mask, const Tensor& value) {
  return masked_fill_inplace(self, mask, scalar_value(value));
}

Tensor masked_scatter_meta(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_mask("masked_scatter", mask);
  check_source(self, source);
  structured::check_one_device(self, mask, source);
  return empty_contiguous(broadcast_shapes(mask.sizes(), self.sizes()), self.scalar_type(), self.device());
}
Tensor& masked_scatter_meta_(Tensor& self, const Tensor& mask, const Tensor& source) {
  check_inplace_mask("masked_scatter_", self, mask);
  check_source(self, source);
  structured::check_one_device(self, mask, source);
  return self;
}
Tensor masked_scatter_cpu(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_mask("masked_scatter", mask);
  const DimVector shape = broadcast_shapes(mask.sizes(), self.sizes());
  Tensor out = at::clone(at::expand(self, shape), MemoryFormat::Contiguous);
  scatter_masked(out, mask, source);
  return out;
}
Tensor& masked_scatter_inplace(Tensor& self, const Tensor& mask, const Tensor& source) {
  check_inplace_mask("masked_scatter_", self, mask);
  scatter_masked(self, mask, source);
  return self;
}

Tensor masked_scatter_backward(const Tensor& grad_output, const Tensor& mask, IntArrayRef sizes) {
  const int64_t length = c10::checked_numel(sizes);
  const Tensor used = at::masked_select(grad_output, mask);
  const int64_t missing = length - used.numel();
  TORCH_CHECK(missing >= 0, "masked_scatter_backward: a source of size ", sizes,
              " has fewer elements than the mask has true ones, ", used.numel());
  return at::reshape(at::cat({used, at::zeros({missing}, used.options())}, 0), sizes);
}

Tensor masked_select_cpu(const Tensor& self, const Tensor& mask) {
  check_select_mask(mask);
  const DimVector shape = broadcast_shapes(mask.sizes(), self.sizes());
  const Tensor x = dense(self.sizes() == IntArrayRef(shape) ? self : at::expand(self, shape)), m = dense_mask(mask, shape);
  const auto* keep = static_cast<const uint8_t*>(m.const_data_ptr());
  const Taken taken = taken_by(keep, m.numel());
  Tensor out = empty_contiguous({taken.count()}, self.scalar_type(), self.device());
  cpu::visit_item_size(static_cast<int64_t>(self.itemsize()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out.mutable_data_ptr());
    const T* from = static_cast<const T*>(x.const_data_ptr());
    taken.write([&](int64_t i, int64_t next, int64_t end) {
      for (; next < end; ++i) {
        to[next] = from[i];
        next += keep[i] != 0;
      }
    });
  });
  return out;
}

Tensor nonzero_cpu(const Tensor& self) {
  const Tensor x = dense(self);
  Tensor out;
  cpu::visit_all(x.scalar_type(), "nonzero", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const elements = static_cast<const T*>(x.const_data_ptr());
    const Taken taken = nonzeros(elements, x.numel());
    out = empty_contiguous({taken.count(), self.dim()}, ScalarType::Long, self.device());
    write_nonzeros(elements, self.sizes(), taken, taken.count(), static_cast<int64_t*>(out.mutable_data_ptr()));
  });
  return out;
}

TensorSpec nonzero_static_meta(const Tensor& self, int64_t size, int64_t) {
  TORCH_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
  return {{size, self.dim()}, {}, ScalarType::Long, self.device()};
}
void nonzero_static_cpu(const Tensor& self, int64_t size, int64_t fill_value, Tensor& out) {
  const Tensor x = dense(self);
  DenseOut y(out);
  auto* to = y.data<int64_t>();
  cpu::visit_all(x.scalar_type(), "nonzero", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const elements = static_cast<const T*>(x.const_data_ptr());
    const Taken taken = nonzeros(elements, x.numel());
    const int64_t count = std::min(size, taken.count());
    write_nonzeros(elements, self.sizes(), taken, count, to);
    std::fill(to + count * self.dim(), to + size * self.dim(), fill_value);
  });
  y.commit();
}

Tensor argwhere(const Tensor& self) { return at::nonzero(self); }

std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  return at::unbind(at::nonzero(self.dim() == 0 ? at::unsqueeze(self, 0) : self), 1);
}
std::vector<Tensor> where_indices(const Tensor& condition) { return at::nonzero_numpy(condition); }

}  // namespace at::native
