// Replays recorded operator calls through the boxed, by-name path and compares results and gradients (FORMAT.md of the case
// sets describes the files).
//
//   replay --cases=DIR [--list=FILE] [--ops=GLOB] [--no-grad] [--layouts] [--verbose]
//
// Prints one line for each operator that fell short, with its first mismatch, a summary, and last "N passed, N failed, N
// skipped". Skipped are operators without a kernel. Exit status 1 where anything failed, 2 where the cases cannot be read.
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/dispatch/registry.h"
#include "nlohmann/json.hpp"
#include "utils/serialize/safetensors.h"

namespace {

using at::Tensor;
using c10::IValue;
using c10::ScalarType;
using c10::SchemaType;
using Json = nlohmann::json;

struct BadCase : std::runtime_error {
  using std::runtime_error::runtime_error;
};

ScalarType dtype_of(const std::string& name) {
  static const std::map<std::string, ScalarType> types = {
      {"uint8", ScalarType::Byte},          {"int8", ScalarType::Char},           {"int16", ScalarType::Short},
      {"int32", ScalarType::Int},           {"int64", ScalarType::Long},          {"float16", ScalarType::Half},
      {"float32", ScalarType::Float},       {"float64", ScalarType::Double},      {"complex64", ScalarType::ComplexFloat},
      {"complex128", ScalarType::ComplexDouble}, {"bool", ScalarType::Bool},      {"bfloat16", ScalarType::BFloat16}};
  const auto found = types.find(name);
  if (found == types.end()) throw BadCase("unknown dtype " + name);
  return found->second;
}

enum class Layout { kRecorded, kTransposed, kStrided };

class Replay {
 public:
  Replay(const torch::safetensors::File& blobs, Layout layout) : blobs_(blobs), layout_(layout) {}

  // A tensor as recorded; inputs also in another layout of the same values.
  Tensor tensor(const Json& value, bool is_input) {
    const ScalarType dtype = dtype_of(value.at("dtype"));
    std::vector<int64_t> sizes = value.at("size"), strides;
    Tensor blob = blobs_.get(value.at("tensor").get<std::string>());
    if (blob.dim() != 1) throw BadCase("a blob has more than one dimension");
    const bool complex = c10::isComplexType(dtype);
    if (blob.scalar_type() != (complex ? c10::toRealValueType(dtype) : dtype)) throw BadCase("a blob has another dtype");
    if (value.contains("stride")) {
      strides = value.at("stride").get<std::vector<int64_t>>();
    } else {
      const at::DimVector dense = at::strides_of_format(sizes, at::MemoryFormat::Contiguous);
      strides.assign(dense.begin(), dense.end());
    }
    if (strides.size() != sizes.size()) throw BadCase("sizes and strides differ in length");
    int64_t last = 0, numel = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] < 0 || strides[d] < 0) throw BadCase("a negative size or stride");
      numel *= sizes[d];
      last += (sizes[d] - 1) * strides[d];
    }
    if (numel > 0 && (last + 1) * (complex ? 2 : 1) > blob.numel()) throw BadCase("a tensor reaches beyond its blob");
    Tensor storage = at::clone(blob);
    if (complex) storage = at::view_as_complex(at::view(storage, {storage.numel() / 2, 2}));
    Tensor t = at::as_strided(storage, sizes, strides);
    if (is_input) t = laid_out(t);
    if (value.value("requires_grad", false)) {
      t = at::detach(t);
      t.set_requires_grad(true);
      if (is_input) differentiable_.push_back(t);
    }
    return t;
  }

  IValue value(const Json& v, const SchemaType& type) {
    if (type.list) {
      if (v.is_null()) return IValue();
      if (!v.is_array()) return list(Json::array({v}), type);
      return list(v, type);
    }
    return element(v, type);
  }

  const std::vector<Tensor>& differentiable() const { return differentiable_; }

 private:
  Tensor laid_out(const Tensor& t) const {
    if (layout_ == Layout::kRecorded || t.dim() == 0) return t;
    if (layout_ == Layout::kTransposed) {
      if (t.dim() < 2) return t;
      const Tensor turned = at::clone(at::transpose(t, 0, t.dim() - 1), at::MemoryFormat::Contiguous);
      return at::transpose(turned, 0, t.dim() - 1);
    }
    // Every second element of a larger tensor, from its second on.
    at::DimVector sizes(t.sizes().begin(), t.sizes().end()), strides;
    sizes.back() = sizes.back() * 2 + 1;
    const Tensor wide = at::empty_contiguous(sizes, t.scalar_type());
    const Tensor odd = at::slice(wide, t.dim() - 1, 1, sizes.back(), 2);
    Tensor target = odd;
    at::copy_(target, t);
    return odd;
  }

  static double number(const Json& v) {
    if (v.is_object() && v.contains("float")) {
      const std::string s = v.at("float");
      return s == "inf" ? INFINITY : s == "-inf" ? -INFINITY : NAN;
    }
    return v.get<double>();
  }

  IValue list(const Json& v, const SchemaType& type) {
    SchemaType one = type;
    one.list = false;
    one.list_size = -1;
    switch (type.kind) {
      case SchemaType::Kind::Int: return IValue(v.get<std::vector<int64_t>>());
      case SchemaType::Kind::Float: {
        std::vector<double> numbers;
        for (const Json& e : v) numbers.push_back(number(e));
        return IValue(std::move(numbers));
      }
      case SchemaType::Kind::Bool: return IValue(v.get<std::vector<bool>>());
      default: {
        std::vector<IValue> elements;
        for (const Json& e : v) elements.push_back(element(e, one));
        return IValue(std::move(elements));
      }
    }
  }

  IValue element(const Json& v, const SchemaType& type) {
    if (v.is_null()) return IValue();
    if (v.is_object()) {
      if (v.contains("tensor")) return IValue(tensor(v, true));
      if (v.contains("float")) return IValue(number(v));
      if (v.contains("complex")) {
        const Json& parts = v.at("complex");
        return IValue(c10::complex<double>(number(parts.at(0)), number(parts.at(1))));
      }
      if (v.contains("dtype")) return IValue(dtype_of(v.at("dtype")));
      if (v.contains("device")) return IValue(c10::Device(v.at("device").get<std::string>()));
      if (v.contains("layout")) return IValue(static_cast<int64_t>(c10::Layout::Strided));
      if (v.contains("memory_format")) {
        const std::string s = v.at("memory_format");
        const c10::MemoryFormat f = s == "contiguous_format" ? c10::MemoryFormat::Contiguous
            : s == "preserve_format"                         ? c10::MemoryFormat::Preserve
            : s == "channels_last"                           ? c10::MemoryFormat::ChannelsLast
                                                             : c10::MemoryFormat::ChannelsLast3d;
        return IValue(static_cast<int64_t>(f));
      }
      throw BadCase("unknown kind of value");
    }
    if (v.is_boolean()) return IValue(v.get<bool>());
    if (v.is_string()) return IValue(v.get<std::string>());
    if (v.is_number_integer()) {
      if (type.kind == SchemaType::Kind::Float) return IValue(v.get<double>());
      return IValue(v.get<int64_t>());
    }
    if (v.is_number()) return IValue(v.get<double>());
    throw BadCase("unknown kind of value");
  }

  const torch::safetensors::File& blobs_;
  Layout layout_;
  std::vector<Tensor> differentiable_;
};

