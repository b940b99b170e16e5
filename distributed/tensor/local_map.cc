#include "distributed/tensor/local_map.h"

#include "c10/util/exception.h"

namespace torch::distributed::tensor::experimental::detail {

using at::Tensor;

LocalCall::LocalCall(const LocalMapOptions& options, const PlacementList& out_placements)
    : options_(options), out_placements_(out_placements) {}

Tensor LocalCall::argument(const Tensor& t) {
  const size_t i = next_++;
  if (!DTensor::is(t)) return t;
  DTensor distributed(t);
  const DeviceMesh& mesh = distributed.device_mesh();
  const auto& expected = options_.device_mesh ? options_.device_mesh : mesh_;
  TORCH_CHECK(!expected || *expected == mesh, "local_map: argument ", i, " lies on ", mesh.str(), ", but ",
              expected ? expected->str() : "", " is expected");
  mesh_ = mesh;
  if (options_.in_placements) {
    TORCH_CHECK(i < options_.in_placements->size() && (*options_.in_placements)[i], "local_map: argument ", i,
                " is a DTensor, but in_placements has none for it");
    const auto wanted = normalized(mesh, *(*options_.in_placements)[i], t.dim());
    if (distributed.placements() != wanted) {
      TORCH_CHECK_VALUE(options_.redistribute_inputs, "local_map: argument ", i, " has the placements ",
                        str(distributed.placements()), ", but in_placements says ", str(wanted),
                        "; redistribute it, or say redistribute_inputs");
      distributed = distributed.redistribute(wanted);
    }
  }
  std::optional<std::vector<Placement>> of_gradient;
  if (options_.in_grad_placements && i < options_.in_grad_placements->size()) {
    of_gradient = (*options_.in_grad_placements)[i];
  }
  return distributed.to_local(of_gradient);
}

std::vector<Tensor> LocalCall::argument(const std::vector<Tensor>& list) {
  std::vector<Tensor> locals;
  for (const Tensor& t : list) locals.push_back(argument(t));
  return locals;
}

void LocalCall::end_of_arguments() {
  for (const auto* list : {&options_.in_placements, &options_.in_grad_placements}) {
    TORCH_CHECK(!*list || (*list)->size() == next_, "local_map: in_placements or in_grad_placements has ",
                *list ? (*list)->size() : 0, " entries, but there are ", next_, " arguments");
  }
  next_ = 0;
}

Tensor LocalCall::result(const Tensor& t) {
  const size_t i = next_++;
  if (!mesh_ || i >= out_placements_.size() || !out_placements_[i]) return t;
  return DTensor::from_local(t, *mesh_, *out_placements_[i]);
}

std::vector<Tensor> LocalCall::result(const std::vector<Tensor>& list) {
  std::vector<Tensor> results;
  for (const Tensor& t : list) results.push_back(result(t));
  return results;
}

void LocalCall::other_result() {
  const size_t i = next_++;
  TORCH_CHECK(!mesh_ || i >= out_placements_.size() || !out_placements_[i], "local_map: result ", i,
              " is no tensor, but out_placements has placements for it");
}

void LocalCall::end_of_results() {
  TORCH_CHECK(!mesh_ || next_ == out_placements_.size(), "local_map: out_placements has ", out_placements_.size(),
              " entries, but there are ", next_, " results");
}

}  // namespace torch::distributed::tensor::experimental::detail
