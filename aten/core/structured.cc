#include "aten/core/structured.h"

#include "aten/core/overlap.h"
#include "c10/core/thread_state.h"
#include "c10/value/list.h"

namespace at::structured {
namespace {

struct Extent {
  const char* begin;
  const char* end;
};

// The bytes from the first element to the last; strides are not negative.
Extent extent(const Tensor& t) {
  const char* begin = static_cast<const char*>(t.data_ptr());
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  return {begin, begin + static_cast<size_t>(last + 1) * t.itemsize()};
}

bool writes_an_element_twice(const TensorBase& t) {
  if (t.is_contiguous()) return false;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.stride(d) == 0 && t.size(d) > 1) return true;
  }
  return false;
}

// What converts to other types; the rest is moved as bytes.
bool is_number(ScalarType t) {
  return isIntegralType(t, true) || isComplexType(t) || (isFloatingType(t) && t != kFloat4_e2m1fn_x2);
}

void check_destination(const char* op, const Tensor& out, ScalarType result_dtype, Device result_device) {
  TORCH_CHECK(out.device() == result_device, op, "(): expected the output on device ", result_device, ", got ", out.device());
  TORCH_CHECK(canCast(result_dtype, out.scalar_type()), "result type ", result_dtype,
              " can't be cast to the desired output type ", out.scalar_type());
  if (C10_LIKELY(result_dtype == out.scalar_type())) return;
  TORCH_CHECK_NOT_IMPLEMENTED(is_number(result_dtype) && is_number(out.scalar_type()),
                              "\"copy_\" not implemented for '",
                              is_number(out.scalar_type()) ? result_dtype : out.scalar_type(), "'");
}

// Gives an output its size.
void fit_output(const Tensor& out, IntArrayRef sizes) {
  if (out.numel() != 0) {
    TORCH_WARN("An output with one or more elements was resized since it had shape ", out.sizes(),
               ", which does not match the required output shape ", sizes,
               ". This behavior is deprecated, and in a future release outputs will not be resized unless they have zero "
               "elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).");
  }
  resize_output(out, sizes);
}

void check_same_size(const Tensor& self, IntArrayRef sizes) {
  TORCH_CHECK(self.sizes() == sizes, "output with shape ", self.sizes(), " doesn't match the broadcast shape ", sizes);
}

void check_may_write(const Tensor& t) {
  if (C10_UNLIKELY(t.is_inference())) t.unsafeGetTensorImpl()->bump_version();
}

}  // namespace

void check_no_internal_overlap(const TensorBase& out) {
  TORCH_CHECK(!writes_an_element_twice(out),
              "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
              "Please clone() the tensor before performing the operation.");
}

Overlap overlap_of_storage_sharers(const Tensor& out, const Tensor& in) {
  if (out.numel() == 0 || in.numel() == 0 || out.is_meta()) return Overlap::kNone;
  if (out.data_ptr() == in.data_ptr() && out.scalar_type() == in.scalar_type() && out.sizes() == in.sizes() &&
      out.strides() == in.strides()) {
    return Overlap::kSame;
  }
  const Extent a = extent(out);
  const Extent b = extent(in);
  return a.begin < b.end && b.begin < a.end ? Overlap::kPartial : Overlap::kNone;
}

Overlap overlap_of(const Tensor& out, TensorList in) {
  Overlap worst = Overlap::kNone;
  for (const Tensor& t : in) {
    const Overlap next = overlap_of(out, t);
    if (next > worst) worst = next;
  }
  return worst;
}

Overlap overlap_of(const Tensor& out, const c10::List<std::optional<Tensor>>& in) {
  Overlap worst = Overlap::kNone;
  for (const std::optional<Tensor>& t : in) {
    const Overlap next = overlap_of(out, t);
    if (next > worst) worst = next;
  }
  return worst;
}

void OneDevice::meet(const Tensor& t) {
  if (!t.defined() || (t.is_cpu() && t.dim() == 0)) return;
  if (!device_.has_value()) device_ = t.device();
  TORCH_CHECK(t.device() == *device_, "Expected all tensors to be on the same device, but found at least two devices, ", *device_,
              " and ", t.device(), "!");
}

void mark_written(TensorList tensors) {
  for (const Tensor& t : tensors) mark_written(t);
}

void Target::prepare(const char* op, const TensorSpec& spec, Overlap overlap, bool in_place, bool same_allowed) {
  Tensor& out = out_;
  TORCH_CHECK(out.defined(), op, "(): the output is an undefined tensor");
  check_may_write(out);
  check_destination(op, out, spec.dtype, spec.device);
  const bool shared = overlap == Overlap::kPartial || (overlap == Overlap::kSame && !same_allowed);
  if (in_place) {
    check_same_size(out, spec.sizes);
  } else if (out.sizes() != IntArrayRef(spec.sizes)) {
    // The old data is what an input still has to be read from: compute first, resize when it is done.
    if (overlap != Overlap::kNone) {
      temporary_ = empty_spec(spec);
      return;
    }
    fit_output(out, spec.sizes);
  }
  check_no_internal_overlap(out);
  if (shared || out.scalar_type() != spec.dtype) temporary_ = empty_spec(spec);
}

void Target::finish() {
  if (out_.sizes() != temporary_.sizes()) fit_output(out_, temporary_.sizes());
}

void prepare_inplace(const char* op, const Tensor& self, const Tensor& result) {
  check_may_write(self);
  check_destination(op, self, result.scalar_type(), result.device());
  check_same_size(self, result.sizes());
  check_no_internal_overlap(self);
}

namespace {
void check_out(const char* op, const Tensor& out, const Tensor& result) {
  TORCH_CHECK(out.defined(), op, "(): the output is an undefined tensor");
  TORCH_CHECK(result.defined(), op, "(): an output was given for a result that is left out");
  check_may_write(out);
  check_destination(op, out, result.scalar_type(), result.device());
  if (out.sizes() == result.sizes()) check_no_internal_overlap(out);
}
}  // namespace

void prepare_out(const char* op, const Tensor& out, const Tensor& result) {
  check_out(op, out, result);
  if (out.sizes() != result.sizes()) fit_output(out, result.sizes());
}

void prepare_out(const char* op, TensorList outs, const std::vector<Tensor>& results) {
  TORCH_CHECK(outs.size() == results.size(), op, "(): expected ", results.size(), " out tensors, got ", outs.size());
  for (size_t i = 0; i < results.size(); ++i) check_out(op, outs[i], results[i]);
  // A tensor that takes another size cannot be given twice for two sizes.
  for (size_t i = 0; i < results.size(); ++i) {
    if (outs[i].sizes() == results[i].sizes()) continue;
    for (size_t j = 0; j < results.size(); ++j) {
      TORCH_CHECK(!outs[j].is_same(outs[i]) || results[j].sizes() == results[i].sizes(), op,
                  "(): the same tensor is out[", i, "], of size ", results[i].sizes(), ", and out[", j, "], of size ",
                  results[j].sizes());
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (outs[i].sizes() != results[i].sizes()) fit_output(outs[i], results[i].sizes());
  }
}

}  // namespace at::structured
