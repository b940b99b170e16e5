#include "utils/serialize/optimizer_archive.h"

#include <charconv>

#include "utils/serialize/file_error.h"

namespace torch::optim::detail {

// What optim/optimizer.cc refers to weakly.
void write_state(serialize::OutputArchive& archive, const StateDict& state) {
  serialize::write_state(archive, state);
}

namespace {

using GenericDict = c10::Dict<c10::IValue, c10::IValue>;

// Where libtorch kept states before 1.5: lists of tensors, one a parameter, for all optimizers under these names.
struct OldList {
  const char* name;
  const char* field;
};
constexpr OldList kOldLists[] = {{"step_buffers", "step"},
                                 {"sum_buffers", "sum"},
                                 {"momentum_buffers", "momentum_buffer"},
                                 {"exp_average_buffers", "exp_avg"},
                                 {"exp_average_sq_buffers", "exp_avg_sq"},
                                 {"max_exp_average_sq_buffers", "max_exp_avg_sq"},
                                 {"square_average_buffers", "square_avg"},
                                 {"grad_average_buffers", "grad_avg"}};

bool read_old_list(const serialize::InputArchive& archive, const std::string& name, std::vector<at::Tensor>& list) {
  at::Tensor size;
  if (!archive.try_read(name + "/size", size, /*is_buffer=*/false)) return false;
  const int64_t count = checked_count(size, name);
  for (int64_t i = 0; i < count; ++i) archive.read(c10::str(name, '/', i), list.emplace_back(), /*is_buffer=*/true);
  return true;
}

// A file of that time, under today's names; false for another one.
bool read_old_states(const serialize::InputArchive& archive, GenericDict& states) {
  const auto state = [&](int64_t number) {
    const c10::IValue key(number);
    if (!states.contains(key)) states.insert(key, c10::IValue(GenericDict()));
    return states.at(key).toGenericDict();
  };
  for (const OldList& old : kOldLists) {
    std::vector<at::Tensor> list;
    if (!read_old_list(archive, old.name, list)) continue;
    for (size_t i = 0; i < list.size(); ++i)
      state(static_cast<int64_t>(i)).insert(c10::IValue(old.field), c10::IValue(list[i]));
    // RMSprop did not count.
    for (size_t i = 0; i < list.size() && std::string_view(old.field) == "square_avg"; ++i) {
      state(static_cast<int64_t>(i)).insert(c10::IValue("step"), c10::IValue(0));
    }
  }
  at::Tensor direction;
  if (!archive.try_read("prev_flat_grad", direction, /*is_buffer=*/true)) return !states.empty();
  for (const char* name : {"d", "t", "H_diag", "prev_flat_grad", "prev_loss"}) {
    at::Tensor value;
    if (archive.try_read(name, value, /*is_buffer=*/true)) state(0).insert(c10::IValue(name), c10::IValue(value));
  }
  for (const char* name : {"old_dirs", "old_stps"}) {
    std::vector<at::Tensor> list;
    if (read_old_list(archive, name, list)) state(0).insert(c10::IValue(name), c10::IValue(list));
  }
  return true;
}

}  // namespace

StateDict read_state(const serialize::InputArchive& archive, const Optimizer* optimizer) {
  GenericDict states;
  if (optimizer == nullptr || !read_old_states(archive, states)) return serialize::read_state(archive);
  TORCH_WARN(
      "this optimizer was saved in the old serialization format of libtorch before 1.5, without settings: save it "
      "again");
  StateDict dict = optimizer->state_dict();
  dict.set("state", c10::IValue(states));
  return dict;
}

void write_optimizer(serialize::OutputArchive& archive, const Optimizer& optimizer) {
  serialize::OutputArchive states, groups;
  size_t number = 0;
  const std::vector<OptimizerParamGroup>& param_groups = optimizer.param_groups();
  groups.write("size", static_cast<int64_t>(param_groups.size()));
  for (size_t g = 0; g < param_groups.size(); ++g) {
    for (const at::Tensor& p : param_groups[g].params()) {
      const auto found = optimizer.state().find(p.unsafeGetTensorImpl());
      if (found != optimizer.state().end()) {
        serialize::OutputArchive state;
        static_cast<const OptimizerParamState&>(*found->second).serialize(state);
        states.write(std::to_string(number), state);
      }
      ++number;
    }
    serialize::OutputArchive group, options;
    group.write("size", static_cast<int64_t>(param_groups[g].params().size()));
    param_groups[g].options().serialize(options);
    group.write("options", options);
    groups.write(std::to_string(g), group);
  }
  archive.write("state", states);
  archive.write("param_groups", groups);
}

void read_optimizer(serialize::InputArchive& archive, Optimizer& optimizer, MakeState make_state,
                    MakeOptions make_options) {
  serialize::InputArchive states, groups;
  archive.read("state", states);
  archive.read("param_groups", groups);
  std::vector<OptimizerParamGroup>& param_groups = optimizer.param_groups();
  int64_t count = 0;
  groups.read("size", count);
  TORCH_CHECK_VALUE(count == static_cast<int64_t>(param_groups.size()),
                    "loaded state dict has a different number of parameter groups: expected ", param_groups.size(),
                    ", but got ", count);
  Optimizer::StateMap fresh;
  std::vector<std::unique_ptr<OptimizerOptions>> fresh_options;
  size_t number = 0;
  for (size_t g = 0; g < param_groups.size(); ++g) {
    serialize::InputArchive group, options;
    groups.read(std::to_string(g), group);
    group.read("size", count);
    TORCH_CHECK_VALUE(count == static_cast<int64_t>(param_groups[g].params().size()),
                      "loaded state dict contains a parameter group that has a different size than the optimizer's "
                      "parameter group: expected ",
                      param_groups[g].params().size(), ", but got ", count);
    group.read("options", options);
    fresh_options.push_back(make_options());
    // Options that cannot be made from nothing begin as those that are there.
    if (fresh_options.back() == nullptr) fresh_options.back() = param_groups[g].options().clone();
    fresh_options.back()->serialize(options);
    fresh_options.back()->check();
    for (const at::Tensor& p : param_groups[g].params()) {
      serialize::InputArchive state;
      if (!states.try_read(std::to_string(number++), state)) continue;
      std::unique_ptr<OptimizerParamState> made = make_state();
      made->serialize(state);
      fresh[p.unsafeGetTensorImpl()] = std::move(made);
    }
  }
  optimizer.state() = std::move(fresh);
  for (size_t g = 0; g < param_groups.size(); ++g) param_groups[g].set_options(std::move(fresh_options[g]));
}

}  // namespace torch::optim::detail

