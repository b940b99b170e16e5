#include "stable/shim.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/from_blob.h"
#include "aten/core/library.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/accelerator.h"
#include "c10/core/device_guard.h"
#include "c10/core/dispatch_key_set.h"
#include "c10/core/generator.h"
#include "c10/core/grad_mode.h"
#include "c10/dispatch/registry.h"
#include "c10/parallel/parallel.h"
#include "stable/boxed_values.h"
#include "stable/version.h"

namespace {

using c10::ScalarType;
using torch::stable::detail::BoxedFunction;

thread_local std::string t_error, t_error_without_backtrace;

template <class F>
AOTITorchError guarded(const F& f) {
  try {
    f();
    return AOTI_TORCH_SUCCESS;
  } catch (const c10::Error& error) {
    t_error = error.what();
    t_error_without_backtrace = error.what_without_backtrace();
  } catch (const std::exception& error) {
    t_error = t_error_without_backtrace = error.what();
  } catch (...) {
    t_error = t_error_without_backtrace = "an exception of unknown type";
  }
  return AOTI_TORCH_FAILURE;
}

at::Tensor& tensor(AtenTensorHandle handle) {
  TORCH_CHECK(handle != nullptr, "expected a tensor, but the handle is null");
  return *reinterpret_cast<at::Tensor*>(handle);
}
void give(at::Tensor result, AtenTensorHandle* ret) {
  *ret = reinterpret_cast<AtenTensorHandle>(new at::Tensor(std::move(result)));
}
const at::Generator& generator(AtenGeneratorHandle handle) { return *reinterpret_cast<const at::Generator*>(handle); }
std::vector<StableIValue>& list(StableListHandle handle) { return *reinterpret_cast<std::vector<StableIValue>*>(handle); }
const std::string& text(StringHandle handle) { return *reinterpret_cast<const std::string*>(handle); }
torch::Library& library(TorchLibraryHandle handle) { return *reinterpret_cast<torch::Library*>(handle); }
const c10::Stream& stream(StreamHandle handle) { return *reinterpret_cast<const c10::Stream*>(handle); }

c10::Device device_of(int32_t type, int32_t index) {
  const c10::DeviceType device_type = static_cast<c10::DeviceType>(type);
  const bool plain = device_type == c10::kCPU || device_type == c10::kMeta;
  return c10::Device(device_type, plain ? c10::DeviceIndex(-1) : static_cast<c10::DeviceIndex>(index));
}
ScalarType dtype_of(int32_t code) {
  TORCH_CHECK(code >= 0 && code < static_cast<int32_t>(ScalarType::NumOptions) &&
                  static_cast<ScalarType>(code) != ScalarType::Undefined,
              code, " is no code of a dtype");
  return static_cast<ScalarType>(code);
}
at::IntArrayRef numbers(const int64_t* data, int64_t count) {
  TORCH_CHECK(count >= 0, "expected a number of dimensions, but got ", count);
  return at::IntArrayRef(data, static_cast<size_t>(count));
}

c10::DispatchKey key_named(const std::string& name) {
  for (int i = 0; i < static_cast<int>(c10::DispatchKey::EndOfNames); ++i) {
    const auto key = static_cast<c10::DispatchKey>(i);
    if (name == toString(key)) return key;
  }
  TORCH_CHECK(false, "could not parse dispatch key: ", name);
}

void init_library(torch::Library::Kind kind, const char* ns, std::optional<c10::DispatchKey> key, const char* file,
                  uint32_t line, TorchLibraryHandle* ret) {
  *ret = reinterpret_cast<TorchLibraryHandle>(new torch::Library(kind, ns, key, file, line));
}

at::Tensor from_memory(void* data, int64_t ndim, const int64_t* sizes, const int64_t* strides, int64_t storage_offset,
                       int32_t dtype, int32_t device_type, int32_t device_index,
                       const std::function<void(void*)>& deleter) {
  const c10::Device device = device_of(device_type, device_index);
  return at::from_blob(data, numbers(sizes, ndim), numbers(strides, ndim), storage_offset, deleter,
                       at::TensorOptions(dtype_of(dtype)).device(device), device);
}

}  // namespace

