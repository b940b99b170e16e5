// Writes a model of TorchScript as a .pt2 file: `program NET.pt OUTPUT.pt2 INPUT...` (compile/aot/script_model.h).
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "compile/aot/script_model.h"
#include "export/pt2/pt2.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "expected the path of the model, that of the program to write, and inputs\n");
    return 2;
  }
  try {
    const c10::NoGradGuard no_grad;
    torch::save_exported(torch::aot::export_script(argv[1], std::vector<std::string>(argv + 3, argv + argc)), argv[2]);
    return 0;
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.what_without_backtrace());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.what());
  }
  return 1;
}
