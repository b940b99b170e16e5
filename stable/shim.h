#pragma once

// The C interface that libtorch keeps stable: tensors, values and operators behind opaque handles. Functions return
// AOTI_TORCH_SUCCESS, or AOTI_TORCH_FAILURE after an error, whose text torch_exception_get_what() has; then no result is written.
//
// A handle that a function gives belongs to the caller, who gives it back with the delete function of its kind.

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "c10/core/scalar_type.h"
#include "c10/util/complex.h"

#define AOTI_TORCH_EXPORT
#define AOTI_TORCH_SUCCESS 0
#define AOTI_TORCH_FAILURE 1

extern "C" {

struct AtenTensorOpaque;     // an at::Tensor
struct AtenGeneratorOpaque;  // an at::Generator
struct StableListOpaque;     // values, one after the other
struct StringOpaque;
struct TorchLibraryOpaque;
struct DeviceGuardOpaque;
struct StreamOpaque;
using AtenTensorHandle = AtenTensorOpaque*;
using AtenGeneratorHandle = AtenGeneratorOpaque*;
using StableListHandle = StableListOpaque*;
using StringHandle = StringOpaque*;
using TorchLibraryHandle = TorchLibraryOpaque*;
using DeviceGuardHandle = DeviceGuardOpaque*;
using StreamHandle = StreamOpaque*;
using AOTITorchError = int32_t;

/// A value of any type in 64 bits: int, bool, float (a double's bits), ScalarType, Layout and MemoryFormat by value; Device as
/// its type in the upper half and its index in the lower; Tensor, Generator, str and lists as handles, which belong to who
/// receives the value; None as 0 and any other optional value as a pointer to a StableIValue of its own.
using StableIValue = uint64_t;

// --- Errors of the calling thread ---
const char* torch_exception_get_what();
const char* torch_exception_get_what_without_backtrace();

// --- Codes: those of the enumerations ---
#define KD_CODE_(name) int32_t aoti_torch_##name();
#define KD_FORALL_DTYPE_CODES_(_)                                                                                       \
  _(uint8, Byte) _(uint16, UInt16) _(uint32, UInt32) _(uint64, UInt64) _(int8, Char) _(int16, Short) _(int32, Int)       \
  _(int64, Long) _(float16, Half) _(float32, Float) _(float64, Double) _(bfloat16, BFloat16) _(bool, Bool)               \
  _(complex32, ComplexHalf) _(complex64, ComplexFloat) _(complex128, ComplexDouble) _(float8_e5m2, Float8_e5m2)          \
  _(float8_e4m3fn, Float8_e4m3fn) _(float8_e5m2fnuz, Float8_e5m2fnuz) _(float8_e4m3fnuz, Float8_e4m3fnuz)
#define KD_FORALL_DEVICE_CODES_(_) \
  _(cpu, CPU) _(cuda, CUDA) _(meta, Meta) _(xpu, XPU) _(mps, MPS) _(privateuse1, PrivateUse1)
#define KD_FORALL_LAYOUT_CODES_(_)                                                                                      \
  _(strided, Strided) _(sparse_coo, Sparse) _(sparse_csr, SparseCsr) _(sparse_csc, SparseCsc) _(sparse_bsr, SparseBsr) \
  _(sparse_bsc, SparseBsc) _(_mkldnn, Mkldnn) _(jagged, Jagged)
#define KD_FORALL_MEMORY_FORMAT_CODES_(_)                                                    \
  _(contiguous_format, Contiguous) _(channels_last, ChannelsLast) _(channels_last_3d, ChannelsLast3d) \
  _(preserve_format, Preserve)
#define KD_DECLARE_(name, value) KD_CODE_(dtype_##name)
KD_FORALL_DTYPE_CODES_(KD_DECLARE_)
#undef KD_DECLARE_
#define KD_DECLARE_(name, value) KD_CODE_(device_type_##name)
KD_FORALL_DEVICE_CODES_(KD_DECLARE_)
#undef KD_DECLARE_
#define KD_DECLARE_(name, value) KD_CODE_(layout_##name)
KD_FORALL_LAYOUT_CODES_(KD_DECLARE_)
#undef KD_DECLARE_
#define KD_DECLARE_(name, value) KD_CODE_(memory_format_##name)
KD_FORALL_MEMORY_FORMAT_CODES_(KD_DECLARE_)
#undef KD_DECLARE_
#undef KD_CODE_
int32_t torch_dtype_float8_e8m0fnu();
int32_t torch_dtype_float4_e2m1fn_x2();
uint64_t aoti_torch_abi_version();
size_t aoti_torch_dtype_element_size(int32_t dtype);

// --- Tensors ---
AOTITorchError aoti_torch_new_tensor_handle(AtenTensorHandle orig_handle, AtenTensorHandle* new_handle);
AOTITorchError aoti_torch_new_uninitialized_tensor(AtenTensorHandle* ret);
AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor);
AOTITorchError aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr, int32_t dtype,
                                        int32_t device_type, int32_t device_index, AtenTensorHandle* ret_new_tensor);
