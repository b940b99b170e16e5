#include "distributed/ddp/state_dict_names.h"

#include <string>
#include <string_view>
#include <vector>

#include "nn/module/state_dict.h"

namespace torch::nn::parallel {
namespace {

using at::Tensor;

constexpr std::string_view kPrefix = "module.";

// Names that begin with `from` begin with `to` then.
template <class Dict>
Dict renamed(const Dict& dict, const std::string& from, const std::string& to) {
  Dict result;
  for (const auto& item : dict) {
    const bool fits = item.key().compare(0, from.size(), from) == 0;
    result.insert(fits ? to + item.key().substr(from.size()) : item.key(), item.value());
  }
  return result;
}
StateDict renamed(const StateDict& state, const std::string& from, const std::string& to) {
  StateDict result(renamed<OrderedDict<std::string, Tensor>>(state, from, to));
  result.extra_state = renamed(state.extra_state, from, to);
  // A module's name has no dot behind it.
  const auto without_dot = [](const std::string& name) {
    return name.empty() ? name : name.substr(0, name.size() - 1);
  };
  for (const auto& item : state.versions) {
    std::string name = item.key();
    if (name == without_dot(from)) {
      name = without_dot(to);
    } else if (name.compare(0, from.size(), from) == 0) {
      name = to + name.substr(from.size());
    }
    if (!result.versions.contains(name)) result.versions.insert(name, item.value());
  }
  return result;
}

}  // namespace

void name_states_as_wrapped(Module& wrapper, bool has_prefix) {
  if (!has_prefix) {
    wrapper.register_state_dict_post_hook([](Module&, StateDict& state, const std::string& prefix) {
      state = renamed(state, prefix + std::string(kPrefix), prefix);
    });
  }
  wrapper.register_load_state_dict_pre_hook([](Module&, StateDict& state, const std::string& prefix, bool,
                                               std::vector<std::string>&, std::vector<std::string>&,
                                               std::vector<std::string>&) {
    const std::string inner = prefix + std::string(kPrefix);
    for (const auto& item : state) {
      if (item.key().compare(0, inner.size(), inner) == 0) return;
    }
    state = renamed(state, prefix, inner);
  });
}

}  // namespace torch::nn::parallel
