// Compiler hints, export markers and small preprocessor helpers, under libtorch's names.
#pragma once

// Symbols are exported by default; the markers exist so that code written for libtorch compiles.
#define C10_EXPORT __attribute__((__visibility__("default")))
#define C10_IMPORT C10_EXPORT
#define C10_HIDDEN __attribute__((__visibility__("hidden")))
#define C10_API
#define C10_API_ENUM
#define TORCH_API
#define TORCH_PYTHON_API
#define TORCH_CUDA_CPP_API
#define TORCH_CUDA_CU_API
#define TORCH_HIP_CPP_API
#define TORCH_HIP_API
#define TORCH_XPU_API
#define C10_CUDA_API
#define C10_XPU_API
#define CAFFE2_API

#define C10_LIKELY(expr) (__builtin_expect(static_cast<bool>(expr), 1))
#define C10_UNLIKELY(expr) (__builtin_expect(static_cast<bool>(expr), 0))
#define C10_NOINLINE __attribute__((noinline))
#define C10_ALWAYS_INLINE __attribute__((always_inline)) inline
#define C10_ALWAYS_INLINE_UNLESS_MOBILE C10_ALWAYS_INLINE
#define C10_ALWAYS_INLINE_ATTRIBUTE __attribute__((always_inline))
#define C10_ATTR_VISIBILITY_HIDDEN __attribute__((__visibility__("hidden")))
#define C10_ERASE C10_ALWAYS_INLINE C10_ATTR_VISIBILITY_HIDDEN
#define C10_FLATTEN __attribute__((flatten))
#define C10_COLD __attribute__((cold, noinline))
#define C10_RESTRICT __restrict
#define C10_UNUSED __attribute__((__unused__))
#define C10_USED __attribute__((__used__))
#define C10_NODISCARD [[nodiscard]]
#define C10_FALLTHROUGH [[fallthrough]]
#define C10_CLANG_DIAGNOSTIC_PUSH()
#define C10_CLANG_DIAGNOSTIC_POP()
#define C10_CLANG_DIAGNOSTIC_IGNORE(flag)
#define C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED(warning)
#define C10_DIAGNOSTIC_POP()
#define C10_HAS_CPP_ATTRIBUTE(x) __has_cpp_attribute(x)
#ifdef __clang__
#define C10_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define C10_LIFETIMEBOUND
#endif
// What a function does on purpose, for -fsanitize=undefined.
#ifdef __clang__
#define __ubsan_ignore_float_divide_by_zero__ __attribute__((no_sanitize("float-divide-by-zero")))
#define __ubsan_ignore_undefined__ __attribute__((no_sanitize("undefined")))
#define __ubsan_ignore_signed_int_overflow__ __attribute__((no_sanitize("signed-integer-overflow")))
#define __ubsan_ignore_pointer_overflow__ __attribute__((no_sanitize("pointer-overflow")))
#define __ubsan_ignore_function__ __attribute__((no_sanitize("function")))
#define __ubsan_ignore_float_cast_overflow__ __attribute__((no_sanitize("float-cast-overflow")))
#else
#define __ubsan_ignore_float_divide_by_zero__
#define __ubsan_ignore_undefined__
#define __ubsan_ignore_signed_int_overflow__
#define __ubsan_ignore_pointer_overflow__
#define __ubsan_ignore_function__
#define __ubsan_ignore_float_cast_overflow__
#endif
#if defined(__SANITIZE_ADDRESS__)
#define C10_ASAN_ENABLED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define C10_ASAN_ENABLED 1
#endif
#endif
#ifndef C10_ASAN_ENABLED
#define C10_ASAN_ENABLED 0
#endif
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define C10_UBSAN_ENABLED 1
#endif
#endif
#ifndef C10_UBSAN_ENABLED
#define C10_UBSAN_ENABLED 0
#endif

#if defined(__CUDACC__) || defined(__HIPCC__)
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
// The block sizes that every device has; what a kernel asks for is cut to them.
#define C10_MAX_THREADS_PER_BLOCK(val) (((val) <= 1024) ? (val) : 256)
#define C10_MIN_BLOCKS_PER_SM(threads_per_block, blocks_per_sm)        \
  ((((threads_per_block) * (blocks_per_sm)) <= 1536) ? (blocks_per_sm) \
                                                     : ((1536 + (threads_per_block)-1) / (threads_per_block)))
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(max_threads_per_block) __launch_bounds__((C10_MAX_THREADS_PER_BLOCK((max_threads_per_block))))
#define C10_LAUNCH_BOUNDS_2(max_threads_per_block, min_blocks_per_sm)       \
  __launch_bounds__((C10_MAX_THREADS_PER_BLOCK((max_threads_per_block))), \
                    (C10_MIN_BLOCKS_PER_SM((max_threads_per_block), (min_blocks_per_sm))))
#else
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#endif
#ifdef __HIPCC__
#define C10_HIP_HOST_DEVICE __host__ __device__
#else
#define C10_HIP_HOST_DEVICE
#endif

#define C10_WARP_SIZE 32

// In code for a device; on the host a failed one ends the program, as assert does.
#ifdef NDEBUG
#define CUDA_KERNEL_ASSERT(cond)
#else
#define CUDA_KERNEL_ASSERT(cond) (C10_LIKELY(cond) ? static_cast<void>(0) : __builtin_trap())
#endif
#define CUDA_KERNEL_ASSERT_MSG(cond, msg) CUDA_KERNEL_ASSERT(cond)
#define CUDA_KERNEL_ASSERT_PRINTF(cond, msg, ...) CUDA_KERNEL_ASSERT(cond)
#define SYCL_KERNEL_ASSERT(cond) CUDA_KERNEL_ASSERT(cond)

#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_UID __COUNTER__
#define C10_ANONYMOUS_VARIABLE(prefix) C10_CONCATENATE(prefix, __COUNTER__)

#define C10_DISABLE_COPY_AND_ASSIGN(classname) \
  classname(const classname&) = delete;        \
  classname& operator=(const classname&) = delete
#define AT_DISALLOW_COPY_AND_ASSIGN(classname) C10_DISABLE_COPY_AND_ASSIGN(classname)

#define HIDDEN_NAMESPACE_BEGIN(...) namespace __VA_ARGS__ __attribute__((visibility("hidden"))) {
#define HIDDEN_NAMESPACE_END(...) }

#define C10_DEPRECATED [[deprecated]]
#define C10_DEPRECATED_MESSAGE(message) [[deprecated(message)]]
