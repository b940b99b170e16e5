#pragma once

#include <cstdint>

#include "aten/cuda/elementwise_call.h"
#include "aten/quantized/product_result.h"

namespace at::cuda {

/// A convolution of bytes with signed bytes, all in device memory, for fewer than 2^31 results. Arrays of a dimension
/// have depth, height and width.
struct ByteProductCall {
  const char* name;
  const uint8_t* input;        // [rows of the input..., channels]
  const int8_t* weight;        // [outputs of all groups, kernel places, words_of_place * 4]
  const int32_t* sums;         // one an output, of its weights
  const int32_t* zero_points;  // one an output, or null: 0
  const float *scales, *bias;  // one an output
  void* out;                   // [rows, outputs of all groups]
  quantized::ProductResult result;
  int32_t zero_point;         // of the input
  uint32_t rows;              // images times places of the result
  uint32_t groups, channels;  // of all groups
  uint32_t inputs, outputs;   // of a group
  uint32_t kernel_places;
  bool by_words;  // whether the bytes of a place of the input lie in whole words
  int32_t in[3], stride[3], padding[3], dilation[3];
  FastDivisor spread[3];
  FastDivisor out_sizes[3], kernel[3];
  FastDivisor words_of_place;
  FastDivisor all_outputs, group_outputs;
};
void launch_byte_product(const ByteProductCall& call);

}  // namespace at::cuda
