#include "distributed/tensor/parallel/style.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>

#include "c10/util/exception.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/parallel/distribute_module.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/module/module_access.h"

namespace torch::distributed::tensor::parallel {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

bool is_linear(const nn::Module& module) {
  return module.as<nn::Linear>() != nullptr;
}

void check_linear_or_embedding(const char* style, const nn::Module& module) {
  TORCH_CHECK_NOT_IMPLEMENTED(is_linear(module) || module.as<nn::Embedding>() != nullptr, style,
                              " is for Linear and Embedding, but got a module of type ",
                              nn::detail::class_name(module));
}

// Of `fused` layers that lie side by side along a dimension, each is cut.
Placement cut_at(int64_t dim, int64_t fused) {
  return fused == 1 ? static_cast<Placement>(Shard(dim)) : static_cast<Placement>(StridedShard(dim, fused));
}

// A DTensor in `desired`, of a plain tensor that lies as `layout` says.
DTensor placed(const Tensor& tensor, const DeviceMesh& mesh, const Placement& layout, const Placement& desired) {
  const DTensor distributed = DTensor::is(tensor) ? DTensor(tensor) : DTensor::from_local(tensor, mesh, {layout});
  const std::vector<Placement> wanted = normalized(mesh, {desired}, distributed.dim());
  return distributed.placements() == wanted ? distributed : distributed.redistribute(wanted);
}

Tensor given_out(const DTensor& tensor, bool local) {
  return local ? tensor.to_local() : static_cast<const Tensor&>(tensor);
}

// What a hook does with a module's first argument, and with its one result.
template <class Convert>
void convert_input(nn::Module& module, const Convert& convert) {
  module.register_forward_pre_hook([convert](nn::Module& m, const Tensors& inputs) {
    TORCH_CHECK_TYPE(!inputs.empty() && inputs[0].defined(), nn::detail::class_name(m),
                     ": its first argument is no tensor, which its parallel style distributes");
    Tensors converted = inputs;
    converted[0] = convert(inputs[0]);
    return converted;
  });
}
void convert_output(nn::Module& module, const DeviceMesh& mesh, const Placement& layout, bool use_local_output) {
  module.register_forward_hook([=](nn::Module&, const Tensors&, const Tensor& output) {
    return given_out(placed(output, mesh, layout, layout), use_local_output);
  });
}

void distribute_parameters(const ParallelStyle& style, nn::Module& module, const DeviceMesh& mesh,
                           std::optional<int64_t> src_data_rank) {
  std::vector<std::string> names;
  for (const auto& item : nn::ModuleAccess::parameters(module)) {
    if (item.value().defined()) names.push_back(item.key());
  }
  for (const std::string& name : names) {
    distribute_parameter(module, name, mesh, {style.placement_of(module, name).value()}, src_data_rank);
  }
}

// Plans.

struct Planned {
  nn::Module* module;
  const ParallelStyle* style;
};

void find_modules(nn::Module& module, std::string_view pattern, std::vector<nn::Module*>& found) {
  if (pattern.empty()) {
    // One that is registered in several places is found once.
    if (std::find(found.begin(), found.end(), &module) == found.end()) found.push_back(&module);
    return;
  }
  const size_t dot = pattern.find('.');
  const std::string first(pattern.substr(0, dot));
  const std::string_view rest = dot == std::string_view::npos ? std::string_view() : pattern.substr(dot + 1);
  for (const auto& child : nn::ModuleAccess::children(module)) {
    if (child.value() == nullptr || fnmatch(first.c_str(), child.key().c_str(), 0) != 0) continue;
    find_modules(*child.value(), rest, found);
  }
}

// Parameters that are registered in several places.
class SharedParameters {
 public:
  explicit SharedParameters(nn::Module& module) {
    std::map<const c10::TensorImpl*, std::vector<Place>> places;
    module.apply([&](const std::string& path, nn::Module& one) {
      for (const auto& item : nn::ModuleAccess::parameters(one)) {
        if (!item.value().defined()) continue;
        places[item.value().unsafeGetTensorImpl()].push_back({path, &one, item.key(), item.value()});
      }
    });
    for (auto& [tensor, of_tensor] : places) {
      if (of_tensor.size() > 1) shared_.push_back(std::move(of_tensor));
    }
  }

