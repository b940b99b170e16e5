// What programs do with modules from files, as libtorch's tutorials and deployments write it.
#include <torch/script.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

void run() {
  torch::jit::getProfilingMode() = false;
  torch::jit::setGraphExecutorOptimize(true);
  torch::jit::FusionStrategy strategy = {{torch::jit::FusionBehavior::DYNAMIC, 4}};
  torch::jit::setFusionStrategy(strategy);

  torch::jit::script::Module made("__torch__.Net");
  made.register_parameter("weight", torch::full({2, 3}, 0.5), false);
  made.register_buffer("mean", torch::ones({3}));
  made.register_attribute("training", c10::BoolType::get(), true);
  made.define(R"(
    def forward(self, x):
      y = torch.linear(x - self.mean, self.weight)
      return y, [y.sum(), y.max()]
    def labels(self, n: int) -> List[str]:
      return [str(i) for i in range(n)]
  )");
  std::stringstream file;
  made.save(file);

  torch::jit::script::Module module;
  try {
    module = torch::jit::load(file, torch::kCPU);
  } catch (const c10::Error& e) {
    std::cerr << "error loading the model\n";
    throw;
  }
  module.eval();
  module.to(at::kCPU);
  std::vector<torch::jit::IValue> inputs;
  inputs.push_back(torch::full({1, 3}, 3));
  const torch::NoGradGuard no_grad;
  const auto outputs = module.forward(inputs).toTuple();
  std::cout << outputs->elements()[0].toTensor() << "\n";
  for (const auto& one : outputs->elements()[1].toTensorList()) std::cout << one.get().toTensor().item<float>() << " ";
  std::cout << "\n" << module.get_method("labels")({3}).toList().size() << " labels\n";
  for (const auto& parameter : module.named_parameters())
    std::cout << parameter.name << " " << parameter.value.sizes() << "\n";
  for (const auto& buffer : module.named_buffers(/*recurse=*/true)) std::cout << buffer.name << "\n";
  if (module.hasattr("training")) std::cout << "training " << module.attr("training").toBool() << "\n";
  if (auto method = module.find_method("labels")) std::cout << method->function().getSchema() << "\n";
  torch::jit::Module frozen = torch::jit::optimize_for_inference(module);
  std::cout << frozen.forward({torch::zeros({1, 3})}).toTuple()->elements()[0].toTensor() << "\n";
  REFUSED(module.get_method("nothing"));
}

}  // namespace

KINDLING_PROGRAM(script_modules, run);
