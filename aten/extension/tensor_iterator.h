// Loops over the elements of several tensors at once, whatever their shapes and strides: broadcasting, promotion,
// results that are made or resized, checks of overlap, threads. What cpu_kernel (aten/extension/cpu_loops.h) runs on.
//
//   at::Tensor out;
//   auto iter = at::TensorIteratorConfig().add_output(out).add_input(a).add_input(b).build();
//   at::native::cpu_kernel(iter, [](float x, float y) { return x * y; });
//   out = iter.output();
//
// CPU tensors only, at most 8 operands, no reductions. The order in which elements are visited is not defined.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/strided_loop.h"
#include "c10/util/function_ref.h"
#include "c10/util/small_vector.h"

namespace at {

class TensorIteratorConfig;

namespace internal {
// libtorch's grain of pointwise loops stands in c10/parallel/parallel.h.
struct IteratorOperand {
  Tensor tensor;    // what the loop reads or writes
  Tensor original;  // an output of another dtype, to which the loop's result is copied at the end; else undefined
  bool is_output = false;
};
}  // namespace internal

class TensorIteratorBase {
 public:
  /// Gets the addresses of operand k's first element and its step in bytes, and does `n` elements.
  using loop1d_t = c10::function_ref<void(char** data, const int64_t* strides, int64_t n)>;
  /// The same with two dimensions: steps of the inner one for each operand, then of the outer one.
  using loop2d_t = c10::function_ref<void(char** data, const int64_t* strides, int64_t size0, int64_t size1)>;

  int ntensors() const { return static_cast<int>(operands_.size()); }
  int noutputs() const { return num_outputs_; }
  int ninputs() const { return ntensors() - noutputs(); }
  /// The common shape; numel() elements.
  IntArrayRef shape() const { return shape_; }
  int ndim() const { return static_cast<int>(shape_.size()); }
  int64_t numel() const { return numel_; }
  bool is_trivial_1d() const { return ndim() <= 1; }

  const Tensor& tensor(int arg) const { return operand(arg).tensor; }
  /// The i-th result: the tensor given, or the one made.
  const Tensor& output(int arg = 0) const;
  const Tensor& input(int arg = 0) const { return operand(num_outputs_ + arg).tensor; }
  ScalarType dtype(int arg = 0) const { return tensor(arg).scalar_type(); }
  ScalarType input_dtype(int arg = 0) const { return input(arg).scalar_type(); }
  /// The dtype that inputs were promoted to, or that all have. Throws where they differ.
  ScalarType common_dtype() const;
  Device device(int arg = 0) const { return tensor(arg).device(); }
  DeviceType device_type(int arg = 0) const { return device(arg).type(); }
  int64_t element_size(int arg) const { return static_cast<int64_t>(tensor(arg).element_size()); }
  void* data_ptr(int arg) const { return tensor(arg).data_ptr(); }
  bool is_scalar(int arg) const { return tensor(arg).numel() == 1; }
  bool is_cpu_scalar(int arg) const { return is_scalar(arg) && device(arg).is_cpu(); }
  /// The value of an operand with one element.
  template <class T>
  T scalar_value(int arg) const {
    return *static_cast<const T*>(data_ptr(arg));
  }
  /// Whether all operands are contiguous and of the common shape.
  bool is_contiguous() const;

  /// Runs `loop` over all elements, in several threads where there are more than `grain_size`.
  void for_each(loop1d_t loop, int64_t grain_size = cpu::kPointwiseGrain) const;
  void for_each(loop2d_t loop, int64_t grain_size = cpu::kPointwiseGrain) const;
  /// In the calling thread, over the elements [begin, end) of all.
  void serial_for_each(loop1d_t loop, int64_t begin, int64_t end) const;
  /// Copies results to outputs of another dtype; cpu_kernel calls it.
  void cast_outputs() const;

 protected:
  friend class TensorIteratorConfig;
  const internal::IteratorOperand& operand(int arg) const { return operands_[static_cast<size_t>(arg)]; }
  cpu::LoopNest nest() const;

