#pragma once

#include <map>
#include <string>
#include <vector>

#include "aten/codegen/model.h"

// What other files of the repository say of operators, for the documentation.
namespace kindling::codegen {

class Evidence {
 public:
  // "PATH": by its name a C++ source, *_test.cc or *_benchmark.cc; docs/operator_dtypes.txt, lines "operator: dtypes";
  // docs/accuracy.md; else a table of cases, whose lines begin with the operator.
  void add(const std::string& path, const std::string& text);

  // "bool, integers, floating" or nothing.
  std::string dtypes(const Operator& op) const;
  // "gradients, conformance, binary_test" or nothing.
  std::string tests(const Operator& op) const;
  std::string benchmarks(const Operator& op) const;
  // "float32 1, float64 0.75" or nothing.
  std::string accuracy(const std::string& name) const;

 private:
  struct File {
    std::string label;
    std::string text;
  };
  std::string sources(const std::vector<File>& files, const Operator& op) const;

  std::map<std::string, std::string> dtypes_;
  std::map<std::string, std::string> accuracy_;
  std::map<std::string, std::vector<std::string>> cases_;  // by operator: the tables that name it
  std::vector<File> tests_;
  std::vector<File> benchmarks_;
};

}  // namespace kindling::codegen
