// Where recorded operator calls lie: a folder of NAME@OVERLOAD.json and .safetensors files, or a .tar.gz archive of such files.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace conformance {

// A set, or a file of it, is damaged or cannot be read. The message is one line that names the file.
struct BadSet : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class CaseSet {
 public:
  // Bounds what a damaged or hostile set can ask for: a file, and everything in an archive.
  static constexpr size_t kMaxFileBytes = size_t{64} << 20;
  static constexpr size_t kMaxArchiveBytes = size_t{256} << 20;

  // `path` is a folder or an archive. Throws BadSet.
  explicit CaseSet(std::string path);

  // The overloads in alphabetical order, e.g. "softmax@int".
  std::vector<std::string> names() const { return stems(".json"); }
  // The files whose names end so, in alphabetical order and without that ending.
  std::vector<std::string> stems(const std::string& ending) const;
  bool contains(const std::string& file) const;
  // The bytes of one file. Throws BadSet where it is missing, not a plain file or too large.
  std::string read(const std::string& file) const;
  // How messages call a file.
  std::string describe(const std::string& file) const { return path_ + "/" + file; }

 private:
  std::string path_;
  bool archive_ = false;
  std::map<std::string, std::string> files_;  // of an archive
};

}  // namespace conformance
