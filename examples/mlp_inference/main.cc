// Runs a multi-layer perceptron whose weights come from a safetensors file: the smallest useful program.
//
//   ./bazelw run //examples/mlp_inference                                  # the weights beside this file: y = sin(x)
//   ./bazelw run //examples/mlp_inference -- net.safetensors 0.5 1.25      # another network, an input of two numbers
//
// The file holds what torch.nn.Sequential(Linear, ReLU, Linear, ..., Linear) saves: "0.weight" (outputs, inputs), "0.bias",
// "2.weight", "2.bias" and so on. Linked statically with --config=minimal this program is about a megabyte.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "aten/core/from_blob.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "c10/core/grad_mode.h"
#include "utils/serialize/safetensors.h"

namespace {

constexpr const char* kOwnWeights = "examples/mlp_inference/sine.safetensors";

struct Layer {
  at::Tensor weight, bias;
};

// The layers "0", "2", "4" ... of the file, checked to fit each other.
std::vector<Layer> load(const std::string& path) {
  const torch::safetensors::File file(path);
  std::vector<Layer> layers;
  for (int i = 0; file.contains(std::to_string(i) + ".weight"); i += 2) {
    Layer layer{file.get(std::to_string(i) + ".weight"), file.get(std::to_string(i) + ".bias")};
    const at::Tensor& w = layer.weight;
    TORCH_CHECK(w.dim() == 2 && w.scalar_type() == at::kFloat && layer.bias.scalar_type() == at::kFloat &&
                    layer.bias.dim() == 1 && layer.bias.size(0) == w.size(0),
                path, ": layer ", i, " has a weight of sizes ", w.sizes(), " and a bias of sizes ", layer.bias.sizes(),
                "; expected float32 (outputs, inputs) and (outputs)");
    TORCH_CHECK(layers.empty() || layers.back().weight.size(0) == w.size(1), path, ": layer ", i, " takes ", w.size(1),
                " features, the one before gives ", layers.back().weight.size(0));
    layers.push_back(std::move(layer));
  }
  TORCH_CHECK(!layers.empty(), path, " has no tensor \"0.weight\"");
  return layers;
}

at::Tensor forward(const std::vector<Layer>& layers, at::Tensor x) {
  for (size_t i = 0; i < layers.size(); ++i) {
    x = at::linear(x, layers[i].weight, layers[i].bias);
    if (i + 1 < layers.size()) x = at::relu(x);
  }
  return x;
}

// A decimal number: digits, a point, digits, perhaps "e" and an exponent. (strtof would be 3% of the static program.)
bool parse(const char* text, float* out) {
  const bool negative = *text == '-';
  if (negative) ++text;
  double value = 0, scale = 1;
  bool digits = false, point = false;
  for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); ++text) {
    if (*text == '.') {
      point = true;
      continue;
    }
    digits = true;
    value = value * 10 + (*text - '0');
    if (point) scale *= 10;
  }
  int exponent = 0;
  bool down = false;
  if (digits && (*text == 'e' || *text == 'E')) {
    ++text;
    down = *text == '-';
    if (*text == '-' || *text == '+') ++text;
    digits = *text != '\0';
    for (; *text >= '0' && *text <= '9' && exponent < 1000; ++text) exponent = exponent * 10 + (*text - '0');
  }
  value /= scale;
  for (; exponent > 0; --exponent) value = down ? value / 10 : value * 10;
  *out = static_cast<float>(negative ? -value : value);
  return digits && *text == '\0';
}

// Relative paths count from where `bazel run` was called.
std::string user_path(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  return path.empty() || path[0] == '/' || folder == nullptr ? path : std::string(folder) + "/" + path;
}

constexpr const char* kUsage =
    "mlp_inference [FILE.safetensors NUMBER...]\n"
    "\n"
    "Runs a multi-layer perceptron on the numbers: as many at a time as it takes, one line of results for each.\n"
    "Without arguments it runs the sine network that comes with it.\n"
    "  --help  print this and end\n";

void run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(kUsage, stdout);
      return;
    }
    TORCH_CHECK(argument.substr(0, 2) != "--", "unknown flag ", argument, " (--help says what there is)");
  }
  const c10::InferenceMode inference;
  const std::vector<Layer> layers = load(argc > 1 ? user_path(argv[1]) : kOwnWeights);
  const int64_t inputs = layers[0].weight.size(1), outputs = layers.back().weight.size(0);
  std::vector<float> values;
  for (int i = 2; i < argc; ++i) {
    float value;
    TORCH_CHECK(parse(argv[i], &value), "not a number: ", argv[i]);
    values.push_back(value);
  }
  if (argc <= 1) {
    for (int i = -6; i <= 6; ++i) values.push_back(static_cast<float>(i) * 0.5f);
  }
  const int64_t rows = static_cast<int64_t>(values.size()) / inputs;
  TORCH_CHECK(rows > 0 && rows * inputs == static_cast<int64_t>(values.size()), "the network takes ", inputs,
              " numbers at a time, ", values.size(), " were given");
  const at::Tensor y = forward(layers, at::from_blob(values.data(), {rows, inputs}));
  const float* p = y.data_ptr<float>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < inputs; ++i) std::printf("%g ", static_cast<double>(values[static_cast<size_t>(r * inputs + i)]));
    std::printf("->");
    for (int64_t o = 0; o < outputs; ++o) std::printf(" %.5f", static_cast<double>(p[r * outputs + o]));
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    const bool failed_before = std::ferror(stdout) != 0;
    TORCH_CHECK(std::fflush(stdout) == 0 && !failed_before, "cannot write to standard output: ", std::strerror(errno));
  } catch (const c10::Error& e) {
    std::fprintf(stderr, "mlp_inference: %s\n", e.what_without_backtrace());
    return 1;
  }
  return 0;
}
