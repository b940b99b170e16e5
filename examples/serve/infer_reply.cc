#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "aten/core/tensor.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"
#include "examples/serve/infer_request.h"

namespace serve {
namespace {

template <class T>
void append_number(std::string& out, T value) {
  char buffer[32];
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
    return;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) {
      out += "null";
      return;
    }
    // Readers take -0 for a whole number, which has no sign.
    if (value == 0 && std::signbit(value)) {
      out += "-0.0";
      return;
    }
    // The shortest text that gives the same number back.
    out.append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
  } else if constexpr (std::is_integral_v<T>) {
    out.append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
  } else {
    append_number(out, static_cast<float>(value));
  }
}

template <class T>
void append_numbers(std::string& out, const at::Tensor& tensor) {
  const T* data = tensor.data_ptr<T>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (i > 0) out += ',';
    append_number(out, data[i]);
  }
}

void append_data(std::string& out, const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case c10::ScalarType::Bool:
      return append_numbers<bool>(out, tensor);
    case c10::ScalarType::Byte:
      return append_numbers<uint8_t>(out, tensor);
    case c10::ScalarType::UInt16:
      return append_numbers<uint16_t>(out, tensor);
    case c10::ScalarType::UInt32:
      return append_numbers<uint32_t>(out, tensor);
    case c10::ScalarType::UInt64:
      return append_numbers<uint64_t>(out, tensor);
    case c10::ScalarType::Char:
      return append_numbers<int8_t>(out, tensor);
    case c10::ScalarType::Short:
      return append_numbers<int16_t>(out, tensor);
    case c10::ScalarType::Int:
      return append_numbers<int32_t>(out, tensor);
    case c10::ScalarType::Long:
      return append_numbers<int64_t>(out, tensor);
    case c10::ScalarType::Half:
      return append_numbers<c10::Half>(out, tensor);
    case c10::ScalarType::BFloat16:
      return append_numbers<c10::BFloat16>(out, tensor);
    case c10::ScalarType::Float:
      return append_numbers<float>(out, tensor);
    case c10::ScalarType::Double:
      return append_numbers<double>(out, tensor);
    default:
      throw std::runtime_error("no numbers");
  }
}

}  // namespace

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Payload write_infer_reply(const InferReply& reply) {
  Payload out;
  std::string& text = out.bytes;
  text = "{\"model_name\":" + json_text(reply.model) + ",\"model_version\":\"1\"";
  if (!reply.id.empty()) text += ",\"id\":" + json_text(reply.id);
  text += ",\"outputs\":[";
  std::vector<at::Tensor> binary;
  for (size_t i = 0; i < reply.outputs.size(); ++i) {
    const NamedTensor& output = reply.outputs[i];
    const at::Tensor& given = output.tensor;
    const std::string_view datatype = given.defined() ? datatype_of(given.scalar_type()) : std::string_view();
    if (datatype.empty() || given.layout() != c10::Layout::Strided || !given.device().is_cpu()) {
      throw std::runtime_error("output '" + output.name + "' is of a kind that the protocol has no form for");
    }
    const at::Tensor tensor = given.contiguous();
    if (i > 0) text += ',';
    text += "{\"name\":" + json_text(output.name) + ",\"datatype\":\"" + std::string(datatype) + "\",\"shape\":[";
    for (int64_t d = 0; d < tensor.dim(); ++d) {
      if (d > 0) text += ',';
      append_number(text, tensor.sizes()[d]);
    }
    if (reply.binary.at(i)) {
      text += "],\"parameters\":{\"binary_data_size\":" + std::to_string(tensor.nbytes()) + "}}";
      binary.push_back(tensor);
    } else {
      text += "],\"data\":[";
      append_data(text, tensor);
      text += "]}";
    }
  }
  text += "]}";
  if (binary.empty()) return out;
  out.json_bytes = text.size();
  for (const at::Tensor& tensor : binary) {
    text.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  }
  return out;
}

}  // namespace serve
