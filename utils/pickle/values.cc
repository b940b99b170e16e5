#include "utils/pickle/values.h"

#include <cstring>
#include <set>
#include <utility>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/quantized/quantized_tensor_impl.h"
#include "autograd/engine/autograd_meta.h"
#include "c10/core/grad_mode.h"
#include "c10/core/layout.h"
#include "c10/core/memory_format.h"
#include "c10/core/qscheme.h"
#include "utils/pickle/names.h"
#include "utils/pickle/sparse.h"

namespace torch::pickle {
namespace {

using c10::IValue;
using c10::ScalarType;

enum class Function : uint8_t {
  kNone,
  kTensorV1,
  kTensorV2,
  kTensorV3,
  kParameter,
  kParameterWithState,
  kFromType,
  kMetaTensor,
  kDeviceTensor,
  kQuantized,
  kSparse,
  kNested,
  kOrderedDict,
  kCounter,
  kSize,
  kDevice,
  kLayout,
  kEncode,
  kBytes,
  kByteArray,
  kSet,
  kComplex,
  kTypedList,
  kRestoreTag,
};

struct Callable {
  std::string_view module;
  std::string_view name;
  Function function;
  size_t least;  // arguments
  size_t most;
};

constexpr std::string_view kUtils = "torch._utils";
constexpr std::string_view kScript = "torch.jit._pickle";
constexpr Callable kCallables[] = {
    {kUtils, "_rebuild_tensor", Function::kTensorV1, 4, 4},
    {kUtils, "_rebuild_tensor_v2", Function::kTensorV2, 6, 7},
    {kUtils, "_rebuild_tensor_v3", Function::kTensorV3, 7, 8},
    {kUtils, "_rebuild_parameter", Function::kParameter, 3, 3},
    {kUtils, "_rebuild_parameter_with_state", Function::kParameterWithState, 4, 4},
    {"torch._tensor", "_rebuild_from_type_v2", Function::kFromType, 4, 4},
    {kUtils, "_rebuild_meta_tensor_no_storage", Function::kMetaTensor, 4, 4},
    {kUtils, "_rebuild_device_tensor_from_cpu_tensor", Function::kDeviceTensor, 4, 4},
    {kUtils, "_rebuild_qtensor", Function::kQuantized, 7, 7},
    {kUtils, "_rebuild_sparse_tensor", Function::kSparse, 2, 2},
    {kUtils, "_rebuild_sparse_csr_tensor", Function::kSparse, 2, 2},
    {kUtils, "_rebuild_nested_tensor", Function::kNested, 4, 4},
    {"collections", "OrderedDict", Function::kOrderedDict, 0, 1},
    {"collections", "Counter", Function::kCounter, 0, 1},
    {"torch", "Size", Function::kSize, 1, 1},
    {"torch", "device", Function::kDevice, 1, 2},
    {"torch.serialization", "_get_layout", Function::kLayout, 1, 1},
    {"_codecs", "encode", Function::kEncode, 2, 2},
    {"builtins", "bytes", Function::kBytes, 0, 0},
    {"builtins", "bytearray", Function::kByteArray, 0, 2},
    {"builtins", "set", Function::kSet, 0, 1},
    {"builtins", "complex", Function::kComplex, 2, 2},
    // What libtorch's pickle_save and TorchScript write for lists and dicts of one type.
    {kScript, "build_intlist", Function::kTypedList, 1, 1},
    {kScript, "build_doublelist", Function::kTypedList, 1, 1},
    {kScript, "build_boollist", Function::kTypedList, 1, 1},
    {kScript, "build_tensorlist", Function::kTypedList, 1, 1},
    {kScript, "restore_type_tag", Function::kRestoreTag, 2, 2},
};

struct Constant {
  std::string_view name;
  int64_t value;
};
constexpr Constant kConstants[] = {
    {"per_tensor_affine", 0},   {"per_channel_affine", 1},
    {"per_tensor_symmetric", 2}, {"per_channel_symmetric", 3},
    {"per_channel_affine_float_qparams", 4},
    {"contiguous_format", 0},   {"preserve_format", 1},
    {"channels_last", 2},       {"channels_last_3d", 3},
};

// Keys are compared and hashed by calls within calls.
constexpr size_t kLargestKey = 100;
// Longer texts as keys count as copies: each mention of one is hashed.
constexpr size_t kLongestKey = 1000;
// What the pickle has once and calls copy again and again: all copies are at most this many times the file's bytes.
constexpr uint64_t kMostCopied = 16;

bool is_tensor_type(const Node& node) {
  return node.kind == NodeKind::kGlobal && ((node.module() == "torch" && node.name() == "Tensor") ||
                                            (node.module() == "torch.nn.parameter" && node.name() == "Parameter"));
}

const Callable* find(const Node& global) {
  if (global.kind != NodeKind::kGlobal) return nullptr;
  const std::string_view module = global.module(), name = global.name();
  for (const Callable& c : kCallables) {
    if (c.name == name && c.module == module) return &c;
  }
  return nullptr;
}

bool is_in_table(const Node& global) {
  if (find(global) != nullptr || is_tensor_type(global)) return true;
  const std::string_view module = global.module(), name = global.name();
  if (module == "torch") {
    if (dtype_of_name(name).has_value()) return true;
    for (const Constant& c : kConstants) {
      if (c.name == name) return true;
    }
  }
  const bool has_storages = module == "torch" || module == "torch.cuda" || module == "torch.storage";
  return has_storages && dtype_of_storage_class(name).has_value();
}

class Builder {
 public:
  Builder(const Tree& tree, StorageSource& source, const LoadOptions& options, ScriptObjects* objects)
      : tree_(tree),
        source_(source),
        storages_(tree, source, options.map_location),
        objects_(objects),
        values_(tree.size()),
        states_(tree.size()) {}

