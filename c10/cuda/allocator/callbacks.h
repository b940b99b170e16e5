#pragma once

namespace c10::cuda::CUDACachingAllocator {

bool has_free_memory_callbacks();
/// Calls what register_free_memory_callback was given; whether one says that it freed memory.
bool run_free_memory_callbacks();

}  // namespace c10::cuda::CUDACachingAllocator
