#include "utils/repr/repr.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <vector>

#include "aten/nested/nested_tensor_impl.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/node.h"
#include "c10/core/default_dtype.h"
#include "c10/core/grad_mode.h"

namespace torch {
namespace {

using at::Tensor;

std::mutex mutex;
PrintOptions current;

std::string number(double v, const char* format, int precision) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char text[512];
  std::snprintf(text, sizeof(text), format, precision, v);
  return text;
}

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  std::string all;
  for (size_t i = 0; i < parts.size(); ++i) all += (i > 0 ? between : "") + parts[i];
  return all;
}

std::string numbers(at::IntArrayRef sizes) {
  std::vector<std::string> all;
  for (const int64_t n : sizes) all.push_back(std::to_string(n));
  return joined(all, ", ");
}

// "(3,)", "(2, 3)"
std::string tuple(at::IntArrayRef sizes) {
  return "(" + numbers(sizes) + (sizes.size() == 1 ? ",)" : ")");
}

// The elements in order, as numbers that hold them exactly; of a complex tensor those of the real view.
struct Elements {
  explicit Elements(const Tensor& t)
      : integral(at::isIntegralType(t.scalar_type(), /*includeBool=*/true)),
        is_unsigned(t.scalar_type() == at::kUInt64),
        is_bool(t.scalar_type() == at::kBool) {
    const at::ScalarType wide = !integral ? at::kDouble : is_unsigned ? at::kUInt64 : at::kLong;
    const Tensor flat = at::contiguous(at::to(t, wide));
    count = flat.numel();
    if (!integral) {
      const auto* p = static_cast<const double*>(flat.const_data_ptr());
      reals.assign(p, p + count);
    } else {
      const auto* p = static_cast<const int64_t*>(flat.const_data_ptr());
      integers.assign(p, p + count);
    }
  }

  std::string integer(int64_t i) const {
    const int64_t v = integers[static_cast<size_t>(i)];
    if (is_bool) return v != 0 ? "True" : "False";
    return is_unsigned ? std::to_string(static_cast<uint64_t>(v)) : std::to_string(v);
  }

  bool integral, is_unsigned, is_bool;
  int64_t count = 0;
  std::vector<double> reals;
  std::vector<int64_t> integers;
};

// One form for all elements of a tensor, so that they stand below each other.
class Formatter {
 public:
  Formatter(const Elements& elements, const PrintOptions& options) : options_(options), integral_(elements.integral) {
    if (integral_) {
      for (int64_t i = 0; i < elements.count; ++i) widen(elements.integer(i));
      return;
    }
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const double v : elements.reals) {
      if (!std::isfinite(v) || v == 0) continue;
      any_ = true;
      whole_ = whole_ && v == std::ceil(v);
      least = std::min(least, std::abs(v));
      most = std::max(most, std::abs(v));
    }
    // Zeros alone stay as they are, whatever the mode.
    if (!any_) return;
    scientific_ = options.sci_mode.value_or(most / least > 1000 || most > 1e8 || (!whole_ && least < 1e-4));
    for (const double v : elements.reals) {
      if (std::isfinite(v) && v != 0) widen(text(v));
    }
  }

  int64_t width() const { return width_; }
  std::string format(const Elements& elements, int64_t i) const {
    const std::string plain = integral_ ? elements.integer(i) : text(elements.reals[static_cast<size_t>(i)]);
    const auto missing = width_ - static_cast<int64_t>(plain.size());
    return std::string(static_cast<size_t>(std::max<int64_t>(missing, 0)), ' ') + plain;
  }

 private:
  void widen(const std::string& text) { width_ = std::max(width_, static_cast<int64_t>(text.size())); }
  std::string text(double v) const {
    if (scientific_) return number(v, "%.*e", options_.precision);
    if (!whole_) return number(v, "%.*f", options_.precision);
    return number(v, "%.*f", 0) + (std::isfinite(v) ? "." : "");
  }

  const PrintOptions& options_;
  bool integral_, any_ = false, whole_ = true, scientific_ = false;
  int64_t width_ = 1;
};

