#include "tests/conformance/replay.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <sstream>

#include "aten/core/context.h"
#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "c10/dispatch/registry.h"
#include "tests/conformance/case_values.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/core_operators.h"
#include "tests/conformance/factors.h"
#include "tests/conformance/needs_elements.h"
#include "tests/conformance/recorder_errors.h"
#include "tests/layers/pass_through.h"

namespace conformance {
namespace {

using at::Tensor;
using c10::IValue;
using c10::OperatorHandle;
using c10::TypeKind;

// The operators whose result depends on how their arguments lie in storage.
const std::set<std::string>& reads_storage() {
  static const std::set<std::string> names = {
      "_nested_view_from_buffer", "_nested_view_from_buffer_copy", "_unsafe_view", "as_strided", "as_strided_", "as_strided_copy",
      "as_strided_scatter", "is_contiguous", "set_", "stride", "storage_offset", "view", "view_as", "view_as_complex",
      "view_as_complex_copy", "view_copy"};
  return names;
}

// All overloads of a name ("softmax", "quantized.add").
const std::vector<OperatorHandle>& overloads(const std::string& name) {
  static const std::map<std::string, std::vector<OperatorHandle>> all = [] {
    std::map<std::string, std::vector<OperatorHandle>> map;
    c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
    for (const std::string& full : dispatcher.getAllOpNames()) {
      const size_t dot = full.find('.'), start = full.rfind("::", dot);
      const std::string base = full.substr(0, dot), ns = start == std::string::npos ? "" : base.substr(0, start);
      const std::string own = start == std::string::npos ? base : base.substr(start + 2);
      map[ns == "quantized" ? ns + "." + own : own].push_back(
          dispatcher.findSchemaOrThrow(base, dot == std::string::npos ? "" : full.substr(dot + 1)));
    }
    return map;
  }();
  static const std::vector<OperatorHandle> none;
  const auto found = all.find(name);
  return found == all.end() ? none : found->second;
}

// The recorded value of each argument of the schema.
std::vector<const Json*> bind(const c10::FunctionSchema& schema, const Json& json) {
  const Json& args = member(json, "args");
  const Json& kwargs = member(json, "kwargs");
  if (!args.is_array() || !kwargs.is_object()) throw BadSet("\"args\" is not a list, or \"kwargs\" not an object");
  const auto& arguments = schema.arguments();
  if (args.size() > arguments.size()) throw BadSet("more arguments than the operator has");
  std::vector<const Json*> bound(arguments.size(), nullptr);
  size_t used = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i < args.size()) {
      bound[i] = &args[i];
      continue;
    }
    const auto named = kwargs.find(arguments[i].name());
    if (named != kwargs.end()) {
      bound[i] = &*named;
      ++used;
    } else if (!arguments[i].default_text().has_value()) {
      throw BadSet("argument '" + arguments[i].name() + "' is missing");
    }
  }
  if (used != kwargs.size()) throw BadSet("an argument that the operator does not have");
  return bound;
}

// A tensor without dimensions becomes a number where one is expected, unless that may be of any kind: then the overload
// that takes tensors comes first.
bool takes(const c10::ArgumentShape& type, const Json& value) {
  if (!is_tensor(value)) return true;
  const bool number = type.kind == TypeKind::FloatType || type.kind == TypeKind::IntType;
  return !type.list && (type.kind == TypeKind::TensorType || (number && member(value, "size").empty()));
}

// Whether every tensor of the case stands where the schema has a tensor.
bool fits(const c10::FunctionSchema& schema, const Json& json) {
  try {
    const std::vector<const Json*> bound = bind(schema, json);
    for (size_t i = 0; i < bound.size(); ++i) {
      if (bound[i] != nullptr && !takes(schema.arguments()[i].shape(), *bound[i])) return false;
    }
  } catch (const BadSet&) {
    return false;
  }
  return true;
}

// The overload that a call from Python reaches: where a recorded call gives a tensor to an overload that takes a number, the
// overload of the same name that takes the tensor, if there is one.
OperatorHandle choose_overload(const OperatorHandle& recorded, const std::string& name, const Json& json) {
  if (fits(recorded.schema(), json)) return recorded;
  for (const OperatorHandle& other : overloads(name)) {
    if (!other.schema().is_mutable() && fits(other.schema(), json)) return other;
  }
  return recorded;
}

bool same_argument(const c10::Argument& a, const c10::Argument& b) { return a.name() == b.name() && a.shape() == b.shape(); }

// The form of `op` that writes into its first argument.
std::optional<OperatorHandle> inplace_form(const OperatorHandle& op, const std::string& name) {
  const auto& arguments = op.schema().arguments();
  for (const OperatorHandle& other : overloads(name + "_")) {
    const auto& theirs = other.schema().arguments();
    if (theirs.size() != arguments.size() || theirs.empty() || !theirs[0].is_write() || theirs[0].shape().kind != TypeKind::TensorType || theirs[0].shape().list) continue;
    if (std::equal(theirs.begin(), theirs.end(), arguments.begin(), same_argument)) return other;
  }
  return std::nullopt;
}

