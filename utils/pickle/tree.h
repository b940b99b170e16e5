// A pickle as a tree of what it says, which nothing has been done about: no name in it is looked up, nothing is called.
//
//   const Tree tree = parse(bytes, {"model.pt: data.pkl"});
//   puts(describe(tree, tree.root()).c_str());        // OrderedDict(...), with names of what would be called
//
// Protocols 2 to 5. Values that the pickle mentions twice are one node, so a tree may have circles. Parsing takes no
// C++ stack for nesting. Texts point into the bytes, which must outlive the tree.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "utils/serialize/file_error.h"

namespace torch::pickle {

using NodeId = uint32_t;
constexpr NodeId kNoNode = 0xffffffff;

enum class NodeKind : uint8_t {
  kNone,
  kBool,
  kInt,         // integer
  kLong,        // text: the bytes of a number beyond 64 bits, two's complement, little-endian
  kFloat,       // number
  kText,        // text: UTF-8, lone surrogates as Python's surrogatepass writes them
  kBytes,       // text
  kByteArray,   // text
  kList,        // items
  kTuple,       // items
  kDict,        // items: key, value, key, value ...
  kSet,         // items
  kFrozenSet,   // items
  kGlobal,      // text: the module, then NAME behind `split` bytes
  kCall,        // a(*b), and what was put into the result: items, state
  kNewObject,   // a.__new__(*b), the same
  kPersistent,  // a: the id
};

struct Node {
  NodeKind kind = NodeKind::kNone;
  bool pairs = false;     // items of a call's or object's result are keys and values
  uint16_t depth = 0;     // of what it holds, plus 1
  uint32_t offset = 0;    // in the pickle
  NodeId state = kNoNode; // BUILD's argument
  union {
    bool boolean;
    int64_t integer;
    double number;
    struct {
      NodeId a, b;
    };
    struct {
      const char* data;
      uint32_t size;
      uint32_t name_size;  // of a global's name
    } text;
  };
  std::vector<NodeId> items;
  const char* name_data = nullptr;

  Node() : integer(0) {}
  std::string_view view() const { return {text.data, text.size}; }
  // A global's module and name; "builtins" and "copyreg" for what Python 2 called them.
  std::string_view module() const;
  std::string_view name() const { return {name_data, text.name_size}; }
};

struct Source {
  std::string origin;    // "FILE: RECORD", for messages
  uint64_t offset = 0;   // of the pickle there
};

class Tree {
 public:
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }
  NodeId root() const { return root_; }
  // The pickle's bytes, STOP included.
  size_t bytes() const { return bytes_; }
  const Source& source() const { return source_; }
  // FormatError that names the file and the node's byte.
  [[noreturn]] void fail(NodeId id, const std::string& what) const;
  // The same as a NotImplementedError.
  [[noreturn]] void unsupported(NodeId id, const std::string& what) const;

 private:
  friend class Parser;
  std::deque<Node> nodes_;
  NodeId root_ = kNoNode;
  size_t bytes_ = 0;
  Source source_;
};

// Reads one pickle; bytes behind its STOP are left alone. Throws FormatError, also above 10,000 values within one
// another and above `most_nodes` values: a pickle that was packed may have a value a byte, and each takes 64.
Tree parse(std::string_view bytes, Source source, uint64_t most_nodes = kNoNode);

// Whether it is UTF-8, or that with lone surrogates.
bool is_text(std::string_view bytes);

// The tree in words, cut at `limit` characters: for people who want to know what is in a file that is refused.
std::string describe(const Tree& tree, NodeId node, size_t limit = 10000);

}  // namespace torch::pickle
