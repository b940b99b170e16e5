#include "graph/capture/control_flow.h"

#include <algorithm>
#include <memory>
#include <string>

#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "graph/capture/kept_generator.h"
#include "graph/capture/recorder.h"
#include "graph/passes/tensor_info.h"

namespace torch::control_flow {
namespace {

using at::Tensor;
using c10::IValue;
using graph::Block;
using graph::Node;
using graph::Operand;
using graph::Recorder;
using graph::Value;

/// Calls that are not recorded.
class Unrecorded {
  c10::ExcludeDispatchKeyGuard off_{c10::DispatchKeySet(c10::DispatchKey::Tracer)};
};

std::string text_of(const Tensor& t) {
  return c10::str(t.scalar_type(), " ", t.sizes(), " on ", t.device());
}
bool alike(const Tensor& a, const Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.device() == b.device() &&
         a.layout() == b.layout();
}
bool share_memory(const Tensor& a, const Tensor& b) {
  return a.unsafeGetTensorImpl() == b.unsafeGetTensorImpl() ||
         (a.has_storage() && b.has_storage() && a.storage().is_alias_of(b.storage()));
}

void check_all_defined(const char* name, const char* what, const Tensors& all) {
  for (size_t i = 0; i < all.size(); ++i) {
    TORCH_CHECK_VALUE(all[i].defined(), name, ": tensor ", i, " of ", what, " is undefined");
  }
}
bool truth(const char* name, const char* what, const Tensor& pred) {
  TORCH_CHECK_VALUE(pred.defined() && pred.numel() == 1, name, ": expected ", what, " to be a tensor of one element, ",
                    "but got ", pred.defined() ? c10::str("sizes ", pred.sizes()) : std::string("an undefined tensor"));
  return pred.item().toBool();
}

// The results of a function, which shall have written to nothing that it was given.
Tensors called(const char* name, const char* what, const Function& f, const Tensors& given) {
  std::vector<int64_t> versions;
  for (const Tensor& t : given) versions.push_back(t.is_inference() ? -1 : static_cast<int64_t>(t._version()));
  Tensors made = f(given);
  check_all_defined(name, what, made);
  for (size_t i = 0; i < given.size(); ++i) {
    TORCH_CHECK_VALUE(versions[i] < 0 || static_cast<int64_t>(given[i]._version()) == versions[i], name, ": ", what,
                      " has written to tensor ", i, " of those that it was given");
  }
  return made;
}
// The same; results are tensors of their own.
Tensors called_apart(const char* name, const char* what, const Function& f, const Tensors& given) {
  Tensors made = called(name, what, f, given);
  for (size_t i = 0; i < made.size(); ++i) {
    const bool shared =
        std::any_of(given.begin(), given.end(), [&](const Tensor& t) { return share_memory(made[i], t); });
    if (shared) made[i] = at::clone(made[i]);
  }
  return made;
}

void check_carried(const char* name, const Tensors& before, const Tensors& after, const char* what) {
  TORCH_CHECK_VALUE(after.size() >= before.size(), name, ": expected ", what, " to give ", before.size(),
                    " carried tensors, but got ", after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    TORCH_CHECK_VALUE(alike(before[i], after[i]), name, ": carried tensor ", i, " is ", text_of(before[i]), ", but ",
                      what, " gives ", text_of(after[i]));
  }
}

// --- what is recorded ---

// A node whose blocks are being recorded.
class Recorded {
 public:
  Recorded(Recorder& recorder, Node::Kind kind, std::vector<Operand> operands, size_t blocks)
      : recorder_(recorder), node_(recorder.insert(recorder.graph().make(kind, std::move(operands)))) {
    for (size_t i = 0; i < blocks; ++i) node_->add_block();
  }
  /// Values for the block's inputs: tensors like these.
  Tensors inputs(size_t block, const Tensors& like) {
    const Unrecorded off;
    Tensors made;
    for (const Tensor& t : like) {
      made.push_back(at::clone(t.detach()));
      if (t.requires_grad()) made.back().set_requires_grad(true);
      Value* const value = node_->block(block).add_input(c10::TensorType::get());
      value->set_info(graph::info_of(made.back()));
      given_[block].emplace_back(made.back(), value);
    }
    return made;
  }
  /// Runs the function in the block. `contiguous`: the results are.
  Tensors run(size_t block, std::string what, const std::function<Tensors()>& f) {
    const Recorder::Inside inside(&recorder_, &node_->block(block), std::move(what));
    for (const auto& [tensor, value] : given_[block]) recorder_.bind(tensor, value);
    Tensors made = f();
    for (Tensor& t : made) {
      if (recorder_.is_from_outside(t)) t = at::clone(t);
    }
    return made;
  }
  void give(size_t block, const Tensors& results) {
    const Recorder::Inside inside(&recorder_, &node_->block(block), "");
    std::vector<Operand> operands;
    for (const Tensor& t : results) operands.push_back(recorder_.operand(t));
    node_->block(block).set_outputs(std::move(operands));
  }
  /// The node's results are these tensors from now on.
  void bind(const Tensors& results) {
    for (const Tensor& t : results) recorder_.bind_result(t, node_->add_result(c10::TensorType::get()));
  }
  /// After an error: a node that does nothing, so that the graph is well-formed where the program goes on. Blocks have
  /// so many inputs, of which the first are carried.
  void abandon(size_t inputs, size_t carried) {
    for (size_t b = 0; b < node_->block_count(); ++b) {
      Block& block = node_->block(b);
      while (block.input_count() < inputs) block.add_input(c10::TensorType::get());
      std::vector<Operand> outputs;
      for (size_t i = 0; i < carried; ++i) outputs.emplace_back(block.input(i));
      if (node_->kind() == Node::Kind::kWhile && b == 0) outputs = {Operand(IValue(false))};
      block.set_outputs(std::move(outputs));
    }
    while (node_->result_count() < carried) node_->add_result(c10::TensorType::get());
  }

