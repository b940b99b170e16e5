// Operators of distributed tensors.
#include <algorithm>
#include <atomic>
#include <bit>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/accumulate_grad.h"
#include "autograd/engine/engine.h"
#include "c10/core/memory_format.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "c10/util/safe_numerics.h"
#include "c10/util/small_vector.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/redistribute.h"
#include "distributed/tensor/sharding.h"

namespace torch::distributed::tensor {
namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using c10::OperatorHandle;
using c10::Stack;

// What was found out about calls with such arguments.
struct Decision {
  std::vector<std::vector<Placement>> inputs;
  std::vector<SpecPtr> outputs;  // of the mesh unowned; empty: whole, of the sizes that come out
  std::vector<std::optional<size_t>> like;  // inputs that have the same
  std::vector<int64_t> offsets;  // of outputs that are views, from the argument's first element
  std::optional<size_t> sizes_argument;
  std::vector<std::pair<size_t, IValue>> arguments;  // that have other values for the parts
};

// What a decision depends on.
struct Key {
  const c10::OperatorBase* op = nullptr;
  std::vector<uint64_t> words;
  std::vector<SpecPtr> specs;
  uint64_t hash = 0;
};
// The same of a call, whose arguments keep the specs.
struct CallKey {
  const c10::OperatorBase* op = nullptr;
  c10::SmallVector<uint64_t, 32> words;
  c10::SmallVector<const Spec*, 8> specs;
  uint64_t hash = 0;

  void add(uint64_t word) {
    words.push_back(word);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u + (hash >> 31);
  }
  // For the mesh's cache.
  Key kept(const DeviceMesh& mesh) const {
    Key key{op, {words.begin(), words.end()}, {}, hash};
    for (const Spec* spec : specs) key.specs.push_back(spec->on(mesh.unowned()));
    return key;
  }
};
struct KeyHash {
  using is_transparent = void;
  size_t operator()(const auto& key) const { return static_cast<size_t>(key.hash); }
};
struct KeyEqual {
  using is_transparent = void;
  static const Spec* address(const Spec* spec) { return spec; }
  static const Spec* address(const SpecPtr& spec) { return spec.get(); }
  bool operator()(const auto& a, const auto& b) const {
    return a.op == b.op && std::equal(a.words.begin(), a.words.end(), b.words.begin(), b.words.end()) &&
           std::equal(a.specs.begin(), a.specs.end(), b.specs.begin(), b.specs.end(),
                      [](const auto& x, const auto& y) { return *address(x) == *address(y); });
  }
};

// One a mesh.
struct Cache {
  static constexpr size_t kLimit = 16384;  // entries, which are made anew when there are more
  std::mutex mutex;
  std::unordered_map<Key, std::shared_ptr<const Decision>, KeyHash, KeyEqual> decisions;
  uint64_t version = 0;  // of the rules that they are made by

