// im2col, which lays the windows of a picture side by side, and col2im, which adds them up again.
#include <cstring>
#include <string>

#include "aten/core/tensor.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/conv/kernels.h"
#include "aten/ops/dense/dense.h"
#include "c10/parallel/parallel.h"
#include "c10/util/string_util.h"

namespace at::native {
namespace {

struct Windows {
  int64_t batch = 1, channels = 0, size[2], kernel[2], dilation[2], padding[2], stride[2], count[2];
  int64_t columns() const { return count[0] * count[1]; }
  int64_t places() const { return kernel[0] * kernel[1]; }
};

void read_pair(const char* op, const char* name, IntArrayRef values, bool positive, int64_t* to) {
  TORCH_CHECK(values.size() == 2 || values.size() == 1, "It is expected ", name, " equals to 2, but got size ",
              values.size());
  for (int i = 0; i < 2; ++i) {
    to[i] = values[values.size() == 1 ? 0 : i];
    TORCH_CHECK(positive ? to[i] > 0 : to[i] >= 0, op, ": ", name,
                positive ? " should be greater than zero, but got " : " should be non negative, but got ", values);
  }
}

std::string pair_text(const int64_t* pair) {
  return c10::str("(", pair[0], ", ", pair[1], ")");
}

Windows check(const char* op, IntArrayRef picture, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
  Windows w;
  read_pair(op, "kernel_size", kernel_size, true, w.kernel);
  read_pair(op, "dilation", dilation, true, w.dilation);
  read_pair(op, "padding", padding, false, w.padding);
  read_pair(op, "stride", stride, true, w.stride);
  bool some = true;
  for (int i = 0; i < 2; ++i) {
    w.size[i] = picture[i];
    const __int128 room =
        __int128{picture[i]} + __int128{2} * w.padding[i] - __int128{w.dilation[i]} * (w.kernel[i] - 1) - 1;
    TORCH_CHECK(room < (__int128{1} << 62) && room > -(__int128{1} << 62), op,
                ": the number of sliding blocks overflows for kernel_size=", kernel_size, ", dilation=", dilation,
                ", padding=", padding);
    const int64_t r = static_cast<int64_t>(room);
    // Rounded down, also where it is negative.
    w.count[i] = (r >= 0 ? r / w.stride[i] : -((w.stride[i] - 1 - r) / w.stride[i])) + 1;
    some = some && picture[i] > 0 && w.count[i] > 0;
  }
  TORCH_CHECK(some, "Given input with spatial size ", pair_text(w.size), ", kernel_size=", pair_text(w.kernel),
              ", dilation=", pair_text(w.dilation), ", padding=", pair_text(w.padding),
              ", calculated shape of the array of sliding blocks as ", pair_text(w.count),
              ", but its components must be at least one.");
  int64_t product;
  TORCH_CHECK(!__builtin_mul_overflow(w.kernel[0], w.kernel[1], &product) &&
                  !__builtin_mul_overflow(w.count[0], w.count[1], &product),
              op, ": the number of sliding blocks or of their places overflows for kernel_size=", kernel_size);
  return w;
}

// f(index into the plane, index into its windows) for every place of a window that lies inside.
template <class F>
void for_each_place(const Windows& w, const F& f) {
  int64_t at = 0;
  for (int64_t ky = 0; ky < w.kernel[0]; ++ky)
    for (int64_t kx = 0; kx < w.kernel[1]; ++kx)
      for (int64_t y = 0; y < w.count[0]; ++y)
        for (int64_t x = 0; x < w.count[1]; ++x, ++at) {
          const int64_t row = y * w.stride[0] - w.padding[0] + ky * w.dilation[0],
                        col = x * w.stride[1] - w.padding[1] + kx * w.dilation[1];
          if (row >= 0 && row < w.size[0] && col >= 0 && col < w.size[1]) f(row * w.size[1] + col, at);
        }
}

Windows im2col_windows(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                       IntArrayRef stride) {
  const int64_t rank = self.dim();
  TORCH_CHECK_INDEX(rank >= 3, "Dimension out of range (expected to be in range of [", -rank, ", ", rank - 1,
                    "], but got ", -3, "): im2col takes an image [C, H, W] or a batch of them");
  TORCH_CHECK(rank <= 4 && self.size(rank - 1) > 0 && self.size(rank - 2) > 0 && self.size(rank - 3) > 0,
              "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
              "input, but got: ",
              self.sizes());
  Windows w =
      check("im2col", self.sizes().slice(static_cast<size_t>(rank) - 2), kernel_size, dilation, padding, stride);
  w.batch = rank == 4 ? self.size(0) : 1;
  w.channels = self.size(rank - 3);
  int64_t rows;
  TORCH_CHECK(!__builtin_mul_overflow(w.channels, w.places(), &rows),
              "im2col: the size of the result overflows for kernel_size=", kernel_size);
  return w;
}

Windows col2im_windows(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
                       IntArrayRef padding, IntArrayRef stride) {
  const int64_t rank = self.dim();
  TORCH_CHECK(output_size.size() == 2, "It is expected output_size equals to 2, but got size ", output_size.size());
  TORCH_CHECK(rank == 2 || rank == 3,
              "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
              "input, but got: ",
              self.sizes());
  Windows w = check("col2im", output_size, kernel_size, dilation, padding, stride);
  w.batch = rank == 3 ? self.size(0) : 1;
  const int64_t rows = self.size(rank - 2);
  TORCH_CHECK(
      rows > 0 && rows % w.places() == 0,
      "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)=",
      rows, " and kernel_size=(", c10::Join(", ", kernel_size), ").");
  TORCH_CHECK(self.size(rank - 1) == w.columns(), "Given output_size=", output_size, ", kernel_size=", kernel_size,
              ", dilation=", dilation, ", padding=", padding, ", stride=", stride,
              ", expected size of input's dimension 2 to match the calculated number of sliding blocks ", w.count[0],
              " * ", w.count[1], " = ", w.columns(), ", but got input.size(2)=", self.size(rank - 1), ".");
  w.channels = rows / w.places();
  return w;
}

}  // namespace

TensorSpec im2col_meta(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                       IntArrayRef stride) {
  const Windows w = im2col_windows(self, kernel_size, dilation, padding, stride);
  DimVector sizes;
  if (self.dim() == 4) sizes.push_back(w.batch);
  int64_t rows;
  TORCH_CHECK(!__builtin_mul_overflow(w.places(), w.channels, &rows), "im2col: the size of the result overflows");
  sizes.push_back(rows);
  sizes.push_back(w.columns());
  return {sizes, {}, self.scalar_type(), self.device()};
}

void im2col_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                IntArrayRef stride, Tensor& out) {
  const Windows w = im2col_windows(self, kernel_size, dilation, padding, stride);
  const Tensor x = dense(self);
  DenseOut to(out);
  cpu::visit_item_size(static_cast<int64_t>(self.itemsize()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = static_cast<const T*>(x.data_ptr());
    T* result = to.template data<T>();
    const int64_t plane = w.size[0] * w.size[1], unfolded = w.places() * w.columns();
    at::parallel_for(0, w.batch * w.channels, 1 + 32768 / (unfolded + 1), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        std::memset(static_cast<void*>(result + p * unfolded), 0, static_cast<size_t>(unfolded) * sizeof(T));
        for_each_place(w, [&](int64_t from, int64_t at) { result[p * unfolded + at] = in[p * plane + from]; });
      }
    });
  });
  to.commit();
}

