#include "utils/profiler/flop_counter.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <optional>
#include <utility>

#include "aten/core/dispatch_mode.h"
#include "aten/core/tensor.h"
#include "nn/utils/module_tracker.h"

namespace torch::utils {
namespace {

using Values = std::vector<c10::IValue>;
using Sizes = std::vector<int64_t>;

// Empty where there is no tensor.
Sizes sizes_at(const Values& values, size_t i) {
  if (i >= values.size() || !values[i].isTensor() || !values[i].toTensor().defined()) return {};
  return values[i].toTensor().sizes().vec();
}

int64_t product(const Sizes& sizes, size_t from = 0) {
  int64_t out = 1;
  for (size_t i = from; i < sizes.size(); ++i) out *= sizes[i];
  return out;
}

// [..., m, k] times [..., k, n], the product of the rows of all batches.
int64_t matrix_product(const Sizes& a, const Sizes& b) {
  return a.empty() || b.empty() ? 0 : 2 * product(a) * b.back();
}

FlopFormula matrix_product_at(size_t first) {
  return [first](const Values& inputs, const Values&) {
    return matrix_product(sizes_at(inputs, first), sizes_at(inputs, first + 1));
  };
}

int64_t linear(const Values& inputs, const Values&) {
  const Sizes input = sizes_at(inputs, 0), weight = sizes_at(inputs, 1);
  return weight.empty() ? 0 : 2 * product(input) * weight[0];
}

// A kernel at each position of the result, or of the argument where it is transposed.
int64_t convolution(const Sizes& input, const Sizes& weight, const Sizes& output, bool transposed) {
  return 2 * input[0] * product(transposed ? input : output, 2) * product(weight);
}

FlopFormula convolution_with(size_t transposed_at) {
  return [transposed_at](const Values& inputs, const Values& outputs) -> int64_t {
    const Sizes input = sizes_at(inputs, 0), weight = sizes_at(inputs, 1), output = sizes_at(outputs, 0);
    if (input.size() < 3 || output.size() != input.size()) return 0;
    return convolution(
        input, weight, output,
        transposed_at < inputs.size() && inputs[transposed_at].isBool() && inputs[transposed_at].toBool());
  };
}

// convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, ...): which
// gradients were asked for, the results say.
int64_t convolution_backward(const Values& inputs, const Values& outputs) {
  const Sizes grad_output = sizes_at(inputs, 0), input = sizes_at(inputs, 1), weight = sizes_at(inputs, 2);
  if (input.size() < 3 || inputs.size() < 8) return 0;
  const bool transposed = inputs[7].toBool();
  const Sizes grad_input = sizes_at(outputs, 0), grad_weight = sizes_at(outputs, 1);
  int64_t flops = 0;
  if (!grad_input.empty()) flops += convolution(grad_output, weight, grad_input, !transposed);
  if (!grad_weight.empty()) {
    const Sizes& image = transposed ? grad_output : input;
    const Sizes& kernel = transposed ? input : grad_output;
    flops += 2 * image[1] * product(grad_weight, 2) * product(kernel);
  }
  return flops;
}

// [..., s, e], [..., t, e], [..., t, v]: scores and their sum of values. Groups of heads may share keys.
int64_t attention(const Sizes& query, const Sizes& key, const Sizes& value, int64_t of_scores, int64_t of_values) {
  if (query.size() < 2 || key.size() < 2 || value.size() < 2) return 0;
  const int64_t rows = product(query) / std::max<int64_t>(query.back(), 1), keys = key[key.size() - 2];
  return 2 * rows * keys * (of_scores * query.back() + of_values * value.back());
}

int64_t attention_forward(const Values& inputs, const Values&) {
  return attention(sizes_at(inputs, 0), sizes_at(inputs, 1), sizes_at(inputs, 2), 1, 1);
}
// The scores again, the gradients of scores, values, queries and keys.
int64_t attention_backward(const Values& inputs, const Values&) {
  return attention(sizes_at(inputs, 1), sizes_at(inputs, 2), sizes_at(inputs, 3), 3, 2);
}

std::map<std::string, FlopFormula> known_formulas() {
  std::map<std::string, FlopFormula> all{
      {"aten::mm", matrix_product_at(0)},
      {"aten::addmm", matrix_product_at(1)},
      {"aten::bmm", matrix_product_at(0)},
      {"aten::baddbmm", matrix_product_at(1)},
      {"aten::_scaled_mm", matrix_product_at(0)},
      {"aten::linear", linear},
      {"aten::convolution", convolution_with(6)},
      {"aten::_convolution", convolution_with(6)},
      {"aten::convolution_overrideable", convolution_with(6)},
      {"aten::convolution_backward", convolution_backward},
      {"aten::convolution_backward_overrideable", convolution_backward},
  };
  for (const char* kind : {"_flash_attention", "_flash_attention_for_cpu", "_efficient_attention", "_cudnn_attention",
                           "_fused_attention_overrideable"}) {
    const std::string name = std::string("aten::_scaled_dot_product") + kind;
    all[name] = attention_forward;
    all[name + "_backward"] = attention_backward;
  }
  // This library's own, for all of them.
  all["aten::_fused_attention"] = attention_forward;
  all["aten::_fused_attention_backward"] = attention_backward;
  return all;
}

struct Registry {
  std::mutex mutex;
  std::map<std::string, FlopFormula> formulas = known_formulas();
};
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

std::string in_thousands(int64_t number, size_t suffix) {
  constexpr std::array<const char*, 5> kSuffixes{"", "K", "M", "B", "T"};
  auto value = static_cast<double>(number);
  for (size_t i = 0; i < suffix; ++i) value /= 1000;
  char text[48];
  std::snprintf(text, sizeof(text), "%.3f%s", value, kSuffixes[suffix]);
  return text;
}

// Up to four digits in front of the point.
size_t suffix_of(int64_t number) {
  return std::min<size_t>((std::max<size_t>(std::to_string(number).size(), 2) - 2) / 3, 4);
}

std::string share(int64_t part, int64_t whole) {
  if (whole == 0) return "0%";
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f%%", 100 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

}  // namespace

void register_flop_formula(const std::string& op, FlopFormula formula) {
  const std::lock_guard lock(registry().mutex);
  registry().formulas[op] = std::move(formula);
}

class FlopCounterMode::Mode final : public at::DispatchMode {
 public:
  explicit Mode(FlopCounterOptions options) : options_(std::move(options)) {
    tracker_.emplace(options_.root);
    on_.emplace(*this);
  }

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
    const std::string name = op.operator_name().name;
    const std::optional<FlopFormula> formula = formula_of(name);
    if (!formula) {
      op.callBoxed(stack);
      const std::lock_guard lock(mutex_);
      ++unsupported_[name];
      return;
    }
    const Values inputs = *stack;
    op.callBoxed(stack);
    const int64_t flops = (*formula)(inputs, *stack);
    const std::set<std::string> parents = tracker_->parents();
    const std::lock_guard lock(mutex_);
    for (const std::string& parent : parents) counts_[parent][name] += flops;
  }