  static Cache& of(const DeviceMesh& mesh) {
    return *static_cast<Cache*>(mesh.cache([]() -> std::shared_ptr<void> { return std::make_shared<Cache>(); }));
  }
};

// The arguments of a call that are tensors.
struct Inputs {
  struct One {
    Tensor tensor;
    size_t argument;
    const DTensorImpl* impl;  // null for a plain tensor, which is the same on all ranks
    Tensor part = {};         // what is computed with, where it is not the tensor's part as it is
  };
  std::vector<One> all;
  const DeviceMesh* mesh = nullptr;
};

bool is_whole_anyway(const Tensor& t) {
  return t.dim() == 0 || ImplicitReplication::is_on();
}

Inputs inputs_of(const OperatorHandle& op, const Stack& arguments) {
  Inputs inputs;
  inputs.all.reserve(arguments.size());
  const auto add = [&](const IValue& value, size_t argument) {
    if (value.unsafe_tensor_impl() == nullptr) return;
    Tensor tensor = value.toTensor();
    const DTensorImpl* impl = detail::impl_of(tensor);
    TORCH_CHECK(impl != nullptr || at::wrapper_of(tensor) == nullptr, toString(op.operator_name()), ": argument '",
                op.schema().arguments()[argument].name(), "' is a tensor of another kind beside distributed ones");
    if (impl != nullptr) {
      const DeviceMesh& mesh = impl->spec()->mesh();
      TORCH_CHECK(inputs.mesh == nullptr || *inputs.mesh == mesh, toString(op.operator_name()), ": argument '",
                  op.schema().arguments()[argument].name(), "' lies on ", mesh.str(), ", but another one on ",
                  inputs.mesh != nullptr ? inputs.mesh->str() : "");
      inputs.mesh = &mesh;
    }
    inputs.all.push_back({std::move(tensor), argument, impl});
  };
  for (size_t a = 0; a < arguments.size(); ++a) {
    if (arguments[a].isTensor()) {
      add(arguments[a], a);
    } else if (arguments[a].isList()) {
      for (const IValue& element : arguments[a].toListRef()) {
        if (element.isTensor()) add(element, a);
      }
    }
  }
  for (const Inputs::One& one : inputs.all) {
    const c10::Argument& argument = op.schema().arguments()[one.argument];
    TORCH_CHECK(one.impl != nullptr || (is_whole_anyway(one.tensor) && !argument.is_write()),
                toString(op.operator_name()),
                ": got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
                "distributed operators! '",
                argument.name(), "' is a plain tensor");
  }
  return inputs;
}

SpecPtr whole_spec(const DeviceMesh& mesh, const Tensor& t) {
  return c10::make_intrusive<Spec>(mesh, std::vector<Placement>(static_cast<size_t>(mesh.ndim())), t.sizes(),
                                   t.strides(), t.scalar_type());
}

// Adds what a value is; false where that is not known.
bool add_value(CallKey& key, const IValue& value) {
  key.add(static_cast<uint64_t>(value.tag()));
  if (value.isNone() || value.isGenerator()) return true;
  if (value.isInt()) return key.add(static_cast<uint64_t>(value.toInt())), true;
  if (value.isBool()) return key.add(value.toBool() ? 1 : 0), true;
  if (value.isDouble()) return key.add(std::bit_cast<uint64_t>(value.toDouble())), true;
  if (value.isComplexDouble()) {
    key.add(std::bit_cast<uint64_t>(value.toComplexDouble().real()));
    key.add(std::bit_cast<uint64_t>(value.toComplexDouble().imag()));
    return true;
  }
  if (value.isDevice()) {
    key.add(static_cast<uint64_t>(value.toDevice().type()) << 32 | static_cast<uint8_t>(value.toDevice().index()));
    return true;
  }
  if (value.isString()) {
    key.add(value.toStringView().size());
    for (const char c : value.toStringView()) key.add(static_cast<uint64_t>(c));
    return true;
  }
  return false;
}

// False where nothing tells the call from others.
bool make_key(CallKey& key, const OperatorHandle& op, const Stack& arguments, const Inputs& inputs) {
  key.op = &op.op();
  key.hash = reinterpret_cast<uintptr_t>(key.op);
  size_t next = 0;
  const auto add = [&](const IValue& value) {
    if (!value.isTensor() || value.unsafe_tensor_impl() == nullptr) {
      return add_value(key, value.isTensor() ? IValue() : value);
    }
    const Inputs::One& one = inputs.all[next++];
    if (one.impl != nullptr) {
      key.add(one.impl->spec()->hash());
      key.specs.push_back(one.impl->spec().get());
    } else {
      key.add(static_cast<uint64_t>(one.tensor.scalar_type()) << 8 | static_cast<uint64_t>(one.tensor.dim()));
      for (const int64_t size : one.tensor.sizes()) key.add(static_cast<uint64_t>(size));
      for (const int64_t stride : one.tensor.strides()) key.add(static_cast<uint64_t>(stride));
    }
    return true;
  };
  for (const IValue& value : arguments) {
    if (value.isList()) {
      key.add(value.toListRef().size());
      for (const IValue& element : value.toListRef()) {
        if (!add(element)) return false;
      }
    } else if (!add(value)) {
      return false;
    }
  }
  return true;
}

// The number among the tensors that an operator returns of what it wrote to an argument; nullopt where it returns it
// not.
std::optional<size_t> result_of(const c10::FunctionSchema& schema, const c10::Argument& argument) {
  for (size_t k = 0; k < schema.returns().size(); ++k) {
    if (!argument.alias().empty() && schema.returns()[k].alias() == argument.alias()) return k;
  }
  return std::nullopt;
}

// The sizes, strides and dtypes of the results for the whole tensors; nullopt where no kernel for the meta device says
// them.
std::optional<std::vector<ShardedCall::Output>> outputs_of(const OperatorHandle& op, const Stack& arguments) {
  Stack meta = arguments;
  at::transform_tensors(meta, [](const Tensor& t) {
    if (!t.defined()) return t;
    Tensor without =
        at::empty_strided(t.sizes(), t.strides(), at::TensorOptions().dtype(t.scalar_type()).device(at::kMeta));
    without.unsafeGetTensorImpl()->set_wrapped_number(t.unsafeGetTensorImpl()->is_wrapped_number());
    return without;
  });
  for (IValue& value : meta) {
    if (value.isDevice()) value = IValue(c10::Device(at::kMeta));
  }
  try {
    op.redispatchBoxed(DispatchKeySet(DispatchKey::Meta), &meta);
  } catch (const c10::NotImplementedError&) {
    return std::nullopt;
  }
  std::vector<ShardedCall::Output> outputs;
  at::transform_tensors(meta, [&](const Tensor& t) {
    if (t.defined()) outputs.push_back({t.sizes().vec(), t.strides().vec(), t.scalar_type(), t.storage_offset()});
    return t;
  });
  return outputs;
}

// Whether some rank's part of an input is empty where its placement along a dimension of the mesh becomes that one.
bool has_empty_part(const Spec& spec, size_t mesh_dim, const Placement& placement) {
  if (!placement.is_shard() && !placement.is_strided_shard()) return false;
  std::vector<Placement> placements = spec.placements();
  placements[mesh_dim] = placement;
  std::vector<int64_t> last = spec.mesh().shape();
  for (int64_t& index : last) --index;
  return sizes_at(spec.mesh(), placements, spec.sizes(), last)[static_cast<size_t>(placement.dim())] == 0;
}

// The same of a strategy, where parts must not be empty.
bool has_empty_parts(const ShardedCall& call, size_t mesh_dim, const Strategy& strategy) {
  bool some = false;
  for (size_t i = 0; i < call.inputs.size() && !call.empty_parts; ++i) {
    some = some || has_empty_part(*call.inputs[i].spec, mesh_dim, strategy.inputs[i]);
  }
  return some;
}

// Where a rule lets a dimension be cut anywhere, also in the way of a StridedShard that an input has.
void add_strided(const ShardedCall& call, int64_t mesh_dim, std::vector<Strategy>& strategies) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Placement& present = call.inputs[i].spec->placements()[static_cast<size_t>(mesh_dim)];
    if (!present.is_strided_shard()) continue;
    const size_t count = strategies.size();
    for (size_t s = 0; s < count; ++s) {
      if (!strategies[s].any_parts || !strategies[s].inputs[i].is_shard(present.dim())) continue;
      Strategy strided = strategies[s];
      for (auto* list : {&strided.inputs, &strided.outputs}) {
        for (Placement& placement : *list) {
          if (placement.is_shard()) placement = StridedShard(placement.dim(), present.split_factor());
        }
      }
      if (!has_empty_parts(call, static_cast<size_t>(mesh_dim), strided)) strategies.push_back(std::move(strided));
    }
    return;
  }
}

