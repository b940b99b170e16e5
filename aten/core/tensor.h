#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/core/dimname.h"
#include "aten/core/reduction.h"
#include "aten/core/tensor_base.h"
#include "c10/core/generator.h"
#include "c10/core/qscheme.h"
#include "c10/core/scalar.h"
#include "c10/core/stream.h"
#include "c10/util/array_ref.h"
#include "c10/util/optional_array_ref.h"

namespace c10 {
enum class Backend;
template <class T>
class List;
}

namespace torch::autograd {
class Node;
}

namespace at {

class DeprecatedTypeProperties;
class Tensor;
using TensorList = ArrayRef<Tensor>;
using ITensorListRef = TensorList;

namespace indexing {
class TensorIndex;
}

// A multi-dimensional array of one dtype on one device, with optional gradient recording. A Tensor is a handle: copies share
// the data. Its operators are methods here and functions in namespace at (`t.sum(0)` is `at::sum(t, 0)`); each lives in the
// library of its family, //aten/ops/<family>, which a program that calls it depends on (//torch brings all).
//
//   torch::Tensor a = torch::ones({2, 3});
//   torch::Tensor b = (a * 2).sum(1);      // 6 6
class Tensor : public TensorBase {
 public:
  using hook_position = unsigned;

  constexpr Tensor() noexcept = default;
  explicit Tensor(intrusive_ptr<TensorImpl> impl) noexcept : TensorBase(std::move(impl)) {}
  explicit Tensor(const TensorBase& base) : TensorBase(base) {}
  explicit Tensor(TensorBase&& base) noexcept : TensorBase(std::move(base)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  // `t[i] = x` writes x into the element or sub-tensor; assigning to a named tensor rebinds it.
  Tensor& operator=(const Tensor& other) &&;
  Tensor& operator=(Tensor&& other) &&;
  Tensor& operator=(const Scalar& value) &&;

  static Tensor wrap_tensor_impl(intrusive_ptr<TensorImpl> impl) { return Tensor(std::move(impl)); }

  // --- element access and conversion ---
  // The value of a tensor with one element. Throws Error for more or fewer.
  template <class T>
  T item() const {
    return item().to<T>();
  }
  // Indexing along the first dimension. Throws IndexError out of range.
  Tensor operator[](int64_t index) const;
  Tensor operator[](const Scalar& index) const;
  Tensor operator[](const Tensor& index) const;
  // Mixed indexing as in Python (aten/core/tensor_indexing.h): t.index({Slice(1, None, 2), mask, "..."}).
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& values) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) const;

  Tensor cpu() const;
  Tensor cuda() const;
  Tensor meta() const;
  Tensor toType(ScalarType dtype) const;
  Tensor to(caffe2::TypeMeta dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, caffe2::TypeMeta dtype, bool non_blocking = false, bool copy = false) const;
  // On the device of a backend (c10/core/backend.h), strided.
  Tensor toBackend(Backend backend) const;
  // This tensor, borrowed, where it lies in the format already, else a copy that does (c10/util/maybe_owned.h). The
  // result must not outlive the tensor.
  MaybeOwned<Tensor> expect_contiguous(MemoryFormat memory_format = MemoryFormat::Contiguous) const&;
  MaybeOwned<Tensor> expect_contiguous(MemoryFormat memory_format = MemoryFormat::Contiguous) && = delete;
  // The kind as text: "CPUFloatType", "UndefinedType".
  std::string toString() const;
  // Backend and dtype in one, as older programs ask for them (aten/core/deprecated_type.h).
  C10_DEPRECATED_MESSAGE("Tensor.type() is deprecated: options(), device(), scalar_type() and toString() say the same")
  DeprecatedTypeProperties& type() const;
  template <class T>
  C10_DEPRECATED_MESSAGE("Tensor.data<T>() is deprecated. Please use Tensor.data_ptr<T>() instead.")
  T* data() const {
    return data_ptr<T>();
  }
  // Writes one line to standard error, "[CPUFloatType [2, 3]]" (//aten/core:printing).
  void print() const;

