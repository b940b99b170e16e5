// Invertible and other differentiable maps of samples, with the determinants that densities need.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "distributions/constraint.h"

namespace torch::distributions {

class Distribution;
class Transform;

/// What a transform is made of. Transforms of your own derive from it; `Transform` is the handle.
class TransformImpl : public std::enable_shared_from_this<TransformImpl> {
 public:
  explicit TransformImpl(int64_t cache_size = 0);
  virtual ~TransformImpl() = default;

  virtual Constraint domain() const = 0;
  virtual Constraint codomain() const = 0;
  virtual bool is_bijective() const { return false; }
  /// 1 or -1 for a monotone map of numbers, by a tensor where elements differ. Throws NotImplementedError for other
  /// maps.
  virtual TensorOrNumber sign() const;
  virtual Tensor forward(const Tensor& x) const = 0;
  virtual Tensor inverse(const Tensor& y) const;
  virtual Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const;
  virtual std::vector<int64_t> forward_shape(IntArrayRef shape) const { return shape.vec(); }
  virtual std::vector<int64_t> inverse_shape(IntArrayRef shape) const { return shape.vec(); }
  virtual std::string name() const = 0;
  virtual std::string repr() const { return name() + "()"; }
  /// Whether it is known to be the same map.
  virtual bool equals(const TransformImpl& other) const { return this == &other; }
  virtual Transform with_cache(int64_t cache_size) const;
  virtual Transform inv() const;

  int64_t cache_size() const { return cache_size_; }
  /// forward and inverse, by the pair that is kept where there is one.
  Tensor call(const Tensor& x) const;
  Tensor call_inverse(const Tensor& y) const;

 protected:
  [[noreturn]] void not_implemented(const char* what) const;

 private:
  const int64_t cache_size_;
  mutable std::mutex mutex_;
  mutable Tensor cached_x_, cached_y_;
};

/// A map y = f(x) of tensors: a handle, copies share it.
///
///     ExpTransform exp;
///     torch::Tensor y = exp(x);                                // x.exp()
///     exp.inv()(y);                                            // y.log()
///     exp.log_abs_det_jacobian(x, y);                          // log |dy/dx|: x
///
/// domain() and codomain() say where x and y lie; their event_dim() is how many of the last dimensions belong together:
/// those log_abs_det_jacobian has summed over. With cache_size 1 the last pair is kept, so that the inverse of the y
/// just computed is x itself. A transform without inverse, sign or determinant throws NotImplementedError.
class Transform {
 public:
  Transform() = default;
  Transform(std::shared_ptr<const TransformImpl> impl) : impl_(std::move(impl)) {}