Decision decide(const OperatorHandle& op, const Stack& arguments, const Inputs& inputs, const ShardingRule& rule) {
  const DeviceMesh& mesh = *inputs.mesh;
  const size_t mesh_dims = static_cast<size_t>(mesh.ndim());
  ShardedCall call(op.schema(), arguments);
  for (const Inputs::One& one : inputs.all) {
    call.inputs.push_back({one.argument, one.impl != nullptr ? one.impl->spec() : whole_spec(mesh, one.tensor)});
  }
  Decision decision;
  decision.inputs.assign(call.inputs.size(), std::vector<Placement>(mesh_dims));
  auto outputs = outputs_of(op, arguments);
  if (!outputs) return decision;
  call.outputs = *std::move(outputs);
  std::vector<std::vector<Placement>> results(call.outputs.size(), std::vector<Placement>(mesh_dims));
  for (size_t m = 0; m < mesh_dims; ++m) {
    call.mesh_dim = m;
    call.parts = mesh.shape()[m];
    rule(call);
    std::vector<Strategy> strategies{call.whole()};
    for (Strategy& strategy : call.take()) {
      if (!has_empty_parts(call, m, strategy)) strategies.push_back(std::move(strategy));
    }
    add_strided(call, static_cast<int64_t>(m), strategies);
    double least = std::numeric_limits<double>::infinity();
    const Strategy* best = nullptr;
    for (const Strategy& strategy : strategies) {
      double cost = 0;
      for (size_t i = 0; i < call.inputs.size(); ++i) {
        const Spec& spec = *call.inputs[i].spec;
        double bytes = static_cast<double>(c10::elementSize(spec.dtype()));
        for (const int64_t size : spec.sizes()) bytes *= static_cast<double>(size);
        for (size_t k = 0; k < mesh_dims; ++k) {
          const Placement& other = spec.placements()[k];
          if (k != m && (other.is_shard() || other.is_strided_shard())) bytes /= static_cast<double>(mesh.shape()[k]);
        }
        cost += transition_cost(spec.placements()[m], strategy.inputs[i], bytes, call.parts);
        // What is written to stays where it is, or is made elsewhere and moved back.
        const c10::Argument& argument = op.schema().arguments()[call.inputs[i].argument];
        if (argument.is_write()) {
          const auto result = result_of(op.schema(), argument);
          const Placement& now =
              result && *result < strategy.outputs.size() ? strategy.outputs[*result] : strategy.inputs[i];
          cost += transition_cost(now, spec.placements()[m], bytes, call.parts);
        }
      }
      if (cost < least || best == nullptr) {
        least = cost;
        best = &strategy;
      }
    }
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      decision.inputs[i][m] = best->inputs[i];
      const Spec& spec = *call.inputs[i].spec;
      if (spec.placements()[m] == best->inputs[i]) continue;
      // What was decided counts for the dimensions of the mesh that come: several may cut one of the tensor.
      std::vector<Placement> placements = spec.placements();
      placements[m] = best->inputs[i];
      call.inputs[i].spec =
          c10::make_intrusive<Spec>(mesh, std::move(placements), spec.sizes(), spec.strides(), spec.dtype());
    }
    for (size_t k = 0; k < results.size(); ++k) results[k][m] = best->outputs[k];
    if (best->argument) decision.arguments.push_back(*best->argument);
  }
  for (size_t k = 0; k < results.size(); ++k) {
    decision.outputs.push_back(c10::make_intrusive<Spec>(mesh.unowned(), std::move(results[k]), call.outputs[k].sizes,
                                                         call.outputs[k].strides, call.outputs[k].dtype));
    const auto same = std::find_if(inputs.all.begin(), inputs.all.end(), [&](const Inputs::One& one) {
      return one.impl != nullptr && *one.impl->spec() == *decision.outputs.back();
    });
    decision.like.emplace_back();
    if (same != inputs.all.end()) decision.like.back() = static_cast<size_t>(same - inputs.all.begin());
    decision.offsets.push_back(call.outputs[k].offset);
  }
  if (!call.sizes_argument.empty()) decision.sizes_argument = op.schema().argument_index(call.sizes_argument);
  return decision;
}

