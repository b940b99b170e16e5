#include "c10/cuda/profiler/cupti.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "c10/util/exception.h"

// A program may bring them: tests do, with a stand-in.
#define KD_CUPTI_WEAK(function) extern "C" decltype(::function) function __attribute__((weak));
KD_CUPTI_FUNCTIONS(KD_CUPTI_WEAK)
#undef KD_CUPTI_WEAK

namespace c10::cuda::profiler {
namespace {

std::vector<std::string> places() {
  const std::string name = c10::str("libcupti.so.", CUPTI_API_VERSION / 10000);
  const char* root = std::getenv("CUDA_PATH");
  if (root == nullptr || *root == '\0') root = "/usr/local/cuda";
  return {name, c10::str(root, "/lib64/", name), c10::str(root, "/extras/CUPTI/lib64/", name),
          c10::str(root, "/lib/", name)};
}

struct Loaded {
  Cupti functions;
  std::string why;
};

Loaded load() {
  Loaded loaded;
  if (&::cuptiGetVersion != nullptr) {
#define KD_CUPTI_TAKE(function) loaded.functions.function = &::function;
    KD_CUPTI_FUNCTIONS(KD_CUPTI_TAKE)
#undef KD_CUPTI_TAKE
    return loaded;
  }
  void* library = nullptr;
  for (const std::string& place : places()) {
    library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    if (loaded.why.empty()) loaded.why = ::dlerror();
  }
  if (library == nullptr) return loaded;
  loaded.why.clear();
#define KD_CUPTI_FIND(function)                                                                     \
  loaded.functions.function = reinterpret_cast<decltype(&::function)>(::dlsym(library, #function)); \
  if (loaded.functions.function == nullptr && loaded.why.empty()) loaded.why = "libcupti has no " #function;
  KD_CUPTI_FUNCTIONS(KD_CUPTI_FIND)
#undef KD_CUPTI_FIND
  uint32_t version = 0;
  if (loaded.why.empty() &&
      (loaded.functions.cuptiGetVersion(&version) != CUPTI_SUCCESS || version < CUPTI_API_VERSION)) {
    // An older library's records are shorter.
    loaded.why = c10::str("libcupti is of version ", version, ", older than the headers' ", CUPTI_API_VERSION);
  }
  return loaded;
}

}  // namespace

const Cupti* load_cupti(std::string& why) {
  static const Loaded* const loaded = new Loaded(load());
  why = loaded->why;
  return why.empty() ? &loaded->functions : nullptr;
}

}  // namespace c10::cuda::profiler