// The elements that are shown of a tensor whose middle is left out.
Tensor edges(const Tensor& t, int64_t items, int64_t dim) {
  if (dim == t.dim()) return t;
  if (t.size(dim) <= 2 * items) return edges(t, items, dim + 1);
  const Tensor ends = at::cat({at::slice(t, dim, 0, items), at::slice(t, dim, t.size(dim) - items, t.size(dim))}, dim);
  return edges(ends, items, dim + 1);
}

class Writer {
 public:
  Writer(const Tensor& t, const PrintOptions& options)
      : options_(options),
        sizes_(t.sizes().vec()),
        summarised_(t.numel() > options.threshold),
        shown_(summarised_ ? edges(t, options.edgeitems, 0) : t),
        shown_sizes_(shown_.sizes().vec()),
        real_(t.is_complex() ? at::select(at::view_as_real(shown_), -1, 0) : shown_),
        imaginary_(t.is_complex() ? std::optional<Elements>(at::select(at::view_as_real(shown_), -1, 1))
                                  : std::nullopt),
        real_form_(real_, options),
        imaginary_form_(imaginary_ ? std::optional<Formatter>(std::in_place, *imaginary_, options) : std::nullopt) {}

  std::string write(int64_t indent) const { return write(0, 0, indent); }

 private:
  std::string element(int64_t i) const {
    std::string text = real_form_.format(real_, i);
    if (!imaginary_) return text;
    std::string part = imaginary_form_->format(*imaginary_, i) + "j";
    part.erase(0, part.find_first_not_of(' '));
    return text + (part[0] == '-' ? "" : "+") + part;
  }
  bool left_out(size_t dim) const { return summarised_ && sizes_[dim] > 2 * options_.edgeitems; }

  // The part from element `at` on, of the dimensions from `dim` on.
  std::string write(size_t dim, int64_t at, int64_t indent) const {
    if (dim == sizes_.size()) return element(at);
    if (dim + 1 == sizes_.size()) return row(dim, at, indent);
    int64_t step = 1;
    for (size_t d = dim + 1; d < shown_sizes_.size(); ++d) step *= shown_sizes_[d];
    std::vector<std::string> parts;
    for (int64_t i = 0; i < shown_sizes_[dim]; ++i) {
      if (left_out(dim) && i == options_.edgeitems) parts.push_back("...");
      parts.push_back(write(dim + 1, at + i * step, indent + 1));
    }
    if (left_out(dim) && options_.edgeitems == 0) parts.push_back("...");
    const std::string between = "," + std::string(sizes_.size() - dim - 1, '\n') + spaces(indent + 1);
    return "[" + joined(parts, between) + "]";
  }
  std::string row(size_t dim, int64_t at, int64_t indent) const {
    std::vector<std::string> all;
    for (int64_t i = 0; i < shown_sizes_[dim]; ++i) {
      if (left_out(dim) && i == options_.edgeitems) all.push_back(" ...");
      all.push_back(element(at + i));
    }
    if (left_out(dim) && options_.edgeitems == 0) all.push_back("...");
    const int64_t width = real_form_.width() + 2 + (imaginary_form_ ? imaginary_form_->width() + 1 : 0);
    const auto in_line = static_cast<size_t>(std::max<int64_t>(1, (options_.linewidth - indent) / width));
    std::vector<std::string> lines;
    for (size_t i = 0; i < all.size(); i += in_line) {
      const size_t end = std::min(i + in_line, all.size());
      lines.push_back(joined({all.begin() + static_cast<int64_t>(i), all.begin() + static_cast<int64_t>(end)}, ", "));
    }
    return "[" + joined(lines, ",\n" + spaces(indent + 1)) + "]";
  }
  static std::string spaces(int64_t n) { return std::string(static_cast<size_t>(n), ' '); }

  const PrintOptions& options_;
  std::vector<int64_t> sizes_;
  bool summarised_;
  Tensor shown_;
  std::vector<int64_t> shown_sizes_;
  Elements real_;
  std::optional<Elements> imaginary_;
  Formatter real_form_;
  std::optional<Formatter> imaginary_form_;
};

