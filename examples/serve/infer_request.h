// Inference requests and replies as bytes: JSON of the Open Inference Protocol, and its binary tensor extension.
//
// A body is a JSON document. Where the header Inference-Header-Content-Length says how long that is, the elements of
// tensors with the parameter "binary_data_size" follow it in a row, little-endian, without gaps.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "examples/serve/tensor_spec.h"

namespace serve {

/// What the client did wrong: the HTTP status, and why.
class BadRequest : public std::runtime_error {
 public:
  BadRequest(int status, const std::string& why) : std::runtime_error(why), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

struct RequestedOutput {
  std::string name;
  std::optional<bool> binary;
};

struct InferRequest {
  std::string id;
  std::vector<NamedTensor> inputs;
  std::vector<RequestedOutput> outputs;  ///< empty: all
  bool binary_output = false;            ///< for outputs that do not say it themselves
  std::optional<std::chrono::microseconds> timeout;
};

/// `json_bytes`: how many of the body are JSON; nothing: all. Throws BadRequest, and std::bad_alloc where memory ends.
/// What it allocates is bounded by a small multiple of the body.
InferRequest parse_infer_request(std::string_view body, std::optional<size_t> json_bytes);

struct InferReply {
  std::string model, id;
  std::vector<NamedTensor> outputs;
  std::vector<bool> binary;  ///< one an output
};

struct Payload {
  std::string bytes;
  /// How many of them are JSON, where tensors follow.
  std::optional<size_t> json_bytes;
};

/// JSON has no NaN and no infinities: they become null there. Throws std::runtime_error for a tensor that the protocol
/// has no form for.
Payload write_infer_reply(const InferReply& reply);

/// A text as JSON writes it, with quotes; bytes that are no UTF-8 are replaced.
std::string json_text(const std::string& text);

}  // namespace serve