  // A parameter lies in one way, wherever it is.
  void check(const std::vector<Planned>& planned) const {
    for (const std::vector<Place>& places : shared_) {
      const Place* first = nullptr;
      std::optional<Placement> wanted;
      for (const Place& place : places) {
        for (const Planned& one : planned) {
          const auto placement =
              one.module == place.module ? one.style->placement_of(*one.module, place.name) : std::nullopt;
          if (!placement) continue;
          TORCH_CHECK_VALUE(!wanted || *wanted == *placement, "parallelize_module: '", first->path, "' and '",
                            place.path, "' share the parameter '", place.name,
                            "', but the plan gives it the placements ", wanted->str(), " and ", placement->str());
          first = &place;
          wanted = placement;
        }
      }
    }
  }

  // What became another in one place becomes that in the others.
  void share_again() const {
    for (const std::vector<Place>& places : shared_) {
      const auto changed = std::find_if(places.begin(), places.end(),
                                        [](const Place& place) { return !place.now().is_same(place.before); });
      if (changed == places.end()) continue;
      const Tensor tensor = changed->now();
      for (const Place& place : places) {
        if (place.now().is_same(tensor)) continue;
        nn::tensor_member(*place.module, place.name) = place.module->replace_parameter(place.name, tensor);
      }
    }
  }

 private:
  struct Place {
    std::string path;
    nn::Module* module;
    std::string name;
    Tensor before;
    const Tensor& now() const { return nn::ModuleAccess::parameters(*module)[name]; }
  };
  std::vector<std::vector<Place>> shared_;
};

// The arguments, or results, that a list of layouts is for.
Tensors prepared(const char* what, const nn::Module& module, const Tensors& tensors, const DeviceMesh& mesh,
                 const Layouts& layouts, const Layouts& desired, bool use_local) {
  TORCH_CHECK_VALUE(tensors.size() == layouts.size(), nn::detail::class_name(module), ": it has ", tensors.size(), " ",
                    what, ", but its parallel style has layouts for ", layouts.size());
  Tensors result = tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!layouts[i] || !tensors[i].defined()) continue;
    result[i] = given_out(placed(tensors[i], mesh, *layouts[i], desired[i].value_or(*layouts[i])), use_local);
  }
  return result;
}

void check_lengths(const char* style, const Layouts& layouts, const Layouts& desired) {
  TORCH_CHECK_VALUE(layouts.size() == desired.size(), style, ": ", layouts.size(), " layouts, but ", desired.size(),
                    " desired ones");
}

class FromPart final : public nn::TensorRule {
 public:
  explicit FromPart(SpecPtr spec) : spec_(std::move(spec)) {}
  Tensor compute(nn::Module& module, const std::string& name) const override {
    FromLocalOptions options;
    options.shape = spec_->sizes().vec();
    options.stride = spec_->strides().vec();
    return DTensor::from_local(module.get_parameter(name), spec_->mesh(), spec_->placements(), options);
  }

 private:
  SpecPtr spec_;
};

}  // namespace

nn::Module& parallelize_module(nn::ModuleRef module, const DeviceMesh& mesh, const ParallelizePlan& plan,
                               std::optional<int64_t> src_data_rank) {
  TORCH_CHECK_VALUE(mesh.ndim() == 1, "parallelize_module: expected a mesh of one dimension, but got ", mesh.str(),
                    "; take one of its dimensions, as in mesh[\"tp\"]");
  std::vector<Planned> planned;
  for (const auto& [path, style] : plan) {
    TORCH_CHECK_VALUE(style.get() != nullptr, "parallelize_module: there is no style for '", path, "'");
    std::vector<nn::Module*> found;
    find_modules(*module, path, found);
    TORCH_CHECK_VALUE(!found.empty(), "parallelize_module: no module of ", nn::detail::class_name(*module),
                      " has the path '", path, "'");
    for (nn::Module* one : found) planned.push_back({one, style.get().get()});
  }
  for (const Planned& one : planned) one.style->check(*one.module);
  const SharedParameters shared(*module);
  shared.check(planned);
  for (const Planned& one : planned) one.style->apply(*one.module, mesh, src_data_rank);
  shared.share_again();
  return *module;
}

nn::Module& parallelize_module(nn::ModuleRef module, const DeviceMesh& mesh, const PlannedStyle& style,
                               std::optional<int64_t> src_data_rank) {
  return parallelize_module(module, mesh, ParallelizePlan{{"", style}}, src_data_rank);
}

ColwiseParallel::ColwiseParallel(LinearStyleOptions options, int64_t fused)
    : options_(std::move(options)), fused_(fused) {
  TORCH_CHECK_VALUE(fused > 0, "ColwiseParallel: fused is ", fused, ", but there is a layer at least");
}

void ColwiseParallel::check(nn::Module& module) const {
  check_linear_or_embedding("ColwiseParallel", module);
}

