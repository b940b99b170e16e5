// Constant, reflecting, replicating and circular padding. A padded dimension is described by where each of its places comes
// from; the kernels copy (or, for the gradients, add up) along these tables.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/padding/kernels.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

enum class Mode { kReflect, kReplicate };

int64_t checked_sum(int64_t a, int64_t b, int64_t c) {
  int64_t sum;
  TORCH_CHECK(!__builtin_add_overflow(a, b, &sum) && !__builtin_add_overflow(sum, c, &sum), "pad: the size of the result overflows");
  return sum;
}

// The last `dims` dimensions of a tensor, right-aligned in three; what stands before them is `planes`.
struct Padded {
  int dims = 1;
  int64_t planes = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, before[3] = {0, 0, 0};
  DimVector result;
  int64_t inputs() const { return in[0] * in[1] * in[2]; }
  int64_t outputs() const { return out[0] * out[1] * out[2]; }
};

Padded check_padding(const char* op, int dims, Mode mode, const Tensor& self, IntArrayRef padding) {
  TORCH_CHECK(padding.size() == static_cast<size_t>(2 * dims), op, ": padding size is expected to be ", 2 * dims, ", but got: ", padding.size());
  const bool ranks = self.dim() == dims + 1 || self.dim() == dims + 2;
  bool filled = ranks;
  for (int64_t d = self.dim() == dims + 2 ? 1 : 0; ranks && d < self.dim(); ++d) filled = filled && self.size(d) > 0;
  TORCH_CHECK(filled, "Expected ", dims + 1, "D or ", dims + 2,
              "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ", self.sizes());
  Padded p;
  p.dims = dims;
  for (int64_t d = 0; d < self.dim() - dims; ++d) {
    p.planes *= self.size(d);
    p.result.push_back(self.size(d));
  }
  // From the last dimension on, as the padding names them.
  for (int i = dims; i-- > 0 && mode == Mode::kReflect;) {
    const int64_t size = self.size(self.dim() - dims + i), left = padding[2 * (dims - 1 - i)], right = padding[2 * (dims - 1 - i) + 1];
    TORCH_CHECK(left < size && right < size, "Argument #", 2 * (dims - i) + 2,
                ": Padding size should be less than the corresponding input dimension, but got: padding (", left, ", ", right,
                ") at dimension ", self.dim() - dims + i, " of input ", self.sizes());
  }
  constexpr const char* kLetters[] = {"D", "H", "W"};
  for (int i = 0; i < dims; ++i) {
    const int d = 3 - dims + i;
    const int64_t size = self.size(self.dim() - dims + i), left = padding[2 * (dims - 1 - i)], right = padding[2 * (dims - 1 - i) + 1];
    p.in[d] = size;
    p.out[d] = checked_sum(size, left, right);
    p.before[d] = left;
    TORCH_CHECK(p.out[d] >= 1, "input (", kLetters[d], ": ", size, ") is too small. Calculated output ", kLetters[d], ": ", p.out[d]);
    p.result.push_back(p.out[d]);
  }
  return p;
}

// Where each place of the padded dimension comes from.
std::vector<int64_t> sources(const Padded& p, int d, Mode mode) {
  std::vector<int64_t> from(static_cast<size_t>(p.out[d]));
  for (int64_t i = 0; i < p.out[d]; ++i) {
    int64_t at;
    if (__builtin_sub_overflow(i, p.before[d], &at)) at = p.in[d];  // far behind the end
    if (mode == Mode::kReplicate) {
      at = at < 0 ? 0 : at >= p.in[d] ? p.in[d] - 1 : at;
    } else {
      if (at < 0) at = -at;
      if (at >= p.in[d]) at = 2 * (p.in[d] - 1) - at;
    }
    from[static_cast<size_t>(i)] = at;
  }
  return from;
}

// Where the places of a row come from. Those of [first, last), which may be none, lie together there, too.
struct RowSources {
  std::vector<int64_t> width;
  int64_t first = 0, last = 0;

