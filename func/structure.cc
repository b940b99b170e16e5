#include "func/structure.h"

#include "c10/util/exception.h"

namespace torch::func {
namespace {

void add_leaves(const Structure& structure, std::vector<const Structure*>& leaves) {
  if (structure.kind != Structure::Kind::kNode) return leaves.push_back(&structure);
  for (const Structure& child : structure.children) add_leaves(child, leaves);
}

void add_dims(const Dims& dims, const Structure& structure, const char* what,
              std::vector<std::optional<int64_t>>& all) {
  if (!dims.is_list()) {
    all.insert(all.end(), leaves_of(structure).size(), dims.dim());
    return;
  }
  const size_t parts = structure.children.size();
  TORCH_CHECK_VALUE(structure.kind == Structure::Kind::kNode && parts == dims.parts().size(), what, dims.str(),
                    " is not compatible with the structure it is given for, which has ",
                    structure.kind == Structure::Kind::kNode ? std::to_string(parts) + " parts" : "no parts");
  for (size_t i = 0; i < parts; ++i) add_dims(dims.parts()[i], structure.children[i], what, all);
}

}  // namespace

void Structure::for_each(const std::function<void(at::Tensor&)>& f) const {
  if (kind == Kind::kTensor) f(*tensor);
  for (const Structure& child : children) child.for_each(f);
}

std::string Dims::str() const {
  if (!list_) return dim_.has_value() ? std::to_string(*dim_) : "None";
  std::string text = "(";
  for (const Dims& part : parts_) {
    if (text.size() > 1) text += ", ";
    text += part.str();
  }
  return text + (parts_.size() == 1 ? ",)" : ")");
}

std::vector<const Structure*> leaves_of(const Structure& structure) {
  std::vector<const Structure*> leaves;
  add_leaves(structure, leaves);
  return leaves;
}

std::vector<std::optional<int64_t>> dims_of_leaves(const Dims& dims, const Structure& structure, const char* what) {
  std::vector<std::optional<int64_t>> all;
  add_dims(dims, structure, what, all);
  return all;
}

}  // namespace torch::func