struct OutForm {
  OperatorHandle op;
  std::vector<size_t> arguments;  // of the functional form, in the order of the out= form
  size_t outs;
};

// The form of `op` that writes into given results. What only says how a new tensor is made (dtype, layout, device,
// pin_memory) may be missing there.
std::optional<OutForm> out_form(const OperatorHandle& op, const std::string& name) {
  const auto& arguments = op.schema().arguments();
  for (const OperatorHandle& other : overloads(name)) {
    OutForm form{other, {}, 0};
    bool matches = true;
    size_t next = 0;
    for (const c10::Argument& theirs : other.schema().arguments()) {
      if (theirs.is_out()) {
        matches = matches && theirs.shape().kind == TypeKind::TensorType && !theirs.shape().list;
        ++form.outs;
        continue;
      }
      while (next < arguments.size() && !same_argument(arguments[next], theirs)) {
        static const std::set<std::string> options = {"dtype", "layout", "device", "pin_memory"};
        if (options.count(arguments[next].name()) == 0) break;
        ++next;
      }
      if (next == arguments.size() || !same_argument(arguments[next], theirs)) {
        matches = false;
        break;
      }
      form.arguments.push_back(next++);
    }
    for (; next < arguments.size(); ++next) {
      static const std::set<std::string> options = {"dtype", "layout", "device", "pin_memory"};
      matches = matches && options.count(arguments[next].name()) > 0;
    }
    if (matches && form.outs > 0 && form.outs == op.schema().returns().size()) return form;
  }
  return std::nullopt;
}

