#include "autograd/named/named_tensor.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <unordered_map>

#include "aten/core/dispatch_mode.h"
#include "aten/core/wrapper_tensor.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/engine.h"
#include "c10/util/exception.h"

namespace at::registry {
void link_all_operators();  // of //aten/ops:all_operators
}

namespace torch::named {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;

const std::string kNone = "*";
const std::string kEllipsis = "...";

std::string text_of(const Names& names) {
  std::string text = "[";
  for (const std::string& name : names) {
    if (text.size() > 1) text += ", ";
    text += name == kNone ? "None" : c10::str("'", name, "'");
  }
  return text + "]";
}

class NamedTensorImpl final : public at::WrapperTensorImpl {
 public:
  NamedTensorImpl(Tensor inner, Names names)
      : WrapperTensorImpl(inner), inner_(std::move(inner)), names_(std::move(names)) {
    at::registry::link_all_operators();
  }
  const Tensor& inner() const { return inner_; }
  const Names& names() const { return names_; }
  // After an operator in place.
  void update(const Names& names) {
    names_ = names;
    if (sizes() != inner_.sizes() || strides() != inner_.strides()) {
      set_sizes_and_strides(inner_.sizes(), inner_.strides());
      set_storage_offset(inner_.storage_offset());
    }
  }

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) const override;
  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override {
    auto copy = c10::make_intrusive<NamedTensorImpl>(Tensor(inner_.unsafeGetTensorImpl()->shallow_copy()), names_);
    copy->copy_metadata_from(*this);
    return copy;
  }
  void shallow_copy_from(const c10::TensorImpl& other) override {
    WrapperTensorImpl::shallow_copy_from(other);
    const auto& from = static_cast<const NamedTensorImpl&>(other);
    inner_ = from.inner_;
    names_ = from.names_;
  }
  const char* kind() const override { return "NamedTensor"; }

 private:
  Tensor inner_;
  Names names_;
};

const NamedTensorImpl* named_of(const at::TensorBase& tensor) {
  return at::wrapper_of<NamedTensorImpl>(tensor);
}
Tensor plain(const Tensor& tensor) {
  const NamedTensorImpl* named = named_of(tensor);
  return named != nullptr ? named->inner() : tensor;
}
bool all_unnamed(const Names& names) {
  return std::all_of(names.begin(), names.end(), [](const std::string& name) { return name == kNone; });
}
Tensor wrapped(const Tensor& tensor, const Names& names) {
  return all_unnamed(names) ? tensor : Tensor(c10::make_intrusive<NamedTensorImpl>(tensor, names));
}

void check_names(const char* who, const Names& names, int64_t dimensions) {
  TORCH_CHECK_VALUE(static_cast<int64_t>(names.size()) == dimensions, who, ": ", names.size(),
                    " names for a tensor of ", dimensions, " dimensions: ", text_of(names));
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (name == kNone) continue;
    bool is_identifier = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
    for (const char c : name) is_identifier &= std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    TORCH_CHECK_VALUE(is_identifier, who, ": '", name, "' is not a name: it must be an identifier, or \"*\" for none");
    TORCH_CHECK_VALUE(std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), name) ==
                          names.begin() + static_cast<std::ptrdiff_t>(i),
                      who, ": the name '", name, "' is there twice: ", text_of(names));
  }
}

// --- The rules ---

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Names of what broadcasts: matched from the right.
Names unified(const Names& a, const Names& b, const char* action = "broadcast") {
  const Names& longer = a.size() >= b.size() ? a : b;
  Names result = longer;
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const std::string &x = a[a.size() - i], &y = b[b.size() - i];
    TORCH_CHECK(x == y || x == kNone || y == kNone, "Error when attempting to ", action, " dims ", text_of(a),
                " and dims ", text_of(b), ": dim '", x, "' and dim '", y,
                "' are at the same position from the right but do not match.");
    result[result.size() - i] = x == kNone ? y : x;
  }
  for (size_t i = 1; i <= result.size(); ++i) {
    const std::string& name = result[result.size() - i];
    if (name == kNone) continue;
    for (const Names* names : {&a, &b}) {
      const auto at = std::find(names->begin(), names->end(), name);
      TORCH_CHECK(at == names->end() || static_cast<size_t>(names->end() - at) == i,
                  "Misaligned dims when attempting to ", action, " dims ", text_of(a), " and dims ", text_of(b),
                  ": dim '", name, "' appears in a different position from the right across both lists.");
    }
  }
  return result;
}