  // --- arithmetic (//aten/core:tensor_operators) ---
  Tensor operator~() const;
  Tensor operator-() const;
  Tensor operator+() const { return *this; }
  Tensor& operator+=(const Tensor& other);
  Tensor& operator+=(const Scalar& other);
  Tensor& operator-=(const Tensor& other);
  Tensor& operator-=(const Scalar& other);
  Tensor& operator*=(const Tensor& other);
  Tensor& operator*=(const Scalar& other);
  Tensor& operator/=(const Tensor& other);
  Tensor& operator/=(const Scalar& other);
  Tensor& operator&=(const Tensor& other);
  Tensor& operator&=(const Scalar& other);
  Tensor& operator|=(const Tensor& other);
  Tensor& operator|=(const Scalar& other);
  Tensor& operator^=(const Tensor& other);
  Tensor& operator^=(const Scalar& other);

  // --- autograd (//autograd) ---
  // Differentiates this tensor with respect to the graph's leaves and adds the gradients to their grad().
  // `gradient`: the derivative of something with respect to this tensor, of its shape; may be left out for one element.
  // `retain_graph`: keep what a second backward needs (default: create_graph). `inputs`: accumulate into these only.
  void backward(
      const Tensor& gradient = {},
      std::optional<bool> retain_graph = std::nullopt,
      bool create_graph = false,
      std::optional<TensorList> inputs = std::nullopt) const;
  // The accumulated gradient; undefined where there is none.
  const Tensor& grad() const;
  Tensor& mutable_grad() const;
  // Switches gradient recording for a leaf. Throws for dtypes without a derivative and for non-leaves.
  const Tensor& set_requires_grad(bool requires_grad) const;
  Tensor& requires_grad_(bool requires_grad = true) const;
  bool is_leaf() const;
  void retain_grad() const;
  bool retains_grad() const;
  const intrusive_ptr<torch::autograd::Node>& grad_fn() const;
  int64_t output_nr() const;
  // The tensor this is a view of. Throws where it is none.
  Tensor _base() const;
  // The same data without history; changes in place to it are not seen by autograd.
  Tensor data() const { return variable_data(); }
  Tensor variable_data() const;
  Tensor tensor_data() const;
  // Takes over the data of `fresh`, keeping this tensor's identity and autograd state.
  void set_data(const Tensor& fresh) const;
  // Calls `hook` with the gradient with respect to this tensor whenever it is computed; a hook that returns a tensor replaces
  // the gradient. Throws where the tensor does not require a gradient. Returns the hook's position for remove_hook.
  template <class Hook>
  hook_position register_hook(Hook&& hook) const;
  void remove_hook(hook_position position) const;
  // Calls `hook` with this leaf whenever a backward pass has updated grad(): the place to step an optimizer and drop the
  // gradient while the pass goes on. Throws where the tensor is no leaf. Returns a RemovableHandle.
  template <class Hook>
  auto register_post_accumulate_grad_hook(Hook&& hook) const;

#include "aten/codegen/tensor_methods.inc"
};

static_assert(sizeof(Tensor) == sizeof(void*));

// --- free operators (//aten/core:tensor_operators) ---
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, const Scalar& b);
Tensor operator+(const Scalar& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Scalar& b);
Tensor operator-(const Scalar& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Scalar& b);
Tensor operator*(const Scalar& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Scalar& b);
Tensor operator/(const Scalar& a, const Tensor& b);
Tensor operator%(const Tensor& a, const Tensor& b);
Tensor operator%(const Tensor& a, const Scalar& b);
Tensor operator%(const Scalar& a, const Tensor& b);
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator&(const Tensor& a, const Scalar& b);
Tensor operator&(const Scalar& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Scalar& b);
Tensor operator|(const Scalar& a, const Tensor& b);
Tensor operator^(const Tensor& a, const Tensor& b);
Tensor operator^(const Tensor& a, const Scalar& b);
Tensor operator^(const Scalar& a, const Tensor& b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<(const Tensor& a, const Scalar& b);
Tensor operator<(const Scalar& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Scalar& b);
Tensor operator<=(const Scalar& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Scalar& b);
Tensor operator>(const Scalar& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Scalar& b);
Tensor operator>=(const Scalar& a, const Tensor& b);
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator==(const Tensor& a, const Scalar& b);
Tensor operator==(const Scalar& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Scalar& b);
Tensor operator!=(const Scalar& a, const Tensor& b);

}  // namespace at

namespace torch {
using namespace at;
}
