// The files of torch.export.save: programs of schema version 8. Tried with files of PyTorch 2.7 and 2.15.
#pragma once

#include <memory>
#include <string>
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

}  // namespace torch
