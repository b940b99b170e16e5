#include "export/onnx/emitter.h"

#include "aten/ops/copy/ops.h"
#include "c10/value/list.h"
#include "export/onnx/importer.h"
#include "third_party/onnx/onnx.pb.h"

namespace torch::onnx {

using graph::Node;
using graph::Operand;
using ::onnx::AttributeProto;

Arg::Arg(const std::vector<Item>& items) : operand_(std::vector<Operand>()) {
  std::vector<Operand> parts;
  for (const Item& item : items) parts.emplace_back(item.value);
  operand_ = std::move(parts);
}

// --- inputs ---

size_t Emitter::input_count() const {
  return static_cast<size_t>(node_.input_size());
}
bool Emitter::has(size_t i) const {
  return i < input_count() && !node_.input(static_cast<int>(i)).empty() &&
         !importer_.lookup(scope_, node_.input(static_cast<int>(i))).absent();
}
Item Emitter::input_value(Item item) {
  if (item.value == nullptr && item.constant != nullptr) item.value = importer_.value_of(*item.constant);
  return item;
}
Item Emitter::in_of_any_width(size_t i) {
  if (i < input_count()) read_inputs_.insert(i);
  return has(i) ? input_value(importer_.lookup(scope_, node_.input(static_cast<int>(i)))) : Item();
}
Item Emitter::in_or_absent(size_t i) {
  Item item = in_of_any_width(i);
  supported(!item.narrow, "input ", i, " of numbers of less than a byte");
  return item;
}
Item Emitter::in(size_t i) {
  Item item = in_or_absent(i);
  check(!item.absent(), "input ", i, " is missing");
  return item;
}
std::vector<Item> Emitter::all_inputs() {
  std::vector<Item> all;
  for (size_t i = 0; i < input_count(); ++i) all.push_back(in(i));
  return all;
}
c10::ScalarType Emitter::dtype(size_t i) {
  check(has(i), "input ", i, " is missing");
  return importer_.lookup(scope_, node_.input(static_cast<int>(i))).dtype;
}
at::Tensor Emitter::known(size_t i) {
  if (!has(i)) return {};
  const Item item = importer_.lookup(scope_, node_.input(static_cast<int>(i)));
  if (item.constant == nullptr) return {};
  read_inputs_.insert(i);
  return item.constant->tensor;
}
std::optional<std::vector<int64_t>> Emitter::known_ints(size_t i) {
  const at::Tensor t = known(i);
  // Every node that uses a list has a copy of it.
  if (!t.defined() || t.numel() > 64) return std::nullopt;
  check(c10::isIntegralType(t.scalar_type(), false) && t.dim() <= 1, "input ", i,
        ": expected whole numbers in a row, but got ", t.scalar_type(), " of sizes ", t.sizes());
  const at::Tensor wide = at::to(t, c10::ScalarType::Long).contiguous();
  const int64_t* values = wide.data_ptr<int64_t>();
  return std::vector<int64_t>(values, values + wide.numel());
}
std::optional<int64_t> Emitter::known_dim(size_t i) {
  if (!has(i)) return std::nullopt;
  const Item item = importer_.lookup(scope_, node_.input(static_cast<int>(i)));
  if (item.constant != nullptr) return item.constant->tensor.dim();
  const graph::TensorInfo* info = item.value->info();
  return info == nullptr ? std::nullopt : std::optional<int64_t>(info->sizes.size());
}
Arg Emitter::ints(size_t i) {
  if (const auto values = known_ints(i)) return *values;
  return call("onnx::ints", {in(i)});
}
Arg Emitter::integer(size_t i) {
  if (const auto values = known_ints(i)) {
    check(values->size() == 1, "input ", i, ": expected a number, but got ", values->size());
    return (*values)[0];
  }
  return call("onnx::int", {in(i)});
}
Arg Emitter::scalar(size_t i) {
  const at::Tensor t = known(i);
  if (!t.defined()) return call("onnx::scalar", {in(i)});
  check(t.numel() == 1, "input ", i, ": expected a number, but got sizes ", t.sizes());
  return Operand(c10::IValue(t.item()));
}

// --- attributes ---

const AttributeProto* Emitter::attribute(const char* name, int type) const {
  read_attributes_.insert(name);
  const AttributeProto* found = nullptr;
  for (const AttributeProto& one : node_.attribute()) {
    if (one.name() != name) continue;
    check(found == nullptr, "the attribute '", name, "' twice");
    found = &one;
  }
  check(found == nullptr || found->type() == type, "the attribute '", name, "' is of another type than it should be");
  return found;
}
const AttributeProto& Emitter::required(const AttributeProto* found, const char* name) const {
  check(found != nullptr, "lacks the attribute '", name, "'");
  return *found;
}
bool Emitter::has_attribute(const char* name) const {
  for (const AttributeProto& one : node_.attribute()) {
    if (one.name() == name) return true;
  }
  return false;
}
int64_t Emitter::i(const char* name) {
  return required(attribute(name, AttributeProto::INT), name).i();
}
int64_t Emitter::i(const char* name, int64_t otherwise) {
  const AttributeProto* found = attribute(name, AttributeProto::INT);
  return found == nullptr ? otherwise : found->i();
}
double Emitter::f(const char* name) {
  return required(attribute(name, AttributeProto::FLOAT), name).f();
}
double Emitter::f(const char* name, double otherwise) {
  const AttributeProto* found = attribute(name, AttributeProto::FLOAT);
  return found == nullptr ? otherwise : found->f();
}
std::string Emitter::s(const char* name, const char* otherwise) {
  const AttributeProto* found = attribute(name, AttributeProto::STRING);
  return found == nullptr ? otherwise : found->s();
}
std::string Emitter::choice(const char* name, const char* otherwise, std::initializer_list<const char*> values) {
  std::string given = s(name, otherwise);
  for (const char* one : values) {
    if (given == one) return given;
  }
  fail("the attribute '", name, "' is '", given.substr(0, 40), "', which is not known");
}
std::optional<std::vector<int64_t>> Emitter::is_if_any(const char* name) {
  const AttributeProto* found = attribute(name, AttributeProto::INTS);
  if (found == nullptr) return std::nullopt;
  return std::vector<int64_t>(found->ints().begin(), found->ints().end());
}
std::vector<int64_t> Emitter::is(const char* name) {
  return is_if_any(name).value_or(std::vector<int64_t>());
}
std::vector<double> Emitter::fs(const char* name) {
  const AttributeProto* found = attribute(name, AttributeProto::FLOATS);
  return found == nullptr ? std::vector<double>() : std::vector<double>(found->floats().begin(), found->floats().end());
}
std::vector<std::string> Emitter::ss(const char* name) {
  const AttributeProto* found = attribute(name, AttributeProto::STRINGS);
  return found == nullptr ? std::vector<std::string>()
                          : std::vector<std::string>(found->strings().begin(), found->strings().end());
}
at::Tensor Emitter::t(const char* name) {
  const auto& proto = required(attribute(name, AttributeProto::TENSOR), name).t();
  supported(!is_narrow(proto.data_type()), "'", name, "' of numbers of less than a byte");
  return importer_.tensor(proto);
}
c10::ScalarType Emitter::dtype_named(const char* name) {
  const int64_t number = i(name);
  const std::optional<c10::ScalarType> type = dtype_of(number);
  check(number >= 1 && number <= 26, "the attribute '", name, "' names the unknown type ", number);
  supported(type.has_value(), "tensors of ONNX's type ", number);
  return *type;
}
const ::onnx::GraphProto& Emitter::g(const char* name) {
  return required(attribute(name, AttributeProto::GRAPH), name).g();
}
void Emitter::ignore(std::initializer_list<const char*> names) {
  read_attributes_.insert(names.begin(), names.end());
}

// --- nodes ---

std::vector<Item> Emitter::call_for(std::string_view name, const std::vector<Arg>& args,
                                    const std::vector<c10::ScalarType>& dtypes) {
  std::vector<Operand> operands;
  for (const Arg& arg : args) operands.push_back(arg.operand());
  const std::optional<graph::Callable> callable = importer_.callable(name);
  Node* made = nullptr;
  if (callable.has_value()) {
    const std::vector<c10::Argument>& arguments = callable->schema().arguments();
    TORCH_INTERNAL_ASSERT(operands.size() <= arguments.size(), name);
    for (size_t k = operands.size(); k < arguments.size(); ++k) {
      TORCH_INTERNAL_ASSERT(arguments[k].default_value().has_value(), name, " ", arguments[k].name());
      operands.emplace_back(*arguments[k].default_value());
    }
    made = block_.append(block_.graph().call(*callable, std::move(operands)));
  } else {
    // The model is refused in the end, with all that are missing.
    made = block_.append(block_.graph().make(Node::Kind::kInvoke, std::move(operands)));
    made->set_name("missing");
    for (size_t k = 0; k < dtypes.size(); ++k) made->add_result(c10::TensorType::get());
  }
  std::vector<Item> results;
  for (size_t k = 0; k < dtypes.size(); ++k) {
    Item item;
    item.value = made->result(k);
    item.dtype = dtypes[k];
    results.push_back(std::move(item));
  }
  return results;
}
Item Emitter::call(std::string_view name, const std::vector<Arg>& args, std::optional<c10::ScalarType> result) {
  return call_for(name, args,
                  {result.has_value()            ? *result
                   : input_count() > 0 && has(0) ? dtype(0)
                                                 : c10::ScalarType::Undefined})[0];
}
std::vector<Item> Emitter::unpack(const Item& list, size_t count, c10::ScalarType result) {
  Node* node = block_.append(block_.graph().make(Node::Kind::kUnpack, {Operand(list.value)}));
  std::vector<Item> parts;
  for (size_t k = 0; k < count; ++k) {
    Item item;
    item.value = node->add_result(c10::TensorType::get());
    item.dtype = result;
    parts.push_back(std::move(item));
  }
  return parts;
}
Item Emitter::cast(const Item& x, c10::ScalarType to) {
  return x.dtype == to ? x : call("aten::to.dtype", {x, to}, to);
}
Item Emitter::constant(const at::Tensor& tensor) {
  Item item;
  item.constant = std::make_shared<Constant>();
  item.constant->name = node_.output_size() > 0 && !node_.output(0).empty() ? node_.output(0) : "constant";
  item.constant->tensor = tensor;
  item.dtype = tensor.scalar_type();
  return item;
}
Item Emitter::constant_attribute(const char* name) {
  const auto& proto = required(attribute(name, AttributeProto::TENSOR), name).t();
  Item item = constant(importer_.tensor(proto));
  item.narrow = is_narrow(proto.data_type());
  return item;
}

// --- outputs and errors ---

size_t Emitter::output_count() const {
  return static_cast<size_t>(node_.output_size());
}
bool Emitter::wants(size_t output) const {
  return output < output_count() && !node_.output(static_cast<int>(output)).empty();
}
void Emitter::check_all_read() const {
  for (size_t k = 0; k < input_count(); ++k) {
    supported(!has(k) || read_inputs_.count(k) > 0, "input ", k, " ('", node_.input(static_cast<int>(k)).substr(0, 100),
              "')");
  }
  for (const AttributeProto& one : node_.attribute()) {
    supported(read_attributes_.count(one.name()) > 0, "the attribute '", one.name().substr(0, 100), "'");
  }
}
std::string Emitter::where() const {
  std::string text = importer_.origin() + ": " + node_.op_type().substr(0, 100);
  if (!node_.name().empty()) text += " '" + node_.name().substr(0, 100) + "'";
  return text;
}

}  // namespace torch::onnx