void flatten(const IValue& v, std::vector<IValue>& out) {
  if (v.isList()) {
    for (const IValue& e : v.toListRef()) flatten(e, out);
  } else {
    out.push_back(v);
  }
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string what(const std::exception& e) {
  const auto* error = dynamic_cast<const c10::Error*>(&e);
  return one_line(error != nullptr ? error->what_without_backtrace() : e.what());
}

// Which of several equal elements an index names is free: the results that are indices and values, -1 for none, and the
// dimension they were chosen along.
struct Ties {
  int indices = -1;
  int64_t dim = -1;
};

std::optional<Ties> ties_of(const std::string& name, const OperatorHandle& op, const c10::Stack& args) {
  static const std::map<std::string, int> with = {{"topk", 1},   {"kthvalue", 1}, {"median", 1}, {"nanmedian", 1},
                                                  {"mode", 1},   {"sort", 1},     {"argsort", 0}, {"msort", -1}};
  const auto found = with.find(name);
  if (found == with.end()) return std::nullopt;
  Ties ties{found->second, 0};
  if (const auto stable = op.schema().argument_index("stable"); stable && args[*stable].isBool() && args[*stable].toBool()) return std::nullopt;
  if (name == "msort") return ties;
  const auto dim = op.schema().argument_index("dim");
  if (!dim) return std::nullopt;
  ties.dim = args[*dim].toInt();
  const int64_t dims = args[0].toTensor().dim();
  if (ties.dim < 0) ties.dim += std::max<int64_t>(dims, 1);
  return ties;
}

// Not all in-place and out= forms know sparse, quantized and nested tensors; those that do are recorded by themselves.
bool is_plain(const Tensor& t) { return !t.is_quantized() && !t.is_nested() && t.layout() == c10::kStrided; }
bool are_plain(const std::vector<IValue>& values) {
  std::vector<IValue> all;
  for (const IValue& v : values) flatten(v, all);
  return std::all_of(all.begin(), all.end(), [](const IValue& v) {
    return !v.isTensor() || !v.toTensor().defined() || is_plain(v.toTensor());
  });
}

class Run {
 public:
  Run(const OperatorHandle& recorded, const std::string& name, const Json& json, const torch::safetensors::File& blobs,
      const Options& options)
      : json_(json), name_(name.substr(0, name.find('@'))), blobs_(blobs), options_(options),
        op_(choose_overload(recorded, name_, json)), bound_(bind(op_.schema(), json)), want_(results(member(json, "outputs"))) {
    check_record();
  }

  Outcome run(CaseFailure& failure) {
    Outcome outcome = functional("", Layout::kRecorded, failure);
    // Numbers are drawn in the order of the memory.
    if (outcome != Outcome::kPassed || !options_.layouts || json_.contains("next_random")) return outcome;
    outcome = functional("transposed", Layout::kTransposed, failure);
    if (outcome == Outcome::kPassed) outcome = functional("strided", Layout::kStrided, failure);
    const auto inplace = inplace_form(op_, name_);
    if (inplace && outcome == Outcome::kPassed) outcome = in_place(*inplace, "in-place", Layout::kRecorded, failure);
    if (inplace && outcome == Outcome::kPassed) outcome = in_place(*inplace, "in-place, transposed", Layout::kTransposed, failure);
    if (inplace && outcome == Outcome::kPassed) outcome = in_place(*inplace, "in-place, strided", Layout::kStrided, failure);
    const auto out = out_form(op_, name_);
    if (out && outcome == Outcome::kPassed) outcome = into_given(*out, "out=", Layout::kRecorded, true, failure);
    if (out && outcome == Outcome::kPassed) outcome = into_given(*out, "strided out=", Layout::kStrided, false, failure);
    return outcome;
  }

  // The results, changed arguments and gradients of all forms, as they were compared.
  const std::vector<IValue>& seen() const { return seen_; }

  bool leaves_memory_unwritten() const { return json_.value("compare", "") == "size"; }

  bool is_plain_call() const {
    CaseValues values(blobs_, Layout::kRecorded, c10::kCPU);
    return are_plain(arguments(values)) && are_plain(seen_);
  }

  // What the call gives, compared with nothing.
  std::vector<IValue> called() const {
    CaseValues values(blobs_, Layout::kRecorded, options_.device);
    const c10::Stack args = arguments(values);
    c10::Stack stack = args;
    seed_generator();
    op_.callBoxed(stack);
    std::vector<IValue> got;
    for (const IValue& v : stack) flatten(v, got);
    return got;
  }
  bool gives_sizes_on_cpu() const {
    return name_ == "_nested_tensor_size" || name_ == "_nested_tensor_strides" ||
           name_ == "_nested_tensor_storage_offsets" || name_ == "_shape_as_tensor" ||
           name_ == "_pack_padded_sequence" || name_ == "_pad_packed_sequence";
  }

 private:
  void run(const std::function<void()>& body) const { options_.runner ? options_.runner(body) : body(); }

  void seed_generator() const {
    const uint64_t start = json_.contains("seed") ? seed(json_.at("seed")) : 0;
    if (json_.contains("seed")) at::Generator(at::detail::getDefaultCPUGenerator()).set_current_seed(start);
    if (options_.device.type() == c10::DeviceType::CPU || is_on_meta() || options_.decompositions) return;
    at::Generator(at::globalContext().defaultGenerator(options_.device)).set_current_seed(start);
  }


  // Whether the generator of the call goes on as the recorded one.
  std::optional<Mismatch> other_draws(const c10::Stack& args) const {
    if (!json_.contains("next_random") || draws_on_a_device()) return std::nullopt;
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    for (const IValue& v : args) {
      if (v.tag() == IValue::Tag::Generator) generator = v.toGenerator();
    }
    Tensor next = at::empty_contiguous({}, c10::kLong);
    at::random_(next, generator);
    const int64_t got = next.item().toLong(), want = integer(json_.at("next_random"));
    return got == want ? std::nullopt : std::optional(Mismatch{"", -1, std::to_string(got), std::to_string(want)});
  }

  // The recorded results, lists among them one by one.
  static Json results(const Json& outputs) {
    if (!outputs.is_array()) throw BadSet("\"outputs\" is not a list");
    Json all = Json::array();
    for (const Json& output : outputs) {
      if (output.is_array()) all.insert(all.end(), output.begin(), output.end());
      else all.push_back(output);
    }
    return all;
  }

  // Everything recorded is read before anything is called, so that a damaged set is seen as one.
  void check_record() const {
    const CaseValues values(blobs_, Layout::kRecorded, c10::kCPU);
    for (const Json& want : want_) {
      if (is_tensor(want)) values.recorded(want);
      else if (want.is_object() && !is_marked(want, "any") && !want.contains("float") && !want.contains("complex") && !want.contains("dtype")) throw BadSet("an unknown kind of result");
    }
    if (!json_.contains("grad")) return;
    const Json &outputs = member(json_.at("grad"), "outputs"), &inputs = member(json_.at("grad"), "inputs");
    if (!outputs.is_array() || !inputs.is_array()) throw BadSet("\"grad\" does not hold lists");
    for (const Json& g : outputs) values.recorded(g);
    for (const Json& g : inputs) {
      if (!g.is_null()) values.recorded(g);
    }
  }

  // Sizes in tensors, which are on the CPU for any device.
  bool stays_on_cpu(const std::string& argument) const {
    return argument == "tensor_indices_or_sections" || argument == "batch_sizes" ||
           (argument == "lengths" && name_ == "_pack_padded_sequence") ||
           (argument == "high" && name_ == "randint_like") || (argument == "scalars" && is_on_meta());
  }
  bool is_on_meta() const { return options_.device.type() == c10::DeviceType::Meta; }

  // What stands for an argument that a recording leaves out, where the documents give a device another default than the
  // CPU, on which it was recorded.
  IValue default_of(const c10::Argument& argument) const {
    if (options_.device.type() == c10::DeviceType::CUDA && name_.rfind("linalg_lstsq", 0) == 0 &&
        argument.name() == "driver") {
      return IValue("gelsy");  // CUDA's is gels, which finds no rank
    }
    return *argument.default_value();
  }

  // A device has a generator and numbers of its own, and a decomposition draws others.
  bool draws_on_a_device() const {
    return json_.contains("next_random") && (options_.device.type() != c10::DeviceType::CPU || options_.decompositions);
  }

  // Of tensors that are strided: those of other layouts have kernels of their own.
  void decompose(c10::Stack& stack) const {
    if (!are_plain(stack) || !is_decomposed(op_)) return op_.callBoxed(stack);
    const at::NoGradGuard no_grad;
    decompose_into_core(op_, stack);
  }

  c10::Stack arguments(CaseValues& values) const {
    const auto& arguments = op_.schema().arguments();
    c10::Stack stack;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const bool keep = reads_storage().count(name_) > 0;
      CaseValues on_cpu(blobs_, Layout::kRecorded, c10::kCPU);
      CaseValues& from = is_on_meta() && stays_on_cpu(arguments[i].name()) ? on_cpu : values;
      stack.push_back(bound_[i] != nullptr ? from.argument(*bound_[i], arguments[i].shape(), keep)
                                           : default_of(arguments[i]));
      if (stack.back().isTensor() && stays_on_cpu(arguments[i].name()) && !is_on_meta()) {
        stack.back() = IValue(at::to(stack.back().toTensor(), c10::Device(c10::kCPU), c10::kLong));
      }
      if (stack.back().isGenerator() && draws_on_a_device() && !options_.decompositions) stack.back() = IValue();
      if (options_.device.type() != c10::DeviceType::CPU && arguments[i].shape().kind == TypeKind::DeviceObjType && stack.back().isNone()) {
        stack.back() = IValue(options_.device);
      }
    }
    return stack;
  }

  Outcome fail(CaseFailure& failure, const char* form, const std::string& where, const std::string& got, const std::string& expected) const {
    failure.form = form;
    failure.where = where;
    failure.got = got;
    failure.expected = expected;
    return Outcome::kFailed;
  }
  Outcome fail(CaseFailure& failure, const char* form, const std::string& where, const Mismatch& mismatch) const {
    failure.index = mismatch.index;
    return fail(failure, form, where, mismatch.got, mismatch.expected);
  }

  std::optional<Mismatch> compare_scalar(const IValue& got, const Json& want) const {
    const auto differs = [&](const std::string& text) { return Mismatch{"", -1, text, want.dump()}; };
    if (want.is_null()) return got.isNone() ? std::nullopt : std::optional(differs(std::string(got.tag_name())));
    if (want.is_boolean()) {
      if (!got.isBool()) return differs(std::string(got.tag_name()));
      return got.toBool() == want.get<bool>() ? std::nullopt : std::optional(differs(got.toBool() ? "true" : "false"));
    }
    if (want.is_number_integer()) {
      if (!got.isInt()) return differs(std::string(got.tag_name()));
      return got.toInt() == integer(want) ? std::nullopt : std::optional(differs(std::to_string(got.toInt())));
    }
    if (want.is_object() && want.contains("dtype")) {
      CaseValues values(blobs_, Layout::kRecorded, c10::kCPU);
      const IValue dtype = values.argument(want, c10::ArgumentShape{.kind = TypeKind::ScalarTypeType});
      if (!got.isInt() || got.toInt() != dtype.toInt()) return differs("another dtype");
      return std::nullopt;
    }
    if (want.is_number() || (want.is_object() && want.contains("float"))) {
      if (!got.isDouble()) return differs(std::string(got.tag_name()));
      const double a = got.toDouble(), e = number(want);
      const bool close = std::isnan(e) ? std::isnan(a) : std::isinf(e) || std::isinf(a) ? a == e : std::fabs(a - e) <= 1e-7 + 1e-7 * std::fabs(e);
      return close ? std::nullopt : std::optional(differs(std::to_string(a)));
    }
    if (want.is_object() && want.contains("complex")) {
      CaseValues values(blobs_, Layout::kRecorded, c10::kCPU);
      const auto e = values.argument(want, c10::ArgumentShape{.kind = TypeKind::NumberType}).toComplexDouble();
      if (!got.isComplexDouble()) return differs(std::string(got.tag_name()));
      const auto a = got.toComplexDouble();
      const bool close = a.real() == e.real() && a.imag() == e.imag();
      return close ? std::nullopt : std::optional(differs(std::to_string(a.real()) + " + " + std::to_string(a.imag()) + "i"));
    }
    return differs(std::string(got.tag_name()));
  }

  // Result `i`; `cast_to` is the dtype of the tensor it was written into, where that differs from the recorded one.
  std::optional<Mismatch> compare_result(
      size_t i, const IValue& got, const c10::Stack& args, std::optional<c10::ScalarType> cast_to = std::nullopt) {
    if (is_marked(want_[i], "any")) return std::nullopt;
    if (!is_tensor(want_[i])) return compare_scalar(got, want_[i]);
    if (!got.isTensor()) return Mismatch{"", -1, std::string(got.tag_name()), "a tensor"};
    const Tensor result = got.toTensor();
    if (result.device().type() != options_.device.type() && !gives_sizes_on_cpu())
      return Mismatch{"", -1, "a tensor on another device", "one on the device of its arguments"};
    Tensor expected = CaseValues(blobs_, Layout::kRecorded, c10::kCPU).recorded(want_[i]);
    if (cast_to && *cast_to != expected.scalar_type()) expected = at::to(expected, *cast_to);
    if (leaves_memory_unwritten()) return kind_difference(result, expected);
    if (draws_on_a_device()) return kind_difference(result, expected);
    std::optional<Mismatch> mismatch = difference(result, expected, 1, name_.rfind("quantized.", 0) == 0 ? 1 : 0);
    if (!mismatch) return mismatch;
    const std::optional<Ties> ties = ties_of(name_, op_, args);
    if (ties && ties->indices == static_cast<int>(i)) {
      mismatch = index_difference(result, expected, args[0].toTensor(), ties->dim);
      if (!mismatch) free_choice_ = true;
    }
    if (mismatch && recorder_erred(Recorded{name_, op_, args, i, -1, Tensor(), result, expected})) return std::nullopt;
    return mismatch;
  }

  std::optional<Mismatch> compare_factors(const std::vector<IValue>& got, const c10::Stack& args) {
    std::vector<Tensor> results, expected;
    for (size_t i = 0; i < got.size(); ++i) {
      if (!got[i].isTensor()) return Mismatch{"", -1, std::string(got[i].tag_name()), "a tensor"};
      results.push_back(got[i].toTensor());
      expected.push_back(CaseValues(blobs_, Layout::kRecorded, c10::kCPU).recorded(want_[i]));
    }
    return factors_difference(json_.value("compare", ""), name_, results, expected, args, free_choice_);
  }

  Outcome functional(const char* form, Layout layout, CaseFailure& failure) {
    CaseValues values(blobs_, layout, options_.device);
    const c10::Stack args = arguments(values);
    c10::Stack stack;
    free_choice_ = false;
    try {
      run([&] {
        stack = args;
        seed_generator();
        options_.decompositions ? decompose(stack) : op_.callBoxed(stack);
      });
    } catch (const c10::NotImplementedError& e) {
      const std::string message = what(e);
      const bool missing = message.rfind("Could not run '" + std::string(op_.op().name) + "' with arguments from the ", 0) == 0;
      fail(failure, form, "call", "an error: " + message, "a result");
      return missing ? Outcome::kSkipped : Outcome::kFailed;
    } catch (const std::exception& e) {
      return fail(failure, form, "call", "an error: " + what(e), "a result");
    }
    if (const auto mismatch = other_draws(args)) return fail(failure, form, "the number drawn next", *mismatch);
    std::vector<IValue> got;
    for (const IValue& v : stack) flatten(v, got);
    return judge(got, args, values.differentiable(), form, failure, true);
  }

  Outcome judge(const std::vector<IValue>& got, const c10::Stack& args, const std::vector<Tensor>& inputs, const char* form,
                CaseFailure& failure, bool with_gradient) {
    if (got.size() != want_.size()) {
      return fail(failure, form, "results", std::to_string(got.size()), std::to_string(want_.size()));
    }
    for (size_t i = 0; i < got.size(); ++i) {
      auto mismatch = compare_result(i, got[i], args);
      if (mismatch && is_factors_rule(json_.value("compare", ""))) {
        mismatch = compare_factors(got, args);
        if (!mismatch) break;
      }
      if (mismatch) return fail(failure, form, "result " + std::to_string(i), *mismatch);
    }
    seen_.insert(seen_.end(), got.begin(), got.end());
    if (const auto outcome = changed_arguments(args, form, failure)) return *outcome;
    const bool compare = with_gradient && options_.grad && !options_.decompositions && !draws_on_a_device();
    if (!compare || !json_.contains("grad")) return Outcome::kPassed;
    return gradients(got, args, inputs, form, failure);
  }

  // The arguments that the call changed, where the record has them: "mutated".
  std::optional<Outcome> changed_arguments(const c10::Stack& args, const char* form, CaseFailure& failure) {
    if (!json_.contains("mutated")) return std::nullopt;
    const CaseValues values(blobs_, Layout::kRecorded, c10::kCPU);
    for (const auto& [name, changed] : json_.at("mutated").items()) {
      const auto index = op_.schema().argument_index(name);
      if (!index) throw BadSet("\"mutated\" names no argument: " + name);
      std::vector<IValue> got;
      flatten(args[*index], got);
      const Json want = results(changed.is_array() ? changed : Json::array({changed}));
      if (got.size() != want.size()) {
        return fail(failure, form, name, std::to_string(got.size()), std::to_string(want.size()));
      }
      for (size_t i = 0; i < got.size(); ++i) {
        const Tensor after = got[i].toTensor(), expected = values.recorded(want[i]);
        const auto mismatch = draws_on_a_device() ? kind_difference(after, expected) : difference(after, expected);
        if (mismatch) return fail(failure, form, name + " after the call", *mismatch);
      }
      seen_.insert(seen_.end(), got.begin(), got.end());
    }
    return std::nullopt;
  }

  Outcome gradients(const std::vector<IValue>& got, const c10::Stack& args, const std::vector<Tensor>& inputs, const char* form,
                    CaseFailure& failure) {
    const Json& record = json_.at("grad");
    const CaseValues values(blobs_, Layout::kRecorded, c10::kCPU);
    std::vector<Tensor> outputs, cotangents;
    for (const IValue& v : got) {
      if (v.isTensor() && v.toTensor().requires_grad()) outputs.push_back(v.toTensor());
    }
    for (const Json& g : record.at("outputs")) cotangents.push_back(values.recorded(g));
    const Json& expected = record.at("inputs");
    // Where calls make arguments, not all gradients are recorded.
    const bool all = std::none_of(bound_.begin(), bound_.end(),
                                  [](const Json* v) { return v != nullptr && v->is_object() && v->contains("call"); });
    if (all ? inputs.size() != expected.size() : inputs.size() < expected.size())
      throw BadSet("gradients are not recorded for the arguments that require one");
    if (outputs.size() != cotangents.size()) {
      return fail(failure, form, "differentiable results", std::to_string(outputs.size()), std::to_string(cotangents.size()));
    }
    for (Tensor& c : cotangents) {
      if (options_.device.type() != c10::DeviceType::CPU) c = at::to(c, c.options().device(options_.device));
    }
    std::vector<Tensor> computed;
    try {
      const bool again = options_.runner != nullptr;
      run([&] { computed = torch::autograd::grad(outputs, inputs, cotangents, again, false, true); });
    } catch (const std::exception& e) {
      return fail(failure, form, "backward", "an error: " + what(e), "gradients");
    }
    seen_.insert(seen_.end(), computed.begin(), computed.end());
    const std::optional<Ties> ties = ties_of(name_, op_, args);
    if (free_choice_ || (ties && ties->indices < 0 && has_ties(args[0].toTensor(), ties->dim))) return Outcome::kPassed;
    for (size_t i = 0; i < expected.size(); ++i) {
      // No gradient and one of zeros are the same.
      Tensor e = expected[i].is_null() ? Tensor() : values.recorded(expected[i]);
      Tensor g = computed[i];
      if (!e.defined() && !g.defined()) continue;
      const at::NoGradGuard no_grad;
      if (!e.defined()) {
        e = at::to(at::clone(g), c10::kCPU);
        at::zero_(e);
      } else if (!g.defined()) {
        g = at::clone(e);
        at::zero_(g);
      }
      const auto mismatch = difference(g, e, 10);
      if (mismatch && !recorder_erred(Recorded{name_, op_, args, 0, static_cast<int>(i), cotangents[0], g, e})) {
        return fail(failure, form, "gradient " + std::to_string(i), *mismatch);
      }
    }
    return Outcome::kPassed;
  }

  // Writes into a copy of the first argument. Where the result has another size or a dtype that does not go into the
  // argument's, the call throws.
  Outcome in_place(const OperatorHandle& op, const char* form, Layout layout, CaseFailure& failure) {
    if (want_.size() != 1 || !is_tensor(want_[0])) return Outcome::kPassed;
    CaseValues values(blobs_, layout, options_.device);
    const c10::Stack args = arguments(values);
    if (!args[0].isTensor()) return Outcome::kPassed;
    const Tensor self = args[0].toTensor();
    const Tensor expected = values.recorded(want_[0]);
    if (!is_plain(self) || !is_plain(expected)) return Outcome::kPassed;
    const bool shows_itself = !op_.schema().returns()[0].alias().empty();
    const bool fits = shows_itself || (self.sizes() == expected.sizes() && c10::canCast(expected.scalar_type(), self.scalar_type()));
    // The same values and strides in memory of its own, computed from the leaf.
    Tensor target = empty_like_in(self, reads_storage().count(name_) > 0 ? Layout::kRecorded : layout, self.device());
    at::copy_(target, self);
    c10::Stack stack = args;
    stack[0] = IValue(target);
    free_choice_ = false;
    try {
      op.callBoxed(stack);
    } catch (const std::exception& e) {
      if (!fits && dynamic_cast<const c10::Error*>(&e) != nullptr) return Outcome::kPassed;
      return fail(failure, form, "call", "an error: " + what(e), "a result");
    }
    if (stack.size() != 1 || !stack[0].isTensor() || stack[0].unsafe_tensor_impl() != target.unsafeGetTensorImpl()) {
      return fail(failure, form, "result 0", "another tensor", "the first argument");
    }
    if (const auto mismatch = compare_result(0, stack[0], args, self.scalar_type())) return fail(failure, form, "result 0", *mismatch);
    seen_.push_back(stack[0]);
    if (!options_.grad || !json_.contains("grad") || expected.scalar_type() != self.scalar_type()) return Outcome::kPassed;
    return gradients({stack[0]}, args, values.differentiable(), form, failure);
  }

  // Writes into given tensors: `empty` ones, which are made to fit, or strided ones of the right size.
  Outcome into_given(const OutForm& out, const char* form, Layout layout, bool empty, CaseFailure& failure) {
    if (want_.size() != out.outs) return Outcome::kPassed;
    const at::NoGradGuard no_grad;
    CaseValues values(blobs_, layout, options_.device);
    const c10::Stack args = arguments(values);
    c10::Stack stack;
    for (const size_t i : out.arguments) stack.push_back(args[i]);
    std::vector<Tensor> given;
    for (const IValue& arg : args) {
      const Tensor t = arg.isTensor() ? arg.toTensor() : Tensor();
      if (t.defined() && !is_plain(t)) return Outcome::kPassed;
    }
    for (const Json& want : want_) {
      if (!is_tensor(want)) return Outcome::kPassed;
      const Tensor expected = values.recorded(want);
      if (!is_plain(expected)) return Outcome::kPassed;
      const bool is_sizes = gives_sizes_on_cpu() && expected.scalar_type() == c10::kLong;
      const bool is_last = given.size() + 1 == want_.size();
      const c10::Device device = is_sizes && is_last ? c10::Device(c10::kCPU) : options_.device;
      given.push_back(empty ? at::empty_contiguous({0}, expected.scalar_type(), device)
                            : empty_like_in(expected, Layout::kStrided, device));
    }
    for (const Tensor& t : given) stack.emplace_back(t);
    free_choice_ = false;
    try {
      out.op.callBoxed(stack);
    } catch (const std::exception& e) {
      return fail(failure, form, "call", "an error: " + what(e), "a result");
    }
    for (size_t i = 0; i < given.size(); ++i) {
      if (i >= stack.size() || !stack[i].isTensor() ||
          stack[i].unsafe_tensor_impl() != given[i].unsafeGetTensorImpl()) {
        return fail(failure, form, "result " + std::to_string(i), "another tensor", "the given one");
      }
    }
    return judge(stack, args, {}, form, failure, false);
  }

  const Json& json_;
  const std::string name_;
  const torch::safetensors::File& blobs_;
  const Options& options_;
  const OperatorHandle op_;
  const std::vector<const Json*> bound_;
  const Json want_;
  bool free_choice_ = false;
  std::vector<IValue> seen_;
};

