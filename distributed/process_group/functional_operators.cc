// The functional collectives by PyTorch's names of operators. Autograd knows the functions that they call.
#include "aten/core/library.h"
#include "distributed/process_group/functional.h"

namespace c10d {
namespace {

using at::Tensor;
using std::string;
using Tensors = std::vector<Tensor>;

Tensor gather(const Tensor& input, int64_t size, const string& group) {
  return all_gather_into_tensor(input, size, group);
}
Tensor reduce_scatter(const Tensor& input, const string& op, int64_t size, const string& group) {
  return reduce_scatter_tensor(input, op, size, group);
}
Tensor all_to_all(const Tensor& input, at::IntArrayRef out, at::IntArrayRef in, const string& group) {
  return all_to_all_single(input, out, in, group);
}

constexpr char kGather[] = "all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor";
constexpr char kReduceScatter[] =
    "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor";
constexpr char kAllToAll[] =
    "all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, str group_name) -> "
    "Tensor";

TORCH_LIBRARY(_c10d_functional, m) {
  m.def("all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor",
        [](const Tensor& input, const string& op, const string& group) { return all_reduce(input, op, group); });
  m.def("all_reduce_(Tensor(a!) input, str reduce_op, str group_name) -> Tensor(a!)",
        [](Tensor input, const string& op, const string& group) { return all_reduce_(input, op, group); });
  m.def("all_reduce_coalesced(Tensor[] inputs, str reduce_op, str group_name) -> Tensor[]",
        [](const Tensors& inputs, const string& op, const string& group) {
          return all_reduce_coalesced(inputs, op, group);
        });
  m.def("all_reduce_coalesced_(Tensor[](a!) inputs, str reduce_op, str group_name) -> Tensor[](a!)",
        [](const Tensors& inputs, const string& op, const string& group) {
          return all_reduce_coalesced_(inputs, op, group);
        });
  m.def(kGather, &gather);
  m.def("all_gather_into_tensor_out(Tensor input, int group_size, str group_name, *, Tensor(a!) out) -> Tensor(a!)",
        [](const Tensor& input, int64_t size, const string& group, Tensor out) {
          return all_gather_into_tensor_out(input, size, group, out);
        });
  m.def("all_gather_into_tensor_coalesced(Tensor[] inputs, int group_size, str group_name) -> Tensor[]",
        [](const Tensors& inputs, int64_t size, const string& group) {
          return all_gather_into_tensor_coalesced(inputs, size, group);
        });
  m.def(kReduceScatter, &reduce_scatter);
  m.def("reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduce_op, int group_size, str group_name) -> Tensor[]",
        [](const Tensors& inputs, const string& op, int64_t size, const string& group) {
          return reduce_scatter_tensor_coalesced(inputs, op, size, group);
        });
  m.def(kAllToAll, &all_to_all);
  m.def("broadcast(Tensor input, int src, str group_name) -> Tensor",
        [](const Tensor& input, int64_t src, const string& group) { return broadcast(input, src, group); });
  m.def("broadcast_(Tensor(a!) input, int src, str group_name) -> Tensor(a!)",
        [](Tensor input, int64_t src, const string& group) { return broadcast_(input, src, group); });
  m.def("wait_tensor(Tensor tensor) -> Tensor", &wait_tensor);
}

// PyTorch has these apart because its others have no gradients.
TORCH_LIBRARY(_c10d_functional_autograd, m) {
  m.def(kGather, &gather);
  m.def(kReduceScatter, &reduce_scatter);
  m.def(kAllToAll, &all_to_all);
}

}  // namespace
}  // namespace c10d