bool is_default_type(at::ScalarType type) {
  const at::ScalarType usual = c10::get_default_dtype_as_scalartype();
  return type == usual || type == c10::get_default_complex_dtype().toScalarType() || type == at::kLong ||
         type == at::kBool;
}

// "tensor(...": what follows the elements goes on the line while there is room.
std::string with_suffixes(std::string text, const std::vector<std::string>& suffixes, int64_t indent, int64_t width,
                          bool new_line = false) {
  const size_t line = text.rfind('\n');
  auto length = static_cast<int64_t>(line == std::string::npos ? text.size() + 2 : text.size() - line + 1);
  for (const std::string& suffix : suffixes) {
    const auto size = static_cast<int64_t>(suffix.size());
    if (new_line || length + size + 2 > width) {
      new_line = false;
      text += ",\n" + std::string(static_cast<size_t>(indent), ' ') + suffix;
      length = indent + size;
    } else {
      text += ", " + suffix;
      length += size + 2;
    }
  }
  return text + ")";
}

}  // namespace

PrintOptions PrintOptions::profile(std::string_view name) {
  PrintOptions options;
  if (name == "short") {
    options.precision = 2;
    options.edgeitems = 2;
  } else if (name == "full") {
    options.threshold = std::numeric_limits<int64_t>::max();
  } else {
    TORCH_CHECK_VALUE(name == "default", "set_printoptions: no profile '", name, "', only default, short and full");
  }
  return options;
}

void set_printoptions(const PrintOptions& options) {
  TORCH_CHECK_VALUE(options.precision >= 0 && options.precision <= 100,
                    "set_printoptions: precision must be in [0, 100], but got ", options.precision);
  TORCH_CHECK_VALUE(options.threshold >= 0, "set_printoptions: threshold must not be negative, but got ",
                    options.threshold);
  TORCH_CHECK_VALUE(options.edgeitems >= 0, "set_printoptions: edgeitems must not be negative, but got ",
                    options.edgeitems);
  TORCH_CHECK_VALUE(options.linewidth > 0, "set_printoptions: linewidth must be positive, but got ", options.linewidth);
  const std::lock_guard<std::mutex> lock(mutex);
  current = options;
}

PrintOptions get_printoptions() {
  const std::lock_guard<std::mutex> lock(mutex);
  return current;
}

std::string repr(const Tensor& tensor) {
  return repr(tensor, get_printoptions());
}