  Tensor operator()(const Tensor& x) const { return impl().call(x); }
  Transform inv() const { return impl().inv(); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const { return impl().log_abs_det_jacobian(x, y); }
  Constraint domain() const { return impl().domain(); }
  Constraint codomain() const { return impl().codomain(); }
  bool bijective() const { return impl().is_bijective(); }
  TensorOrNumber sign() const { return impl().sign(); }
  /// The sizes of y for those of x, and back. Throws ValueError for sizes that do not fit.
  std::vector<int64_t> forward_shape(IntArrayRef shape) const { return impl().forward_shape(shape); }
  std::vector<int64_t> inverse_shape(IntArrayRef shape) const { return impl().inverse_shape(shape); }
  /// The same map that keeps the last pair (1) or none (0).
  Transform with_cache(int64_t cache_size = 1) const { return impl().with_cache(cache_size); }
  std::string repr() const { return impl().repr(); }

  const TransformImpl& impl() const {
    TORCH_CHECK(impl_ != nullptr, "an empty transform is used");
    return *impl_;
  }
  explicit operator bool() const { return impl_ != nullptr; }
  friend bool operator==(const Transform& a, const Transform& b) { return a.impl().equals(b.impl()); }

 private:
  std::shared_ptr<const TransformImpl> impl_;
};

/// y = |x|, of which the inverse takes the positive x.
struct AbsTransform : Transform {
  explicit AbsTransform(int64_t cache_size = 0);
};
/// y = loc + scale * x. `event_dim`: 0, 1 for vectors, 2 for matrices.
struct AffineTransform : Transform {
  AffineTransform(const TensorOrNumber& loc, const TensorOrNumber& scale, int64_t event_dim = 0,
                  int64_t cache_size = 0);
};
/// Parts of dimension `dim`, lengths[i] elements each (empty: one each), mapped by transforms of their own.
struct CatTransform : Transform {
  CatTransform(std::vector<Transform> tseq, int64_t dim = 0, std::vector<int64_t> lengths = {}, int64_t cache_size = 0);
};
/// One after another, the first first.
struct ComposeTransform : Transform {
  explicit ComposeTransform(std::vector<Transform> parts, int64_t cache_size = 0);
};
/// Vectors of D (D - 1) / 2 numbers to Cholesky factors of D x D correlation matrices: tanh, then partial correlations
/// row by row (Lewandowski, Kurowicka and Joe 2009).
struct CorrCholeskyTransform : Transform {
  explicit CorrCholeskyTransform(int64_t cache_size = 0);
};
/// y = the cumulative distribution function of a distribution of numbers.
struct CumulativeDistributionTransform : Transform {
  explicit CumulativeDistributionTransform(const Distribution& distribution, int64_t cache_size = 0);
};
/// y = exp(x)
struct ExpTransform : Transform {
  explicit ExpTransform(int64_t cache_size = 0);
};
/// `base_transform`, with its last `reinterpreted_batch_ndims` batch dimensions belonging to an event.
struct IndependentTransform : Transform {
  IndependentTransform(const Transform& base_transform, int64_t reinterpreted_batch_ndims, int64_t cache_size = 0);
};
/// Matrices to lower triangular ones with a positive diagonal: exp of the diagonal, zeros above. Not bijective.
struct LowerCholeskyTransform : Transform {
  explicit LowerCholeskyTransform(int64_t cache_size = 0);
};
/// Matrices to L L^T with the L of LowerCholeskyTransform. Not bijective.
struct PositiveDefiniteTransform : Transform {
  explicit PositiveDefiniteTransform(int64_t cache_size = 0);
};
/// y = x^exponent of positive x.
struct PowerTransform : Transform {
  explicit PowerTransform(const TensorOrNumber& exponent, int64_t cache_size = 0);
};
/// Events of sizes in_shape to out_shape, which have as many elements.
struct ReshapeTransform : Transform {
  ReshapeTransform(IntArrayRef in_shape, IntArrayRef out_shape, int64_t cache_size = 0);
};
/// y = 1 / (1 + exp(-x))
struct SigmoidTransform : Transform {
  explicit SigmoidTransform(int64_t cache_size = 0);
};
/// y = log(1 + exp(x))
struct SoftplusTransform : Transform {
  explicit SoftplusTransform(int64_t cache_size = 0);
};
/// y = tanh(x)
struct TanhTransform : Transform {
  explicit TanhTransform(int64_t cache_size = 0);
};
/// y = softmax(x) over the last dimension. Not bijective.
struct SoftmaxTransform : Transform {
  explicit SoftmaxTransform(int64_t cache_size = 0);
};
/// The i-th slice of dimension `dim` mapped by transform i.
struct StackTransform : Transform {
  explicit StackTransform(std::vector<Transform> tseq, int64_t dim = 0, int64_t cache_size = 0);
};
/// Vectors of n numbers to n + 1 probabilities: each breaks off sigmoid(x - log of how many follow) of what is left.
struct StickBreakingTransform : Transform {
  explicit StickBreakingTransform(int64_t cache_size = 0);
};

/// The map that changes nothing: a ComposeTransform of none.
Transform identity_transform();

}  // namespace torch::distributions
