// Tensors some of whose elements are left out.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/tensor_indexing.h"

namespace torch::masked {

using at::Tensor;

// Functions of one tensor that MaskedTensor has, and those of them that change it in place.
#define KD_MASKED_UNARY_BOTH(_)                                                                                        \
  _(abs)                                                                                                               \
  _(absolute)                                                                                                          \
  _(acos)                                                                                                              \
  _(arccos) _(acosh) _(arccosh) _(asin) _(arcsin) _(asinh) _(arcsinh) _(atan) _(arctan) _(atanh) _(arctanh)            \
      _(bitwise_not) _(ceil) _(conj_physical) _(cos) _(cosh) _(deg2rad) _(digamma) _(erf) _(erfc) _(erfinv) _(exp)     \
          _(exp2) _(expm1) _(fix) _(floor) _(frac) _(lgamma) _(log) _(log10) _(log1p) _(log2) _(i0) _(neg) _(negative) \
              _(rad2deg) _(reciprocal) _(round) _(rsqrt) _(sigmoid) _(sign) _(sgn) _(sin) _(sinc) _(sinh) _(sqrt)      \
                  _(square) _(tan) _(tanh) _(trunc)
#define KD_MASKED_UNARY(_) KD_MASKED_UNARY_BOTH(_) _(angle) _(positive) _(signbit) _(isnan)

// Functions of two, of which the second may be a plain tensor; and, of those of the first list, a number. Those of the
// second list are not changed in place.
#define KD_MASKED_BINARY_SCALAR(_)                                                                              \
  _(bitwise_and)                                                                                                \
  _(bitwise_or)                                                                                                 \
  _(bitwise_xor)                                                                                                \
  _(bitwise_left_shift) _(bitwise_right_shift) _(div) _(divide) _(floor_divide) _(fmod) _(mul) _(multiply)      \
      _(remainder) _(true_divide) _(eq) _(ne) _(le) _(ge) _(greater) _(greater_equal) _(gt) _(less_equal) _(lt) \
          _(less) _(not_equal) _(add) _(sub) _(subtract)
#define KD_MASKED_BINARY_TENSOR_BOTH(_) _(atan2) _(arctan2) _(nextafter)
#define KD_MASKED_BINARY_TENSOR_ONLY(_) _(logaddexp) _(logaddexp2) _(maximum) _(minimum) _(fmax) _(fmin)

/// A tensor and a mask of its sizes, true where an element counts ("specified"); what the data has elsewhere means
/// nothing, and no result that counts depends on it. Data and mask are strided, or sparse (COO, CSR) with the same
/// indices. A handle: copies share both.
///
///   using torch::masked::masked_tensor;
///   auto mx = masked_tensor(x, x < 0, /*requires_grad=*/true);
///   mx.exp().sum().backward();
///   mx.grad();                       // exp(x) where x < 0, "--" elsewhere
///
/// Operators are methods by their usual names, and + - * /. Those of two masked tensors need equal masks (ValueError).
/// Autograd records them as it does for the data. Reductions count what is specified; their results are specified where
/// something was.
class MaskedTensor {
 public:
  /// Keeps both as they are. Throws TypeError for layouts that differ or are not supported, a mask that is not of bool,
  /// and data of a dtype other than float16, float32, float64, bool and the signed integers; ValueError for sizes or
  /// sparse indices that differ.
  MaskedTensor(Tensor data, Tensor mask);

  /// The data, with its history.
  const Tensor& get_data() const { return data_; }
  const Tensor& get_mask() const { return mask_; }
  /// The data with `value` where it is not specified.
  Tensor to_tensor(const at::Scalar& value) const;

  at::IntArrayRef sizes() const { return data_.sizes(); }
  int64_t size(int64_t d) const { return data_.size(d); }
  int64_t dim() const { return data_.dim(); }
  int64_t numel() const { return data_.numel(); }
  at::ScalarType scalar_type() const { return data_.scalar_type(); }
  at::Device device() const { return data_.device(); }
  at::Layout layout() const { return data_.layout(); }
  bool is_sparse_coo() const { return layout() == at::kSparse; }
  bool is_sparse_csr() const { return layout() == at::kSparseCsr; }
  bool is_sparse() const { return is_sparse_coo() || is_sparse_csr(); }
  /// Throws ValueError where it is not specified.
  at::Scalar item() const;
  std::string str() const;

  bool requires_grad() const { return data_.requires_grad(); }
  MaskedTensor& requires_grad_(bool requires_grad = true);
  /// The gradient of a leaf, specified where this is; nothing where there is none.
  std::optional<MaskedTensor> grad() const;
  /// Into the grad() of all leaves. Throws ValueError where this is one element that is not specified.
  void backward(const std::optional<Tensor>& gradient = std::nullopt) const;