// What tells two values apart, bit for bit; empty for nothing.
std::string other_bits(const IValue& a, const IValue& b) {
  if (!a.isTensor() || !b.isTensor() || !a.toTensor().defined() || !b.toTensor().defined()) return a == b ? "" : "another value";
  const Tensor &x = a.toTensor(), &y = b.toTensor();
  if (x.scalar_type() != y.scalar_type() || x.sizes() != y.sizes()) return "another dtype or size";
  if (x.layout() != y.layout()) return "another layout";
  if (x.layout() != c10::kStrided) return difference(x, y, 0) ? "other elements" : "";
  if (x.strides() != y.strides()) return "other strides";
  if (x.requires_grad() != y.requires_grad()) return "another requires_grad";
  const at::NoGradGuard no_grad;
  const auto bytes = [](const Tensor& t) { return at::clone(at::to(t, c10::kCPU), c10::MemoryFormat::Contiguous); };
  const Tensor p = bytes(x), q = bytes(y);
  return p.nbytes() == 0 || std::memcmp(p.data_ptr(), q.data_ptr(), p.nbytes()) == 0 ? "" : "other bits";
}

// A case again: it is fulfilled in this way as well, and all that was seen is what `plain` saw.
Outcome run_again(const Run& plain, Run again, const std::string& way, CaseFailure& failure) {
  const Outcome outcome = again.run(failure);
  failure.form += (failure.form.empty() ? "" : ", ") + way;
  if (outcome != Outcome::kPassed) return Outcome::kFailed;
  failure.where = "call";
  failure.expected = "what the plain call gave";
  failure.got = again.seen().size() == plain.seen().size() ? "" : "another number of results";
  for (size_t i = 0; failure.got.empty() && i < plain.seen().size() && !plain.leaves_memory_unwritten(); ++i) {
    failure.got = other_bits(again.seen()[i], plain.seen()[i]);
    failure.where = "value " + std::to_string(i);
  }
  return failure.got.empty() ? Outcome::kPassed : Outcome::kFailed;
}