  void stop() {
    if (!on_) return;
    on_.reset();
    tracker_.reset();
    if (options_.display) std::cout << table(options_.depth) << std::endl;
  }

  std::map<std::string, std::map<std::string, int64_t>> counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  std::map<std::string, int64_t> unsupported() const {
    const std::lock_guard lock(mutex_);
    return unsupported_;
  }
  int64_t depth() const { return options_.depth; }

  static int64_t sum(const std::map<std::string, int64_t>& by_operator) {
    int64_t total = 0;
    for (const auto& [name, flops] : by_operator) total += flops;
    return total;
  }

  std::string table(int64_t depth) const {
    const auto counts = this->counts();
    const auto global = counts.find("Global");
    const int64_t total = global == counts.end() ? 0 : sum(global->second);
    const size_t suffix = suffix_of(total);
    using Line = std::array<std::string, 3>;
    std::vector<Line> lines;
    const auto add = [&](const std::string& module, const std::map<std::string, int64_t>& operators, size_t indent) {
      const auto line = [&](const std::string& name, int64_t flops) {
        lines.push_back({std::string(indent, ' ') + name, in_thousands(flops, suffix), share(flops, total)});
      };
      line(module, sum(operators));
      for (const auto& [name, flops] : operators) line(" - " + name, flops);
    };
    // The sum of all has lines of its own unless a module has all of it.
    const bool has_outer = std::any_of(counts.begin(), counts.end(), [&](const auto& module) {
      return module.first != "Global" && sum(module.second) >= total;
    });
    const size_t indent = has_outer ? 0 : 1;
    if (!has_outer && global != counts.end()) add("Global", global->second, 0);
    for (const auto& [module, operators] : counts) {
      const auto level = std::count(module.begin(), module.end(), '.') + 1;
      if (module == "Global" || (depth >= 0 && level > depth)) continue;
      add(module, operators, static_cast<size_t>(level - 1) + indent);
    }
    if (lines.empty()) lines.push_back({"Global", "0", "0%"});

    Line header{"Module", "FLOP", "% Total"};
    std::array<size_t, 3> widths;
    for (size_t i = 0; i < 3; ++i) {
      widths[i] = header[i].size() + 2;
      for (const Line& line : lines) widths[i] = std::max(widths[i], line[i].size());
    }
    std::string text;
    const auto write = [&](const Line& line) {
      for (size_t i = 0; i < 3; ++i) {
        const std::string space(widths[i] - line[i].size(), ' ');
        text += (i == 0 ? "" : "  ") + (i == 0 ? line[i] + space : space + line[i]);
      }
      text += "\n";
    };
    write(header);
    write({std::string(widths[0], '-'), std::string(widths[1], '-'), std::string(widths[2], '-')});
    for (const Line& line : lines) write(line);
    text.pop_back();
    return text;
  }

 private:
  std::optional<FlopFormula> formula_of(const std::string& name) const {
    const auto own = options_.custom_mapping.find(name);
    if (own != options_.custom_mapping.end()) return own->second;
    const std::lock_guard lock(registry().mutex);
    const auto found = registry().formulas.find(name);
    return found == registry().formulas.end() ? std::nullopt : std::optional(found->second);
  }

  const FlopCounterOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, int64_t>> counts_;
  std::map<std::string, int64_t> unsupported_;
  std::optional<ModuleTracker> tracker_;
  std::optional<at::DispatchModeGuard> on_;
};

FlopCounterMode::FlopCounterMode(FlopCounterOptions options) : mode_(std::make_unique<Mode>(std::move(options))) {}

FlopCounterMode::~FlopCounterMode() {
  stop();
}

void FlopCounterMode::stop() {
  mode_->stop();
}

int64_t FlopCounterMode::get_total_flops() const {
  const auto counts = mode_->counts();
  const auto global = counts.find("Global");
  return global == counts.end() ? 0 : Mode::sum(global->second);
}

std::map<std::string, std::map<std::string, int64_t>> FlopCounterMode::get_flop_counts() const {
  return mode_->counts();
}

std::map<std::string, int64_t> FlopCounterMode::get_unsupported_ops() const {
  return mode_->unsupported();
}

std::string FlopCounterMode::get_table() const {
  return mode_->table(mode_->depth());
}

std::string FlopCounterMode::get_table(int64_t depth) const {
  return mode_->table(depth);
}

}  // namespace torch::utils
