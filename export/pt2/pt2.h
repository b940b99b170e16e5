// The files of torch.export.save: programs of schema version 8. Tried with files of PyTorch 2.7 and 2.15.
//
//   torch::ExportedProgram program = torch::load_exported("model.pt2");
//   torch::save_exported(program, "copy.pt2");                      // Python: torch.export.load("copy.pt2").module()
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "export/exported_program.h"
#include "utils/serialize/file_io.h"

namespace torch {

/// Reads a program. Nothing in the file is executed. Throws IoError where it cannot be read, FormatError that names
/// file and place where it is damaged, of another version, or asks for what a program may not have; NotImplementedError
/// that lists all operators that are not linked. `name`: of a file with several programs.
ExportedProgram load_exported(const std::string& path, const std::string& name = "");
ExportedProgram load_exported(std::shared_ptr<serialize::FileBytes> bytes, const std::string& name = "");
/// The names of the programs in a file.
std::vector<std::string> exported_names(const std::string& path);

/// Writes a program, which load_exported() and PyTorch's torch.export.load read: the layout of PyTorch 2.8 and later,
/// schema 8.20. A file is replaced in one step.
///
/// Tensors that share memory share it in the file. Values get valid names where theirs are none or taken; tensors among
/// the constants of nodes become constants of the program, expressions of sizes become nodes. What PyTorch wrote is
/// written again as it was, with two exceptions: the calling conventions of inner modules
/// (preserve_module_call_signature), and example inputs that hold objects of Python.
///
/// PyTorch 2.15 does not read programs whose results are truth values of the run, or texts.
///
/// Nothing else is left out. ValueError where the program is not well-formed, a tensor's TensorInfo is not known
/// (Value::info), or `in_spec` and `out_spec` do not fit the signature; NotImplementedError that names the node for
/// what a .pt2 file has no form for (kLoop, kInvoke, objects, raised errors, lists of unknown length), and for weights
/// that are no strided CPU tensors. IoError where the file cannot be written.
void save_exported(const ExportedProgram& program, const std::string& path);
void save_exported(const ExportedProgram& program, std::ostream& stream);
/// Several programs by name, which are letters, digits, '_', '-' and '.'.
using NamedPrograms = std::vector<std::pair<std::string, const ExportedProgram*>>;
void save_exported(const NamedPrograms& programs, const std::string& path);
void save_exported(const NamedPrograms& programs, std::ostream& stream);
void save_exported(const NamedPrograms& programs, serialize::Sink& sink, const std::string& folder = "archive");

}  // namespace torch
