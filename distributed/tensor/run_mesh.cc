#include "distributed/tensor/run_mesh.h"

#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "distributed/process_group/host_backend.h"
#include "distributed/testing/run_ranks.h"
#include "distributed/testing/threads_engine.h"

namespace torch::distributed::tensor::testing {

void run_mesh(const std::vector<int64_t>& shape, const std::function<void(const DeviceMesh& mesh)>& body,
              const std::vector<std::string>& names) {
  const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  // Engines of the groups along each dimension, by dimension and first rank.
  std::map<std::pair<size_t, int64_t>, std::vector<std::unique_ptr<c10d::Engine>>> engines;
  std::vector<int64_t> strides(shape.size(), 1), ranks(static_cast<size_t>(size));
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto coordinate = [&](int64_t rank, size_t d) { return rank / strides[d] % shape[d]; };
  for (size_t d = 0; d < shape.size(); ++d) {
    for (int64_t rank = 0; rank < size; ++rank) {
      if (coordinate(rank, d) == 0) engines[{d, rank}] = c10d::testing::threads_engines(static_cast<int>(shape[d]));
    }
  }
  c10d::testing::run_ranks(static_cast<int>(size), [&](int rank) {
    std::vector<DeviceMesh::Group> groups;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t place = coordinate(rank, d);
      auto& engine = engines.at({d, rank - place * strides[d]})[static_cast<size_t>(place)];
      auto options = c10::make_intrusive<c10d::HostBackend::HostOptions>("threads", std::chrono::seconds(20));
      options->threads = 1;
      auto backend = c10::make_intrusive<c10d::HostBackend>(std::move(engine), options);
      auto group = c10::make_intrusive<c10d::ProcessGroup>(static_cast<int>(place), static_cast<int>(shape[d]));
      group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::CUSTOM, backend);
      groups.push_back(std::move(group));
    }
    body(DeviceMesh(c10::DeviceType::CPU, shape, ranks, rank, groups, names));
  });
}

}  // namespace torch::distributed::tensor::testing
