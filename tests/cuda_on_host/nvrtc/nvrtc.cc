#include <nvrtc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <regex>
#include <string>
#include <vector>

#include "tests/cuda_on_host/nvrtc/compiler.h"
#include "tests/cuda_on_host/nvrtc/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"
#include "tests/cuda_on_host/simt/simt.h"

struct _nvrtcProgram {
  std::string text, log = std::string(1, '\0');
  std::vector<char> image;
  bool is_code = false;
};

extern "C" [[noreturn]] void simt_text_fault(const char* what) {
  simt::fault(what);
}

namespace nvrtc_standin {
namespace {

struct State {
  std::mutex mutex;
  Options options;
  uint64_t calls = 0;
  std::map<nvrtcProgram, bool> programs;
  std::vector<Compiled> compiled;
  std::map<std::string, std::vector<char>> images;  // of texts that were compiled before
};
State& state() {
  static State* const it = new State;
  return *it;
}

nvrtcResult enter() {
  const std::lock_guard lock(state().mutex);
  const auto number = static_cast<int64_t>(state().calls++);
  return number == state().options.fail_call ? state().options.fail_with : NVRTC_SUCCESS;
}
bool is_program(nvrtcProgram program, const char* call) {
  const std::lock_guard lock(state().mutex);
  if (state().programs.count(program) > 0) return true;
  cuda_standin::report_misuse(std::string(call) + ": a program that is none, or was destroyed");
  return false;
}

// Empty where the options are not those that are known.
std::string architecture_of(int count, const char* const* options) {
  std::string architecture;
  bool contracts = true;
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    std::smatch found;
    if (std::regex_match(option, found, std::regex("--gpu-architecture=((sm|compute)_[0-9]+a?)"))) {
      architecture = found[1];
    } else if (option == "--fmad=false") {
      contracts = false;
    } else if (option != "--std=c++20" && option != "--device-as-default-execution-space" &&
               option.rfind("-D", 0) != 0 && option.rfind("--diag-suppress=", 0) != 0) {
      return "";
    }
  }
  // The host's compiler does not join products and sums.
  return contracts ? "" : architecture;
}

std::vector<char> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The text with a table of its kernels.
std::string completed(const std::string& text, const std::string& architecture) {
  std::string table = "\nextern \"C\" const char simt_text_architecture[] = \"" + architecture +
                      "\";\nextern \"C\" const simt::TextKernel simt_text_kernels[] = {\n";
  const std::regex kernel("extern \"C\" __global__ void (?:__launch_bounds__\\([0-9]+\\) )?([A-Za-z_0-9]+)\\(");
  for (std::sregex_iterator at(text.begin(), text.end(), kernel), end; at != end; ++at) {
    const std::string name = (*at)[1];
    table += "  simt_text::Kernel<&" + name + ">::described(\"" + name + "\"),\n";
  }
  return "#line 1 \"fused_group.cu\"\n" + text + table + "  {}};\n";
}

nvrtcResult compile(_nvrtcProgram& program, const std::string& architecture, const std::string& defines) {
  const std::string key = architecture + defines + program.text;
  {
    const std::lock_guard lock(state().mutex);
    state().compiled.push_back({program.text, architecture});
    if (const auto found = state().images.find(key); found != state().images.end()) {
      program.image = found->second;
      return NVRTC_SUCCESS;
    }
  }
  const char* const folder = std::getenv("TEST_TMPDIR");
  std::string base = std::string(folder != nullptr ? folder : "/tmp") + "/text_XXXXXX";
  const int file = mkstemp(base.data());
  if (file < 0) return NVRTC_ERROR_INTERNAL_ERROR;
  close(file);
  const std::string source = base + ".cc", library = base + ".so", log = base + ".log";
  std::ofstream(source) << completed(program.text, architecture);
  const std::string command = std::string(HOST_COMPILER) + " -std=c++20 -O1 -g1 -fPIC -shared -fno-math-errno " +
                              HOST_COMPILER_OPTIONS + defines + " -I. -include " DEVICE_TEXT " '" + source + "' -o '" +
                              library + "' > '" + log + "' 2>&1";
  const int failed = std::system(command.c_str());
  const std::vector<char> said = contents(log);
  program.log.assign(said.begin(), said.end());
  program.log.push_back('\0');
  program.image = contents(library);
  for (const std::string& path : {base, source, library, log}) unlink(path.c_str());
  if (failed != 0 || program.image.empty()) return NVRTC_ERROR_COMPILATION;
  const std::lock_guard lock(state().mutex);
  state().images[key] = program.image;
  return NVRTC_SUCCESS;
}

}  // namespace