  IValue run() {
    check_names();
    try {
      visit(tree_.root());
      while (!left_.empty()) {
        const auto [id, children_done] = left_.back();
        left_.pop_back();
        if (children_done) {
          finish(id);
        } else {
          visit(id);
        }
      }
    } catch (...) {
      // What holds itself would stay.
      for (const NodeId id : containers_) {
        if (values_[id].isList()) values_[id].toList().clear();
        if (values_[id].isGenericDict()) values_[id].toGenericDict().clear();
      }
      throw;
    }
    return values_[tree_.root()];
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kMade, kDone };
  struct Call {
    const Callable* callable;
    const std::vector<NodeId>* args;
  };

  // Every global of the pickle, used or not, is one of the table.
  void check_names() const;
  Call call_of(NodeId id) const;
  static std::string class_name(const Node& node) { return c10::str(node.module(), ".", node.name()); }
  // f() of objects_, with the node's place in what it throws.
  template <class F>
  auto ask(NodeId id, const F& f) const {
    try {
      return f(*objects_);
    } catch (const serialize::FormatError&) {
      throw;
    } catch (const c10::Error& error) {
      tree_.fail(id, error.msg());
    } catch (const std::exception& error) {
      tree_.fail(id, error.what());
    }
  }
  bool is_script_class(const Node& node) const {
    return objects_ != nullptr && node.kind == NodeKind::kGlobal && node.module().substr(0, 9) == "__torch__";
  }

  void need(NodeId id) {
    if (states_[id] == State::kNew) left_.push_back({id, false});
  }
  void need_all(const std::vector<NodeId>& ids) {
    for (const NodeId id : ids) need(id);
  }
  const IValue& value(NodeId id, NodeId user) const {
    if (states_[id] != State::kMade && states_[id] != State::kDone) {
      tree_.unsupported(user, "a value that holds itself through a tuple");
    }
    return values_[id];
  }
  void set(NodeId id, IValue value) {
    values_[id] = std::move(value);
    states_[id] = State::kDone;
  }

  void visit(NodeId id);
  void visit_call(NodeId id);
  void finish(NodeId id);
  void finish_call(NodeId id);
  void open_list(NodeId id);
  void open_dict(NodeId id);
  void fill_list(NodeId id, const std::vector<NodeId>& items);
  void fill_dict(NodeId id, const std::vector<NodeId>& items);
  void check_key(NodeId id);
  // A copy of so many bytes is made of what may be shared.
  void charge(NodeId id, uint64_t bytes) {
    copied_ += bytes;
    if (copied_ > kMostCopied * (tree_.bytes() + storages_.bytes()))
      tree_.fail(id, c10::str("copies of what the pickle has once take more than ", kMostCopied, " times the file"));
  }
  void charge_items(NodeId id, size_t items) { charge(id, items * sizeof(IValue)); }
  void declare_elements(const c10::List<IValue>& list) const;
  IValue number(NodeId id) const;
  IValue constant(NodeId id) const;
  std::string encoded(NodeId id);
  IValue tensor(NodeId id, const Call& call);
  at::Tensor quantized(NodeId id, const std::vector<NodeId>& args);
  at::Tensor sparse(NodeId id, const std::vector<NodeId>& args);
  // With any scales and zero points: tensors of such ones can be made, and kernels take them.
  at::QuantizerPtr quantizer(NodeId id, const std::vector<int64_t>& sizes);
  // Numbers of a list or a tensor of one dimension, as a tensor of their own.
  at::Tensor numbers(NodeId id, const char* what, ScalarType dtype);
  at::Tensor with_bits(NodeId id, at::Tensor tensor, NodeId metadata);
  at::Tensor with_grad(NodeId id, at::Tensor tensor, bool requires_grad) const;
  void check_hooks(NodeId id) const;
  ScalarType dtype_argument(NodeId id) const;
  NodeId persistent(NodeId id) const {
    if (tree_[id].kind != NodeKind::kPersistent) tree_.fail(id, "a tensor without a storage");
    return id;
  }

