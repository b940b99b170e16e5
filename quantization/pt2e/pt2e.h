// Quantization of exported programs:
//
//   auto quantizer = torch::quantization::X86InductorQuantizer();
//   quantizer.set_global(torch::quantization::get_default_x86_inductor_quantization_config());
//   auto prepared = torch::quantization::prepare_pt2e(std::move(program), quantizer);
//   for (const auto& x : calibration) prepared({x});
//   auto converted = torch::quantization::convert_pt2e(std::move(prepared));   // quantize, dequantize and float
//   between torch::quantization::lower_to_integers(converted);                        // lowering.h
#pragma once

#include <memory>
#include <vector>

#include "export/exported_program.h"
#include "quantization/observers/fake_quantize.h"
#include "quantization/pt2e/quantizer.h"

namespace torch::quantization {

/// The program made functional, with batch norms in evaluation folded into the convolutions before them, and an
/// observer at each place that `quantizer` annotates: one for all that share. Runs compute what the program computes,
/// and are observed; not from several threads at once.
///
/// Throws ValueError for annotations of nodes that are not in the program's own block, of values that a node does not
/// use, and shared specs that lead in circles; what functionalize() throws passes.
ExportedProgram prepare_pt2e(ExportedProgram program, Quantizer& quantizer);

/// The same for training, where observers quantize (FakeQuantize). A batch norm after a convolution stays: the weights
/// are multiplied by gamma / sqrt(running_var + eps) before they are quantized, and what the convolution gives is
/// divided by it again, so that they learn the scale that folding will give them. Parameters are those of state_dict.
ExportedProgram prepare_qat_pt2e(ExportedProgram program, Quantizer& quantizer);

struct ConvertOptions {
  /// Weights become integers; else they stay float, with a node that quantizes them.
  bool fold_quantize = true;
};
/// Observers replaced by quantized_decomposed::quantize_* and dequantize_*, by the qparams they have chosen, one
/// dequantize for each use; those whose dtype is float by nothing, of half precision by two conversions. Batch norms of
/// prepare_qat_pt2e() are folded. Weights that nothing uses any more are gone. A weight that no run has shown to its
/// observer is shown to it now; an activation's observer that has seen nothing warns, and gives scale 1.
ExportedProgram convert_pt2e(ExportedProgram prepared, const ConvertOptions& options = {});

/// The observers and fake quantizers of a prepared program, in the order of its nodes, each once.
std::vector<std::shared_ptr<ObserverBase>> observers_of(const ExportedProgram& prepared);

/// Dropouts and batch norms of the program as in evaluation, or training. Changes the nodes' `training` arguments.
void move_exported_model_to_eval(ExportedProgram& program);
void move_exported_model_to_train(ExportedProgram& program);

}  // namespace torch::quantization