enum class Rule : uint8_t {
  kKeep,       // the names of the first tensor
  kUnify,      // of all tensors, from the right
  kReduce,     // without `dim`, unless `keepdim`
  kRemove,     // without `dim`, always
  kSqueeze,    // without `dim` where its size is 1
  kTranspose,  // dim0 and dim1 exchanged
  kT,
  kPermute,
  kUnsqueeze,
  kExpand,
  kContract,  // the last two tensors as matrices, before them what is added
  kNothing,   // no name in the results
};

const std::unordered_map<std::string_view, Rule>& rules() {
  static const auto& table = *[] {
    auto* rules = new std::unordered_map<std::string_view, Rule>;
    const auto add = [&](Rule rule, std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) rules->emplace(name, rule);
    };
    add(Rule::kKeep, {"abs",
                      "acos",
                      "acosh",
                      "alias",
                      "angle",
                      "asin",
                      "asinh",
                      "atan",
                      "atanh",
                      "bernoulli",
                      "bitwise_not",
                      "cauchy",
                      "ceil",
                      "clamp",
                      "clamp_max",
                      "clamp_min",
                      "clone",
                      "cos",
                      "cosh",
                      "cumprod",
                      "cumsum",
                      "deg2rad",
                      "detach",
                      "digamma",
                      "empty_like",
                      "erf",
                      "erfc",
                      "erfinv",
                      "exp",
                      "expm1",
                      "exponential",
                      "fill",
                      "floor",
                      "frac",
                      "imag",
                      "index_fill",
                      "isfinite",
                      "isinf",
                      "isnan",
                      "isneginf",
                      "isposinf",
                      "lgamma",
                      "log",
                      "log10",
                      "log1p",
                      "log2",
                      "log_normal",
                      "_log_softmax",
                      "log_softmax",
                      "logical_not",
                      "masked_fill",
                      "mvlgamma",
                      "native_dropout",
                      "narrow",
                      "neg",
                      "normal",
                      "ones_like",
                      "polygamma",
                      "positive",
                      "rad2deg",
                      "rand_like",
                      "randn_like",
                      "random",
                      "real",
                      "reciprocal",
                      "relu",
                      "round",
                      "rsqrt",
                      "sgn",
                      "sigmoid",
                      "sign",
                      "sin",
                      "sinh",
                      "slice",
                      "_softmax",
                      "softmax",
                      "split",
                      "sqrt",
                      "square",
                      "tan",
                      "tanh",
                      "threshold",
                      "_to_copy",
                      "topk",
                      "tril",
                      "triu",
                      "trunc",
                      "uniform",
                      "zero",
                      "zeros_like"});
    add(Rule::kUnify,
        {"add",        "atan2",        "bitwise_and", "bitwise_or",  "bitwise_xor", "cat",    "copy", "div",
         "eq",         "floor_divide", "fmod",        "ge",          "gt",          "hypot",  "le",   "logical_and",
         "logical_or", "logical_xor",  "lt",          "maximum",     "minimum",     "mul",    "ne",   "pow",
         "remainder",  "rsub",         "sub",         "true_divide", "addcmul",     "addcdiv"});
    add(Rule::kReduce,
        {"all",  "amax",     "amin", "any",  "argmax",    "argmin", "kthvalue", "logsumexp",          "max",
         "mean", "median",   "min",  "mode", "nanmedian", "nansum", "norm",     "linalg_vector_norm", "prod",
         "std",  "std_mean", "sum",  "var",  "var_mean"});
    add(Rule::kRemove, {"select", "unbind"});
    add(Rule::kSqueeze, {"squeeze"});
    add(Rule::kTranspose, {"transpose"});
    add(Rule::kT, {"t"});
    add(Rule::kPermute, {"permute"});
    add(Rule::kUnsqueeze, {"unsqueeze"});
    add(Rule::kExpand, {"expand"});
    add(Rule::kContract, {"addbmm", "addmm", "addmv", "baddbmm", "bmm", "dot", "mm", "mv", "vdot"});
    add(Rule::kNothing, {"_local_scalar_dense", "equal", "is_same_size", "item"});
    return rules;
  }();
  return table;
}

