#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "utils/pickle/tree.h"
#include "utils/serialize/utf8.h"

namespace torch::pickle {
namespace {

// Names of modules and classes.
constexpr size_t kLongestName = 1000;
constexpr uint16_t kDeepest = 10000;

// Marks of depth, while it is computed; the depth of what is done is `depth - 1`.
constexpr uint16_t kNew = 0, kOpen = 0xffff;

// A lone surrogate, as Python writes it.
bool is_surrogate(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  return text.size() >= 3 && at(0) == 0xed && at(1) >= 0xa0 && at(1) <= 0xbf && (at(2) & 0xc0) == 0x80;
}

}  // namespace

bool is_text(std::string_view text) {
  while (!text.empty()) {
    size_t n = serialize::utf8_length(text);
    if (n == 0 && is_surrogate(text)) n = 3;
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string_view Node::module() const {
  if (view() == "__builtin__") return "builtins";
  if (view() == "copy_reg") return "copyreg";
  return view();
}

void Tree::fail(NodeId id, const std::string& what) const {
  serialize::throw_format_error(
      c10::str("pickle: ", source_.origin, " at byte ", source_.offset + nodes_[id].offset, ": ", what));
}

void Tree::unsupported(NodeId id, const std::string& what) const {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "pickle: ", source_.origin, " at byte ", source_.offset + nodes_[id].offset, ": ",
                              what);
}

class Parser {
 public:
  Parser(std::string_view bytes, Source source, uint64_t most_nodes) : bytes_(bytes), most_nodes_(most_nodes) {
    tree_.source_ = std::move(source);
  }

  Tree run() {
    if (bytes_.size() > 0xfffffff0u) fail("a pickle of more than 4 GiB");
    while (!done_) {
      start_ = at_;
      step(static_cast<unsigned char>(take(1)[0]));
    }
    tree_.bytes_ = at_;
    check_depth();
    return std::move(tree_);
  }

 private:
  static constexpr NodeId kMark = 0xfffffffe;

  [[noreturn]] void fail(const std::string& what) const {
    serialize::throw_format_error(
        c10::str("pickle: ", tree_.source_.origin, " at byte ", tree_.source_.offset + start_, ": ", what));
  }

  std::string_view take(uint64_t n) {
    if (n > bytes_.size() - at_) fail(c10::str("the pickle ends within an item of ", n, " bytes"));
    const std::string_view out = bytes_.substr(at_, n);
    at_ += n;
    return out;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos || end - at_ > kLongestName)
      fail("a name without an end, or one longer than 1000 bytes");
    const std::string_view out = take(end - at_);
    take(1);
    return out;
  }

  NodeId make(NodeKind kind) {
    if (tree_.nodes_.size() >= most_nodes_) fail(c10::str("more than ", most_nodes_, " values in a file of this size"));
    tree_.nodes_.emplace_back();
    Node& node = tree_.nodes_.back();
    node.kind = kind;
    node.offset = static_cast<uint32_t>(start_);
    return static_cast<NodeId>(tree_.nodes_.size() - 1);
  }
  Node& node(NodeId id) { return tree_.nodes_[id]; }

  NodeId pop() {
    if (stack_.empty() || stack_.back() == kMark) fail("the stack is empty");
    const NodeId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  NodeId top() {
    if (stack_.empty() || stack_.back() == kMark) fail("the stack is empty");
    return stack_.back();
  }
  void push(NodeId id) { stack_.push_back(id); }
  // The items above the last MARK, which goes with them.
  std::vector<NodeId> pop_to_mark() {
    if (marks_.empty()) fail("there is no MARK");
    const size_t mark = marks_.back();
    marks_.pop_back();
    std::vector<NodeId> items(stack_.begin() + static_cast<ptrdiff_t>(mark) + 1, stack_.end());
    stack_.resize(mark);
    return items;
  }

  // What the node holds, one after another; kNoNode behind the last.
  static NodeId held(const Node& node, size_t i) {
    if (i < node.items.size()) return node.items[i];
    i -= node.items.size();
    if (node.kind == NodeKind::kPersistent) return i == 0 ? node.a : kNoNode;
    if (node.kind != NodeKind::kCall && node.kind != NodeKind::kNewObject) return kNoNode;
    return i == 0 ? node.a : i == 1 ? node.b : i == 2 ? node.state : kNoNode;
  }
  // Walks through the finished tree: containers may be filled long after they were put into others. What holds itself
  // counts once.
  void check_depth() {
    struct Step {
      NodeId id;
      size_t next;
    };
    std::vector<Step> open = {{tree_.root_, 0}};
    while (!open.empty()) {
      Node& at = node(open.back().id);
      if (open.back().next == 0) at.depth = kOpen;
      const NodeId child = held(at, open.back().next++);
      if (child == kNoNode) {
        uint16_t depth = 0;
        for (size_t i = 0; i + 1 < open.back().next; ++i) {
          const uint16_t below = node(held(at, i)).depth;
          if (below != kOpen) depth = std::max(depth, below);
        }
        if (depth > kDeepest) too_deep(open.back().id);
        at.depth = depth + 1;
        open.pop_back();
      } else if (node(child).depth == kNew) {
        if (open.size() > kDeepest) too_deep(child);
        open.push_back({child, 0});
      }
    }
  }
  [[noreturn]] void too_deep(NodeId id) const {
    tree_.fail(id, c10::str("more than ", kDeepest, " values within one another"));
  }
  void plain(NodeKind kind) { push(make(kind)); }
  // None, True, False and the numbers 0 to 255 are one node each.
  bool known(size_t place) {
    NodeId& id = small_[place];
    const bool fresh = id == kNoNode;
    if (fresh) id = static_cast<NodeId>(tree_.nodes_.size());
    if (!fresh) push(id);
    return !fresh;
  }
  void none() {
    if (!known(258)) plain(NodeKind::kNone);
  }
  void boolean(bool value) {
    if (known(value ? 257 : 256)) return;
    plain(NodeKind::kBool);
    node(top()).boolean = value;
  }
  void integer(int64_t value) {
    if (value >= 0 && value < 256 && known(static_cast<size_t>(value))) return;
    plain(NodeKind::kInt);
    node(top()).integer = value;
  }
  void bytes(NodeKind kind, uint64_t size) {
    const std::string_view data = take(size);
    if (kind == NodeKind::kText && !is_text(data)) fail("a text is not UTF-8");
    plain(kind);
    node(top()).text = {data.data(), static_cast<uint32_t>(size), 0};
  }
  void long_integer(uint64_t size) {
    const std::string_view data = take(size);
    if (size <= 8) {
      uint64_t value = 0;
      std::memcpy(&value, data.data(), size);
      if (size > 0 && size < 8 && (data[size - 1] & 0x80) != 0) value |= ~uint64_t{0} << (8 * size);
      return integer(static_cast<int64_t>(value));
    }
    plain(NodeKind::kLong);
    node(top()).text = {data.data(), static_cast<uint32_t>(size), 0};
  }
  void tuple(size_t n) {
    std::vector<NodeId> items(n);
    for (size_t i = n; i-- > 0;) items[i] = pop();
    plain(NodeKind::kTuple);
    node(top()).items = std::move(items);
  }
  void global(std::string_view module, std::string_view name) {
    if (module.empty() || name.empty()) fail("a global without a name");
    if (!is_text(module) || !is_text(name)) fail("a global's name is not UTF-8");
    plain(NodeKind::kGlobal);
    Node& made = node(top());
    made.text = {module.data(), static_cast<uint32_t>(module.size()), static_cast<uint32_t>(name.size())};
    made.name_data = name.data();
  }
  void call(NodeKind kind) {
    const NodeId args = pop(), callable = pop();
    if (node(args).kind != NodeKind::kTuple && !is_typed_argument(callable))
      fail("the arguments of a call are no tuple");
    plain(kind);
    node(top()).a = callable;
    node(top()).b = args;
  }
  // TorchScript writes an enumeration's value as it is.
  bool is_typed_argument(NodeId callable) {
    return node(callable).kind == NodeKind::kGlobal && node(callable).view().substr(0, 9) == "__torch__";
  }

  void append(const std::vector<NodeId>& added) {
    Node& list = node(top());
    const bool result = list.kind == NodeKind::kCall || list.kind == NodeKind::kNewObject;
    if (list.kind != NodeKind::kList && (!result || list.pairs)) fail("APPEND to what is no list");
    list.items.insert(list.items.end(), added.begin(), added.end());
  }
  void set_items(const std::vector<NodeId>& added) {
    Node& dict = node(top());
    const bool result = dict.kind == NodeKind::kCall || dict.kind == NodeKind::kNewObject;
    if (dict.kind != NodeKind::kDict && (!result || (!dict.pairs && !dict.items.empty())))
      fail("SETITEM on what is no dict");
    if (added.size() % 2 != 0) fail("a key without a value");
    dict.pairs = true;
    dict.items.insert(dict.items.end(), added.begin(), added.end());
  }
  void add_items(const std::vector<NodeId>& added) {
    Node& set = node(top());
    if (set.kind != NodeKind::kSet) fail("ADDITEMS to what is no set");
    set.items.insert(set.items.end(), added.begin(), added.end());
  }
  void build() {
    const NodeId state = pop();
    Node& object = node(top());
    if (object.kind != NodeKind::kCall && object.kind != NodeKind::kNewObject) fail("BUILD on what is no object");
    if (object.state != kNoNode) fail("BUILD comes twice");
    object.state = state;
  }

  // An entry takes at least one byte of the file, so a table of that many is no more than the file.
  void put(uint32_t index) {
    const NodeId value = top();
    if (index < at_) {
      if (index >= memo_.size()) memo_.resize(index + 1, kNoNode);
      memo_[index] = value;
    } else {
      far_memo_[index] = value;
    }
    ++memoized_;
  }
  void fetch(uint32_t index) {
    NodeId value = kNoNode;
    if (index < memo_.size()) value = memo_[index];
    if (value == kNoNode) {
      const auto found = far_memo_.find(index);
      if (found != far_memo_.end()) value = found->second;
    }
    if (value == kNoNode) fail(c10::str("nothing was put into place ", index, " of the memo"));
    push(value);
  }

  void step(unsigned char op);
  void step_containers(unsigned char op);

  std::string_view bytes_;
  uint64_t most_nodes_;
  size_t at_ = 0;
  size_t start_ = 0;
  bool done_ = false;
  Tree tree_;
  std::vector<NodeId> stack_;
  std::vector<size_t> marks_;
  std::vector<NodeId> memo_;
  std::unordered_map<uint32_t, NodeId> far_memo_;
  uint32_t memoized_ = 0;
  std::vector<NodeId> small_ = std::vector<NodeId>(259, kNoNode);
};

void Parser::step(unsigned char op) {
  switch (op) {
    case 0x80: {
      const int protocol = number<uint8_t>();
      if (protocol > 5) fail(c10::str("pickle protocol ", protocol, " is not supported"));
      return;
    }
    case 0x95:  // FRAME
      if (number<uint64_t>() > bytes_.size() - at_) fail("a frame reaches past the pickle's end");
      return;
    case '.':
      tree_.root_ = pop();
      done_ = true;
      return;
    case 'N': return none();
    case 0x88: return boolean(true);
    case 0x89: return boolean(false);
    case 'K': return integer(number<uint8_t>());
    case 'M': return integer(number<uint16_t>());
    case 'J': return integer(number<int32_t>());
    case 0x8a: return long_integer(number<uint8_t>());
    case 0x8b: {
      const int32_t size = number<int32_t>();
      if (size < 0) fail("an integer of a negative number of bytes");
      return long_integer(static_cast<uint64_t>(size));
    }
    case 'G': {
      const uint64_t bits = __builtin_bswap64(number<uint64_t>());
      plain(NodeKind::kFloat);
      node(top()).number = std::bit_cast<double>(bits);
      return;
    }
    case 'X': return bytes(NodeKind::kText, number<uint32_t>());
    case 0x8c: return bytes(NodeKind::kText, number<uint8_t>());
    case 0x8d: return bytes(NodeKind::kText, number<uint64_t>());
    case 'U': return bytes(NodeKind::kText, number<uint8_t>());  // Python 2's str
    case 'T': return bytes(NodeKind::kText, number<uint32_t>());
    case 'C': return bytes(NodeKind::kBytes, number<uint8_t>());
    case 'B': return bytes(NodeKind::kBytes, number<uint32_t>());
    case 0x8e: return bytes(NodeKind::kBytes, number<uint64_t>());
    case 0x96: return bytes(NodeKind::kByteArray, number<uint64_t>());
    case 'q': return put(number<uint8_t>());
    case 'r': return put(number<uint32_t>());
    case 0x94: return put(memoized_);
    case 'h': return fetch(number<uint8_t>());
    case 'j': return fetch(number<uint32_t>());
    case 'c': {
      const std::string_view module = line();
      return global(module, line());
    }
    case 0x93: {
      const NodeId name = pop(), module = pop();
      if (node(name).kind != NodeKind::kText || node(module).kind != NodeKind::kText)
        fail("a global's name is no text");
      if (node(name).view().size() > kLongestName || node(module).view().size() > kLongestName) {
        fail("a name longer than 1000 bytes");
      }
      return global(node(module).view(), node(name).view());
    }
    default: return step_containers(op);
  }
}

void Parser::step_containers(unsigned char op) {
  switch (op) {
    case '(':
      marks_.push_back(stack_.size());
      return push(kMark);
    case '0':
      if (!stack_.empty() && stack_.back() == kMark) {
        stack_.pop_back();
        marks_.pop_back();
        return;
      }
      pop();
      return;
    case '1': pop_to_mark(); return;
    case ')': return plain(NodeKind::kTuple);
    case 0x85: return tuple(1);
    case 0x86: return tuple(2);
    case 0x87: return tuple(3);
    case 't': {
      std::vector<NodeId> items = pop_to_mark();
      plain(NodeKind::kTuple);
      node(top()).items = std::move(items);
      return;
    }
    case ']': return plain(NodeKind::kList);
    case 'a': {
      const NodeId item = pop();
      return append({item});
    }
    case 'e': return append(pop_to_mark());
    case '}': return plain(NodeKind::kDict);
    case 's': {
      const NodeId value = pop(), key = pop();
      return set_items({key, value});
    }
    case 'u': return set_items(pop_to_mark());
    case 0x8f: return plain(NodeKind::kSet);
    case 0x90: return add_items(pop_to_mark());
    case 0x91: {
      std::vector<NodeId> items = pop_to_mark();
      plain(NodeKind::kFrozenSet);
      node(top()).items = std::move(items);
      return;
    }
    case 'R': return call(NodeKind::kCall);
    case 0x81: return call(NodeKind::kNewObject);
    case 'b': return build();
    case 'Q': {
      const NodeId id = pop();
      plain(NodeKind::kPersistent);
      node(top()).a = id;
      return;
    }
    default: fail(c10::str("Unsupported operand ", static_cast<int>(op)));
  }
}

Tree parse(std::string_view bytes, Source source, uint64_t most_nodes) {
  return Parser(bytes, std::move(source), most_nodes).run();
}

std::string describe(const Tree& tree, NodeId root, size_t limit) {
  std::string out;
  // What is to be written yet, the next one last: a node, or a piece of text.
  struct Piece {
    NodeId node;
    const char* text;
  };
  std::vector<Piece> left = {{root, nullptr}};
  const auto items_of = [&](const Node& node, bool pairs, const char* open, const char* close) {
    left.push_back({kNoNode, close});
    for (size_t i = node.items.size(); i-- > 0;) {
      left.push_back({node.items[i], nullptr});
      if (i > 0) left.push_back({kNoNode, pairs && i % 2 == 1 ? ": " : ", "});
    }
    left.push_back({kNoNode, open});
  };
  while (!left.empty() && out.size() < limit) {
    const Piece piece = left.back();
    left.pop_back();
    if (piece.text != nullptr) {
      out += piece.text;
      continue;
    }
    const Node& node = tree[piece.node];
    switch (node.kind) {
      case NodeKind::kNone: out += "None"; break;
      case NodeKind::kBool: out += node.boolean ? "True" : "False"; break;
      case NodeKind::kInt: out += std::to_string(node.integer); break;
      case NodeKind::kLong: out += c10::str("<integer of ", node.text.size, " bytes>"); break;
      case NodeKind::kFloat: out += c10::str(node.number); break;
      case NodeKind::kText: out += c10::str("'", node.view().substr(0, limit), "'"); break;
      case NodeKind::kBytes:
      case NodeKind::kByteArray: out += c10::str("<", node.text.size, " bytes>"); break;
      case NodeKind::kList: items_of(node, false, "[", "]"); break;
      case NodeKind::kTuple: items_of(node, false, "(", ")"); break;
      case NodeKind::kDict: items_of(node, true, "{", "}"); break;
      case NodeKind::kSet: items_of(node, false, "{", "}"); break;
      case NodeKind::kFrozenSet: items_of(node, false, "frozenset(", ")"); break;
      case NodeKind::kGlobal: out += c10::str(node.module(), ".", node.name()); break;
      case NodeKind::kPersistent:
        out += "persistent";
        left.push_back({node.a, nullptr});
        break;
      case NodeKind::kCall:
      case NodeKind::kNewObject:
        if (node.state != kNoNode) {
          left.push_back({node.state, nullptr});
          left.push_back({kNoNode, " with state "});
        }
        if (!node.items.empty()) items_of(node, node.pairs, node.pairs ? "{" : "[", node.pairs ? "}" : "]");
        left.push_back({node.b, nullptr});
        left.push_back({node.a, nullptr});
        break;
    }
  }
  if (out.size() > limit) out.resize(limit);
  return out;
}

}  // namespace torch::pickle
