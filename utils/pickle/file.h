// Files of pickles: PyTorch's zip files (also those of TorchScript, of which the data is read and the code is not) and
// its legacy formats, the oldest being a tar file; values to and from them.
//
//   c10::IValue value = torch::pickle::load("model.pt");
//   torch::pickle::save(value, "copy.pt");
//   puts(torch::pickle::inspect("unknown.pt").c_str());     // what is in it, also where load() refuses it
//
// Stored records of a file on disk are mapped, not read: a tensor is a view of the file, private to this process.
// Errors: FormatError for what is no sound file, NotImplementedError for what this library has no value for, IoError;
// all name the file, the first two the byte.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "c10/value/ivalue.h"
#include "utils/pickle/values.h"
#include "utils/serialize/file_io.h"

namespace torch::pickle {

// Whether a file with these bytes is meant to be one of them.
bool recognises(std::string_view bytes);

c10::IValue load(std::shared_ptr<serialize::FileBytes> bytes, const LoadOptions& options = {});
c10::IValue load(const std::string& path, const LoadOptions& options = {});
std::string inspect(std::shared_ptr<serialize::FileBytes> bytes, size_t limit = 10000);
std::string inspect(const std::string& path, size_t limit = 10000);

// As Python's torch.save; torch.load(weights_only=True) reads it. TypeError for values that have no place in such a
// file (objects, futures, streams), ValueError for tensors of several dtypes over one storage. Dicts are dicts; with
// `ordered`, the outermost one is an OrderedDict, as a state dict is.
void save(const c10::IValue& value, serialize::Sink& sink, bool ordered = false);
void save(const c10::IValue& value, const std::string& path, bool ordered = false);

}  // namespace torch::pickle

namespace torch::serialization {

/// The names in a file of pickles ("__main__.Config") that torch::load refuses, sorted; empty for a file that it reads.
/// Nothing is loaded. Throws FormatError for what is no such file, IoError.
std::vector<std::string> get_unsafe_globals_in_checkpoint(const std::string& path);

}  // namespace torch::serialization
