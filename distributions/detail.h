// What the sources of this folder share.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "c10/core/epsilon.h"
#include "distributions/tensor_or_number.h"

namespace torch::distributions::detail {

/// A number as Python writes it: "0.5", "1e-07", "inf"; of a Scalar also "3" and "True".
std::string number_text(double value);
std::string number_text(const at::Scalar& value);
/// A tensor in a text: the number of one without dimensions, else its repr.
std::string formatted(const Tensor& tensor);

/// Of the tensor's dtype: the distance from 1 to the next number, and the smallest normal number.
inline double epsilon_of(const Tensor& tensor) {
  return c10::epsilon_of(tensor.scalar_type());
}
double tiny_of(const Tensor& tensor);

/// The sum over the last `dims` dimensions, in one.
Tensor sum_rightmost(const Tensor& value, int64_t dims);
/// Probabilities moved into [epsilon, 1 - epsilon].
Tensor clamp_probs(const Tensor& probs);
/// log(p / (1 - p)) of single probabilities; log(p) of those of categories.
Tensor probs_to_logits(const Tensor& probs, bool is_binary);
/// sigmoid, and softmax over the last dimension.
Tensor logits_to_probs(const Tensor& logits, bool is_binary);
/// -log(sigmoid(logits)) * value - log(1 - sigmoid(logits)) * (1 - value), the two broadcast.
Tensor cross_entropy_with_logits(const Tensor& logits, const Tensor& value);
/// Independent standard normal numbers of these sizes.
Tensor standard_normal(IntArrayRef sizes, const at::TensorOptions& options);
Tensor full_of(const Tensor& like, double value);
/// The product of two signs: numbers, or tensors that broadcast.
TensorOrNumber product_of(const TensorOrNumber& a, const TensorOrNumber& b);

/// How many elements there are.
int64_t product(IntArrayRef sizes);
/// The lists one after another.
std::vector<int64_t> joined(IntArrayRef a, IntArrayRef b);
std::vector<int64_t> joined(IntArrayRef a, IntArrayRef b, IntArrayRef c);
/// "(2, 3)"
std::string tuple_text(IntArrayRef sizes);

/// A tensor that is computed when it is first asked for, with its gradient, and then kept. Safe from several threads.
class Lazy {
 public:
  Lazy() = default;
  explicit Lazy(Tensor value) : value_(std::move(value)) {}

  Tensor get(const std::function<Tensor()>& compute) const;
  /// Undefined where it was not computed yet.
  Tensor peek() const;

 private:
  mutable std::mutex mutex_;
  mutable Tensor value_;
};

/// A parameter given as probabilities or as logits, of which the other follows when it is asked for.
class ProbsOrLogits {
 public:
  /// One of two that are given. Throws ValueError where both are or neither.
  static ProbsOrLogits of(const char* distribution, const TensorOrNumber& probs, const TensorOrNumber& logits);
  /// `is_binary`: of two outcomes, else of the categories of the last dimension.
  ProbsOrLogits(Tensor parameter, bool is_probs, bool is_binary);
  ProbsOrLogits(const ProbsOrLogits& other) : ProbsOrLogits(other, other.probs_.peek(), other.logits_.peek()) {}

  Tensor probs() const;
  Tensor logits() const;
  /// What is known of them.
  Tensor known_probs() const { return probs_.peek(); }
  Tensor known_logits() const { return logits_.peek(); }
  /// As it was given.
  bool is_probs() const { return is_probs_; }
  Tensor parameter() const { return is_probs_ ? probs_.peek() : logits_.peek(); }
  std::vector<int64_t> sizes() const { return parameter().sizes().vec(); }
  ProbsOrLogits expand(IntArrayRef sizes) const;

 private:
  ProbsOrLogits(const ProbsOrLogits& like, Tensor probs, Tensor logits)
      : probs_(std::move(probs)), logits_(std::move(logits)), is_probs_(like.is_probs_), is_binary_(like.is_binary_) {}

  const Lazy probs_, logits_;
  const bool is_probs_, is_binary_;
};

}  // namespace torch::distributions::detail
