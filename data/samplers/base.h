#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace torch::data::samplers {

/// Decides which examples a batch holds. Used by one thread at a time.
template <typename BatchRequest = std::vector<size_t>>
class Sampler {
 public:
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;

  /// Begins a new epoch, of `new_size` examples if given.
  virtual void reset(std::optional<size_t> new_size) = 0;
  /// The next batch's request, of up to `batch_size` examples; nullopt when the epoch is over.
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;

  /// Position and order, so that an epoch can go on in another process.
  virtual void save(serialize::OutputArchive& archive) const = 0;
  virtual void load(serialize::InputArchive& archive) = 0;
};

/// torch::save(sampler, path) and torch::load(sampler, path).
template <typename BatchRequest>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Sampler<BatchRequest>& sampler) {
  sampler.save(archive);
  return archive;
}
template <typename BatchRequest>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Sampler<BatchRequest>& sampler) {
  sampler.load(archive);
  return archive;
}

/// A request of a size instead of indices, for datasets that are streams.
struct CustomBatchRequest {
  CustomBatchRequest() = default;
  virtual ~CustomBatchRequest() = default;
  virtual size_t size() const = 0;
};

}  // namespace torch::data::samplers
