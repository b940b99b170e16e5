#include "examples/common/digits.h"

#include <absl/flags/flag.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <vector>

#include "examples/common/flags.h"

ABSL_FLAG(std::string, data, "mnist", "folder with the MNIST files; without them the program draws digits of its own");
ABSL_FLAG(int64_t, images, 0, "training images to take (0: all)");

namespace examples {
namespace {

constexpr int64_t kSide = 28;

struct Point {
  double x, y;
};
using Stroke = std::vector<Point>;

// Part of an ellipse; angles in degrees, clockwise from the right, as y points down.
Stroke arc(double x, double y, double rx, double ry, double from, double to) {
  Stroke stroke;
  for (int i = 0; i <= 12; ++i) {
    const double a = (from + (to - from) * i / 12) * 3.14159265358979 / 180;
    stroke.push_back({x + rx * std::cos(a), y + ry * std::sin(a)});
  }
  return stroke;
}

// The strokes of the ten digits around (0, 0), y from -1 (above) to 1.
const std::vector<std::vector<Stroke>>& strokes() {
  static const std::vector<std::vector<Stroke>> all = {
      {arc(0, 0, 0.6, 1, 0, 360)},
      {{{-0.35, -0.6}, {0.05, -1}, {0.05, 1}}},
      {arc(0, -0.45, 0.55, 0.55, 180, 380), {{0.5, -0.25}, {-0.6, 1}, {0.65, 1}}},
      {arc(-0.05, -0.5, 0.55, 0.5, 200, 450), arc(-0.05, 0.5, 0.6, 0.5, 270, 520)},
      {{{0.15, -1}, {-0.6, 0.3}, {0.65, 0.3}}, {{0.35, -0.3}, {0.35, 1}}},
      {{{0.55, -1}, {-0.4, -1}, {-0.45, -0.15}}, arc(-0.05, 0.4, 0.6, 0.6, 225, 500)},
      {{{0.35, -1}, {-0.25, -0.4}, {-0.55, 0.4}}, arc(0, 0.45, 0.55, 0.55, 0, 360)},
      {{{-0.6, -1}, {0.6, -1}, {-0.1, 1}}},
      {arc(0, -0.5, 0.5, 0.5, 0, 360), arc(0, 0.5, 0.58, 0.5, 0, 360)},
      {arc(0, -0.45, 0.55, 0.55, 0, 360), {{0.55, -0.45}, {0.45, 0.3}, {0.15, 1}}},
  };
  return all;
}

double distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double along = std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / (dx * dx + dy * dy + 1e-12), 0.0, 1.0);
  return std::hypot(p.x - a.x - along * dx, p.y - a.y - along * dy);
}

void draw(int64_t digit, std::mt19937_64& random, float* pixels) {
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  const double turn = between(-0.25, 0.25), slant = between(-0.3, 0.3), width = between(6, 9), height = between(7, 10);
  const double x0 = kSide / 2.0 + between(-2, 2), y0 = kSide / 2.0 + between(-1.5, 1.5), thick = between(0.8, 1.7);
  for (const Stroke& stroke : strokes()[static_cast<size_t>(digit)]) {
    Stroke placed;
    for (const Point& p : stroke) {
      const double x = (p.x - slant * p.y) * width + between(-0.3, 0.3), y = p.y * height + between(-0.3, 0.3);
      placed.push_back({x0 + x * std::cos(turn) - y * std::sin(turn), y0 + x * std::sin(turn) + y * std::cos(turn)});
    }
    for (int64_t i = 0; i < kSide * kSide; ++i) {
      const Point p{static_cast<double>(i % kSide) + 0.5, static_cast<double>(i / kSide) + 0.5};
      double nearest = 1e9;
      for (size_t k = 1; k < placed.size(); ++k) nearest = std::min(nearest, distance(p, placed[k - 1], placed[k]));
      pixels[i] = std::max(pixels[i], static_cast<float>(std::clamp(thick + 0.5 - nearest, 0.0, 1.0)));
    }
  }
}

bool has_file(const std::filesystem::path& folder, const std::string& name) {
  return std::filesystem::exists(folder / name) || std::filesystem::exists(folder / (name + ".gz"));
}

}  // namespace

Digits draw_digits(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  torch::Tensor images = torch::zeros({count, 1, kSide, kSide}), targets = torch::empty({count}, torch::kLong);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t digit = static_cast<int64_t>(random() % 10);
    targets.data_ptr<int64_t>()[i] = digit;
    draw(digit, random, images.data_ptr<float>() + i * kSide * kSide);
  }
  return {images, targets};
}

DigitSets load_digits() {
  using torch::data::datasets::MNIST;
  const std::filesystem::path folder = user_path(absl::GetFlag(FLAGS_data));
  DigitSets sets;
  std::string what = "MNIST";
  if (!has_file(folder, "t10k-images-idx3-ubyte")) {
    what = "drawn digits (no MNIST in " + folder.string() + ": --data=DIR names a folder with it)";
    sets = {draw_digits(9000, 1), draw_digits(1000, 2)};
  } else {
    const MNIST test(folder.string(), MNIST::Mode::kTest);
    sets.test = {test.images(), test.targets()};
    if (has_file(folder, "train-images-idx3-ubyte")) {
      const MNIST train(folder.string(), MNIST::Mode::kTrain);
      sets.train = {train.images(), train.targets()};
    } else {
      const int64_t n = test.images().size(0), split = n - n / 10;
      sets.train = {test.images().slice(0, 0, split), test.targets().slice(0, 0, split)};
      sets.test = {test.images().slice(0, split), test.targets().slice(0, split)};
    }
  }
  const int64_t wanted = absl::GetFlag(FLAGS_images);
  if (wanted < 0) fail("--images must not be negative");
  if (wanted > 0) sets.train = {sets.train.images.slice(0, 0, wanted), sets.train.targets.slice(0, 0, wanted)};
  if (*sets.train.size() == 0 || *sets.test.size() == 0) fail("there are no images in " + folder.string());
  std::printf("%s: %zu to train on, %zu to test on\n", what.c_str(), *sets.train.size(), *sets.test.size());
  return sets;
}

}  // namespace examples
