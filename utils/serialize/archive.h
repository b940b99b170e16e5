// Archives: named tensors, numbers, texts and nested archives in one file, and torch::save / torch::load on top.
//
//   torch::save(model, "model.pt");            torch::load(model, "model.pt");
//   torch::save(tensor, "t.pt");               torch::load(tensor, "t.pt");
//   torch::serialize::OutputArchive archive;   archive.write("weight", w);   archive.save_to("a.pt");
//
// Archives are written as PyTorch's zip files of pickles (pickle_archive.h), which Python's torch.load reads: a tensor,
// a list of tensors, or a state dict; or as safetensors files, where the path ends in ".safetensors" or
// use_format("safetensors") says so. Reading finds out the format by itself; archives that libtorch's or TorchScript's
// save() wrote are read, too. archive_format.h is what a format implements.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "c10/value/ivalue.h"
#include "utils/serialize/file_error.h"

namespace torch::jit {
struct CompilationUnit;
}  // namespace torch::jit

namespace torch::serialize {

struct ArchiveContents;
class ArchiveFormat;
class ArchiveReader;
class FileBytes;

class OutputArchive {
 public:
  OutputArchive();
  // The unit is kept for the caller; archives hold no code.
  explicit OutputArchive(std::shared_ptr<jit::CompilationUnit> unit);
  OutputArchive(OutputArchive&&) noexcept;
  OutputArchive& operator=(OutputArchive&&) noexcept;
  OutputArchive(const OutputArchive&) = delete;
  OutputArchive& operator=(const OutputArchive&) = delete;
  ~OutputArchive();

  // A key may be written once: a second time is a ValueError when the archive is saved. Tensors are shared until then,
  // not copied. `is_buffer` is for formats that tell buffers from parameters. Which values can be saved is up to the
  // format (safetensors: None, numbers, texts, lists of numbers; pickles: complex numbers, devices, lists, tuples and
  // dicts of all these and tensors, too; else a TypeError when the archive is saved).
  void write(const std::string& key, const at::Tensor& value, bool is_buffer = false);
  void write(const std::string& key, const c10::IValue& value);
  // Puts everything of `nested`, also what is written to it later, below `key`.
  void write(const std::string& key, OutputArchive& nested);
  template <typename... Args>
  void operator()(Args&&... args) {
    write(std::forward<Args>(args)...);
  }

  // To a file (replaced in one step), a stream, or a function that takes bytes and returns how many it took.
  void save_to(const std::string& path) const;
  void save_to(std::ostream& stream) const;
  void save_to(const std::function<size_t(const void*, size_t)>& writer) const;
  std::string to_bytes() const;
  // To a safetensors file with a checksum of all its bytes, which InputArchive::load_verified checks.
  void save_with_checksum(const std::string& path) const;
  // "pickle" or "safetensors": how this archive is saved from now on. Throws ValueError for another name.
  OutputArchive& use_format(std::string_view name);
  std::shared_ptr<jit::CompilationUnit> compilation_unit() const { return unit_; }
  // Nothing was written to it.
  bool empty() const;
  // The archive is saved as one value or a list, not as a dict: what was written as "0" (and "1" ...) is all it holds.
  void save_as_value();
  void save_as_list();

 private:
  const ArchiveFormat& format(std::string_view path) const;
  void write_file(const std::string& path, const ArchiveFormat& format, bool checksum) const;

  std::shared_ptr<ArchiveContents> contents_;
  const ArchiveFormat* format_ = nullptr;
  std::shared_ptr<jit::CompilationUnit> unit_;
};

class InputArchive {
 public:
  InputArchive();
  // Copies read the same file.
  InputArchive(const InputArchive&);
  InputArchive(InputArchive&&) noexcept;
  InputArchive& operator=(const InputArchive&);
  InputArchive& operator=(InputArchive&&) noexcept;
  ~InputArchive();

  // From a file, a stream, memory, or functions that read `n` bytes at a position and tell the size. The file's
  // structure is checked here, tensors are read when they are asked for. Memory is copied once; a stream takes at most
  // twice its size while it is read. `device`: where tensors are put (default: where they were saved from; on the CPU
  // they are views of the file). Without it, a device that this program does not have is a NotImplementedError.
  void load_from(const std::string& path, std::optional<c10::Device> device = std::nullopt);
  void load_from(std::istream& stream, std::optional<c10::Device> device = std::nullopt);
  void load_from(const char* data, size_t size, std::optional<c10::Device> device = std::nullopt);
  void load_from(const std::function<size_t(uint64_t, void*, size_t)>& read, const std::function<size_t()>& size,
                 std::optional<c10::Device> device = std::nullopt);
  // From a file that save_with_checksum() wrote; any damage is a FormatError.
  void load_verified(const std::string& path);