  explicit RowSources(std::vector<int64_t> from) : width(std::move(from)) {
    const auto n = static_cast<int64_t>(width.size());
    const auto goes_on = [&](int64_t i) { return i + 1 < n && width[i + 1] == width[i] + 1; };
    while (first < n && !goes_on(first)) ++first;
    for (last = first; goes_on(last); ++last) continue;
    if (last > first) ++last;
  }
};

template <class F>
void for_each_row(const Padded& p, Mode mode, const F& f) {
  if (p.planes == 0) return;
  const std::vector<int64_t> depth = sources(p, 0, mode), height = sources(p, 1, mode);
  const RowSources row(sources(p, 2, mode));
  at::parallel_for(0, p.planes, std::max<int64_t>(1, 32768 / std::max<int64_t>(p.outputs(), 1)), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane)
      for (int64_t z = 0; z < p.out[0]; ++z)
        for (int64_t y = 0; y < p.out[1]; ++y)
          f(plane * p.inputs() + (depth[z] * p.in[1] + height[y]) * p.in[2],
            plane * p.outputs() + (z * p.out[1] + y) * p.out[2], row);
  });
}

void pad_by_table(const char* op, int dims, Mode mode, const Tensor& self, IntArrayRef padding, Tensor& out) {
  const Padded p = check_padding(op, dims, mode, self, padding);
  const Tensor x = dense(self);
  DenseOut to(out);
  cpu::visit_item_size(static_cast<int64_t>(self.itemsize()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = static_cast<const T*>(x.data_ptr());
    T* result = to.template data<T>();
    for_each_row(p, mode, [&](int64_t from, int64_t at, const RowSources& row) {
      T* y = result + at;
      for (int64_t i = 0; i < row.first; ++i) y[i] = in[from + row.width[i]];
      if (row.last > row.first) std::copy_n(in + from + row.width[row.first], row.last - row.first, y + row.first);
      for (int64_t i = row.last; i < p.out[2]; ++i) y[i] = in[from + row.width[i]];
    });
  });
  to.commit();
}

void pad_by_table_backward(const char* op, int dims, Mode mode, const Tensor& grad_output, const Tensor& self, IntArrayRef padding, Tensor& out) {
  const Padded p = check_padding(op, dims, mode, self, padding);
  const ScalarType type = grad_output.itemsize() == 2 ? kFloat : grad_output.scalar_type();
  const Tensor x = dense(grad_output, type);
  DenseOut to(out, type);
  cpu::visit_all(type, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    to.clear();
    const T* grad = x.data_ptr<T>();
    T* result = to.data<T>();
    for_each_row(p, mode, [&](int64_t from, int64_t at, const RowSources& row) {
      const auto add = [](T& sum, T x) { sum = static_cast<T>(sum + x); };
      for (int64_t i = 0; i < row.first; ++i) add(result[from + row.width[i]], grad[at + i]);
      T* run = row.last > row.first ? result + from + row.width[row.first] : nullptr;
      for (int64_t i = row.first; i < row.last; ++i) add(run[i - row.first], grad[at + i]);
      for (int64_t i = row.last; i < p.out[2]; ++i) add(result[from + row.width[i]], grad[at + i]);
    });
  });
  to.commit();
}

TensorSpec forward_spec(const char* op, int dims, Mode mode, const Tensor& self, IntArrayRef padding) {
  return {check_padding(op, dims, mode, self, padding).result, {}, self.scalar_type(), self.device()};
}

TensorSpec backward_spec(const char* op, int dims, Mode mode, const Tensor& grad_output, const Tensor& self, IntArrayRef padding) {
  const Padded p = check_padding(op, dims, mode, self, padding);
  TORCH_CHECK(grad_output.sizes() == IntArrayRef(p.result), op, ": expected grad_output of size ", IntArrayRef(p.result), ", but got ", grad_output.sizes());
  TORCH_CHECK(grad_output.scalar_type() == self.scalar_type(), op, ": expected grad_output of type ", toString(self.scalar_type()),
              ", but got ", toString(grad_output.scalar_type()));
  return {DimVector(self.sizes().begin(), self.sizes().end()), {}, self.scalar_type(), self.device()};
}