  MaskedTensor clone() const;
  MaskedTensor detach() const;
  MaskedTensor contiguous() const;
  MaskedTensor to(at::ScalarType dtype) const;
  MaskedTensor to_dense() const;
  /// With entries where it is specified. CSR needs two dimensions (ValueError).
  MaskedTensor to_sparse() const;
  MaskedTensor to_sparse_coo() const { return to_sparse(); }
  MaskedTensor to_sparse_csr() const;

#define KD_MASKED_DECLARE_(name) MaskedTensor name() const;
  KD_MASKED_UNARY(KD_MASKED_DECLARE_)
#undef KD_MASKED_DECLARE_
#define KD_MASKED_DECLARE_(name) const MaskedTensor& name##_() const;
  KD_MASKED_UNARY_BOTH(KD_MASKED_DECLARE_)
#undef KD_MASKED_DECLARE_
  MaskedTensor clamp(const std::optional<at::Scalar>& min, const std::optional<at::Scalar>& max = std::nullopt) const;
  MaskedTensor clip(const std::optional<at::Scalar>& min, const std::optional<at::Scalar>& max = std::nullopt) const;
  MaskedTensor logit(std::optional<double> eps = std::nullopt) const;
  MaskedTensor nan_to_num(std::optional<double> nan = std::nullopt, std::optional<double> posinf = std::nullopt,
                          std::optional<double> neginf = std::nullopt) const;
  MaskedTensor pow(const at::Scalar& exponent) const;
  const MaskedTensor& clamp_(const std::optional<at::Scalar>& min,
                             const std::optional<at::Scalar>& max = std::nullopt) const;
  const MaskedTensor& clip_(const std::optional<at::Scalar>& min,
                            const std::optional<at::Scalar>& max = std::nullopt) const;
  const MaskedTensor& logit_(std::optional<double> eps = std::nullopt) const;
  const MaskedTensor& nan_to_num_(std::optional<double> nan = std::nullopt, std::optional<double> posinf = std::nullopt,
                                  std::optional<double> neginf = std::nullopt) const;
  const MaskedTensor& pow_(const at::Scalar& exponent) const;

#define KD_MASKED_DECLARE_(name)                      \
  MaskedTensor name(const MaskedTensor& other) const; \
  MaskedTensor name(const Tensor& other) const;
  KD_MASKED_BINARY_SCALAR(KD_MASKED_DECLARE_)
  KD_MASKED_BINARY_TENSOR_BOTH(KD_MASKED_DECLARE_)
  KD_MASKED_BINARY_TENSOR_ONLY(KD_MASKED_DECLARE_)
#undef KD_MASKED_DECLARE_
#define KD_MASKED_DECLARE_(name) MaskedTensor name(const at::Scalar& other) const;
  KD_MASKED_BINARY_SCALAR(KD_MASKED_DECLARE_)
#undef KD_MASKED_DECLARE_
#define KD_MASKED_DECLARE_(name)                                \
  const MaskedTensor& name##_(const MaskedTensor& other) const; \
  const MaskedTensor& name##_(const Tensor& other) const;
  KD_MASKED_BINARY_SCALAR(KD_MASKED_DECLARE_)
  KD_MASKED_BINARY_TENSOR_BOTH(KD_MASKED_DECLARE_)
#undef KD_MASKED_DECLARE_
#define KD_MASKED_DECLARE_(name) const MaskedTensor& name##_(const at::Scalar& other) const;
  KD_MASKED_BINARY_SCALAR(KD_MASKED_DECLARE_)
#undef KD_MASKED_DECLARE_

  /// As torch::masked has them (reductions.h), of what is specified. Sparse ones are reduced as a whole only.
  MaskedTensor sum(at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                   std::optional<at::ScalarType> dtype = std::nullopt) const;
  MaskedTensor mean(at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                    std::optional<at::ScalarType> dtype = std::nullopt) const;
  MaskedTensor prod(at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                    std::optional<at::ScalarType> dtype = std::nullopt) const;
  MaskedTensor amin(at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false) const;
  MaskedTensor amax(at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false) const;
  MaskedTensor argmin(std::optional<int64_t> dim = std::nullopt, bool keepdim = false) const;
  MaskedTensor argmax(std::optional<int64_t> dim = std::nullopt, bool keepdim = false) const;
  /// Whether all that is specified is true.
  MaskedTensor all(at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false) const;
  MaskedTensor norm(double ord = 2.0, at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false) const;
  MaskedTensor var(at::OptionalIntArrayRef dim = std::nullopt, double correction = 1.0, bool keepdim = false) const;
  MaskedTensor std(at::OptionalIntArrayRef dim = std::nullopt, double correction = 1.0, bool keepdim = false) const;
  MaskedTensor softmax(int64_t dim) const;
  MaskedTensor log_softmax(int64_t dim) const;

