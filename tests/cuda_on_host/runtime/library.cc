// Libraries of kernels that are loaded while a program runs. Their code is a shared library of the host, which the
// stand-in of NVRTC compiles.
#include "tests/cuda_on_host/runtime/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda_on_host/runtime/state.h"
#include "tests/cuda_on_host/runtime/text_kernels.h"
#include "tests/cuda_on_host/simt/simt.h"

namespace cuda_standin {
namespace {

constexpr size_t kParameterBytes = 4096;

struct Library {
  uint64_t generation = 0;
  std::vector<const simt::TextKernel*> kernels;
};
struct Libraries {
  std::map<uintptr_t, Library> alive;                               // by handle
  std::map<const void*, const simt::TextKernel*> kernels;           // of all that ever were
  std::map<const void*, std::set<uintptr_t>> libraries_of_kernels;  // that are alive
};
Libraries& libraries() {
  static Libraries* const all = new Libraries;
  return *all;
}
void forget_other_lives() {
  for (auto it = libraries().alive.begin(); it != libraries().alive.end();) {
    it = it->second.generation == state().generation ? std::next(it) : libraries().alive.erase(it);
  }
}

// Of a shared library, whose table of sections comes last.
size_t bytes_of(const void* code) {
  Elf64_Ehdr header;
  std::memcpy(&header, code, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  return header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
}

// By a name of its own: a name that was opened before would give what it gave then.
void* opened(const void* code, size_t bytes) {
  const char* const folder = std::getenv("TEST_TMPDIR");
  std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/kernels_XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return nullptr;
  size_t written = 0;
  while (written < bytes) {
    const ssize_t n = write(file, static_cast<const char*>(code) + written, bytes - written);
    if (n <= 0) break;
    written += static_cast<size_t>(n);
  }
  close(file);
  void* const library = written < bytes ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  unlink(path.c_str());
  return library;
}

bool is_alive(const void* function) {
  const auto found = libraries().libraries_of_kernels.find(function);
  return found != libraries().libraries_of_kernels.end() && !found->second.empty();
}
void check_alive(const simt::TextKernel& kernel, const char* when) {
  Lock lock;
  if (!is_alive(kernel.function)) {
    add_misuse(std::string(kernel.name) + ": the kernel's library was unloaded before it " + when);
  }
}

simt::BoundKernel bind(const void* function, void** arguments) {
  const simt::TextKernel& kernel = *libraries().kernels.at(function);
  check_alive(kernel, "was launched");
  const std::shared_ptr<char[]> values(new char[kernel.bytes + 1]);
  kernel.copy(arguments, values.get());
  simt::BoundKernel bound;
  std::vector<const void*> pointers(static_cast<size_t>(kernel.count));
  kernel.pointers(values.get(), pointers.data());
  for (int i = 0; i < kernel.count; ++i) {
    if (pointers[static_cast<size_t>(i)] != nullptr) bound.pointers.push_back({i, pointers[static_cast<size_t>(i)]});
  }
  bound.call = [&kernel, values] {
    // Kernels may change their parameters. These lie on the thread's stack, which is not watched.
    alignas(16) char own[kParameterBytes];
    std::memcpy(own, values.get(), kernel.bytes);
    simt::watch::set_active(true);
    kernel.call(own);
  };
  return bound;
}

}  // namespace

size_t live_libraries() {
  Lock lock;
  forget_other_lives();
  return libraries().alive.size();
}

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  return api(
      "cudaLibraryLoadData",
      [&] {
        if (!library || !code) return cudaErrorInvalidValue;
        const size_t bytes = bytes_of(code);
        if (bytes == 0) return cudaErrorInvalidKernelImage;
        void* const own = opened(code, bytes);
        if (!own) {
          add_misuse(std::string("cudaLibraryLoadData: ") + dlerror());
          return cudaErrorInvalidKernelImage;
        }
        const auto* kernels = static_cast<const simt::TextKernel*>(dlsym(own, "simt_text_kernels"));
        const auto* architecture = static_cast<const char*>(dlsym(own, "simt_text_architecture"));
        if (!kernels || !architecture) return cudaErrorInvalidKernelImage;
        if (std::string_view(architecture).substr(0, 5) != "sm_90" && *architecture != 'c') {
          return cudaErrorNoKernelImageForDevice;
        }
        forget_other_lives();
        const uintptr_t handle = next_handle();
        Library& made = libraries().alive[handle];
        made.generation = state().generation;
        for (; kernels->name; ++kernels) {
          if (kernels->bytes > kParameterBytes) return cudaErrorInvalidKernelImage;
          made.kernels.push_back(kernels);
          libraries().kernels[kernels->function] = kernels;
          libraries().libraries_of_kernels[kernels->function].insert(handle);
          simt::declare(kernels->function, kernels->name, &bind);
        }
        *library = reinterpret_cast<cudaLibrary_t>(handle);
        return cudaSuccess;
      },
      kUnsafe);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return api(
      "cudaLibraryUnload",
      [&] {
        const auto found = libraries().alive.find(reinterpret_cast<uintptr_t>(library));
        if (found == libraries().alive.end()) return cudaErrorInvalidResourceHandle;
        for (const simt::TextKernel* kernel : found->second.kernels) {
          libraries().libraries_of_kernels[kernel->function].erase(found->first);
        }
        libraries().alive.erase(found);
        return cudaSuccess;
      },
      kUnsafe | kReleases);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return api("cudaLibraryGetKernel", [&] {
    if (!kernel || !name) return cudaErrorInvalidValue;
    const auto found = libraries().alive.find(reinterpret_cast<uintptr_t>(library));
    if (found == libraries().alive.end()) return cudaErrorInvalidResourceHandle;
    for (const simt::TextKernel* one : found->second.kernels) {
      if (std::string_view(one->name) != name) continue;
      *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(one->function));
      return cudaSuccess;
    }
    return cudaErrorSymbolNotFound;
  });
}

}  // extern "C"
}  // namespace cuda_standin
