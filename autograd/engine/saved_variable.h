#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "aten/core/tensor.h"
#include "autograd/engine/edge.h"

namespace torch::autograd {

// Replaces what is kept between forward and backward: call_pack_hook gets the tensor once, call_unpack_hook gives it back
// (several times where the graph is retained).
class SavedVariableHooks {
 public:
  virtual ~SavedVariableHooks() = default;
  virtual void call_pack_hook(const at::Tensor& tensor) = 0;
  virtual at::Tensor call_unpack_hook() = 0;
};

// What SavedVariable::get hands out: refers to the kept tensor itself, or owns one made for the purpose.
class SavedRef {
 public:
  explicit SavedRef(const at::Tensor* kept) noexcept : kept_(kept) {}
  explicit SavedRef(at::Tensor made) noexcept : made_(static_cast<at::Tensor&&>(made)), kept_(nullptr) {}
  SavedRef(const SavedRef&) = delete;
  SavedRef& operator=(const SavedRef&) = delete;
  const at::Tensor& get() const noexcept { return kept_ != nullptr ? *kept_ : made_; }
  operator const at::Tensor&() const noexcept { return get(); }

 private:
  at::Tensor made_;
  const at::Tensor* kept_;
};

// A tensor kept for the backward pass. Remembers the version of its data, and fails on reading when it has been modified in
// place since. A result of the node that keeps it is kept without its history, so that node and result form no cycle.
class SavedVariable {
 public:
  SavedVariable() noexcept = default;
  // `is_output`: `variable` is a result of the node that keeps it; then `output_nr` is its number there.
  // A result is kept without its history in any case: `is_inplace_on_view` changes nothing.
  SavedVariable(const at::Tensor& variable, bool is_output, bool is_inplace_on_view = false);
  SavedVariable(const std::optional<at::Tensor>& variable, bool is_output, bool is_inplace_on_view = false);
  SavedVariable(SavedVariable&& other) noexcept;
  SavedVariable& operator=(SavedVariable&& other) noexcept;
  ~SavedVariable() {
    if (hooks_ != nullptr) delete_hooks();
  }

  void save(const at::Tensor& variable);
  void save_output(const at::Tensor& result, uint32_t output_nr);
  // The tangent of a result, which is known only after it was kept.
  void set_output_tangent(uint32_t output_nr, const at::Tensor& tangent);

  // The tensor as it was saved. `saved_for` is the node that keeps it (needed for results). Throws when it was modified in
  // place since, or was already given back ("Trying to backward through the graph a second time ..").
  SavedRef get(Node* saved_for) const;
  at::Tensor unpack(const NodePtr& saved_for = {}) const { return get(saved_for.get()).get(); }

  // Takes the hooks over and packs at once. Throws where hooks are set or the value was modified already.
  void register_hooks(std::unique_ptr<SavedVariableHooks>&& hooks);
  void reset_data() noexcept;
  // `t` was modified in place and is about to become a result that depends on who keeps this: where what is kept is `t` or a
  // view of it, keeps a handle with the history up to here instead, so that the two do not keep each other for ever.
  void keep_past_of(const c10::TensorImpl& t);
  bool is_defined() const noexcept { return (flags_ & kDefined) != 0; }

 private:
  enum : uint8_t { kDefined = 1, kOutput = 2 };
  bool is_released() const noexcept { return (flags_ & kDefined) != 0 && !data_.defined() && hooks_ == nullptr; }
  void apply_default_hooks();
  void delete_hooks() noexcept;
  at::Tensor unpack_hooked(Node* saved_for) const;
  at::Tensor unpack_output(Node* saved_for, const at::Tensor& data) const;
  [[noreturn]] void throw_released() const;
  [[noreturn]] void throw_modified(Node* saved_for) const;

  at::Tensor data_;
  struct Hooked;
  Hooked* hooks_ = nullptr;
  uint32_t version_ = 0;
  uint16_t output_nr_ = 0;
  uint8_t flags_ = 0;
};

}  // namespace torch::autograd
