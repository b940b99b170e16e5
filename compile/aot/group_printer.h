// Groups as C++: functions that are compiled once an instruction set, of what compile/aot/runtime/group-inl.h has.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compile/aot/groups.h"

namespace torch::aot {

/// The functions of a program's groups. Groups that do the same with elements share one, whatever their sizes.
class GroupKernels {
 public:
  /// The name of the kernel that computes all outputs of a group without rows.
  std::string of_elements(const ProgramGroup& group);
  /// Of a group with rows: what is computed before the row, and what is computed of it. Empty where there is nothing.
  std::string before_row(const ProgramGroup& group);
  std::string after_row(const ProgramGroup& group);

  bool empty() const { return names_.empty(); }
  /// The IsaTables of the kernels, for the program's source.
  std::string declarations() const;
  /// A source that defines them in namespace `name_space`. `path`: as files include it; `targets`: instruction sets
  /// beside the baseline, of "SSE4", "AVX2" and "AVX3"; empty: those of the library's own kernels.
  std::string source(const std::string& path, const std::string& name_space,
                     const std::vector<std::string>& targets) const;

 private:
  std::string named(std::string code);

  std::map<std::string, std::string> names_;  // by the code
  std::vector<std::string> codes_;
};

}  // namespace torch::aot