/// Over memory that stays the caller's, and must outlive the tensor and its views.
AOTITorchError aoti_torch_create_tensor_from_blob(void* data, int64_t ndim, const int64_t* sizes_ptr,
                                                  const int64_t* strides_ptr, int64_t storage_offset, int32_t dtype,
                                                  int32_t device_type, int32_t device_index, AtenTensorHandle* ret);
/// The same; `deleter`, unless it is null, is called with `data` and `deleter_ctx` after the last use.
AOTITorchError torch_from_blob(void* data, int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                               int64_t storage_offset, int32_t dtype, int32_t device_type, int32_t device_index,
                               AtenTensorHandle* ret, int32_t layout, const uint8_t* opaque_metadata,
                               int64_t opaque_metadata_size, void (*deleter)(void* data, void* ctx), void* deleter_ctx);
AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t ndim, const int64_t* sizes_ptr,
                                              const int64_t* strides_ptr, int64_t storage_offset,
                                              AtenTensorHandle* ret_new_tensor);
AOTITorchError aoti_torch_as_strided(AtenTensorHandle self, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                     AtenTensorHandle* ret);
AOTITorchError aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle* ret);
AOTITorchError aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle src, int32_t non_blocking);
AOTITorchError aoti_torch_zero_(AtenTensorHandle self);
/// dst becomes another handle of src's tensor.
AOTITorchError aoti_torch_assign_tensors(AtenTensorHandle src, AtenTensorHandle dst);

AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** ret_data_ptr);
AOTITorchError torch_get_mutable_data_ptr(AtenTensorHandle tensor, void** ret_data_ptr);
AOTITorchError torch_get_const_data_ptr(AtenTensorHandle tensor, const void** ret_data_ptr);
AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle tensor, int64_t* ret_size);
AOTITorchError aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* ret_dim);
AOTITorchError aoti_torch_get_numel(AtenTensorHandle tensor, int64_t* ret_numel);
/// The elements of the tensor's dtype that its storage holds.
AOTITorchError aoti_torch_get_storage_numel(AtenTensorHandle tensor, int64_t* ret_numel);
/// Of the tensor itself: valid as long as it is not resized.
AOTITorchError aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** ret_sizes);
AOTITorchError aoti_torch_get_size(AtenTensorHandle tensor, int64_t d, int64_t* ret_size);
AOTITorchError aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** ret_strides);
AOTITorchError aoti_torch_get_stride(AtenTensorHandle tensor, int64_t d, int64_t* ret_stride);
AOTITorchError aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* ret_dtype);
AOTITorchError aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* ret_device_type);
AOTITorchError aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* ret_device_index);
AOTITorchError aoti_torch_get_layout(AtenTensorHandle tensor, int32_t* ret_layout);
AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t* ret_storage_offset);
AOTITorchError aoti_torch_is_contiguous(AtenTensorHandle tensor, bool* ret_is_contiguous);
AOTITorchError aoti_torch_is_defined(AtenTensorHandle tensor, bool* ret_is_defined);
AOTITorchError torch_has_storage(AtenTensorHandle tensor, bool* ret_has_storage);
AOTITorchError torch_set_requires_grad(AtenTensorHandle tensor, bool requires_grad);

