#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "data/datasets/base.h"

namespace torch::data::datasets {

/// Reads an IDX file of unsigned bytes, or with at::kInt of 32-bit integers (yann.lecun.com/exdb/mnist: big-endian
/// magic number 0x08 or 0x0c and the number of dimensions, the sizes, the data), plain or compressed with gzip; a file
/// that is not at `path` is looked for at `path`.gz. Returns a tensor of `dims` dimensions and that dtype.
///
/// Errors: c10::ValueError for another dtype; c10::Error for a file that cannot be opened; serialize::FormatError, with
/// the path and the offset, for one that cannot be unpacked, has another magic number, is shorter or longer than its
/// sizes say. Memory grows with the data that is really there, never with the sizes alone; at most 4 GiB.
at::Tensor read_idx(const std::string& path, int dims, at::ScalarType dtype = at::kByte);

/// The MNIST handwritten digits (or any other set of that format) from a folder with {train,t10k}-images-idx3-ubyte and
/// {train,t10k}-labels-idx1-ubyte, plain or .gz. Images are float32 [1, 28, 28] in [0, 1], targets int64.
///
///   auto set = torch::data::datasets::MNIST("mnist").map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
///                  .map(torch::data::transforms::Stack<>());
class MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };

  /// Throws c10::Error, "Error opening images file at {root}/train-images-idx3-ubyte" and the like, with what to fetch.
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);

  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const noexcept { return mode_ == Mode::kTrain; }

  /// All of them: [N, 1, 28, 28] and [N].
  const at::Tensor& images() const { return images_; }
  const at::Tensor& targets() const { return targets_; }

 protected:
  /// Where a set lies below its folder. Labels are bytes, one an image, or rows of 32-bit integers.
  struct Files {
    std::string images, labels;
    bool rows = false;
    std::string packed = ".gz";  // what the names end with where the set is offered
  };
  /// `source`: the name of the set and where it is found.
  MNIST(const std::string& root, Mode mode, const Files& files, const std::string& source);
  /// Files {root}/{prefix}-images-idx3-ubyte and {prefix}-labels-idx1-ubyte.
  MNIST(const std::string& root, Mode mode, const std::string& prefix, const std::string& source)
      : MNIST(root, mode, Files{prefix + "-images-idx3-ubyte", prefix + "-labels-idx1-ubyte"}, source) {}

  Mode mode_;
  at::Tensor images_, targets_;
};

}  // namespace torch::data::datasets
