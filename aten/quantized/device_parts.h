#pragma once

#include <cstdint>
#include <optional>

#include "aten/core/tensor.h"
#include "aten/quantized/product_result.h"
#include "aten/quantized/quantized_tensor_impl.h"

namespace at::matrix {
struct Convolution;
}

// What quantized_parts.h, packed_weights.h and row_tables.h do by loops for CPU tensors, for CUDA tensors: products and
// sums of rows by kernels, all else put together from operators, in aten/cuda/quantized. Named weakly, so that programs
// without CUDA tensors do not link it. The numbers are those of the CPU's loops.
namespace at::quantized::device {

/// Integers of `dtype` that stand for float numbers, in their memory order.
[[gnu::weak]] Tensor quantize(const Tensor& numbers, ScalarType dtype, const Quantizer& quantizer);
/// The numbers that integers stand for, float.
[[gnu::weak]] Tensor dequantize(const Tensor& integers, const Quantizer& quantizer);

/// Integers within [least, most].
[[gnu::weak]] Tensor clamp(const Tensor& integers, int64_t least, int64_t most);

/// Bytes in which `each` integers of `bits` bits share one, and those integers from the first on, as a tensor.
[[gnu::weak]] Tensor pack(const Tensor& integers, int64_t each, int bits);
[[gnu::weak]] Tensor unpack(const Tensor& bytes, int64_t first, IntArrayRef sizes, int64_t each, int bits);

/// The rounded means of the innermost `count` integers.
[[gnu::weak]] Tensor means_of_rows(const Tensor& integers, int64_t count, IntArrayRef sizes);

/// Bilinear interpolation of the distances of integers from the zero point, rounded.
[[gnu::weak]] Tensor upsample_bilinear2d(const Tensor& integers, IntArrayRef output_size, bool align_corners,
                                         std::optional<double> scales_h, std::optional<double> scales_w,
                                         int64_t zero_point);

/// A weight as kernels of products take it.
struct ProductWeight {
  Tensor words;        // [out_channels, kernel places, in_channels / groups], filled up to words with zeros
  Tensor sums;         // of each channel, Int
  Tensor zero_points;  // Int, one each; undefined: 0
  Tensor scales, bias;
};
/// `integers` are [out_channels, in_channels / groups, kernel...], Char; the others one a channel.
[[gnu::weak]] ProductWeight product_weight(const Tensor& integers, const Tensor& zero_points, const Tensor& scales,
                                           const Tensor& bias);
/// PackedWeight::convolve.
[[gnu::weak]] void convolve(const matrix::Convolution& c, const Tensor& input, int64_t zero_point,
                            const ProductWeight& weight, const ProductResult& result, const Tensor& out,
                            const int64_t* spread);

/// Tables as row_tables.h has them: of integers [rows, columns] (Byte) with scales and least numbers (Float) of rows,
/// which fill whole bytes; the integers of one; and of numbers [rows, columns] (Float), within the ends of each row
/// where they are given.
[[gnu::weak]] Tensor make_table(const Tensor& integers, const Tensor& scales, const Tensor& least, int bits);
[[gnu::weak]] Tensor table_integers(const Tensor& table, int64_t columns, int bits);
[[gnu::weak]] Tensor pack_rows(const Tensor& numbers, const Tensor& least_most, int bits);

/// A Lookup of dense tensors; what is undefined is as there.
struct TableLookup {
  Tensor table;
  int bits = 8;
  Tensor indices;  // Long; undefined: all rows
  Tensor offsets;  // Long; undefined: bags of `bag` indices
  int64_t bag = 1;
  Tensor weights;  // Float
  Tensor mapping;  // Int
  bool last_offset = false;
};
/// Indices and offsets are looked at by the kernel, which ends the device's work where they are wrong.
[[gnu::weak]] void sums_of_rows(const TableLookup& lookup, const Tensor& out);

}  // namespace at::quantized::device
