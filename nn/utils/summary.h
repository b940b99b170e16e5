// What a module consists of, as a table.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace torch::nn {

class Module;

/// What summary() gives. Numbers are of elements; what is registered in several places counts once, where it comes
/// first.
struct ModuleSummary {
  struct Row {
    /// The path below the module, "" for itself.
    std::string path;
    /// "Linear"
    std::string type;
    int64_t depth = 0;
    /// Of the module's own parameters, and of those of all modules within.
    int64_t own_parameters = 0, parameters = 0;
    /// Of `parameters`, those that require a gradient.
    int64_t trainable = 0;
  };
  /// Depth first, in the order of registration.
  std::vector<Row> rows;
  int64_t total_parameters = 0, trainable_parameters = 0;
  int64_t parameter_bytes = 0;
  int64_t buffers = 0, buffer_bytes = 0;

  /// The table: the modules up to `depth` below the module (-1: all), their parameters, and the sums.
  std::string table(int64_t depth = -1) const;
};

/// Counts the parameters of a module. Throws ValueError for a module whose tensors have no sizes yet
/// (nn/layers/lazy.h).
///
///   std::cout << torch::nn::summary(*net);
ModuleSummary summary(const Module& module);
std::ostream& operator<<(std::ostream& out, const ModuleSummary& summary);

}  // namespace torch::nn