  const Tree& tree_;
  StorageSource& source_;
  Storages storages_;
  ScriptObjects* objects_;
  std::vector<IValue> values_;
  std::vector<State> states_;
  struct Step {
    NodeId id;
    bool children_done;
  };
  std::vector<Step> left_;
  std::vector<NodeId> containers_;
  uint64_t copied_ = 0;
};

void Builder::check_names() const {
  for (NodeId id = 0; id < tree_.size(); ++id) {
    const Node& node = tree_[id];
    if (node.kind == NodeKind::kGlobal && !is_script_class(node) && !is_in_table(node)) {
      tree_.fail(id, c10::str("Unsupported global: GLOBAL ", node.module(), ".", node.name(),
                              " was not an allowed global by default."));
    }
    if (node.kind == NodeKind::kCall && !is_script_class(tree_[node.a])) call_of(id);
    if (node.kind == NodeKind::kNewObject && !is_script_class(tree_[node.a])) {
      tree_.fail(id, "NEWOBJ of a class that is not allowed");
    }
  }
}

Builder::Call Builder::call_of(NodeId id) const {
  const Node& node = tree_[id];
  const Callable* callable = find(tree_[node.a]);
  if (callable == nullptr) {
    tree_.fail(id, "a call of what is no function of the table");
  }
  if (tree_[node.b].kind != NodeKind::kTuple) tree_.fail(id, "the arguments of a call are no tuple");
  const std::vector<NodeId>& args = tree_[node.b].items;
  if (args.size() < callable->least || args.size() > callable->most) {
    tree_.fail(id, c10::str(callable->name, " called with ", args.size(), " arguments"));
  }
  const bool dict = callable->function == Function::kOrderedDict || callable->function == Function::kCounter;
  if (!node.items.empty() && !(dict && node.pairs))
    tree_.fail(id, c10::str("items put into what ", callable->name, " gives"));
  const bool tensor = callable->function <= Function::kNested;
  if (node.state != kNoNode && !dict && !tensor) tree_.fail(id, c10::str("BUILD on what ", callable->name, " gives"));
  return {callable, &args};
}

IValue Builder::number(NodeId id) const {
  // Two's complement: nine bytes, the last of them zero, are an integer of 64 bits without a sign.
  const std::string_view bytes = tree_[id].view();
  bool fits = true;
  for (size_t i = 8; i < bytes.size(); ++i) fits &= bytes[i] == 0;
  if (!fits) tree_.unsupported(id, "an integer beyond 64 bits");
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return IValue(c10::Scalar(value));
}

IValue Builder::constant(NodeId id) const {
  const Node& node = tree_[id];
  if (node.module() == "torch") {
    if (const auto dtype = dtype_of_name(node.name())) return IValue(*dtype);
    for (const Constant& c : kConstants) {
      if (c.name == node.name()) return IValue(c.value);
    }
  }
  tree_.unsupported(id, c10::str("the class ", node.module(), ".", node.name(), " as a value"));
}

void Builder::open_list(NodeId id) {
  values_[id] = IValue(c10::List<IValue>());
  states_[id] = State::kMade;
  containers_.push_back(id);
}

void Builder::open_dict(NodeId id) {
  values_[id] = IValue(c10::Dict<IValue, IValue>());
  states_[id] = State::kMade;
  containers_.push_back(id);
}

void Builder::visit(NodeId id) {
  if (states_[id] != State::kNew) return;
  const Node& node = tree_[id];
  switch (node.kind) {
    case NodeKind::kNone: return set(id, IValue());
    case NodeKind::kBool: return set(id, IValue(node.boolean));
    case NodeKind::kInt: return set(id, IValue(node.integer));
    case NodeKind::kFloat: return set(id, IValue(node.number));
    case NodeKind::kLong: return set(id, number(id));
    case NodeKind::kText:
    case NodeKind::kBytes:
    case NodeKind::kByteArray: return set(id, IValue(std::string(node.view())));
    case NodeKind::kGlobal: return set(id, constant(id));
    case NodeKind::kPersistent: {
      std::optional<IValue> object = source_.object(tree_, id);
      return set(id, object.has_value() ? *std::move(object) : IValue(storages_.get(id, std::nullopt)));
    }
    case NodeKind::kList:
    case NodeKind::kSet:
      open_list(id);
      break;
    case NodeKind::kDict:
      open_dict(id);
      break;
    case NodeKind::kTuple:
    case NodeKind::kFrozenSet: states_[id] = State::kOpen; break;
    case NodeKind::kCall: return visit_call(id);
    case NodeKind::kNewObject: {
      std::optional<IValue> object = ask(id, [&](ScriptObjects& all) { return all.make(class_name(tree_[node.a])); });
      if (object.has_value()) {
        values_[id] = *std::move(object);
        states_[id] = State::kMade;
      } else {
        states_[id] = State::kOpen;
      }
      left_.push_back({id, true});
      if (node.state != kNoNode) need(node.state);
      return;
    }
  }
  left_.push_back({id, true});
  need_all(node.items);
}

void Builder::visit_call(NodeId id) {
  if (is_script_class(tree_[tree_[id].a])) {
    states_[id] = State::kOpen;
    left_.push_back({id, true});
    return need(tree_[id].b);
  }
  const Call call = call_of(id);
  const std::vector<NodeId>& args = *call.args;
  const Node& node = tree_[id];
  states_[id] = State::kOpen;
  left_.push_back({id, true});
  switch (call.callable->function) {
    case Function::kQuantized:
      // Scales and zero points of channels.
      for (const NodeId item : tree_[args[4]].items) {
        if (tree_[item].kind == NodeKind::kCall || tree_[item].kind == NodeKind::kList) need(item);
      }
      return;
    case Function::kSparse: {
      const Node& parts = tree_[args[1]];
      if (parts.kind != NodeKind::kTuple || parts.items.size() < 3 || parts.items.size() > 4)
        tree_.fail(args[1], "the parts of a sparse tensor are no tuple of three or four");
      for (const NodeId part : parts.items) {
        if (tree_[part].kind == NodeKind::kCall) need(part);
      }
      return need(args[0]);
    }
    case Function::kNested: tree_.unsupported(id, "nested tensors are not supported");
    case Function::kOrderedDict:
    case Function::kCounter:
      open_dict(id);
      need_all(node.items);
      if (!args.empty()) {
        const Node& from = tree_[args[0]];
        // A dict, or pairs in a list.
        if (from.kind != NodeKind::kDict && from.kind != NodeKind::kList)
          tree_.fail(args[0], "a dict is made of a dict, or of pairs");
        charge_items(id, from.items.size() * (from.kind == NodeKind::kDict ? 1 : 2));
        for (const NodeId item : from.items) {
          if (from.kind == NodeKind::kDict) {
            need(item);
          } else {
            const Node& pair = tree_[item];
            if ((pair.kind != NodeKind::kTuple && pair.kind != NodeKind::kList) || pair.items.size() != 2) {
              tree_.fail(item, "a dict is made of pairs");
            }
            need_all(pair.items);
          }
        }
      }
      return;
    case Function::kSet:
    case Function::kTypedList:
      open_list(id);
      if (!args.empty()) {
        if (tree_[args[0]].kind != NodeKind::kList) tree_.fail(args[0], "made of what is no list");
        charge_items(id, tree_[args[0]].items.size());
        need_all(tree_[args[0]].items);
      }
      return;
    case Function::kParameter:
    case Function::kParameterWithState:
    case Function::kDeviceTensor:
    case Function::kRestoreTag: return need(args[0]);
    case Function::kFromType: {
      const Callable* inner = find(tree_[args[0]]);
      if (inner == nullptr || inner->function >= Function::kQuantized || inner->function == Function::kFromType) {
        tree_.fail(args[0], "a tensor made by what is no function of the table");
      }
      if (!is_tensor_type(tree_[args[1]])) tree_.fail(args[1], "a tensor of a class that is not allowed");
      const Node& given = tree_[args[2]];
      if (given.kind != NodeKind::kTuple || given.items.size() < inner->least || given.items.size() > inner->most) {
        tree_.fail(args[2], c10::str(inner->name, " called with other arguments"));
      }
      const bool of_tensor = inner->function == Function::kParameter ||
                             inner->function == Function::kParameterWithState ||
                             inner->function == Function::kDeviceTensor;
      if (of_tensor) need(given.items[0]);
      return;
    }
    default: return;
  }
}

void Builder::check_key(NodeId id) {
  std::vector<NodeId> left = {id};
  size_t seen = 0;
  while (!left.empty()) {
    const Node& node = tree_[left.back()];
    left.pop_back();
    if (++seen > kLargestKey) tree_.fail(id, "a key of a dict is a tuple of too many parts");
    const bool is_text = node.kind == NodeKind::kText || node.kind == NodeKind::kBytes;
    if (is_text && node.text.size > kLongestKey) charge(id, node.text.size);
    switch (node.kind) {
      case NodeKind::kNone:
      case NodeKind::kBool:
      case NodeKind::kInt:
      case NodeKind::kLong:
      case NodeKind::kFloat:
      case NodeKind::kText:
      case NodeKind::kBytes:
      case NodeKind::kGlobal: break;
      case NodeKind::kTuple: left.insert(left.end(), node.items.begin(), node.items.end()); break;
      case NodeKind::kCall: {
        const Function function = call_of(id).callable->function;
        if (function == Function::kDevice || function == Function::kEncode) break;
        if (function == Function::kComplex) tree_.fail(id, "complex numbers as keys of a dict are not supported");
        [[fallthrough]];
      }
      default: tree_.fail(id, "a key of a dict is no number, text, tuple or None");
    }
  }
}

void Builder::declare_elements(const c10::List<IValue>& list) const {
  if (list.empty()) return;
  const IValue first = list.get(0);
  if (!first.isInt() && !first.isDouble() && !first.isBool() && !first.isString() && !first.isTensor()) return;
  for (const IValue& value : IValue(list).toListRef()) {
    if (value.tag() != first.tag()) return;
  }
  list.unsafeSetElementType(first.type());
}

void Builder::fill_list(NodeId id, const std::vector<NodeId>& items) {
  const c10::List<IValue> list = values_[id].toList();
  list.reserve(items.size());
  for (const NodeId item : items) list.push_back(value(item, id));
  declare_elements(list);
}

void Builder::fill_dict(NodeId id, const std::vector<NodeId>& items) {
  const c10::Dict<IValue, IValue> dict = values_[id].toGenericDict();
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    check_key(items[i]);
    dict.insert_or_assign(value(items[i], id), value(items[i + 1], id));
  }
}

void Builder::finish(NodeId id) {
  const Node& node = tree_[id];
  switch (node.kind) {
    case NodeKind::kList:
    case NodeKind::kSet: fill_list(id, node.items); break;
    case NodeKind::kFrozenSet:
      open_list(id);
      fill_list(id, node.items);
      break;
    case NodeKind::kDict: fill_dict(id, node.items); break;
    case NodeKind::kTuple: {
      std::vector<IValue> elements;
      elements.reserve(node.items.size());
      for (const NodeId item : node.items) elements.push_back(value(item, id));
      values_[id] = IValue(c10::ivalue::Tuple::create(std::move(elements)));
      break;
    }
    case NodeKind::kNewObject:
      if (states_[id] == State::kOpen) {
        values_[id] = node.state == kNoNode ? IValue(c10::Dict<IValue, IValue>()) : value(node.state, id);
      } else if (node.state != kNoNode) {
        const IValue& state = value(node.state, id);
        ask(id, [&](ScriptObjects& all) { return all.set_state(values_[id], state), true; });
      }
      break;
    default: finish_call(id); break;
  }
  states_[id] = State::kDone;
}

std::string Builder::encoded(NodeId id) {
  const Node& node = tree_[id];
  if (node.kind == NodeKind::kBytes || node.kind == NodeKind::kByteArray) {
    charge(id, node.text.size);
    return std::string(node.view());
  }
  if (node.kind == NodeKind::kCall && states_[id] == State::kDone && values_[id].isString()) {
    charge(id, values_[id].toStringRef().size());
    return values_[id].toStringRef();
  }
  const NodeId call = node.kind == NodeKind::kCall ? id : kNoNode;
  if (call == kNoNode) tree_.fail(id, "bytes made of what are no bytes");
  const Call encode = call_of(id);
  if (encode.callable->function == Function::kBytes) return {};
  if (encode.callable->function != Function::kEncode) tree_.fail(id, "bytes made of what are no bytes");
  const std::string_view text = text_of(tree_, (*encode.args)[0], "what is encoded");
  const std::string_view codec = text_of(tree_, (*encode.args)[1], "a codec");
  if (codec != "latin1" && codec != "latin-1")
    tree_.fail(id, c10::str("the codec '", codec.substr(0, 100), "' is not supported"));
  charge(id, text.size());
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      out += text[i];
    } else if (c == 0xc2 || c == 0xc3) {
      out += static_cast<char>((c & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f));
    } else {
      tree_.fail(id, "a text that is no latin1");
    }
  }
  return out;
}

