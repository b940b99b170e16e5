// Optimizers and schedules in archives: torch::save(optimizer, path), Optimizer::save, and their state dictionaries.
//
// An optimizer of one's own is saved as libtorch's are, if its options and states say how:
//
//   void MyOptions::serialize(torch::serialize::OutputArchive& archive) const { _TORCH_OPTIM_SERIALIZE_TORCH_ARG(lr); }
//   void MyOptions::serialize(torch::serialize::InputArchive& archive) { _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double,
//   lr); }
//   // MyParamState the same way; and in class My : public torch::optim::Optimizer
//   void save(torch::serialize::OutputArchive& archive) const override { serialize(*this, archive); }
//   void load(torch::serialize::InputArchive& archive) override { serialize(*this, archive); }
//   template <typename Self, typename Archive>
//   static void serialize(Self& self, Archive& archive) { _TORCH_OPTIM_SERIALIZE_WITH_TEMPLATE_ARG(My); }
//
// Or it shows its fields to a FieldVisitor (optim/state_dict.h), which also gives it a state_dict().
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "optim/optimizer.h"
#include "optim/state_dict.h"
#include "utils/serialize/archive.h"

namespace torch::serialize {

// The dict's parts under their names: what Python's torch.save(optimizer.state_dict(), path) writes, and what its
// load_state_dict(torch.load(path)) takes. In a safetensors file they have dotted names.
void write_state(OutputArchive& archive, const optim::StateDict& state);
// All of an archive as a state dict; tensors are views of the file.
optim::StateDict read_state(const InputArchive& archive);

// Loading checks everything before anything changes (Optimizer::load_state_dict).
OutputArchive& operator<<(OutputArchive& archive, const optim::Optimizer& optimizer);
InputArchive& operator>>(InputArchive& archive, optim::Optimizer& optimizer);

}  // namespace torch::serialize

namespace torch::optim {

namespace detail {

using MakeState = std::unique_ptr<OptimizerParamState> (*)();
using MakeOptions = std::unique_ptr<OptimizerOptions> (*)();
void write_optimizer(serialize::OutputArchive& archive, const Optimizer& optimizer);
void read_optimizer(serialize::InputArchive& archive, Optimizer& optimizer, MakeState make_state,
                    MakeOptions make_options);

template <typename T>
struct is_tuple : std::false_type {};
template <typename... T>
struct is_tuple<std::tuple<T...>> : std::true_type {};
template <typename T>
struct is_list : std::false_type {};
template <typename T>
struct is_list<std::deque<T>> : std::true_type {};
template <>
struct is_list<std::vector<at::Tensor>> : std::true_type {};

// Fields of options and states: what an IValue holds, tuples of numbers, lists of tensors, optional ones. Undefined
// tensors and empty optionals are left out, and read as such.
template <typename T>
void write_field(serialize::OutputArchive& archive, const std::string& name, const T& value) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    if (value.defined()) archive.write(name, value);
  } else if constexpr (is_tuple<T>::value) {
    archive.write(name, std::apply([](auto... x) { return std::vector<double>{static_cast<double>(x)...}; }, value));
  } else if constexpr (is_list<T>::value) {
    serialize::OutputArchive list;
    list.write("size", static_cast<int64_t>(value.size()));
    for (size_t i = 0; i < value.size(); ++i) write_field(list, std::to_string(i), value[i]);
    archive.write(name, list);
  } else if constexpr (requires { value.has_value(); }) {
    if (value.has_value()) write_field(archive, name, *value);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    archive.write(name, static_cast<int64_t>(value));
  } else {
    archive.write(name, value);
  }
}

template <typename T>
bool read_field(const serialize::InputArchive& archive, const std::string& name, T& value) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    at::Tensor stored;
    if (!archive.try_read(name, stored)) return false;
    // A copy: the optimizer changes it, and the file may go.
    value = stored.clone();
  } else if constexpr (is_tuple<T>::value) {
    std::vector<double> numbers;
    if (!archive.try_read(name, numbers)) return false;
    TORCH_CHECK_VALUE(numbers.size() == std::tuple_size_v<T>, "archive: '", name, "' holds ", numbers.size(),
                      " numbers, not ", std::tuple_size_v<T>);
    size_t i = 0;
    std::apply([&](auto&... x) { ((x = static_cast<std::decay_t<decltype(x)>>(numbers[i++])), ...); }, value);
  } else if constexpr (is_list<T>::value) {
    serialize::InputArchive list;
    if (!archive.try_read(name, list)) return false;
    int64_t size = 0;
    list.read("size", size);
    value.clear();
    for (int64_t i = 0; i < size; ++i) {
      typename T::value_type item;
      TORCH_CHECK(read_field(list, std::to_string(i), item), "No such serialized value '", name, ".", i, "'");
      value.push_back(std::move(item));
    }
  } else if constexpr (requires { value.has_value(); }) {
    typename T::value_type item;
    value.reset();
    if (read_field(archive, name, item)) value = std::move(item);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    int64_t number = 0;
    if (!archive.try_read(name, number)) return false;
    value = static_cast<T>(number);
  } else {
    return archive.try_read(name, value);
  }
  return true;
}

// Throws where the field is absent, unless it may be (a tensor, an optional).
template <typename T>
T read_field(const serialize::InputArchive& archive, const std::string& name) {
  T value{};
  const bool found = read_field(archive, name, value);
  constexpr bool kMayBeAbsent = std::is_same_v<T, at::Tensor> || requires {
    value.has_value();
  };
  TORCH_CHECK(found || kMayBeAbsent, "No such serialized value '", name, "'");
  return value;
}

}  // namespace detail

// An optimizer whose options and states have serialize() functions. Reading makes everything anew before anything
// changes.
template <typename ParamState, typename Options>
void serialize(torch::serialize::OutputArchive& archive, const Optimizer& optimizer) {
  detail::write_optimizer(archive, optimizer);
}
template <typename ParamState, typename Options>
void serialize(torch::serialize::InputArchive& archive, Optimizer& optimizer) {
  detail::read_optimizer(
      archive, optimizer, []() -> std::unique_ptr<OptimizerParamState> { return std::make_unique<ParamState>(); },
      []() -> std::unique_ptr<OptimizerOptions> {
        if constexpr (std::is_default_constructible_v<Options>) {
          return std::make_unique<Options>();
        } else {
          return nullptr;
        }
      });
}

}  // namespace torch::optim

// In serialize(OutputArchive& archive) const and serialize(InputArchive& archive): a field by its TORCH_ARG name.
#define _TORCH_OPTIM_SERIALIZE_TORCH_ARG(name) torch::optim::detail::write_field(archive, #name, this->name())
#define _TORCH_OPTIM_SERIALIZE_TORCH_ARG_DEQUE(name) _TORCH_OPTIM_SERIALIZE_TORCH_ARG(name)
#define _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(T, name) this->name(torch::optim::detail::read_field<T>(archive, #name))
#define _TORCH_OPTIM_DESERIALIZE_TORCH_ARG_OPTIONAL(T, name) \
  this->name(torch::optim::detail::read_field<std::optional<T>>(archive, #name))
#define _TORCH_OPTIM_DESERIALIZE_TORCH_ARG_DEQUE(T, name) \
  this->name(torch::optim::detail::read_field<std::deque<T>>(archive, #name))
// In a function of `self` and `archive`.
#define _TORCH_OPTIM_SERIALIZE_WITH_TEMPLATE_ARG(OptimizerName) \
  torch::optim::serialize<OptimizerName##ParamState, OptimizerName##Options>(archive, self)
