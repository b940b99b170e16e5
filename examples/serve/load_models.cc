#include "examples/serve/load_models.h"

#include "c10/util/exception.h"
#include "examples/serve/loading.h"
#include "export/pt2/pt2.h"
#include "utils/pickle/zip.h"
#include "utils/serialize/file_io.h"

namespace serve {
namespace {

enum class Format { kExported, kScript, kOnnx };

// By what is in it. Throws ValueError for what is no model.
Format format_of(const std::string& path) {
  const auto bytes = std::make_shared<torch::serialize::FileBytes>(path);
  const std::string_view head = bytes->view().substr(0, 16);
  if (!torch::pickle::is_zip(bytes->view())) {
    TORCH_CHECK_VALUE(!head.empty(), path, " is empty");
    TORCH_CHECK_VALUE(head.substr(0, 1) != "\x80", path, " is a pickle: tensors, not a model");
    TORCH_CHECK_VALUE(head.size() < 9 || head[8] != '{', path, " is a safetensors file: tensors, not a model");
    return Format::kOnnx;
  }
  const torch::pickle::ZipReader zip(bytes);
  if (zip.find("archive_format") != nullptr || zip.find("serialized_exported_program.json") != nullptr) {
    return Format::kExported;
  }
  if (zip.find("constants.pkl") != nullptr) return Format::kScript;
  TORCH_CHECK_VALUE(zip.find("data.pkl") == nullptr, path, " is what torch.save writes: tensors, not a model");
  TORCH_CHECK_VALUE(false, path, " is a zip file, but neither torch.export nor torch.jit.save has written it");
}

}  // namespace

std::vector<LoadedModel> load_models(const std::string& name, const std::string& path, const Signature* signature) {
  std::vector<LoadedModel> out;
  const Format format = format_of(path);
  TORCH_CHECK_VALUE(signature == nullptr || format == Format::kScript, path,
                    " says itself what its inputs are; only those of TorchScript modules are declared");
  switch (format) {
    case Format::kScript:
      out.push_back({name, make_script_model(path, signature)});
      break;
    case Format::kOnnx:
      out.push_back({name, make_onnx_model(path)});
      break;
    case Format::kExported: {
      const std::vector<std::string> programs = torch::exported_names(path);
      for (const std::string& program : programs) {
        out.push_back({programs.size() == 1 ? name : name + "." + program, make_exported_model(path, program)});
      }
      break;
    }
  }
  return out;
}

}  // namespace serve
