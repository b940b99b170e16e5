#include "nn/utils/parametrize.h"

#include <map>

#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/module/module_access.h"

namespace torch::nn::utils::parametrize {
namespace {

using Tensors = std::vector<at::Tensor>;

constexpr const char* kChild = "parametrizations";

void check_same(const char* what, const at::Tensor& got, const at::Tensor& expected) {
  TORCH_CHECK_VALUE(got.defined(), what, " must give a tensor, but gave none");
  TORCH_CHECK_VALUE(got.scalar_type() == expected.scalar_type(), what, " may not change the dtype of the tensor.\n",
                    "unparametrized dtype: ", expected.scalar_type(), "\nparametrized dtype: ", got.scalar_type());
  TORCH_CHECK_VALUE(got.sizes() == expected.sizes(), what,
                    " may not change the shape of the tensor, unless the `unsafe` flag is enabled.\n",
                    "unparametrized shape: ", expected.sizes(), "\nparametrized shape: ", got.sizes());
}

ModuleDict dict_of(Module& m) {
  const std::shared_ptr<Module>* const child = ModuleAccess::children(m).find(kChild);
  return child == nullptr ? ModuleDict(nullptr) : ModuleDict(std::dynamic_pointer_cast<ModuleDictImpl>(*child));
}

ParametrizationList find_list(Module& m, const std::string& name) {
  const ModuleDict dict = dict_of(m);
  if (dict.is_empty() || !dict->contains(name)) return nullptr;
  return std::dynamic_pointer_cast<ParametrizationListImpl>((*dict)[name]);
}

struct Cache {
  size_t guards = 0;
  // The lists live as long as what is kept for them.
  std::map<std::shared_ptr<Module>, at::Tensor> values;
};
Cache& cache() {
  thread_local Cache cache;
  return cache;
}

class ParametrizedRule final : public TensorRule {
 public:
  at::Tensor compute(Module& m, const std::string& name) const override {
    const ParametrizationList list = parametrizations(m, name);
    Cache& kept = cache();
    if (kept.guards == 0) return list.ptr()->forward();
    at::Tensor& value = kept.values[list.ptr()];
    if (!value.defined()) value = list.ptr()->forward();
    return value;
  }
};

}  // namespace

void Parametrization::wrong_count(const Module& module, size_t n) {
  TORCH_CHECK_TYPE(false, "the parametrization ", nn::detail::class_name(module), " does not take ", n, " tensors");
  __builtin_unreachable();
}

ParametrizationListImpl::ParametrizationListImpl(std::vector<Parametrization> parametrizations, at::Tensor original,
                                                 bool is_parameter, bool unsafe)
    : is_parameter_(is_parameter), unsafe_(unsafe) {
  TORCH_CHECK_VALUE(!parametrizations.empty(), "ParametrizationList requires one or more parametrizations.");
  for (Parametrization& p : parametrizations) add_child_module(p);
  const auto dtype = original.scalar_type();
  const std::vector<int64_t> sizes = original.sizes().vec();
  bool several = false;
  Tensors values;
  {
    c10::NoGradGuard no_grad;
    values = inverse(original, /*tolerant=*/true, several);
  }
  if (!several) {
    TORCH_CHECK_VALUE(values[0].scalar_type() == dtype,
                      "When `right_inverse` outputs one tensor, it may not change the dtype.\noriginal.dtype: ", dtype,
                      "\nright_inverse(original).dtype: ", values[0].scalar_type());
  }
  register_originals(values, several, original);
  const at::Tensor made = first_ = forward();
  if (unsafe_) return;
  TORCH_CHECK_VALUE(made.defined(), "A parametrization must return a tensor.");
  TORCH_CHECK_VALUE(made.scalar_type() == dtype,
                    "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is "
                    "enabled.\nunparametrized dtype: ",
                    dtype, "\nparametrized dtype: ", made.scalar_type());
  TORCH_CHECK_VALUE(made.sizes() == at::IntArrayRef(sizes),
                    "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is "
                    "enabled.\nunparametrized shape: ",
                    at::IntArrayRef(sizes), "\nparametrized shape: ", made.sizes());
}

void ParametrizationListImpl::add_child_module(const Parametrization& p) {
  register_module(std::to_string(parametrizations_.size()), p.module);
  parametrizations_.push_back(p);
}

// What the parametrizations make `value` of. `tolerant`: one without a right_inverse, or that has none for its
// settings, takes the value itself.
Tensors ParametrizationListImpl::inverse(at::Tensor value, bool tolerant, bool& several) const {
  Tensors values = {std::move(value)};
  for (size_t i = parametrizations_.size(); i-- > 0;) {
    const Parametrization& p = parametrizations_[i];
    if (p.right_inverse == nullptr) {
      TORCH_CHECK(tolerant, "parametrization ", nn::detail::class_name(*p.module),
                  " does not implement right_inverse.");
      continue;
    }
    try {
      values = p.right_inverse(*p.module, values[0]);
    } catch (const c10::NotImplementedError&) {
      if (!tolerant) throw;
      continue;
    }
    several = !p.gives_one;
    TORCH_CHECK_VALUE(!several || i == 0,
                      "'right_inverse' must return a tensor where another parametrization comes "
                      "before; ",
                      nn::detail::class_name(*p.module), " gave ", values.size());
    for (const at::Tensor& t : values) {
      TORCH_CHECK_VALUE(t.defined(), "'right_inverse' must return a Tensor or a sequence of tensors, but ",
                        nn::detail::class_name(*p.module), " gave an undefined one");
    }
  }
  return values;
}

void ParametrizationListImpl::register_originals(const Tensors& values, bool several, at::Tensor original) {
  const bool requires_grad = original.requires_grad();
  const auto add = [&](const std::string& name, at::Tensor t) {
    if (is_parameter_) {
      register_parameter(name, std::move(t), requires_grad);
    } else {
      register_buffer(name, std::move(t));
    }
  };
  if (!several) {
    // The tensor itself, with other data: who has it, such as an optimizer, goes on with it.
    if (!values[0].is_same(original)) original.set_data(at::detach(values[0]));
    return add("original", original);
  }
  originals_ = values.size();
  for (size_t i = 0; i < values.size(); ++i) add(original_name(i), at::detach(values[i]));
}

std::string ParametrizationListImpl::original_name(size_t index) const {
  return is_tensor() ? "original" : "original" + std::to_string(index);
}

at::Tensor& ParametrizationListImpl::original(size_t index) {
  TORCH_CHECK_INDEX(index < ntensors(), "ParametrizationList: original ", index, " of ", ntensors());
  return is_parameter_ ? parameters_[original_name(index)] : buffers_[original_name(index)];
}

Tensors ParametrizationListImpl::originals() {
  Tensors all;
  for (size_t i = 0; i < ntensors(); ++i) all.push_back(original(i));
  return all;
}

at::Tensor ParametrizationListImpl::forward() {
  TORCH_CHECK(!parametrizations_.empty(), "ParametrizationList: there is no parametrization");
  at::Tensor x = parametrizations_[0].forward(*parametrizations_[0].module, originals());
  for (size_t i = 1; i < parametrizations_.size(); ++i) {
    x = parametrizations_[i].forward(*parametrizations_[i].module, {x});
  }
  return x;
}

void ParametrizationListImpl::right_inverse(const at::Tensor& value) {
  c10::NoGradGuard no_grad;
  bool several = false;
  const Tensors values = inverse(value, /*tolerant=*/false, several);
  TORCH_CHECK_VALUE(values.size() == ntensors(), "'right_inverse' must return a sequence of tensors of length ",
                    ntensors(), ". Got a sequence of length ", values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    at::Tensor& to = original(i);
    TORCH_CHECK_VALUE(values[i].scalar_type() == to.scalar_type(), "The tensor `right_inverse` gave for ",
                      original_name(i), " has dtype ", values[i].scalar_type(), " while the original has ",
                      to.scalar_type());
    // A copy where the value itself came through: it stays the caller's.
    to.set_data(values[i].is_same(value) ? at::clone(at::detach(value)) : at::detach(values[i]));
  }
}

at::Tensor ParametrizationListImpl::append(Parametrization p) {
  if (unsafe_) {
    add_child_module(p);
    return forward();
  }
  const at::Tensor now = forward();
  const at::Tensor made = p.forward(*p.module, {now});
  check_same("Registering a parametrization", made, now);
  if (p.right_inverse != nullptr) {
    c10::NoGradGuard no_grad;
    const Tensors back = p.right_inverse(*p.module, at::detach(made));
    TORCH_CHECK_VALUE(back.size() == 1, "parametrization.right_inverse must return a tensor, but gave ", back.size());
    check_same("The tensor returned by parametrization.right_inverse", back[0], now);
  }
  add_child_module(p);
  return made;
}

const std::shared_ptr<Module>& ParametrizationListImpl::operator[](size_t index) const {
  TORCH_CHECK_INDEX(index < size(), "ParametrizationList: index ", index, " is out of range for ", size(), " modules");
  return parametrizations_[index].module;
}

std::shared_ptr<Module> ParametrizationListImpl::clone(const std::optional<c10::Device>& device) const {
  c10::NoGradGuard no_grad;
  const nn::detail::Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<ParametrizationListImpl>();
  copy->originals_ = originals_;
  copy->is_parameter_ = is_parameter_;
  copy->unsafe_ = unsafe_;
  for (const auto& p : parameters_) {
    copy->register_parameter(p.key(), cloning.tensor(p.value(), device), p.value().requires_grad());
  }
  for (const auto& b : buffers_) copy->register_buffer(b.key(), cloning.tensor(b.value(), device));
  for (Parametrization p : parametrizations_) {
    p.module = p.module->clone(device);
    copy->add_child_module(p);
  }
  return cloning.finish(copy);
}

void ParametrizationListImpl::pretty_print(std::ostream& stream) const {
  nn::detail::put_text(stream, "torch::nn::utils::parametrize::ParametrizationList");
}

at::Tensor* ParametrizationListImpl::tensor_member(const std::string& name) {
  at::Tensor* const parameter = parameters_.find(name);
  return parameter != nullptr ? parameter : buffers_.find(name);
}

void register_parametrization(ModuleRef module, const std::string& name, const Parametrization& p, bool unsafe) {
  Module& m = *module;
  p.module->train(m.is_training());
  if (ParametrizationList list = find_list(m, name); !list.is_empty()) {
    if (unsafe) list.ptr()->set_unsafe(true);
    tensor_member(m, name) = list.ptr()->append(p);
    return;
  }
  const bool is_parameter = ModuleAccess::parameters(m).contains(name);
  const at::Tensor* original =
      is_parameter ? ModuleAccess::parameters(m).find(name) : ModuleAccess::buffers(m).find(name);
  TORCH_CHECK_VALUE(original != nullptr && original->defined(), "Module '", m,
                    "' does not have a parameter, a buffer, or a parametrized element with name '", name, "'");
  tensor_member(m, name);
  TORCH_CHECK(rule_of(m, name) == nullptr, nn::detail::class_name(m), ": '", name, "' is computed already");
  ParametrizationList list(std::vector<Parametrization>{p}, *original, is_parameter, unsafe);
  list->train(m.is_training());
  compute_tensor(m, name, std::make_shared<ParametrizedRule>());
  ModuleDict dict = dict_of(m);
  if (dict.is_empty()) dict = m.register_module(kChild, ModuleDict());
  dict->update(std::vector<std::pair<std::string, std::shared_ptr<Module>>>{{name, list.ptr()}});
  tensor_member(m, name) = list->take_first();
}

void remove_parametrizations(ModuleRef module, const std::string& name, bool leave_parametrized) {
  Module& m = *module;
  const ParametrizationList list = find_list(m, name);
  TORCH_CHECK_VALUE(!list.is_empty(), "Module ", m, " does not have a parametrization on ", name);
  TORCH_CHECK_VALUE(leave_parametrized || list.ptr()->is_tensor(),
                    "Leaving unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                    "sequence of tensors is not supported.");
  c10::NoGradGuard no_grad;
  at::Tensor tensor = list.ptr()->original();
  const bool requires_grad = tensor.requires_grad();
  if (leave_parametrized) {
    const at::Tensor value = at::detach(refresh_tensor(m, name));
    if (list.ptr()->is_tensor()) {
      tensor.set_data(value);
    } else {
      tensor = value;
      tensor.set_requires_grad(requires_grad);
    }
  }
  const ModuleDict dict = dict_of(m);
  std::const_pointer_cast<ModuleDictImpl>(std::shared_ptr<const ModuleDictImpl>(dict.ptr()))->pop(name);
  if (dict->empty()) ModuleAccess::remove_child(m, kChild);
  stop_computing(m, name, tensor, list.ptr()->is_parameter());
}

bool is_parametrized(ModuleRef module, const std::string& name) {
  const ModuleDict dict = dict_of(*module);
  if (dict.is_empty()) return false;
  return name.empty() ? !dict->empty() : dict->contains(name);
}

ParametrizationList parametrizations(ModuleRef module, const std::string& name) {
  ParametrizationList list = find_list(*module, name);
  TORCH_CHECK_VALUE(!list.is_empty(), nn::detail::class_name(*module), " does not have a parametrization on ", name);
  return list;
}

at::Tensor get(ModuleRef module, const std::string& name) {
  return refresh_tensor(*module, name);
}

void assign(ModuleRef module, const std::string& name, const at::Tensor& value) {
  parametrizations(module, name)->right_inverse(value);
  if (cache().guards > 0) cache().values.erase(find_list(*module, name).ptr());
}

void transfer_parametrizations_and_params(ModuleRef from, ModuleRef to, const std::string& name) {
  TORCH_CHECK(is_parametrized(from, name),
              "transfer_parametrizations_and_params: the first module has no "
              "parametrization",
              name.empty() ? "" : " on " + name);
  const std::vector<std::string> names = name.empty() ? dict_of(*from)->keys() : std::vector<std::string>{name};
  for (const std::string& one : names) {
    const ParametrizationList list = parametrizations(from, one);
    for (const Parametrization& p : list.ptr()->parametrizations()) register_parametrization(to, one, p, true);
    const ParametrizationList target = parametrizations(to, one);
    TORCH_CHECK_VALUE(target->ntensors() == list.ptr()->ntensors(), "transfer_parametrizations_and_params: '", one,
                      "' has ", list.ptr()->ntensors(), " originals in the first module and ", target->ntensors(),
                      " in the other");
    c10::NoGradGuard no_grad;
    for (size_t i = 0; i < target.ptr()->ntensors(); ++i) {
      target.ptr()->original(i).set_data(at::clone(at::detach(list.ptr()->original(i))));
    }
    target.ptr()->set_unsafe(list.ptr()->unsafe());
    refresh_tensor(*to, one);
  }
}

CachedGuard::CachedGuard() {
  ++cache().guards;
}
CachedGuard::~CachedGuard() {
  if (--cache().guards == 0) cache().values.clear();
}

}  // namespace torch::nn::utils::parametrize
