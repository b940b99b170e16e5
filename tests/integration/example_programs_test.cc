// The shapes of well-known programs for libtorch's C++ frontend, written here from scratch: they compile and run as
// they are.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "c10/testing/files.h"

namespace {

using c10::testing::fresh_folder;
using c10::testing::write_file;

// --- digits: a network of one's own, a sequential loader for training, functions over any loader ---

constexpr int64_t kTrainBatchSize = 8;
constexpr int64_t kTestBatchSize = 16;

std::string big_endian(uint32_t x) {
  return {static_cast<char>(x >> 24), static_cast<char>(x >> 16), static_cast<char>(x >> 8), static_cast<char>(x)};
}

// Class c lights a column of its own.
std::string digits(uint32_t count) {
  const std::string folder = fresh_folder();
  for (const char* prefix : {"train", "t10k"}) {
    std::string images = big_endian(2051) + big_endian(count) + big_endian(28) + big_endian(28);
    std::string labels = big_endian(2049) + big_endian(count);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t label = i % 10;
      labels += static_cast<char>(label);
      for (uint32_t pixel = 0; pixel < 28 * 28; ++pixel) images += static_cast<char>(pixel % 28 / 2 == label ? 255 : 0);
    }
    write_file(folder + "/" + prefix + "-images-idx3-ubyte", images);
    write_file(folder + "/" + prefix + "-labels-idx1-ubyte", labels);
  }
  return folder;
}

struct Net : torch::nn::Module {
  Net() : conv1(torch::nn::Conv2dOptions(1, 4, /*kernel_size=*/5)), fc1(4 * 12 * 12, 32), fc2(32, 10) {
    register_module("conv1", conv1);
    register_module("drop", drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(drop->forward(conv1->forward(x)), 2));
    x = x.view({-1, 4 * 12 * 12});
    x = torch::relu(fc1->forward(x));
    x = torch::dropout(x, /*p=*/0.1, /*training=*/is_training());
    return torch::log_softmax(fc2->forward(x), /*dim=*/1);
  }
  torch::nn::Conv2d conv1;
  torch::nn::Dropout2d drop{torch::nn::Dropout2dOptions(0.1)};
  torch::nn::Linear fc1, fc2;
};

template <typename DataLoader>
void train(Net& model, torch::Device device, DataLoader& data_loader, torch::optim::Optimizer& optimizer,
           size_t dataset_size) {
  model.train();
  size_t seen = 0;
  for (auto& batch : data_loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    optimizer.zero_grad();
    auto output = model.forward(data);
    auto loss = torch::nll_loss(output, targets);
    AT_ASSERT(!std::isnan(loss.template item<float>()));
    loss.backward();
    optimizer.step();
    seen += static_cast<size_t>(batch.data.size(0));
  }
  EXPECT_EQ(seen, dataset_size);
}

template <typename DataLoader>
double test(Net& model, torch::Device device, DataLoader& data_loader, size_t dataset_size) {
  torch::NoGradGuard no_grad;
  model.eval();
  double test_loss = 0;
  int32_t correct = 0;
  for (const auto& batch : data_loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    auto output = model.forward(data);
    test_loss += torch::nll_loss(output, targets, /*weight=*/{}, torch::Reduction::Sum).template item<float>();
    auto pred = output.argmax(1);
    correct += pred.eq(targets).sum().template item<int64_t>();
  }
  return static_cast<double>(correct) / static_cast<double>(dataset_size);
}

TEST(ExamplePrograms, Digits) {
  torch::manual_seed(1);
  const std::string root = digits(80);
  torch::DeviceType device_type = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  torch::Device device(device_type == torch::kCUDA ? torch::kCPU : device_type);
  Net model;
  model.to(device);

  auto train_dataset = torch::data::datasets::MNIST(root)
                           .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                           .map(torch::data::transforms::Stack<>());
  const size_t train_dataset_size = train_dataset.size().value();
  auto train_loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(std::move(train_dataset),
                                                                                              kTrainBatchSize);

  auto test_dataset = torch::data::datasets::MNIST(root, torch::data::datasets::MNIST::Mode::kTest)
                          .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                          .map(torch::data::transforms::Stack<>());
  const size_t test_dataset_size = test_dataset.size().value();
  auto test_loader = torch::data::make_data_loader(std::move(test_dataset), kTestBatchSize);

  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.05).momentum(0.5));
  double accuracy = 0;
  for (size_t epoch = 1; epoch <= 4; ++epoch) {
    train(model, device, *train_loader, optimizer, train_dataset_size);
    accuracy = test(model, device, *test_loader, test_dataset_size);
  }
  EXPECT_GT(accuracy, 0.9);
}