// Row by row of `result`, which is contiguous, as `inside` is along its rows: the border in front, the part of `inside`
// that lies from `start` on, the border behind.
void pad_rows(const Tensor& inside, IntArrayRef start, const Scalar& value, const Tensor& result) {
  const IntArrayRef sizes = result.sizes(), kept = inside.sizes(), strides = inside.strides();
  const size_t outer = sizes.size() - 1;
  const int64_t width = sizes[outer], left = start[outer], middle = kept[outer];
  const Tensor border = at::full({1}, value, result.options());
  cpu::visit_item_size(static_cast<int64_t>(result.itemsize()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Foreign memory may lie anywhere.
    const char* const from = static_cast<const char*>(inside.const_data_ptr());
    const T blank = *static_cast<const T*>(border.const_data_ptr());
    T* const to = static_cast<T*>(result.mutable_data_ptr());
    at::parallel_for(0, result.numel() / width, std::max<int64_t>(1, 32768 / width), [&](int64_t begin, int64_t end) {
      DimVector place(outer, 0);
      for (int64_t d = static_cast<int64_t>(outer) - 1, left_over = begin; d >= 0; --d) {
        place[d] = left_over % sizes[d];
        left_over /= sizes[d];
      }
      for (int64_t r = begin; r < end; ++r) {
        T* const row = to + r * width;
        bool within = true;
        int64_t offset = 0;
        for (size_t d = 0; d < outer; ++d) {
          within = within && place[d] >= start[d] && place[d] - start[d] < kept[d];
          offset += (place[d] - start[d]) * strides[d];
        }
        if (within) {
          std::fill_n(row, left, blank);
          std::memcpy(row + left, from + offset * int64_t{sizeof(T)}, static_cast<size_t>(middle) * sizeof(T));
          std::fill_n(row + left + middle, width - left - middle, blank);
        } else {
          std::fill_n(row, width, blank);
        }
        for (size_t d = outer; d > 0 && ++place[d - 1] == sizes[d - 1]; --d) place[d - 1] = 0;
      }
    });
  });
}

}  // namespace

Tensor constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value) {
  TORCH_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals ", pad.size());
  const int64_t rank = self.dim(), padded = static_cast<int64_t>(pad.size() / 2);
  TORCH_CHECK(padded <= rank, "Length of pad should be no more than twice the number of dimensions of the input. Pad length is ",
              pad.size(), " while the input has ", rank, " dimensions.");
  // What is left of the input after negative padding, and where it lies in the result.
  DimVector sizes(self.sizes().begin(), self.sizes().end()), kept = sizes;
  int64_t from = self.storage_offset();
  DimVector start(static_cast<size_t>(rank), 0);
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t d = rank - 1 - i, left = pad[2 * i], right = pad[2 * i + 1];
    const int64_t size = checked_sum(sizes[d], left, right);
    TORCH_CHECK(size >= 0, "The input size ", sizes[d], ", plus negative padding ", left, " and ", right,
                " resulted in a negative output size, which is invalid. Check dimension ", d, " of your input.");
    const int64_t cut = left < 0 ? -left : 0, cut_end = right < 0 ? -right : 0;
    TORCH_CHECK(cut <= sizes[d] && cut_end <= sizes[d] - cut, "constant_pad_nd: the negative padding ", left, " and ", right,
                " removes more than the ", sizes[d], " elements of dimension ", d);
    kept[d] = std::max<int64_t>(0, sizes[d] - cut - cut_end);
    if (kept[d] > 0) from += cut * self.stride(d);
    start[d] = left > 0 ? left : 0;
    sizes[d] = size;
  }
  Tensor result = at::empty(sizes, self.options());
  bool anything = true;
  int64_t to = result.storage_offset();
  for (int64_t d = 0; d < rank; ++d) {
    kept[d] = std::min(kept[d], sizes[d] - std::min(start[d], sizes[d]));
    anything = anything && kept[d] > 0;
    to += start[d] * result.stride(d);
  }
  const Tensor kept_part = anything ? make_view(self, kept, self.strides(), from) : Tensor();
  if (anything && self.is_cpu() && rank > 0 && self.stride(-1) == 1) {
    pad_rows(kept_part, start, value, result);
    return result;
  }
  at::fill_(result, value);
  if (anything) {
    Tensor inside = make_view(result, kept, result.strides(), to);
    at::copy_(inside, kept_part, false);
  }
  return result;
}

