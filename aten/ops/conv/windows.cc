#include "aten/ops/conv/windows.h"

#include <string>

#include "c10/util/string_util.h"

namespace at::native {
namespace {

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

}  // namespace

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

}  // namespace at::native
