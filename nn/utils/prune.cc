#include "nn/utils/prune.h"

#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/module/module_access.h"

namespace torch::nn::utils::prune {
namespace {

using at::Tensor;

Tensor copy_of(const Tensor& t) {
  return at::clone(at::detach(t), at::MemoryFormat::Contiguous);
}

int64_t wrapped(int64_t dim, const Tensor& t) {
  const int64_t d = dim < 0 ? dim + t.dim() : dim;
  TORCH_CHECK_INDEX(d >= 0 && d < t.dim(), "Invalid dim=", dim, " for tensor of size ", t.sizes());
  return d;
}

std::vector<int64_t> all_but(int64_t dim, const Tensor& t) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (d != dim) dims.push_back(d);
  }
  return dims;
}

// Writes zeros where `indices`, of the elements in their order, are.
Tensor with_zeros(const Tensor& mask, const Tensor& indices) {
  Tensor out = copy_of(mask);
  Tensor flat = at::view(out, {-1});
  at::index_fill_(flat, 0, indices, 0);
  return out;
}

// Ones in the channels `indices` along a dimension, zeros elsewhere; times the mask that there was.
Tensor with_channels(const Tensor& indices, int64_t dim, const Tensor& mask) {
  Tensor out = at::zeros_like(mask);
  at::index_fill_(out, dim, indices, 1);
  return at::mul_(out, mask);
}

class PruneRule final : public TensorRule {
 public:
  explicit PruneRule(std::shared_ptr<const BasePruningMethod> method) : method_(std::move(method)) {}
  Tensor compute(Module& m, const std::string& name) const override {
    const Tensor& original = m.get_parameter(name + "_orig");
    return at::mul(at::to(m.get_buffer(name + "_mask"), original.scalar_type()), original);
  }
  const std::shared_ptr<const BasePruningMethod>& method() const { return method_; }

 private:
  std::shared_ptr<const BasePruningMethod> method_;
};

std::shared_ptr<const PruneRule> find_rule(const Module& m, const std::string& name) {
  return std::dynamic_pointer_cast<const PruneRule>(rule_of(m, name));
}

Tensor pruned_or_plain(Module& m, const std::string& name) {
  if (const auto rule = find_rule(m, name)) return rule->compute(m, name);
  return m.get_parameter(name);
}

}  // namespace

void Amount::check() const {
  TORCH_CHECK_VALUE(is_fraction_ ? fraction_ >= 0 && fraction_ <= 1 : count_ >= 0,
                    "amount=", is_fraction_ ? c10::str(fraction_) : c10::str(count_),
                    " should either be a float in the range [0.0, 1.0] or a non-negative integer");
}

int64_t Amount::of(int64_t size) const {
  check();
  if (is_fraction_) return std::llrint(fraction_ * static_cast<double>(size));
  TORCH_CHECK_VALUE(count_ <= size, "amount=", count_,
                    " should be smaller than the number of parameters to prune=", size);
  return count_;
}

Tensor BasePruningMethod::prune(const Tensor& t, const Tensor& default_mask, const Tensor& importance_scores) const {
  TORCH_CHECK_VALUE(!importance_scores.defined() || importance_scores.sizes() == t.sizes(),
                    "importance_scores should have the same shape as tensor t");
  const Tensor mask = default_mask.defined() ? default_mask : at::ones_like(t);
  return at::mul(t, compute_mask(importance_scores.defined() ? importance_scores : t, mask));
}

void PruningContainer::add_pruning_method(std::shared_ptr<const BasePruningMethod> method) {
  TORCH_CHECK_TYPE(method != nullptr, "PruningContainer: expected a pruning method");
  methods_.push_back(std::move(method));
}

Tensor PruningContainer::compute_mask(const Tensor& t, const Tensor& default_mask) const {
  TORCH_CHECK(!methods_.empty(), "PruningContainer: there is no pruning method");
  const BasePruningMethod& last = *methods_.back();
  const Tensor mask = at::to(default_mask, t.scalar_type());
  if (last.type() == PruningType::kGlobal) return last.compute_mask(t, mask);
  if (last.type() == PruningType::kStructured) {
    const int64_t dim = wrapped(last.dim(), t);
    const std::vector<int64_t> others = all_but(dim, t);
    const Tensor kept = others.empty() ? at::ne(mask, 0) : at::ne(at::sum(mask, others), 0);
    const Tensor channels = at::view(at::nonzero(kept), {-1});
    Tensor out = copy_of(mask);
    const Tensor of_kept = last.compute_mask(at::index_select(t, dim, channels), at::index_select(mask, dim, channels));
    at::index_copy_(out, dim, channels, of_kept);
    return out;
  }
  const Tensor left = at::eq(mask, 1);
  const Tensor chosen = at::masked_select(mask, left);
  Tensor out = copy_of(mask);
  at::masked_scatter_(out, left, last.compute_mask(at::masked_select(t, left), chosen));
  return out;
}

