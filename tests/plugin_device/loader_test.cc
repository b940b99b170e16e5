// Loaders whose batches go to a device outside the library's tree.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "c10/testing/message_of.h"
#include "tests/plugin_device/shadow.h"

namespace {

using c10::testing::message_of;
using torch::Tensor;
using namespace torch::data;

const torch::Device kShadow(torch::kPrivateUse1, 1);

Tensor number(double x) {
  return torch::full({4}, x);
}
bool is_number(const Tensor& t, double x) {
  return t.device() == kShadow && torch::equal(t.cpu(), number(x));
}

// Gives what a function makes of the first index of a batch.
template <typename Batch>
struct Made : datasets::BatchDataset<Made<Batch>, Batch> {
  explicit Made(std::function<Batch(size_t)> make, size_t n = 5) : make(std::move(make)), n(n) {}
  Batch get_batch(torch::ArrayRef<size_t> indices) override { return make(indices[0]); }
  std::optional<size_t> size() const override { return n; }
  std::function<Batch(size_t)> make;
  size_t n;
};

template <typename Batch>
auto loader_of(std::function<Batch(size_t)> make, DataLoaderOptions options = DataLoaderOptions(1)) {
  return make_data_loader<samplers::SequentialSampler>(Made<Batch>(std::move(make)), std::move(options));
}

struct Own {
  Tensor inside;
  int other = 0;
  template <typename F>
  void visit_tensors(const F& f) {
    inside = f(inside);
  }
};

TEST(DeviceLoader, BatchesComeInOrderAndOverlap) {
  for (const size_t workers : {0, 2}) {
    for (const bool pin : {false, true}) {
      for (const size_t ahead : {1, 2, 7}) {
        auto loader =
            loader_of<Example<>>([](size_t i) { return Example<>(number(static_cast<double>(i)), number(-1)); },
                                 DataLoaderOptions(1).workers(workers).pin_memory(pin).pin_memory_device("shadow"));
        for (int pass = 0; pass < 2; ++pass) {
          double i = 0;
          for (Example<>& batch : to_device(*loader, kShadow, ahead)) {
            const Tensor sum = batch.data.add(batch.target);
            EXPECT_TRUE(is_number(sum, i - 1)) << i;
            ++i;
          }
          EXPECT_EQ(i, 5);
        }
      }
    }
  }
}

TEST(DeviceLoader, TheCopyIsOnAStreamOfItsOwnAndIsWaitedFor) {
  auto loader =
      loader_of<Tensor>([](size_t i) { return number(static_cast<double>(i)); }, DataLoaderOptions(1).pin_memory(true));
  auto on_device = to_device(*loader, kShadow);
  const c10::Stream current = torch::accelerator::current_stream(1);
  torch::accelerator::synchronize(1);
  shadow::hold_streams(true);
  auto it = on_device.begin();
  const Tensor first = *it;
  EXPECT_EQ(torch::accelerator::current_stream(1), current);
  EXPECT_FALSE(current.query()) << "it waits for the copy";
  ++it;
  shadow::hold_streams(false);
  EXPECT_TRUE(is_number(first, 0));
  EXPECT_TRUE(is_number(*it, 1));
}

TEST(DeviceLoader, FindsTensorsInWhatLoadersCollate) {
  using Nested = std::pair<std::map<std::string, std::vector<Tensor>>, std::tuple<std::optional<Tensor>, int, Own>>;
  auto nested = loader_of<Nested>([](size_t i) {
    Nested made;
    made.first["a"] = {number(static_cast<double>(i)), number(7)};
    std::get<0>(made.second) = number(8);
    std::get<1>(made.second) = 3;
    std::get<2>(made.second) = {number(9), 4};
    return made;
  });
  size_t batches = 0;
  for (Nested& batch : to_device(*nested, kShadow)) {
    EXPECT_TRUE(is_number(batch.first["a"][0], static_cast<double>(batches++)));
    EXPECT_TRUE(is_number(batch.first["a"][1], 7));
    EXPECT_TRUE(is_number(*std::get<0>(batch.second), 8));
    EXPECT_EQ(std::get<1>(batch.second), 3);
    EXPECT_TRUE(is_number(std::get<2>(batch.second).inside, 9));
  }
  EXPECT_EQ(batches, 5u);

  auto values = loader_of<c10::IValue>(
      [](size_t i) {
        c10::Dict<std::string, c10::IValue> dict;
        return c10::IValue(c10::ivalue::Tuple::create(
            {c10::IValue(number(static_cast<double>(i))), c10::IValue(std::vector<Tensor>{number(1), number(2)}),
             c10::IValue("text"),
             c10::IValue(std::vector<c10::IValue>{c10::IValue(number(3)), c10::IValue(int64_t{4})})}));
      },
      DataLoaderOptions(1).pin_memory(true));
  double i = 0;
  for (c10::IValue& batch : to_device(*values, kShadow)) {
    const auto& all = batch.toTupleRef().elements();
    EXPECT_TRUE(is_number(all[0].toTensor(), i++));
    EXPECT_TRUE(is_number(all[1].toTensorVector()[1], 2));
    EXPECT_EQ(all[2].toStringRef(), "text");
    EXPECT_TRUE(is_number(all[3].toListRef()[0].toTensor(), 3));
    EXPECT_EQ(all[3].toListRef()[1].toInt(), 4);
  }
}

TEST(DeviceLoader, TensorsThatAreThereAndUndefinedOnesPassThrough) {
  const Tensor there = number(5).to(kShadow);
  auto loader = loader_of<std::vector<Tensor>>([&](size_t) { return std::vector<Tensor>{there, Tensor()}; });
  for (std::vector<Tensor>& batch : to_device(*loader, kShadow)) {
    EXPECT_TRUE(batch[0].is_same(there));
    EXPECT_FALSE(batch[1].defined());
  }
}

TEST(DeviceLoader, ExceptionsComeInTheirBatchesPlace) {
  for (const size_t workers : {0, 2}) {
    auto loader = loader_of<Tensor>(
        [](size_t i) {
          if (i == 2) throw std::runtime_error("the third");
          return number(static_cast<double>(i));
        },
        DataLoaderOptions(1).workers(workers));
    auto on_device = to_device(*loader, kShadow);
    auto it = on_device.begin();
    std::vector<double> seen;
    std::string error;
    bool first = true;
    while (true) {
      try {
        if (!std::exchange(first, false)) ++it;
        if (it == on_device.end()) break;
        seen.push_back(it->cpu()[0].item<double>());
      } catch (const std::exception& e) {
        EXPECT_EQ(seen.size(), 2u) << "what was before it comes before it";
        error = e.what();
      }
    }
    EXPECT_NE(error.find("the third"), std::string::npos);
    EXPECT_EQ(seen, (std::vector<double>{0, 1, 3, 4}));
  }
}

TEST(DeviceLoader, MayBeLeftInTheMiddle) {
  for (int i = 0; i < 10; ++i) {
    auto loader = loader_of<Tensor>([](size_t n) { return number(static_cast<double>(n)); },
                                    DataLoaderOptions(1).workers(2).pin_memory(true));
    for (Tensor& batch : to_device(*loader, kShadow, 3)) {
      EXPECT_TRUE(is_number(batch, 0));
      break;
    }
  }
}

TEST(DeviceLoader, PassesThroughOnTheCpuAndRefusesWhatIsNotThere) {
  const Tensor here = number(1);
  auto loader = loader_of<Tensor>([&](size_t) { return here; });
  size_t batches = 0;
  for (Tensor& batch : to_device(*loader, torch::kCPU)) {
    EXPECT_TRUE(batch.is_same(here));
    ++batches;
  }
  EXPECT_EQ(batches, 5u);
  EXPECT_THROW(to_device(*loader, torch::Device("shadow:5")), c10::Error);
  EXPECT_THROW(to_device(*loader, kShadow, 0), c10::ValueError);
  EXPECT_NE(message_of([] {
              loader_of<Tensor>([](size_t) { return number(0); }, DataLoaderOptions(1).pin_memory_device("cpu"));
            }).find("pin_memory_device option should name an accelerator"),
            std::string::npos);
}

TEST(DataLoader, PinsTensorsForTheAccelerator) {
  auto loader = loader_of<std::vector<Tensor>>([](size_t) { return std::vector<Tensor>{number(1)}; },
                                               DataLoaderOptions(1).workers(1).pin_memory(true));
  for (std::vector<Tensor>& batch : *loader) EXPECT_TRUE(batch[0].is_pinned());
}

}  // namespace
