#include "distributed/tensor/dtensor.h"

#include <typeinfo>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/function/custom_function.h"
#include "c10/core/grad_mode.h"
#include "c10/core/memory_format.h"
#include "c10/util/exception.h"
#include "distributed/process_group/pending_tensor.h"
#include "distributed/tensor/redistribute.h"

namespace torch::distributed::tensor {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

thread_local bool implicit_replication = false;

SpecPtr with_placements(const Spec& spec, std::vector<Placement> placements) {
  return c10::make_intrusive<Spec>(spec.mesh(), std::move(placements), spec.sizes(), spec.strides(), spec.dtype());
}

Tensor moved(const Tensor& tensor, const std::vector<Placement>& placements) {
  const DTensorImpl& impl = *detail::impl_of(tensor);
  if (impl.spec()->placements() == placements) return tensor.detach();
  return detail::wrap(redistribute_local(impl.local(), *impl.spec(), placements),
                      with_placements(*impl.spec(), placements));
}

// A gradient in the placements that the step before it has: a partial sum where that had one is as good whole.
std::vector<Placement> of_gradient(const std::vector<Placement>& placements) {
  std::vector<Placement> result = placements;
  for (Placement& placement : result) {
    if (placement.is_partial()) placement = Replicate();
  }
  return result;
}

struct FromLocal final : torch::autograd::Function<FromLocal> {
  static Tensor forward(AutogradContext* context, const Tensor& local, const SpecPtr& spec) {
    context->saved_data["spec"] = c10::IValue::make_capsule(spec);
    context->set_materialize_grads(false);
    return detail::wrap(c10d::waited_tensor(local).detach(), spec);
  }
  static variable_list backward(AutogradContext* context, variable_list grads);
};

struct ToLocal final : torch::autograd::Function<ToLocal> {
  static Tensor forward(AutogradContext* context, const Tensor& tensor, const SpecPtr& grad_spec) {
    context->saved_data["spec"] = c10::IValue::make_capsule(grad_spec);
    context->set_materialize_grads(false);
    return detail::impl_of(tensor)->local().detach();
  }
  static variable_list backward(AutogradContext* context, variable_list grads);
};

struct Redistribute final : torch::autograd::Function<Redistribute> {
  static Tensor forward(AutogradContext* context, const Tensor& tensor, const std::vector<Placement>& placements) {
    context->saved_data["spec"] = c10::IValue::make_capsule(detail::impl_of(tensor)->spec());
    context->set_materialize_grads(false);
    return moved(tensor, placements);
  }
  static variable_list backward(AutogradContext* context, variable_list grads);
};

SpecPtr kept(AutogradContext* context) {
  return SpecPtr::reclaim(static_cast<Spec*>(context->saved_data["spec"].toCapsule().release()));
}

variable_list FromLocal::backward(AutogradContext* context, variable_list grads) {
  if (!grads[0].defined()) return {Tensor(), Tensor()};
  const SpecPtr spec = kept(context);
  const std::vector<Placement> placements = of_gradient(spec->placements());
  const Tensor grad = Redistribute::apply(grads[0], placements);
  return {ToLocal::apply(grad, with_placements(*spec, placements)), Tensor()};
}

variable_list ToLocal::backward(AutogradContext* context, variable_list grads) {
  if (!grads[0].defined()) return {Tensor(), Tensor()};
  return {FromLocal::apply(grads[0], kept(context)), Tensor()};
}

variable_list Redistribute::backward(AutogradContext* context, variable_list grads) {
  if (!grads[0].defined()) return {Tensor(), Tensor()};
  // A whole that became a partial sum: each rank's gradient is that of the sum. A partial sum that became whole: the
  // same.
  return {Redistribute::apply(grads[0], of_gradient(kept(context)->placements())), Tensor()};
}

at::TensorOptions on_mesh(at::TensorOptions options, const DeviceMesh& mesh) {
  return options.has_device() ? options : options.device(mesh.device_type());
}

template <class Make>
DTensor made(const char* name, at::IntArrayRef size, const DeviceMesh& mesh, const std::vector<Placement>& placements,
             at::TensorOptions options, const Make& make) {
  const auto spec = c10::make_intrusive<Spec>(mesh, placements, size, c10::contiguous_strides(size),
                                              c10::typeMetaToScalarType(options.dtype()));
  for (const Placement& placement : spec->placements()) {
    TORCH_CHECK_VALUE(!placement.is_partial(), name, ": a new tensor cannot be ", placement.str());
  }
  const bool requires_grad = options.requires_grad();
  options = on_mesh(options, mesh).requires_grad(false);
  const c10::NoGradGuard no_grad;
  DTensor result(detail::wrap(make(*spec, options), spec));
  result.set_requires_grad(requires_grad);
  return result;
}

// The part of a tensor that is the same on all ranks.
Tensor part_of(const Tensor& whole, const Spec& spec) {
  const Spec replicated(spec.mesh(), std::vector<Placement>(spec.placements().size()), spec.sizes(), spec.strides(),
                        spec.dtype());
  return redistribute_local(whole, replicated, spec.placements());
}

}  // namespace