Outcome run_through_layer(const Run& plain, Run layered, const std::string& layer, CaseFailure& failure) {
  const int64_t before = layers::PassThrough::calls();
  const layers::PassThrough on(layer);
  const Outcome outcome = run_again(plain, std::move(layered), layer, failure);
  if (outcome != Outcome::kPassed || layer != "all" || layers::PassThrough::calls() != before) return outcome;
  failure.got = "no call through the layer";
  return Outcome::kFailed;
}

// What of a result on meta is not as on the CPU; empty where nothing is.
std::string other_kind(const IValue& on_meta, const IValue& on_cpu, bool may_stay) {
  if (!on_meta.isTensor() || !on_cpu.isTensor()) return on_meta == on_cpu ? "" : "another value";
  const Tensor &m = on_meta.toTensor(), &c = on_cpu.toTensor();
  if (!m.defined() || !c.defined()) return m.defined() == c.defined() ? "" : "another value";
  std::ostringstream text;
  if (!m.is_meta() && !may_stay) text << "device " << m.device();
  if (m.scalar_type() != c.scalar_type())
    text << "dtype " << m.scalar_type() << " for " << c.scalar_type();
  else if (m.sizes() != c.sizes())
    text << "size " << m.sizes() << " for " << c.sizes();
  else if (m.strides() != c.strides())
    text << "strides " << m.strides() << " for " << c.strides() << " of size " << c.sizes();
  return text.str();
}

