#include "distributed/ddp/bucket_assignment.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/ddp/comm.h"

namespace c10d {
namespace {

using at::Tensor;

// dtype, dimensions, sizes, strides of each.
std::vector<int64_t> described(const std::vector<Tensor>& params) {
  std::vector<int64_t> text;
  for (const Tensor& p : params) {
    text.push_back(static_cast<int64_t>(p.scalar_type()));
    text.push_back(p.dim());
    for (const int64_t size : p.sizes()) text.push_back(size);
    for (const int64_t stride : p.strides()) text.push_back(stride);
  }
  return text;
}

std::string to_text(const std::vector<int64_t>& words, size_t& at) {
  const auto dtype = static_cast<c10::ScalarType>(words[at++]);
  const auto dim = static_cast<size_t>(words[at++]);
  const c10::IntArrayRef sizes(words.data() + at, dim), strides(words.data() + at + dim, dim);
  at += 2 * dim;
  return c10::str(c10::toString(dtype), " ", sizes, " with strides ", strides);
}

Tensor to_tensor(const std::vector<int64_t>& words) {
  Tensor t = at::empty({static_cast<int64_t>(words.size())}, at::kLong);
  std::copy(words.begin(), words.end(), t.mutable_data_ptr<int64_t>());
  return t;
}

std::vector<int64_t> from_rank_0(ProcessGroup& group, const std::vector<int64_t>& mine) {
  const c10::Device device = device_of_messages(group);
  std::vector<Tensor> size{to_tensor({static_cast<int64_t>(mine.size())}).to(device)};
  group.broadcast(size)->wait();
  const auto count = size[0].item<int64_t>();
  std::vector<Tensor> words{(group.getRank() == 0 ? to_tensor(mine) : at::empty({count}, at::kLong)).to(device)};
  if (count != 0) group.broadcast(words)->wait();
  const Tensor received = words[0].to(at::kCPU);
  const auto* const data = received.const_data_ptr<int64_t>();
  return std::vector<int64_t>(data, data + count);
}

// What of mine is not as rank 0's; "" for nothing.
std::string difference(const std::vector<int64_t>& mine, const std::vector<int64_t>& theirs, size_t count,
                       const std::vector<std::string>& names) {
  size_t a = 0, b = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::string of =
        i < names.size() ? c10::str("parameter ", i, " (", names[i], ")") : c10::str("parameter ", i);
    if (b == theirs.size()) return c10::str(of, " is one that rank 0 has not got (it has ", i, ")");
    const std::string here = to_text(mine, a), there = to_text(theirs, b);
    if (here != there) return c10::str(of, " is ", here, ", but on rank 0 ", there);
  }
  if (b == theirs.size()) return "";
  return c10::str("there are ", count, " parameters, but rank 0 has more");
}

constexpr int64_t kText = 240;

}  // namespace

