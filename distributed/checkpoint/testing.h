// What tests of checkpoints have in common.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "aten/aten.h"
#include "c10/value/ivalue.h"
#include "distributed/ddp/testing/group.h"
#include "distributed/tensor/device_mesh.h"

namespace torch::distributed::checkpoint::testing {

inline std::string new_folder() {
  const char* const root = std::getenv("TEST_TMPDIR");
  std::string name = std::string(root != nullptr ? root : "/tmp") + "/ckpt.XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  return name + "/run";
}

inline std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// first, first + 1, ...
inline at::Tensor counted(at::IntArrayRef sizes, double first = 0, c10::ScalarType dtype = c10::kFloat) {
  return at::arange(at::empty(sizes, at::kMeta).numel(), at::kDouble).add(first).view(sizes).to(dtype);
}

inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::Error& e) {
    return e.msg();
  }
  return "";
}

inline void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

inline c10::IValue dict(std::initializer_list<std::pair<c10::IValue, c10::IValue>> entries) {
  c10::Dict<c10::IValue, c10::IValue> made;
  for (const auto& [key, value] : entries) made.insert(key, value);
  return made;
}

// Threads as ranks, with a group of all and a mesh. Groups along the mesh have no backends: placing a tensor that every
// rank has takes none.
inline void with_mesh(const std::vector<int64_t>& shape,
                      const std::function<void(const tensor::DeviceMesh&, const c10d::testing::Group&)>& body) {
  int size = 1;
  for (const int64_t n : shape) size *= static_cast<int>(n);
  c10d::testing::run_group(size, [&](int rank, const c10d::testing::Group& group) {
    std::vector<int64_t> ranks(static_cast<size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<tensor::DeviceMesh::Group> groups;
    int64_t stride = size;
    for (const int64_t n : shape) {
      stride /= n;
      groups.push_back(
          c10::make_intrusive<c10d::ProcessGroup>(static_cast<int>(rank / stride % n), static_cast<int>(n)));
    }
    body(tensor::DeviceMesh(c10::kCPU, shape, ranks, rank, groups), group);
  });
}

}  // namespace torch::distributed::checkpoint::testing
