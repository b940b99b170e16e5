#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/array_ref.h"
#include "data/example.h"
#include "data/transforms/base.h"

namespace torch::data::transforms {

/// A function of a whole batch.
template <typename Input, typename Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
 public:
  using typename BatchTransform<Input, Output>::InputBatchType;
  using typename BatchTransform<Input, Output>::OutputBatchType;
  using FunctionType = std::function<OutputBatchType(InputBatchType)>;

  explicit BatchLambda(FunctionType function) : function_(std::move(function)) {}
  OutputBatchType apply_batch(InputBatchType input_batch) override { return function_(std::move(input_batch)); }

 private:
  FunctionType function_;
};

/// A function of one example.
///
///   dataset.map(transforms::Lambda<Example<>>([](Example<> e) { e.data = e.data.flatten(); return e; }))
template <typename Input, typename Output = Input>
class Lambda : public Transform<Input, Output> {
 public:
  using typename Transform<Input, Output>::InputType;
  using typename Transform<Input, Output>::OutputType;
  using FunctionType = std::function<OutputType(InputType)>;

  explicit Lambda(FunctionType function) : function_(std::move(function)) {}
  OutputType apply(InputType input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

/// Makes one thing of a batch.
template <typename T, typename BatchType = std::vector<T>>
using Collation = BatchTransform<BatchType, T>;

/// A function that does that.
template <typename T, typename BatchType = std::vector<T>>
using Collate = BatchLambda<BatchType, T>;

/// Stacks the tensors of a batch along a new first dimension, data and targets.
template <typename T = Example<>>
struct Stack;

template <>
struct Stack<Example<>> : public Collation<Example<>> {
  Example<> apply_batch(std::vector<Example<>> examples) override;
};

template <>
struct Stack<TensorExample> : public Collation<Example<at::Tensor, example::NoTarget>> {
  TensorExample apply_batch(std::vector<TensorExample> examples) override;
};

/// Changes the data of examples and leaves the targets.
template <typename Target = at::Tensor>
class TensorTransform : public Transform<Example<at::Tensor, Target>, Example<at::Tensor, Target>> {
 public:
  using E = Example<at::Tensor, Target>;
  virtual at::Tensor operator()(at::Tensor input) = 0;
  E apply(E input) override {
    input.data = (*this)(std::move(input.data));
    return input;
  }
};

/// A function that does that.
template <typename Target = at::Tensor>
class TensorLambda : public TensorTransform<Target> {
 public:
  using FunctionType = std::function<at::Tensor(at::Tensor)>;
  explicit TensorLambda(FunctionType function) : function_(std::move(function)) {}
  at::Tensor operator()(at::Tensor input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

namespace detail {
// One number a channel, shaped [C, 1, 1].
at::Tensor channel_tensor(at::ArrayRef<double> values, const char* what, bool nonzero);
at::Tensor normalize(const at::Tensor& input, const at::Tensor& mean, const at::Tensor& stddev);
}  // namespace detail

/// (x - mean) / stddev, for images [C, H, W], with one number or one a channel. ValueError for none and for a stddev of
/// 0.
template <typename Target = at::Tensor>
struct Normalize : public TensorTransform<Target> {
  Normalize(at::ArrayRef<double> mean, at::ArrayRef<double> stddev)
      : mean(detail::channel_tensor(mean, "mean", false)), stddev(detail::channel_tensor(stddev, "stddev", true)) {}

  at::Tensor operator()(at::Tensor input) override { return detail::normalize(input, mean, stddev); }

  at::Tensor mean, stddev;
};

}  // namespace torch::data::transforms