void Builder::finish_call(NodeId id) {
  if (is_script_class(tree_[tree_[id].a])) {
    const Node& call = tree_[id];
    const IValue& argument = value(call.b, id);
    std::optional<IValue> member = ask(id, [&](ScriptObjects& all) { return all.member(class_name(tree_[call.a]), argument); });
    if (!member.has_value()) tree_.unsupported(id, "values of enumerations are not supported");
    values_[id] = *std::move(member);
    return;
  }
  const Call call = call_of(id);
  const std::vector<NodeId>& args = *call.args;
  switch (call.callable->function) {
    case Function::kOrderedDict:
    case Function::kCounter:
      if (!args.empty()) {
        const Node& from = tree_[args[0]];
        if (from.kind == NodeKind::kDict) fill_dict(id, from.items);
        if (from.kind == NodeKind::kList) {
          for (const NodeId pair : from.items) fill_dict(id, tree_[pair].items);
        }
      }
      return fill_dict(id, tree_[id].items);
    case Function::kSet:
    case Function::kTypedList:
      if (!args.empty()) fill_list(id, tree_[args[0]].items);
      return;
    case Function::kRestoreTag:
      values_[id] = value(args[0], id);
      if (objects_ != nullptr) {
        const std::string type(text_of(tree_, args[1], "the type of a tagged value"));
        values_[id] = ask(id, [&](ScriptObjects& all) { return all.tagged(values_[id], type); });
      }
      return;
    case Function::kSize:
      charge_items(id, tree_[args[0]].items.size());
      values_[id] = IValue(integers_of(tree_, args[0], "the sizes"));
      return;
    case Function::kDevice: {
      std::string text(text_of(tree_, args[0], "a device").substr(0, 100));
      if (args.size() == 2) text += c10::str(":", integer_of(tree_, args[1], "the index of a device"));
      try {
        values_[id] = IValue(c10::Device(text));
      } catch (const c10::Error&) {
        tree_.fail(id, c10::str("'", text, "' is no device"));
      }
      return;
    }
    case Function::kLayout: {
      const std::string_view name = text_of(tree_, args[0], "a layout");
      const std::optional<c10::Layout> layout = layout_of_name(name);
      if (!layout.has_value()) tree_.fail(id, c10::str("'", name.substr(0, 100), "' is no layout"));
      values_[id] = IValue(static_cast<int64_t>(*layout));
      return;
    }
    case Function::kEncode: values_[id] = IValue(encoded(id)); return;
    case Function::kBytes: values_[id] = IValue(std::string()); return;
    case Function::kByteArray: {
      if (args.empty()) {
        values_[id] = IValue(std::string());
      } else if (args.size() == 1) {
        values_[id] = IValue(encoded(args[0]));
      } else {
        tree_.fail(id, "bytearray made of more than bytes");
      }
      return;
    }
    case Function::kComplex: {
      if (tree_[args[0]].kind != NodeKind::kFloat || tree_[args[1]].kind != NodeKind::kFloat) {
        tree_.fail(id, "a complex number made of what are no floats");
      }
      values_[id] = IValue(c10::complex<double>(tree_[args[0]].number, tree_[args[1]].number));
      return;
    }
    default: values_[id] = tensor(id, call); return;
  }
}

