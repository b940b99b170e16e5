// Converts checkpoints:
//
//   convert runs/step-1000 model.pt                                   a folder as a file of torch.save
//   convert runs/step-1000 model.safetensors --prefix=model.          its tensors as one safetensors file
//   convert runs/step-1000 exported --huggingface --prefix=model.     or as a folder of Hugging Face's
//   convert model.pt runs/imported                                    a file (.safetensors, or of torch.save) as a
//   folder
//
// Folders are read where this library, PyTorch (.metadata) or Hugging Face's libraries wrote them.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "distributed/checkpoint/format_utils.h"

namespace {

namespace dcp = torch::distributed::checkpoint;

constexpr const char* kUsage =
    "usage: convert FROM TO [--huggingface] [--prefix=PREFIX] [--max-shard-bytes=N]\n"
    "FROM: a checkpoint's folder, or a file: .safetensors, or of torch.save\n"
    "TO: a file (.safetensors; .pt, .pth or .bin for one of torch.save), or a folder: from a file a checkpoint's, "
    "with\n"
    "    --huggingface one of safetensors files\n";

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool value_of(const std::string& argument, const std::string& name, std::string& value) {
  if (argument.compare(0, name.size(), name) != 0) return false;
  value = argument.substr(name.size());
  return true;
}

int usage() {
  std::fputs(kUsage, stderr);
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> paths;
  dcp::SafetensorsOptions options;
  bool is_hugging_face = false;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    std::string value;
    if (argument == "--help") return std::fputs(kUsage, stdout) < 0;
    if (argument == "--huggingface") {
      is_hugging_face = true;
    } else if (value_of(argument, "--prefix=", options.prefix)) {
    } else if (value_of(argument, "--max-shard-bytes=", value)) {
      char* end = nullptr;
      options.max_shard_bytes = std::strtoull(value.c_str(), &end, 10);
      if (options.max_shard_bytes == 0 || *end != '\0') return usage();
    } else if (argument.compare(0, 2, "--") == 0) {
      return usage();
    } else {
      paths.push_back(argument);
    }
  }
  if (paths.size() != 2) return usage();
  const std::string &from = paths[0], &to = paths[1];
  try {
    if (!std::filesystem::is_directory(from)) {
      if (is_hugging_face || !options.prefix.empty()) return usage();
      ends_with(from, ".safetensors") ? dcp::safetensors_to_dcp(from, to) : dcp::torch_save_to_dcp(from, to);
    } else if (is_hugging_face || ends_with(to, ".safetensors")) {
      dcp::dcp_to_safetensors(from, to, options);
    } else if (ends_with(to, ".pt") || ends_with(to, ".pth") || ends_with(to, ".bin")) {
      if (!options.prefix.empty()) return usage();
      dcp::dcp_to_torch_save(from, to);
    } else {
      return usage();
    }
  } catch (const std::exception& e) {
    const auto* error = dynamic_cast<const c10::Error*>(&e);
    std::fprintf(stderr, "convert: %s\n", error != nullptr ? error->what_without_backtrace() : e.what());
    return 1;
  }
  return 0;
}
