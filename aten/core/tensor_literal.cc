#include "aten/core/tensor_literal.h"

#include <cstring>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/thread_state.h"

namespace at::detail {

Tensor tensor_of(const void* values, ScalarType source, size_t count, const TensorOptions& options) {
  TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(source) || !options.has_dtype() || isComplexType(options.scalar_type()),
                              "\"tensor_cpu\" not implemented for '", c10::toString(options.scalar_type()), "'");
  Tensor result = empty_contiguous({static_cast<int64_t>(count)}, source);
  if (count != 0) std::memcpy(result.mutable_data_ptr(), values, count * elementSize(source));
  return at::to(result, options.dtype(options.has_dtype() ? options.scalar_type() : source));
}

}  // namespace at::detail

namespace torch::detail {

using at::Tensor;
using c10::ScalarType;

// An empty list is a tensor of no elements of the default dtype.
TensorDataContainer::TensorDataContainer()
    : type_(TensorDataContainerType::InitList), scalar_type_(c10::get_default_dtype_as_scalartype()), sizes_{0} {}

TensorDataContainer::TensorDataContainer(std::initializer_list<TensorDataContainer> list)
    : type_(TensorDataContainerType::InitList), scalar_type_(list.begin()->scalar_type()), list_(list) {
  const TensorDataContainer& first = *list.begin();
  for (const TensorDataContainer& element : list) {
    TORCH_CHECK_VALUE(element.sizes() == first.sizes(),
                      "Expected all sub-lists to have sizes: ", c10::Join(" ", first.sizes()), " (e.g. ", first,
                      "), but got sub-list ", element, " with sizes: ", c10::Join(" ", element.sizes()));
    TORCH_CHECK(
        element.scalar_type() == first.scalar_type(),
        "Expected all elements of the tensor to have the same scalar type: ", c10::toString(first.scalar_type()),
        ", but got element of scalar type: ", c10::toString(element.scalar_type()));
  }
  sizes_.push_back(static_cast<int64_t>(list.size()));
  sizes_.insert(sizes_.end(), first.sizes().begin(), first.sizes().end());
}

TensorDataContainer::TensorDataContainer(const std::vector<bool>& values)
    : type_(TensorDataContainerType::Tensor), scalar_type_(ScalarType::Bool) {
  tensor_ = at::empty_contiguous({static_cast<int64_t>(values.size())}, ScalarType::Bool);
  bool* data = tensor_.data_ptr<bool>();
  for (size_t i = 0; i < values.size(); ++i) data[i] = values[i];
  sizes_.push_back(static_cast<int64_t>(values.size()));
}

const c10::Scalar& TensorDataContainer::scalar() const {
  TORCH_CHECK(is_scalar(), "Can only call `scalar()` on a TensorDataContainer that has `is_scalar() == true`");
  return scalar_;
}

const std::vector<TensorDataContainer>& TensorDataContainer::init_list() const {
  TORCH_CHECK(is_init_list(), "Can only call `init_list()` on a TensorDataContainer that has `is_init_list() == true`");
  return list_;
}

const Tensor& TensorDataContainer::tensor() const {
  TORCH_CHECK(is_tensor(), "Can only call `tensor()` on a TensorDataContainer that has `is_tensor() == true`");
  return tensor_;
}

namespace {
ScalarType tensor_type(ScalarType element) {
  if (element == ScalarType::Int) return ScalarType::Long;
  if (element == ScalarType::Float || element == ScalarType::Double) return c10::get_default_dtype_as_scalartype();
  return element;
}
}  // namespace

void TensorDataContainer::write(Tensor& flat, int64_t& position) const {
  if (is_scalar()) {
    Tensor element = at::select(flat, 0, position++);
    at::fill_(element, scalar_);
    return;
  }
  for (const TensorDataContainer& element : list_) element.write(flat, position);
}

Tensor TensorDataContainer::convert_to_tensor(c10::TensorOptions options) const {
  const ScalarType dtype = options.has_dtype() ? options.scalar_type() : tensor_type(scalar_type_);
  // Where a graph is made of what the program does, the literal is a constant of it, of which each run has a copy.
  const c10::DispatchKeySet tracer(c10::DispatchKey::Tracer);
  const bool recorded = c10::thread_state().included.has_any(tracer) && !c10::thread_state().excluded.has_any(tracer);
  if (is_tensor()) {
    TORCH_CHECK(c10::isComplexType(dtype) || !c10::isComplexType(scalar_type_),
                "can not do torch::tensor(complex, dtype=non-complex) because complex can not be casted to real number "
                "without loss of information");
    if (recorded) return at::to(tensor_, options.dtype(dtype), /*non_blocking=*/false, /*copy=*/true);
  } else if (recorded) {
    Tensor constant;
    {
      const c10::ExcludeDispatchKeyGuard whole(tracer);
      constant = convert_to_tensor(options);
    }
    return at::clone(constant);
  }
  Tensor result = at::empty_contiguous(sizes_, dtype);
  if (is_tensor()) {
    at::copy_(result, tensor_);
  } else {
    Tensor flat = at::view(result, {-1});
    int64_t position = 0;
    if (result.numel() != 0) write(flat, position);
  }
  if (options.device().type() == c10::DeviceType::CPU) return at::fresh(std::move(result));
  Tensor moved = at::empty_contiguous(sizes_, dtype, options.device());
  at::copy_(moved, result);
  return at::fresh(std::move(moved));
}

void to_text(std::string& out, const TensorDataContainer& data) {
  if (data.is_scalar()) {
    out += c10::str(data.scalar());
    return;
  }
  out += '{';
  if (data.is_init_list()) {
    const char* separator = "";
    for (const TensorDataContainer& element : data.init_list()) {
      out += separator;
      to_text(out, element);
      separator = ", ";
    }
  } else {
    for (int64_t i = 0; i < data.tensor().numel(); ++i) {
      if (i != 0) out += ", ";
      out += c10::str(at::item(at::select(data.tensor(), 0, i)));
    }
  }
  out += '}';
}

}  // namespace torch::detail