// A call's arguments by name.
class Arguments {
 public:
  Arguments(const c10::OperatorHandle& op, const Stack& values) : schema_(op.schema()), values_(values) {}
  const IValue* find(std::string_view name) const {
    for (size_t i = 0; i < schema_.arguments().size() && i < values_.size(); ++i) {
      if (schema_.arguments()[i].name() == name) return &values_[i];
    }
    return nullptr;
  }
  // Tensors that are read, in order, those of lists too.
  std::vector<Tensor> tensors() const {
    std::vector<Tensor> found;
    for (size_t i = 0; i < schema_.arguments().size() && i < values_.size(); ++i) {
      if (schema_.arguments()[i].is_out()) continue;
      const auto take = [&](const IValue& value) {
        if (value.isTensor() && value.toTensor().defined()) found.push_back(value.toTensor());
      };
      take(values_[i]);
      if (!values_[i].isList()) continue;
      for (const IValue& element : values_[i].toListRef()) take(element);
    }
    return found;
  }
  // The dimensions that an argument says; none for "all".
  std::vector<int64_t> dims(std::string_view name, int64_t dimensions) const {
    const IValue* value = find(name);
    if (value == nullptr || value->isNone()) return {};
    std::vector<int64_t> dims = value->isInt() ? std::vector<int64_t>{value->toInt()} : value->toIntVector();
    for (int64_t& d : dims) d += d < 0 ? dimensions : 0;
    return dims;
  }
  bool flag(std::string_view name) const {
    const IValue* value = find(name);
    return value != nullptr && value->isBool() && value->toBool();
  }

 private:
  const c10::FunctionSchema& schema_;
  const Stack& values_;
};

// Dimensions out of range are the operator's to refuse.
Names without(const Names& names, const std::vector<int64_t>& dims) {
  Names left;
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) == dims.end()) left.push_back(names[i]);
  }
  return left;
}

Names last(const Names& names, size_t from_right) {
  return names.size() >= from_right ? Names{names[names.size() - from_right]} : Names();
}

// Of a product of two tensors of one dimension or more.
Names contracted(const Names& a, const Names& b) {
  Names result;
  if (a.size() > 2 || b.size() > 2) {
    const auto batch = [](const Names& names) {
      return Names(names.begin(), names.end() - static_cast<std::ptrdiff_t>(std::min<size_t>(names.size(), 2)));
    };
    result = unified(batch(a), batch(b));
  }
  if (a.size() >= 2) result.push_back(last(a, 2)[0]);
  if (b.size() >= 2) result.push_back(last(b, 1)[0]);
  return result;
}

