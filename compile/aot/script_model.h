// Models of TorchScript as programs: what kindling_script does.
#pragma once

#include <string>
#include <vector>

#include "export/exported_program.h"

namespace torch::aot {

/// The program that method forward of the module in a file of torch.jit.save is in evaluation, for inputs like these:
/// "float32[n:1:16, 3, 32, 32]" is a tensor of a dtype by its Python name, each of whose sizes is a number, or a name
/// with the least and the largest that it may be. It is run with random numbers (integers and bool of 0 and 1) and
/// what it does is recorded, as export_() does; its parameters and buffers become constants.
///
/// Throws ValueError for another form of input, and what export_() throws: for a program that goes on with a number
/// read from a tensor, too, since another run might go another way. What load() throws passes.
ExportedProgram export_script(const std::string& path, const std::vector<std::string>& inputs);

}  // namespace torch::aot