// Of a tensor of one element, the element; and a tensor of no dimensions of one.
#define KD_FORALL_ITEM_TYPES_(_)                                                                                        \
  _(float32, float) _(float64, double) _(uint8, uint8_t) _(uint16, uint16_t) _(uint32, uint32_t) _(uint64, uint64_t)     \
  _(int8, int8_t) _(int16, int16_t) _(int32, int32_t) _(int64, int64_t) _(bool, bool) _(float16, c10::Half)              \
  _(bfloat16, c10::BFloat16) _(complex64, c10::complex<float>)
#define KD_FORALL_SCALAR_TYPES_(_)                                                                                      \
  _(float32, float) _(float64, double) _(uint8, uint8_t) _(uint16, uint16_t) _(uint32, uint32_t) _(uint64, uint64_t)     \
  _(int8, int8_t) _(int16, int16_t) _(int32, int32_t) _(int64, int64_t) _(bool, bool)                                    \
  _(complex64, c10::complex<float>) _(complex128, c10::complex<double>)
#define KD_DECLARE_(name, type) AOTITorchError aoti_torch_item_##name(AtenTensorHandle tensor, type* ret_value);
KD_FORALL_ITEM_TYPES_(KD_DECLARE_)
#undef KD_DECLARE_
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif
#define KD_DECLARE_(name, type) \
  AOTITorchError aoti_torch_scalar_to_tensor_##name(type value, AtenTensorHandle* ret_new_tensor);
KD_FORALL_SCALAR_TYPES_(KD_DECLARE_)
#undef KD_DECLARE_
#ifdef __clang__
#pragma clang diagnostic pop
#endif

bool aoti_torch_grad_mode_is_enabled();
void aoti_torch_grad_mode_set_enabled(bool enabled);

// --- Lists and text ---
AOTITorchError torch_new_list_reserve_size(size_t size, StableListHandle* ret);
AOTITorchError torch_list_size(StableListHandle list_handle, size_t* size);
AOTITorchError torch_list_get_item(StableListHandle list_handle, size_t index, StableIValue* element);
AOTITorchError torch_list_set_item(StableListHandle list_handle, size_t index, StableIValue element);
AOTITorchError torch_list_push_back(StableListHandle list_handle, StableIValue element);
AOTITorchError torch_delete_list(StableListHandle list_handle);
AOTITorchError torch_new_string_handle(const char* data, size_t length, StringHandle* handle);
AOTITorchError torch_delete_string(StringHandle handle);
AOTITorchError torch_string_length(StringHandle handle, size_t* length);
AOTITorchError torch_string_c_str(StringHandle handle, const char** data);
/// What an optional value points to.
AOTITorchError torch_new_stable_ivalue(StableIValue** ret_value);
AOTITorchError torch_delete_stable_ivalue(StableIValue* value);

// --- Operators ---
/// Calls an operator by name, its arguments on the stack: they are consumed, and the results take their place.
AOTITorchError aoti_torch_call_dispatcher(const char* opName, const char* overloadName, StableIValue* stack);
AOTITorchError torch_call_dispatcher(const char* opName, const char* overloadName, StableIValue* stack,
                                     uint64_t extension_build_version);
AOTITorchError aoti_torch_library_init_def(const char* ns, const char* file, uint32_t line, TorchLibraryHandle* ret);
AOTITorchError aoti_torch_library_init_fragment(const char* ns, const char* file, uint32_t line, TorchLibraryHandle* ret);
AOTITorchError aoti_torch_library_init_impl(const char* ns, const char* k, const char* file, uint32_t line,
                                            TorchLibraryHandle* ret);
