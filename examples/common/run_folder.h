// The output folder of a run, which one process at a time may write.
#pragma once

#include <string>

namespace examples {

// Whether there is such a file or folder.
bool exists(const std::string& path);

class RunFolder {
 public:
  RunFolder() = default;
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Takes the folder `path`, which is there; ends the program (fail) where another process has it. It is free again when this
  // object or the process ends, however it ends. The lock is on the file ".lock" in the folder.
  void take(const std::string& path);

  // Makes `path` and what leads to it, unless it is there, and takes it.
  void make(const std::string& path);

  // Makes and takes the first of `path`, `path`-2, `path`-3 ... that is not there yet.
  void make_new(const std::string& path);

  const std::string& path() const { return path_; }
  bool taken() const { return lock_ >= 0; }

 private:
  std::string path_;
  int lock_ = -1;
};

}  // namespace examples