Tensor Identity::compute_mask(const Tensor&, const Tensor& default_mask) const {
  return default_mask;
}

RandomUnstructured::RandomUnstructured(Amount amount) : amount_(amount) {
  amount_.check();
}
Tensor RandomUnstructured::compute_mask(const Tensor& t, const Tensor& default_mask) const {
  const int64_t n = amount_.of(t.numel());
  if (n == 0) return copy_of(default_mask);
  const Tensor chance = at::rand_like(t);
  return with_zeros(default_mask, std::get<1>(at::topk(at::reshape(chance, {-1}), n)));
}

L1Unstructured::L1Unstructured(Amount amount) : amount_(amount) {
  amount_.check();
}
Tensor L1Unstructured::compute_mask(const Tensor& t, const Tensor& default_mask) const {
  const int64_t n = amount_.of(t.numel());
  if (n == 0) return copy_of(default_mask);
  const Tensor magnitude = at::reshape(at::abs(t), {-1});
  return with_zeros(default_mask, std::get<1>(at::topk(magnitude, n, -1, /*largest=*/false)));
}

RandomStructured::RandomStructured(Amount amount, int64_t dim) : amount_(amount), dim_(dim) {
  amount_.check();
}
Tensor RandomStructured::compute_mask(const Tensor& t, const Tensor& default_mask) const {
  TORCH_CHECK_VALUE(t.dim() > 1,
                    "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
                    "shape ",
                    t.sizes(), " with ", t.dim(), " dims");
  const int64_t dim = wrapped(dim_, t), size = t.size(dim), n = amount_.of(size);
  if (n == 0) return default_mask;
  const Tensor chance = at::rand({size});
  const Tensor threshold = std::get<0>(at::kthvalue(chance, n));
  const Tensor kept = at::view(at::nonzero(at::gt(chance, threshold)), {-1});
  return with_channels(at::to(kept, default_mask.device(), at::kLong), dim, at::to(default_mask, t.scalar_type()));
}

LnStructured::LnStructured(Amount amount, double n, int64_t dim) : amount_(amount), n_(n), dim_(dim) {
  amount_.check();
}
Tensor LnStructured::compute_mask(const Tensor& t, const Tensor& default_mask) const {
  TORCH_CHECK_VALUE(t.dim() > 1,
                    "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
                    "shape ",
                    t.sizes(), " with ", t.dim(), " dims");
  const int64_t dim = wrapped(dim_, t), size = t.size(dim), n = amount_.of(size);
  if (n == 0) return default_mask;
  const Tensor norm = at::norm(t, std::optional<at::Scalar>(n_), all_but(dim, t));
  const Tensor kept = std::get<1>(at::topk(norm, size - n, -1, /*largest=*/true));
  return with_channels(kept, dim, at::to(default_mask, t.scalar_type()));
}

Tensor CustomFromMask::compute_mask(const Tensor&, const Tensor& default_mask) const {
  TORCH_CHECK_VALUE(mask_.sizes() == default_mask.sizes(), "custom_from_mask: expected a mask of sizes ",
                    default_mask.sizes(), ", got ", mask_.sizes());
  return at::mul(default_mask, at::to(mask_, default_mask.options()));
}

void apply(ModuleRef module, const std::string& name, std::shared_ptr<const BasePruningMethod> method,
           const Tensor& importance_scores) {
  Module& m = *module;
  TORCH_CHECK_TYPE(method != nullptr, "prune: expected a pruning method");
  const std::shared_ptr<const PruneRule> old = find_rule(m, name);
  TORCH_CHECK_VALUE(old != nullptr || ModuleAccess::parameters(m).contains(name), "prune: ", m, " has no parameter '",
                    name, "'");
  c10::NoGradGuard no_grad;
  const Tensor original = m.get_parameter(old == nullptr ? name : name + "_orig");
  TORCH_CHECK_VALUE(!importance_scores.defined() || importance_scores.sizes() == original.sizes(),
                    "importance_scores should have the same shape as parameter ", name, " of ", m);
  const Tensor scores = at::detach(importance_scores.defined() ? importance_scores : pruned_or_plain(m, name));
  if (old == nullptr) {
    const Tensor mask = method->compute_mask(scores, at::ones_like(original, {}, at::MemoryFormat::Contiguous));
    compute_tensor(m, name, std::make_shared<PruneRule>(std::move(method)));
    register_memberless(m, name + "_orig", original, true);
    register_memberless(m, name + "_mask", mask, false);
  } else {
    auto container = std::make_shared<PruningContainer>();
    if (const auto* several = dynamic_cast<const PruningContainer*>(old->method().get())) {
      *container = *several;
    } else {
      container->add_pruning_method(old->method());
    }
    container->add_pruning_method(std::move(method));
    Tensor& mask = m.get_buffer(name + "_mask");
    mask = container->compute_mask(scores, copy_of(mask));
    change_rule(m, name, std::make_shared<PruneRule>(std::move(container)));
  }
  c10::AutoGradMode grad(true);
  refresh_tensor(m, name);
}

