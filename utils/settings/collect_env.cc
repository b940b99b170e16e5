// The report of the environment.
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "c10/cuda/frontend.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/util/string_util.h"
#include "utils/settings/settings.h"

extern char** environ;

namespace torch::utils::collect_env {
namespace {

// The value of `key` in a file of lines "key SEPARATOR value"; empty where there is none.
std::string value_in(const char* path, const std::string& key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const size_t at = line.find(separator);
    if (at == std::string::npos || line.find_first_not_of(" \t", key.size()) != at) continue;
    const size_t begin = line.find_first_not_of(" \t\"", at + 1);
    if (begin == std::string::npos) return {};
    return line.substr(begin, line.find_last_not_of(" \t\"") + 1 - begin);
  }
  return {};
}

// The first line of a file; empty where there is none.
std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "L1d cache: 48K (cpus 0)" and so on, of the first processor.
std::string caches() {
  std::string text;
  const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int i = 0;; ++i) {
    const std::string cache = folder + std::to_string(i) + "/", level = line_of(cache + "level");
    if (level.empty()) return text;
    const std::string type = line_of(cache + "type");
    const char* const kind = type == "Data" ? "d" : type == "Instruction" ? "i" : "";
    text += c10::str("L", level, kind, " cache: ", line_of(cache + "size"), " (cpus ",
                     line_of(cache + "shared_cpu_list"), ")\n");
  }
}

std::string vulnerabilities() {
  const std::filesystem::path folder = "/sys/devices/system/cpu/vulnerabilities";
  std::map<std::string, std::string> all;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(folder, none)) {
    all[file.path().filename().string()] = line_of(file.path().string());
  }
  std::string text;
  for (const auto& [name, state] : all) text += c10::str("Vulnerability ", name, ": ", state, "\n");
  return text;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "N/A" : value;
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "Could not collect" : text;
}

std::string cuda_version() {
  const long version = at::Context::versionCUDART();
  return version == 0 ? "None" : c10::str(version / 1000, ".", version / 10 % 100);
}

}  // namespace

std::string get_pretty_env_info() {
  utsname system{};
  ::uname(&system);
  const std::string cpu = value_in("/proc/cpuinfo", "model name", ':');
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += std::string(name) + ": " + value + "\n";
  };
  line("PyTorch version", "2.15 (Kindling)");
#ifdef NDEBUG
  line("Is debug build", "False");
#else
  line("Is debug build", "True");
#endif
  line("CUDA used to build PyTorch", cuda_version());
  text += "\n";
  line("OS", c10::str(or_unknown(value_in("/etc/os-release", "PRETTY_NAME", '=')), " (", system.machine, ")"));
  line("Kernel", c10::str(system.sysname, " ", system.release));
#if defined(__clang__)
  line("Compiler", "Clang " __clang_version__);
#else
  line("Compiler", "GCC " __VERSION__);
#endif
  line("Libc version", c10::str("glibc-", ::gnu_get_libc_version()));
  text += "\n";
  line("Is CUDA available", torch::cuda::is_available() ? "True" : "False");
  line("CUDA devices", std::to_string(torch::cuda::device_count()));
  const long cudnn = at::Context::versionCuDNN();
  for (int i = 0; i < torch::cuda::device_count(); ++i) {
    line(c10::str("GPU ", i).c_str(), torch::cuda::get_device_name(static_cast<c10::DeviceIndex>(i)));
  }
  line("CUDA_MODULE_LOADING set to", variable("CUDA_MODULE_LOADING"));
  line("Nvidia driver version", or_unknown(line_of("/proc/driver/nvidia/version")));
  line("cuDNN version", cudnn == 0 ? "None" : std::to_string(cudnn));
  line("Caching allocator config", variable("PYTORCH_CUDA_ALLOC_CONF"));
  text += "\nCPU:\n";
  line("Model name", or_unknown(cpu));
  line("Architecture", system.machine);
  for (const auto& [name, key] : {std::pair("Vendor ID", "vendor_id"), std::pair("CPU family", "cpu family"),
                                  std::pair("Model", "model"), std::pair("Stepping", "stepping"),
                                  std::pair("Core(s) per socket", "cpu cores"), std::pair("BogoMIPS", "bogomips"),
                                  std::pair("Flags", "flags")}) {
    line(name, or_unknown(value_in("/proc/cpuinfo", key, ':')));
  }
  text += caches() + vulnerabilities();
  line("NUMA node(s)", or_unknown(line_of("/sys/devices/system/node/online")));
  line("CPU(s)", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)));
  line("CPU capability", at::get_cpu_capability());
  const auto memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  line("Memory", c10::str(static_cast<int64_t>(memory / (1 << 20)), " MiB"));
  text += "\nSettings:\n" + __config__::show();
  text += "\n" + __config__::parallel_info();
  text += "\nEnvironment variables:\n";
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string all = *entry;
    for (const char* prefix :
         {"KINDLING_", "TORCH_", "PYTORCH_", "OMP_", "GOMP_", "MKL_", "CUDA_", "CUBLAS_", "NCCL_"}) {
      if (all.starts_with(prefix)) variables[all.substr(0, all.find('='))] = all.substr(all.find('=') + 1);
    }
  }
  for (const auto& [name, value] : variables) text += name + "=" + value + "\n";
  if (variables.empty()) text += "none that matters\n";
  return text;
}

}  // namespace torch::utils::collect_env
