// What a tensor says of itself, and tensors from numbers.
#include "aten/core/tensor.h"
#include "aten/extension/expand_utils.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "jit/operators/operators.h"

namespace torch::jit::detail {
namespace {

using at::Tensor;
using c10::DeviceType;
using c10::IValue;
using c10::ScalarType;
using c10::Stack;

template <class F>
void of_tensor(Stack& s, const F& f) {
  const Tensor t = pop(s).toTensor();
  s.emplace_back(f(t));
}
void sizes(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return IValue(t.sizes()); });
}
void strides(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return IValue(t.strides()); });
}
void dim(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.dim(); });
}
void numel(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.numel(); });
}
void len(Stack& s) {
  of_tensor(s, [](const Tensor& t) {
    TORCH_CHECK_TYPE(t.dim() > 0, "len() of a 0-d tensor");
    return t.size(0);
  });
}
void element_size(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return static_cast<int64_t>(t.element_size()); });
}
void nbytes(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return static_cast<int64_t>(t.nbytes()); });
}
void is_meta(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.is_meta(); });
}
void get_device(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.is_cpu() ? int64_t{-1} : static_cast<int64_t>(t.device().index()); });
}
void set_requires_grad(Stack& s) {
  const bool requires_grad = pop(s).toBool();
  s.back().toTensor().set_requires_grad(requires_grad);
}
void broadcast_shapes(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.emplace_back(at::infer_size(a.toIntVector(), b.toIntVector()));
}
void manual_seed(Stack& s) {
  at::manual_seed(static_cast<uint64_t>(pop(s).toInt()));
}
void is_contiguous(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.is_contiguous(); });
}
void storage_offset(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.storage_offset(); });
}
void dtype(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return IValue(t.scalar_type()); });
}
void layout(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return IValue(t.layout()); });
}
void device(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.device(); });
}
void requires_grad(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.requires_grad(); });
}
void is_cuda(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.is_cuda(); });
}
template <DeviceType type>
void is_on(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.device().type() == type; });
}
template <c10::Layout layout>
void is_laid_out(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.layout() == layout; });
}
void is_nested(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.is_nested(); });
}
void is_sparse(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.is_sparse(); });
}
void is_quantized(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.is_quantized(); });
}
void data(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return at::detach(t); });
}
void cpu(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return at::to(t, t.options().device(c10::kCPU)); });
}
void to_bool(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return at::is_nonzero(t); });
}
void to_int(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return at::item(t).toLong(); });
}
void to_float(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return at::item(t).toDouble(); });
}
void make_device(Stack& s) {
  s.back() = IValue(c10::Device(s.back().toStringRef()));
}
void device_type(Stack& s) {
  s.back() = IValue(c10::DeviceTypeName(s.back().toDevice().type(), true));
}
void device_index(Stack& s) {
  const c10::Device d = s.back().toDevice();
  s.back() = d.has_index() ? IValue(static_cast<int64_t>(d.index())) : IValue();
}
void grad_enabled(Stack& s) {
  s.emplace_back(c10::GradMode::is_enabled());
}
void set_grad_enabled(Stack& s) {
  c10::GradMode::set_enabled(pop(s).toBool());
}