namespace detail {

Tensor wrap(Tensor local, SpecPtr spec) {
  return Tensor(c10::make_intrusive<DTensorImpl>(std::move(local), std::move(spec)));
}

const DTensorImpl* impl_of(const at::TensorBase& tensor) {
  if (!tensor.defined() || !tensor.key_set().has(c10::DispatchKey::Wrapper)) return nullptr;
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return typeid(impl) == typeid(DTensorImpl) ? static_cast<const DTensorImpl*>(&impl) : nullptr;
}

}  // namespace detail

DTensorImpl::DTensorImpl(Tensor local, SpecPtr spec)
    : WrapperTensorImpl(spec->dtype(), local.device(), spec->sizes(), spec->strides()),
      local_(std::move(local)),
      spec_(std::move(spec)) {}

void DTensorImpl::reset(Tensor local, SpecPtr spec) {
  set_sizes_and_strides(spec->sizes(), spec->strides());
  set_dtype(spec->dtype());
  local_ = std::move(local);
  spec_ = std::move(spec);
}

c10::intrusive_ptr<c10::TensorImpl> DTensorImpl::shallow_copy() const {
  auto copy = c10::make_intrusive<DTensorImpl>(local_, spec_);
  copy->copy_metadata_from(*this);
  return copy;
}

void DTensorImpl::shallow_copy_from(const c10::TensorImpl& other) {
  WrapperTensorImpl::shallow_copy_from(other);
  const auto& from = static_cast<const DTensorImpl&>(other);
  local_ = from.local_;
  spec_ = from.spec_;
}

DTensor::DTensor(Tensor tensor) : Tensor(std::move(tensor)) {
  TORCH_CHECK_TYPE(is(*this), "DTensor: the tensor is not distributed");
}

bool DTensor::is(const at::TensorBase& tensor) {
  return detail::impl_of(tensor) != nullptr;
}

DTensor DTensor::from_local(const Tensor& local, const DeviceMesh& mesh, const std::vector<Placement>& placements,
                            const FromLocalOptions& options) {
  TORCH_CHECK_TYPE(local.defined() && !is(local), "DTensor::from_local: `local` is ",
                   local.defined() ? "distributed already" : "undefined");
  const std::vector<Placement> where = normalized(mesh, placements, local.dim());
  std::vector<int64_t> sizes;
  if (options.shape) {
    sizes = *options.shape;
  } else {
    sizes = local.sizes().vec();
    for (size_t i = 0; i < where.size(); ++i) {
      if (where[i].is_shard() || where[i].is_strided_shard())
        sizes[static_cast<size_t>(where[i].dim())] *= mesh.shape()[i];
    }
  }
  const auto row_major = c10::contiguous_strides(sizes);
  const auto spec = c10::make_intrusive<Spec>(
      mesh, where, sizes, options.stride ? at::IntArrayRef(*options.stride) : at::IntArrayRef(row_major),
      local.scalar_type());
  if (options.run_check) {
    Tensor mine = at::empty({local.dim() + 1}, at::kLong);
    for (int64_t d = 0; d < local.dim(); ++d) mine.data_ptr<int64_t>()[d] = sizes[static_cast<size_t>(d)];
    mine.data_ptr<int64_t>()[local.dim()] = static_cast<int64_t>(local.scalar_type());
    for (const auto& group : mesh.get_all_groups()) {
      Tensor all = at::empty({group->getSize(), local.dim() + 1}, at::kLong);
      group->_allgather_base(all, mine)->wait();
      for (int64_t q = 0; q < all.size(0); ++q) {
        for (int64_t k = 0; k < all.size(1); ++k) {
          TORCH_CHECK(all.data_ptr<int64_t>()[q * all.size(1) + k] == mine.data_ptr<int64_t>()[k],
                      "DTensor::from_local: rank ", q, " of group ", group->getGroupName(),
                      " gives a part of a tensor of other sizes, or of another dtype, than rank ", group->getRank());
        }
      }
    }
  }
  TORCH_CHECK_VALUE(local.sizes() == at::IntArrayRef(spec->local_sizes()),
                    "DTensor::from_local: this rank's part of a tensor of sizes ", at::IntArrayRef(sizes), " with ",
                    str(where), " has the sizes ", at::IntArrayRef(spec->local_sizes()), ", but `local` has ",
                    local.sizes());
  return DTensor(FromLocal::apply(local, spec));
}