extern "C" {

const char* torch_exception_get_what() { return t_error.c_str(); }
const char* torch_exception_get_what_without_backtrace() { return t_error_without_backtrace.c_str(); }

#define KD_DEFINE_(name, value) \
  int32_t aoti_torch_dtype_##name() { return static_cast<int32_t>(ScalarType::value); }
KD_FORALL_DTYPE_CODES_(KD_DEFINE_)
#undef KD_DEFINE_
#define KD_DEFINE_(name, value) \
  int32_t aoti_torch_device_type_##name() { return static_cast<int32_t>(c10::DeviceType::value); }
KD_FORALL_DEVICE_CODES_(KD_DEFINE_)
#undef KD_DEFINE_
#define KD_DEFINE_(name, value) \
  int32_t aoti_torch_layout_##name() { return static_cast<int32_t>(c10::Layout::value); }
KD_FORALL_LAYOUT_CODES_(KD_DEFINE_)
#undef KD_DEFINE_
#define KD_DEFINE_(name, value) \
  int32_t aoti_torch_memory_format_##name() { return static_cast<int32_t>(c10::MemoryFormat::value); }
KD_FORALL_MEMORY_FORMAT_CODES_(KD_DEFINE_)
#undef KD_DEFINE_
#define KD_DEFINE_(name) \
  int32_t torch_tag_##name() { return static_cast<int32_t>(at::Tag::name); }
KD_FORALL_TAGS_(KD_DEFINE_)
#undef KD_DEFINE_
int32_t torch_dtype_float8_e8m0fnu() { return static_cast<int32_t>(ScalarType::Float8_e8m0fnu); }
int32_t torch_dtype_float4_e2m1fn_x2() { return static_cast<int32_t>(ScalarType::Float4_e2m1fn_x2); }
uint64_t aoti_torch_abi_version() { return TORCH_VERSION_2_15_0; }
size_t aoti_torch_dtype_element_size(int32_t dtype) { return c10::elementSize(static_cast<ScalarType>(dtype)); }

AOTITorchError aoti_torch_new_tensor_handle(AtenTensorHandle orig_handle, AtenTensorHandle* new_handle) {
  return guarded([&] { give(tensor(orig_handle), new_handle); });
}
AOTITorchError aoti_torch_new_uninitialized_tensor(AtenTensorHandle* ret) {
  return guarded([&] { give(at::Tensor(), ret); });
}
AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle handle) {
  return guarded([&] { delete reinterpret_cast<at::Tensor*>(handle); });
}
AOTITorchError aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr, int32_t dtype,
                                        int32_t device_type, int32_t device_index, AtenTensorHandle* ret_new_tensor) {
  return guarded([&] {
    give(at::empty_strided(numbers(sizes_ptr, ndim), numbers(strides_ptr, ndim),
                           at::TensorOptions(dtype_of(dtype)).device(device_of(device_type, device_index))),
         ret_new_tensor);
  });
}
AOTITorchError aoti_torch_create_tensor_from_blob(void* data, int64_t ndim, const int64_t* sizes_ptr,
                                                  const int64_t* strides_ptr, int64_t storage_offset, int32_t dtype,
                                                  int32_t device_type, int32_t device_index, AtenTensorHandle* ret) {
  return guarded([&] {
    give(from_memory(data, ndim, sizes_ptr, strides_ptr, storage_offset, dtype, device_type, device_index, nullptr), ret);
  });
}
AOTITorchError torch_from_blob(void* data, int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                               int64_t storage_offset, int32_t dtype, int32_t device_type, int32_t device_index,
                               AtenTensorHandle* ret, int32_t layout, const uint8_t* /*opaque_metadata*/,
                               int64_t /*opaque_metadata_size*/, void (*deleter)(void*, void*), void* deleter_ctx) {
  return guarded([&] {
    TORCH_CHECK(layout == aoti_torch_layout_strided(), "torch_from_blob: expected the strided layout, but got ",
                static_cast<c10::Layout>(layout));
    std::function<void(void*)> release;
    if (deleter != nullptr) release = [deleter, deleter_ctx](void* memory) { deleter(memory, deleter_ctx); };
    give(from_memory(data, ndim, sizes_ptr, strides_ptr, storage_offset, dtype, device_type, device_index, release), ret);
  });
}
AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t ndim, const int64_t* sizes_ptr,
                                              const int64_t* strides_ptr, int64_t storage_offset,
                                              AtenTensorHandle* ret_new_tensor) {
  return guarded([&] {
    const at::Tensor& t = tensor(self);
    give(at::as_strided(t, numbers(sizes_ptr, ndim), numbers(strides_ptr, ndim), t.storage_offset() + storage_offset),
         ret_new_tensor);
  });
}
AOTITorchError aoti_torch_as_strided(AtenTensorHandle self, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                     AtenTensorHandle* ret) {
  return guarded([&] {
    const at::Tensor& t = tensor(self);
    give(at::as_strided(t, numbers(sizes_ptr, t.dim()), numbers(strides_ptr, t.dim())), ret);
  });
}
AOTITorchError aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle* ret) {
  return guarded([&] { give(at::clone(tensor(self)), ret); });
}
AOTITorchError aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle src, int32_t non_blocking) {
  return guarded([&] { at::copy_(tensor(self), tensor(src), non_blocking != 0); });
}
AOTITorchError aoti_torch_zero_(AtenTensorHandle self) {
  return guarded([&] { at::zero_(tensor(self)); });
}
AOTITorchError aoti_torch_assign_tensors(AtenTensorHandle src, AtenTensorHandle dst) {
  return guarded([&] { tensor(dst) = tensor(src); });
}