void make_tensor(const IValue& data, std::vector<int64_t>& sizes, size_t depth, std::vector<c10::Scalar>& numbers) {
  if (!data.isList()) {
    TORCH_CHECK_VALUE(depth == sizes.size(), "expected lists of one depth");
    numbers.push_back(data.toScalar());
    return;
  }
  const auto elements = data.toListRef();
  const auto count = static_cast<int64_t>(elements.size());
  if (depth == sizes.size()) {
    TORCH_CHECK_VALUE(numbers.empty(), "expected lists of one depth");
    sizes.push_back(count);
  }
  TORCH_CHECK_VALUE(sizes[depth] == count, "Expected sequence of length ", sizes[depth], " at dim ", depth, " (got ",
                    count, ")");
  for (const IValue& element : elements) make_tensor(element, sizes, depth + 1, numbers);
}
ScalarType type_of(const std::vector<c10::Scalar>& numbers, const IValue& data) {
  c10::TypePtr type = data.type();
  while (type->kind() == c10::TypeKind::ListType) type = type->containedType(0);
  if (type->kind() == c10::TypeKind::BoolType || (!numbers.empty() && numbers[0].isBoolean())) return ScalarType::Bool;
  if (type->kind() == c10::TypeKind::IntType) return ScalarType::Long;
  if (type->kind() == c10::TypeKind::ComplexType || (!numbers.empty() && numbers[0].isComplex()))
    return c10::get_default_complex_dtype().toScalarType();
  if (!numbers.empty() && numbers[0].isIntegral(false)) return ScalarType::Long;
  return c10::get_default_dtype_as_scalartype();
}
void tensor(Stack& s) {
  const bool requires_grad = pop(s).toBool();
  const IValue device = pop(s), dtype = pop(s), data = pop(s);
  std::vector<int64_t> sizes;
  std::vector<c10::Scalar> numbers;
  make_tensor(data, sizes, 0, numbers);
  const ScalarType type = dtype.isNone() ? type_of(numbers, data) : dtype.toScalarType();
  Tensor result = at::empty(sizes, c10::TensorOptions().dtype(type));
  {
    const c10::AutoGradMode no_grad(false);
    const Tensor flat = at::view(result, {result.numel()});
    for (size_t i = 0; i < numbers.size(); ++i) {
      Tensor element = at::select(flat, 0, static_cast<int64_t>(i));
      at::fill_(element, numbers[i]);
    }
  }
  if (!device.isNone()) result = at::to(result, result.options().device(device.toDevice()));
  s.emplace_back(requires_grad ? result.set_requires_grad(true) : result);
}
IValue numbers_of(const Tensor& t, int64_t levels, const c10::TypePtr& number) {
  if (levels == 0) {
    const c10::Scalar value = at::item(t);
    return number->kind() == c10::TypeKind::ComplexType ? IValue(value.toComplexDouble()) : IValue(value);
  }
  c10::TypePtr element = number;
  for (int64_t i = 1; i < levels; ++i) element = c10::ListType::create(element);
  const c10::List<IValue> list(element);
  list.reserve(static_cast<size_t>(t.size(0)));
  for (int64_t i = 0; i < t.size(0); ++i) list.push_back(numbers_of(at::select(t, 0, i), levels - 1, number));
  return list;
}
void to_list(Stack& s) {
  const IValue kind = pop(s);
  const int64_t levels = pop(s).toInt();
  const Tensor self = at::detach(pop(s).toTensor());
  const std::string& name = kind.toStringRef();
  const ScalarType dtype = self.scalar_type();
  const bool fits = name == "int"     ? c10::isIntegralType(dtype, false)
                    : name == "float" ? c10::isFloatingType(dtype)
                    : name == "bool"  ? dtype == ScalarType::Bool
                                      : c10::isComplexType(dtype);
  TORCH_CHECK(fits, "Output annotation element type and runtime tensor element type must match for tolist(): ", name,
              " and ", dtype);
  TORCH_CHECK(self.dim() == levels, "Output annotation list dimension and runtime tensor dimension must match for ",
              "tolist(): ", levels, " and ", self.dim());
  const c10::TypePtr number = name == "int"     ? c10::TypePtr(c10::IntType::get())
                              : name == "float" ? c10::TypePtr(c10::FloatType::get())
                              : name == "bool"  ? c10::TypePtr(c10::BoolType::get())
                                                : c10::TypePtr(c10::ComplexType::get());
  s.push_back(numbers_of(self, levels, number));
}
void as_tensor(Stack& s) {
  s.emplace_back(false);
  tensor(s);
}
// The tensor itself where it has that dtype and that device.
void tensor_as_tensor(Stack& s) {
  const IValue device = pop(s), dtype = pop(s);
  const Tensor self = s.back().toTensor();
  c10::TensorOptions options = self.options();
  if (!device.isNone()) options = options.device(device.toDevice());
  if (!dtype.isNone()) options = options.dtype(dtype.toScalarType());
  s.back() = IValue(at::to(self, options));
}

}  // namespace

