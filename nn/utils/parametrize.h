// Parametrizations: a parameter as a function of other ones.
//
//   struct SymmetricImpl : torch::nn::Module {
//     torch::Tensor forward(torch::Tensor x) { return x.triu() + x.triu(1).transpose(-1, -2); }
//     torch::Tensor right_inverse(torch::Tensor a) { return a.triu(); }    // optional
//   };
//   TORCH_MODULE(Symmetric);
//
//   torch::nn::Linear linear(3, 3);
//   torch::nn::utils::parametrize::register_parametrization(linear, "weight", Symmetric());
//   linear(x);                            // its weight is symmetric; the trained one is
//   parametrizations.weight.original
//
// A parametrization is a module with forward(Tensor), or forward(Tensor, Tensor ..) where its right_inverse gives as
// many, and perhaps right_inverse(Tensor), which gives a tensor or several that forward makes the argument of. It
// should be Cloneable if the module is to be cloned. Several on one name are applied one after the other, each
// registered after those before.
//
// The tensor is put in the module's member before each call: nn/module/computed_tensor.h says what a call is, and what
// holds between calls. get() computes it at any time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nn/module/cloneable.h"
#include "nn/module/computed_tensor.h"
#include "nn/module/module_dict.h"

namespace torch::nn::utils::parametrize {

// A module with what a list of parametrizations calls, without its type.
struct Parametrization {
  using Tensors = std::vector<at::Tensor>;

  std::shared_ptr<Module> module;
  at::Tensor (*forward)(Module& module, const Tensors& inputs) = nullptr;
  // Null where the class has none.
  Tensors (*right_inverse)(Module& module, const at::Tensor& value) = nullptr;
  bool gives_one = true;  // right_inverse gives a tensor, not a list of them

  template <typename M>
  requires std::is_base_of_v<Module, M>
  static Parametrization of(std::shared_ptr<M> module) {
    Parametrization p;
    p.module = std::move(module);
    p.forward = &call_forward<M>;
    if constexpr (requires(M & m, const at::Tensor& t) { m.right_inverse(t); }) {
      p.right_inverse = &call_right_inverse<M>;
      p.gives_one = std::is_same_v<std::decay_t<decltype(std::declval<M&>().right_inverse(at::Tensor()))>, at::Tensor>;
    }
    return p;
  }
  template <typename M>
  static Parametrization of(const ModuleHolder<M>& holder) {
    return of(std::shared_ptr<M>(holder.ptr()));
  }

 private:
  [[noreturn]] static void wrong_count(const Module& module, size_t n);

  template <typename M>
  static at::Tensor call_forward(Module& module, const Tensors& x) {
    M& m = dynamic_cast<M&>(module);
    if constexpr (requires { call_module(m, x); }) {
      return call_module(m, x);
    } else {
      if constexpr (requires { call_module(m, x[0]); }) {
        if (x.size() == 1) return call_module(m, x[0]);
      }
      if constexpr (requires { call_module(m, x[0], x[1]); }) {
        if (x.size() == 2) return call_module(m, x[0], x[1]);
      }
      if constexpr (requires { call_module(m, x[0], x[1], x[2]); }) {
        if (x.size() == 3) return call_module(m, x[0], x[1], x[2]);
      }
      wrong_count(module, x.size());
    }
  }
  template <typename M>
  static Tensors call_right_inverse(Module& module, const at::Tensor& value) {
    auto result = dynamic_cast<M&>(module).right_inverse(value);
    Tensors list;
    nn::detail::TensorWalk walk(list, /*writes=*/false);
    nn::detail::walk_tensors(walk, result);
    return list;
  }
};

// The parametrizations of one tensor, "0", "1" .., and what they compute it from: `original`, or, where the first one's
// right_inverse gives several tensors, `original0`, `original1` ... These are parameters where the tensor was one.
class ParametrizationListImpl : public Cloneable<ParametrizationListImpl> {
 public:
  using Tensors = std::vector<at::Tensor>;

  ParametrizationListImpl() = default;
  // Throws c10::ValueError where a right_inverse, or (unless `unsafe`) the parametrized tensor, has another dtype or
  // other sizes than the tensor it is for.
  ParametrizationListImpl(std::vector<Parametrization> parametrizations, at::Tensor original, bool is_parameter,
                          bool unsafe = false);