DTensorImpl& mutable_impl(const Tensor& t) {
  return static_cast<DTensorImpl&>(*t.unsafeGetTensorImpl());
}

// What an argument that the operator wrote to becomes: `part`, which is one of a tensor with these placements.
void write_back(const Tensor& argument, const Tensor& part, const std::vector<Placement>& placements,
                const SpecPtr& result) {
  DTensorImpl& impl = mutable_impl(argument);
  const SpecPtr before = impl.spec();
  if (result && (result->sizes() != before->sizes() || result->strides() != before->strides())) {
    impl.reset(part, result);
    return;
  }
  if (placements == before->placements()) return;
  const Spec now(before->mesh(), placements, before->sizes(), before->strides(), before->dtype());
  Tensor local = impl.local();
  local.copy_(redistribute_local(part, now, before->placements()));
}

bool same_memory(const Tensor& a, const Tensor& b) {
  return a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl();
}

// A view that was cut out of a sharded dimension has memory of its own: what is written there, its base would not see.
void check_memory(const OperatorHandle& op, const Inputs::One& written) {
  if (!written.tensor.is_view()) return;
  const DTensorImpl* base = detail::impl_of(written.tensor._base());
  TORCH_CHECK(
      base == nullptr || written.impl->local().numel() == 0 || same_memory(base->local(), written.impl->local()),
      toString(op.operator_name()), ": '", op.schema().arguments()[written.argument].name(),
      "' is a view of a DTensor along a dimension that is sharded, and cannot be written to; redistribute that one "
      "first");
}

bool is_view(const c10::FunctionSchema& schema) {
  return !schema.returns().empty() && !schema.returns()[0].alias().empty() && !schema.returns()[0].is_write();
}

