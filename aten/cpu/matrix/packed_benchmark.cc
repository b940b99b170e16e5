// Prints the times of layers with packed weights, of networks that everybody knows, and their share of the multiply-add
// peak measured in the same run.
//
//   bazel run //aten/cpu/matrix:packed_benchmark -- [threads]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "aten/cpu/matrix/fma_peak.h"
#include "aten/cpu/matrix/packed_convolution.h"
#include "aten/cpu/matrix/packed_depthwise.h"
#include "aten/cpu/matrix/packed_product.h"
#include "aten/cpu/matrix/packed_winograd.h"
#include "c10/parallel/parallel.h"

namespace {

using at::matrix::Convolution;

template <class F>
double best_seconds(const F& f) {
  using Clock = std::chrono::steady_clock;
  f();
  double best = 1e30;
  for (const auto begin = Clock::now(); Clock::now() - begin < std::chrono::milliseconds(200);) {
    const auto start = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

struct Shape {
  int64_t in, out, size, kernel, stride, groups, times;
};

// Of ResNet-18 and MobileNetV2, images of 224 x 224; how often each occurs.
constexpr Shape kResNet[] = {{3, 64, 224, 7, 2, 1, 1},   {64, 64, 56, 3, 1, 1, 4},   {64, 128, 56, 3, 2, 1, 1},
                             {64, 128, 56, 1, 2, 1, 1},  {128, 128, 28, 3, 1, 1, 3}, {128, 256, 28, 3, 2, 1, 1},
                             {128, 256, 28, 1, 2, 1, 1}, {256, 256, 14, 3, 1, 1, 3}, {256, 512, 14, 3, 2, 1, 1},
                             {256, 512, 14, 1, 2, 1, 1}, {512, 512, 7, 3, 1, 1, 3}};
constexpr Shape kMobileNet[] = {
    {3, 32, 224, 3, 2, 1, 1},     {32, 32, 112, 3, 1, 32, 1},   {32, 16, 112, 1, 1, 1, 1},
    {16, 96, 112, 1, 1, 1, 1},    {96, 96, 112, 3, 2, 96, 1},   {96, 24, 56, 1, 1, 1, 1},
    {24, 144, 56, 1, 1, 1, 2},    {144, 144, 56, 3, 1, 144, 1}, {144, 24, 56, 1, 1, 1, 1},
    {144, 144, 56, 3, 2, 144, 1}, {144, 32, 28, 1, 1, 1, 1},    {32, 192, 28, 1, 1, 1, 3},
    {192, 192, 28, 3, 1, 192, 2}, {192, 32, 28, 1, 1, 1, 2},    {192, 192, 28, 3, 2, 192, 1},
    {192, 64, 14, 1, 1, 1, 1},    {64, 384, 14, 1, 1, 1, 4},    {384, 384, 14, 3, 1, 384, 4},
    {384, 64, 14, 1, 1, 1, 3},    {384, 96, 14, 1, 1, 1, 1},    {96, 576, 14, 1, 1, 1, 3},
    {576, 576, 14, 3, 1, 576, 2}, {576, 96, 14, 1, 1, 1, 2},    {576, 576, 14, 3, 2, 576, 1},
    {576, 160, 7, 1, 1, 1, 1},    {160, 960, 7, 1, 1, 1, 3},    {960, 960, 7, 3, 1, 960, 3},
    {960, 160, 7, 1, 1, 1, 2},    {960, 320, 7, 1, 1, 1, 1},    {320, 1280, 7, 1, 1, 1, 1}};

template <size_t N>
void print(const char* name, const Shape (&shapes)[N], double peak) {
  std::printf("%s\n%24s %8s %10s %8s %8s\n", name, "in-out size kernel/stride", "times", "us", "of peak",
              "winograd us");
  double total = 0, best_total = 0;
  for (const Shape& s : shapes) {
    Convolution c;
    c.channels_last = true;
    c.batch = 1, c.in_channels = s.in, c.out_channels = s.out, c.groups = s.groups;
    for (int d = 1; d < 3; ++d) {
      c.kernel[d] = s.kernel, c.stride[d] = s.stride, c.padding[d] = s.kernel / 2;
      c.input[d] = s.size, c.output[d] = (s.size + 2 * c.padding[d] - s.kernel) / s.stride + 1;
    }
    const auto floats = [](int64_t n) {
      at::matrix::internal::Floats all(n + 1);
      std::fill(all.data(), all.data() + n, 0.01f);
      return all;
    };
    const int64_t places = c.output[1] * c.output[2], terms = s.in / s.groups * s.kernel * s.kernel;
    const auto input = floats(s.size * s.size * s.in), weight = floats(s.out * terms), bias = floats(s.out);
    const auto output = floats(places * s.out);
    const auto scratch =
        floats(at::matrix::PackedConvolution::scratch_floats(c) + at::matrix::PackedWinograd::scratch_floats(c));
    double seconds, winograd = 0;
    const auto time = [&](const auto& layer, auto... more) {
      return best_seconds([&] { layer.run(c, input.data(), nullptr, 0, INFINITY, output.data(), more...); });
    };
    if (s.groups > 1) {
      seconds = time(at::matrix::PackedDepthwise(c, weight.data(), bias.data()));
    } else if (s.kernel == 1 && s.stride == 1) {
      const at::matrix::PackedProduct<float> layer(s.out, s.in, weight.data(), nullptr, bias.data());
      seconds = best_seconds([&] { layer.run(places, input.data(), nullptr, 0, INFINITY, output.data()); });
    } else {
      seconds = time(at::matrix::PackedConvolution(c, weight.data(), bias.data()), scratch.data());
    }
    if (at::matrix::PackedWinograd::refusal(c) == nullptr) {
      winograd = time(at::matrix::PackedWinograd(c, weight.data(), bias.data()), scratch.data());
    }
    const double share = 2 * static_cast<double>(places * s.out * terms) / seconds / peak;
    std::printf("%5ld-%-5ld %4ld %ld/%ld %s %6ld %10.1f %7.1f%%", s.in, s.out, s.size, s.kernel, s.stride,
                s.groups > 1 ? "each" : "    ", s.times, seconds * 1e6, share * 100);
    if (winograd > 0) std::printf(" %10.1f%s", winograd * 1e6, at::matrix::PackedWinograd::is_worth(c) ? " *" : "");
    std::printf("\n");
    total += seconds * static_cast<double>(s.times);
    best_total += (winograd > 0 && winograd < seconds ? winograd : seconds) * static_cast<double>(s.times);
  }
  std::printf("all: %.2f ms, with the faster of both %.2f ms\n\n", total * 1e3, best_total * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  at::set_num_threads(threads);
  const double peak = 1e9 * at::matrix::fma_peak_gflops(at::matrix::Type::kFloat32, threads);
  std::printf("peak %.1f GFLOP/s on %d threads\n", peak * 1e-9, threads);
  print("ResNet-18", kResNet, peak);
  print("MobileNetV2", kMobileNet, peak);
}
