#include "c10/core/tensor_options.h"

#include "c10/util/string_util.h"

namespace c10 {

TensorOptions TensorOptions::merge_in(TensorOptions other) const noexcept {
  TensorOptions out = *this;
  if (other.has_dtype()) out = out.dtype(other.dtype_opt());
  if (other.has_device()) out = out.device(other.device_opt());
  if (other.has_layout()) out = out.layout(other.layout_opt());
  if (other.has_requires_grad()) out = out.requires_grad(other.requires_grad_opt());
  if (other.has_pinned_memory()) out = out.pinned_memory(other.pinned_memory_opt());
  if (other.has_memory_format()) out = out.memory_format(other.memory_format_opt());
  return out;
}

void to_text(std::string& out, const TensorOptions& options) {
  const auto field = [&](const char* name, const auto& value, bool given) {
    out += str(name, "=", value, given ? "" : " (default)");
  };
  const auto yes = [](bool b) { return b ? "true" : "false"; };
  out += "TensorOptions(";
  field("dtype", options.dtype(), options.has_dtype());
  field(", device", options.device(), options.has_device());
  field(", layout", options.layout(), options.has_layout());
  field(", requires_grad", yes(options.requires_grad()), options.has_requires_grad());
  field(", pinned_memory", yes(options.pinned_memory()), options.has_pinned_memory());
  out += ", memory_format=";
  out += options.has_memory_format() ? toString(*options.memory_format_opt()) : "(nullopt)";
  out += ")";
}

}  // namespace c10
