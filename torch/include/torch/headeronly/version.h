// The version of libtorch whose C++ API this is, for programs that ask for it in #if.
#pragma once

#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 15
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.15.0"

// The same in one number: a byte each for the three parts, the highest first, and a tag in the rest.
#define TORCH_VERSION_ABI_TAG 0
#define TORCH_ABI_VERSION                                                          \
  (((0ULL + TORCH_VERSION_MAJOR) << 56) | ((0ULL + TORCH_VERSION_MINOR) << 48) |   \
   ((0ULL + TORCH_VERSION_PATCH) << 40) | ((0ULL + TORCH_VERSION_ABI_TAG) << 0))
