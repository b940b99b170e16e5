// Tensors of which each rank of a mesh holds a part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/wrapper_tensor.h"
#include "distributed/tensor/device_mesh.h"
#include "distributed/tensor/placement.h"
#include "distributed/tensor/spec.h"

namespace torch::distributed::tensor {

/// The tensor behind a DTensor: this rank's part, and what it is a part of.
class DTensorImpl final : public at::WrapperTensorImpl {
 public:
  DTensorImpl(at::Tensor local, SpecPtr spec);

  const at::Tensor& local() const { return local_; }
  const SpecPtr& spec() const { return spec_; }
  /// Becomes another tensor, for operators that change the sizes of their argument.
  void reset(at::Tensor local, SpecPtr spec);

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) const override;
  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override;
  void shallow_copy_from(const c10::TensorImpl& other) override;
  const char* kind() const override { return "DTensor"; }

 private:
  at::Tensor local_;
  SpecPtr spec_;
};

struct FromLocalOptions {
  bool run_check = false;                      // whether the ranks compare their sizes first
  std::optional<std::vector<int64_t>> shape;   // of the whole; without it the parts are taken to be equal
  std::optional<std::vector<int64_t>> stride;  // of the whole; row-major without it
};

/// A tensor distributed over a mesh, by PyTorch's name: a handle as at::Tensor is one, for which operators compute what
/// they do for the whole tensor; each rank computes its part, and ranks exchange what that takes. Every rank of the
/// mesh makes the same calls.
///
///   DTensor w = distribute_tensor(torch::randn({8, 4}), mesh, {Shard(0)});
///   torch::Tensor y = torch::matmul(w, v);      // v: a DTensor, too; y is one
///   DTensor(y).full_tensor();                    // the whole, on every rank
///
/// Gradients are DTensors. Operators take DTensors of one mesh, and beside them plain tensors of no dimensions only,
/// whose value is the same on all ranks (others under ImplicitReplication). What operators do with placements stands in
/// the operators' tables (`sharding`); one that has no rule throws NotImplementedError, which names it.
class DTensor : public at::Tensor {
 public:
  DTensor() = default;
  /// Throws TypeError for a tensor that is none.
  explicit DTensor(at::Tensor tensor);
  static bool is(const at::TensorBase& tensor);

  /// The tensor whose parts the ranks give. Differentiable: the gradient of `local` is the part of the result's
  /// gradient.
  static DTensor from_local(const at::Tensor& local, const DeviceMesh& mesh, const std::vector<Placement>& placements,
                            const FromLocalOptions& options = {});

  /// This rank's part. Differentiable; its gradient is taken to have `grad_placements`, by default those of this
  /// tensor.
  at::Tensor to_local(const std::optional<std::vector<Placement>>& grad_placements = std::nullopt) const;
  /// The same tensor with other placements. Differentiable.
  DTensor redistribute(const std::vector<Placement>& placements) const;
  /// The whole, on every rank. Differentiable.
  at::Tensor full_tensor(const std::optional<std::vector<Placement>>& grad_placements = std::nullopt) const;

  const DeviceMesh& device_mesh() const { return impl().spec()->mesh(); }
  const std::vector<Placement>& placements() const { return impl().spec()->placements(); }
  const SpecPtr& spec() const { return impl().spec(); }

 private:
  const DTensorImpl& impl() const { return static_cast<const DTensorImpl&>(*unsafeGetTensorImpl()); }
};

/// Gives each rank its part of `tensor`, as rank `src_data_rank` along each dimension of the mesh has it; without such
/// a rank each takes the part of its own. A leaf that requires a gradient where `tensor` does.
DTensor distribute_tensor(const at::Tensor& tensor, const DeviceMesh& mesh, const std::vector<Placement>& placements,
                          std::optional<int64_t> src_data_rank = 0);

/// Factories of distributed tensors. Values are those of the factory of the same name for one device: random ones, too,
/// where the ranks' generators are in the same state.
DTensor zeros(at::IntArrayRef size, const DeviceMesh& mesh, const std::vector<Placement>& placements,
              at::TensorOptions options = {});
DTensor ones(at::IntArrayRef size, const DeviceMesh& mesh, const std::vector<Placement>& placements,
             at::TensorOptions options = {});
DTensor empty(at::IntArrayRef size, const DeviceMesh& mesh, const std::vector<Placement>& placements,
              at::TensorOptions options = {});
DTensor full(at::IntArrayRef size, const at::Scalar& fill_value, const DeviceMesh& mesh,
             const std::vector<Placement>& placements, at::TensorOptions options = {});
DTensor rand(at::IntArrayRef size, const DeviceMesh& mesh, const std::vector<Placement>& placements,
             at::TensorOptions options = {});
DTensor randn(at::IntArrayRef size, const DeviceMesh& mesh, const std::vector<Placement>& placements,
              at::TensorOptions options = {});

/// While it lasts, plain tensors beside DTensors are taken to be the same on all ranks, on this thread.
class ImplicitReplication {
 public:
  ImplicitReplication();
  ~ImplicitReplication();
  ImplicitReplication(const ImplicitReplication&) = delete;
  ImplicitReplication& operator=(const ImplicitReplication&) = delete;
  static bool is_on();

 private:
  bool before_;
};

namespace detail {
/// A DTensor of a part, in no graph.
at::Tensor wrap(at::Tensor local, SpecPtr spec);
/// Null for other tensors.
const DTensorImpl* impl_of(const at::TensorBase& tensor);
}  // namespace detail

}  // namespace torch::distributed::tensor
