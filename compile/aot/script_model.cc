#include "compile/aot/script_model.h"

#include <cctype>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/random/ops.h"
#include "c10/util/exception.h"
#include "export/capture/export.h"
#include "export/torchscript/load.h"
#include "jit/api/module.h"

namespace torch::aot {
namespace {

struct Input {
  at::Tensor example;
  std::map<int64_t, Dim> dynamic;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      parts.back() += c;
    }
  }
  return parts;
}

// By their names in Python, those that a program takes.
std::optional<c10::ScalarType> dtype_of(const std::string& name) {
  using enum c10::ScalarType;
  static const std::map<std::string, c10::ScalarType> kDtypes{{"float32", Float},
                                                              {"float64", Double},
                                                              {"float16", Half},
                                                              {"bfloat16", BFloat16},
                                                              {"int8", Char},
                                                              {"int16", Short},
                                                              {"int32", Int},
                                                              {"int64", Long},
                                                              {"uint8", Byte},
                                                              {"bool", Bool},
                                                              {"complex64", ComplexFloat},
                                                              {"complex128", ComplexDouble}};
  const auto found = kDtypes.find(name);
  return found == kDtypes.end() ? std::nullopt : std::optional<c10::ScalarType>(found->second);
}

Input parse(const std::string& text) {
  const auto check = [&](bool held) {
    TORCH_CHECK_VALUE(held, "input '", text, "': expected a dtype and sizes, as float32[n:1:16, 3]");
  };
  const auto number = [&](const std::string& digits) {
    check(!digits.empty() && digits.size() < 18 && digits.find_first_not_of("0123456789") == std::string::npos);
    return static_cast<int64_t>(std::stoll(digits));
  };
  const size_t open = text.find('[');
  check(open != std::string::npos && text.back() == ']');
  const std::optional<c10::ScalarType> dtype = dtype_of(text.substr(0, open));
  check(dtype.has_value());
  const std::string list = text.substr(open + 1, text.size() - open - 2);
  std::vector<int64_t> sizes;
  Input input;
  for (const std::string& part : list.empty() ? std::vector<std::string>() : split(list, ',')) {
    const std::vector<std::string> pieces = split(part, ':');
    if (pieces.size() == 1) {
      sizes.push_back(number(pieces[0]));
      continue;
    }
    check(pieces.size() == 3);
    const int64_t least = number(pieces[1]), largest = number(pieces[2]);
    input.dynamic.emplace(static_cast<int64_t>(sizes.size()), Dim(pieces[0], least, largest));
    // In the middle: graphs of the smallest sizes are often special.
    sizes.push_back(least + (largest - least) / 2);
  }
  input.example = c10::isFloatingType(*dtype) || c10::isComplexType(*dtype)
                      ? at::randn(sizes).to(*dtype)
                      : at::randint(2, sizes, at::TensorOptions().dtype(c10::ScalarType::Long)).to(*dtype);
  return input;
}

}  // namespace

ExportedProgram export_script(const std::string& path, const std::vector<std::string>& inputs) {
  jit::Module module = jit::load(path);
  module.eval();
  ExportOptions options;
  options.strict = true;
  options.max_constant_bytes = std::numeric_limits<int64_t>::max();
  c10::Stack example;
  for (const std::string& text : inputs) {
    Input input = parse(text);
    example.emplace_back(std::move(input.example));
    options.dynamic_shapes.push_back(std::move(input.dynamic));
  }
  const auto& arguments = module.get_method("forward").function().getSchema().arguments();
  for (size_t i = 0; i < inputs.size() && i + 1 < arguments.size(); ++i) {
    options.argument_names.push_back(arguments[i + 1].name());  // behind self
  }
  export_detail::Callable callable;
  callable.call = [&](const c10::Stack& in) { return module.forward(in); };
  return export_detail::export_program(callable, std::move(example), options);
}

}  // namespace torch::aot
