#include "utils/serialize/optimizer_archive.h"

#include "utils/serialize/file_error.h"

namespace torch::optim {

void Optimizer::save(serialize::OutputArchive& archive) const { serialize::write_state(archive, state_dict()); }

void Optimizer::load(serialize::InputArchive& archive) { load_state_dict(serialize::read_state(archive)); }

}  // namespace torch::optim

namespace torch::serialize {

void write_state(OutputArchive& archive, const optim::StateDict& state) {
  for (const auto& [name, tensor] : state.tensors) archive.write(name, tensor);
  for (const auto& [name, scalar] : state.scalars) {
    if (scalar.isBoolean()) {
      archive.write(name, scalar.to<bool>());
    } else if (scalar.isIntegral(/*includeBool=*/false)) {
      archive.write(name, scalar.to<int64_t>());
    } else {
      TORCH_CHECK_TYPE(scalar.isFloatingPoint(), "archive: the number '", name, "' is complex");
      archive.write(name, scalar.to<double>());
    }
  }
}

optim::StateDict read_state(const InputArchive& archive) {
  optim::StateDict state;
  for (std::string& name : archive.tensor_names()) {
    at::Tensor tensor;
    archive.read(name, tensor);
    state.tensors.emplace_back(std::move(name), std::move(tensor));
  }
  for (auto& [name, kind] : archive.value_names()) {
    if (kind == 'b') {
      bool value;
      archive.read(name, value);
      state.scalars.emplace_back(std::move(name), value);
    } else if (kind == 'i') {
      int64_t value;
      archive.read(name, value);
      state.scalars.emplace_back(std::move(name), value);
    } else if (kind == 'f') {
      double value;
      archive.read(name, value);
      state.scalars.emplace_back(std::move(name), value);
    } else if (kind != 'a') {
      throw_format_error(c10::str("archive: '", name, "' is not a number"));
    }
  }
  return state;
}

OutputArchive& operator<<(OutputArchive& archive, const optim::Optimizer& optimizer) {
  optimizer.save(archive);
  return archive;
}

InputArchive& operator>>(InputArchive& archive, optim::Optimizer& optimizer) {
  optimizer.load(archive);
  return archive;
}

}  // namespace torch::serialize
