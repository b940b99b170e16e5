#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace layers {

// What PassThrough takes: the keys of layers, "Profiler" (an observer that sees all values), "DispatchMode", and "all" of
// these together.
const std::vector<std::string>& pass_through_names();

// While it lives, every operator that this thread calls goes, boxed, through a handler that passes it on as it is. Throws
// c10::ValueError for a name that is none of the above.
class PassThrough {
 public:
  explicit PassThrough(const std::string& name);
  ~PassThrough();
  PassThrough(const PassThrough&) = delete;
  PassThrough& operator=(const PassThrough&) = delete;

  // How many calls a handler has passed on, of all handlers since the program began.
  static int64_t calls();

 private:
  struct Installed;
  std::unique_ptr<Installed> installed_;
};

}  // namespace layers
