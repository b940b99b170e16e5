#include "data/datasets/folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "c10/util/exception.h"
#include "utils/serialize/file_error.h"

namespace torch::data::datasets {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(std::string message) {
  throw serialize::IoError(c10::SourceLocation{__func__, __FILE__, __LINE__}, std::move(message));
}

bool has_extension(const fs::path& path, const std::vector<std::string_view>& extensions) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c;
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

}  // namespace

ClassFolders find_class_folders(const std::string& root, const std::vector<std::string_view>& extensions) {
  serialize::check_path(root);
  ClassFolders found;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(root))
      if (entry.is_directory()) found.classes.push_back(entry.path().filename().string());
    std::sort(found.classes.begin(), found.classes.end());
    if (found.classes.empty())
      fail(c10::str("Couldn't find any class folder in ", root,
                    ": put the files of each class into a folder of its name there"));
    for (size_t i = 0; i < found.classes.size(); ++i) {
      std::vector<std::string> paths;
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(root) / found.classes[i]))
        if (entry.is_regular_file() && has_extension(entry.path(), extensions)) paths.push_back(entry.path().string());
      std::string known;
      for (const std::string_view e : extensions) known += (known.empty() ? "" : ", ") + std::string(e);
      if (paths.empty())
        fail(c10::str("Found no valid file for the class ", found.classes[i], " in ", root,
                      ". Supported extensions are: ", known));
      std::sort(paths.begin(), paths.end());
      for (std::string& path : paths) found.samples.emplace_back(std::move(path), static_cast<int64_t>(i));
    }
  } catch (const fs::filesystem_error& error) {
    fail(c10::str("reading the folder ", error.path1().string(), " failed: ", error.code().message()));
  }
  return found;
}

}  // namespace torch::data::datasets