namespace {

// The elements as nested lists, `indent` characters from the margin.
std::string elements(const Tensor& tensor, const PrintOptions& options, int64_t indent) {
  if (tensor.is_meta()) return "...";
  if (tensor.numel() == 0) return "[]";
  const Tensor plain = at::resolve_neg(at::resolve_conj(at::to(at::detach(tensor), at::Device(at::kCPU))));
  return Writer(plain, options).write(indent);
}

// A part of a sparse tensor: "indices=tensor([[0, 1]])".
std::string part(const std::string& name, const Tensor& tensor, const PrintOptions& options, int64_t indent) {
  const std::string prefix = name + "=tensor(";
  std::string text = prefix + elements(tensor, options, indent + static_cast<int64_t>(prefix.size()));
  if (tensor.numel() == 0) text += ", size=" + tuple(tensor.sizes());
  return text + ")";
}

void add_history(const Tensor& tensor, std::vector<std::string>& suffixes) {
  if (const auto& node = tensor.grad_fn(); node != nullptr) {
    const std::string name = node->name(), own = "torch::autograd::";
    suffixes.push_back("grad_fn=<" + name.substr(name.rfind(own, 0) == 0 ? own.size() : 0) + ">");
  } else if (tensor.requires_grad()) {
    suffixes.push_back("requires_grad=True");
  }
}

std::string sparse_repr(const Tensor& tensor, const PrintOptions& options, int64_t indent) {
  const bool coo = tensor.layout() == at::kSparse;
  const bool rows = tensor.layout() == at::kSparseCsr || tensor.layout() == at::kSparseBsr;
  const Tensor plain = at::detach(tensor), values = coo ? at::_values(plain) : at::values(plain);
  std::vector<std::string> suffixes;
  if (!tensor.is_cpu()) suffixes.push_back("device='" + tensor.device().str() + "'");
  suffixes.push_back("size=" + tuple(tensor.sizes()));
  suffixes.push_back("nnz=" + std::to_string(tensor._nnz()));
  const bool usual = values.numel() == 0 ? tensor.scalar_type() == c10::get_default_dtype_as_scalartype()
                                         : is_default_type(tensor.scalar_type());
  if (!usual) suffixes.push_back("dtype=" + repr(tensor.scalar_type()));
  suffixes.push_back("layout=" + repr(tensor.layout()));
  add_history(tensor, suffixes);
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::string text = "tensor(";
  if (coo) {
    text += part("indices", at::_indices(plain), options, indent);
  } else if (rows) {
    text += part("crow_indices", at::crow_indices(plain), options, indent) + ",\n" + margin;
    text += part("col_indices", at::col_indices(plain), options, indent);
  } else {
    text += part("ccol_indices", at::ccol_indices(plain), options, indent) + ",\n" + margin;
    text += part("row_indices", at::row_indices(plain), options, indent);
  }
  text += ",\n" + margin + part("values", values, options, indent);
  return with_suffixes(text, suffixes, indent, options.linewidth, /*new_line=*/coo);
}

// "NestedTensor(size=(2, j1), offsets=tensor([0, 2, 5]), contiguous=True)"
std::string jagged_repr(const Tensor& tensor, const PrintOptions& options) {
  std::vector<std::string> parts{"size=" + at::nested::size_text(tensor)};
  parts.push_back("offsets=" + repr(at::nested::impl_of("repr", tensor).jagged().ragged->offsets, options));
  add_history(tensor, parts);
  parts.push_back(std::string("contiguous=") + (tensor.is_contiguous() ? "True" : "False"));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return "NestedTensor(" + text + ")";
}

std::string nested_repr(const Tensor& tensor, const PrintOptions& options) {
  if (tensor.layout() == at::kJagged) return jagged_repr(tensor, options);
  std::string text;
  for (Tensor& part : at::nested::impl_of("repr", tensor).parts()) {
    part.set_requires_grad(tensor.requires_grad());
    text += text.empty() ? "  " : ",\n  ";
    for (const char c : repr(part, options)) text += c == '\n' ? "\n  " : std::string(1, c);
  }
  std::vector<std::string> suffixes;
  add_history(tensor, suffixes);
  return "nested_tensor([\n" + text + "\n]" + (suffixes.empty() ? "" : ", " + suffixes[0]) + ")";
}

// "dtype=torch.quint8", "quantization_scheme=torch.per_tensor_affine", "scale=0.5", "zero_point=10"
void add_quantizer(const Tensor& tensor, std::vector<std::string>& suffixes) {
  suffixes.push_back("dtype=" + repr(tensor.scalar_type()));
  const bool per_tensor = tensor.qscheme() == c10::kPerTensorAffine;
  const char* const name = per_tensor                                       ? "per_tensor_affine"
                           : tensor.qscheme() == c10::kPerChannelAffine ? "per_channel_affine"
                                                                            : "per_channel_affine_float_qparams";
  suffixes.push_back(std::string("quantization_scheme=torch.") + name);
  if (per_tensor) {
    std::string scale = number(tensor.q_scale(), "%.*g", 17);
    for (int digits = 1; digits < 17; ++digits) {
      const std::string shorter = number(tensor.q_scale(), "%.*g", digits);
      if (std::stod(shorter) == tensor.q_scale()) {
        scale = shorter;
        break;
      }
    }
    if (scale.find_first_not_of("-0123456789") == std::string::npos) scale += ".0";
    suffixes.push_back("scale=" + scale);
    suffixes.push_back("zero_point=" + std::to_string(tensor.q_zero_point()));
  } else {
    suffixes.push_back("scale=" + repr(tensor.q_per_channel_scales()));
    suffixes.push_back("zero_point=" + repr(tensor.q_per_channel_zero_points()));
    suffixes.push_back("axis=" + std::to_string(tensor.q_per_channel_axis()));
  }
}

}  // namespace

