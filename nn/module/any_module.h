// AnyModule: a module of any type behind one interface whose forward takes and returns values of any type.
//
//   torch::nn::AnyModule m(torch::nn::Linear(3, 4));
//   torch::Tensor y = m.forward(torch::ones({2, 3}));
//
// Argument and result types match the module's forward exactly (after decay): forward(2) does not reach
// forward(double).
#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "nn/module/any_value.h"
#include "nn/module/module.h"

namespace torch::nn {

class AnyModule;

// Opens a module's protected FORWARD_HAS_DEFAULT_ARGS functions to AnyModule.
struct AnyModuleAccess {
  static bool has_defaults(Module& m) { return m._forward_has_default_args(); }
  static unsigned required(Module& m) { return m._forward_num_required_args(); }
  static std::vector<AnyValue> populate(Module& m, std::vector<AnyValue>&& arguments) {
    return m._forward_populate_default_args(std::move(arguments));
  }
};

namespace detail {

struct AnyModulePlaceholder {
  explicit AnyModulePlaceholder(const std::type_info& info) : type_info(&info) {}
  virtual ~AnyModulePlaceholder() = default;
  virtual AnyValue forward(std::vector<AnyValue>&& arguments) = 0;
  // Null where the module's forward is not Tensor -> Tensor; Sequential's short path.
  virtual bool forward_tensor(const at::Tensor& input, at::Tensor& output) = 0;
  virtual std::shared_ptr<Module> ptr() = 0;
  virtual std::unique_ptr<AnyModulePlaceholder> copy() const = 0;
  virtual std::unique_ptr<AnyModulePlaceholder> clone_module(std::optional<c10::Device> device) const = 0;
  // Holds another module of the same type from now on; false for another type.
  virtual bool rebind(const std::shared_ptr<Module>& other) = 0;
  const std::type_info* type_info;
};

// Checks the number of arguments against forward's and fills in defaults.
void prepare_arguments(Module& module, std::vector<AnyValue>& arguments, size_t expected);
[[noreturn]] void bad_argument(size_t index, const std::type_info& expected, const std::type_info& actual);
[[noreturn]] void bad_module_cast(const std::type_info& actual, const std::type_info& wanted);
[[noreturn]] void bad_return(const std::type_info& actual, const std::type_info& wanted);
[[noreturn]] void empty_any_module(const char* call);

template <typename Arg>
Arg any_argument(std::vector<AnyValue>& arguments, size_t index) {
  using X = std::decay_t<Arg>;
  X* value = arguments[index].try_get<X>();
  if (value == nullptr) bad_argument(index, typeid(X), arguments[index].type_info());
  return static_cast<Arg>(*value);
}

template <typename M, typename R, typename... Args>
struct AnyModuleHolder final : AnyModulePlaceholder {
  explicit AnyModuleHolder(std::shared_ptr<M> m) : AnyModulePlaceholder(typeid(M)), module(std::move(m)) {}

  template <size_t... I>
  AnyValue call(std::vector<AnyValue>& arguments, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>) {
      call_module(*module, any_argument<Args>(arguments, I)...);
      return AnyValue(std::tuple<>());
    } else {
      return AnyValue(call_module(*module, any_argument<Args>(arguments, I)...));
    }
  }
  AnyValue forward(std::vector<AnyValue>&& arguments) override {
    prepare_arguments(*module, arguments, sizeof...(Args));
    return call(arguments, std::index_sequence_for<Args...>());
  }
  bool forward_tensor(const at::Tensor& input, at::Tensor& output) override {
    if constexpr (std::is_same_v<R, at::Tensor> && sizeof...(Args) == 1 &&
                  (std::is_same_v<std::decay_t<Args>, at::Tensor> && ...) &&
                  ((!std::is_lvalue_reference_v<Args> || std::is_const_v<std::remove_reference_t<Args>>)&&...)) {
      output = call_module(*module, at::Tensor(input));
      return true;
    }
    return false;
  }
  std::shared_ptr<Module> ptr() override { return module; }
  std::unique_ptr<AnyModulePlaceholder> copy() const override { return std::make_unique<AnyModuleHolder>(*this); }
  std::unique_ptr<AnyModulePlaceholder> clone_module(std::optional<c10::Device> device) const override {
    return std::make_unique<AnyModuleHolder>(std::dynamic_pointer_cast<M>(module->clone(device)));
  }
  bool rebind(const std::shared_ptr<Module>& other) override {
    auto same = std::dynamic_pointer_cast<M>(other);
    if (same == nullptr) return false;
    module = std::move(same);
    return true;
  }