// A property of a tensor.
#define KD_PROPERTY_(name, type, expression)                           \
  AOTITorchError name(AtenTensorHandle handle, type* ret) {            \
    return guarded([&] {                                               \
      const at::Tensor& t = tensor(handle);                            \
      *ret = expression;                                               \
    });                                                                \
  }
KD_PROPERTY_(aoti_torch_get_data_ptr, void*, t.data_ptr())
KD_PROPERTY_(torch_get_mutable_data_ptr, void*, t.mutable_data_ptr())
KD_PROPERTY_(torch_get_const_data_ptr, const void*, t.const_data_ptr())
KD_PROPERTY_(aoti_torch_get_storage_size, int64_t, static_cast<int64_t>(t.storage().nbytes()))
KD_PROPERTY_(aoti_torch_get_dim, int64_t, t.dim())
KD_PROPERTY_(aoti_torch_get_numel, int64_t, t.numel())
KD_PROPERTY_(aoti_torch_get_storage_numel, int64_t,
             static_cast<int64_t>(t.storage().nbytes()) / static_cast<int64_t>(t.itemsize()))
KD_PROPERTY_(aoti_torch_get_sizes, int64_t*, const_cast<int64_t*>(t.sizes().data()))
KD_PROPERTY_(aoti_torch_get_strides, int64_t*, const_cast<int64_t*>(t.strides().data()))
KD_PROPERTY_(aoti_torch_get_dtype, int32_t, static_cast<int32_t>(t.scalar_type()))
KD_PROPERTY_(aoti_torch_get_device_type, int32_t, static_cast<int32_t>(t.device().type()))
KD_PROPERTY_(aoti_torch_get_device_index, int32_t, t.device().index())
KD_PROPERTY_(aoti_torch_get_layout, int32_t, static_cast<int32_t>(t.layout()))
KD_PROPERTY_(aoti_torch_get_storage_offset, int64_t, t.storage_offset())
KD_PROPERTY_(aoti_torch_is_contiguous, bool, t.is_contiguous())
KD_PROPERTY_(aoti_torch_is_defined, bool, t.defined())
KD_PROPERTY_(torch_has_storage, bool, t.has_storage())
#undef KD_PROPERTY_
AOTITorchError aoti_torch_get_size(AtenTensorHandle handle, int64_t d, int64_t* ret_size) {
  return guarded([&] { *ret_size = tensor(handle).size(d); });
}
AOTITorchError aoti_torch_get_stride(AtenTensorHandle handle, int64_t d, int64_t* ret_stride) {
  return guarded([&] { *ret_stride = tensor(handle).stride(d); });
}
AOTITorchError torch_set_requires_grad(AtenTensorHandle handle, bool requires_grad) {
  return guarded([&] { tensor(handle).set_requires_grad(requires_grad); });
}

#define KD_DEFINE_(name, type)                                                          \
  AOTITorchError aoti_torch_item_##name(AtenTensorHandle handle, type* ret_value) {     \
    return guarded([&] { *ret_value = at::item(tensor(handle)).to<type>(); });          \
  }
KD_FORALL_ITEM_TYPES_(KD_DEFINE_)
#undef KD_DEFINE_
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif
#define KD_DEFINE_(name, type)                                                                          \
  AOTITorchError aoti_torch_scalar_to_tensor_##name(type value, AtenTensorHandle* ret_new_tensor) {     \
    return guarded([&] {                                                                                \
      at::Tensor result = at::empty({}, at::TensorOptions(c10::CppTypeToScalarType<type>::value));      \
      *result.data_ptr<type>() = value;                                                                 \
      give(std::move(result), ret_new_tensor);                                                          \
    });                                                                                                 \
  }
KD_FORALL_SCALAR_TYPES_(KD_DEFINE_)
#undef KD_DEFINE_
#ifdef __clang__
#pragma clang diagnostic pop
#endif