namespace torch::serialize {

void write_state(OutputArchive& archive, const optim::StateDict& state) {
  for (const auto& entry : state.tree().toGenericDict()) archive.write(entry.key().toStringRef(), entry.value());
}

namespace {

c10::IValue read_tree(const InputArchive& archive, int depth) {
  if (depth > 32) throw_format_error("archive: a state dict that is nested more than 32 times");
  c10::Dict<c10::IValue, c10::IValue> dict;
  for (const std::string& key : archive.keys()) {
    c10::IValue value;
    InputArchive nested;
    if (!archive.try_read(key, value) && archive.try_read(key, nested)) value = read_tree(nested, depth + 1);
    // Numbers are keys of parameters, or places in a list.
    int64_t number = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
    const bool is_number = error == std::errc() && end == key.data() + key.size() && std::to_string(number) == key;
    dict.insert_or_assign(is_number ? c10::IValue(number) : c10::IValue(key), value);
  }
  return c10::IValue(dict);
}

}  // namespace

optim::StateDict read_state(const InputArchive& archive) {
  return optim::StateDict(read_tree(archive, 0));
}

OutputArchive& operator<<(OutputArchive& archive, const optim::Optimizer& optimizer) {
  optimizer.save(archive);
  return archive;
}

InputArchive& operator>>(InputArchive& archive, optim::Optimizer& optimizer) {
  optimizer.load(archive);
  return archive;
}

}  // namespace torch::serialize