TensorSpec col2im_meta(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
                       IntArrayRef padding, IntArrayRef stride) {
  const Windows w = col2im_windows(self, output_size, kernel_size, dilation, padding, stride);
  DimVector sizes;
  if (self.dim() == 3) sizes.push_back(w.batch);
  for (int64_t s : {w.channels, w.size[0], w.size[1]}) sizes.push_back(s);
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != kBool, "\"col2im\" not implemented for 'Bool'");
  return {sizes, {}, self.scalar_type(), self.device()};
}

void col2im_cpu(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
                IntArrayRef padding, IntArrayRef stride, Tensor& out) {
  const Windows w = col2im_windows(self, output_size, kernel_size, dilation, padding, stride);
  // float16 and bfloat16 add up in float32.
  const ScalarType type = self.itemsize() == 2 && isFloatingType(self.scalar_type()) ? kFloat : self.scalar_type();
  const Tensor x = dense(self, type);
  DenseOut to(out, type);
  cpu::visit_all(type, "col2im", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = x.data_ptr<T>();
    T* result = to.template data<T>();
    const int64_t plane = w.size[0] * w.size[1], unfolded = w.places() * w.columns();
    at::parallel_for(0, w.batch * w.channels, 1 + 32768 / (unfolded + 1), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        for (int64_t i = 0; i < plane; ++i) result[p * plane + i] = T(0);
        for_each_place(w, [&](int64_t place, int64_t at) {
          T& sum = result[p * plane + place];
          sum = static_cast<T>(sum + in[p * unfolded + at]);
        });
      }
    });
  });
  to.commit();
}

}  // namespace at::native
