// TorchScript archives: modules that torch.jit.save wrote.
//
//   torch::jit::Module net = torch::jit::load("net.pt");
//   net.eval();
//   at::Tensor y = net.forward({x}).toTensor();
//
// Errors. FormatError, ErrorReport and NotImplementedError for what is no such file or is not supported, with file and
// byte or the place in the code; IoError for files that are not there. Nothing of a file is run by loading it but what
// its classes' __setstate__ methods do, and a program has no operators that touch files.
#pragma once

#include <istream>
#include <optional>
#include <string>

#include "c10/core/device.h"
#include "jit/api/module.h"

namespace torch::jit {

/// `device`: where all tensors go; without it, where they were saved from. `extra_files`: names of records below
/// "extra/"; those that the archive has get their contents.
Module load(const std::string& filename, std::optional<c10::Device> device = std::nullopt);
Module load(const std::string& filename, std::optional<c10::Device> device, ExtraFilesMap& extra_files,
            bool load_debug_files = true);
Module load(std::istream& in, std::optional<c10::Device> device = std::nullopt);
Module load(std::istream& in, std::optional<c10::Device> device, ExtraFilesMap& extra_files,
            bool load_debug_files = true);

}  // namespace torch::jit