  /// Applied to data and mask.
  MaskedTensor select(int64_t dim, int64_t index) const;
  MaskedTensor slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step = 1) const;
  MaskedTensor narrow(int64_t dim, int64_t start, int64_t length) const;
  MaskedTensor index(std::initializer_list<at::indexing::TensorIndex> indices) const;
  MaskedTensor transpose(int64_t dim0, int64_t dim1) const;
  MaskedTensor t() const;
  MaskedTensor permute(at::IntArrayRef dims) const;
  MaskedTensor unsqueeze(int64_t dim) const;
  MaskedTensor view(at::IntArrayRef size) const;
  MaskedTensor reshape(at::IntArrayRef shape) const;
  MaskedTensor reshape_as(const Tensor& other) const {
    return reshape(other.sizes());
  }
  MaskedTensor expand(at::IntArrayRef size) const;
  MaskedTensor expand_as(const Tensor& other) const {
    return expand(other.sizes());
  }
  MaskedTensor broadcast_to(at::IntArrayRef size) const {
    return expand(size);
  }
  MaskedTensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  MaskedTensor ravel() const;
  MaskedTensor unfold(int64_t dimension, int64_t size, int64_t step) const;
  std::vector<MaskedTensor> split(int64_t split_size, int64_t dim = 0) const;
  std::vector<MaskedTensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<MaskedTensor> hsplit(int64_t sections) const;
  std::vector<MaskedTensor> vsplit(int64_t sections) const;
  std::vector<MaskedTensor> dsplit(int64_t sections) const;

 private:
  Tensor data_;
  Tensor mask_;
};

std::ostream& operator<<(std::ostream& out, const MaskedTensor& t);

/// A leaf, of copies of both.
MaskedTensor masked_tensor(const Tensor& data, const Tensor& mask, bool requires_grad = false);
/// The same that keeps the history of `data`, whose gradient is that of what is specified.
MaskedTensor as_masked_tensor(const Tensor& data, const Tensor& mask);

/// `self` where the condition holds, else `other`, each specified or not.
MaskedTensor where(const Tensor& condition, const MaskedTensor& self, const MaskedTensor& other);
MaskedTensor cat(const std::vector<MaskedTensor>& tensors, int64_t dim = 0);
MaskedTensor stack(const std::vector<MaskedTensor>& tensors, int64_t dim = 0);
MaskedTensor hstack(const std::vector<MaskedTensor>& tensors);
MaskedTensor vstack(const std::vector<MaskedTensor>& tensors);
MaskedTensor column_stack(const std::vector<MaskedTensor>& tensors);
MaskedTensor kron(const MaskedTensor& self, const MaskedTensor& other);
MaskedTensor atleast_1d(const MaskedTensor& self);
std::vector<MaskedTensor> broadcast_tensors(const std::vector<MaskedTensor>& tensors);
/// indexing: "ij" or "xy".
std::vector<MaskedTensor> meshgrid(const std::vector<MaskedTensor>& tensors, std::string_view indexing = "ij");
/// Blocks of images [N, C, H, W], as nn::functional::unfold.
MaskedTensor unfold(const MaskedTensor& input, at::IntArrayRef kernel_size, at::IntArrayRef dilation = {1, 1},
                    at::IntArrayRef padding = {0, 0}, at::IntArrayRef stride = {1, 1});

#define KD_MASKED_OPERATOR_(op, name)                                             \
  inline MaskedTensor operator op(const MaskedTensor& a, const MaskedTensor& b) { \
    return a.name(b);                                                             \
  }                                                                               \
  inline MaskedTensor operator op(const MaskedTensor& a, const Tensor& b) {       \
    return a.name(b);                                                             \
  }                                                                               \
  inline MaskedTensor operator op(const MaskedTensor& a, const at::Scalar& b) {   \
    return a.name(b);                                                             \
  }
KD_MASKED_OPERATOR_(+, add)
KD_MASKED_OPERATOR_(-, sub)
KD_MASKED_OPERATOR_(*, mul)
KD_MASKED_OPERATOR_(/, div)
#undef KD_MASKED_OPERATOR_
inline MaskedTensor operator+(const at::Scalar& a, const MaskedTensor& b) {
  return b.add(a);
}
inline MaskedTensor operator-(const at::Scalar& a, const MaskedTensor& b) {
  return b.neg().add(a);
}
inline MaskedTensor operator*(const at::Scalar& a, const MaskedTensor& b) {
  return b.mul(a);
}
inline MaskedTensor operator/(const at::Scalar& a, const MaskedTensor& b) {
  return b.reciprocal().mul(a);
}
inline MaskedTensor operator-(const MaskedTensor& a) {
  return a.neg();
}

}  // namespace torch::masked
