#include "optim/field_visitors.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/util/exception.h"

namespace torch::optim {

using c10::IValue;

namespace {

bool is_tensor_kind(FieldVisitor::Kind kind) {
  return kind == FieldVisitor::Kind::kLikeParam || kind == FieldVisitor::Kind::kTensor;
}

// Settings that came later than their optimizers: older files do not have them.
bool came_later(std::string_view name) {
  constexpr std::string_view kNames[] = {"maximize",   "foreach",        "fused",
                                         "capturable", "differentiable", "decoupled_weight_decay"};
  return name.starts_with('_') || std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

bool FieldSaver::field(const char* name, Kind kind, IValue& value) {
  if (!is_tensor_kind(kind) || !value.isNone()) dict.insert(IValue(name), value);
  return false;
}

void FieldLoader::check_all_used() const {
  for (const std::string& name : names_of_parts(part_)) {
    TORCH_CHECK_VALUE(used_.count(name) != 0, "load_state_dict: this optimizer has no place for ", path_, name);
  }
}

bool FieldLoader::field(const char* name, Kind kind, IValue& value) {
  IValue found;
  used_.insert(name);
  const bool present = find_part(part_, name, &found);
  if (is_tensor_kind(kind)) {
    value = present ? tensors(name, kind, found) : IValue();
    return true;
  }
  TORCH_CHECK_VALUE(present || (kind == Kind::kValue && (!strict_ || came_later(name))), "load_state_dict: ", path_,
                    name, " is missing");
  if (present) value = found;
  return present;
}

IValue FieldLoader::tensors(const char* name, Kind kind, const IValue& found) const {
  if (found.isTensor()) return IValue(copy(name, kind, found.toTensor()));
  if (found.isNone() || found.isInt() || found.isDouble()) return found;
  // A list, or the dict of numbers that stands for one in a file of flat names.
  c10::List<IValue> list;
  const size_t count = names_of_parts(found).size();
  for (size_t i = 0; i < count; ++i) {
    IValue item;
    TORCH_CHECK_VALUE(find_part(found, std::to_string(i), &item), "load_state_dict: ", path_, name, " is no list");
    list.push_back(item.isTensor() ? IValue(copy(name, kind, item.toTensor())) : item);
  }
  return IValue(list);
}

at::Tensor FieldLoader::copy(const char* name, Kind kind, const at::Tensor& found) const {
  if (like_ == nullptr) return at::clone(found);
  TORCH_CHECK_VALUE(like_->is_complex() || !found.is_complex(), "load_state_dict: ", path_, name, " is of type ",
                    found.scalar_type(), ", but its parameter is ", like_->scalar_type());
  at::Tensor made;
  if (kind == Kind::kTensor) {
    // Complex parameters have vectors of reals beside them.
    const at::ScalarType dtype = like_->is_complex() ? found.scalar_type() : like_->scalar_type();
    made = at::empty(found.sizes(), like_->options().dtype(dtype));
  } else {
    TORCH_CHECK_VALUE(found.sizes() == like_->sizes(), "load_state_dict: ", path_, name,
                      " has the wrong size: expected ", like_->sizes(), ", but got ", found.sizes());
    made = at::empty_like(*like_);
  }
  return at::copy_(made, found);
}

}  // namespace torch::optim