std::string repr(const Tensor& tensor, const PrintOptions& options) {
  if (!tensor.defined()) return "None";
  if (tensor.is_nested()) return nested_repr(tensor, options);
  const bool sparse = tensor.layout() != at::kStrided && tensor.layout() != at::kMkldnn;
  const bool quantized = tensor.key_set().has_any(c10::quantized_ks);
  TORCH_CHECK_NOT_IMPLEMENTED((tensor.layout() == at::kStrided || sparse) && tensor.is_quantized() == quantized,
                              "repr is implemented for dense and sparse tensors only, got layout ", tensor.layout(),
                              " and dtype ", tensor.scalar_type());
  constexpr int64_t indent = 7;  // of "tensor("
  const c10::NoGradGuard no_grad;
  if (sparse) return sparse_repr(tensor, options, indent);
  if (quantized) {
    std::vector<std::string> suffixes{"size=" + tuple(tensor.sizes())};
    add_quantizer(tensor, suffixes);
    return with_suffixes("tensor(" + elements(at::dequantize(tensor), options, indent), suffixes, indent,
                         options.linewidth);
  }
  const at::ScalarType type = tensor.scalar_type();
  const bool no_data = tensor.is_meta(), empty = tensor.numel() == 0 && !no_data;
  std::vector<std::string> suffixes;
  if (!tensor.is_cpu()) suffixes.push_back("device='" + tensor.device().str() + "'");
  if (no_data || (empty && tensor.dim() != 1)) suffixes.push_back("size=" + tuple(tensor.sizes()));
  const bool usual = empty ? type == c10::get_default_dtype_as_scalartype() : is_default_type(type);
  if (!usual) suffixes.push_back("dtype=" + repr(type));
  add_history(tensor, suffixes);
  return with_suffixes("tensor(" + elements(tensor, options, indent), suffixes, indent, options.linewidth);
}

std::string repr(at::IntArrayRef sizes) {
  return "torch.Size([" + numbers(sizes) + "])";
}

std::string repr(at::ScalarType dtype) {
  switch (dtype) {
    case at::kByte:
      return "torch.uint8";
    case at::kChar:
      return "torch.int8";
    case at::kShort:
      return "torch.int16";
    case at::kInt:
      return "torch.int32";
    case at::kLong:
      return "torch.int64";
    case at::kHalf:
      return "torch.float16";
    case at::kFloat:
      return "torch.float32";
    case at::kDouble:
      return "torch.float64";
    case at::kComplexHalf:
      return "torch.complex32";
    case at::kComplexFloat:
      return "torch.complex64";
    case at::kComplexDouble:
      return "torch.complex128";
    default:
      break;
  }
  std::string name = at::toString(dtype);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return "torch." + name;
}

std::string repr(const at::Device& device) {
  const std::string type = c10::DeviceTypeName(device.type(), /*lower_case=*/true);
  return "device(type='" + type + "'" + (device.has_index() ? ", index=" + std::to_string(device.index()) : "") + ")";
}

std::string repr(at::Layout layout) {
  if (layout == at::kSparse) return "torch.sparse_coo";
  std::string name = c10::str(layout);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name.rfind("sparse", 0) == 0) name.insert(6, "_");
  return "torch." + name;
}

std::string repr(at::MemoryFormat format) {
  switch (format) {
    case at::MemoryFormat::Contiguous:
      return "torch.contiguous_format";
    case at::MemoryFormat::Preserve:
      return "torch.preserve_format";
    case at::MemoryFormat::ChannelsLast:
      return "torch.channels_last";
    default:
      return "torch.channels_last_3d";
  }
}

}  // namespace torch