// A case again with tensors on meta.
Outcome run_on_meta(const Run& plain, const Run& meta, const std::string& name, CaseFailure& failure, size_t& refused) {
  if (!plain.is_plain_call()) return Outcome::kPassed;
  const NeedsElements* needs = needs_elements(name);
  failure.form = "meta";
  failure.where = "call";
  failure.expected = "what the CPU gives";
  std::vector<IValue> got;
  try {
    got = meta.called();
  } catch (const std::exception& e) {
    failure.got = "an error: " + what(e);
    refused += needs != nullptr;
    return needs != nullptr ? Outcome::kPassed : Outcome::kFailed;
  }
  if (needs != nullptr && needs->always) {
    failure.got = "an answer";
    failure.expected = std::string("a refusal: ") + needs->reason;
    return Outcome::kFailed;
  }
  failure.got = got.size() <= plain.seen().size() ? "" : "more results";
  for (size_t i = 0; failure.got.empty() && i < got.size(); ++i) {
    failure.got = other_kind(got[i], plain.seen()[i], meta.gives_sizes_on_cpu());
    failure.where = "result " + std::to_string(i);
  }
  return failure.got.empty() ? Outcome::kPassed : Outcome::kFailed;
}

Outcome run_case(const std::function<Run(const Options&)>& make, const std::string& name, const Options& options,
                 CaseFailure& failure, size_t& refused) {
  Run plain = make(options);
  Outcome outcome = plain.run(failure);
  if (outcome == Outcome::kPassed && !options.layer.empty()) {
    outcome = run_through_layer(plain, make(options), options.layer, failure);
  }
  for (uint64_t k = 0; k < options.repeats && outcome == Outcome::kPassed; ++k) {
    if (options.before_repeat) options.before_repeat(k);
    outcome = run_again(plain, make(options), "again", failure);
  }
  if (outcome != Outcome::kPassed || !options.meta) return outcome;
  Options on_meta;
  on_meta.device = c10::Device(c10::DeviceType::Meta);
  return run_on_meta(plain, make(on_meta), name, failure, refused);
}

}  // namespace