  std::vector<internal::IteratorOperand> operands_;
  DimVector shape_;
  int64_t numel_ = 1;
  int num_outputs_ = 0;
  ScalarType common_dtype_ = ScalarType::Undefined;
};

class TensorIterator final : public TensorIteratorBase {
 public:
  /// Promotes, and writes results of the common dtype into an output of another. Comparisons give bool.
  /// The forms named float make integers and bool the default dtype.
  static TensorIterator binary_op(Tensor& out, const Tensor& a, const Tensor& b) {
    return borrowing_binary_op(out, a, b);
  }
  static TensorIterator borrowing_binary_op(const Tensor& out, const Tensor& a, const Tensor& b);
  static TensorIterator binary_float_op(Tensor& out, const Tensor& a, const Tensor& b);
  static TensorIterator comparison_op(Tensor& out, const Tensor& a, const Tensor& b);
  static TensorIterator unary_op(Tensor& out, const Tensor& a);
  static TensorIterator unary_float_op(Tensor& out, const Tensor& a);
  static TensorIterator nullary_op(Tensor& out) { return borrowing_nullary_op(out); }
  static TensorIterator borrowing_nullary_op(const Tensor& out);
};

/// How an iterator is made; each call returns the same object. Outputs come before inputs.
class TensorIteratorConfig final {
 public:
  /// An undefined output is made; one of another shape is resized, unless resize_outputs(false).
  TensorIteratorConfig& add_output(const Tensor& output) { return add(output, true); }
  TensorIteratorConfig& add_owned_output(const Tensor& output) { return add(output, true); }
  TensorIteratorConfig& add_borrowed_output(const Tensor& output) { return add(output, true); }
  TensorIteratorConfig& add_input(const Tensor& input) { return add(input, false); }
  TensorIteratorConfig& add_const_input(const Tensor& input) { return add(input, false); }
  TensorIteratorConfig& add_owned_input(const Tensor& input) { return add(input, false); }
  TensorIteratorConfig& add_owned_const_input(const Tensor& input) { return add(input, false); }
  TensorIteratorConfig& add_borrowed_input(const Tensor& input) { return add(input, false); }
  TensorIteratorConfig& add_borrowed_const_input(const Tensor& input) { return add(input, false); }

  /// Throws where an output overlaps itself or, in part, an input. On unless switched off.
  TensorIteratorConfig& set_check_mem_overlap(bool on) { return set(check_mem_overlap_, on); }
  /// Throws where dtypes differ. On unless inputs are promoted.
  TensorIteratorConfig& check_all_same_dtype(bool on) { return set(check_all_same_dtype_, on); }
  /// All tensors are on the CPU in any case.
  TensorIteratorConfig& check_all_same_device(bool) { return *this; }
  TensorIteratorConfig& allow_cpu_scalars(bool) { return *this; }
  /// Inputs become copies of the promoted dtype where they have another.
  TensorIteratorConfig& promote_inputs_to_common_dtype(bool on) {
    if (on) check_all_same_dtype_ = false;
    return set(promote_, on);
  }
  /// Integers and bool then become the default dtype.
  TensorIteratorConfig& promote_integer_inputs_to_float(bool on) { return set(promote_to_float_, on); }
  /// Outputs of another dtype get the result by a copy (cast_outputs).
  TensorIteratorConfig& cast_common_dtype_to_outputs(bool on) {
    if (on) check_all_same_dtype_ = false;
    return set(cast_to_outputs_, on);
  }
  /// Throws where an output cannot hold the common dtype: "result type Float can't be cast to the desired output type
  /// Long".
  TensorIteratorConfig& enforce_safe_casting_to_output(bool on) { return set(safe_casting_, on); }
  TensorIteratorConfig& resize_outputs(bool on) { return set(resize_outputs_, on); }
  /// What outputs that are made have.
  TensorIteratorConfig& declare_static_dtype(ScalarType dtype) { return set(static_dtype_, dtype); }
  TensorIteratorConfig& declare_static_dtype_and_device(ScalarType dtype, Device) {
    return declare_static_dtype(dtype);
  }
  TensorIteratorConfig& declare_static_device(Device) { return *this; }
  /// The loop's shape, whatever the operands': they must broadcast to it.
  TensorIteratorConfig& declare_static_shape(IntArrayRef shape) {
    return set(static_shape_, DimVector(shape.begin(), shape.end()));
  }

  /// Throws c10::Error for operands that do not fit: shapes that do not broadcast, a device other than the CPU, more
  /// than 8.
  TensorIterator build();

 private:
  TensorIteratorConfig& add(const Tensor& tensor, bool is_output);
  template <class T, class U>
  TensorIteratorConfig& set(T& option, const U& value) {
    option = value;
    return *this;
  }
  void check_inputs(const TensorIterator& iter) const;
  void find_shape(TensorIterator& iter) const;
  void find_dtype(TensorIterator& iter) const;
  void prepare_output(TensorIterator& iter, internal::IteratorOperand& out) const;

  std::vector<internal::IteratorOperand> operands_;
  bool check_mem_overlap_ = true;
  bool check_all_same_dtype_ = true;
  bool promote_ = false;
  bool promote_to_float_ = false;
  bool cast_to_outputs_ = false;
  bool safe_casting_ = false;
  bool resize_outputs_ = true;
  std::optional<ScalarType> static_dtype_;
  std::optional<DimVector> static_shape_;
};

}  // namespace at