std::tuple<std::vector<std::vector<size_t>>, std::vector<size_t>> compute_bucket_assignment_by_size(
    const std::vector<Tensor>& tensors, const std::vector<size_t>& bucket_size,
    const std::vector<bool>& expect_sparse_gradient, const std::vector<int64_t>& tensor_indices,
    const std::optional<std::weak_ptr<Logger>>& /*logger*/) {
  TORCH_CHECK(expect_sparse_gradient.empty() || expect_sparse_gradient.size() == tensors.size(),
              "compute_bucket_assignment_by_size: expect_sparse_gradient has ", expect_sparse_gradient.size(),
              " entries for ", tensors.size(), " tensors");
  TORCH_CHECK(tensor_indices.empty() || tensor_indices.size() == tensors.size(),
              "compute_bucket_assignment_by_size: tensor_indices has ", tensor_indices.size(), " entries for ",
              tensors.size(), " tensors");
  TORCH_CHECK(!tensors.empty(), "compute_bucket_assignment_by_size: expected one tensor or more");
  TORCH_CHECK(!bucket_size.empty(), "compute_bucket_assignment_by_size: expected one limit or more in bucket_size");
  struct Open {
    std::vector<size_t> indices;
    size_t bytes = 0;
    size_t number = 0;  // of the bucket among those of its kind
  };
  std::vector<std::pair<std::vector<size_t>, size_t>> done;
  std::map<std::pair<c10::ScalarType, std::string>, Open> open;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    TORCH_CHECK(t.defined() && t.layout() == c10::kStrided, "compute_bucket_assignment_by_size: tensor ", i,
                " is undefined, or not dense");
    const size_t index = tensor_indices.empty() ? i : static_cast<size_t>(tensor_indices[i]);
    if (!expect_sparse_gradient.empty() && expect_sparse_gradient[i]) {
      done.push_back({{index}, 0});
      continue;
    }
    Open& bucket = open[{t.scalar_type(), t.device().str()}];
    bucket.indices.push_back(index);
    bucket.bytes += t.nbytes();
    const size_t limit = bucket_size[std::min(bucket.number, bucket_size.size() - 1)];
    if (bucket.bytes < limit) continue;
    done.emplace_back(std::move(bucket.indices), limit);
    bucket = Open{.number = bucket.number + 1};
  }
  std::vector<std::pair<std::vector<size_t>, size_t>> rest;
  for (auto& [kind, bucket] : open) {
    if (bucket.indices.empty()) continue;
    rest.emplace_back(std::move(bucket.indices), bucket_size[std::min(bucket.number, bucket_size.size() - 1)]);
  }
  if (tensor_indices.empty()) {
    done.insert(done.end(), rest.begin(), rest.end());
    std::sort(done.begin(), done.end(), [](const auto& a, const auto& b) {
      return *std::min_element(a.first.begin(), a.first.end()) < *std::min_element(b.first.begin(), b.first.end());
    });
  } else {
    // By the place of their last tensor, as those that filled up.
    const auto place = [&](size_t index) {
      return std::find(tensor_indices.begin(), tensor_indices.end(), static_cast<int64_t>(index));
    };
    std::sort(rest.begin(), rest.end(),
              [&](const auto& a, const auto& b) { return place(a.first.back()) < place(b.first.back()); });
    done.insert(done.end(), rest.begin(), rest.end());
  }
  std::vector<std::vector<size_t>> indices;
  std::vector<size_t> limits;
  for (auto& [bucket, limit] : done) {
    indices.push_back(std::move(bucket));
    limits.push_back(limit);
  }
  return {std::move(indices), std::move(limits)};
}

void verify_params_across_processes(const c10::intrusive_ptr<ProcessGroup>& process_group,
                                    const std::vector<Tensor>& params,
                                    const std::optional<std::weak_ptr<Logger>>& /*logger*/,
                                    const std::vector<std::string>& names) {
  TORCH_CHECK(process_group, "verify_params_across_processes: expected a process group");
  ProcessGroup& group = *process_group;
  if (group.getSize() == 1) return;
  const std::vector<int64_t> mine = described(params);
  std::string text = difference(mine, from_rank_0(group, mine), params.size(), names);
  text.resize(std::min(text.size(), static_cast<size_t>(kText)));
  // Everybody must know that somebody differs, and who.
  std::vector<Tensor> message{at::zeros({kText}, at::kByte)};
  if (!text.empty()) std::memcpy(message[0].mutable_data_ptr(), text.data(), text.size());
  message[0] = message[0].to(device_of_messages(group));
  std::vector<std::vector<Tensor>> all(1);
  for (int i = 0; i < group.getSize(); ++i) all[0].push_back(at::empty_like(message[0]));
  group.allgather(all, message)->wait();
  std::string problems;
  for (int i = 0; i < group.getSize(); ++i) {
    const Tensor received = all[0][static_cast<size_t>(i)].to(at::kCPU);
    const auto* const data = static_cast<const char*>(received.const_data_ptr());
    const std::string said(data, strnlen(data, static_cast<size_t>(kText)));
    if (!said.empty()) problems += c10::str("; rank ", i, ": ", said);
  }
  TORCH_CHECK(problems.empty(), "DistributedDataParallel: the ranks do not have the same parameters", problems);
}

}  // namespace c10d
