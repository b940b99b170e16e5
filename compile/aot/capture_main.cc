// Writes the model that make_model() gives: `program OUTPUT.pt2`.
#include <cstdio>
#include <exception>

#include "c10/util/exception.h"
#include "compile/aot/capture.h"
#include "export/pt2/pt2.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "expected the path of the model to write\n");
    return 2;
  }
  try {
    torch::save_exported(torch::make_model(), argv[1]);
    return 0;
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "%s\n", error.what_without_backtrace());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
