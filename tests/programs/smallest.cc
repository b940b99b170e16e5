// The smallest program that runs a model compiled ahead of time, for tests/budgets: KINDLING_PROGRAM_HEADER, _CLASS.
// Its weights come from the file that it is given.
#include KINDLING_PROGRAM_HEADER

#include <cstddef>

namespace {

using Program = KINDLING_PROGRAM_CLASS;

template <size_t N>
constexpr size_t count(const std::array<int64_t, N>& sizes) {
  size_t n = 1;
  for (const int64_t size : sizes) n *= static_cast<size_t>(size);
  return n;
}

alignas(64) float input[count(Program::arg_sizes())];
alignas(64) float output[count(Program::output_sizes())];

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Program program(Program::share(torch::aot::Weights::map(argv[1])));
  program.run({input}, {output});
  return output[0] == output[0] ? 0 : 1;
}
