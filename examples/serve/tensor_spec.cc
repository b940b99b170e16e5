#include "examples/serve/tensor_spec.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "c10/util/exception.h"

namespace serve {

using torch::graph::IntExpr;
using torch::graph::IntRange;

namespace {

struct Datatype {
  std::string_view name;
  c10::ScalarType dtype;
};
constexpr Datatype kDatatypes[] = {
    {"BOOL", c10::ScalarType::Bool},     {"UINT8", c10::ScalarType::Byte},    {"UINT16", c10::ScalarType::UInt16},
    {"UINT32", c10::ScalarType::UInt32}, {"UINT64", c10::ScalarType::UInt64}, {"INT8", c10::ScalarType::Char},
    {"INT16", c10::ScalarType::Short},   {"INT32", c10::ScalarType::Int},     {"INT64", c10::ScalarType::Long},
    {"FP16", c10::ScalarType::Half},     {"BF16", c10::ScalarType::BFloat16}, {"FP32", c10::ScalarType::Float},
    {"FP64", c10::ScalarType::Double},
};

std::string sizes_text(c10::IntArrayRef sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

std::string wrong_dtype(const TensorSpec& spec, c10::ScalarType got) {
  return "input '" + spec.name + "' has datatype " + std::string(datatype_of(got)) + "; expected " +
         std::string(datatype_of(*spec.dtype));
}
std::string wrong_shape(const TensorSpec& spec, const at::Tensor& got, const std::string& why = "") {
  return "input '" + spec.name + "' has shape " + sizes_text(got.sizes()) + "; expected " + shape_text(*spec.sizes) +
         why;
}

// Sizes that are constants or symbols.
std::string plain_mismatch(const Signature& signature, const TensorSpec& spec, const at::Tensor& got,
                           std::map<std::string, int64_t>& symbols) {
  const std::vector<IntExpr>& sizes = *spec.sizes;
  if (static_cast<size_t>(got.dim()) != sizes.size()) return wrong_shape(spec, got);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t size = got.sizes()[d];
    if (sizes[d].is_constant()) {
      if (sizes[d].value() != size) return wrong_shape(spec, got);
    } else if (sizes[d].kind() == IntExpr::Kind::kSymbol) {
      const auto range = signature.symbols.find(sizes[d].name());
      if (range != signature.symbols.end() && !range->second.contains(size)) {
        const std::string most = range->second.max == INT64_MAX ? "" : " to " + std::to_string(range->second.max);
        return wrong_shape(spec, got,
                           ", of which size " + std::to_string(d) + " is " + std::to_string(range->second.min) +
                               (most.empty() ? " or more" : most));
      }
      const auto [known, fresh] = symbols.emplace(sizes[d].name(), size);
      if (known->second != size) {
        return wrong_shape(
            spec, got,
            ", of which size " + std::to_string(d) + " is " + std::to_string(known->second) + " in the inputs before");
      }
    }
  }
  return "";
}
// Others, once the symbols are known.
std::string computed_mismatch(const TensorSpec& spec, const at::Tensor& got,
                              const std::map<std::string, int64_t>& symbols) {
  for (size_t d = 0; d < spec.sizes->size(); ++d) {
    const IntExpr& size = (*spec.sizes)[d];
    if (size.is_constant() || size.kind() == IntExpr::Kind::kSymbol) continue;
    std::set<std::string> names;
    size.collect_symbols(names);
    if (std::any_of(names.begin(), names.end(), [&](const std::string& n) { return symbols.count(n) == 0; })) continue;
    const int64_t expected = size.evaluate(symbols);
    if (expected != got.sizes()[d]) {
      return wrong_shape(
          spec, got,
          ", of which size " + std::to_string(d) + " is " + size.str() + " = " + std::to_string(expected) + " here");
    }
  }
  return "";
}

}  // namespace

std::string_view datatype_of(c10::ScalarType dtype) {
  for (const Datatype& one : kDatatypes) {
    if (one.dtype == dtype) return one.name;
  }
  return "";
}

std::optional<c10::ScalarType> dtype_named(std::string_view datatype) {
  for (const Datatype& one : kDatatypes) {
    if (one.name == datatype) return one.dtype;
  }
  return std::nullopt;
}

std::string shape_text(const std::vector<IntExpr>& sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(sizes[i].is_constant() ? sizes[i].value() : -1);
  }
  return text + "]";
}

std::string mismatch(const Signature& signature, const std::vector<at::Tensor>& tensors) {
  std::map<std::string, int64_t> symbols;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorSpec& spec = signature.inputs[i];
    const at::Tensor& got = tensors.at(i);
    if (!got.defined()) {
      if (spec.optional) continue;
      return "input '" + spec.name + "' is missing";
    }
    if (spec.dtype.has_value() && *spec.dtype != got.scalar_type()) return wrong_dtype(spec, got.scalar_type());
    if (spec.kind != TensorSpec::Kind::kTensor) {
      if (got.numel() != 1) {
        return "input '" + spec.name + "' is a number and has shape [] or [1], not " + sizes_text(got.sizes());
      }
      continue;
    }
    if (!spec.sizes.has_value()) continue;
    std::string wrong = plain_mismatch(signature, spec, got, symbols);
    if (!wrong.empty()) return wrong;
  }
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorSpec& spec = signature.inputs[i];
    if (spec.kind != TensorSpec::Kind::kTensor || !spec.sizes.has_value() || !tensors[i].defined()) continue;
    std::string wrong = computed_mismatch(spec, tensors[i], symbols);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

Signature parse_signature(std::string_view text) {
  Signature out;
  const auto trimmed = [](std::string_view part) {
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    return part;
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view part = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = part.find(':'), open = part.find('[');
    TORCH_CHECK_VALUE(colon != std::string_view::npos && open != std::string_view::npos && colon < open &&
                          part.back() == ']' && colon > 0,
                      "'", part, "' is no input; expected NAME:DATATYPE[SIZES], as in x:FP32[-1,4]");
    TensorSpec spec;
    spec.name = trimmed(part.substr(0, colon));
    const std::string_view datatype = trimmed(part.substr(colon + 1, open - colon - 1));
    spec.dtype = dtype_named(datatype);
    TORCH_CHECK_VALUE(spec.dtype.has_value(), "input '", spec.name, "': unknown datatype '", datatype, "'");
    std::string_view sizes = trimmed(part.substr(open + 1, part.size() - open - 2));
    spec.sizes.emplace();
    while (!sizes.empty()) {
      const size_t comma = std::min(sizes.find(','), sizes.size());
      const std::string_view number = trimmed(sizes.substr(0, comma));
      sizes.remove_prefix(std::min(comma + 1, sizes.size()));
      int64_t size = 0;
      const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), size);
      TORCH_CHECK_VALUE(error == std::errc() && stop == number.data() + number.size() && size >= -1, "input '",
                        spec.name, "': '", number, "' is no size; expected a whole number, or -1 for any");
      if (size >= 0) {
        spec.sizes->emplace_back(size);
        continue;
      }
      const std::string symbol = spec.sizes->empty() ? "batch" : spec.name + "_" + std::to_string(spec.sizes->size());
      out.symbols.emplace(symbol, IntRange{0, INT64_MAX});
      spec.sizes->push_back(IntExpr::symbol(symbol));
    }
    for (const TensorSpec& other : out.inputs) {
      TORCH_CHECK_VALUE(other.name != spec.name, "input '", spec.name, "' is there twice");
    }
    out.inputs.push_back(std::move(spec));
  }
  return out;
}

}  // namespace serve
