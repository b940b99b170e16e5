#include "tests/recorded/check.h"

#include <cmath>

#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "tests/conformance/compare.h"

namespace recorded {
namespace {

using at::Tensor;

Tensor dense(const Recordings& recordings, const Json& coo) {
  const std::vector<int64_t> size = coo.at("size");
  const Tensor indices = recordings.tensor(coo.at("indices")), values = recordings.tensor(coo.at("values"));
  Tensor all = at::zeros(size, values.options());
  c10::List<std::optional<Tensor>> at_each;
  for (int64_t d = 0; d < indices.size(0); ++d) at_each.push_back(at::select(indices, 0, d));
  return at::index_put_(all, at_each, values, /*accumulate=*/true);
}

}  // namespace

void Check::fail(const std::string& what) {
  std::string line;
  for (const std::string& scope : scopes_) line += scope + ": ";
  failures_.push_back(line + what);
}

void Check::equal(const std::string& what, const Json& got, const Json& recorded) {
  if (got != recorded) fail(what + " is " + got.dump() + ", recorded " + recorded.dump());
}

void Check::number(const std::string& what, double got, const Json& recorded, double tolerance) {
  const double wanted = conformance::number(recorded);
  if (got == wanted || (std::isnan(got) && std::isnan(wanted))) return;
  if (!(std::abs(got - wanted) <= tolerance * std::max(1.0, std::abs(wanted))))
    fail(what + " is " + Json(got).dump() + ", recorded " + recorded.dump());
}

void Check::tensor(const std::string& what, const Tensor& found, const Json& recorded, double factor) {
  // By its elements, wherever they stand.
  const Tensor got = found.defined() && found.is_sparse() ? found.to_dense() : found;
  if (recorded.is_null()) return expect(!got.defined(), what + " is defined, recorded is none");
  if (!got.defined()) return fail(what + " is undefined");
  const Tensor wanted =
      recorded.contains("sparse_coo") ? dense(recordings_, recorded.at("sparse_coo")) : recordings_.tensor(recorded);
  if (const auto difference = conformance::difference(got, wanted, factor)) fail(what + " " + difference->text());
}

void Check::then(const Json& recorded) {
  // randint draws 64 bits and takes them modulo 2^30.
  auto* generator = at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator());
  for (const Json& next : recorded) equal("then", generator->random64() % (uint64_t{1} << 30), next);
}

void Check::gradients(const std::vector<Tensor>& results, const std::vector<Tensor>& leaves,
                      const std::vector<std::string>& names, const std::vector<Json>& recorded, double factor) {
  if (recorded.size() != leaves.size())
    return fail(std::to_string(leaves.size()) + " gradients, recorded " + std::to_string(recorded.size()));
  std::vector<Tensor> differentiable, cotangents;
  for (const Tensor& result : results) {
    if (!result.defined() || !result.requires_grad()) continue;
    cotangents.push_back(cotangent(result, static_cast<int64_t>(differentiable.size())));
    differentiable.push_back(result);
  }
  if (leaves.empty()) return;
  std::vector<Tensor> gradients(leaves.size());
  if (!differentiable.empty())
    gradients = torch::autograd::grad(differentiable, leaves, cotangents, /*retain_graph=*/false,
                                      /*create_graph=*/false, /*allow_unused=*/true);
  for (size_t i = 0; i < leaves.size(); ++i) tensor("gradient of " + names[i], gradients[i], recorded[i], factor);
}

}  // namespace recorded
