#include "data/datasets/image_folder.h"

#include "aten/ops/creation/ops.h"
#include "c10/util/exception.h"

namespace torch::data::datasets {

ImageFolder::ImageFolder(const std::string& root, ImageMode mode)
    : folders_(std::make_shared<const ClassFolders>(find_class_folders(root, {".jpg", ".jpeg", ".png"}))),
      mode_(mode) {}

Example<> ImageFolder::get(size_t index) {
  TORCH_CHECK_INDEX(index < samples().size(), "ImageFolder: index ", index, " is out of range for ", samples().size(),
                    " images");
  const auto& [path, target] = samples()[index];
  return {read_image(path, mode_), at::full({}, target, at::TensorOptions(at::kLong))};
}

std::optional<size_t> ImageFolder::size() const { return samples().size(); }

}  // namespace torch::data::datasets