std::optional<Placement> ColwiseParallel::placement_of(const nn::Module& module, const std::string&) const {
  return cut_at(is_linear(module) ? 0 : 1, fused_);
}

void ColwiseParallel::apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t> src_data_rank) const {
  check(module);
  const Placement layout = options_.input_layouts.value_or(Replicate());
  distribute_parameters(*this, module, mesh, src_data_rank);
  convert_input(module, [=](const Tensor& input) { return placed(input, mesh, layout, Replicate()); });
  convert_output(module, mesh, options_.output_layouts.value_or(cut_at(-1, fused_)), options_.use_local_output);
}

RowwiseParallel::RowwiseParallel(LinearStyleOptions options) : options_(std::move(options)) {}

void RowwiseParallel::check(nn::Module& module) const {
  check_linear_or_embedding("RowwiseParallel", module);
}

std::optional<Placement> RowwiseParallel::placement_of(const nn::Module& module, const std::string& parameter) const {
  return parameter == "weight" ? static_cast<Placement>(Shard(is_linear(module) ? 1 : 0)) : Placement();
}

void RowwiseParallel::apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t> src_data_rank) const {
  check(module);
  const Placement desired = is_linear(module) ? static_cast<Placement>(Shard(-1)) : static_cast<Placement>(Replicate());
  const Placement layout = options_.input_layouts.value_or(desired);
  distribute_parameters(*this, module, mesh, src_data_rank);
  convert_input(module, [=](const Tensor& input) { return placed(input, mesh, layout, desired); });
  convert_output(module, mesh, options_.output_layouts.value_or(Replicate()), options_.use_local_output);
}

void SequenceParallel::check(nn::Module& module) const {
  for (const auto& item : nn::ModuleAccess::parameters(module)) {
    if (item.value().defined()) nn::tensor_member(module, item.key());
  }
}

std::optional<Placement> SequenceParallel::placement_of(const nn::Module&, const std::string&) const {
  return Replicate();
}

void SequenceParallel::apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t> src_data_rank) const {
  const Placement cut = Shard(sequence_dim_);
  distribute_parameters(*this, module, mesh, src_data_rank);
  convert_input(module, [=](const Tensor& input) { return placed(input, mesh, cut, cut); });
  convert_output(module, mesh, cut, use_local_output_);
}

PrepareModuleInput::PrepareModuleInput(Layouts input_layouts, Layouts desired_input_layouts, bool use_local_output)
    : layouts_(std::move(input_layouts)),
      desired_(std::move(desired_input_layouts)),
      use_local_output_(use_local_output) {
  check_lengths("PrepareModuleInput", layouts_, desired_);
}

void PrepareModuleInput::apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t>) const {
  module.register_forward_pre_hook([style = *this, mesh](nn::Module& m, const Tensors& inputs) {
    return prepared("arguments", m, inputs, mesh, style.layouts_, style.desired_, style.use_local_output_);
  });
}

PrepareModuleOutput::PrepareModuleOutput(Layouts output_layouts, Layouts desired_output_layouts, bool use_local_output)
    : layouts_(std::move(output_layouts)),
      desired_(std::move(desired_output_layouts)),
      use_local_output_(use_local_output) {
  check_lengths("PrepareModuleOutput", layouts_, desired_);
}

void PrepareModuleOutput::apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t>) const {
  module.register_forward_hook([style = *this, mesh](nn::Module& m, const Tensors&, const Tensors& outputs) {
    return prepared("results", m, outputs, mesh, style.layouts_, style.desired_, style.use_local_output_);
  });
}

void PrepareModuleInputOutput::apply(nn::Module& module, const DeviceMesh& mesh,
                                     std::optional<int64_t> src_data_rank) const {
  input_.apply(module, mesh, src_data_rank);
  output_.apply(module, mesh, src_data_rank);
}

void localize_parameters(nn::ModuleRef module) {
  (*module).apply([](nn::Module& m) {
    std::vector<std::pair<std::string, DTensor>> distributed;
    for (const auto& item : nn::ModuleAccess::parameters(m)) {
      if (DTensor::is(item.value())) distributed.emplace_back(item.key(), DTensor(item.value()));
    }
    for (const auto& [name, tensor] : distributed) {
      nn::compute_tensor(m, name, std::make_shared<const FromPart>(tensor.spec()));
      Tensor part = detail::impl_of(tensor)->local();
      nn::register_memberless(m, name, part.requires_grad_(tensor.requires_grad()), /*is_parameter=*/true);
      nn::refresh_tensor(m, name);
    }
  });
}

}  // namespace torch::distributed::tensor::parallel