std::string shape_text(const Tensor& t) {
  std::string s = "[";
  for (int64_t d = 0; d < t.dim(); ++d) s += (d ? ", " : "") + std::to_string(t.size(d));
  return s + "]";
}

// What differs first, or nothing.
std::string difference(const Tensor& got, const Tensor& want, double factor) {
  if (got.scalar_type() != want.scalar_type()) {
    return std::string("dtype ") + c10::toString(got.scalar_type()) + ", expected " + c10::toString(want.scalar_type());
  }
  if (got.sizes() != want.sizes()) return "size " + shape_text(got) + ", expected " + shape_text(want);
  double rtol = 0, atol = 0;
  switch (want.scalar_type()) {
    case ScalarType::Double:
    case ScalarType::ComplexDouble: rtol = atol = 1e-7; break;
    case ScalarType::Float:
    case ScalarType::ComplexFloat: rtol = 1.3e-5, atol = 2e-5; break;
    case ScalarType::BFloat16: rtol = 1.6e-2, atol = 1e-2; break;
    case ScalarType::Half: rtol = atol = 1e-3; break;
    default: break;
  }
  rtol *= factor;
  atol *= factor;
  const auto close = [&](double a, double e) {
    if (std::isnan(e)) return std::isnan(a);
    if (std::isinf(e) || std::isinf(a)) return a == e;
    return std::fabs(a - e) <= atol + rtol * std::fabs(e);
  };
  if (!want.is_floating_point() && !want.is_complex()) {
    const Tensor a = at::contiguous(at::to(got, ScalarType::Long)), e = at::contiguous(at::to(want, ScalarType::Long));
    for (int64_t i = 0; i < a.numel(); ++i) {
      const int64_t x = a.data_ptr<int64_t>()[i], y = e.data_ptr<int64_t>()[i];
      if (x != y) return "element " + std::to_string(i) + ": " + std::to_string(x) + ", expected " + std::to_string(y);
    }
    return "";
  }
  const Tensor a = at::contiguous(at::to(got, ScalarType::ComplexDouble));
  const Tensor e = at::contiguous(at::to(want, ScalarType::ComplexDouble));
  const double* x = static_cast<const double*>(a.data_ptr());
  const double* y = static_cast<const double*>(e.data_ptr());
  for (int64_t i = 0; i < 2 * a.numel(); ++i) {
    if (!close(x[i], y[i])) {
      char text[120];
      std::snprintf(text, sizeof(text), "element %lld%s: %.9g, expected %.9g", static_cast<long long>(i / 2),
                    i % 2 ? " (imaginary)" : "", x[i], y[i]);
      return text;
    }
  }
  return "";
}