ScalarType Builder::dtype_argument(NodeId id) const {
  const Node& node = tree_[id];
  if (node.kind == NodeKind::kGlobal && node.module() == "torch") {
    if (const auto dtype = dtype_of_name(node.name())) return *dtype;
  }
  tree_.fail(id, "a dtype is expected here");
}

// They are Python functions: an empty OrderedDict, or None.
void Builder::check_hooks(NodeId id) const {
  const Node& hooks = tree_[id];
  if (hooks.kind == NodeKind::kNone) return;
  const bool empty = (hooks.kind == NodeKind::kCall && call_of(id).callable->function == Function::kOrderedDict &&
                      call_of(id).args->empty() && hooks.items.empty()) ||
                     (hooks.kind == NodeKind::kDict && hooks.items.empty());
  if (!empty) tree_.fail(id, "the hooks of a tensor are not empty");
}

at::Tensor Builder::with_grad(NodeId id, at::Tensor tensor, bool requires_grad) const {
  if (!requires_grad) return tensor;
  if (!c10::isFloatingType(tensor.scalar_type()) && !c10::isComplexType(tensor.scalar_type())) {
    tree_.fail(id, "only tensors of floating point and complex numbers can require gradients");
  }
  torch::autograd::materialize_meta(tensor).set_requires_grad(true, *tensor.unsafeGetTensorImpl());
  return tensor;
}