TensorSpec reflection_pad1d_meta(const Tensor& self, IntArrayRef padding) { return forward_spec("reflection_pad1d", 1, Mode::kReflect, self, padding); }
void reflection_pad1d_cpu(const Tensor& self, IntArrayRef padding, Tensor& out) { pad_by_table("reflection_pad1d", 1, Mode::kReflect, self, padding, out); }
TensorSpec reflection_pad1d_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef padding) {
  return backward_spec("reflection_pad1d_backward", 1, Mode::kReflect, grad_output, self, padding);
}
void reflection_pad1d_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef padding, Tensor& out) {
  pad_by_table_backward("reflection_pad1d_backward", 1, Mode::kReflect, grad_output, self, padding, out);
}

TensorSpec reflection_pad2d_meta(const Tensor& self, IntArrayRef padding) { return forward_spec("reflection_pad2d", 2, Mode::kReflect, self, padding); }
void reflection_pad2d_cpu(const Tensor& self, IntArrayRef padding, Tensor& out) { pad_by_table("reflection_pad2d", 2, Mode::kReflect, self, padding, out); }
TensorSpec reflection_pad2d_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef padding) {
  return backward_spec("reflection_pad2d_backward", 2, Mode::kReflect, grad_output, self, padding);
}
void reflection_pad2d_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef padding, Tensor& out) {
  pad_by_table_backward("reflection_pad2d_backward", 2, Mode::kReflect, grad_output, self, padding, out);
}

TensorSpec reflection_pad3d_meta(const Tensor& self, IntArrayRef padding) { return forward_spec("reflection_pad3d", 3, Mode::kReflect, self, padding); }
void reflection_pad3d_cpu(const Tensor& self, IntArrayRef padding, Tensor& out) { pad_by_table("reflection_pad3d", 3, Mode::kReflect, self, padding, out); }
TensorSpec reflection_pad3d_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef padding) {
  return backward_spec("reflection_pad3d_backward", 3, Mode::kReflect, grad_output, self, padding);
}
void reflection_pad3d_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef padding, Tensor& out) {
  pad_by_table_backward("reflection_pad3d_backward", 3, Mode::kReflect, grad_output, self, padding, out);
}

TensorSpec replication_pad1d_meta(const Tensor& self, IntArrayRef padding) { return forward_spec("replication_pad1d", 1, Mode::kReplicate, self, padding); }
void replication_pad1d_cpu(const Tensor& self, IntArrayRef padding, Tensor& out) { pad_by_table("replication_pad1d", 1, Mode::kReplicate, self, padding, out); }
TensorSpec replication_pad1d_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef padding) {
  return backward_spec("replication_pad1d_backward", 1, Mode::kReplicate, grad_output, self, padding);
}
void replication_pad1d_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef padding, Tensor& out) {
  pad_by_table_backward("replication_pad1d_backward", 1, Mode::kReplicate, grad_output, self, padding, out);
}

TensorSpec replication_pad2d_meta(const Tensor& self, IntArrayRef padding) { return forward_spec("replication_pad2d", 2, Mode::kReplicate, self, padding); }
void replication_pad2d_cpu(const Tensor& self, IntArrayRef padding, Tensor& out) { pad_by_table("replication_pad2d", 2, Mode::kReplicate, self, padding, out); }
TensorSpec replication_pad2d_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef padding) {
  return backward_spec("replication_pad2d_backward", 2, Mode::kReplicate, grad_output, self, padding);
}
void replication_pad2d_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef padding, Tensor& out) {
  pad_by_table_backward("replication_pad2d_backward", 2, Mode::kReplicate, grad_output, self, padding, out);
}

