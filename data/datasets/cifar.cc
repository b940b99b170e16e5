#include "data/datasets/cifar.h"

#include <unistd.h>

#include <cstring>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "utils/serialize/file_io.h"

namespace torch::data::datasets {

namespace {

constexpr size_t kPixels = 3 * 32 * 32;

// What tells one set from the other.
struct Kind {
  const char* name;
  const char* folder;
  const char* archive;
  size_t labels;  // bytes before the pixels; the fine class is the last one
  int classes, coarse_classes;
};
constexpr Kind kCifar10 = {"CIFAR-10", "cifar-10-batches-bin", "cifar-10-binary.tar.gz", 1, 10, 0};
constexpr Kind kCifar100 = {"CIFAR-100", "cifar-100-binary", "cifar-100-binary.tar.gz", 2, 100, 20};

std::string find_file(const std::string& root, const std::string& file, const Kind& kind) {
  serialize::check_path(root);
  for (const std::string& path : {root + "/" + file, root + "/" + kind.folder + "/" + file})
    if (::access(path.c_str(), F_OK) == 0) return path;
  throw serialize::IoError(
      c10::SourceLocation{__func__, __FILE__, __LINE__},
      c10::str("Error opening ", root, "/", kind.folder, "/", file, ": fetch ", kind.archive, " of ", kind.name,
               " (https://www.cs.toronto.edu/~kriz/cifar.html) and unpack it in ", root));
}

[[noreturn]] void bad_label(const std::string& path, size_t record, size_t offset, int label, int classes) {
  serialize::throw_format_error(c10::str(path, ": the label of image ", record, ", at byte ", offset, ", is ", label,
                                         ", expected one below ", classes));
}

detail::CifarPart read(const std::string& root, const std::vector<std::string>& files, const Kind& kind) {
  const size_t record = kind.labels + kPixels;
  std::vector<serialize::MappedFile> maps;
  size_t count = 0;
  std::vector<std::string> paths;
  for (const std::string& file : files) {
    paths.push_back(find_file(root, file, kind));
    maps.emplace_back(paths.back());
    const size_t size = maps.back().size();
    if (size == 0 || size % record != 0) {
      serialize::throw_format_error(c10::str(paths.back(), ": ", kind.name, " has images of ", record,
                                             " bytes, but the file ends at byte ", size, ", in the middle of image ",
                                             size / record));
    }
    count += size / record;
  }
  const int64_t n = static_cast<int64_t>(count);
  detail::CifarPart part{at::empty({n, 3, 32, 32}, at::kByte), at::empty({n}, at::kLong),
                         at::empty({kind.coarse_classes > 0 ? n : 0}, at::kLong)};
  uint8_t* pixels = part.images.mutable_data_ptr<uint8_t>();
  int64_t* fine = part.labels.mutable_data_ptr<int64_t>();
  int64_t* coarse = part.coarse_labels.mutable_data_ptr<int64_t>();
  for (size_t m = 0; m < maps.size(); ++m) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(maps[m].data());
    for (size_t i = 0; i < maps[m].size() / record; ++i) {
      const uint8_t* const at = bytes + i * record;
      if (kind.coarse_classes > 0) {
        if (at[0] >= kind.coarse_classes) bad_label(paths[m], i, i * record, at[0], kind.coarse_classes);
        *coarse++ = at[0];
      }
      const int label = at[kind.labels - 1];
      if (label >= kind.classes) bad_label(paths[m], i, i * record + kind.labels - 1, label, kind.classes);
      *fine++ = label;
      std::memcpy(pixels, at + kind.labels, kPixels);
      pixels += kPixels;
    }
  }
  return part;
}

Example<> example(const at::Tensor& images, const at::Tensor& targets, size_t index, const char* name) {
  TORCH_CHECK_INDEX(index < static_cast<size_t>(images.size(0)), name, ": index ", index, " is out of range for ",
                    images.size(0), " images");
  const int64_t i = static_cast<int64_t>(index);
  return {at::div(at::_to_copy(at::select(images, 0, i), at::TensorOptions(at::kFloat)), 255),
          at::select(targets, 0, i)};
}

}  // namespace

CIFAR10::CIFAR10(const std::string& root, Mode mode)
    : mode_(mode),
      part_(read(root,
                 mode == Mode::kTest
                     ? std::vector<std::string>{"test_batch.bin"}
                     : std::vector<std::string>{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                                "data_batch_4.bin", "data_batch_5.bin"},
                 kCifar10)) {}
Example<> CIFAR10::get(size_t index) { return example(images(), targets(), index, "CIFAR10"); }
std::optional<size_t> CIFAR10::size() const { return static_cast<size_t>(images().size(0)); }

const std::vector<std::string>& CIFAR10::classes() {
  static const std::vector<std::string> names = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                 "dog",      "frog",       "horse", "ship", "truck"};
  return names;
}

CIFAR100::CIFAR100(const std::string& root, Mode mode, bool coarse)
    : mode_(mode), coarse_(coarse), part_(read(root, {mode == Mode::kTest ? "test.bin" : "train.bin"}, kCifar100)) {}
Example<> CIFAR100::get(size_t index) { return example(images(), targets(), index, "CIFAR100"); }
std::optional<size_t> CIFAR100::size() const { return static_cast<size_t>(images().size(0)); }

}  // namespace torch::data::datasets