  std::shared_ptr<M> module;
};

template <typename M, typename C, typename R, typename... Args>
std::unique_ptr<AnyModulePlaceholder> hold_module(std::shared_ptr<M> module, R (C::*)(Args...)) {
  return std::make_unique<AnyModuleHolder<M, R, Args...>>(std::move(module));
}
template <typename M, typename C, typename R, typename... Args>
std::unique_ptr<AnyModulePlaceholder> hold_module(std::shared_ptr<M> module, R (C::*)(Args...) const) {
  return std::make_unique<AnyModuleHolder<M, R, Args...>>(std::move(module));
}
// A forward that is a template, as Sequential's, is taken to make a tensor of a tensor.
template <typename M>
std::unique_ptr<AnyModulePlaceholder> hold_module(std::shared_ptr<M> module) {
  if constexpr (requires { hold_module(module, &M::forward); }) {
    return hold_module(std::move(module), &M::forward);
  } else {
    return std::make_unique<AnyModuleHolder<M, at::Tensor, at::Tensor>>(std::move(module));
  }
}

}  // namespace detail

class AnyModule {
 public:
  AnyModule() = default;
  template <typename M>
  explicit AnyModule(std::shared_ptr<M> module) : content_(detail::hold_module(std::move(module))) {}
  template <detail::ModuleImpl M>
  explicit AnyModule(M&& module) : AnyModule(std::make_shared<std::decay_t<M>>(std::forward<M>(module))) {}
  template <typename M>
  explicit AnyModule(const ModuleHolder<M>& holder) : AnyModule(holder.ptr()) {}

  AnyModule(AnyModule&&) = default;
  AnyModule& operator=(AnyModule&&) = default;
  // Copies share the module.
  AnyModule(const AnyModule& other) : content_(other.content_ ? other.content_->copy() : nullptr) {}
  AnyModule& operator=(const AnyModule& other) {
    if (this != &other) content_ = other.content_ ? other.content_->copy() : nullptr;
    return *this;
  }
  template <typename M>
  AnyModule& operator=(std::shared_ptr<M> module) {
    return *this = AnyModule(std::move(module));
  }

  // A deep copy.
  AnyModule clone(std::optional<c10::Device> device = std::nullopt) const {
    AnyModule out;
    if (content_ != nullptr) out.content_ = content_->clone_module(device);
    return out;
  }

  template <typename... Args>
  AnyValue any_forward(Args&&... args) {
    if (is_empty()) detail::empty_any_module("forward()");
    std::vector<AnyValue> values;
    values.reserve(sizeof...(Args));
    (values.push_back(to_value(std::forward<Args>(args))), ...);
    return content_->forward(std::move(values));
  }
  template <typename R = at::Tensor, typename... Args>
  R forward(Args&&... args) {
    return any_forward(std::forward<Args>(args)...).template get<R>();
  }

  // The module by its implementation or holder type; throws for another one.
  template <typename M>
  requires detail::ModuleImpl<M> M& get() {
    if (is_empty()) detail::empty_any_module("get()");
    if (typeid(M) != *content_->type_info) detail::bad_module_cast(*content_->type_info, typeid(M));
    return *std::dynamic_pointer_cast<M>(content_->ptr());
  }
  template <typename M>
  requires detail::ModuleImpl<M>
  const M& get() const { return const_cast<AnyModule*>(this)->get<M>(); }
  template <detail::ModuleHolderType M>
  M get() const {
    return M(ptr<typename M::ContainedType>());
  }

