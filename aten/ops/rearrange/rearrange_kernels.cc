// Results that hold their input's elements in another order or several times.
#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/copy.h"
#include "aten/cpu/pointwise.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/rearrange/kernels.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

namespace {

[[noreturn]] void throw_negative_size(const Tensor& self, IntArrayRef repeats, int64_t dim) {
  DimVector target;
  for (int64_t d = 0; d < static_cast<int64_t>(repeats.size()); ++d) {
    const int64_t own = d - (static_cast<int64_t>(repeats.size()) - self.dim());
    int64_t length;
    const bool overflows = __builtin_mul_overflow(own < 0 ? 1 : self.size(own), repeats[d], &length);
    target.push_back(!overflows ? length : repeats[d] < 0 ? INT64_MIN : INT64_MAX);
  }
  TORCH_CHECK(false, "Trying to create tensor with negative dimension ", target[dim], ": ", target);
}

}  // namespace

Tensor repeat(const Tensor& self, IntArrayRef repeats) {
  const int64_t rank = static_cast<int64_t>(repeats.size());
  TORCH_CHECK(rank >= self.dim(),
              "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  DimVector apart, together, result;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t own = d - (rank - self.dim());
    const int64_t size = own < 0 ? 1 : self.sizes()[own];
    if (repeats[d] < 0) throw_negative_size(self, repeats, d);
    apart.push_back(1);
    apart.push_back(size);
    together.push_back(repeats[d]);
    together.push_back(size);
    int64_t length;
    TORCH_CHECK_VALUE(!__builtin_mul_overflow(size, repeats[d], &length), "repeat: ", repeats[d], " times the size ", size,
                      " at dimension ", d, " overflows");
    result.push_back(length);
  }
  return at::reshape(at::clone(at::expand(at::reshape(self, apart), together), MemoryFormat::Contiguous), result);
}

Tensor tile(const Tensor& self, IntArrayRef dims) {
  DimVector repeats(dims.begin(), dims.end());
  while (static_cast<int64_t>(repeats.size()) < self.dim()) repeats.insert(repeats.begin(), 1);
  return at::repeat(self, repeats);
}

TensorSpec flip_meta(const Tensor& self, IntArrayRef dims) {
  uint64_t seen = 0;
  for (int64_t dim : dims) {
    const int64_t d = maybe_wrap_dim(dim, self.dim());
    TORCH_CHECK((seen & (uint64_t{1} << d)) == 0, "dim ", d, " appears multiple times in the list of dims");
    seen |= uint64_t{1} << d;
  }
  return pointwise::result_spec({self}, self.scalar_type());
}

void flip_cpu(const Tensor& self, IntArrayRef dims, Tensor& out) {
  if (self.numel() == 0) return;
  DimVector strides(self.strides().begin(), self.strides().end());
  int64_t first = 0;
  for (int64_t dim : dims) {
    if (self.dim() == 0) continue;
    const int64_t d = maybe_wrap_dim(dim, self.dim());
    first += (self.sizes()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  char* start = static_cast<char*>(self.data_ptr()) + first * static_cast<int64_t>(self.itemsize());
  const cpu::Operand source{start, self.sizes().data(), strides.data(), self.dim(), static_cast<int64_t>(self.itemsize())};
  cpu::copy(pointwise::operand_of(out), self.scalar_type(), source, self.scalar_type());
}

Tensor fliplr(const Tensor& self) {
  TORCH_CHECK(self.dim() >= 2, "Input must be >= 2-d.");
  return at::flip(self, {1});
}
Tensor flipud(const Tensor& self) {
  TORCH_CHECK(self.dim() >= 1, "Input must be >= 1-d.");
  return at::flip(self, {0});
}

TensorSpec roll_meta(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  TORCH_CHECK(!shifts.empty(), "`shifts` required");
  TORCH_CHECK(shifts.size() == dims.size() || (dims.empty() && shifts.size() == 1),
              "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  for (int64_t dim : dims) maybe_wrap_dim(dim, self.dim(), false);
  TensorSpec spec;
  spec.sizes = DimVector(self.sizes().begin(), self.sizes().end());
  spec.dtype = self.scalar_type();
  spec.device = self.device();
  return spec;
}

namespace {
// out = self with the element at i along d moved to (i + shift) mod size.
void roll_one(const Tensor& self, int64_t shift, int64_t d, const Tensor& out) {
  const int64_t item = static_cast<int64_t>(self.itemsize()), size = self.sizes()[d];
  const int64_t start = ((shift % size) + size) % size;  // where element 0 goes
  DimVector part(self.sizes().begin(), self.sizes().end());
  const auto move = [&](int64_t to, int64_t from, int64_t length) {
    if (length == 0) return;
    part[d] = length;
    const cpu::Operand dst{static_cast<char*>(out.data_ptr()) + to * out.strides()[d] * item, part.data(),
                           out.strides().data(), out.dim(), item};
    const cpu::Operand src{static_cast<char*>(self.data_ptr()) + from * self.strides()[d] * item, part.data(),
                           self.strides().data(), self.dim(), item};
    cpu::copy(dst, self.scalar_type(), src, self.scalar_type());
  };
  move(start, 0, size - start);
  move(0, size - start, start);
}
}  // namespace

void roll_cpu(const Tensor& self, IntArrayRef shifts, IntArrayRef dims, Tensor& out) {
  if (self.numel() == 0) return;
  if (dims.empty()) {
    const Tensor flat = at::reshape(self, {-1});
    if (out.is_contiguous()) {
      roll_one(flat, shifts[0], 0, at::view(out, {-1}));
    } else {
      at::copy_(out, at::view(at::roll(flat, shifts, {0}), self.sizes()));
    }
    return;
  }
  Tensor current = self;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool last = i + 1 == dims.size();
    const Tensor result = last ? out : empty_contiguous(self.sizes(), self.scalar_type());
    roll_one(current, shifts[i], maybe_wrap_dim(dims[i], self.dim(), false), result);
    current = result;
  }
}

Tensor rot90(const Tensor& self, int64_t k, IntArrayRef dims) {
  TORCH_CHECK(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", dims.size());
  TORCH_CHECK(self.dim() >= 2, "expected total dims >= 2, but got total dims = ", self.dim());
  const int64_t a = maybe_wrap_dim(dims[0], self.dim()), b = maybe_wrap_dim(dims[1], self.dim());
  TORCH_CHECK(a != b, "expected rotation dims to be different, but got dim0 = ", dims[0], " and dim1 = ", dims[1]);
  switch (((k % 4) + 4) % 4) {
    case 1: return at::transpose(at::flip(self, {b}), a, b);
    case 2: return at::flip(self, {a, b});
    case 3: return at::flip(at::transpose(self, a, b), {b});
    default: return at::clone(self, MemoryFormat::Contiguous);
  }
}

}  // namespace at::native
