// MemoryFormat: the order in memory that a dense tensor's strides describe.
//
// ChannelsLast stores N, C, H, W as N, H, W, C; ChannelsLast3d stores N, C, D, H, W as N, D, H, W, C. Sizes keep their
// logical order. Preserve asks a function to keep its input's format.
#pragma once

#include <cstdint>
#include <string>

#include "c10/util/array_ref.h"
#include "c10/util/small_vector.h"
#include "c10/util/text_stream.h"

namespace c10 {

enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d, NumOptions };

constexpr const char* toString(MemoryFormat format) {
  constexpr const char* kNames[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d",
                                    "Unknown memory format"};
  return kNames[static_cast<size_t>(format)];
}
inline void to_text(std::string& out, MemoryFormat format) {
  out += toString(format);
}

template <TextStream Stream, SameType<MemoryFormat> X>
Stream& operator<<(Stream& out, X format) {
  out << toString(format);
  return out;
}

inline MemoryFormat get_contiguous_memory_format() {
  return MemoryFormat::Contiguous;
}

// Strides of a contiguous tensor of these sizes (a size of 0 counts as 1).
DimVector contiguous_strides(IntArrayRef sizes);
// Strides in ChannelsLast order: 4 dimensions, or 3 (C, H, W); throws for any other count.
DimVector get_channels_last_strides_2d(IntArrayRef sizes);
// Strides in ChannelsLast3d order: 5 dimensions, or 4 (C, D, H, W); throws for any other count.
DimVector get_channels_last_strides_3d(IntArrayRef sizes);
// Strides for a format; throws for Preserve and where the format does not fit the number of dimensions.
DimVector strides_for_format(IntArrayRef sizes, MemoryFormat format);

// Whether strides order a 4-d tensor (5-d for _3d) as N, spatial, C. Where the sizes of 1 leave it open (such as
// N,1,H,W with contiguous strides, or stride of C above that of W) the answer is no, so that ambiguous tensors count as
// contiguous.
bool is_channels_last_strides_2d(IntArrayRef sizes, IntArrayRef strides);
bool is_channels_last_strides_3d(IntArrayRef sizes, IntArrayRef strides);

}  // namespace c10

namespace at {
using c10::MemoryFormat;
}