bool aoti_torch_grad_mode_is_enabled() { return c10::GradMode::is_enabled(); }
void aoti_torch_grad_mode_set_enabled(bool enabled) { c10::GradMode::set_enabled(enabled); }

AOTITorchError torch_new_list_reserve_size(size_t size, StableListHandle* ret) {
  return guarded([&] {
    auto result = std::make_unique<std::vector<StableIValue>>();
    result->reserve(size);
    *ret = reinterpret_cast<StableListHandle>(result.release());
  });
}
AOTITorchError torch_list_size(StableListHandle list_handle, size_t* size) {
  return guarded([&] { *size = list(list_handle).size(); });
}
AOTITorchError torch_list_get_item(StableListHandle list_handle, size_t index, StableIValue* element) {
  return guarded([&] {
    TORCH_CHECK_INDEX(index < list(list_handle).size(), "torch_list_get_item: index ", index, " is out of range for ",
                      list(list_handle).size(), " elements");
    *element = list(list_handle)[index];
  });
}
AOTITorchError torch_list_set_item(StableListHandle list_handle, size_t index, StableIValue element) {
  return guarded([&] {
    TORCH_CHECK_INDEX(index < list(list_handle).size(), "torch_list_set_item: index ", index, " is out of range for ",
                      list(list_handle).size(), " elements");
    list(list_handle)[index] = element;
  });
}
AOTITorchError torch_list_push_back(StableListHandle list_handle, StableIValue element) {
  return guarded([&] { list(list_handle).push_back(element); });
}
AOTITorchError torch_delete_list(StableListHandle list_handle) {
  return guarded([&] { delete reinterpret_cast<std::vector<StableIValue>*>(list_handle); });
}
AOTITorchError torch_new_string_handle(const char* data, size_t length, StringHandle* handle) {
  return guarded([&] { *handle = reinterpret_cast<StringHandle>(new std::string(data, length)); });
}
AOTITorchError torch_delete_string(StringHandle handle) {
  return guarded([&] { delete reinterpret_cast<std::string*>(handle); });
}
AOTITorchError torch_string_length(StringHandle handle, size_t* length) {
  return guarded([&] { *length = text(handle).size(); });
}
AOTITorchError torch_string_c_str(StringHandle handle, const char** data) {
  return guarded([&] { *data = text(handle).c_str(); });
}
AOTITorchError torch_new_stable_ivalue(StableIValue** ret_value) {
  return guarded([&] { *ret_value = new StableIValue(0); });
}
AOTITorchError torch_delete_stable_ivalue(StableIValue* value) {
  return guarded([&] { delete value; });
}

AOTITorchError aoti_torch_call_dispatcher(const char* opName, const char* overloadName, StableIValue* stack) {
  return guarded([&] {
    torch::stable::detail::call_operator(c10::Dispatcher::singleton().findSchemaOrThrow(opName, overloadName), stack);
  });
}
AOTITorchError torch_call_dispatcher(const char* opName, const char* overloadName, StableIValue* stack, uint64_t) {
  return aoti_torch_call_dispatcher(opName, overloadName, stack);
}
AOTITorchError aoti_torch_library_init_def(const char* ns, const char* file, uint32_t line, TorchLibraryHandle* ret) {
  return guarded([&] { init_library(torch::Library::DEF, ns, std::nullopt, file, line, ret); });
}
AOTITorchError aoti_torch_library_init_fragment(const char* ns, const char* file, uint32_t line, TorchLibraryHandle* ret) {
  return guarded([&] { init_library(torch::Library::FRAGMENT, ns, std::nullopt, file, line, ret); });
}
AOTITorchError aoti_torch_library_init_impl(const char* ns, const char* k, const char* file, uint32_t line,
                                            TorchLibraryHandle* ret) {
  return guarded([&] { init_library(torch::Library::IMPL, ns, key_named(k), file, line, ret); });
}
AOTITorchError aoti_torch_library_def(TorchLibraryHandle self, const char* schema) {
  return guarded([&] { library(self).def(schema); });
}
AOTITorchError torch_library_def_with_tags(TorchLibraryHandle self, const char* schema, const int32_t* tags,
                                           int32_t num_tags) {
  return guarded([&] {
    std::vector<at::Tag> known;
    for (int32_t i = 0; i < num_tags; ++i) known.push_back(static_cast<at::Tag>(tags[i]));
    library(self).def(schema, known);
  });
}
AOTITorchError aoti_torch_library_impl(TorchLibraryHandle self, const char* name,
                                       void (*fn)(StableIValue*, uint64_t, uint64_t)) {
  return guarded([&] {
    library(self).impl(name, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<BoxedFunction>(fn)));
  });
}
AOTITorchError torch_library_impl(TorchLibraryHandle self, const char* name,
                                  void (*fn)(StableIValue*, uint64_t, uint64_t), uint64_t) {
  return aoti_torch_library_impl(self, name, fn);
}
AOTITorchError torch_library_set_python_module(TorchLibraryHandle self, const char* pymodule, const char* context) {
  return guarded([&] { library(self).set_python_module(pymodule, context); });
}
AOTITorchError aoti_torch_delete_library_object(TorchLibraryHandle tlh) {
  return guarded([&] { delete reinterpret_cast<torch::Library*>(tlh); });
}