void flatten(const IValue& v, std::vector<IValue>& out) {
  if (v.isList() && v.tag() == IValue::Tag::List) {
    for (const IValue& e : v.toListRef()) flatten(e, out);
  } else {
    out.push_back(v);
  }
}

std::string compare_value(const IValue& got, const Json& want, Replay& replay, double factor) {
  if (want.is_object() && want.contains("tensor")) {
    if (!got.isTensor()) return "not a tensor";
    return difference(got.toTensor(), replay.tensor(want, false), factor);
  }
  if (want.is_null()) return got.isNone() ? "" : "a value, expected none";
  if (want.is_boolean()) return got.isBool() && got.toBool() == want.get<bool>() ? "" : "another boolean";
  if (want.is_number_integer()) return got.isInt() && got.toInt() == want.get<int64_t>() ? "" : "another integer";
  if (want.is_number()) return std::fabs(got.toDouble() - want.get<double>()) <= 1e-6 * (1 + std::fabs(want.get<double>())) ? "" : "another number";
  return "";
}

struct Options {
  std::string cases, list, ops = "*";
  bool grad = true, layouts = false, verbose = false;
};

enum class Outcome { kPassed, kFailed, kSkipped };

Outcome run_case(const c10::OperatorHandle& handle, const Json& c, const torch::safetensors::File& blobs, Layout layout,
                 const Options& options, std::string& message) {
  Replay replay(blobs, layout);
  const auto& arguments = handle.schema().arguments();
  c10::Stack stack;
  const Json& args = c.at("args");
  const Json& kwargs = c.at("kwargs");
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i < args.size()) {
      stack.push_back(replay.value(args[i], arguments[i].type()));
    } else if (kwargs.contains(arguments[i].name())) {
      stack.push_back(replay.value(kwargs.at(arguments[i].name()), arguments[i].type()));
    } else {
      stack.push_back(c10::default_value(arguments[i]));
    }
  }
  try {
    handle.callBoxed(stack);
  } catch (const c10::NotImplementedError& e) {
    message = e.what_without_backtrace();
    return message.find("not implemented for") == std::string::npos ? Outcome::kSkipped : Outcome::kFailed;
  } catch (const std::exception& e) {
    message = std::string("threw: ") + e.what();
    return Outcome::kFailed;
  }
  std::vector<IValue> got;
  for (const IValue& v : stack) flatten(v, got);
  const Json& want = c.at("outputs");
  if (got.size() != want.size()) {
    message = std::to_string(got.size()) + " results, expected " + std::to_string(want.size());
    return Outcome::kFailed;
  }
  for (size_t i = 0; i < got.size(); ++i) {
    message = compare_value(got[i], want[i], replay, 1);
    if (!message.empty()) {
      message = "result " + std::to_string(i) + ": " + message;
      return Outcome::kFailed;
    }
  }
  if (!options.grad || !c.contains("grad")) return Outcome::kPassed;

  const Json& grad = c.at("grad");
  std::vector<Tensor> outputs, cotangents;
  for (const IValue& v : got) {
    if (v.isTensor() && (v.toTensor().is_floating_point() || v.toTensor().is_complex())) outputs.push_back(v.toTensor());
  }
  for (const Json& g : grad.at("outputs")) cotangents.push_back(replay.tensor(g, false));
  std::vector<Tensor> differentiable;
  for (const Tensor& t : outputs) {
    if (t.requires_grad()) differentiable.push_back(t);
  }
  if (differentiable.size() != cotangents.size()) {
    message = std::to_string(differentiable.size()) + " differentiable results, expected " + std::to_string(cotangents.size());
    return Outcome::kFailed;
  }
  try {
    const std::vector<Tensor> gradients =
        torch::autograd::grad(differentiable, replay.differentiable(), cotangents, std::nullopt, false, true);
    const Json& expected = grad.at("inputs");
    if (gradients.size() != expected.size()) {
      message = "another number of gradients";
      return Outcome::kFailed;
    }
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (expected[i].is_null()) {
        if (!gradients[i].defined()) continue;
        Tensor zero = at::clone(gradients[i]);
        at::zero_(zero);
        message = difference(gradients[i], zero, 10);
      } else {
        const Tensor e = replay.tensor(expected[i], false);
        Tensor g = gradients[i];
        if (!g.defined()) {
          g = at::clone(e);
          at::zero_(g);
        }
        message = difference(g, e, 10);
      }
      if (!message.empty()) {
        message = "gradient " + std::to_string(i) + ": " + message;
        return Outcome::kFailed;
      }
    }
  } catch (const std::exception& e) {
    message = std::string("backward threw: ") + e.what();
    return Outcome::kFailed;
  }
  return Outcome::kPassed;
}

