// Who says how a program is quantized.
//
//   struct OnlyLinear : torch::quantization::Quantizer {
//     void annotate(const torch::ExportedProgram& program, torch::quantization::Annotations& to) override { ... }
//   };
#pragma once

#include <memory>
#include <vector>

#include "export/exported_program.h"
#include "quantization/pt2e/annotation.h"

namespace torch::quantization {

class Quantizer {
 public:
  virtual ~Quantizer() = default;
  /// Changes the program before it is annotated, such as numbers that shall be tensors; nothing by default.
  virtual void transform_for_annotation(ExportedProgram& /*program*/) {}
  /// The graph is functional. Nodes of its own block may be annotated.
  virtual void annotate(const ExportedProgram& program, Annotations& annotations) = 0;
  /// Throws where the annotations are not what the backend runs.
  virtual void validate(const ExportedProgram& /*program*/, const Annotations& /*annotations*/) {}
};

/// Several, one after the other: a node that an earlier one annotated keeps that.
class ComposableQuantizer : public Quantizer {
 public:
  explicit ComposableQuantizer(std::vector<std::shared_ptr<Quantizer>> quantizers)
      : quantizers_(std::move(quantizers)) {}
  void transform_for_annotation(ExportedProgram& program) override;
  void annotate(const ExportedProgram& program, Annotations& annotations) override;
  void validate(const ExportedProgram& program, const Annotations& annotations) override;

 private:
  std::vector<std::shared_ptr<Quantizer>> quantizers_;
};

}  // namespace torch::quantization