void run(const OperatorHandle& op, DispatchKeySet keys, Stack& stack, Inputs& inputs, const Decision& decision) {
  const c10::FunctionSchema& schema = op.schema();
  const auto output_spec = [&](size_t k) {
    return decision.like[k] ? inputs.all[*decision.like[k]].impl->spec() : decision.outputs[k]->on(*inputs.mesh);
  };
  const auto result_spec = [&](size_t argument) {
    const auto result = result_of(schema, schema.arguments()[argument]);
    return result && *result < decision.outputs.size() ? output_spec(*result) : SpecPtr();
  };
  const auto part_of = [](const Inputs::One& one) -> const Tensor& {
    return one.part.defined() ? one.part : one.impl->local();
  };
  bool writes = false;
  for (size_t i = 0; i < inputs.all.size(); ++i) {
    Inputs::One& one = inputs.all[i];
    if (one.impl == nullptr) {
      const Spec whole = *whole_spec(*inputs.mesh, one.tensor);
      one.part = redistribute_local(one.tensor, whole, decision.inputs[i]);
      continue;
    }
    const bool written = schema.arguments()[one.argument].is_write();
    const std::vector<Placement>& present = one.impl->spec()->placements();
    if (present != decision.inputs[i]) {
      one.part = redistribute_local(one.impl->local(), *one.impl->spec(), decision.inputs[i]);
    }
    if (!written) continue;
    writes = true;
    check_memory(op, one);
    const SpecPtr result = result_spec(one.argument);
    const bool reshaped =
        result && (result->sizes() != one.impl->spec()->sizes() || result->strides() != one.impl->spec()->strides());
    // A geometry of its own, which others that hold the same part do not see; or memory of its own, which is copied
    // back.
    if (reshaped) one.part = part_of(one).detach();
    if (present != decision.inputs[i] && same_memory(one.part, one.impl->local())) one.part = at::clone(one.part);
  }
  size_t next = 0;
  at::transform_tensors(
      stack, [&](const Tensor& t) -> const Tensor& { return t.defined() ? part_of(inputs.all[next++]) : t; });
  if (decision.sizes_argument) {
    const std::vector<int64_t>& sizes = decision.outputs.at(0)->local_sizes();
    // A part that was exchanged may lie in another order than the whole is said to.
    const Tensor part = stack[0].isTensor() ? stack[0].toTensor() : Tensor();
    if (is_view(schema) && part.numel() == c10::multiply_integers(sizes) &&
        !at::view_strides(part.sizes(), part.strides(), sizes)) {
      stack[0] = IValue(part.contiguous());
    }
    stack[*decision.sizes_argument] = IValue(sizes);
  }
  for (const auto& [argument, value] : decision.arguments) stack[argument] = value;
  op.redispatchBoxed(keys, &stack);
  for (size_t i = 0; writes && i < inputs.all.size(); ++i) {
    if (!schema.arguments()[inputs.all[i].argument].is_write()) continue;
    const SpecPtr result = result_spec(inputs.all[i].argument);
    write_back(inputs.all[i].tensor, part_of(inputs.all[i]), result ? result->placements() : decision.inputs[i],
               result);
  }
  next = 0;
  at::transform_tensors(stack, [&](Tensor local) {
    if (!local.defined()) return local;
    SpecPtr spec = decision.outputs.empty() ? whole_spec(*inputs.mesh, local) : output_spec(next);
    Tensor result = detail::wrap(std::move(local), std::move(spec));
    if (decision.outputs.empty()) return result;
    // Where a view begins, gradients of what is written to it need to know.
    if (is_view(schema))
      result.unsafeGetTensorImpl()->set_storage_offset(inputs.all[0].tensor.storage_offset() + decision.offsets[next]);
    ++next;
    return result;
  });
}

// Numbers are drawn for the whole tensor on every rank, in the order of a single device, and each rank keeps its part.
void run_random(const OperatorHandle& op, DispatchKeySet keys, Stack& stack, const Inputs& inputs) {
  const Inputs::One& self = inputs.all.at(0);
  TORCH_CHECK(self.impl != nullptr && self.argument == 0, toString(op.operator_name()), ": 'self' is a plain tensor");
  const SpecPtr spec = self.impl->spec();
  std::vector<Placement> placements = spec->placements();
  const bool written = op.schema().arguments()[0].is_write();
  for (Placement& placement : placements) {
    TORCH_CHECK(!placement.is_partial() || !written, toString(op.operator_name()), ": 'self' is ", placement.str());
    if (placement.is_partial()) placement = Replicate();
  }
  size_t next = 0;
  at::transform_tensors(stack, [&](const Tensor& t) {
    if (!t.defined()) return t;
    const Inputs::One& one = inputs.all[next++];
    if (&one == &self) return at::empty_strided(spec->sizes(), spec->strides(), self.impl->local().options());
    if (one.impl == nullptr) return t;
    return redistribute_local(one.impl->local(), *one.impl->spec(), std::vector<Placement>(placements.size()));
  });
  op.redispatchBoxed(keys, &stack);
  const Tensor whole = stack.at(0).toTensor();
  const SpecPtr of_whole = whole_spec(spec->mesh(), whole);
  const Tensor part = redistribute_local(whole, *of_whole, placements);
  if (written) {
    Tensor local = self.impl->local();
    local.copy_(part);
    stack = {IValue(self.tensor)};
  } else {
    stack = {IValue(detail::wrap(part, c10::make_intrusive<Spec>(spec->mesh(), placements, of_whole->sizes(),
                                                                 of_whole->strides(), of_whole->dtype())))};
  }
}

