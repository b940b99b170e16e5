// What exporters note of a node: traces of the stack, the module it stands in.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "graph/ir/graph.h"

namespace torch::pt2 {

class NodeMetadata final : public graph::Source {
 public:
  explicit NodeMetadata(std::map<std::string, std::string> notes) : notes_(std::move(notes)) {}
  const std::map<std::string, std::string>& notes() const { return notes_; }
  /// The trace of the stack.
  std::string text() const override {
    const auto found = notes_.find("stack_trace");
    return found == notes_.end() ? "" : found->second;
  }

 private:
  std::map<std::string, std::string> notes_;
};

}  // namespace torch::pt2
