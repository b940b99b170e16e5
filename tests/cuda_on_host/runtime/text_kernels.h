// What code that was compiled while a program runs says of its kernels: the stand-in of NVRTC puts it there
// (tests/cuda_on_host/nvrtc/device_text.h), cudaLibraryLoadData reads it.
#pragma once

#ifdef __cplusplus
#include <stddef.h>
#endif

namespace simt {

struct TextKernel {
  const char* name;  // null behind the last
  const void* function;
  size_t bytes;                                           // of all arguments
  void (*copy)(void** arguments, void* to);               // as a launch gives them
  int (*pointers)(const void* from, const void** which);  // those that are; null where they are not
  int count;                                              // of arguments
  void (*call)(void* from);
};

}  // namespace simt