  // read() throws Error "No such serialized tensor 'zz'" (or submodule, value; of an IValue, "The archive does not
  // have a field with name 'zz'") where the key is absent; try_read() returns false. A defined tensor keeps its dtype
  // and device: data of its sizes is copied into it, other data takes the place of its own, sizes included, so check
  // those that matter. An undefined one becomes the stored tensor. Numbers and texts throw TypeError where another kind
  // is stored.
  bool try_read(const std::string& key, at::Tensor& value, bool is_buffer = false) const;
  bool try_read(const std::string& key, c10::IValue& value) const;
  bool try_read(const std::string& key, int64_t& value) const;
  bool try_read(const std::string& key, double& value) const;
  bool try_read(const std::string& key, bool& value) const;
  bool try_read(const std::string& key, std::string& value) const;
  bool try_read(const std::string& key, std::vector<int64_t>& value) const;
  bool try_read(const std::string& key, std::vector<double>& value) const;
  bool try_read(const std::string& key, InputArchive& nested) const;
  void read(const std::string& key, at::Tensor& value, bool is_buffer = false) const;
  template <typename X>
  void read(const std::string& key, X& value) const {
    if (!try_read(key, value)) {
      throw_missing(key, std::is_same_v<X, InputArchive>  ? "No such serialized submodule:"
                         : std::is_same_v<X, c10::IValue> ? "The archive does not have a field with name"
                                                          : "No such serialized value");
    }
  }

  template <typename... Args>
  void operator()(Args&&... args) {
    read(std::forward<Args>(args)...);
  }

  // All that the file holds as one value; false where the format has no such value.
  bool whole(c10::IValue& value) const;
  // What is directly below: names of tensors, values and nested archives, each once; in the order of writing where the
  // format keeps it, else (safetensors) sorted.
  std::vector<std::string> keys() const;
  // Everything below this archive: full names of tensors ("layer.weight"), and values with theirs.
  std::vector<std::string> tensor_names() const;
  std::vector<std::pair<std::string, c10::IValue>> values() const;
  // The stored tensor's geometry, without reading it; false where there is none.
  bool describe(const std::string& key, c10::ScalarType* dtype, std::vector<int64_t>* sizes) const;

 private:
  [[noreturn]] void throw_missing(const std::string& key, const char* what) const;
  void load(std::shared_ptr<FileBytes> bytes, bool verify, std::optional<c10::Device> device);
  void load_bytes(std::string bytes, std::optional<c10::Device> device);
  const ArchiveReader& reader() const;
  // A value of one kind; TypeError for another one.
  bool read_value(const std::string& key, bool (c10::IValue::*is)() const, c10::IValue& value) const;

  std::shared_ptr<const ArchiveReader> reader_;
  std::string prefix_;  // this archive's, for messages
  std::optional<c10::Device> device_;
};

OutputArchive& operator<<(OutputArchive& archive, const at::Tensor& tensor);
InputArchive& operator>>(InputArchive& archive, at::Tensor& tensor);
// A value alone. Reading gives the whole file, whatever it holds.
OutputArchive& operator<<(OutputArchive& archive, const c10::IValue& value);
InputArchive& operator>>(InputArchive& archive, c10::IValue& value);

}  // namespace torch::serialize

namespace torch {

// Saves anything with `archive << value` (tensors, modules, optimizers ...) to a file name, a stream or a function.
template <typename Value, typename... To>
void save(const Value& value, To&&... to) {
  serialize::OutputArchive archive;
  archive << value;
  archive.save_to(std::forward<To>(to)...);
}
template <typename... To>
void save(const std::vector<at::Tensor>& tensors, To&&... to) {
  serialize::OutputArchive archive;
  for (size_t i = 0; i < tensors.size(); ++i) archive.write(std::to_string(i), tensors[i]);
  archive.save_as_list();
  archive.save_to(std::forward<To>(to)...);
}

// Loads anything with `archive >> value` from a file name, a stream, memory or functions, optionally onto a device.
template <typename Value, typename... From>
void load(Value& value, From&&... from) {
  serialize::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  archive >> value;
}
// Appends the stored tensors: those that the file holds as a list, or as "0", "1" ...
template <typename... From>
void load(std::vector<at::Tensor>& tensors, From&&... from) {
  serialize::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  for (size_t i = 0;; ++i) {
    at::Tensor tensor;
    if (!archive.try_read(std::to_string(i), tensor)) break;
    tensors.push_back(std::move(tensor));
  }
}

// A value as the bytes of a file that Python's torch.load(weights_only=True) reads, and back from any such file.
std::vector<char> pickle_save(const c10::IValue& value);
c10::IValue pickle_load(const std::vector<char>& data);
inline c10::IValue pickle_load(std::string_view data) {
  return pickle_load(std::vector<char>(data.begin(), data.end()));
}

namespace jit {
using torch::pickle_load;
using torch::pickle_save;
}  // namespace jit

}  // namespace torch