 private:
  Recorder& recorder_;
  Node* node_;
  std::vector<std::pair<Tensor, Value*>> given_[2];
};

std::vector<Operand> operands_of(Recorder& recorder, const Tensors& tensors) {
  std::vector<Operand> all;
  for (const Tensor& t : tensors) all.push_back(recorder.operand(t));
  return all;
}

Tensors record_cond(Recorder& recorder, const Tensor& pred, const Function* const functions[2],
                    const Tensors& operands) {
  constexpr const char* kWhat[2] = {"true_fn of cond", "false_fn of cond"};
  const Operand condition = recorder.operand(pred);
  bool taken = true;
  if (!pred.is_meta()) {
    const Unrecorded off;
    taken = truth("cond", "pred", pred);
  }
  Recorded node(recorder, Node::Kind::kIf, {condition}, 2);
  Tensors made[2];
  const auto run = [&](bool way) {
    const size_t i = way ? 0 : 1;
    made[i] = node.run(i, kWhat[i], [&] { return called("cond", kWhat[i], *functions[i], operands); });
  };
  try {
    {
      const graph::KeptGenerator kept;
      run(!taken);
    }
    run(taken);
    TORCH_CHECK_VALUE(made[0].size() == made[1].size(), "cond: true_fn gives ", made[0].size(),
                      " tensors, and false_fn ", made[1].size());
    for (size_t i = 0; i < made[0].size(); ++i) {
      Tensor &a = made[0][i], &b = made[1][i];
      TORCH_CHECK_VALUE(alike(a, b), "cond: expected both functions to give tensors of the same sizes and dtype, but ",
                        "tensor ", i, " of true_fn is ", text_of(a), ", and that of false_fn ", text_of(b));
      if (a.layout() != c10::kStrided || a.strides() == b.strides()) continue;
      for (const size_t k : {0, 1}) {
        made[k][i] = node.run(k, kWhat[k], [&] { return Tensors{at::contiguous(made[k][i])}; })[0];
      }
    }
    for (const size_t k : {0, 1}) node.give(k, made[k]);
  } catch (...) {
    node.abandon(0, 0);
    throw;
  }
  node.bind(made[taken ? 0 : 1]);
  return made[taken ? 0 : 1];
}

Tensors run_while(const Function& cond_fn, const Function& body_fn, const Tensors& carried) {
  Tensors now = carried;
  const auto goes_on = [&] {
    const Tensors made = called("while_loop", "cond_fn", cond_fn, now);
    return truth("while_loop", "what cond_fn gives", made.at(0));
  };
  bool any = false;
  for (; goes_on(); any = true) {
    Tensors next = called_apart("while_loop", "body_fn", body_fn, now);
    TORCH_CHECK_VALUE(next.size() == carried.size(), "while_loop: expected body_fn to give ", carried.size(),
                      " tensors, but got ", next.size());
    check_carried("while_loop", carried, next, "body_fn");
    now = std::move(next);
  }
  if (!any) {
    for (Tensor& t : now) t = at::clone(t);
  }
  return now;
}

Tensors record_while(Recorder& recorder, const Function& cond_fn, const Function& body_fn, const Tensors& carried) {
  Recorded node(recorder, Node::Kind::kWhile, {operands_of(recorder, carried), std::vector<Operand>{}}, 2);
  Tensors result;
  try {
    bool is_meta = false;
    {
      const graph::KeptGenerator kept;
      const Tensors given = node.inputs(0, carried);
      const Tensors goes_on = node.run(0, "cond_fn of while_loop", [&] {
        Tensors made = called("while_loop", "cond_fn", cond_fn, given);
        TORCH_CHECK_VALUE(made.at(0).numel() == 1, "while_loop: expected what cond_fn gives to be a tensor of one ",
                          "element, but got sizes ", made[0].sizes());
        return made;
      });
      node.give(0, goes_on);
      is_meta = goes_on[0].is_meta();
      const Tensors start = node.inputs(1, carried);
      const Tensors after =
          node.run(1, "body_fn of while_loop", [&] { return called("while_loop", "body_fn", body_fn, start); });
      TORCH_CHECK_VALUE(after.size() == carried.size(), "while_loop: expected body_fn to give ", carried.size(),
                        " tensors, but got ", after.size());
      check_carried("while_loop", carried, after, "body_fn");
      node.give(1, after);
    }
    const Unrecorded off;
    if (is_meta) {
      for (const Tensor& t : carried) result.push_back(at::clone(t));
    } else {
      result = run_while(cond_fn, body_fn, carried);
    }
  } catch (...) {
    node.abandon(carried.size(), carried.size());
    throw;
  }
  node.bind(result);
  return result;
}

// --- along a dimension ---

int64_t length_of(const char* name, const Tensors& xs, int64_t dim) {
  TORCH_CHECK_VALUE(!xs.empty(), name, ": expected tensors to go along");
  int64_t length = -1;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Tensor& t = xs[i];
    TORCH_CHECK_INDEX(dim >= -t.dim() && dim < t.dim(), name, ": tensor ", i, " of xs has sizes ", t.sizes(),
                      ", which have no dimension ", dim);
    TORCH_CHECK_VALUE(length < 0 || t.size(dim) == length, name, ": expected tensors of one length along dimension ",
                      dim, ", but tensor ", i, " of xs has ", t.size(dim), " and those before it ", length);
    length = t.size(dim);
  }
  TORCH_CHECK_VALUE(length > 0, name, ": expected at least one slice along dimension ", dim);
  return length;
}
Tensors slices(const Tensors& xs, int64_t i) {
  Tensors all;
  for (const Tensor& t : xs) all.push_back(at::select(t, 0, i));
  return all;
}
Tensors joined(Tensors a, const Tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Tensors stacked(std::vector<Tensors>& columns) {
  Tensors all;
  for (const Tensors& column : columns) all.push_back(at::stack(column, 0));
  return all;
}
// Appends each to its column.
void keep(const char* name, std::vector<Tensors>& columns, const Tensors& made, size_t from, bool first) {
  if (first) columns.resize(made.size() - from);
  TORCH_CHECK_VALUE(made.size() - from == columns.size(), name, ": a step gives ", made.size() - from,
                    " tensors, and those before it ", columns.size());
  for (size_t k = 0; k < columns.size(); ++k) {
    const Tensor& t = made[from + k];
    TORCH_CHECK_VALUE(first || alike(columns[k][0], t), name, ": tensor ", k, " of a step is ", text_of(t),
                      ", and that of the first ", text_of(columns[k][0]));
    columns[k].push_back(t);
  }
}

Tensors run_map(const Function& f, const Tensors& xs, const Tensors& args, int64_t length) {
  std::vector<Tensors> columns;
  for (int64_t i = 0; i < length; ++i) {
    keep("map", columns, called("map", "f", f, joined(slices(xs, i), args)), 0, i == 0);
  }
  return stacked(columns);
}

// Along dimension 0.
Tensors run_scan(const Function& combine_fn, const Tensors& init, const Tensors& xs, int64_t length) {
  Tensors carry = init;
  std::vector<Tensors> columns;
  for (int64_t i = 0; i < length; ++i) {
    Tensors made = called_apart("scan", "combine_fn", combine_fn, joined(carry, slices(xs, i)));
    check_carried("scan", init, made, "combine_fn");
    keep("scan", columns, made, init.size(), i == 0);
    made.resize(init.size());
    carry = std::move(made);
  }
  return joined(std::move(carry), stacked(columns));
}

Tensors scan_along_0(const Function& combine_fn, const Tensors& init, const Tensors& xs, int64_t length) {
  Recorder* const recorder = Recorder::current();
  if (recorder == nullptr) return run_scan(combine_fn, init, xs, length);
  Recorded node(*recorder, Node::Kind::kScan,
                {operands_of(*recorder, init), operands_of(*recorder, xs), std::vector<Operand>{}}, 1);
  Tensors result;
  try {
    Tensors first;
    {
      const Unrecorded off;
      first = slices(xs, 0);
    }
    {
      const graph::KeptGenerator kept;
      const Tensors given = node.inputs(0, joined(init, first));
      const Tensors made =
          node.run(0, "combine_fn of scan", [&] { return called("scan", "combine_fn", combine_fn, given); });
      check_carried("scan", init, made, "combine_fn");
      node.give(0, made);
    }
    const Unrecorded off;
    result = run_scan(combine_fn, init, xs, length);
  } catch (...) {
    node.abandon(init.size() + xs.size(), init.size());
    throw;
  }
  node.bind(result);
  return result;
}

}  // namespace

Tensors cond(const Tensor& pred, const Function& true_fn, const Function& false_fn, const Tensors& operands) {
  check_all_defined("cond", "the operands", operands);
  TORCH_CHECK_VALUE(pred.defined() && pred.numel() == 1, "cond: expected pred to be a tensor of one element, but got ",
                    pred.defined() ? c10::str("sizes ", pred.sizes()) : std::string("an undefined tensor"));
  if (Recorder* const recorder = Recorder::current()) {
    const Function* const functions[2] = {&true_fn, &false_fn};
    return record_cond(*recorder, pred, functions, operands);
  }
  return truth("cond", "pred", pred) ? called_apart("cond", "true_fn", true_fn, operands)
                                     : called_apart("cond", "false_fn", false_fn, operands);
}

Tensors while_loop(const Function& cond_fn, const Function& body_fn, const Tensors& carried) {
  TORCH_CHECK_VALUE(!carried.empty(), "while_loop: expected at least one carried tensor");
  check_all_defined("while_loop", "the carried tensors", carried);
  if (Recorder* const recorder = Recorder::current()) return record_while(*recorder, cond_fn, body_fn, carried);
  return run_while(cond_fn, body_fn, carried);
}

Tensors map(const Function& f, const Tensors& xs, const Tensors& args) {
  check_all_defined("map", "xs", xs);
  check_all_defined("map", "args", args);
  const int64_t length = length_of("map", xs, 0);
  Recorder* const recorder = Recorder::current();
  if (recorder == nullptr) return run_map(f, xs, args, length);
  Recorded node(*recorder, Node::Kind::kMap, {operands_of(*recorder, xs), operands_of(*recorder, args)}, 1);
  Tensors result;
  try {
    Tensors first;
    {
      const Unrecorded off;
      first = slices(xs, 0);
    }
    {
      const graph::KeptGenerator kept;
      const Tensors given = node.inputs(0, joined(first, args));
      node.give(0, node.run(0, "f of map", [&] { return called("map", "f", f, given); }));
    }
    const Unrecorded off;
    result = run_map(f, xs, args, length);
  } catch (...) {
    node.abandon(xs.size() + args.size(), 0);
    throw;
  }
  node.bind(result);
  return result;
}

Tensors scan(const Function& combine_fn, const Tensors& init, const Tensors& xs, int64_t dim, bool reverse) {
  check_all_defined("scan", "init", init);
  check_all_defined("scan", "xs", xs);
  TORCH_CHECK_VALUE(!init.empty(), "scan: expected at least one tensor in init");
  const int64_t length = length_of("scan", xs, dim);
  Tensors turned;
  for (const Tensor& t : xs) {
    turned.push_back(dim == 0 || dim == -t.dim() ? t : at::movedim(t, dim, 0));
    if (reverse) turned.back() = at::flip(turned.back(), 0);
  }
  Tensors result = scan_along_0(combine_fn, init, turned, length);
  for (size_t i = init.size(); reverse && i < result.size(); ++i) result[i] = at::flip(result[i], 0);
  return result;
}

Tensors associative_scan(const Function& combine_fn, const Tensors& xs, int64_t dim, bool reverse,
                         std::string_view combine_mode) {
  TORCH_CHECK_VALUE(combine_mode == "pointwise" || combine_mode == "generic",
                    "associative_scan: expected combine_mode to be 'pointwise' or 'generic', but got '", combine_mode,
                    "'");
  check_all_defined("associative_scan", "xs", xs);
  const int64_t length = length_of("associative_scan", xs, dim);
  if (length == 1) {
    Tensors same;
    for (const Tensor& t : xs) same.push_back(at::clone(t));
    return same;
  }
  Tensors first, rest;
  for (const Tensor& t : xs) {
    const Tensor turned = at::movedim(reverse ? at::flip(t, dim) : t, dim, 0);
    first.push_back(at::select(turned, 0, 0));
    rest.push_back(at::slice(turned, 0, 1));
  }
  // The carry is the result of each step, too.
  const Function step = [&](const Tensors& given) {
    Tensors made = combine_fn(given);
    TORCH_CHECK_VALUE(made.size() == xs.size(), "associative_scan: expected combine_fn to give ", xs.size(),
                      " tensors, but got ", made.size());
    return joined(made, made);
  };
  const Tensors made = scan_along_0(step, first, rest, length - 1);
  Tensors result;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Tensor whole = at::movedim(at::cat({at::unsqueeze(first[i], 0), made[xs.size() + i]}, 0), 0, dim);
    result.push_back(reverse ? at::flip(whole, dim) : whole);
  }
  return result;
}

}  // namespace torch::control_flow