void identity(ModuleRef module, const std::string& name) {
  apply(module, name, std::make_shared<Identity>());
}
void random_unstructured(ModuleRef module, const std::string& name, Amount amount) {
  apply(module, name, std::make_shared<RandomUnstructured>(amount));
}
void l1_unstructured(ModuleRef module, const std::string& name, Amount amount, const Tensor& importance_scores) {
  apply(module, name, std::make_shared<L1Unstructured>(amount), importance_scores);
}
void random_structured(ModuleRef module, const std::string& name, Amount amount, int64_t dim) {
  apply(module, name, std::make_shared<RandomStructured>(amount, dim));
}
void ln_structured(ModuleRef module, const std::string& name, Amount amount, double n, int64_t dim,
                   const Tensor& importance_scores) {
  apply(module, name, std::make_shared<LnStructured>(amount, n, dim), importance_scores);
}
void custom_from_mask(ModuleRef module, const std::string& name, const Tensor& mask) {
  apply(module, name, std::make_shared<CustomFromMask>(mask));
}

void global_unstructured(const ModuleParameters& parameters, const BasePruningMethod& method,
                         const std::vector<Tensor>& importance_scores) {
  TORCH_CHECK_TYPE(method.type() == PruningType::kUnstructured,
                   "Only \"unstructured\" PRUNING_TYPE supported for the `pruning_method`.");
  TORCH_CHECK_TYPE(!parameters.empty(), "global_unstructured(): expected a list of parameters");
  TORCH_CHECK_VALUE(importance_scores.empty() || importance_scores.size() == parameters.size(),
                    "global_unstructured: expected an importance for each of ", parameters.size(), " parameters, got ",
                    importance_scores.size());
  c10::NoGradGuard no_grad;
  std::vector<Tensor> scores, masks;
  for (size_t i = 0; i < parameters.size(); ++i) {
    Module& m = *parameters[i].first;
    const std::string& name = parameters[i].second;
    const Tensor value = pruned_or_plain(m, name);
    const bool given = !importance_scores.empty() && importance_scores[i].defined();
    TORCH_CHECK_VALUE(!given || importance_scores[i].sizes() == value.sizes(),
                      "importance_scores should have the same shape as parameter ", name, " of ", m);
    scores.push_back(at::reshape(given ? importance_scores[i] : value, {-1}));
    const Tensor* mask = ModuleAccess::buffers(m).find(name + "_mask");
    masks.push_back(at::reshape(mask != nullptr ? *mask : at::ones_like(value), {-1}));
  }
  // The container leaves what is pruned already alone; the method is only borrowed.
  PruningContainer container(
      {std::shared_ptr<const BasePruningMethod>(std::shared_ptr<const BasePruningMethod>(), &method)});
  const Tensor mask = container.compute_mask(at::cat(scores), at::cat(masks));
  int64_t start = 0;
  for (const auto& [module, name] : parameters) {
    const Tensor value = pruned_or_plain(*module, name);
    custom_from_mask(module, name, at::view(at::narrow(mask, 0, start, value.numel()), value.sizes()));
    start += value.numel();
  }
}

void remove(ModuleRef module, const std::string& name) {
  Module& m = *module;
  const auto rule = find_rule(m, name);
  TORCH_CHECK_VALUE(rule != nullptr, "Parameter '", name, "' of module ", m,
                    " has to be pruned before pruning can be removed");
  c10::NoGradGuard no_grad;
  const Tensor original = m.get_parameter(name + "_orig");
  original.set_data(at::detach(rule->compute(m, name)));
  unregister_memberless(m, name + "_orig");
  unregister_memberless(m, name + "_mask");
  stop_computing(m, name, original, true);
}

bool is_pruned(ModuleRef module) {
  bool any = false;
  module->apply([&](const Module& m) { any = any || has_rule<PruneRule>(m); });
  return any;
}

}  // namespace torch::nn::utils::prune