int run(const Options& options) {
  std::vector<std::string> names;
  if (!options.list.empty()) {
    std::ifstream in(options.list);
    if (!in) throw BadCase("cannot read " + options.list);
    for (std::string line; std::getline(in, line);) {
      if (!line.empty()) names.push_back(line);
    }
  } else {
    for (const auto& entry : std::filesystem::directory_iterator(options.cases)) {
      if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
    }
  }
  std::sort(names.begin(), names.end());
  size_t passed = 0, failed = 0, skipped = 0;
  for (const std::string& name : names) {
    if (fnmatch(options.ops.c_str(), name.c_str(), 0) != 0) continue;
    const std::string stem = options.cases + "/" + name;
    std::ifstream in(stem + ".json");
    if (!in) throw BadCase("cannot read " + stem + ".json");
    Json file;
    try {
      file = Json::parse(in);
    } catch (const Json::exception& e) {
      throw BadCase(stem + ".json: " + e.what());
    }
    const torch::safetensors::File blobs(stem + ".safetensors");
    const std::string op = file.at("op");
    const size_t dot = op.find('.');
    const auto handle = c10::Dispatcher::singleton().findSchema(op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1));
    size_t op_failed = 0, op_skipped = 0, index = 0;
    std::string first;
    for (const Json& c : file.at("cases")) {
      for (Layout layout : {Layout::kRecorded, Layout::kTransposed, Layout::kStrided}) {
        if (layout != Layout::kRecorded && !options.layouts) continue;
        std::string message = "no such operator";
        Outcome outcome = Outcome::kSkipped;
        try {
          if (handle.has_value()) outcome = run_case(*handle, c, blobs, layout, options, message);
        } catch (const Json::exception& e) {
          throw BadCase(stem + ".json: " + e.what());
        }
        passed += outcome == Outcome::kPassed;
        op_failed += outcome == Outcome::kFailed;
        op_skipped += outcome == Outcome::kSkipped;
        if (outcome != Outcome::kPassed) {
          const std::string where = "case " + std::to_string(index) +
              (layout == Layout::kTransposed ? " (transposed)" : layout == Layout::kStrided ? " (strided)" : "") + ": " + message;
          if (first.empty()) first = where;
          if (options.verbose) std::printf("  %s %s\n", name.c_str(), where.c_str());
        }
      }
      ++index;
    }
    failed += op_failed;
    skipped += op_skipped;
    if (op_failed > 0) {
      std::printf("FAILED %s: %zu of %zu, %s\n", name.c_str(), op_failed, index, first.c_str());
    } else if (op_skipped > 0) {
      std::printf("skipped %s: %s\n", name.c_str(), first.c_str());
    }
    std::fflush(stdout);
  }
  std::printf("%zu passed, %zu failed, %zu skipped\n", passed, failed, skipped);
  return failed > 0 ? 1 : 0;
}

bool flag(const std::string& argument, const char* name, std::string& value) {
  const std::string start = std::string("--") + name + "=";
  if (argument.rfind(start, 0) != 0) return false;
  value = argument.substr(start.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (flag(a, "cases", options.cases) || flag(a, "list", options.list) || flag(a, "ops", options.ops)) continue;
    if (a == "--no-grad") {
      options.grad = false;
    } else if (a == "--layouts") {
      options.layouts = true;
    } else if (a == "--verbose") {
      options.verbose = true;
    } else {
      std::fprintf(stderr, "replay: unknown argument %s\n", a.c_str());
      return 2;
    }
  }
  if (options.cases.empty()) {
    std::fprintf(stderr, "usage: replay --cases=DIR [--list=FILE] [--ops=GLOB] [--no-grad] [--layouts] [--verbose]\n");
    return 2;
  }
  // Relative paths are those of the caller, also under `bazel run`.
  if (const char* directory = std::getenv("BUILD_WORKING_DIRECTORY")) std::filesystem::current_path(directory);
  try {
    return run(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "replay: %s\n", e.what());
    return 2;
  }
}