// A form with out=: the functional form, whose results are copied.
void run_out(const OperatorHandle& op, const std::string& functional, Stack& stack) {
  const std::string::size_type dot = functional.find('.');
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(
      functional.substr(0, dot), dot == std::string::npos ? "" : functional.substr(dot + 1));
  Stack inputs, outs;
  for (size_t a = 0; a < stack.size(); ++a) {
    (op.schema().arguments()[a].is_write() ? outs : inputs).push_back(stack[a]);
  }
  handle.callBoxed(inputs);
  TORCH_CHECK(inputs.size() == outs.size(), toString(op.operator_name()), ": ", outs.size(),
              " results are asked for, but ", handle.schema().name(), " has ", inputs.size());
  for (size_t k = 0; k < outs.size(); ++k) {
    Tensor out = outs[k].toTensor();
    const Tensor result = inputs[k].toTensor();
    TORCH_CHECK(out.sizes() == result.sizes(), toString(op.operator_name()), ": the result has the sizes ",
                result.sizes(), ", but out= is a DTensor of sizes ", out.sizes(), ", which cannot be resized");
    out.copy_(result);
  }
  stack = std::move(outs);
}

std::shared_ptr<const Decision> decision_for(const OperatorHandle& op, const Stack& arguments, const Inputs& inputs,
                                             const ShardingRule& rule) {
  Cache& cache = Cache::of(*inputs.mesh);
  CallKey key;
  if (!make_key(key, op, arguments, inputs)) {
    return std::make_shared<const Decision>(decide(op, arguments, inputs, rule));
  }
  {
    const std::lock_guard<std::mutex> lock(cache.mutex);
    if (const uint64_t version = detail::sharding_version(); cache.version != version) {
      cache.decisions.clear();
      cache.version = version;
    }
    if (const auto found = cache.decisions.find(key); found != cache.decisions.end()) return found->second;
  }
  auto made = std::make_shared<const Decision>(decide(op, arguments, inputs, rule));
  const std::lock_guard<std::mutex> lock(cache.mutex);
  if (cache.decisions.size() >= Cache::kLimit) cache.decisions.clear();
  cache.decisions.insert_or_assign(key.kept(*inputs.mesh), made);
  return made;
}

// What sharding_of() gives, of this thread's last operators without a look into the tables.
const Sharding* known_sharding(const OperatorHandle& op) {
  struct Known {
    const c10::OperatorBase* op = nullptr;
    uint64_t version = 0;
    const Sharding* sharding = nullptr;
  };
  thread_local Known last[64];
  const c10::OperatorBase* const address = &op.op();
  Known& known = last[reinterpret_cast<uintptr_t>(address) / sizeof(c10::OperatorBase) % std::size(last)];
  const uint64_t version = detail::sharding_version();
  if (known.op != address || known.version != version) known = {address, version, sharding_of(op)};
  return known.sharding;
}

void run_by_rule(const OperatorHandle& op, DispatchKeySet keys, Stack& stack, const ShardingRule& rule) {
  Inputs inputs = inputs_of(op, stack);
  const auto decision = decision_for(op, stack, inputs, rule);
  run(op, keys, stack, inputs, *decision);
}

// A mean over samples on several ranks is the quotient of two sums.
void nll_loss_handler(const OperatorHandle& op, DispatchKeySet keys, Stack& stack) {
  const size_t reduction = *op.schema().argument_index("reduction");
  const bool mean = stack[reduction].toInt() == 1;
  if (mean) stack[reduction] = IValue(int64_t{2});
  run_by_rule(op, keys, stack, *detail::named_rule("nll_loss_sum"));
  if (mean) stack[0] = IValue(at::div(stack[0].toTensor(), stack[1].toTensor()));
}

// A step of an optimizer is done element by element: where all that belongs to a parameter is cut alike, each rank
// steps its parts as one device would. False where it is not, or where the operator is no such step.
bool step_parts(const OperatorHandle& op, DispatchKeySet keys, Stack& stack) {
  const std::string_view name = op.schema().name();
  const bool is_step = name.substr(0, 12) == "aten::_fused" && op.schema().returns().empty();
  if (!is_step || stack.empty() || !stack[0].isList()) return false;
  const c10::ArrayRef<IValue> params = stack[0].toListRef();
  for (const IValue& argument : stack) {
    if (!argument.isList()) continue;
    const c10::ArrayRef<IValue> list = argument.toListRef();
    for (size_t i = 0; i < list.size(); ++i) {
      if (!list[i].isTensor() || !list[i].toTensor().defined()) continue;
      const DTensorImpl* impl = detail::impl_of(list[i].toTensor());
      const DTensorImpl* param = i < params.size() ? detail::impl_of(params[i].toTensor()) : nullptr;
      if (impl == nullptr && list[i].toTensor().dim() == 0) continue;
      if (impl == nullptr || param == nullptr) return false;
      const std::vector<Placement>& placements = impl->spec()->placements();
      const bool is_partial = std::any_of(placements.begin(), placements.end(),
                                          [](const Placement& placement) { return placement.is_partial(); });
      if (is_partial || placements != param->spec()->placements() || !(impl->spec()->mesh() == param->spec()->mesh()) ||
          impl->local().sizes() != param->local().sizes()) {
        return false;
      }
    }
  }
  at::transform_tensors(stack, [](const Tensor& t) {
    const DTensorImpl* impl = t.defined() ? detail::impl_of(t) : nullptr;
    return impl != nullptr ? impl->local() : t;
  });
  op.redispatchBoxed(keys, &stack);
  return true;
}

