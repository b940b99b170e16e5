// Rules of operators whose arguments name dimensions: views, reductions, and what goes along a dimension.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "func/rules.h"

namespace torch::func::detail {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;

// What arguments that are dimensions of the first tensor are called.
bool names_dimension(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames{"dim",  "dims", "dim0",      "dim1",     "dim2",
                                                   "axis", "axes", "dimension", "start_dim"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// One dimension or a list of them, behind that of the samples.
IValue shifted(const IValue& value, int64_t rank) {
  if (value.isInt()) return IValue(BatchedCall::shifted(value.toInt(), rank));
  std::vector<int64_t> dims = value.toIntVector();
  for (int64_t& d : dims) d = BatchedCall::shifted(d, rank);
  return IValue(dims);
}

std::vector<int64_t> all_dims(int64_t rank) {
  std::vector<int64_t> dims;
  for (int64_t d = 1; d <= rank; ++d) dims.push_back(d);
  return dims;
}

// Every sample as one row.
Tensor rows(const Tensor& t) {
  return t.dim() == 1 ? at::unsqueeze(t, 1) : at::flatten(t, 1);
}

void squeeze_results(BatchedCall& call) {
  for (IValue& result : call.results) {
    if (result.isTensor() && result.toTensor().dim() == 2) result = IValue(at::squeeze(result.toTensor(), 1));
  }
}

// --- views ---

void view(BatchedCall& call) {
  const std::string name = call.schema().base_name();
  const std::string_view op = std::string_view(name).substr(0, name.find('.'));
  const int64_t rank = call.rank(0);
  const Tensor self = call.tensor(0);
  if (op == "view" && call.index("size") >= 0) {
    const std::vector<int64_t> size = call[1].toIntVector();
    // One that is to be found is one of a sample's.
    c10::DimVector all{self.size(0)};
    const auto sizes = at::infer_shape(size, c10::checked_numel(call.sizes(0)));
    all.append(sizes.begin(), sizes.end());
    return call.give(at::view(self, all));
  }
  if (op == "expand") {
    const std::vector<int64_t> size = call[1].toIntVector();
    TORCH_CHECK(static_cast<int64_t>(size.size()) >= rank, "expand: the number of sizes provided (", size.size(),
                ") must be greater or equal to the number of dimensions in the tensor (", rank, ")");
    std::vector<int64_t> all{self.size(0)};
    all.insert(all.end(), size.begin(), size.end());
    return call.give(at::expand(call.padded(self, true, static_cast<int64_t>(size.size())), all, call[2].toBool()));
  }
  if (op == "permute") {
    std::vector<int64_t> dims{0};
    const std::vector<int64_t> own = call[1].toIntVector();
    TORCH_CHECK(static_cast<int64_t>(own.size()) == rank, "permute: ", own.size(),
                " dimensions are given for a tensor that has ", rank);
    for (const int64_t d : own) dims.push_back(BatchedCall::shifted(d, rank));
    return call.give(at::permute(self, dims));
  }
  if (op == "squeeze" && call.size() == 1) {
    std::vector<int64_t> dims;
    for (int64_t d = 1; d <= rank; ++d) {
      if (self.size(d) == 1) dims.push_back(d);
    }
    return call.give(at::squeeze(self, dims));
  }
  if (op == "unsqueeze") return call.give(at::unsqueeze(self, BatchedCall::shifted(call[1].toInt(), rank + 1)));
  if (op == "t") {
    TORCH_CHECK(rank <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", rank, "D");
    return call.give(rank == 2 ? at::transpose(self, 1, 2) : at::alias(self));
  }
  if (op == "as_strided") {
    std::vector<int64_t> size = call[1].toIntVector(), stride = call[2].toIntVector();
    size.insert(size.begin(), self.size(0));
    stride.insert(stride.begin(), self.stride(0));
    const auto offset = call[3].isNone() ? std::nullopt : std::optional<int64_t>(call[3].toInt());
    return call.give(at::as_strided(self, size, stride, offset));
  }
  TORCH_CHECK(op != "view_as_complex" || rank > 0, "Input tensor must have one or more dimensions");
  // Parts of a number lie side by side, whatever lies between samples.
  if (op == "view_as_complex" && self.dim() > 1 && self.stride(-1) != 1)
    return call.give(at::view_as_complex(at::clone(self, at::MemoryFormat::Contiguous)));
  // A sample without dimensions has one in its own views, where an operator counts it as that.
  const bool scalar = rank == 0;
  for (size_t i = 1; i < call.size(); ++i) {
    if (!call[i].isNone() && names_dimension(call.schema().arguments()[i].name())) {
      if (scalar && (op == "squeeze" || op == "transpose")) {
        (void)shifted(call[i], rank);
        return call.give(at::alias(self));
      }
      TORCH_CHECK_INDEX(!scalar || op == "unfold", op, ": Dimension specified as ",
                        call[i].isInt() ? call[i].toInt() : 0, " but tensor has no dimensions");
      call.set(i, shifted(call[i], rank));
    }
  }
  if (scalar && op == "unfold") call.set(0, IValue(at::unsqueeze(self, 1)));
  call.run();
  // Its one window stands for the dimension.
  if (scalar && op == "unfold") call.give(at::select(call.results[0].toTensor(), 1, 0));
}

// Numbers of another size change the last dimension, which a sample must have.
void view_dtype(BatchedCall& call) {
  const Tensor self = call.tensor(0);
  const auto dtype = static_cast<at::ScalarType>(call[1].toInt());
  TORCH_CHECK(call.rank(0) > 0 || c10::elementSize(self.scalar_type()) == c10::elementSize(dtype),
              "self.dim() cannot be 0 to view ", self.scalar_type(), " as ", dtype, " (different element sizes)");
  call.run();
}

// --- along a dimension ---

bool is_one_of(std::string_view name, std::string_view list) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    list = comma == list.npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

void along(BatchedCall& call) {
  const int64_t rank = call.rank(0);
  bool scalars = false;
  for (size_t i = 0; i < call.size(); ++i) {
    if (!call.is_tensor(i)) continue;
    scalars = scalars || call.rank(i) == 0;
  }
  // Of the sizes of the results.
  const int index = call.index("index");
  const bool scalar_result =
      (call.schema().base_name().rfind("gather", 0) == 0 ? call.rank(static_cast<size_t>(index)) : rank) == 0;
  const bool writes = call.schema().is_mutable();
  for (size_t i = 0; i < call.size(); ++i) {
    if (call.is_tensor(i)) {
      Tensor all = call.every_sample(i);
      if (scalars && call.rank(i) == 0) all = at::unsqueeze(all, 1);
      call.set(i, IValue(all));
    } else if (is_one_of(call.schema().arguments()[i].name(), call.parameters()) && !call[i].isNone()) {
      if (!call[i].isInt() && call[i].toIntVector().empty()) {
        // Without dimensions: all elements in a row.
        const Tensor self = call.tensor(0);
        call.set(0, IValue(rows(self)));
        call.set(i, IValue(std::vector<int64_t>{1}));
        call.run();
        return call.give(at::view_as(call.results[0].toTensor(), self));
      }
      call.set(i, shifted(call[i], rank));
    }
  }
  call.run();
  if (scalar_result && !writes) squeeze_results(call);
}

// flip() without dimensions changes nothing.
void flip(BatchedCall& call) {
  if (call[1].toIntVector().empty() || call.rank(0) == 0) return call.give(at::clone(call.tensor(0)));
  along(call);
}

// --- reductions ---

// Those without an argument `dim`, by those with one, of every sample as a row.
bool reduce_all(BatchedCall& call) {
  const std::string& name = call.schema().name();
  const IValue x(rows(call.tensor(0))), keep(false), one(int64_t{1}), list(std::vector<int64_t>{1});
  if (name == "aten::sum" || name == "aten::mean") {
    call.run(name, name == "aten::sum" ? "dim_IntList" : "dim", {x, list, keep, call.named("dtype")});
  } else if (name == "aten::prod") {
    call.run("aten::prod", "dim_int", {x, one, keep, call.named("dtype")});
  } else if (name == "aten::max" || name == "aten::min") {
    call.run(name == "aten::max" ? "aten::amax" : "aten::amin", "", {x, list, keep});
  } else if (name == "aten::any" || name == "aten::all") {
    call.run(name, "dim", {x, one, keep});
  } else if (name == "aten::median" || name == "aten::nanmedian") {
    call.run(name, "dim", {x, one, keep});
    call.results.resize(1);
    const Tensor all = x.toTensor(), median = call.results[0].toTensor();
    // The gradient is shared evenly by equal elements, as that of amax is.
    if (c10::isFloatingType(all.scalar_type())) {
      const Tensor equal = at::eq(all, at::unsqueeze(at::detach(median), 1));
      const Tensor largest = at::amax(at::where(equal, all, -INFINITY), {1});
      call.give(at::where(at::ne(median, median), median, largest));
    }
  } else if (name == "aten::norm" && call.index("dtype") < 0) {
    call.run("aten::norm", "ScalarOpt_dim", {x, call[1], list, keep});
  } else if (name == "aten::norm") {
    call.run("aten::norm", "ScalarOpt_dim_dtype", {x, call[1], list, keep, call.named("dtype")});
  } else {
    return false;
  }
  return true;
}

void reduce(BatchedCall& call) {
  const int at = call.index("dim");
  if (at < 0) {
    if (!reduce_all(call)) loop_rule(call);
    return;
  }
  const size_t d = static_cast<size_t>(at);
  const Tensor self = call.tensor(0);
  const int64_t rank = call.rank(0);
  const int keep_at = call.index("keepdim");
  const bool keep = keep_at >= 0 && call[static_cast<size_t>(keep_at)].toBool();
  const bool takes_list = call.schema().arguments()[d].shape().list;
  // To these two an empty list says that no dimension is reduced.
  const std::string name = call.schema().qualified_name();
  if (takes_list && (name == "all.dims" || name == "any.dims") && !call[d].isNone() && call[d].toIntVector().empty()) {
    return call.run();
  }
  const bool all = call[d].isNone() || (takes_list && !call[d].isInt() && call[d].toIntVector().empty());
  if (rank == 0) {
    if (!all) (void)shifted(call[d], rank);
    call.set(0, IValue(at::unsqueeze(self, 1)));
    call.set(d, takes_list ? IValue(std::vector<int64_t>{1}) : IValue(int64_t{1}));
    call.run();
    if (keep) squeeze_results(call);
    return;
  }
  if (!all) {
    call.set(d, shifted(call[d], rank));
    return call.run();
  }
  if (takes_list) {
    call.set(d, IValue(all_dims(rank)));
    return call.run();
  }
  call.set(0, IValue(rows(self)));
  call.set(d, IValue(int64_t{1}));
  call.run();
  if (!keep) return;
  c10::DimVector sizes{self.size(0)};
  sizes.resize(static_cast<size_t>(rank + 1), 1);
  for (IValue& result : call.results) result = IValue(at::view(result.toTensor(), sizes));
}

void trace(BatchedCall& call) {
  TORCH_CHECK(call.rank(0) == 2, "trace: expected a matrix, but got tensor with dim ", call.rank(0));
  call.give(at::sum(at::diagonal(call.tensor(0), 0, 1, 2), {-1}));
}

void diag_embed(BatchedCall& call) {
  const int64_t rank = call.rank(0) + 1;
  TORCH_CHECK(call.rank(0) > 0, "diag_embed: expected a tensor with at least 1 dimension, got a 0-dim tensor");
  for (const size_t i : {2, 3}) call.set(i, shifted(call[i], rank));
  call.run();
}

// What is in no graph has none behind it either.
void detach(BatchedCall& call) {
  call.give(at::detach(call.tensor(0)));
}

constexpr NamedRule kRules[] = {
    {"view_dtype", &view_dtype},
    {"auto_view", &view}, {"detach", &detach}, {"diag_embed", &diag_embed}, {"along", &along, true},
    {"flip", &flip},      {"reduce", &reduce}, {"trace", &trace},
};

}  // namespace

c10::ArrayRef<NamedRule> dimension_rules() {
  return kRules;
}

}  // namespace torch::func::detail
