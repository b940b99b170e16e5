// TorchScript archives, written: torch::jit::load() and Python's torch.jit.load read them.
#pragma once

#include <ostream>
#include <string>

#include "jit/api/module.h"
#include "utils/serialize/file_io.h"

namespace torch::jit {

/// The module, all that it holds, and the code of the classes of both. A path has either the whole file or what it had
/// before. Throws NotImplementedError for functions that have no source, TypeError for values without a place in files.
///
///   torch::jit::save(net, "net.pt", {{"labels.txt", "cat\ndog\n"}});
void save(const Module& module, const std::string& filename, const ExtraFilesMap& extra_files = {});
void save(const Module& module, std::ostream& out, const ExtraFilesMap& extra_files = {});
void save(const Module& module, serialize::Sink& sink, const ExtraFilesMap& extra_files = {});

}  // namespace torch::jit