TensorSpec replication_pad3d_meta(const Tensor& self, IntArrayRef padding) { return forward_spec("replication_pad3d", 3, Mode::kReplicate, self, padding); }
void replication_pad3d_cpu(const Tensor& self, IntArrayRef padding, Tensor& out) { pad_by_table("replication_pad3d", 3, Mode::kReplicate, self, padding, out); }
TensorSpec replication_pad3d_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef padding) {
  return backward_spec("replication_pad3d_backward", 3, Mode::kReplicate, grad_output, self, padding);
}
void replication_pad3d_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef padding, Tensor& out) {
  pad_by_table_backward("replication_pad3d_backward", 3, Mode::kReplicate, grad_output, self, padding, out);
}

namespace {

void check_pairs(const Tensor& self, IntArrayRef pad) {
  TORCH_CHECK(pad.size() % 2 == 0, "Padding length must be divisible by 2");
  TORCH_CHECK(static_cast<int64_t>(pad.size()) <= self.dim() * 2,
              "Padding length should be less than or equal to two times the input dimension but got padding length ",
              pad.size(), " and input of dimension ", self.dim());
}

}  // namespace

// Joins the end of each padded dimension, as it is after cropping, before it and its beginning behind it.
Tensor pad_circular(const Tensor& self, IntArrayRef pad) {
  check_pairs(self, pad);
  Tensor t = self;
  const int64_t dims = static_cast<int64_t>(pad.size() / 2);
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t d = self.dim() - 1 - i, size = self.size(d), left = pad[2 * i], right = pad[2 * i + 1];
    TORCH_CHECK(left <= size && right <= size, "Padding value causes wrapping around more than once.");
    TORCH_CHECK(checked_sum(size, left, right) >= 0, "Negative padding value is resulting in an empty dimension");
    const int64_t begin = left < 0 ? -left : 0, end = right < 0 ? size + right : size;
    TORCH_CHECK(left <= end - begin && right <= end - begin, "Padding value causes wrapping around more than once.");
    const Tensor body = at::narrow(t, d, begin, end - begin);
    std::vector<Tensor> pieces;
    if (left > 0) pieces.push_back(at::narrow(body, d, end - begin - left, left));
    pieces.push_back(body);
    if (right > 0) pieces.push_back(at::narrow(body, d, 0, right));
    t = pieces.size() == 1 ? pieces[0] : at::cat(pieces, d);
  }
  return t;
}

Tensor pad_enum(const Tensor& self, IntArrayRef pad, int64_t mode, std::optional<double> value) {
  static constexpr const char* kModes[] = {"reflect", "replicate", "circular", "constant"};
  TORCH_CHECK(mode >= 0 && mode < 4, "Unrecognised padding mode ", mode);
  return at::pad(self, pad, kModes[mode], value);
}

Tensor pad(const Tensor& self, IntArrayRef pad, std::string_view mode, std::optional<double> value) {
  check_pairs(self, pad);
  if (mode == "constant") return at::constant_pad_nd(self, pad, value.has_value() ? Scalar(*value) : Scalar(0));
  TORCH_CHECK(!value.has_value() || *value == 0, "Padding mode \"", mode, "\" doesn't take in value argument");
  const size_t dims = pad.size() / 2;
  const bool shaped = (dims == 1 && (self.dim() == 2 || self.dim() == 3)) || (dims == 2 && (self.dim() == 3 || self.dim() == 4)) ||
                      (dims == 3 && (self.dim() == 4 || self.dim() == 5));
  const bool known = mode == "reflect" || mode == "replicate" || mode == "circular";
  TORCH_CHECK_NOT_IMPLEMENTED(known, "Unrecognised padding mode ", mode);
  TORCH_CHECK_NOT_IMPLEMENTED(shaped, "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
  if (mode == "circular") return pad_circular(self, pad);
  if (mode == "reflect")
    return dims == 1 ? at::reflection_pad1d(self, pad) : dims == 2 ? at::reflection_pad2d(self, pad) : at::reflection_pad3d(self, pad);
  return dims == 1 ? at::replication_pad1d(self, pad) : dims == 2 ? at::replication_pad2d(self, pad) : at::replication_pad3d(self, pad);
}

}  // namespace at::native
