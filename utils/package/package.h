// torch::package's archives: values, texts and bytes by package and name in one zip file, as Python's torch.package
// writes and reads them. Data only: a package's code is neither written nor run.
//
//   torch::package::PackageExporter exporter("net.pt");
//   exporter.save_pickle("model", "weights.pkl", weights);
//   exporter.save_text("model", "labels.txt", "cat\ndog\n");
//   exporter.close();
//
//   torch::package::PackageImporter importer("net.pt");
//   c10::IValue weights = importer.load_pickle("model", "weights.pkl");
//
// A package is a name with dots, "model.parts": folders of the file. A resource is the name of a record there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "c10/core/device.h"
#include "c10/value/ivalue.h"
#include "utils/serialize/file_io.h"

namespace torch::package {

/// Collects resources and writes them. Its functions throw c10::ValueError for a name of a package or resource that is
/// empty or has empty parts, "..", backslashes or control characters, and for a resource that is there already;
/// c10::Error once it is closed.
class PackageExporter {
 public:
  /// The file appears when it is closed. Throws serialize::IoError where the folder cannot be written to.
  explicit PackageExporter(const std::string& path);
  /// The bytes go to `sink`, which outlives this, when it is closed.
  explicit PackageExporter(serialize::Sink& sink);
  /// Without close() before, nothing is written.
  ~PackageExporter();
  PackageExporter(const PackageExporter&) = delete;
  PackageExporter& operator=(const PackageExporter&) = delete;

  /// A value as torch::pickle::save takes it, with its errors. A storage that several pickles of the package mention is
  /// written once, with the content that it has when the exporter is closed.
  void save_pickle(std::string_view package, std::string_view resource, const c10::IValue& value);
  void save_text(std::string_view package, std::string_view resource, std::string_view text);
  void save_binary(std::string_view package, std::string_view resource, std::string_view bytes);
  /// A number, as text, that this exporter gives out once.
  std::string get_unique_id();
  /// Writes the file.
  void close();

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

/// Reads packages, of PackageExporter and of Python. Nothing is executed: a pickle with objects of classes, in the
/// package or elsewhere, is a serialize::FormatError. Other errors are those of torch::pickle::load, and
/// c10::ValueError for a resource that is not there.
class PackageImporter {
 public:
  /// The file is mapped, not read.
  explicit PackageImporter(const std::string& path);
  explicit PackageImporter(std::shared_ptr<serialize::FileBytes> bytes);
  ~PackageImporter();
  PackageImporter(const PackageImporter&) = delete;
  PackageImporter& operator=(const PackageImporter&) = delete;

  /// Tensors have memory of their own, which those of another call do not share.
  c10::IValue load_pickle(std::string_view package, std::string_view resource,
                          std::optional<c10::Device> map_location = std::nullopt) const;
  /// Throws serialize::FormatError where the bytes are not UTF-8.
  std::string load_text(std::string_view package, std::string_view resource) const;
  std::string load_binary(std::string_view package, std::string_view resource) const;

  bool has(std::string_view package, std::string_view resource) const;
  /// The records by their paths, "model/weights.pkl", sorted; Python's sources too, and without what describes the
  /// file.
  std::vector<std::string> file_structure() const;
  /// What Python wrote the file, "3.11.7"; "" where none did.
  std::string python_version() const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace torch::package
