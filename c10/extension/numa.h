// Nodes of memory. This library binds no memory to them: the answers are those of a machine without nodes.
#pragma once

#include <cstddef>

namespace c10 {

inline bool IsNUMAEnabled() {
  return false;
}
inline void NUMABind(int /*numa_node_id*/) {}
/// -1: not known.
inline int GetNUMANode(const void* /*memory*/) {
  return -1;
}
inline int GetNumNUMANodes() {
  return -1;
}
inline void NUMAMove(void* /*memory*/, size_t /*bytes*/, int /*numa_node_id*/) {}
inline int GetCurrentNUMANode() {
  return -1;
}

}  // namespace c10