Names inferred(const c10::OperatorHandle& op, Rule rule, const Arguments& arguments) {
  const std::vector<Tensor> tensors = arguments.tensors();
  if (tensors.empty()) return {};
  const Names first = names(tensors[0]);
  const auto dimensions = static_cast<int64_t>(first.size());
  switch (rule) {
    case Rule::kKeep:
      return first;
    case Rule::kUnify: {
      Names result = first;
      for (size_t i = 1; i < tensors.size(); ++i) result = unified(result, names(tensors[i]));
      return result;
    }
    case Rule::kReduce: {
      if (tensors.size() > 1) {  // max of two tensors
        Names result = first;
        for (size_t i = 1; i < tensors.size(); ++i) result = unified(result, names(tensors[i]));
        return result;
      }
      const std::vector<int64_t> dims = arguments.dims("dim", dimensions);
      if (arguments.flag("keepdim")) return first;
      return dims.empty() ? Names() : without(first, dims);
    }
    case Rule::kRemove:
      return without(first, arguments.dims("dim", dimensions));
    case Rule::kSqueeze: {
      std::vector<int64_t> dims = arguments.dims("dim", dimensions), gone;
      if (arguments.find("dim") == nullptr) {
        for (int64_t d = 0; d < dimensions; ++d) dims.push_back(d);
      }
      for (const int64_t d : dims) {
        if (d >= 0 && d < dimensions && tensors[0].size(d) == 1) gone.push_back(d);
      }
      return without(first, gone);
    }
    case Rule::kTranspose: {
      Names result = first;
      const std::vector<int64_t> a = arguments.dims("dim0", dimensions), b = arguments.dims("dim1", dimensions);
      const auto in_range = [&](int64_t d) { return d >= 0 && d < dimensions; };
      if (in_range(a[0]) && in_range(b[0]))
        std::swap(result[static_cast<size_t>(a[0])], result[static_cast<size_t>(b[0])]);
      return result;
    }
    case Rule::kT:
      return Names(first.rbegin(), first.rend());
    case Rule::kPermute: {
      Names result;
      for (const int64_t d : arguments.dims("dims", dimensions)) {
        result.push_back(d >= 0 && d < dimensions ? first[static_cast<size_t>(d)] : kNone);
      }
      return result;
    }
    case Rule::kUnsqueeze: {
      Names result = first;
      const int64_t d = arguments.dims("dim", dimensions + 1)[0];
      if (d >= 0 && d <= dimensions) result.insert(result.begin() + d, kNone);
      return result;
    }
    case Rule::kExpand: {
      Names result = first;
      const size_t size = arguments.find("size")->toIntVector().size();
      if (size > result.size()) result.insert(result.begin(), size - result.size(), kNone);
      return result;
    }
    case Rule::kContract: {
      const size_t n = tensors.size();
      if (n < 2) return {};
      const Names product = contracted(names(tensors[n - 2]), names(tensors[n - 1]));
      if (n == 2) return product;
      return unified(op.schema().base_name() == "addbmm" ? without(product, {0}) : product, first);
    }
    case Rule::kNothing:
      return {};
  }
  return {};
}

void NamedTensorImpl::handle(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) const {
  const auto strip = [](const Tensor& t) { return plain(t); };
  if (autograd::Engine::current_pass() != 0) {
    at::transform_tensors(*stack, strip);
    return op.callBoxed(*stack);
  }
  std::string name = op.schema().base_name();
  if (name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_') name.pop_back();
  const auto rule = rules().find(name);
  TORCH_CHECK_NOT_IMPLEMENTED(rule != rules().end(), "'", op.schema().qualified_name(),
                              "' is not supported with named tensors: torch::named::rename(tensor, std::nullopt) gives "
                              "the tensor without names, "
                              "which can be given to the result");
  const Stack before = *stack;
  const Names result = inferred(op, rule->second, Arguments(op, before));
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size() && i < before.size(); ++i) {
    if (!arguments[i].is_write() || !before[i].isTensor()) continue;
    const Names present = torch::named::names(before[i].toTensor());
    if (arguments[i].is_out()) {
      TORCH_CHECK(all_unnamed(present) || present == result, op.schema().qualified_name(), ": the names of out=, ",
                  text_of(present), ", are not those of the result, ", text_of(result));
    }
    TORCH_CHECK(named_of(before[i].toTensor()) != nullptr || all_unnamed(result), op.schema().qualified_name(),
                ": the result has names, ", text_of(result),
                ", and the tensor that is written to was made without; "
                "give it names with torch::named::rename first");
  }
  at::transform_tensors(*stack, strip);
  op.callBoxed(*stack);
  at::transform_tensors(*stack, [&](const Tensor& t) {
    if (!t.defined()) return t;
    return static_cast<int64_t>(result.size()) == t.dim() ? wrapped(t, result) : t;
  });
  for (size_t i = 0; i < arguments.size() && i < before.size(); ++i) {
    if (!arguments[i].is_write() || !before[i].isTensor()) continue;
    const Tensor written = before[i].toTensor();
    if (named_of(written) == nullptr) continue;
    static_cast<NamedTensorImpl*>(written.unsafeGetTensorImpl())->update(result);
  }
}

