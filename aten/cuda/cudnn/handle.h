// Handles of cuDNN.
#pragma once

#include <cudnn.h>

namespace at::native {

/// A handle of the current device for the calling thread alone, on the current stream. A thread's handles go to other
/// threads when it ends. Throws c10::Error where a call of the library fails.
cudnnHandle_t getCudnnHandle();

}  // namespace at::native