template <class T>
void negate(char* data, int64_t count, int64_t step) {
  for (int64_t i = 0; i < count; i += step) {
    T value;
    std::memcpy(&value, data + i * static_cast<int64_t>(sizeof(T)), sizeof value);
    value = -value;
    std::memcpy(data + i * static_cast<int64_t>(sizeof(T)), &value, sizeof value);
  }
}

// There are no lazy bits here: a copy has the conjugate or negative values.
at::Tensor Builder::with_bits(NodeId id, at::Tensor tensor, NodeId metadata) {
  const Node& dict = tree_[metadata];
  if (dict.kind == NodeKind::kNone) return tensor;
  if (dict.kind != NodeKind::kDict) tree_.fail(metadata, "the metadata of a tensor is no dict");
  charge_items(metadata, dict.items.size());
  bool conj = false, neg = false;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const std::string_view name = text_of(tree_, dict.items[i], "a name in the metadata");
    if (name == "conj") {
      conj = boolean_of(tree_, dict.items[i + 1], "conj");
    } else if (name == "neg") {
      neg = boolean_of(tree_, dict.items[i + 1], "neg");
    } else {
      tree_.fail(metadata, c10::str("unknown metadata '", name.substr(0, 100), "'"));
    }
  }
  if (!conj && !neg) return tensor;
  const ScalarType dtype = tensor.scalar_type();
  const bool is_double = dtype == ScalarType::ComplexDouble || dtype == ScalarType::Double;
  const bool complex = dtype == ScalarType::ComplexDouble || dtype == ScalarType::ComplexFloat;
  if (conj && !complex) tree_.fail(metadata, "the conjugate of a tensor that is not complex");
  if (!complex && !is_double && dtype != ScalarType::Float) tree_.unsupported(metadata, "negative views of this dtype");
  if (tensor.nbytes() / 4 > tensor.storage().nbytes())
    tree_.unsupported(id, "a lazy view that is larger than its storage");
  const c10::NoGradGuard no_grad;
  at::Tensor copy = at::empty_contiguous(tensor.sizes(), dtype, tensor.device());
  if (tensor.device().is_meta()) return copy;
  charge(id, tensor.nbytes());
  if (!tensor.device().is_cpu()) tree_.unsupported(id, "conjugate and negative views on other devices");
  at::copy_(copy, tensor);
  char* data = static_cast<char*>(copy.data_ptr());
  const int64_t count = copy.numel() * (complex ? 2 : 1);
  const auto flip = [&](char* from, int64_t n, int64_t step) {
    is_double ? negate<double>(from, n, step) : negate<float>(from, n, step);
  };
  if (neg) flip(data, count, 1);
  if (conj && count > 0) flip(data + (is_double ? 8 : 4), count - 1, 2);
  return copy;
}

