#include "nn/utils/summary.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ostream>
#include <unordered_set>

#include "c10/util/exception.h"
#include "nn/module/module.h"
#include "nn/utils/module_tracker.h"

namespace torch::nn {
namespace {

class Counter {
 public:
  explicit Counter(ModuleSummary& out) : out_(out) {}

  // The row's place among the rows.
  size_t count(const Module& module, const std::string& path, int64_t depth) {
    TORCH_CHECK_VALUE(!module.has_uninitialized_params(), "summary: the tensors of ",
                      path.empty() ? "the module" : path, " have no sizes before its first call");
    const size_t place = out_.rows.size();
    ModuleSummary::Row row;
    row.path = path;
    row.type = utils::ModuleTracker::type_name(module);
    row.depth = depth;
    for (const auto& item : module.named_parameters(/*recurse=*/false)) {
      const at::Tensor& tensor = item.value();
      if (!counted_.insert(tensor.unsafeGetTensorImpl()).second) continue;
      row.own_parameters += tensor.numel();
      if (tensor.requires_grad()) row.trainable += tensor.numel();
      out_.parameter_bytes += tensor.numel() * static_cast<int64_t>(tensor.element_size());
    }
    for (const auto& item : module.named_buffers(/*recurse=*/false)) {
      const at::Tensor& tensor = item.value();
      if (!counted_.insert(tensor.unsafeGetTensorImpl()).second) continue;
      out_.buffers += tensor.numel();
      out_.buffer_bytes += tensor.numel() * static_cast<int64_t>(tensor.element_size());
    }
    row.parameters = row.own_parameters;
    out_.rows.push_back(row);
    for (const auto& child : module.named_children()) {
      const size_t below = count(*child.value(), path.empty() ? child.key() : path + "." + child.key(), depth + 1);
      out_.rows[place].parameters += out_.rows[below].parameters;
      out_.rows[place].trainable += out_.rows[below].trainable;
    }
    return place;
  }

 private:
  ModuleSummary& out_;
  std::unordered_set<const void*> counted_;
};

// 1234567 as "1,234,567".
std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, ",");
  return text;
}

std::string megabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f MB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace

ModuleSummary summary(const Module& module) {
  ModuleSummary out;
  const size_t root = Counter(out).count(module, "", 0);
  out.total_parameters = out.rows[root].parameters;
  out.trainable_parameters = out.rows[root].trainable;
  return out;
}

std::string ModuleSummary::table(int64_t depth) const {
  std::vector<std::array<std::string, 3>> lines{{"Module", "Type", "Parameters"}};
  for (const Row& row : rows) {
    if (depth >= 0 && row.depth > depth) continue;
    const std::string name = row.path.substr(row.path.rfind('.') + 1);
    lines.push_back({std::string(2 * static_cast<size_t>(row.depth), ' ') + (row.depth == 0 ? "(root)" : name),
                     row.type, row.parameters == 0 ? "--" : grouped(row.parameters)});
  }
  std::array<size_t, 3> widths{};
  for (const auto& line : lines) {
    for (size_t i = 0; i < 3; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  const std::string thick(widths[0] + widths[1] + widths[2] + 4, '='), thin(thick.size(), '-');
  std::string text = thick + "\n";
  for (size_t n = 0; n < lines.size(); ++n) {
    const auto space = [&](size_t i) { return std::string(widths[i] - lines[n][i].size(), ' '); };
    text += lines[n][0] + space(0) + "  " + lines[n][1] + space(1) + "  " + space(2) + lines[n][2] + "\n";
    if (n == 0) text += thin + "\n";
  }
  text += thick + "\nTotal parameters: " + grouped(total_parameters) + "\nTrainable parameters: " +
          grouped(trainable_parameters) + "\nNon-trainable parameters: " +
          grouped(total_parameters - trainable_parameters) + "\nParameters: " + megabytes(parameter_bytes) +
          ", buffers: " + megabytes(buffer_bytes) + "\n";
  return text;
}

std::ostream& operator<<(std::ostream& out, const ModuleSummary& summary) {
  return out << summary.table();
}

}  // namespace torch::nn
