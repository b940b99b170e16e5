#pragma once

#include <cstdint>
#include <optional>

#include "c10/core/generator.h"

namespace torch::data {

/// Which worker of a DataLoader a thread is.
struct WorkerInfo {
  int64_t id;           ///< 0 ... num_workers - 1
  int64_t num_workers;
  uint64_t seed;        ///< its own: the base seed of the pass in which it was started + id
};

/// For the calling thread; nullopt outside the workers of a DataLoader. A dataset may use it to give each worker a part
/// of what it reads.
std::optional<WorkerInfo> worker_info();
inline std::optional<WorkerInfo> get_worker_info() { return worker_info(); }

/// Where random transforms and datasets draw from: in a worker, and with DataLoaderOptions::generator, a generator that
/// is seeded anew for each batch, so that a batch does not depend on who makes it; else the CPU's default one.
const at::Generator& random_generator();

namespace detail {

/// Makes the calling thread a worker, while it lives.
class WorkerScope {
 public:
  explicit WorkerScope(const WorkerInfo& info);
  ~WorkerScope();
  WorkerScope(const WorkerScope&) = delete;
  WorkerScope& operator=(const WorkerScope&) = delete;
};

/// Gives random_generator() the stream of batch `number` of a pass, while it lives.
class BatchScope {
 public:
  BatchScope(uint64_t base_seed, uint64_t number);
  ~BatchScope();
  BatchScope(const BatchScope&) = delete;
  BatchScope& operator=(const BatchScope&) = delete;
};

/// The seed of a pass: one draw of 63 bits from `generator`; without one, from the default generator's seed and the
/// number of the pass, and nothing is drawn.
uint64_t base_seed(const std::optional<at::Generator>& generator, uint64_t pass);

}  // namespace detail

}  // namespace torch::data