IValue Builder::tensor(NodeId id, const Call& outer) {
  Function function = outer.callable->function;
  const std::vector<NodeId>* given = outer.args;
  if (function == Function::kFromType) {
    function = find(tree_[(*given)[0]])->function;
    given = &tree_[(*given)[2]].items;
  }
  const std::vector<NodeId>& args = *given;
  switch (function) {
    case Function::kTensorV1:
    case Function::kTensorV2:
    case Function::kTensorV3: {
      const bool v3 = function == Function::kTensorV3;
      Storages::Geometry geometry;
      geometry.offset = integer_of(tree_, args[1], "the storage offset");
      geometry.sizes = integers_of(tree_, args[2], "the sizes");
      geometry.strides = integers_of(tree_, args[3], "the strides");
      const NodeId from = persistent(args[0]);
      const ScalarType dtype = v3 ? dtype_argument(args[6]) : storages_.dtype_of(from);
      if (is_quantized(dtype)) tree_.fail(id, "a quantized tensor without a quantizer");
      if (v3 && storages_.dtype_of(from) != ScalarType::Byte) tree_.fail(args[0], "the storage is not untyped");
      at::Tensor made = storages_.tensor(id, storages_.get(from, dtype), dtype, geometry);
      if (function == Function::kTensorV1) return made;
      const bool requires_grad = boolean_of(tree_, args[4], "requires_grad");
      check_hooks(args[5]);
      const size_t metadata = v3 ? 7 : 6;
      if (args.size() > metadata) made = with_bits(id, std::move(made), args[metadata]);
      return with_grad(id, std::move(made), requires_grad);
    }
    case Function::kParameter:
    case Function::kParameterWithState: {
      const IValue& data = value(args[0], id);
      if (!data.isTensor()) tree_.fail(id, "a Parameter of what is no tensor");
      const bool requires_grad = boolean_of(tree_, args[1], "requires_grad");
      check_hooks(args[2]);
      // The tensor itself may be used elsewhere, without gradients.
      const at::Tensor from = data.toTensor();
      if (from.is_quantized() || from.layout() != c10::Layout::Strided)
        return with_grad(id, at::Tensor(from.unsafeGetTensorImpl()->shallow_copy()), requires_grad);
      Storages::Geometry geometry{from.storage_offset(), from.sizes().vec(), from.strides().vec()};
      at::Tensor own =
          from.device().is_meta()
              ? storages_.meta_tensor(id, from.scalar_type(), geometry)
              : storages_.tensor(id, c10::Storage(from.unsafeGetTensorImpl()->storage()), from.scalar_type(), geometry);
      return with_grad(id, std::move(own), requires_grad);
    }
    case Function::kMetaTensor: {
      const Storages::Geometry geometry{0, integers_of(tree_, args[1], "the sizes"),
                                        integers_of(tree_, args[2], "the strides")};
      const ScalarType dtype = dtype_argument(args[0]);
      if (is_quantized(dtype)) tree_.fail(id, "a quantized tensor without a quantizer");
      return with_grad(id, storages_.meta_tensor(id, dtype, geometry), boolean_of(tree_, args[3], "requires_grad"));
    }
    case Function::kDeviceTensor: {
      const IValue& data = value(args[0], id);
      if (!data.isTensor()) tree_.fail(id, "a tensor made of what is no tensor");
      if (data.toTensor().scalar_type() != dtype_argument(args[1]))
        tree_.unsupported(id, "a tensor of another dtype on its device");
      if (data.toTensor().layout() != c10::Layout::Strided) tree_.unsupported(id, "a sparse tensor on another device");
      const c10::Device device = storages_.place(id, std::string(text_of(tree_, args[2], "a device").substr(0, 100)));
      if (device != data.toTensor().device()) charge(id, data.toTensor().nbytes());
      return with_grad(id, storages_.moved(id, data.toTensor(), device), boolean_of(tree_, args[3], "requires_grad"));
    }
    case Function::kQuantized: return quantized(id, args);
    case Function::kSparse: return sparse(id, args);
    default: tree_.fail(id, "no tensor");
  }
}

at::Tensor Builder::sparse(NodeId id, const std::vector<NodeId>& args) {
  const Node& layout = tree_[args[0]];
  if (layout.kind != NodeKind::kCall || call_of(args[0]).callable->function != Function::kLayout)
    tree_.fail(args[0], "the layout of a sparse tensor is none");
  std::vector<NodeId> given = tree_[args[1]].items;
  std::optional<bool> coalesced;
  // (indices, values, size, coalesced), or three indices and values, and the size.
  if (tree_[given.back()].kind == NodeKind::kBool) {
    coalesced = tree_[given.back()].boolean;
    given.pop_back();
  }
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i + 1 < given.size(); ++i) {
    const bool is_tensor = tree_[given[i]].kind == NodeKind::kCall && value(given[i], id).isTensor();
    if (!is_tensor) tree_.fail(given[i], "a part of a sparse tensor is no tensor");
    parts.push_back(value(given[i], id).toTensor());
    charge(id, parts.back().nbytes());
  }
  const auto kind = static_cast<c10::Layout>(value(args[0], id).toInt());
  return sparse_tensor(tree_, id, kind, parts, integers_of(tree_, given.back(), "the sizes"), coalesced);
}

at::Tensor Builder::quantized(NodeId id, const std::vector<NodeId>& args) {
  Storages::Geometry geometry;
  geometry.offset = integer_of(tree_, args[1], "the storage offset");
  geometry.sizes = integers_of(tree_, args[2], "the sizes");
  geometry.strides = integers_of(tree_, args[3], "the strides");
  const NodeId from = persistent(args[0]);
  const ScalarType dtype = storages_.dtype_of(from);
  if (!is_quantized(dtype)) {
    tree_.fail(args[0], c10::str("a quantized tensor over a storage of dtype ", name_of_dtype(dtype)));
  }
  if (boolean_of(tree_, args[5], "requires_grad")) tree_.fail(id, "quantized tensors cannot require gradients");
  check_hooks(args[6]);
  const c10::Storage storage = storages_.get(from, dtype);
  if (!storage.device().is_cpu()) tree_.unsupported(id, "quantized tensors on other devices than the CPU");
  if (const int64_t each = at::quantized::elements_per_byte(dtype); each != 1) {
    // What shares bytes is no dense tensor: only its geometry is looked at.
    const at::Tensor shape = storages_.tensor(id, storage, ScalarType::Byte, geometry, static_cast<uint64_t>(each));
    if (!shape.is_contiguous()) {
      tree_.unsupported(id, c10::str("strided tensors of dtype ", name_of_dtype(dtype), " are not supported"));
    }
    return at::Tensor(c10::make_intrusive<at::QTensorImpl>(storage.impl(), dtype, storage.device(), shape.sizes(),
                                                           shape.strides(), geometry.offset,
                                                           quantizer(args[4], geometry.sizes)));
  }
  const at::Tensor integers =
      storages_.tensor(id, storage, at::quantized::integers_of("torch::pickle", dtype), geometry);
  return at::quantized::make_quantized(integers, quantizer(args[4], geometry.sizes));
}