std::string CaseFailure::text() const {
  std::string s = "case " + std::to_string(number);
  if (!form.empty()) s += " (" + form + ")";
  s += ", " + where;
  if (index >= 0) s += ", index " + std::to_string(index);
  return s + ": got " + got + ", expected " + expected;
}

OperatorReport replay_operator(const CaseSet& set, const std::string& name, const Options& options) {
  OperatorReport report;
  report.name = name;
  std::string file = name + ".json";
  try {
    const Json json = Json::parse(set.read(file));
    const std::string other = "quantized.";
    std::string op = name.rfind(other, 0) == 0 ? "quantized::" + name.substr(other.size()) : "aten::" + name;
    std::replace(op.begin(), op.end(), '@', '.');
    if (member(json, "op") != op) throw BadSet("\"op\" is not " + op);
    const Json& cases = member(json, "cases");
    if (!cases.is_array()) throw BadSet("\"cases\" is not a list");
    file = name + ".safetensors";
    const auto blobs = torch::safetensors::File::from_bytes(set.read(file));
    file = name + ".json";
    const size_t dot = op.find('.');
    const auto handle = c10::Dispatcher::singleton().findSchema(op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1));
    report.family = handle ? handle->op().family : "none";
    if (!handle) {
      report.skipped = cases.size();
      report.skip_reason = "no such operator";
      return report;
    }
    if (options.decompositions && !is_decomposed(*handle)) return report;
    for (size_t i = 0; i < cases.size(); ++i) {
      CaseFailure failure;
      Outcome outcome;
      try {
        const auto make = [&](const Options& chosen) { return Run(*handle, name, cases[i], blobs, chosen); };
        outcome = run_case(make, name, options, failure, report.refused);
      } catch (const std::exception& e) {
        failure.where = "the record";
        failure.got = what(e);
        failure.expected = "a case";
        outcome = Outcome::kFailed;
      }
      failure.number = i;
      report.passed += outcome == Outcome::kPassed;
      report.failed += outcome == Outcome::kFailed;
      report.skipped += outcome == Outcome::kSkipped;
      if (outcome == Outcome::kFailed) report.failures.push_back(failure);
      if (outcome == Outcome::kSkipped && report.skip_reason.empty()) report.skip_reason = failure.got.substr(std::string("an error: ").size());
    }
  } catch (const BadSet& e) {
    const std::string message = e.what();
    throw BadSet(message.find(set.describe("")) == 0 ? message : set.describe(file) + ": " + message);
  } catch (const std::exception& e) {
    throw BadSet(set.describe(file) + ": " + what(e));
  }
  return report;
}

}  // namespace conformance