AOTITorchError torch_parse_device_string(const char* device_string, uint32_t* out_device_type, int32_t* out_device_index) {
  return guarded([&] {
    const c10::Device device{std::string(device_string)};
    *out_device_type = static_cast<uint32_t>(device.type());
    *out_device_index = device.index();
  });
}
AOTITorchError aoti_torch_create_device_guard(int32_t device_index, DeviceGuardHandle* ret_guard) {
  return guarded([&] {
    const c10::Device device(*at::getAccelerator(true), static_cast<c10::DeviceIndex>(device_index));
    *ret_guard = reinterpret_cast<DeviceGuardHandle>(new c10::DeviceGuard(device));
  });
}
AOTITorchError aoti_torch_delete_device_guard(DeviceGuardHandle guard) {
  return guarded([&] { delete reinterpret_cast<c10::DeviceGuard*>(guard); });
}
AOTITorchError aoti_torch_device_guard_set_index(DeviceGuardHandle guard, int32_t device_index) {
  return guarded(
      [&] { reinterpret_cast<c10::DeviceGuard*>(guard)->set_index(static_cast<c10::DeviceIndex>(device_index)); });
}
AOTITorchError aoti_torch_get_current_device_index(int32_t* ret_device_index) {
  return guarded([&] { *ret_device_index = at::accelerator::getDeviceIndex(); });
}
AOTITorchError aoti_torch_get_current_stream(int32_t device_index, StreamHandle* ret_stream) {
  return guarded([&] {
    *ret_stream = reinterpret_cast<StreamHandle>(
        new c10::Stream(at::accelerator::getCurrentStream(static_cast<c10::DeviceIndex>(device_index))));
  });
}
AOTITorchError aoti_torch_stream_id(StreamHandle handle, int64_t* ret_stream_id) {
  return guarded([&] { *ret_stream_id = stream(handle).id(); });
}
AOTITorchError torch_stream_native_handle(StreamHandle handle, void** ret_native_handle) {
  return guarded([&] { *ret_native_handle = stream(handle).native_handle(); });
}
AOTITorchError aoti_torch_delete_stream(StreamHandle handle) {
  return guarded([&] { delete reinterpret_cast<c10::Stream*>(handle); });
}
AOTITorchError torch_new_generator_handle(AtenGeneratorHandle self, AtenGeneratorHandle* ret_new_generator) {
  return guarded(
      [&] { *ret_new_generator = reinterpret_cast<AtenGeneratorHandle>(new at::Generator(generator(self))); });
}
AOTITorchError torch_generator_get_device(AtenGeneratorHandle handle, int32_t* ret_device_type,
                                          int32_t* ret_device_index) {
  return guarded([&] {
    const c10::Device device = generator(handle).device();
    *ret_device_type = static_cast<int32_t>(device.type());
    *ret_device_index = device.index();
  });
}
AOTITorchError torch_delete_generator(AtenGeneratorHandle handle) {
  return guarded([&] { delete reinterpret_cast<at::Generator*>(handle); });
}
AOTITorchError torch_parallel_for(int64_t begin, int64_t end, int64_t grain_size, ParallelFunc func, void* ctx) {
  return guarded([&] {
    at::parallel_for(begin, end, grain_size, [&](int64_t first, int64_t last) { func(first, last, ctx); });
  });
}
AOTITorchError torch_get_thread_idx(uint32_t* out_thread_idx) {
  return guarded([&] { *out_thread_idx = static_cast<uint32_t>(at::get_thread_num()); });
}
AOTITorchError torch_get_num_threads(uint32_t* out_num_threads) {
  return guarded([&] { *out_num_threads = static_cast<uint32_t>(at::get_num_threads()); });
}

}  // extern "C"

namespace torch::stable::detail {

void throw_exception(const char* call, const char* file, int64_t line) {
  throw std::runtime_error(t_error_without_backtrace + " (" + call + " in " + file + ":" + std::to_string(line) + ")");
}

}  // namespace torch::stable::detail
