#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/datasets/base.h"
#include "data/datasets/folder.h"
#include "data/datasets/image_file.h"

namespace torch::data::datasets {

/// Images in folders that are named after their classes, as torchvision.datasets.ImageFolder has them. Examples are the
/// image, uint8 [C, H, W], and the number of its class, int64; files are read when they are asked for. Depend on
/// //data:image_folder.
///
///   ImageFolder images("flowers/train");
///   auto set = images.map(Compose<>(RandomResizedCrop<>(224), ConvertImageDtype<>())).map(Stack<>());
class ImageFolder : public Dataset<ImageFolder> {
 public:
  /// Throws serialize::IoError, see find_class_folders.
  explicit ImageFolder(const std::string& root, ImageMode mode = ImageMode::kRGB);

  /// IndexError out of range; what read_image throws.
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;

  /// In the order of their numbers.
  const std::vector<std::string>& classes() const { return folders_->classes; }
  const std::vector<std::pair<std::string, int64_t>>& samples() const { return folders_->samples; }

 private:
  std::shared_ptr<const ClassFolders> folders_;  // copies of the dataset share the list
  ImageMode mode_;
};

}  // namespace torch::data::datasets