// --- a data set of one's own ---

class CustomDataset : public torch::data::Dataset<CustomDataset> {
 public:
  explicit CustomDataset(int64_t n) : x_(torch::arange(n, torch::kFloat32)), y_(x_ * 2) {}
  torch::data::Example<> get(size_t index) override {
    return {x_[static_cast<int64_t>(index)], y_[static_cast<int64_t>(index)]};
  }
  torch::optional<size_t> size() const override { return static_cast<size_t>(x_.size(0)); }

 private:
  torch::Tensor x_, y_;
};

// Batches made at once, with targets of their own kind.
using Texts = std::vector<torch::data::Example<std::string, int>>;
struct TextDataset : torch::data::BatchDataset<TextDataset, Texts> {
  Texts get_batch(torch::ArrayRef<size_t> request) override {
    Texts batch;
    for (const size_t i : request) batch.emplace_back(std::to_string(i), static_cast<int>(i));
    return batch;
  }
  torch::optional<size_t> size() const override { return 5; }
};

template <typename Loader>
double sum_of(Loader loader) {
  double sum = 0;
  for (auto batch : *loader)
    sum += batch.data.sum().template item<double>() + batch.target.sum().template item<double>();
  return sum;
}

TEST(ExamplePrograms, DatasetsOfOnesOwn) {
  auto set = CustomDataset(10).map(torch::data::transforms::Stack<>());
  const double expected = 45 * 3;
  const int as_int = 3;
  const long as_long = 3;
  const size_t as_size = 3;
  // Every way to say how large a batch is, and loaders that move into what iterates them.
  EXPECT_EQ(sum_of(torch::data::make_data_loader(set, as_int)), expected);
  EXPECT_EQ(sum_of(torch::data::make_data_loader(set, as_long)), expected);
  EXPECT_EQ(sum_of(torch::data::make_data_loader(set, as_size)), expected);
  EXPECT_EQ(sum_of(torch::data::make_data_loader<torch::data::samplers::RandomSampler>(set, as_int)), expected);
  EXPECT_EQ(sum_of(torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(set, as_long)), expected);
  EXPECT_EQ(sum_of(torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(std::move(set), as_size)),
            expected);
  EXPECT_EQ(sum_of(torch::data::make_data_loader(CustomDataset(10).map(torch::data::transforms::Stack<>()),
                                                 torch::data::DataLoaderOptions{as_long})),
            expected);
  auto by_options = torch::data::make_data_loader(
      CustomDataset(10).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions().batch_size(as_int).workers(2).drop_last(false).enforce_ordering(true));
  EXPECT_EQ(sum_of(std::move(by_options)), expected);
  EXPECT_EQ(by_options, nullptr);
  // Samplers by value, with all kinds of third arguments.
  torch::data::samplers::RandomSampler random(10);
  EXPECT_EQ(sum_of(torch::data::make_data_loader(CustomDataset(10).map(torch::data::transforms::Stack<>()), random,
                                                 torch::data::DataLoaderOptions(4).workers(1))),
            expected);
  EXPECT_EQ(sum_of(torch::data::make_data_loader(CustomDataset(10).map(torch::data::transforms::Stack<>()),
                                                 torch::data::samplers::SequentialSampler(10), as_int)),
            expected);
  EXPECT_EQ(
      sum_of(torch::data::make_data_loader(CustomDataset(10).map(torch::data::transforms::Stack<>()),
                                           torch::data::samplers::DistributedRandomSampler(10, 1, 0, false), as_long)),
      expected);

  int count = 0;
  auto texts = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(TextDataset(), 2);
  for (auto batch : *texts) {
    for (auto& example : batch) {
      EXPECT_EQ(example.data, std::to_string(count));
      EXPECT_EQ(example.target, count++);
    }
  }
  EXPECT_EQ(count, 5);
  EXPECT_THROW(torch::data::make_data_loader(CustomDataset(10), -1), c10::ValueError);
  auto failing = torch::data::make_data_loader(
      CustomDataset(4).map(torch::data::transforms::Lambda<torch::data::Example<>>(
          [](torch::data::Example<>) -> torch::data::Example<> { throw std::runtime_error("broken"); })),
      torch::data::DataLoaderOptions(2).workers(1));
  try {
    for (auto& batch : *failing) (void)batch;
    FAIL();
  } catch (const torch::data::WorkerException& e) {
    EXPECT_NE(std::string(e.what()).find("broken"), std::string::npos);
  }
}