at::QuantizerPtr Builder::quantizer(NodeId id, const std::vector<int64_t>& sizes) {
  const Node& node = tree_[id];
  if (node.kind != NodeKind::kTuple || node.items.empty()) tree_.fail(id, "the quantizer of a tensor is no tuple");
  const Node& scheme = tree_[node.items[0]];
  auto made = std::make_shared<at::Quantizer>();
  const auto is = [&](std::string_view name, size_t items) {
    if (scheme.kind != NodeKind::kGlobal || scheme.module() != "torch" || scheme.name() != name) return false;
    if (node.items.size() != items) tree_.fail(id, c10::str(name, " with ", node.items.size() - 1, " parameters"));
    return true;
  };
  if (is("per_tensor_affine", 3)) {
    if (tree_[node.items[1]].kind != NodeKind::kFloat) tree_.fail(node.items[1], "the scale of a tensor is no float");
    made->scheme = c10::kPerTensorAffine;
    made->scale = tree_[node.items[1]].number;
    made->zero_point = integer_of(tree_, node.items[2], "the zero point");
    return made;
  }
  bool floats = is("per_channel_affine_float_qparams", 4);
  if (!floats && is("per_channel_affine", 4)) {
    // Python names this scheme for float zero points, too.
    const Node& zeros = tree_[node.items[2]];
    floats = zeros.kind == NodeKind::kCall && value(node.items[2], id).isTensor() &&
             value(node.items[2], id).toTensor().is_floating_point();
  } else if (!floats) {
    tree_.fail(node.items[0], "an unknown scheme of quantization");
  }
  made->scheme = floats ? c10::kPerChannelAffineFloatQParams : c10::kPerChannelAffine;
  made->scales = numbers(node.items[1], "scales", floats ? ScalarType::Float : ScalarType::Double);
  made->zero_points = numbers(node.items[2], "zero points", floats ? ScalarType::Float : ScalarType::Long);
  made->axis = integer_of(tree_, node.items[3], "the axis of the channels");
  if (made->axis < 0 || made->axis >= static_cast<int64_t>(sizes.size())) {
    tree_.fail(node.items[3],
               c10::str("the channels of a tensor of ", sizes.size(), " dimensions are along ", made->axis));
  }
  const int64_t channels = sizes[static_cast<size_t>(made->axis)];
  if (made->scales.numel() != channels || made->zero_points.numel() != channels) {
    tree_.fail(id, c10::str(made->scales.numel(), " scales and ", made->zero_points.numel(), " zero points for ",
                            channels, " channels"));
  }
  return made;
}

at::Tensor Builder::numbers(NodeId id, const char* what, ScalarType dtype) {
  const Node& node = tree_[id];
  const bool floating = dtype != ScalarType::Long;
  if (node.kind == NodeKind::kList) {
    charge_items(id, node.items.size());
    at::Tensor made = at::empty_contiguous({static_cast<int64_t>(node.items.size())}, dtype);
    for (size_t i = 0; i < node.items.size(); ++i) {
      const NodeId item = node.items[i];
      if (tree_[item].kind != NodeKind::kFloat || !floating) {
        const int64_t number = integer_of(tree_, item, what);
        if (dtype == ScalarType::Long) made.data_ptr<int64_t>()[i] = number;
        if (dtype == ScalarType::Double) made.data_ptr<double>()[i] = static_cast<double>(number);
        if (dtype == ScalarType::Float) made.data_ptr<float>()[i] = static_cast<float>(number);
      } else if (dtype == ScalarType::Double) {
        made.data_ptr<double>()[i] = tree_[item].number;
      } else {
        made.data_ptr<float>()[i] = static_cast<float>(tree_[item].number);
      }
    }
    return made;
  }
  if (node.kind != NodeKind::kCall || !value(id, id).isTensor()) tree_.fail(id, c10::str(what, " that are no tensor"));
  const at::Tensor given = value(id, id).toTensor();
  const ScalarType type = given.scalar_type();
  if (given.dim() != 1 || !given.device().is_cpu() || given.layout() != c10::Layout::Strided)
    tree_.fail(id, c10::str(what, " that are no tensor of one dimension"));
  const bool known = floating ? type == ScalarType::Double || type == ScalarType::Float
                              : type == ScalarType::Long || type == ScalarType::Int;
  if (!known) tree_.fail(id, c10::str(what, " of dtype ", name_of_dtype(type)));
  if (given.nbytes() > given.storage().nbytes())
    tree_.unsupported(id, c10::str(what, " that are larger than their storage"));
  charge(id, given.nbytes());
  const c10::NoGradGuard no_grad;
  at::Tensor made = at::empty_contiguous(given.sizes(), dtype);
  at::copy_(made, given);
  return made;
}

}  // namespace

std::vector<std::string> unknown_globals(const Tree& tree) {
  std::set<std::string> names;
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Node& node = tree[id];
    if (node.kind == NodeKind::kGlobal && !is_in_table(node)) names.insert(c10::str(node.module(), ".", node.name()));
  }
  return {names.begin(), names.end()};
}

c10::IValue to_value(const Tree& tree, StorageSource& source, const LoadOptions& options, ScriptObjects* objects) {
  return Builder(tree, source, options, objects).run();
}

}  // namespace torch::pickle