  // The parametrized tensor.
  at::Tensor forward();
  // Makes the originals such that forward() gives `value`. Throws where a parametrization has no right_inverse.
  void right_inverse(const at::Tensor& value);
  // One more, after the others. Gives what they make together.
  at::Tensor append(Parametrization parametrization);
  // What the constructor made for its checks.
  at::Tensor take_first() { return std::exchange(first_, at::Tensor()); }

  // Whether there is one original.
  bool is_tensor() const { return originals_ == 0; }
  size_t ntensors() const { return is_tensor() ? 1 : originals_; }
  at::Tensor& original(size_t index = 0);
  bool is_parameter() const { return is_parameter_; }
  bool unsafe() const { return unsafe_; }
  void set_unsafe(bool unsafe) { unsafe_ = unsafe; }
  size_t size() const { return parametrizations_.size(); }
  const std::shared_ptr<Module>& operator[](size_t index) const;
  const std::vector<Parametrization>& parametrizations() const { return parametrizations_; }

  void reset() override {}
  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;
  void pretty_print(std::ostream& stream) const override;

 protected:
  at::Tensor* tensor_member(const std::string& name) override;

 private:
  std::string original_name(size_t index) const;
  void add_child_module(const Parametrization& parametrization);
  Tensors originals();
  void register_originals(const Tensors& values, bool several, at::Tensor original);
  Tensors inverse(at::Tensor value, bool tolerant, bool& several) const;

  std::vector<Parametrization> parametrizations_;
  size_t originals_ = 0;  // 0: one, without a number
  bool is_parameter_ = true;
  bool unsafe_ = false;
  at::Tensor first_;
};
TORCH_MODULE(ParametrizationList);

// Puts `parametrization` on the parameter, buffer or parametrized tensor `name` of the module. Its right_inverse gives
// the first originals; without one these are the tensor itself, which an optimizer that has it goes on training. Throws
// c10::ValueError where the module has no such tensor, and where the result has another dtype or other sizes; with
// `unsafe` these are not looked at.
void register_parametrization(ModuleRef module, const std::string& name, const Parametrization& parametrization,
                              bool unsafe = false);
template <typename P>
requires(!std::is_same_v<P, Parametrization>) void register_parametrization(ModuleRef module, const std::string& name,
                                                                            const P& parametrization,
                                                                            bool unsafe = false) {
  register_parametrization(module, name, Parametrization::of(parametrization), unsafe);
}

// Takes all parametrizations off `name`: it is a parameter or buffer of its present value again, or, with
// leave_parametrized false, of the value of the original (which must be one tensor).
void remove_parametrizations(ModuleRef module, const std::string& name, bool leave_parametrized = true);

// Whether `name`, or, empty, anything in the module is parametrized.
bool is_parametrized(ModuleRef module, const std::string& name = std::string());
// The parametrizations of a tensor; throws where there are none. All of a module: its child "parametrizations".
ParametrizationList parametrizations(ModuleRef module, const std::string& name);
// Computes the parametrized tensor, puts it in the module's member, and gives it.
at::Tensor get(ModuleRef module, const std::string& name);
// Makes the originals such that the parametrized tensor is `value` (Python's `module.weight = value`).
void assign(ModuleRef module, const std::string& name, const at::Tensor& value);

// Puts the parametrizations of `from` on `to` as well, with copies of its originals: of all tensors, or of one. The
// modules of the parametrizations are shared.
void transfer_parametrizations_and_params(ModuleRef from, ModuleRef to, const std::string& name = std::string());

// While one lives in this thread, a parametrized tensor is computed once and kept: for a network that uses one several
// times.
//
//   {
//     torch::nn::utils::parametrize::CachedGuard cached;
//     for (auto& x : steps) h = cell(x, h);
//   }
class CachedGuard {
 public:
  CachedGuard();
  ~CachedGuard();
  CachedGuard(const CachedGuard&) = delete;
  CachedGuard& operator=(const CachedGuard&) = delete;
};

}  // namespace torch::nn::utils::parametrize