// --- a generator and a discriminator that learn from each other, with checkpoints ---

constexpr int64_t kNoiseSize = 6;

struct GeneratorImpl : torch::nn::Module {
  explicit GeneratorImpl(int size)
      : fc1(torch::nn::LinearOptions(size, 16).bias(false)),
        batch_norm1(16),
        fc2(torch::nn::LinearOptions(16, 64).bias(false)) {
    register_module("fc1", fc1);
    register_module("batch_norm1", batch_norm1);
    register_module("fc2", fc2);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(batch_norm1(fc1(x)));
    return torch::tanh(fc2(x)).view({-1, 1, 8, 8});
  }
  torch::nn::Linear fc1;
  torch::nn::BatchNorm1d batch_norm1;
  torch::nn::Linear fc2;
};
TORCH_MODULE(Generator);

TEST(ExamplePrograms, Adversaries) {
  torch::manual_seed(2);
  const torch::Device device(torch::kCPU);
  Generator generator(kNoiseSize);
  generator->to(device);
  torch::nn::Sequential discriminator(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 4).stride(2).padding(1).bias(false)),
      torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.2)),
      torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 8, 4).stride(2).padding(1).bias(false)), torch::nn::BatchNorm2d(8),
      torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.2)),
      torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 1, 2).stride(1).padding(0).bias(false)), torch::nn::Sigmoid());
  discriminator->to(device);

  struct Pictures : torch::data::datasets::Dataset<Pictures> {
    torch::data::Example<> get(size_t index) override {
      return {torch::full({1, 8, 8}, 0.5), torch::tensor(int64_t(index))};
    }
    torch::optional<size_t> size() const override { return 12; }
  };
  auto dataset = Pictures().map(torch::data::transforms::Normalize<>(0.5, 0.5)).map(torch::data::transforms::Stack<>());
  auto data_loader =
      torch::data::make_data_loader(std::move(dataset), torch::data::DataLoaderOptions().batch_size(4).workers(2));

  torch::optim::Adam generator_optimizer(generator->parameters(),
                                         torch::optim::AdamOptions(2e-4).betas(std::make_tuple(0.5, 0.999)));
  torch::optim::Adam discriminator_optimizer(discriminator->parameters(),
                                             torch::optim::AdamOptions(2e-4).betas(std::make_tuple(0.5, 0.999)));
  int64_t batches = 0;
  for (int64_t epoch = 1; epoch <= 2; ++epoch) {
    for (const torch::data::Example<>& batch : *data_loader) {
      discriminator->zero_grad();
      auto real_images = batch.data.to(device);
      auto real_labels = torch::empty(batch.data.size(0), device).uniform_(0.8, 1.0);
      auto real_output = discriminator->forward(real_images).reshape(real_labels.sizes());
      auto d_loss_real = torch::binary_cross_entropy(real_output, real_labels);
      d_loss_real.backward();

      auto noise = torch::randn({batch.data.size(0), kNoiseSize}, device);
      auto fake_images = generator->forward(noise);
      auto fake_labels = torch::zeros(batch.data.size(0), device);
      auto fake_output = discriminator->forward(fake_images.detach()).reshape(fake_labels.sizes());
      auto d_loss_fake = torch::binary_cross_entropy(fake_output, fake_labels);
      d_loss_fake.backward();
      discriminator_optimizer.step();

      generator->zero_grad();
      fake_labels.fill_(1);
      fake_output = discriminator->forward(fake_images).reshape(fake_labels.sizes());
      auto g_loss = torch::binary_cross_entropy(fake_output, fake_labels);
      g_loss.backward();
      generator_optimizer.step();
      ASSERT_TRUE(std::isfinite((d_loss_real + d_loss_fake).item<float>() + g_loss.item<float>()));
      ++batches;
    }
  }
  EXPECT_EQ(batches, 6);

  const std::string folder = fresh_folder();
  torch::save(generator, folder + "/generator.pt");
  torch::save(generator_optimizer, folder + "/generator-optimizer.pt");
  torch::save(discriminator, folder + "/discriminator.pt");
  Generator again(kNoiseSize);
  torch::load(again, folder + "/generator.pt");
  torch::optim::Adam again_optimizer(again->parameters(), torch::optim::AdamOptions(2e-4));
  torch::load(again_optimizer, folder + "/generator-optimizer.pt");
  generator->eval(), again->eval();
  auto noise = torch::randn({3, kNoiseSize});
  EXPECT_TRUE(torch::equal(generator(noise), again(noise)));
}

}  // namespace