void add_tensor_operators(BuiltinOperators& all) {
  const BuiltinOperator operators[] = {
      {"aten::size(Tensor self) -> int[]", sizes},
      {"prim::shape(Tensor a) -> int[]", sizes},
      {"aten::stride(Tensor self) -> int[]", strides},
      {"aten::dim(Tensor self) -> int", dim},
      {"prim::ndim(Tensor a) -> int", dim},
      {"aten::numel(Tensor self) -> int", numel},
      {"aten::len.Tensor(Tensor t) -> int", len},
      {"aten::element_size(Tensor self) -> int", element_size},
      {"prim::itemsize(Tensor a) -> int", element_size},
      {"prim::nbytes(Tensor a) -> int", nbytes},
      {"prim::is_meta(Tensor a) -> bool", is_meta},
      {"aten::get_device(Tensor self) -> int", get_device},
      {"aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)", set_requires_grad},
      {"aten::broadcast_shapes(int[] a, int[] b) -> int[]", broadcast_shapes},
      {"aten::_infer_size(int[] a, int[] b) -> int[]", broadcast_shapes},
      {"aten::manual_seed(int seed) -> ()", manual_seed},
      {"aten::is_contiguous(Tensor self) -> bool", is_contiguous},
      {"aten::storage_offset(Tensor self) -> int", storage_offset},
      {"prim::dtype(Tensor a) -> int", dtype},
      {"prim::layout(Tensor a) -> Layout", layout},
      {"prim::device(Tensor a) -> Device", device},
      {"prim::requires_grad(Tensor a) -> bool", requires_grad},
      {"prim::is_cuda(Tensor a) -> bool", is_cuda},
      {"prim::is_cpu(Tensor a) -> bool", is_on<DeviceType::CPU>},
      {"prim::is_xpu(Tensor a) -> bool", is_on<DeviceType::XPU>},
      {"prim::is_mps(Tensor a) -> bool", is_on<DeviceType::MPS>},
      {"prim::is_mkldnn(Tensor a) -> bool", is_laid_out<c10::Layout::Mkldnn>},
      {"prim::is_sparse_csr(Tensor a) -> bool", is_laid_out<c10::Layout::SparseCsr>},
      {"prim::is_nested(Tensor a) -> bool", is_nested},
      {"prim::is_sparse(Tensor a) -> bool", is_sparse},
      {"prim::is_quantized(Tensor a) -> bool", is_quantized},
      {"prim::data(Tensor(a) a) -> Tensor(a)", data},
      {"prim::type(Device self) -> str", device_type},
      {"prim::index(Device self) -> int?", device_index},
      {"aten::cpu(Tensor(a) self) -> Tensor(a)", cpu},
      {"aten::Bool.Tensor(Tensor a) -> bool", to_bool},
      {"aten::Int.Tensor(Tensor a) -> int", to_int},
      {"aten::Float.Tensor(Tensor a) -> float", to_float},
      {"aten::device(str a) -> Device", make_device},
      {"aten::is_grad_enabled() -> bool", grad_enabled},
      {"aten::set_grad_enabled(bool val) -> ()", set_grad_enabled},
      {"aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> "
       "Tensor",
       tensor},
      {"aten::tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
       tensor},
      {"aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
       tensor},
      {"aten::tensor.complex(complex t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> "
       "Tensor",
       tensor},
      {"aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
       tensor},
      {"prim::tolist(Tensor self, int levels, str number) -> Any", to_list},
      {"aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor(a|b)",
       tensor_as_tensor},
      {"aten::as_tensor.float(float t, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor},
      {"aten::as_tensor.int(int t, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor},
      {"aten::as_tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor},
      {"aten::as_tensor.complex(complex t, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor},
      {"aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor},
  };
  all.insert(all.end(), std::begin(operators), std::end(operators));
}

}  // namespace torch::jit::detail