Tensor DTensor::to_local(const std::optional<std::vector<Placement>>& grad_placements) const {
  const SpecPtr& spec = impl().spec();
  std::vector<Placement> of_grad =
      grad_placements ? normalized(spec->mesh(), *grad_placements, dim()) : of_gradient(spec->placements());
  return ToLocal::apply(static_cast<const Tensor&>(*this), with_placements(*spec, std::move(of_grad)));
}

DTensor DTensor::redistribute(const std::vector<Placement>& placements) const {
  return DTensor(Redistribute::apply(static_cast<const Tensor&>(*this), normalized(device_mesh(), placements, dim())));
}

Tensor DTensor::full_tensor(const std::optional<std::vector<Placement>>& grad_placements) const {
  return redistribute(std::vector<Placement>(placements().size())).to_local(grad_placements);
}

DTensor distribute_tensor(const Tensor& tensor, const DeviceMesh& mesh, const std::vector<Placement>& placements,
                          std::optional<int64_t> src_data_rank) {
  TORCH_CHECK_TYPE(tensor.defined(), "distribute_tensor: `tensor` is undefined");
  if (const DTensorImpl* impl = detail::impl_of(tensor)) {
    TORCH_CHECK_VALUE(
        impl->spec()->mesh() == mesh && impl->spec()->placements() == normalized(mesh, placements, tensor.dim()),
        "distribute_tensor: `tensor` is distributed already, in another way; use redistribute()");
    return DTensor(tensor);
  }
  const auto spec = c10::make_intrusive<Spec>(mesh, placements, tensor.sizes(), c10::contiguous_strides(tensor.sizes()),
                                              tensor.scalar_type());
  for (const Placement& placement : spec->placements()) {
    TORCH_CHECK_VALUE(!placement.is_partial(), "distribute_tensor: a tensor cannot be distributed as ",
                      placement.str());
  }
  const c10::NoGradGuard no_grad;
  Tensor whole = tensor.detach();
  if (mesh.get_coordinate() && src_data_rank && whole.device().type() != c10::DeviceType::Meta) {
    whole = at::clone(whole, at::MemoryFormat::Contiguous);
    for (int64_t i = 0; i < mesh.ndim(); ++i) {
      TORCH_CHECK_VALUE(*src_data_rank >= 0 && *src_data_rank < mesh.size(i), "distribute_tensor: src_data_rank is ",
                        *src_data_rank, ", but dimension ", i, " of the mesh has ", mesh.size(i), " ranks");
      c10d::BroadcastOptions options;
      options.rootRank = *src_data_rank;
      std::vector<Tensor> tensors{whole};
      mesh.get_group(i)->broadcast(tensors, options)->wait();
    }
  }
  DTensor result(detail::wrap(part_of(whole, *spec).clone(), spec));
  result.set_requires_grad(tensor.requires_grad());
  return result;
}

DTensor zeros(at::IntArrayRef size, const DeviceMesh& mesh, const std::vector<Placement>& placements,
              at::TensorOptions options) {
  return full(size, 0, mesh, placements, options);
}

DTensor ones(at::IntArrayRef size, const DeviceMesh& mesh, const std::vector<Placement>& placements,
             at::TensorOptions options) {
  return full(size, 1, mesh, placements, options);
}

DTensor empty(at::IntArrayRef size, const DeviceMesh& mesh, const std::vector<Placement>& placements,
              at::TensorOptions options) {
  return made("empty", size, mesh, placements, options, [](const Spec& spec, const at::TensorOptions& of_part) {
    return at::empty(spec.local_sizes(), of_part);
  });
}

DTensor full(at::IntArrayRef size, const at::Scalar& fill_value, const DeviceMesh& mesh,
             const std::vector<Placement>& placements, at::TensorOptions options) {
  return made("full", size, mesh, placements, options, [&](const Spec& spec, const at::TensorOptions& of_part) {
    return at::empty(spec.local_sizes(), of_part).fill_(fill_value);
  });
}

DTensor rand(at::IntArrayRef size, const DeviceMesh& mesh, const std::vector<Placement>& placements,
             at::TensorOptions options) {
  return made("rand", size, mesh, placements, options, [&](const Spec& spec, const at::TensorOptions& of_part) {
    return part_of(at::rand(size, of_part), spec);
  });
}

DTensor randn(at::IntArrayRef size, const DeviceMesh& mesh, const std::vector<Placement>& placements,
              at::TensorOptions options) {
  return made("randn", size, mesh, placements, options, [&](const Spec& spec, const at::TensorOptions& of_part) {
    return part_of(at::randn(size, of_part), spec);
  });
}

ImplicitReplication::ImplicitReplication() : before_(std::exchange(implicit_replication, true)) {}
ImplicitReplication::~ImplicitReplication() {
  implicit_replication = before_;
}
bool ImplicitReplication::is_on() {
  return implicit_replication;
}

}  // namespace torch::distributed::tensor