// Of a table whose rows lie on several ranks each looks up what it has: the rows of the others are zero, and the result
// a sum.
void embedding_handler(const OperatorHandle& op, DispatchKeySet keys, Stack& stack) {
  const Inputs inputs = inputs_of(op, stack);
  const DTensorImpl *weight = inputs.all[0].impl, *indices = inputs.all.at(1).impl;
  const size_t mesh_dims = static_cast<size_t>(inputs.mesh->ndim());
  bool by_rows = false, known = weight != nullptr && indices != nullptr;
  std::vector<Placement> result(mesh_dims);
  for (size_t m = 0; m < mesh_dims && known; ++m) {
    const Placement &of_weight = weight->spec()->placements()[m], &of_indices = indices->spec()->placements()[m];
    const bool rows = of_weight.is_shard(0);
    by_rows = by_rows || rows;
    known = (rows || of_weight.is_shard(1)
                 ? of_indices.is_replicate()
                 : of_weight.is_replicate() && (of_indices.is_replicate() || of_indices.is_shard()));
    if (rows) result[m] = Partial();
    if (of_weight.is_shard(1)) result[m] = Shard(indices->dim());
    if (of_indices.is_shard()) result[m] = of_indices;
  }
  if (!known || !by_rows) return run_by_rule(op, keys, stack, *detail::named_rule("embedding_by_columns"));
  const int64_t first = weight->spec()->local_offsets()[0], rows = weight->spec()->local_sizes()[0];
  const Tensor places = at::sub(indices->local(), first),
               elsewhere = at::logical_or(at::lt(places, 0), at::ge(places, rows));
  std::vector<int64_t> sizes = indices->sizes().vec();
  sizes.push_back(weight->size(1));
  Tensor found;
  if (rows == 0) {
    std::vector<int64_t> local = places.sizes().vec();
    local.push_back(weight->spec()->local_sizes()[1]);
    found = at::zeros(local, weight->local().options());
  } else {
    stack[0] = IValue(weight->local());
    stack[1] = IValue(at::masked_fill(places, elsewhere, 0));
    op.redispatchBoxed(keys, &stack);
    found = stack[0].toTensor().masked_fill_(at::unsqueeze(elsewhere, -1), 0);
  }
  stack = {IValue(detail::wrap(
      found, c10::make_intrusive<Spec>(*inputs.mesh, result, sizes, c10::contiguous_strides(sizes), weight->dtype())))};
}

// The table that the gradient which is being computed goes to, where it is a leaf of these sizes; null otherwise.
SpecPtr table_of_gradient(int64_t rows, int64_t width) {
  const torch::autograd::Node* const node = torch::autograd::Engine::current_node();
  if (node == nullptr || node->num_outputs() != 1 || !node->next_edge(0).is_valid()) return nullptr;
  const auto* const leaf = dynamic_cast<torch::autograd::AccumulateGrad*>(node->next_edge(0).function.get());
  const Tensor table = leaf != nullptr ? leaf->variable() : Tensor();
  const DTensorImpl* const impl = table.defined() ? detail::impl_of(table) : nullptr;
  const bool fits = impl != nullptr && table.dim() == 2 && table.size(0) == rows && table.size(1) == width;
  return fits ? impl->spec() : nullptr;
}

