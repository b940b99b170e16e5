#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"

// What the generated forms of an operator share: writing a result into a given tensor, whatever its size, dtype and memory.
namespace at {

Tensor& copy_(Tensor& self, const Tensor& src, bool non_blocking);

namespace structured {

// How the memory of a tensor to write relates to that of one that is read.
enum class Overlap : uint8_t { kNone, kSame, kPartial };

Overlap overlap_of_storage_sharers(const Tensor& out, const Tensor& in);

inline Overlap overlap_of(const Tensor& out, const Tensor& in) {
  if (!in.defined()) return Overlap::kNone;
  if (out.is_same(in)) return Overlap::kSame;
  if (out.unsafeGetTensorImpl()->storage() != in.unsafeGetTensorImpl()->storage()) return Overlap::kNone;
  return overlap_of_storage_sharers(out, in);
}
inline Overlap overlap_of(const Tensor& out, const std::optional<Tensor>& in) {
  return in.has_value() ? overlap_of(out, *in) : Overlap::kNone;
}
Overlap overlap_of(const Tensor& out, TensorList in);
Overlap overlap_of(const Tensor& out, const c10::List<std::optional<Tensor>>& in);

// The worst overlap with any of the inputs; undefined outputs overlap nothing.
template <class... Inputs>
Overlap overlap(const Tensor& out, const Inputs&... inputs) {
  Overlap worst = Overlap::kNone;
  if (!out.defined()) return worst;
  [[maybe_unused]] const auto merge = [&](Overlap next) { worst = next > worst ? next : worst; };
  (merge(overlap_of(out, inputs)), ...);
  return worst;
}

// Throws "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!". CPU tensors without
// dimensions go with any device, undefined ones too.
class OneDevice {
 public:
  void meet(const Tensor& t);
  void meet(const std::optional<Tensor>& t) {
    if (t.has_value()) meet(*t);
  }
  void meet(TensorList tensors) {
    for (const Tensor& t : tensors) meet(t);
  }

 private:
  std::optional<Device> device_;
};
template <class... Inputs>
void check_one_device(const Inputs&... inputs) {
  OneDevice device;
  (device.meet(inputs), ...);
}

// Marks `t` as changed in place. Throws for an inference tensor outside inference mode.
inline void mark_written(const Tensor& t) { t.unsafeGetTensorImpl()->bump_version(); }
void mark_written(TensorList tensors);

// Where the kernel of a structured operator writes: the given tensor if it has the right size, dtype and memory of its own,
// else a temporary, from which commit() copies.
//
// In place, the size must be that of the result: "output with shape [2] doesn't match the broadcast shape [3, 2]". As out=,
// the tensor is resized. Both throw "result type Float can't be cast to the desired output type Long" where that is so.
// `same_allowed`: the kernel may write into one of its inputs, element by element.
class Target {
 public:
  Target(const char* op, Tensor& out, const TensorSpec& spec, Overlap overlap, bool in_place, bool same_allowed) : out_(out) {
    if (C10_LIKELY(out.defined() && (overlap == Overlap::kNone || (overlap == Overlap::kSame && same_allowed)))) {
      const TensorImpl& impl = *out.unsafeGetTensorImpl();
      if (C10_LIKELY(!impl.is_inference() && impl.is_contiguous() && impl.dtype() == spec.dtype &&
                     impl.device() == spec.device && impl.sizes() == IntArrayRef(spec.sizes))) {
        return;
      }
    }
    prepare(op, spec, overlap, in_place, same_allowed);
  }

  Tensor& tensor() { return temporary_.defined() ? temporary_ : out_; }
  void commit() {
    if (C10_UNLIKELY(temporary_.defined())) {
      finish();
      copy_(out_, temporary_, false);
    } else {
      mark_written(out_);
    }
  }

 private:
  // Every check, and the temporary where one is needed; nothing to do where the output is as the result would be.
  void prepare(const char* op, const TensorSpec& spec, Overlap overlap, bool in_place, bool same_allowed);
  // Gives the output the temporary's size.
  void finish();

  Tensor& out_;
  Tensor temporary_;
};

// The same for an operator whose kernel returns its result.
void prepare_inplace(const char* op, const Tensor& self, const Tensor& result);
void prepare_out(const char* op, const Tensor& out, const Tensor& result);
void prepare_out(const char* op, TensorList outs, const std::vector<Tensor>& results);  // all, before one is written

inline Tensor& assign_inplace(const char* op, Tensor& self, const Tensor& result) {
  prepare_inplace(op, self, result);
  return copy_(self, result, false);
}
inline Tensor& assign_out(const char* op, Tensor& out, const Tensor& result) {
  prepare_out(op, out, result);
  return copy_(out, result, false);
}
inline void assign_out(const char* op, TensorList outs, const std::vector<Tensor>& results) {
  prepare_out(op, outs, results);
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor out = outs[i];
    copy_(out, results[i], false);
  }
}
inline void assign_inplace(const char* op, TensorList self, const std::vector<Tensor>& results) {
  TORCH_CHECK(self.size() == results.size(), op, "(): expected ", results.size(), " tensors, got ", self.size());
  for (size_t i = 0; i < results.size(); ++i) prepare_inplace(op, self[i], results[i]);
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor target = self[i];
    copy_(target, results[i], false);
  }
}

}  // namespace structured
}  // namespace at
