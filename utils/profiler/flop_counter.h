// Floating-point operations of a program, counted by its operators' shapes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "c10/value/ivalue.h"

namespace torch::nn {
class Module;
}

namespace torch::utils {

/// The floating-point operations of one call of an operator. A multiplication and the addition that follows are two.
using FlopFormula =
    std::function<int64_t(const std::vector<c10::IValue>& inputs, const std::vector<c10::IValue>& outputs)>;

/// For all counters from now on, also in place of a formula that is there; `op` is a name without overload,
/// "mine::scale".
///
///   torch::utils::register_flop_formula("mine::scale", [](const auto& inputs, const auto&) {
///     return inputs[0].toTensor().numel();
///   });
void register_flop_formula(const std::string& op, FlopFormula formula);

struct FlopCounterOptions {
  /// Modules below it are called by their paths from there also where they are called outside its forward. Null: by
  /// their paths below the outermost module that is called.
  const nn::Module* root = nullptr;
  /// How many levels of modules the table has; -1: all.
  int64_t depth = 2;
  /// Prints the table to std::cout at the end.
  bool display = true;
  /// Formulas of this counter alone, which go before those that are registered.
  std::map<std::string, FlopFormula> custom_mapping = {};
};

/// Counts from its making to stop(), or to its end, what this thread and the threads that work for it do: products of
/// matrices, convolutions and attention, forward and backward, and whatever has a formula.
///
///   torch::utils::FlopCounterMode counter({.display = false});
///   net(x).sum().backward();
///   counter.stop();
///   std::cout << counter.get_total_flops() << "\n" << counter.get_table();
///
/// Counted are the operators below autograd as they come to the backends: what is composed of others counts as those.
/// The formulas are those of torch.utils.flop_counter: 2 m n k for a product of [m, k] and [k, n]; 2 C_out C_in/groups
/// K P for a convolution of kernels of K elements at P positions of a batch, and as much for each of its two gradients;
/// two products for attention and five for its backward pass. A causal mask halves nothing.
class FlopCounterMode {
 public:
  explicit FlopCounterMode(FlopCounterOptions options = {});
  ~FlopCounterMode();
  FlopCounterMode(const FlopCounterMode&) = delete;
  FlopCounterMode& operator=(const FlopCounterMode&) = delete;

  void stop();
  int64_t get_total_flops() const;
  /// By module (ModuleTracker's names, and "Global" for all), then by operator ("aten::mm").
  std::map<std::string, std::map<std::string, int64_t>> get_flop_counts() const;
  /// How often operators without a formula were called.
  std::map<std::string, int64_t> get_unsupported_ops() const;
  /// Modules, their operators, and the share of the total.
  std::string get_table() const;
  std::string get_table(int64_t depth) const;

 private:
  class Mode;
  std::unique_ptr<Mode> mode_;
};

}  // namespace torch::utils
