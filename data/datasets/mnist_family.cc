#include "data/datasets/mnist_family.h"

#include <algorithm>
#include <array>

#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::data::datasets {

namespace {

std::string prefix_of(MNIST::Mode mode) { return mode == MNIST::Mode::kTrain ? "train" : "t10k"; }

std::string emnist_prefix(const std::string& split, MNIST::Mode mode) {
  constexpr std::array<const char*, 6> kSplits = {"byclass", "bymerge", "balanced", "letters", "digits", "mnist"};
  TORCH_CHECK_VALUE(std::find(kSplits.begin(), kSplits.end(), split) != kSplits.end(),
                    "EMNIST: expected the split byclass, bymerge, balanced, letters, digits or mnist, but got ", split);
  return "emnist-" + split + (mode == MNIST::Mode::kTrain ? "-train" : "-test");
}

}  // namespace

FashionMNIST::FashionMNIST(const std::string& root, Mode mode)
    : MNIST(root, mode, prefix_of(mode), "FashionMNIST (https://github.com/zalandoresearch/fashion-mnist)") {}

const std::vector<std::string>& FashionMNIST::classes() {
  static const std::vector<std::string> names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                                 "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  return names;
}

KMNIST::KMNIST(const std::string& root, Mode mode)
    : MNIST(root, mode, prefix_of(mode), "KMNIST (http://codh.rois.ac.jp/kmnist/)") {}

EMNIST::EMNIST(const std::string& root, const std::string& split, Mode mode)
    : MNIST(root, mode, emnist_prefix(split, mode),
            "EMNIST (https://www.nist.gov/itl/products-and-services/emnist-dataset, gzip.zip)") {}

MNIST::Files QMNIST::files_of(const std::string& what) {
  if (what == "nist") return {"xnist-images-idx3-ubyte", "xnist-labels-idx2-int", /*rows=*/true, ".xz"};
  constexpr std::array<const char*, 4> kWhats = {"train", "test", "test10k", "test50k"};
  TORCH_CHECK_VALUE(std::find(kWhats.begin(), kWhats.end(), what) != kWhats.end(),
                    "QMNIST: expected what to be train, test, test10k, test50k or nist, but got ", what);
  const std::string prefix = what == "train" ? "qmnist-train" : "qmnist-test";
  return {prefix + "-images-idx3-ubyte", prefix + "-labels-idx2-int", /*rows=*/true};
}

QMNIST::QMNIST(const std::string& root, const std::string& what, bool compat)
    : MNIST(root, what == "train" ? Mode::kTrain : Mode::kTest, files_of(what),
            "QMNIST (https://github.com/facebookresearch/qmnist)") {
  TORCH_CHECK(targets_.size(1) == 8, "QMNIST: expected labels of 8 numbers each, but got ", targets_.size(1));
  constexpr int64_t kMnists = 10'000;  // images to test on
  const int64_t n = images_.size(0);
  if (what == "test10k" || what == "test50k") {
    const int64_t first = what == "test10k" ? 0 : std::min(n, kMnists);
    const int64_t length = what == "test10k" ? std::min(n, kMnists) : n - first;
    images_ = at::narrow(images_, 0, first, length);
    targets_ = at::narrow(targets_, 0, first, length);
  }
  if (compat) targets_ = at::select(targets_, 1, 0);
}

}  // namespace torch::data::datasets