// Of a table whose rows lie on several ranks each adds up the gradient of what it has: the whole is made nowhere.
void embedding_backward_handler(const OperatorHandle& op, DispatchKeySet keys, Stack& stack) {
  const Inputs inputs = inputs_of(op, stack);
  const DTensorImpl *grad = inputs.all[0].impl, *indices = inputs.all.at(1).impl;
  const int64_t all_rows = stack[2].toInt(), padding = stack[3].toInt();
  const bool by_frequency = stack[4].toBool();
  const SpecPtr table =
      grad != nullptr && indices != nullptr ? table_of_gradient(all_rows, grad->sizes().back()) : SpecPtr();
  bool by_rows = false, known = table != nullptr && table->mesh() == *inputs.mesh;
  std::vector<Placement> result(static_cast<size_t>(inputs.mesh->ndim()));
  for (size_t m = 0; m < result.size() && known; ++m) {
    const Placement &of_table = table->placements()[m], &of_grad = grad->spec()->placements()[m],
                    &of_indices = indices->spec()->placements()[m];
    const bool is_whole = of_grad.is_replicate() && of_indices.is_replicate();
    if (of_table.is_shard(0)) {
      by_rows = true;
      known = is_whole;
      result[m] = of_table;
    } else if (of_table.is_shard(1)) {
      known = of_grad.is_shard(indices->dim()) && of_indices.is_replicate();
      result[m] = of_table;
    } else {
      // Each has some of the indices.
      known = of_table.is_replicate() && (is_whole || (of_grad == of_indices && of_grad.is_shard() && !by_frequency));
      if (!is_whole) result[m] = Partial();
    }
  }
  if (!known || !by_rows) return run_by_rule(op, keys, stack, *detail::named_rule("embedding_gradient"));
  const int64_t first = table->local_offsets()[0], rows = table->local_sizes()[0];
  const Tensor places = at::reshape(at::sub(indices->local(), first), {-1});
  const Tensor own = at::squeeze(at::nonzero(at::logical_and(at::ge(places, 0), at::lt(places, rows))), 1);
  const Tensor grads = at::reshape(grad->local(), {places.size(0), grad->local().size(-1)});
  stack[0] = IValue(at::index_select(grads, 0, own));
  stack[1] = IValue(at::index_select(places, 0, own));
  stack[2] = IValue(rows);
  stack[3] = IValue(padding >= first && padding < first + rows ? padding - first : int64_t{-1});
  op.redispatchBoxed(keys, &stack);
  const std::vector<int64_t> sizes{all_rows, grad->sizes().back()};
  stack[0] = IValue(detail::wrap(
      stack[0].toTensor(),
      c10::make_intrusive<Spec>(*inputs.mesh, result, sizes, c10::contiguous_strides(sizes), grad->dtype())));
}

// Memory is laid out as the strides of the whole say only where a rank has all of it.
void as_strided_handler(const OperatorHandle& op, DispatchKeySet keys, Stack& stack) {
  const DTensorImpl& impl = *detail::impl_of(stack[0].toTensor());
  const Spec& spec = *impl.spec();
  Tensor whole = redistribute_local(impl.local(), spec, std::vector<Placement>(spec.placements().size()));
  if (whole.strides() != spec.strides()) {
    Tensor laid_out = at::empty_strided(spec.sizes(), spec.strides(), whole.options());
    whole = laid_out.copy_(whole);
  }
  const int64_t offset = stack[3].isNone() ? impl.storage_offset() : stack[3].toInt();
  stack[0] = IValue(whole);
  stack[3] = IValue(offset - impl.storage_offset() + whole.storage_offset());
  op.redispatchBoxed(keys, &stack);
  const Tensor view = stack[0].toTensor(), result = detail::wrap(view, whole_spec(spec.mesh(), view));
  result.unsafeGetTensorImpl()->set_storage_offset(offset);
  stack[0] = IValue(result);
}

}  // namespace

namespace detail {

Sharding::Handler named_handler(std::string_view name) {
  if (name == "nll_loss") return &nll_loss_handler;
  if (name == "embedding") return &embedding_handler;
  if (name == "embedding_backward") return &embedding_backward_handler;
  return name == "as_strided" ? &as_strided_handler : nullptr;
}

}  // namespace detail

void DTensorImpl::handle(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) const {
  // What is called on the way is in no graph of its own.
  const c10::ExcludeDispatchKeyGuard no_recording(c10::kDerivativeKeys);
  const Sharding* sharding = known_sharding(op);
  TORCH_CHECK_NOT_IMPLEMENTED(sharding != nullptr, "Operator ", toString(op.operator_name()),
                              " does not have a sharding strategy registered: say one with register_sharding()");
  if (!sharding->functional.empty()) return run_out(op, sharding->functional, *stack);
  switch (sharding->kind) {
    case Sharding::Kind::kRule:
      return run_by_rule(op, keys, *stack, sharding->rule);
    // The function of all backends, which calls other operators.
    case Sharding::Kind::kComposed:
      if (step_parts(op, keys, *stack)) return;
      return op.redispatchBoxed(DispatchKeySet(DispatchKey::XPU), stack);
    case Sharding::Kind::kRandom:
      return run_random(op, keys, *stack, inputs_of(op, *stack));
    case Sharding::Kind::kHandler:
      return sharding->handler(op, keys, *stack);
  }
}

}  // namespace torch::distributed::tensor
