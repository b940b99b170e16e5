// Batch norms after convolutions: folded into their weights, or trained so that they can be.
#pragma once

#include "export/exported_program.h"
#include "quantization/pt2e/annotation.h"

namespace torch::quantization {

/// Folds batch norms in evaluation into the convolutions before them, whose weights nothing else uses: the program's
/// parameters are those of the folded layers then.
void fold_batch_norms(ExportedProgram& program);

/// Puts the scale of batch norms into the weights of annotated convolutions before them, and takes it out of their
/// results: conv(x, w * s) / s + b, with s = gamma / sqrt(running_var + eps). Annotations of the weights move to w * s.
void scale_weights_before_batch_norms(ExportedProgram& program, Annotations& annotations);

/// Folds what scale_weights_before_batch_norms() made: conv(x, observed(w * s), (b - mean) * s + beta), w * s being a
/// constant.
void fold_scaled_batch_norms(ExportedProgram& program);

}  // namespace torch::quantization
