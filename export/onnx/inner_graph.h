// A graph in a node, while it is written.
#pragma once

#include "export/onnx/exporter.h"
#include "third_party/onnx/onnx.pb.h"

namespace torch::onnx {

/// While it lives, nodes are added to that graph, and sizes that it computes are known there.
class Exporter::Inner {
 public:
  Inner(Exporter& exporter, ::onnx::GraphProto& graph) : exporter_(exporter), outer_(exporter.graph_) {
    exporter_.graph_ = &graph;
    exporter_.sizes_.emplace_back();
  }
  ~Inner() {
    exporter_.graph_ = outer_;
    exporter_.sizes_.pop_back();
  }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

 private:
  Exporter& exporter_;
  ::onnx::GraphProto* outer_;
};

}  // namespace torch::onnx
