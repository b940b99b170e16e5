// How tensors are written: by Python's repr(), with its options, and by operator<<.
#include <sstream>

#include "aten/core/printing.h"
#include "aten/core/tensor_literal.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/nested.h"
#include "c10/core/default_dtype.h"
#include "tests/recorded/families.h"
#include "utils/repr/repr.h"

namespace recorded {
namespace {

using at::Tensor;

std::string name_of(const Json& one) {
  const std::string id = one.at("id");
  return id.substr(id.find('/') + 1);
}

torch::PrintOptions options_of(const Json& c) {
  torch::PrintOptions options = torch::PrintOptions::profile(text_of(c, "profile", "default"));
  options.precision = static_cast<int>(integer_of(c, "precision", options.precision));
  options.threshold = integer_of(c, "threshold", options.threshold);
  options.edgeitems = integer_of(c, "edgeitems", options.edgeitems);
  options.linewidth = integer_of(c, "linewidth", options.linewidth);
  if (has(c, "sci_mode")) options.sci_mode = c.at("sci_mode").get<bool>();
  return options;
}

// Recorded values have no history; what the text names of it is made here.
Tensor with_history(const std::string& name, const Tensor& value) {
  if (name == "requires grad" || name == "parameter") return at::clone(value).set_requires_grad(true);
  if (name == "grad_fn") return at::mul(at::div(value, 2).set_requires_grad(true), at::full({}, 2, value.options()));
  if (name == "grad_fn view") return at::t(at::clone(at::t(value)).set_requires_grad(true));
  return value;
}

Tensor tensor_of(const Json& one, Check& check) {
  const std::string name = name_of(one);
  if (has(one, "value") && !one.at("value").contains("sparse_coo"))
    return with_history(name, check.recordings().tensor(one.at("value")));
  if (has(one, "value")) {
    const Json& sparse = one.at("value").at("sparse_coo");
    return at::sparse_coo_tensor(check.recordings().tensor(sparse.at("indices")), check.recordings().tensor(sparse.at("values")),
                                 sparse.at("size").get<std::vector<int64_t>>(), at::TensorOptions(),
                                 sparse.at("coalesced").get<bool>());
  }
  if (name == "sparse csr") return at::to_sparse_csr(at::eye(2, at::TensorOptions(at::kFloat)));
  if (name == "nested") return torch::nested::nested_tensor({torch::tensor({1., 1.}), torch::tensor({0., 0., 0.})});
  if (name == "quantized") return at::quantize_per_tensor(torch::tensor({0., 1., 2.5}), 0.5, 10, at::kQUInt8);
  if (name == "meta") return at::empty({2, 3}, at::TensorOptions(at::kFloat).device(at::kMeta));
  if (name.rfind("torch.float8", 0) == 0)
    return at::to(torch::tensor({0.5, -1.5, 2.0}), name == "torch.float8_e5m2" ? at::kFloat8_e5m2 : at::kFloat8_e4m3fn);
  return {};
}

std::string other(const std::string& name) {
  if (name == "torch.Size([2, 3])") return torch::repr(at::IntArrayRef({2, 3}));
  if (name == "torch.Size([])") return torch::repr(at::IntArrayRef());
  if (name == "torch.float32") return torch::repr(at::kFloat);
  if (name == "torch.device('cuda', 1)") return torch::repr(at::Device(at::kCUDA, 1));
  if (name == "torch.device('cpu')") return torch::repr(at::Device(at::kCPU));
  if (name == "torch.strided") return torch::repr(at::kStrided);
  if (name == "torch.channels_last") return torch::repr(at::MemoryFormat::ChannelsLast);
  if (name == "str(device cuda:1)") return at::Device(at::kCUDA, 1).str();
  return "";
}

std::string number_of_digits(double value, int digits) {
  std::ostringstream stream;
  stream.precision(digits);
  stream << value;
  return stream.str();
}

class DefaultDtype {
 public:
  explicit DefaultDtype(at::ScalarType type) : before_(c10::get_default_dtype_as_scalartype()) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(type));
  }
  ~DefaultDtype() { c10::set_default_dtype(c10::scalarTypeToTypeMeta(before_)); }

 private:
  at::ScalarType before_;
};

}  // namespace

void replay_printing(const Json& one, Check& check) {
  if (one.at("id") == "others") {
    for (const Json& row : one.at("rows")) {
      const std::string name = row.at(0);
      // C++ has std::numeric_limits for these.
      if (name.rfind("finfo", 0) == 0 || name.rfind("iinfo", 0) == 0) continue;
      check.equal(name, other(name), row.at(1));
    }
    return;
  }
  const Tensor t = tensor_of(one, check);
  if (!t.defined()) return check.skip("no tensor like " + name_of(one) + " here");
  std::string python = one.at("python");
  const std::string parameter = "Parameter containing:\n";
  if (python.rfind(parameter, 0) == 0) python.erase(0, parameter.size());
  const bool other_default = one.at("id").get<std::string>().rfind("default dtype/", 0) == 0;
  {
    const DefaultDtype default_dtype(other_default ? at::kDouble : at::kFloat);
    check.equal("repr", torch::repr(t, options_of(one.at("options"))), python);
  }
  // The recorded form of complex tensors shows their real parts only; both are shown here.
  if (!has(one, "cpp") || t.is_complex()) return;
  // The recording stream shows numbers that stand alone with as many digits as they need.
  std::ostringstream stream;
  stream.precision(17);
  if (t.dim() == 0 && t.is_floating_point()) {
    const double value = t.item().toDouble();
    int digits = 1;
    while (digits < 17 && std::stod(number_of_digits(value, digits)) != value) ++digits;
    stream.precision(digits);
  }
  stream << t;
  check.equal("stream form", stream.str(), one.at("cpp"));
}

}  // namespace recorded