  std::shared_ptr<Module> ptr() const {
    if (is_empty()) detail::empty_any_module("ptr()");
    return content_->ptr();
  }
  template <typename M>
  requires detail::ModuleImpl<M> std::shared_ptr<M> ptr()
  const {
    if (is_empty()) detail::empty_any_module("ptr()");
    const_cast<AnyModule*>(this)->get<M>();
    return std::dynamic_pointer_cast<M>(ptr());
  }

  const std::type_info& type_info() const {
    if (is_empty()) detail::empty_any_module("type_info()");
    return *content_->type_info;
  }
  bool is_empty() const noexcept { return content_ == nullptr; }

  // Holds another module of the same type from now on; false, and nothing done, for another type.
  bool rebind(const std::shared_ptr<Module>& module) { return content_ != nullptr && content_->rebind(module); }

  // Calls a module that maps a tensor to a tensor; false, and nothing done, for any other.
  bool forward_tensor(const at::Tensor& input, at::Tensor& output) {
    return content_ != nullptr && content_->forward_tensor(input, output);
  }
  AnyValue forward_values(std::vector<AnyValue>&& values) {
    if (is_empty()) detail::empty_any_module("forward()");
    return content_->forward(std::move(values));
  }

 private:
  template <typename Arg>
  static AnyValue to_value(Arg&& arg) {
    if constexpr (std::is_same_v<std::decay_t<Arg>, AnyValue>) {
      return std::forward<Arg>(arg);
    } else {
      return AnyValue(std::forward<Arg>(arg));
    }
  }
  std::unique_ptr<detail::AnyModulePlaceholder> content_;
};

// A name and a module, for Sequential({{"fc", Linear(3, 4)}, {"relu", ReLU()}}).
class NamedAnyModule {
 public:
  template <typename M>
  NamedAnyModule(std::string name, std::shared_ptr<M> module)
      : NamedAnyModule(std::move(name), AnyModule(std::move(module))) {}
  template <detail::ModuleImpl M>
  NamedAnyModule(std::string name, M&& module) : NamedAnyModule(std::move(name), AnyModule(std::forward<M>(module))) {}
  template <typename M>
  NamedAnyModule(std::string name, const ModuleHolder<M>& holder)
      : NamedAnyModule(std::move(name), AnyModule(holder)) {}
  NamedAnyModule(std::string name, AnyModule module) : name_(std::move(name)), module_(std::move(module)) {}

  const std::string& name() const noexcept { return name_; }
  AnyModule& module() noexcept { return module_; }
  const AnyModule& module() const noexcept { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

}  // namespace torch::nn

// In a module whose forward has default arguments: `FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(2.0)}, {2,
// AnyValue(int64_t(3))})` gives AnyModule and Sequential the positions and values of the defaults.
#define FORWARD_HAS_DEFAULT_ARGS(...)                                                                           \
  bool _forward_has_default_args() override {                                                                   \
    return true;                                                                                                \
  }                                                                                                             \
  unsigned int _forward_num_required_args() override {                                                          \
    std::vector<std::pair<unsigned int, torch::nn::AnyValue>> defaults{__VA_ARGS__};                            \
    return defaults[0].first;                                                                                   \
  }                                                                                                             \
  std::vector<torch::nn::AnyValue> _forward_populate_default_args(std::vector<torch::nn::AnyValue>&& arguments) \
      override {                                                                                                \
    std::vector<std::pair<unsigned int, torch::nn::AnyValue>> defaults{__VA_ARGS__};                            \
    std::vector<torch::nn::AnyValue> all(std::move(arguments));                                                 \
    for (auto& item : defaults) {                                                                               \
      if (item.first >= all.size()) all.push_back(std::move(item.second));                                      \
    }                                                                                                           \
    return all;                                                                                                 \
  }
