#include "compile/cuda/nvrtc.h"

#include <nvrtc.h>

#include <algorithm>

namespace torch::compiler::cuda {
namespace {

void check(nvrtcResult result, const char* call) {
  KD_CHECK_WITH_(CompileError, result == NVRTC_SUCCESS, call, " failed: ", nvrtcGetErrorString(result));
}
#define KD_NVRTC(call) check(call, #call)

class Program {
 public:
  explicit Program(const std::string& text) {
    KD_NVRTC(nvrtcCreateProgram(&program_, text.c_str(), "fused_group.cu", 0, nullptr, nullptr));
  }
  ~Program() {
    if (program_ != nullptr) nvrtcDestroyProgram(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  nvrtcProgram get() const { return program_; }

  std::string log() const {
    size_t bytes = 0;
    if (nvrtcGetProgramLogSize(program_, &bytes) != NVRTC_SUCCESS || bytes == 0) return "";
    std::string text(bytes, '\0');
    if (nvrtcGetProgramLog(program_, text.data()) != NVRTC_SUCCESS) return "";
    text.resize(bytes - 1);
    return text;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

// "sm_90a", or "compute_90" for PTX.
std::string architecture_for(int major, int minor) {
  int count = 0;
  KD_NVRTC(nvrtcGetNumSupportedArchs(&count));
  std::vector<int> known(static_cast<size_t>(std::max(count, 0)));
  if (count > 0) KD_NVRTC(nvrtcGetSupportedArchs(known.data()));
  const int wanted = 10 * major + minor;
  if (std::find(known.begin(), known.end(), wanted) != known.end()) {
    return "sm_" + std::to_string(wanted) + (major >= 9 ? "a" : "");
  }
  int newest = 0;
  for (const int one : known) {
    if (one < wanted) newest = std::max(newest, one);
  }
  KD_CHECK_WITH_(CompileError, newest > 0, "NVRTC compiles nothing for devices of compute capability ", major, ".",
                 minor);
  return "compute_" + std::to_string(newest);
}

}  // namespace

std::vector<char> compile_source(const std::string& text, int major, int minor) {
  const std::string architecture = architecture_for(major, minor), option = "--gpu-architecture=" + architecture;
  const Program program(text);
  const char* options[] = {option.c_str(),        "--std=c++20",
                           "--fmad=false",        "--device-as-default-execution-space",
                           "--diag-suppress=177", "-DKD_RUNTIME_COMPILED"};
  const nvrtcResult result = nvrtcCompileProgram(program.get(), static_cast<int>(std::size(options)), options);
  KD_CHECK_WITH_(CompileError, result == NVRTC_SUCCESS, "a group's kernel does not compile for ", architecture, ": ",
                 nvrtcGetErrorString(result), "\n", program.log());
  const bool is_code = architecture[0] == 's';
  size_t bytes = 0;
  std::vector<char> image;
  if (is_code) {
    KD_NVRTC(nvrtcGetCUBINSize(program.get(), &bytes));
    image.resize(bytes);
    KD_NVRTC(nvrtcGetCUBIN(program.get(), image.data()));
  } else {
    KD_NVRTC(nvrtcGetPTXSize(program.get(), &bytes));
    image.resize(bytes);
    KD_NVRTC(nvrtcGetPTX(program.get(), image.data()));
  }
  return image;
}

}  // namespace torch::compiler::cuda
