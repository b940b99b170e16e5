// Pruning: parameters with elements held at zero by a mask.
//
//   namespace prune = torch::nn::utils::prune;
//   prune::l1_unstructured(linear, "weight", 0.3);       // the 30% smallest elements are zero from now on
//   prune::ln_structured(conv, "weight", 2, 2.0, 0);     // and the two weakest output channels
//   prune::remove(linear, "weight");                     // for good: a parameter again
//
// The parameter `name` becomes `name_orig`, the mask is the buffer `name_mask`, and `name` is their product, computed
// before each call of the module (nn/module/computed_tensor.h says what a call is). Pruning again prunes among what is
// left.
//
// Amounts are a number of elements (or channels), or a fraction of them between 0 and 1. Throws c10::ValueError for
// another fraction, a negative number, or more than there are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/module/computed_tensor.h"

namespace torch::nn::utils::prune {

class Amount {
 public:
  Amount(int64_t count) : count_(count) {}
  Amount(int count) : count_(count) {}
  Amount(double fraction) : fraction_(fraction), is_fraction_(true) {}
  // Of `size` elements or channels; throws as said above.
  int64_t of(int64_t size) const;
  // Throws for a fraction outside [0, 1] or a negative number.
  void check() const;

 private:
  int64_t count_ = 0;
  double fraction_ = 0;
  bool is_fraction_ = false;
};

enum class PruningType { kUnstructured, kStructured, kGlobal };

// A way to choose what is pruned. Derive from it for one of your own, and apply() it.
class BasePruningMethod {
 public:
  virtual ~BasePruningMethod() = default;
  // Of tensor and mask: the mask with more zeros.
  virtual at::Tensor compute_mask(const at::Tensor& t, const at::Tensor& default_mask) const = 0;
  virtual PruningType type() const { return PruningType::kUnstructured; }
  // The dimension of the channels that a structured method prunes.
  virtual int64_t dim() const { return 0; }

  // What `t`, or the elements of greatest importance in it, is when pruned.
  at::Tensor prune(const at::Tensor& t, const at::Tensor& default_mask = {},
                   const at::Tensor& importance_scores = {}) const;
};

// Several methods one after the other, each on what those before left.
class PruningContainer : public BasePruningMethod {
 public:
  PruningContainer() = default;
  explicit PruningContainer(std::vector<std::shared_ptr<const BasePruningMethod>> methods)
      : methods_(std::move(methods)) {}
  void add_pruning_method(std::shared_ptr<const BasePruningMethod> method);
  // By the last method, among what the mask leaves.
  at::Tensor compute_mask(const at::Tensor& t, const at::Tensor& default_mask) const override;
  size_t size() const { return methods_.size(); }
  const std::shared_ptr<const BasePruningMethod>& operator[](size_t index) const { return methods_.at(index); }

 private:
  std::vector<std::shared_ptr<const BasePruningMethod>> methods_;
};

// Nothing.
class Identity : public BasePruningMethod {
 public:
  at::Tensor compute_mask(const at::Tensor& t, const at::Tensor& default_mask) const override;
};
// Any elements.
class RandomUnstructured : public BasePruningMethod {
 public:
  explicit RandomUnstructured(Amount amount);
  at::Tensor compute_mask(const at::Tensor& t, const at::Tensor& default_mask) const override;

 private:
  Amount amount_;
};
// The elements of smallest magnitude.
class L1Unstructured : public BasePruningMethod {
 public:
  explicit L1Unstructured(Amount amount);
  at::Tensor compute_mask(const at::Tensor& t, const at::Tensor& default_mask) const override;

 private:
  Amount amount_;
};
// Any channels along a dimension.
class RandomStructured : public BasePruningMethod {
 public:
  explicit RandomStructured(Amount amount, int64_t dim = -1);
  at::Tensor compute_mask(const at::Tensor& t, const at::Tensor& default_mask) const override;
  PruningType type() const override { return PruningType::kStructured; }
  int64_t dim() const override { return dim_; }

 private:
  Amount amount_;
  int64_t dim_;
};
// The channels of smallest n-norm along a dimension.
class LnStructured : public BasePruningMethod {
 public:
  LnStructured(Amount amount, double n, int64_t dim = -1);
  at::Tensor compute_mask(const at::Tensor& t, const at::Tensor& default_mask) const override;
  PruningType type() const override { return PruningType::kStructured; }
  int64_t dim() const override { return dim_; }

 private:
  Amount amount_;
  double n_;
  int64_t dim_;
};
// Where a given mask is zero.
class CustomFromMask : public BasePruningMethod {
 public:
  explicit CustomFromMask(at::Tensor mask) : mask_(std::move(mask)) {}
  at::Tensor compute_mask(const at::Tensor& t, const at::Tensor& default_mask) const override;
  PruningType type() const override { return PruningType::kGlobal; }

 private:
  at::Tensor mask_;
};

// Prunes a parameter by a method. The elements' importance is their value, or that of `importance_scores`, of the
// parameter's sizes. Throws, with the module unchanged, where the method does.
void apply(ModuleRef module, const std::string& name, std::shared_ptr<const BasePruningMethod> method,
           const at::Tensor& importance_scores = {});

void identity(ModuleRef module, const std::string& name);
void random_unstructured(ModuleRef module, const std::string& name, Amount amount);
void l1_unstructured(ModuleRef module, const std::string& name, Amount amount,
                     const at::Tensor& importance_scores = {});
void random_structured(ModuleRef module, const std::string& name, Amount amount, int64_t dim);
void ln_structured(ModuleRef module, const std::string& name, Amount amount, double n, int64_t dim,
                   const at::Tensor& importance_scores = {});
void custom_from_mask(ModuleRef module, const std::string& name, const at::Tensor& mask);

// Prunes several parameters together by an unstructured method: the amount is of all of them.
//   prune::global_unstructured({{fc1, "weight"}, {fc2, "weight"}}, prune::L1Unstructured(0.2));
// `importance_scores` has a tensor a parameter, undefined for its own values, or is empty. Throws c10::TypeError for a
// method of another kind.
using ModuleParameters = std::vector<std::pair<ModuleRef, std::string>>;
void global_unstructured(const ModuleParameters& parameters, const BasePruningMethod& method,
                         const std::vector<at::Tensor>& importance_scores = {});

// Makes the pruned value the parameter's, and forgets the mask. Throws c10::ValueError where it is not pruned.
void remove(ModuleRef module, const std::string& name);
// Whether anything in the module, or in those below, is pruned.
bool is_pruned(ModuleRef module);

}  // namespace torch::nn::utils::prune