AOTITorchError aoti_torch_library_def(TorchLibraryHandle self, const char* schema);
#define KD_FORALL_TAGS_(_)                                                                                              \
  _(core) _(cudagraph_unsafe) _(data_dependent_output) _(dynamic_output_shape) _(flexible_layout) _(generated)          \
  _(inplace_view) _(maybe_aliasing_or_mutating) _(needs_contiguous_strides) _(needs_exact_strides)                      \
  _(needs_fixed_stride_order) _(nondeterministic_bitwise) _(nondeterministic_seeded) _(out_variant) _(pointwise)        \
  _(pt2_compliant_tag) _(reduction) _(view_copy)
#define KD_DECLARE_(name) int32_t torch_tag_##name();
KD_FORALL_TAGS_(KD_DECLARE_)
#undef KD_DECLARE_
AOTITorchError torch_library_def_with_tags(TorchLibraryHandle self, const char* schema, const int32_t* tags, int32_t num_tags);
/// `fn` finds its arguments on the stack, consumes them, and leaves its results in their place.
AOTITorchError aoti_torch_library_impl(TorchLibraryHandle self, const char* name,
                                       void (*fn)(StableIValue* stack, uint64_t num_args, uint64_t num_outputs));
AOTITorchError torch_library_impl(TorchLibraryHandle self, const char* name,
                                  void (*fn)(StableIValue* stack, uint64_t num_args, uint64_t num_outputs),
                                  uint64_t extension_build_version);
AOTITorchError torch_library_set_python_module(TorchLibraryHandle self, const char* pymodule, const char* context);
/// Takes back what was registered through it.
AOTITorchError aoti_torch_delete_library_object(TorchLibraryHandle tlh);

// --- Devices, streams, generators, threads ---
AOTITorchError torch_parse_device_string(const char* device_string, uint32_t* out_device_type, int32_t* out_device_index);
AOTITorchError aoti_torch_create_device_guard(int32_t device_index, DeviceGuardHandle* ret_guard);
AOTITorchError aoti_torch_delete_device_guard(DeviceGuardHandle guard);
AOTITorchError aoti_torch_device_guard_set_index(DeviceGuardHandle guard, int32_t device_index);
AOTITorchError aoti_torch_get_current_device_index(int32_t* ret_device_index);
AOTITorchError aoti_torch_get_current_stream(int32_t device_index, StreamHandle* ret_stream);
AOTITorchError aoti_torch_stream_id(StreamHandle stream, int64_t* ret_stream_id);
AOTITorchError torch_stream_native_handle(StreamHandle stream, void** ret_native_handle);
AOTITorchError aoti_torch_delete_stream(StreamHandle stream);
AOTITorchError torch_new_generator_handle(AtenGeneratorHandle self, AtenGeneratorHandle* ret_new_generator);
AOTITorchError torch_generator_get_device(AtenGeneratorHandle generator, int32_t* ret_device_type,
                                          int32_t* ret_device_index);
AOTITorchError torch_delete_generator(AtenGeneratorHandle generator);
using ParallelFunc = void (*)(int64_t begin, int64_t end, void* ctx);
AOTITorchError torch_parallel_for(int64_t begin, int64_t end, int64_t grain_size, ParallelFunc func, void* ctx);
AOTITorchError torch_get_thread_idx(uint32_t* out_thread_idx);
AOTITorchError torch_get_num_threads(uint32_t* out_num_threads);

}  // extern "C"

namespace torch::stable::detail {

/// What a boxed function throws before it has taken anything, where a schema and a function differ.
struct WrongCounts : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws std::runtime_error with what the thread's last error said.
[[noreturn]] void throw_exception(const char* call, const char* file, int64_t line);

}  // namespace torch::stable::detail

#define STABLE_TORCH_ERROR_CODE_CHECK(call) \
  ((call) == AOTI_TORCH_SUCCESS ? void() : ::torch::stable::detail::throw_exception(#call, __FILE__, __LINE__))
#define TORCH_ERROR_CODE_CHECK(call) STABLE_TORCH_ERROR_CODE_CHECK(call)
#define AOTI_TORCH_ERROR_CODE_CHECK(call) STABLE_TORCH_ERROR_CODE_CHECK(call)
