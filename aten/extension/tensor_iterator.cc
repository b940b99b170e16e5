#include "aten/extension/tensor_iterator.h"

#include "aten/core/empty.h"
#include "aten/core/view.h"
#include "aten/extension/memory_overlap.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/type_promotion.h"
#include "c10/util/exception.h"

namespace at {
namespace {

using internal::IteratorOperand;

Tensor converted(const Tensor& t, ScalarType dtype) {
  return t.scalar_type() == dtype ? t : at::_to_copy(t, t.options().dtype(dtype));
}

}  // namespace

// --- the iterator ---

const Tensor& TensorIteratorBase::output(int arg) const {
  const IteratorOperand& out = operand(arg);
  return out.original.defined() ? out.original : out.tensor;
}

ScalarType TensorIteratorBase::common_dtype() const {
  TORCH_CHECK(common_dtype_ != ScalarType::Undefined, "TensorIterator: the operands have no common dtype");
  return common_dtype_;
}

bool TensorIteratorBase::is_contiguous() const {
  for (const IteratorOperand& op : operands_) {
    if (op.tensor.sizes() != shape() || !op.tensor.is_contiguous()) return false;
  }
  return true;
}

// Every operand is seen in the common shape, so that the first one's is the loop's.
cpu::LoopNest TensorIteratorBase::nest() const {
  cpu::Operand loop_operands[cpu::kMaxOperands];
  DimVector strides[cpu::kMaxOperands];
  for (size_t k = 0; k < operands_.size(); ++k) {
    const Tensor& t = operands_[k].tensor;
    strides[k].resize(shape_.size());
    const size_t leading = shape_.size() - static_cast<size_t>(t.dim());
    for (size_t d = 0; d < shape_.size(); ++d) {
      const auto own = static_cast<int64_t>(d) - static_cast<int64_t>(leading);
      strides[k][d] = own < 0 || (t.size(own) == 1 && shape_[d] != 1) ? 0 : t.stride(own);
    }
    loop_operands[k] = {static_cast<char*>(t.data_ptr()), shape_.data(), strides[k].data(),
                        static_cast<int64_t>(shape_.size()), element_size(static_cast<int>(k))};
  }
  return cpu::LoopNest(loop_operands, ntensors());
}

void TensorIteratorBase::for_each(loop1d_t loop, int64_t grain_size) const {
  if (numel_ == 0) return;
  nest().run(
      [](char** data, const int64_t* strides, int64_t n, const void* context) {
        (*static_cast<const loop1d_t*>(context))(data, strides, n);
      },
      &loop, grain_size);
}

void TensorIteratorBase::for_each(loop2d_t loop, int64_t grain_size) const {
  const int count = ntensors();
  for_each(
      [&](char** data, const int64_t* strides, int64_t n) {
        int64_t both[2 * cpu::kMaxOperands] = {};
        for (int k = 0; k < count; ++k) both[k] = strides[k];
        loop(data, both, n, 1);
      },
      grain_size);
}

void TensorIteratorBase::serial_for_each(loop1d_t loop, int64_t begin, int64_t end) const {
  TORCH_CHECK(0 <= begin && begin <= end && end <= numel_, "serial_for_each: elements ", begin, " to ", end, " of ",
              numel_);
  if (begin == end) return;
  nest().run_range(
      begin, end,
      [](char** data, const int64_t* strides, int64_t n, const void* context) {
        (*static_cast<const loop1d_t*>(context))(data, strides, n);
      },
      &loop);
}

void TensorIteratorBase::cast_outputs() const {
  for (const IteratorOperand& op : operands_) {
    if (op.is_output && op.original.defined()) at::copy_(const_cast<Tensor&>(op.original), op.tensor);
  }
}

namespace {

// Inputs of one dtype, which outputs of another are given by a copy.
TensorIteratorConfig promoting(const Tensor& out) {
  return TensorIteratorConfig()
      .add_output(out)
      .promote_inputs_to_common_dtype(true)
      .cast_common_dtype_to_outputs(true)
      .enforce_safe_casting_to_output(true);
}

}  // namespace

TensorIterator TensorIterator::borrowing_binary_op(const Tensor& out, const Tensor& a, const Tensor& b) {
  return promoting(out).add_input(a).add_input(b).build();
}

TensorIterator TensorIterator::binary_float_op(Tensor& out, const Tensor& a, const Tensor& b) {
  return promoting(out).promote_integer_inputs_to_float(true).add_input(a).add_input(b).build();
}

TensorIterator TensorIterator::comparison_op(Tensor& out, const Tensor& a, const Tensor& b) {
  return TensorIteratorConfig()
      .declare_static_dtype(kBool)
      .add_output(out)
      .add_input(a)
      .add_input(b)
      .promote_inputs_to_common_dtype(true)
      .build();
}

TensorIterator TensorIterator::unary_op(Tensor& out, const Tensor& a) {
  return promoting(out).add_input(a).build();
}

TensorIterator TensorIterator::unary_float_op(Tensor& out, const Tensor& a) {
  return promoting(out).promote_integer_inputs_to_float(true).add_input(a).build();
}

TensorIterator TensorIterator::borrowing_nullary_op(const Tensor& out) {
  return TensorIteratorConfig().check_all_same_dtype(false).add_output(out).resize_outputs(false).build();
}

// --- how it is made ---

TensorIteratorConfig& TensorIteratorConfig::add(const Tensor& tensor, bool is_output) {
  TORCH_CHECK(!is_output || operands_.empty() || operands_.back().is_output,
              "TensorIteratorConfig: outputs are added before inputs");
  TORCH_CHECK(operands_.size() < static_cast<size_t>(cpu::kMaxOperands), "TensorIteratorConfig: at most ",
              cpu::kMaxOperands, " operands");
  operands_.push_back({tensor, Tensor(), is_output});
  return *this;
}

void TensorIteratorConfig::check_inputs(const TensorIterator& iter) const {
  TORCH_CHECK(!iter.operands_.empty(), "TensorIteratorConfig: no operands");
  const Tensor* first = nullptr;
  for (const IteratorOperand& op : iter.operands_) {
    if (!op.tensor.defined()) {
      TORCH_CHECK(op.is_output, "TensorIterator: an input is undefined");
      continue;
    }
    TORCH_CHECK(op.tensor.device().is_cpu() && op.tensor.layout() == kStrided,
                "TensorIterator: expected strided tensors on the CPU, but got one on ", op.tensor.device(),
                " of layout ", op.tensor.layout());
    if (first == nullptr) first = &op.tensor;
    TORCH_CHECK(!check_all_same_dtype_ || op.tensor.scalar_type() == first->scalar_type(), "Found dtype ",
                op.tensor.scalar_type(), " but expected ", first->scalar_type());
  }
}

void TensorIteratorConfig::find_shape(TensorIterator& iter) const {
  if (static_shape_.has_value()) {
    iter.shape_ = *static_shape_;
  } else {
    for (const IteratorOperand& op : iter.operands_) {
      // What is resized says nothing.
      if (op.is_output && (!op.tensor.defined() || (resize_outputs_ && iter.ninputs() > 0))) continue;
      iter.shape_ = broadcast_shapes(iter.shape_, op.tensor.sizes());
    }
  }
  iter.numel_ = checked_numel(iter.shape_);
  for (const IteratorOperand& op : iter.operands_) {
    if (op.is_output) continue;
    TORCH_CHECK(broadcast_shapes(iter.shape_, op.tensor.sizes()) == iter.shape_, "TensorIterator: an input of sizes ",
                op.tensor.sizes(), " does not broadcast to ", IntArrayRef(iter.shape_));
  }
}

void TensorIteratorConfig::find_dtype(TensorIterator& iter) const {
  c10::TypePromotion promotion;
  bool same = true;
  ScalarType first = ScalarType::Undefined;
  for (const IteratorOperand& op : iter.operands_) {
    if (op.is_output) continue;
    const ScalarType type = op.tensor.scalar_type();
    if (first == ScalarType::Undefined) first = type;
    same = same && type == first;
    if (promote_) promotion.add_tensor(type, op.tensor.dim(), op.tensor.unsafeGetTensorImpl()->is_wrapped_number());
  }
  if (!promote_ || first == ScalarType::Undefined) {
    if (same) iter.common_dtype_ = first;
    return;
  }
  iter.common_dtype_ = promotion.result();
  if (promote_to_float_ && isIntegralType(iter.common_dtype_, /*includeBool=*/true)) {
    iter.common_dtype_ = c10::get_default_dtype_as_scalartype();
  }
  for (IteratorOperand& op : iter.operands_) {
    if (!op.is_output) op.tensor = converted(op.tensor, iter.common_dtype_);
  }
}

void TensorIteratorConfig::prepare_output(TensorIterator& iter, IteratorOperand& out) const {
  if (!out.tensor.defined()) {
    const ScalarType dtype = static_dtype_.has_value() ? *static_dtype_ : iter.common_dtype_;
    TORCH_CHECK(dtype != ScalarType::Undefined, "TensorIterator: an output is undefined and no dtype is known for it");
    out.tensor = empty_contiguous(iter.shape_, dtype);
    return;
  }
  if (safe_casting_ && iter.common_dtype_ != ScalarType::Undefined) {
    TORCH_CHECK(canCast(iter.common_dtype_, out.tensor.scalar_type()), "result type ", iter.common_dtype_,
                " can't be cast to the desired output type ", out.tensor.scalar_type());
  }
  if (out.tensor.sizes() != IntArrayRef(iter.shape_)) {
    TORCH_CHECK(resize_outputs_, "output with shape ", out.tensor.sizes(), " doesn't match the broadcast shape ",
                IntArrayRef(iter.shape_));
    at::resize_output(out.tensor, iter.shape_);
  }
  if (check_mem_overlap_) {
    assert_no_internal_overlap(out.tensor);
    for (const IteratorOperand& op : iter.operands_) {
      if (!op.is_output) assert_no_partial_overlap(out.tensor, op.tensor);
    }
  }
  if (cast_to_outputs_ && iter.common_dtype_ != ScalarType::Undefined &&
      out.tensor.scalar_type() != iter.common_dtype_) {
    out.original = out.tensor;
    out.tensor = empty_contiguous(iter.shape_, iter.common_dtype_);
  }
}

TensorIterator TensorIteratorConfig::build() {
  TensorIterator iter;
  iter.operands_ = operands_;
  for (const IteratorOperand& op : operands_) iter.num_outputs_ += op.is_output;
  check_inputs(iter);
  find_shape(iter);
  find_dtype(iter);
  for (IteratorOperand& op : iter.operands_) {
    if (op.is_output) prepare_output(iter, op);
  }
  return iter;
}

}  // namespace at
