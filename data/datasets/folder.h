#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torch::data::datasets {

/// Files in folders that are named after their classes: root/cat/1.jpg, root/cat/more/2.jpg, root/dog/1.png.
struct ClassFolders {
  std::vector<std::string> classes;                      ///< sorted
  std::vector<std::pair<std::string, int64_t>> samples;  ///< paths, sorted within each class, and the class
};
/// `extensions` in lower case, with their dots; case does not matter in names. Throws serialize::IoError where `root`
/// is no folder or can't be read, has no folders, or a class has no such file.
ClassFolders find_class_folders(const std::string& root, const std::vector<std::string_view>& extensions);

}  // namespace torch::data::datasets