// Below autograd, gives what alias() makes these names, or none.
class Naming final : public at::DispatchMode {
 public:
  explicit Naming(const std::optional<Names>& names) : names_(names) {}
  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) override {
    at::transform_tensors(*stack, [](const Tensor& t) { return plain(t); });
    op.callBoxed(*stack);
    if (names_.has_value()) {
      at::transform_tensors(*stack, [&](const Tensor& t) { return wrapped(t, *names_); });
    }
  }

 private:
  const std::optional<Names>& names_;
};

Tensor with_names(const Tensor& tensor, const std::optional<Names>& names) {
  at::registry::link_all_operators();
  Naming naming(names);
  const at::DispatchModeGuard on(naming);
  return at::alias(tensor);
}

// `names` with "..." replaced by `rest`.
Names expanded(const char* who, const Names& names, const Names& rest) {
  Names result;
  TORCH_CHECK_VALUE(std::count(names.begin(), names.end(), kEllipsis) <= 1, who, ": \"...\" is there more than once");
  for (const std::string& name : names) {
    if (name == kEllipsis) {
      result.insert(result.end(), rest.begin(), rest.end());
    } else {
      result.push_back(name);
    }
  }
  return result;
}

}  // namespace

Names names(const Tensor& tensor) {
  const NamedTensorImpl* named = named_of(tensor);
  return named != nullptr ? named->names() : Names(static_cast<size_t>(tensor.dim()), kNone);
}

bool has_names(const Tensor& tensor) {
  return named_of(tensor) != nullptr;
}

Tensor rename(const Tensor& tensor, const std::optional<Names>& names) {
  TORCH_CHECK(tensor.defined(), "rename: expected a defined tensor");
  if (names.has_value()) check_names("rename", *names, tensor.dim());
  return with_names(tensor, names);
}

Tensor rename_some(const Tensor& tensor, const std::map<std::string, std::string>& renamed) {
  Names result = names(tensor);
  for (const auto& [from, to] : renamed) {
    result[static_cast<size_t>(dim(tensor, from))] = to;
  }
  return rename(tensor, result);
}

Tensor refine_names(const Tensor& tensor, const Names& wanted) {
  const Names present = names(tensor);
  Names middle;
  if (has(wanted, kEllipsis)) {
    const size_t others = wanted.size() - 1;
    TORCH_CHECK_VALUE(others <= present.size(), "refine_names: ", others, " names for a tensor of ", present.size(),
                      " dimensions");
    const auto at = std::find(wanted.begin(), wanted.end(), kEllipsis) - wanted.begin();
    middle.assign(present.begin() + at, present.begin() + at + static_cast<std::ptrdiff_t>(present.size() - others));
  }
  Names result = expanded("refine_names", wanted, middle);
  check_names("refine_names", result, tensor.dim());
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] == kNone) result[i] = present[i];
    TORCH_CHECK_VALUE(present[i] == kNone || present[i] == result[i], "refine_names: cannot coerce ", text_of(present),
                      " to ", text_of(result), ": '", present[i], "' is different from '", result[i], "' at index ", i);
  }
  return rename(tensor, result);
}

