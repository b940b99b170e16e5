// The thread contract: distinct models are free, inference on a shared one is safe. Also run under --config=tsan.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

torch::nn::Sequential make_net() {
  return torch::nn::Sequential(torch::nn::Linear(8, 32), torch::nn::Tanh(), torch::nn::Linear(32, 1));
}

// The loss after some steps on data of its own.
double train(torch::nn::Sequential net, const torch::Tensor& x, const torch::Tensor& y) {
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(1e-2));
  double loss_value = 0;
  for (int step = 0; step < 50; ++step) {
    optimizer.zero_grad();
    torch::Tensor loss = torch::mse_loss(net->forward(x), y);
    loss.backward();
    optimizer.step();
    loss_value = loss.item<double>();
  }
  return loss_value;
}

TEST(ThreadContract, TwoThreadsTrainSeparateModelsAsOneWould) {
  torch::manual_seed(3);
  auto first = make_net();
  auto second = make_net();
  auto first_again = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(first->clone());
  auto second_again = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(second->clone());
  const torch::Tensor x = torch::randn({64, 8});
  const torch::Tensor y = x.sum(1, true).sin();
  const double expected_first = train(torch::nn::Sequential(first_again), x, y);
  const double expected_second = train(torch::nn::Sequential(second_again), x, y);

  double got_first = 0;
  double got_second = 0;
  std::thread a([&] { got_first = train(first, x, y); });
  std::thread b([&] { got_second = train(second, x, y); });
  a.join();
  b.join();
  EXPECT_EQ(got_first, expected_first);
  EXPECT_EQ(got_second, expected_second);
}

TEST(ThreadContract, TenThreadsRunInferenceOnOneModel) {
  torch::manual_seed(4);
  auto net = make_net();
  net->eval();
  const torch::Tensor x = torch::randn({128, 8});
  torch::Tensor expected;
  {
    const torch::NoGradGuard no_grad;
    expected = net->forward(x);
  }
  std::vector<int> wrong(10);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const torch::NoGradGuard no_grad;
      for (int i = 0; i < 20; ++i) wrong[t] += !torch::equal(net->forward(x), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(10, 0));
}

TEST(ThreadContract, AForkedChildComputes) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "TSan starts no threads in a forked child";
#endif
#endif
  torch::set_num_threads(3);
  torch::manual_seed(5);
  const torch::Tensor a = torch::randn({300, 300}), image = torch::randn({2, 3, 64, 64}), weight = torch::randn({8, 3, 3, 3});
  const torch::Tensor half = a.to(torch::kBFloat16);
  const torch::Tensor product = a.matmul(a), half_product = half.matmul(half), convolved = torch::conv2d(image, weight);
  const torch::Tensor long_sum = torch::ones({1 << 20}).cumsum(0);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) torch::randn({256, 256}).matmul(a.slice(0, 0, 256)).sum();
  });
  for (int round = 0; round < 10; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      bool good = torch::allclose(a.matmul(a), product, 1e-4, 1e-3) && torch::allclose(torch::conv2d(image, weight), convolved, 1e-4, 1e-3);
      good = good && torch::allclose(half.matmul(half).to(torch::kFloat), half_product.to(torch::kFloat), 1e-1, 1e-1);
      good = good && torch::equal(torch::ones({1 << 20}).cumsum(0), long_sum);
      const torch::Tensor x = torch::randn({64, 8});
      good = good && train(make_net(), x, x.sum(1, true).sin()) < 10;
      _exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << round;
  }
  stop = true;
  other.join();
  EXPECT_TRUE(torch::allclose(a.matmul(a), product, 1e-4, 1e-3));
}

}  // namespace
