#include "aten/core/structured_layouts.h"

namespace at {

Tensor _to_copy(const Tensor& self, TensorOptions options, bool non_blocking,
                std::optional<MemoryFormat> memory_format);

namespace structured {
namespace {

bool is_dense(const Tensor& t) {
  return t.layout() == Layout::Strided && !t.is_nested();
}

const char* kind_of(const Tensor& t) {
  return t.is_nested() ? "nested tensor" : "tensor";
}

}  // namespace

Tensor& assign_out_of_any_layout(const char* op, Tensor& out, const Tensor& result) {
  TORCH_CHECK(out.defined(), op, "(): the output is an undefined tensor");
  TORCH_CHECK(out.layout() == result.layout() && out.is_nested() == result.is_nested(), op,
              "(): expected the output to be a ", kind_of(result), " of the layout ", result.layout(), ", got a ",
              kind_of(out), " of the layout ", out.layout());
  if (is_dense(result)) return assign_out(op, out, result);
  // Device and dtype, of which tensors without elements say the same.
  prepare_out(op, empty_contiguous({0}, out.scalar_type(), out.device()),
              empty_contiguous({0}, result.scalar_type(), result.device()));
  const Tensor own = _to_copy(result, TensorOptions().dtype(out.scalar_type()), false, std::nullopt);
  mark_written(out);
  TensorImpl& impl = *out.unsafeGetTensorImpl();
  const uint32_t version = impl.version();
  impl.shallow_copy_from(*own.unsafeGetTensorImpl());
  // Where versions are those of the memory, that is new.
  if (!impl.own_version().defined()) impl.storage()->set_version(version);
  return out;
}

}  // namespace structured
}  // namespace at
