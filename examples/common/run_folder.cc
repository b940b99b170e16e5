#include "examples/common/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "examples/common/flags.h"

namespace examples {

bool exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

RunFolder::~RunFolder() {
  if (lock_ >= 0) ::close(lock_);
}

void RunFolder::take(const std::string& path) {
  path_ = path;
  const std::string file = path + "/.lock";
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail("cannot write to the folder " + path + ": " + std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) fail(path + " is in use by another run: wait for its end, or choose another --out");
  fail("cannot lock " + file + ": " + std::strerror(errno));
}

void RunFolder::make(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) fail("cannot make the folder " + part + ": " + std::strerror(errno));
    if (end == std::string::npos) break;
  }
  take(path);
}

void RunFolder::make_new(const std::string& path) {
  std::string folder = path;
  for (int i = 2; ::mkdir(folder.c_str(), 0777) != 0; ++i) {
    if (errno != EEXIST) fail("cannot make the folder " + folder + ": " + std::strerror(errno));
    folder = path + "-" + std::to_string(i);
  }
  take(folder);
}

}  // namespace examples
