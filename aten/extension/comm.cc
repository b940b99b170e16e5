#include "aten/extension/comm.h"

#include <map>
#include <utility>

#include "aten/extension/tensor_flatten.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"

namespace torch::comm {
namespace {

// The places of dense tensors of one dtype that go together.
std::vector<std::vector<size_t>> groups_of(at::TensorList tensors, size_t buffer_size) {
  std::vector<std::vector<size_t>> groups;
  struct Open {
    size_t group, bytes;
  };
  std::map<c10::ScalarType, Open> open;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].layout() != c10::kStrided) continue;
    const size_t bytes = tensors[i].nbytes();
    const auto [last, is_new] = open.try_emplace(tensors[i].scalar_type(), Open{groups.size(), 0});
    if (is_new || last->second.bytes + bytes > buffer_size) {
      last->second = {groups.size(), 0};
      groups.emplace_back();
    }
    groups[last->second.group].push_back(i);
    last->second.bytes += bytes;
  }
  return groups;
}

std::vector<at::Tensor> at_places(at::TensorList tensors, const std::vector<size_t>& places) {
  std::vector<at::Tensor> all;
  for (const size_t i : places) all.push_back(tensors[i]);
  return all;
}

void put_at_places(std::vector<at::Tensor>&& parts, const std::vector<size_t>& places, std::vector<at::Tensor>& all) {
  for (size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move(parts[i]);
}

}  // namespace

at::Tensor moved(const at::Tensor& tensor, const at::Device& device) {
  if (tensor.device() == device) return tensor;
  // What the host reads must be there.
  return at::to(tensor, tensor.options().device(device), /*non_blocking=*/!device.is_cpu(), false, std::nullopt);
}

std::vector<at::Tensor> broadcast(const at::Tensor& tensor, const std::vector<at::Device>& devices) {
  std::vector<at::Tensor> all;
  for (const at::Device& device : devices) all.push_back(moved(tensor, device));
  return all;
}

TensorLists broadcast_coalesced(at::TensorList tensors, const std::vector<at::Device>& devices, size_t buffer_size) {
  TORCH_CHECK(!devices.empty(), "Expected at least one device to broadcast to");
  for (const at::Tensor& t : tensors) {
    TORCH_CHECK(t.device() == devices[0], "all tensors must be on ", devices[0],
                ", the first of the devices, but one is on ", t.device());
  }
  TensorLists all(devices.size(), std::vector<at::Tensor>(tensors.size()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t device = 0; device < devices.size(); ++device) {
      const bool alone = tensors[i].layout() != c10::kStrided || devices[device] == devices[0];
      if (alone) all[device][i] = moved(tensors[i], devices[device]);
    }
  }
  for (const std::vector<size_t>& places : groups_of(tensors, buffer_size)) {
    const std::vector<at::Tensor> group = at_places(tensors, places);
    const at::Tensor flat = utils::flatten_dense_tensors(group);
    for (size_t device = 1; device < devices.size(); ++device) {
      if (devices[device] == devices[0]) continue;
      put_at_places(utils::unflatten_dense_tensors(moved(flat, devices[device]), group), places, all[device]);
    }
  }
  return all;
}

std::vector<at::Tensor> parts_for(const at::Tensor& tensor, size_t devices,
                                  const std::optional<std::vector<int64_t>>& chunk_sizes, int64_t dim) {
  TORCH_CHECK(devices > 0, "Expected at least one device to scatter to");
  TORCH_CHECK(!chunk_sizes.has_value() || chunk_sizes->size() == devices,
              "Expected devices and chunk_sizes to be of same length, but got len(devices) = ", devices,
              " and len(chunk_sizes) = ", chunk_sizes.has_value() ? chunk_sizes->size() : 0);
  return chunk_sizes.has_value() ? at::split_with_sizes(tensor, *chunk_sizes, dim)
                                 : at::chunk(tensor, static_cast<int64_t>(devices), dim);
}

std::vector<at::Tensor> scatter(const at::Tensor& tensor, const std::vector<at::Device>& devices,
                                const std::optional<std::vector<int64_t>>& chunk_sizes, int64_t dim) {
  std::vector<at::Tensor> parts = parts_for(tensor, devices.size(), chunk_sizes, dim);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = moved(parts[i], devices[i]);
  return parts;
}

at::Tensor gather(const std::vector<at::Tensor>& tensors, int64_t dim, const at::Device& destination) {
  TORCH_CHECK(!tensors.empty(), "Expected at least one tensor to gather from");
  bool numbers = dim == 0;
  for (const at::Tensor& t : tensors) numbers = numbers && t.dim() == 0;
  std::vector<at::Tensor> all;
  for (const at::Tensor& t : tensors) {
    const at::Tensor here = moved(t, destination);
    all.push_back(numbers ? at::unsqueeze(here, 0) : here);
  }
  return at::cat(all, dim);
}

at::Tensor reduce_add(const std::vector<at::Tensor>& tensors, const at::Device& destination) {
  at::Tensor sum;
  for (const at::Tensor& t : tensors) {
    if (!t.defined()) continue;
    TORCH_CHECK(!sum.defined() || sum.sizes() == t.sizes(), "reduce_add: expected tensors of size ", sum.sizes(),
                ", but got one of size ", t.sizes());
    const at::Tensor here = moved(t, destination);
    sum = sum.defined() ? at::add(sum, here) : here;
  }
  return sum;
}

std::vector<at::Tensor> reduce_add_coalesced(const TensorLists& inputs, const at::Device& destination,
                                             size_t buffer_size) {
  TORCH_CHECK(!inputs.empty(), "reduce_add_coalesced: expected tensors of at least one device");
  const std::vector<at::Tensor>& first = inputs[0];
  for (const std::vector<at::Tensor>& of_device : inputs) {
    TORCH_CHECK(of_device.size() == first.size(), "reduce_add_coalesced: expected ", first.size(),
                " tensors of each device, but got ", of_device.size());
    for (size_t i = 0; i < first.size(); ++i) {
      TORCH_CHECK(of_device[i].sizes() == first[i].sizes() && of_device[i].scalar_type() == first[i].scalar_type() &&
                      of_device[i].layout() == first[i].layout() && of_device[i].device() == of_device[0].device(),
                  "reduce_add_coalesced: tensor ", i, " of each device is expected to be of size ", first[i].sizes(),
                  " and dtype ", first[i].scalar_type(), ", on the same device as the others of its list");
    }
  }
  std::vector<at::Tensor> all(first.size());
  for (const std::vector<size_t>& places : groups_of(first, buffer_size)) {
    std::vector<at::Tensor> flat;
    for (const auto& of_device : inputs) flat.push_back(utils::flatten_dense_tensors(at_places(of_device, places)));
    put_at_places(utils::unflatten_dense_tensors(reduce_add(flat, destination), at_places(first, places)), places, all);
  }
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i].layout() == c10::kStrided) continue;
    std::vector<at::Tensor> sparse;
    for (const auto& of_device : inputs) sparse.push_back(of_device[i]);
    all[i] = reduce_add(sparse, destination);
  }
  return all;
}

}  // namespace torch::comm