void reset(const Options& options) {
  const std::lock_guard lock(state().mutex);
  state().options = options;
  state().calls = 0;
  state().compiled.clear();
}
uint64_t calls() {
  const std::lock_guard lock(state().mutex);
  return state().calls;
}
size_t live_programs() {
  const std::lock_guard lock(state().mutex);
  return state().programs.size();
}
std::vector<Compiled> compiled() {
  const std::lock_guard lock(state().mutex);
  return state().compiled;
}

}  // namespace nvrtc_standin

using namespace nvrtc_standin;  // NOLINT: the library's functions are not in a namespace

const char* nvrtcGetErrorString(nvrtcResult result) {
  switch (result) {
    case NVRTC_SUCCESS:
      return "NVRTC_SUCCESS";
    case NVRTC_ERROR_OUT_OF_MEMORY:
      return "NVRTC_ERROR_OUT_OF_MEMORY";
    case NVRTC_ERROR_COMPILATION:
      return "NVRTC_ERROR_COMPILATION";
    case NVRTC_ERROR_INVALID_OPTION:
      return "NVRTC_ERROR_INVALID_OPTION";
    default:
      return "NVRTC_ERROR unknown";
  }
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  if (const nvrtcResult status = enter()) return status;
  if (count == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *count = static_cast<int>(state().options.architectures.size());
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* all) {
  if (const nvrtcResult status = enter()) return status;
  if (all == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  std::memcpy(all, state().options.architectures.data(), state().options.architectures.size() * sizeof(int));
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char*, int headers, const char* const*,
                               const char* const*) {
  if (const nvrtcResult status = enter()) return status;
  if (program == nullptr || text == nullptr || headers != 0) return NVRTC_ERROR_INVALID_INPUT;
  auto* const made = new _nvrtcProgram;
  made->text = text;
  const std::lock_guard lock(state().mutex);
  state().programs[made] = true;
  *program = made;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program == nullptr || !is_program(*program, "nvrtcDestroyProgram")) return NVRTC_ERROR_INVALID_PROGRAM;
  {
    const std::lock_guard lock(state().mutex);
    state().programs.erase(*program);
  }
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (const nvrtcResult status = enter()) return status;
  if (!is_program(program, "nvrtcCompileProgram")) return NVRTC_ERROR_INVALID_PROGRAM;
  const std::string architecture = architecture_of(count, options);
  if (architecture.empty()) return NVRTC_ERROR_INVALID_OPTION;
  std::string defines;
  for (int i = 0; i < count; ++i) {
    if (std::strncmp(options[i], "-D", 2) == 0) defines += std::string(" ") + options[i];
  }
  program->is_code = architecture[0] == 's';
  return compile(*program, architecture, defines);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* bytes) {
  if (const nvrtcResult status = enter()) return status;
  if (!is_program(program, "nvrtcGetProgramLogSize")) return NVRTC_ERROR_INVALID_PROGRAM;
  *bytes = program->log.size();
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  if (const nvrtcResult status = enter()) return status;
  if (!is_program(program, "nvrtcGetProgramLog")) return NVRTC_ERROR_INVALID_PROGRAM;
  std::memcpy(log, program->log.data(), program->log.size());
  return NVRTC_SUCCESS;
}

// Code for a device where the architecture is a real one, else PTX.
#define NVRTC_STANDIN_IMAGE(Get, GetSize, of_code)                          \
  nvrtcResult GetSize(nvrtcProgram program, size_t* bytes) {                \
    if (const nvrtcResult status = enter()) return status;                  \
    if (!is_program(program, #GetSize)) return NVRTC_ERROR_INVALID_PROGRAM; \
    *bytes = program->is_code == of_code ? program->image.size() : 0;       \
    return NVRTC_SUCCESS;                                                   \
  }                                                                         \
  nvrtcResult Get(nvrtcProgram program, char* image) {                      \
    if (const nvrtcResult status = enter()) return status;                  \
    if (!is_program(program, #Get)) return NVRTC_ERROR_INVALID_PROGRAM;     \
    if (program->is_code != of_code) return NVRTC_ERROR_INVALID_PROGRAM;    \
    std::memcpy(image, program->image.data(), program->image.size());       \
    return NVRTC_SUCCESS;                                                   \
  }
NVRTC_STANDIN_IMAGE(nvrtcGetCUBIN, nvrtcGetCUBINSize, true)
NVRTC_STANDIN_IMAGE(nvrtcGetPTX, nvrtcGetPTXSize, false)
