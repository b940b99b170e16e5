// Records what libtorch prints for the modules of text_cases.inc, as expected_texts.inc:
//   g++ -std=c++17 record_texts.cc -ltorch -ltorch_cpu -lc10 -o record_texts && ./record_texts > expected_texts.inc
#include <torch/torch.h>

#include <iostream>

using namespace torch::nn;

int main() {
  std::cout << "// Written by record_texts.cc with libtorch " << TORCH_VERSION << "\n";
#define X(...) std::cout << "R\"TEXT(" << __VA_ARGS__ << ")TEXT\",\n";
#include "text_cases.inc"
#undef X
}
