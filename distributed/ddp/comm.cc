#include "distributed/ddp/comm.h"

#include <algorithm>
#include <deque>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "distributed/process_group/init.h"

namespace c10d {
namespace {

using at::Tensor;

constexpr size_t kInFlight = 2;

// Tensors that travel together, on their way.
class BroadcastWork {
 public:
  BroadcastWork(ProcessGroup& group, std::vector<Tensor> tensors, int root)
      : tensors_(std::move(tensors)), is_root_(group.getRank() == root) {
    int64_t count = 0;
    for (const Tensor& t : tensors_) count += t.numel();
    flat_ = at::empty({count}, tensors_[0].options().requires_grad(false));
    if (is_root_) for_each_part([](const Tensor& t, const Tensor& part) { part.copy_(t); });
    std::vector<Tensor> message{flat_};
    BroadcastOptions options;
    options.rootRank = root;
    work_ = group.broadcast(message, options);
  }
  void finish() {
    work_->wait();
    if (!is_root_) for_each_part([](const Tensor& t, const Tensor& part) { t.copy_(part); });
  }

 private:
  template <class Call>
  void for_each_part(const Call& call) {
    int64_t at = 0;
    for (const Tensor& t : tensors_) {
      call(t, at::view(at::narrow(flat_, 0, at, t.numel()), t.sizes()));
      at += t.numel();
    }
  }

  std::vector<Tensor> tensors_;
  bool is_root_;
  Tensor flat_;
  c10::intrusive_ptr<Work> work_;
};

Tensor rows_up_to(const Tensor& t, int64_t rows) {
  if (t.size(0) == rows) return at::contiguous(t);
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes[0] = rows;
  Tensor padded = at::zeros(sizes, t.options());
  at::narrow(padded, 0, 0, t.size(0)).copy_(t);
  return padded;
}

std::vector<Tensor> all_gather(ProcessGroup& group, const Tensor& t) {
  std::vector<std::vector<Tensor>> outputs(1);
  for (int i = 0; i < group.getSize(); ++i) outputs[0].push_back(at::empty(t.sizes(), t.options()));
  std::vector<Tensor> inputs{t};
  group.allgather(outputs, inputs)->wait();
  return outputs[0];
}

}  // namespace

c10::intrusive_ptr<ProcessGroup> group_or_default(c10::intrusive_ptr<ProcessGroup> group, const char* operation) {
  if (group) return group;
  TORCH_CHECK(is_initialized(), operation, ": expected a process group: none was given, and there is no default group");
  return get_default_group();
}

c10::Device device_of_messages(const ProcessGroup& process_group) {
  const std::vector<c10::Device> devices = process_group.getDeviceTypes();
  const c10::Device host(c10::DeviceType::CPU);
  if (devices.empty() || std::find(devices.begin(), devices.end(), host) != devices.end()) return host;
  return devices.front();
}

void broadcast_coalesced(const c10::intrusive_ptr<ProcessGroup>& process_group, at::TensorList tensors,
                         size_t buffer_size, int rank) {
  TORCH_CHECK(process_group, "broadcast_coalesced: expected a process group");
  TORCH_CHECK(rank >= 0 && rank < process_group->getSize(), "broadcast_coalesced: rank ", rank,
              " is none of a group of ", process_group->getSize());
  for (const Tensor& t : tensors) {
    TORCH_CHECK(t.defined() && t.layout() == c10::kStrided, "broadcast_coalesced: expected dense tensors");
  }
  const c10::NoGradGuard no_grad;
  std::deque<BroadcastWork> in_flight;
  std::vector<bool> is_taken(tensors.size());
  for (size_t first = 0; first < tensors.size(); ++first) {
    if (is_taken[first]) continue;
    std::vector<Tensor> together;
    size_t bytes = 0;
    for (size_t i = first; i < tensors.size(); ++i) {
      if (is_taken[i] || tensors[i].scalar_type() != tensors[first].scalar_type() ||
          tensors[i].device() != tensors[first].device()) {
        continue;
      }
      if (!together.empty() && bytes + tensors[i].nbytes() > buffer_size) break;
      is_taken[i] = true;
      bytes += tensors[i].nbytes();
      together.push_back(tensors[i]);
    }
    if (in_flight.size() == kInFlight) {
      in_flight.front().finish();
      in_flight.pop_front();
    }
    in_flight.emplace_back(*process_group, std::move(together), rank);
  }
  for (BroadcastWork& work : in_flight) work.finish();
}

Tensor all_reduce_sparse(const c10::intrusive_ptr<ProcessGroup>& process_group, const Tensor& tensor) {
  TORCH_CHECK(process_group, "all_reduce_sparse: expected a process group");
  TORCH_CHECK(tensor.defined() && tensor.layout() == c10::kSparse, "all_reduce_sparse: expected a sparse (COO) tensor");
  const c10::NoGradGuard no_grad;
  const Tensor mine = at::coalesce(tensor);
  // Rows of both: elements.
  const Tensor indices = at::contiguous(at::transpose(at::_indices(mine), 0, 1)), values = at::_values(mine);
  const std::vector<Tensor> counts = all_gather(*process_group, at::full({1}, indices.size(0), at::kLong));
  int64_t most = 0;
  for (const Tensor& count : counts) most = std::max(most, count.item<int64_t>());
  if (most == 0) return mine;
  const std::vector<Tensor> all_indices = all_gather(*process_group, rows_up_to(indices, most));
  const std::vector<Tensor> all_values = all_gather(*process_group, rows_up_to(values, most));
  std::vector<Tensor> index_parts, value_parts;
  for (size_t i = 0; i < counts.size(); ++i) {
    index_parts.push_back(at::narrow(all_indices[i], 0, 0, counts[i].item<int64_t>()));
    value_parts.push_back(at::narrow(all_values[i], 0, 0, counts[i].item<int64_t>()));
  }
  return at::coalesce(at::sparse_coo_tensor(at::contiguous(at::transpose(at::cat(index_parts), 0, 1)),
                                            at::cat(value_parts), tensor.sizes()));
}

std::vector<Tensor> GradBucket::getGradients() const {
  if (buffer_.layout() != c10::kStrided) return {buffer_};
  const c10::AutoDispatchBelowADInplaceOrView plain;
  std::vector<Tensor> gradients;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    const auto offset = static_cast<int64_t>(offsets_[i]);
    gradients.push_back(p.is_non_overlapping_and_dense()
                            ? at::as_strided(buffer_, p.sizes(), p.strides(), buffer_.storage_offset() + offset)
                            : at::view(at::narrow(buffer_, 0, offset, static_cast<int64_t>(lengths_[i])), p.sizes()));
  }
  return gradients;
}

at::Tensor detail::parseCppCommHookResult(const c10::IValue& result) {
  if (result.isTensor()) return result.toTensor();
  TORCH_CHECK(result.isTensorList(), "a comm hook's future must be of a tensor, or of a list of one");
  const std::vector<Tensor> list = result.toTensorVector();
  TORCH_CHECK(list.size() == 1, "a comm hook's future must be of one tensor, but it is of ", list.size());
  return list[0];
}

}  // namespace c10d
