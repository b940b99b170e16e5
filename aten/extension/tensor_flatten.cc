#include "aten/extension/tensor_flatten.h"

#include <map>
#include <tuple>

#include "aten/core/empty.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::utils {
namespace {

using Kind = std::tuple<c10::ScalarType, c10::DeviceType, c10::DeviceIndex, c10::Layout>;
Kind kind_of(const at::Tensor& t) { return {t.scalar_type(), t.device().type(), t.device().index(), t.layout()}; }

}  // namespace

at::Tensor flatten_dense_tensors(at::TensorList tensors) {
  TORCH_CHECK(!tensors.empty(), "flatten_dense_tensors: expected at least one tensor");
  std::vector<at::Tensor> parts;
  parts.reserve(tensors.size());
  for (const at::Tensor& t : tensors) {
    TORCH_CHECK(t.scalar_type() == tensors[0].scalar_type(), "flatten_dense_tensors: expected tensors of dtype ",
                tensors[0].scalar_type(), ", but got ", t.scalar_type());
    parts.push_back(at::reshape(t, {-1}));
  }
  return at::cat(parts);
}

std::vector<at::Tensor> unflatten_dense_tensors(const at::Tensor& flat, at::TensorList tensors) {
  int64_t total = 0;
  for (const at::Tensor& t : tensors) total += t.numel();
  TORCH_CHECK(flat.dim() == 1 && flat.numel() == total, "unflatten_dense_tensors: a tensor of sizes ", flat.sizes(),
              " does not hold the ", total, " elements");
  std::vector<at::Tensor> parts;
  parts.reserve(tensors.size());
  int64_t begin = 0;
  for (const at::Tensor& t : tensors) {
    // What has no elements shares nothing: it may be resized by itself.
    parts.push_back(t.numel() == 0 ? at::empty_contiguous(t.sizes(), flat.scalar_type(), flat.device())
                                   : at::view(at::narrow(flat, 0, begin, t.numel()), t.sizes()));
    begin += t.numel();
  }
  return parts;
}

std::vector<TensorGroup> take_tensors(at::TensorList tensors, size_t size_limit, bool fine_grained) {
  std::vector<TensorGroup> done;
  std::map<Kind, TensorGroup> open;
  for (const at::Tensor& t : tensors) {
    const bool sparse = t.layout() != c10::kStrided;
    const size_t bytes = sparse ? 0 : t.nbytes();
    if (fine_grained && sparse) {
      for (auto& entry : open) {
        if (!entry.second.tensors.empty()) done.push_back(std::move(entry.second));
      }
      open.clear();
      done.push_back({{t}, bytes});
      continue;
    }
    TensorGroup& group = open[kind_of(t)];
    if (!group.tensors.empty() && group.size + bytes > size_limit) done.push_back(std::exchange(group, {}));
    group.tensors.push_back(t);
    group.size += bytes;
  }
  for (auto& entry : open) {
    if (!entry.second.tensors.empty()) done.push_back(std::move(entry.second));
  }
  return done;
}

void reorder_tensors_like(std::vector<at::Tensor>& tensors, at::TensorList order) {
  TORCH_CHECK(tensors.size() == order.size(), "reorder_tensors_like: ", tensors.size(), " tensors and an order of ",
              order.size());
  std::map<Kind, std::vector<size_t>> places;
  for (size_t i = 0; i < tensors.size(); ++i) places[kind_of(tensors[i])].push_back(i);
  std::map<Kind, size_t> used;
  std::vector<at::Tensor> ordered;
  ordered.reserve(tensors.size());
  for (const at::Tensor& t : order) {
    const std::vector<size_t>& same = places[kind_of(t)];
    size_t& next = used[kind_of(t)];
    TORCH_CHECK(next < same.size(), "reorder_tensors_like: no tensor is left of dtype ", t.scalar_type());
    ordered.push_back(std::move(tensors[same[next++]]));
  }
  tensors = std::move(ordered);
}

}  // namespace torch::utils
