// Which gradients travel together, and whether all ranks have the same parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/process_group/process_group.h"

namespace c10d {

class Logger;

/// Sizes of buckets in bytes: the first is small, so that communication begins early.
constexpr int64_t kDefaultFirstBucketBytes = int64_t{1024} * 1024;
constexpr int64_t kDefaultBucketBytesCap = int64_t{25} * 1024 * 1024;

/// Puts tensors, in their order, into buckets of one dtype and device each. A bucket is full when it has reached its
/// limit; the k-th bucket of a dtype and device has the k-th of `bucket_size`, later ones the last. A tensor for which
/// `expect_sparse_gradient` says so is alone. Returns the tensors' numbers by bucket, and each bucket's limit.
///
/// Tensor i goes by the number tensor_indices[i], and buckets come in the order in which they filled up; without
/// `tensor_indices` tensor i goes by i, and buckets are sorted by their least number.
std::tuple<std::vector<std::vector<size_t>>, std::vector<size_t>> compute_bucket_assignment_by_size(
    const std::vector<at::Tensor>& tensors, const std::vector<size_t>& bucket_size,
    const std::vector<bool>& expect_sparse_gradient = {}, const std::vector<int64_t>& tensor_indices = {},
    const std::optional<std::weak_ptr<Logger>>& logger = {});

/// Throws, on all ranks and with the same text, unless all ranks have as many parameters of the same dtypes, sizes and
/// strides as rank 0: the text says for each rank that differs the first parameter that does, and how. `names`, where
/// given, are what parameters are called there.
void verify_params_across_processes(const c10::intrusive_ptr<ProcessGroup>& process_group,
                                    const std::vector<at::Tensor>& params,
                                    const std::optional<std::weak_ptr<Logger>>& logger = {},
                                    const std::vector<std::string>& names = {});

}  // namespace c10d
