#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "data/datasets/base.h"

namespace torch::data::datasets {

namespace detail {
struct CifarPart {
  at::Tensor images, labels, coarse_labels;
};
}  // namespace detail

/// CIFAR-10, the binary version: data_batch_1.bin ... data_batch_5.bin and test_batch.bin, in `root` or in the folder
/// cifar-10-batches-bin there. Examples are float32 [3, 32, 32] in [0, 1] and the class as int64.
///
///   auto set = torch::data::datasets::CIFAR10("data").map(torch::data::transforms::Stack<>());
class CIFAR10 : public Dataset<CIFAR10> {
 public:
  enum class Mode { kTrain, kTest };

  /// Throws torch::serialize::IoError where a file is missing, with what to fetch, and FormatError, with the file and
  /// the offset, for one that is no such file.
  explicit CIFAR10(const std::string& root, Mode mode = Mode::kTrain);

  /// IndexError out of range.
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const noexcept { return mode_ == Mode::kTrain; }

  /// All of them: uint8 [N, 3, 32, 32] and int64 [N].
  const at::Tensor& images() const { return part_.images; }
  const at::Tensor& targets() const { return part_.labels; }
  static const std::vector<std::string>& classes();

 private:
  Mode mode_;
  detail::CifarPart part_;
};

/// CIFAR-100, the binary version: train.bin and test.bin, in `root` or in cifar-100-binary there. Targets are the 100
/// fine classes, or with `coarse` the 20 groups of them.
class CIFAR100 : public Dataset<CIFAR100> {
 public:
  enum class Mode { kTrain, kTest };

  explicit CIFAR100(const std::string& root, Mode mode = Mode::kTrain, bool coarse = false);

  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const noexcept { return mode_ == Mode::kTrain; }
  const at::Tensor& images() const { return part_.images; }
  const at::Tensor& targets() const { return coarse_ ? part_.coarse_labels : part_.labels; }

 private:
  Mode mode_;
  bool coarse_;
  detail::CifarPart part_;
};

}  // namespace torch::data::datasets
