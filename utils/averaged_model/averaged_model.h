// Averages of a model's weights over a training: SWA (the mean) and EMA (an exponential one), and the statistics of
// batch norms for them.
//
//   torch::optim::AveragedModel<Net> averaged(net);            // Net: a holder, or a std::shared_ptr of a module
//   for (...) { ...; optimizer.step(); averaged.update_parameters(net); }
//   torch::optim::update_bn(*loader, averaged);
//   at::Tensor y = averaged.forward(x);
//   torch::save(averaged, "averaged.pt");                      // keys n_averaged, module.0.weight ...
//
//   torch::optim::AveragedModel<Net> ema(net, std::nullopt, nullptr, torch::optim::get_ema_multi_avg_fn(0.999));
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "c10/core/grad_mode.h"
#include "nn/module/module.h"
#include "nn/module/module_call.h"

namespace torch::optim {

// The new average of one tensor, from the old one, the current value and how many went into the average before.
using AverageFunction =
    std::function<at::Tensor(const at::Tensor& averaged, const at::Tensor& current, int64_t num_averaged)>;
// The same for all of a model at once, in place.
using MultiAverageFunction = std::function<void(const std::vector<at::Tensor>& averaged,
                                                const std::vector<at::Tensor>& current, int64_t num_averaged)>;

// The mean, and average * decay + current * (1 - decay). ValueError unless decay lies in [0, 1].
AverageFunction get_swa_avg_fn();
MultiAverageFunction get_swa_multi_avg_fn();
AverageFunction get_ema_avg_fn(double decay = 0.999);
MultiAverageFunction get_ema_multi_avg_fn(double decay = 0.999);

// AveragedModel without the type of its module.
class AveragedModule : public nn::Module {
 public:
  // Takes `copy` over. ValueError for two functions.
  AveragedModule(std::shared_ptr<nn::Module> copy, AverageFunction avg_fn, MultiAverageFunction multi_avg_fn,
                 bool use_buffers);

  // Takes the model's values into the average; the first ones are the average. Buffers are averaged too with
  // `use_buffers`, else copied. ValueError for a model with other parameters.
  void update_parameters(const nn::Module& model);
  template <class Holder>
  requires requires(const Holder& h) { *h; }
  void update_parameters(const Holder& model) { update_parameters(static_cast<const nn::Module&>(*model)); }

  at::Tensor n_averaged;

 private:
  std::shared_ptr<nn::Module> copy_;
  AverageFunction average_;
  MultiAverageFunction multi_average_;
  bool use_buffers_;
};

// A copy of a model that holds an average of its weights. `device`: where the average is kept.
template <class Holder>
class AveragedModel : public AveragedModule {
 public:
  explicit AveragedModel(const Holder& model, std::optional<c10::Device> device = std::nullopt,
                         AverageFunction avg_fn = nullptr, MultiAverageFunction multi_avg_fn = nullptr,
                         bool use_buffers = false)
      : AveragedModel(copy_of(model, device), std::move(avg_fn), std::move(multi_avg_fn), use_buffers) {}

  template <class... Args>
  auto forward(Args&&... args) {
    return nn::call_module(*module, std::forward<Args>(args)...);
  }
  template <class... Args>
  auto operator()(Args&&... args) {
    return nn::call_module(*module, std::forward<Args>(args)...);
  }

  // The average.
  Holder module;

 private:
  using Impl = std::decay_t<decltype(*std::declval<const Holder&>())>;
  static std::shared_ptr<Impl> copy_of(const Holder& model, std::optional<c10::Device> device) {
    return std::dynamic_pointer_cast<Impl>(model->clone(device));
  }
  AveragedModel(std::shared_ptr<Impl> copy, AverageFunction avg_fn, MultiAverageFunction multi_avg_fn, bool use_buffers)
      : AveragedModule(copy, std::move(avg_fn), std::move(multi_avg_fn), use_buffers), module(copy) {}
};

namespace detail {

// Resets the statistics of a model's batch norms and has them take the mean of all batches; at the end they are as
// they were but for the statistics, and so is the training mode.
class BatchNormUpdate {
 public:
  explicit BatchNormUpdate(nn::Module& model);
  ~BatchNormUpdate();
  BatchNormUpdate(const BatchNormUpdate&) = delete;
  BatchNormUpdate& operator=(const BatchNormUpdate&) = delete;
  // Whether there is any.
  bool needed() const { return !momenta_.empty(); }

 private:
  nn::Module& model_;
  bool was_training_;
  std::vector<std::pair<nn::Module*, std::optional<double>>> momenta_;
};

// The inputs of a batch: itself, its `data`, or its first part.
template <class Batch>
at::Tensor inputs_of(const Batch& batch) {
  if constexpr (std::is_convertible_v<const Batch&, at::Tensor>) {
    return batch;
  } else if constexpr (requires { batch.data; }) {
    return batch.data;
  } else if constexpr (requires { std::get<0>(batch); }) {
    return std::get<0>(batch);
  } else {
    return batch.at(0);
  }
}

at::Tensor moved(const at::Tensor& tensor, std::optional<c10::Device> device);

}  // namespace detail

// Computes the running statistics of all batch norms anew, from one pass over `loader` (a data loader, or a list of
// batches), in training mode without gradients.
template <class Loader, class Model>
void update_bn(Loader&& loader, Model& model, std::optional<c10::Device> device = std::nullopt) {
  auto& module = [&]() -> auto& {
    if constexpr (std::is_base_of_v<nn::Module, Model>) {
      return model;
    } else {
      return *model;
    }
  }
  ();
  detail::BatchNormUpdate update(module);
  if (!update.needed()) return;
  const c10::AutoGradMode no_grad(false);
  for (auto&& batch : loader) nn::call_module(module, detail::moved(detail::inputs_of(batch), device));
}

namespace swa_utils {
using optim::AveragedModel;
using optim::get_ema_avg_fn;
using optim::get_ema_multi_avg_fn;
using optim::get_swa_avg_fn;
using optim::get_swa_multi_avg_fn;
using optim::update_bn;
}  // namespace swa_utils

}  // namespace torch::optim