Tensor align_to(const Tensor& tensor, const Names& wanted) {
  const Names present = names(tensor);
  TORCH_CHECK_VALUE(!has(present, kNone), "align_to: all dimensions must have names, got ", text_of(present));
  Names rest;
  for (const std::string& name : present) {
    if (!has(wanted, name)) rest.push_back(name);
  }
  TORCH_CHECK_VALUE(rest.empty() || has(wanted, kEllipsis), "align_to: cannot find dim '", rest.empty() ? "" : rest[0],
                    "' of ", text_of(present), " in ", text_of(wanted));
  const Names order = expanded("align_to", wanted, rest);
  check_names("align_to", order, static_cast<int64_t>(order.size()));
  TORCH_CHECK_VALUE(!has(order, kNone), "align_to: all dimensions must have names, got ", text_of(order));
  std::vector<int64_t> permutation;
  for (const std::string& name : order) {
    if (has(present, name)) permutation.push_back(dim(tensor, name));
  }
  Tensor result = at::permute(with_names(tensor, std::nullopt), permutation);
  for (size_t i = 0; i < order.size(); ++i) {
    if (!has(present, order[i])) result = at::unsqueeze(result, static_cast<int64_t>(i));
  }
  return rename(result, order);
}

Tensor align_as(const Tensor& tensor, const Tensor& other) {
  return align_to(tensor, names(other));
}

Tensor flatten(const Tensor& tensor, const Names& together, const std::string& out) {
  TORCH_CHECK_VALUE(!together.empty(), "flatten: expected names of dimensions");
  const std::vector<int64_t> places = dims(tensor, together);
  for (size_t i = 1; i < places.size(); ++i) {
    TORCH_CHECK_VALUE(places[i] == places[0] + static_cast<int64_t>(i), "flatten: the dimensions ", text_of(together),
                      " are not neighbours in this order in ", text_of(names(tensor)));
  }
  Names result = names(tensor);
  const auto first = result.begin() + places[0];
  *first = out;
  result.erase(first + 1, first + static_cast<std::ptrdiff_t>(places.size()));
  check_names("flatten", result, static_cast<int64_t>(result.size()));
  return rename(at::flatten(with_names(tensor, std::nullopt), places.front(), places.back()), result);
}

Tensor unflatten(const Tensor& tensor, const std::string& name,
                 const std::vector<std::pair<std::string, int64_t>>& parts) {
  TORCH_CHECK_VALUE(!parts.empty(), "unflatten: expected names and sizes");
  const int64_t place = dim(tensor, name);
  Names result = names(tensor);
  result.erase(result.begin() + place);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < parts.size(); ++i) {
    result.insert(result.begin() + place + static_cast<std::ptrdiff_t>(i), parts[i].first);
    sizes.push_back(parts[i].second);
  }
  check_names("unflatten", result, static_cast<int64_t>(result.size()));
  return rename(at::unflatten(with_names(tensor, std::nullopt), place, sizes), result);
}

int64_t dim(const Tensor& tensor, const std::string& name) {
  const Names present = names(tensor);
  const auto found = std::find(present.begin(), present.end(), name);
  TORCH_CHECK_VALUE(name != kNone && found != present.end(), "Name '", name, "' not found in ", text_of(present), ".");
  return found - present.begin();
}

std::vector<int64_t> dims(const Tensor& tensor, const Names& wanted) {
  std::vector<int64_t> result;
  for (const std::string& name : wanted) result.push_back(dim(tensor, name));
  return result;
}

Tensor matmul(const Tensor& tensor, const Tensor& other) {
  const Names result = contracted(names(tensor), names(other));
  check_names("matmul", result, static_cast<int64_t>(result.size()));
  return with_names(at::matmul(with_names(tensor, std::nullopt), with_names(other, std::nullopt)), result);
}

}  // namespace torch::named
