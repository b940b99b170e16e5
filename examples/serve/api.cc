#include "examples/serve/api.h"

#include <algorithm>
#include <charconv>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "c10/util/exception.h"
#include "examples/serve/infer_request.h"
#include "examples/serve/page.h"

namespace serve {

using json = nlohmann::ordered_json;

namespace {

std::string shortened(std::string_view text) {
  constexpr size_t kLongest = 100;
  return std::string(text.substr(0, kLongest)) + (text.size() > kLongest ? "..." : "");
}

std::string names_of(const std::vector<TensorSpec>& specs) {
  if (specs.empty()) return "none";
  std::string text;
  for (const TensorSpec& spec : specs) text += (text.empty() ? "'" : ", '") + spec.name + "'";
  return text;
}

HttpReply json_reply(const json& document) {
  HttpReply reply;
  reply.body = document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  return reply;
}

HttpReply text_reply(std::string type, std::string body) {
  HttpReply reply;
  reply.type = std::move(type);
  reply.body = std::move(body);
  reply.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return reply;
}

json described(const std::vector<TensorSpec>& specs) {
  json out = json::array();
  for (const TensorSpec& spec : specs) {
    json one = {{"name", spec.name}};
    if (spec.dtype.has_value()) one["datatype"] = datatype_of(*spec.dtype);
    if (spec.sizes.has_value()) {
      json shape = json::array();
      for (const auto& size : *spec.sizes) shape.push_back(size.is_constant() ? size.value() : -1);
      one["shape"] = std::move(shape);
    }
    out.push_back(std::move(one));
  }
  return out;
}

json metadata(const ServedModel& model) {
  const ModelInfo& info = model.model->info();
  return {{"name", model.name},
          {"versions", {"1"}},
          {"platform", "kindling " + info.format},
          {"inputs", described(info.signature.inputs)},
          {"outputs", described(info.outputs)}};
}

std::vector<at::Tensor> arguments(const ServedModel& model, InferRequest& request) {
  const Signature& signature = model.model->info().signature;
  std::vector<at::Tensor> out(signature.inputs.size());
  for (NamedTensor& given : request.inputs) {
    const auto spec = std::find_if(signature.inputs.begin(), signature.inputs.end(),
                                   [&](const TensorSpec& one) { return one.name == given.name; });
    if (spec == signature.inputs.end()) {
      throw BadRequest(400, "model '" + model.name + "' has no input '" + shortened(given.name) + "'; it has " +
                                names_of(signature.inputs));
    }
    out[static_cast<size_t>(spec - signature.inputs.begin())] = std::move(given.tensor);
  }
  const std::string wrong = mismatch(signature, out);
  if (!wrong.empty()) throw BadRequest(400, wrong);
  return out;
}

[[noreturn]] void no_output(const ServedModel& model, const std::string& name, const std::string& known) {
  throw BadRequest(400, "model '" + model.name + "' has no output '" + shortened(name) + "'; it has " + known);
}

// Before the model runs, as far as its outputs are known.
void check_outputs(const ServedModel& model, const InferRequest& request) {
  const ModelInfo& info = model.model->info();
  if (!info.outputs_known) return;
  for (const RequestedOutput& wanted : request.outputs) {
    if (std::none_of(info.outputs.begin(), info.outputs.end(),
                     [&](const TensorSpec& one) { return one.name == wanted.name; })) {
      no_output(model, wanted.name, names_of(info.outputs));
    }
  }
}

InferReply reply_with(const ServedModel& model, const InferRequest& request, std::vector<NamedTensor> outputs) {
  InferReply reply{model.name, request.id, {}, {}};
  if (request.outputs.empty()) {
    reply.outputs = std::move(outputs);
    reply.binary.assign(reply.outputs.size(), request.binary_output);
    return reply;
  }
  for (const RequestedOutput& wanted : request.outputs) {
    const auto found =
        std::find_if(outputs.begin(), outputs.end(), [&](const NamedTensor& one) { return one.name == wanted.name; });
    if (found == outputs.end()) {
      std::string known;
      for (const NamedTensor& one : outputs) known += (known.empty() ? "'" : ", '") + one.name + "'";
      no_output(model, wanted.name, known);
    }
    reply.outputs.push_back(*found);
    reply.binary.push_back(wanted.binary.value_or(request.binary_output));
  }
  return reply;
}

// Throws what an outcome that is none stands for.
void check_done(const Outcome& outcome) {
  switch (outcome.status) {
    case Outcome::Status::kDone:
      return;
    case Outcome::Status::kQueueFull:
      throw BadRequest(429, outcome.error);
    case Outcome::Status::kStopped:
    case Outcome::Status::kNoMemory:
      throw BadRequest(503, outcome.error);
    case Outcome::Status::kTimedOut:
      throw BadRequest(504, outcome.error);
    case Outcome::Status::kRefused:
      throw BadRequest(400, "the model refuses the inputs: " + outcome.error);
    case Outcome::Status::kFailed:
      throw BadRequest(500, "the model failed: " + outcome.error);
  }
}

std::optional<size_t> json_bytes_of(const HttpRequest& request) {
  if (!request.json_bytes.has_value()) return std::nullopt;
  const std::string& text = *request.json_bytes;
  size_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    throw BadRequest(400, "Inference-Header-Content-Length is '" + shortened(text) + "'; expected a number of bytes");
  }
  return bytes;
}

}  // namespace

bool is_model_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

Api::Api(std::vector<std::unique_ptr<ServedModel>> models, std::chrono::milliseconds timeout, HttpMetrics& http)
    : models_(std::move(models)), timeout_(timeout), http_(http) {}

ServedModel* Api::find(std::string_view name) const {
  for (const auto& model : models_) {
    if (model->name == name) return model.get();
  }
  return nullptr;
}

HttpReply Api::handle(const HttpRequest& request) {
  try {
    return route(request);
  } catch (const std::bad_alloc&) {
    return error_reply(503, "there is not enough memory for this request");
  } catch (const std::exception& error) {
    return error_reply(500, error.what());
  }
}

HttpReply Api::route(const HttpRequest& request) {
  std::vector<std::string_view> parts;
  std::string_view rest = request.path;
  while (!rest.empty()) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    if (slash > 0) parts.push_back(rest.substr(0, slash));
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (parts.size() > 8) break;
  }
  const auto is = [&](std::initializer_list<std::string_view> wanted) {
    return std::equal(parts.begin(), parts.end(), wanted.begin(), wanted.end());
  };
  if (parts.size() >= 3 && parts[0] == "v2" && parts[1] == "models") return model_route(request, parts);
  std::optional<HttpReply> reply;
  if (is({})) {
    reply = text_reply("text/html; charset=utf-8", page_html(models_));
    reply->headers.emplace_back("Content-Security-Policy",
                                "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
                                "frame-src 'self'; base-uri 'none'; form-action 'none'");
  } else if (is({"live"})) {
    reply = text_reply("text/html; charset=utf-8", live_html(models_));
  } else if (is({"page.css"})) {
    reply = text_reply("text/css; charset=utf-8", std::string(page_css()));
  } else if (is({"page.js"})) {
    reply = text_reply("text/javascript; charset=utf-8", std::string(page_js()));
  } else if (is({"metrics"})) {
    reply = text_reply("text/plain; version=0.0.4; charset=utf-8", metrics_text());
  } else if (is({"v2"})) {
    reply = json_reply({{"name", "kindling"}, {"version", "0.1.0"}, {"extensions", {"binary_tensor_data"}}});
  } else if (is({"v2", "health", "live"})) {
    reply = json_reply({{"live", true}});
  } else if (is({"v2", "health", "ready"})) {
    reply = json_reply({{"ready", !stopping_}});
    if (stopping_) reply->status = 503;
  } else if (is({"v2", "models"})) {
    json names = json::array();
    for (const auto& model : models_) names.push_back(model->name);
    reply = json_reply({{"models", names}});
  } else if (parts.size() == 3 && parts[0] == "models" && parts[2] == "graph.svg") {
    const ServedModel* model = find(parts[1]);
    if (model == nullptr || model->model->info().graph_svg.empty()) return error_reply(404, "there is no such picture");
    reply = text_reply("image/svg+xml", model->model->info().graph_svg);
    reply->headers.emplace_back("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
  }
  if (!reply.has_value()) return error_reply(404, "there is nothing at '" + shortened(request.path) + "'");
  if (request.method == "POST") {
    HttpReply refusal = error_reply(405, "'" + shortened(request.path) + "' is there for GET");
    refusal.headers.emplace_back("Allow", "GET, HEAD");
    return refusal;
  }
  return *reply;
}

HttpReply Api::model_route(const HttpRequest& request, const std::vector<std::string_view>& parts) {
  ServedModel* model = find(parts[2]);
  if (model == nullptr) {
    std::string known;
    for (const auto& one : models_) known += (known.empty() ? "'" : ", '") + one->name + "'";
    return error_reply(404, "there is no model '" + shortened(parts[2]) + "'; there are " + known);
  }
  std::vector<std::string_view> rest(parts.begin() + 3, parts.end());
  if (!rest.empty() && rest[0] == "versions") {
    if (rest.size() < 2 || rest[1] != "1") {
      return error_reply(404, "model '" + model->name + "' has version 1 alone");
    }
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  const bool infers = rest.size() == 1 && rest[0] == "infer";
  if (rest.size() > 1 || (rest.size() == 1 && !infers && rest[0] != "ready")) {
    return error_reply(404, "there is nothing at '" + shortened(request.path) + "'");
  }
  if (infers != (request.method == "POST")) {
    HttpReply reply = error_reply(405, "'" + shortened(request.path) + "' is there for " + (infers ? "POST" : "GET"));
    reply.headers.emplace_back("Allow", infers ? "POST" : "GET, HEAD");
    return reply;
  }
  if (infers) return infer(*model, request);
  if (rest.empty()) return json_reply(metadata(*model));
  HttpReply reply = json_reply({{"name", model->name}, {"ready", !stopping_}});
  if (stopping_) reply.status = 503;
  return reply;
}

HttpReply Api::infer(ServedModel& model, const HttpRequest& request) {
  const auto begin = Clock::now();
  HttpReply reply;
  try {
    reply = infer_or_throw(model, request, begin);
  } catch (const BadRequest& error) {
    reply = error_reply(error.status(), error.what());
    if (error.status() == 429) reply.headers.emplace_back("Retry-After", "1");
  } catch (const std::bad_alloc&) {
    reply = error_reply(503, "there is not enough memory for this request");
  } catch (const std::exception& error) {
    reply = error_reply(500, error.what());
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  model.metrics.requests.add(reply.status);
  model.metrics.request_time.observe(seconds);
  if (reply.status == 200) model.metrics.recent.add(seconds);
  return reply;
}

HttpReply Api::infer_or_throw(ServedModel& model, const HttpRequest& request, Clock::time_point begin) {
  InferRequest parsed = parse_infer_request(request.body, json_bytes_of(request));
  std::vector<at::Tensor> inputs = arguments(model, parsed);
  check_outputs(model, parsed);
  const std::chrono::microseconds timeout = std::min<std::chrono::microseconds>(
      timeout_, parsed.timeout.value_or(std::chrono::microseconds(0)).count() > 0 ? *parsed.timeout
                                                                                  : std::chrono::microseconds::max());
  Outcome outcome = model.batcher.run(std::move(inputs), begin + timeout);
  check_done(outcome);
  model.metrics.queue_time.observe(std::chrono::duration<double>(outcome.waited).count());
  Payload payload = write_infer_reply(reply_with(model, parsed, std::move(outcome.outputs)));
  HttpReply reply;
  reply.body = std::move(payload.bytes);
  if (payload.json_bytes.has_value()) {
    reply.type = "application/octet-stream";
    reply.headers.emplace_back("Inference-Header-Content-Length", std::to_string(*payload.json_bytes));
  }
  return reply;
}

std::string Api::metrics_text() const {
  std::string out;
  const auto head = [&](const std::string& name, const char* type, const char* help) {
    out += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  };
  const auto line = [&](const std::string& name, const std::string& labels, uint64_t value) {
    out += name + (labels.empty() ? "" : "{" + labels + "}") + " " + std::to_string(value) + "\n";
  };
  head("kindling_http_responses_total", "counter", "Responses by HTTP status.");
  for (const auto& [status, count] : http_.responses.counts()) {
    line("kindling_http_responses_total", "code=\"" + std::to_string(status) + "\"", count);
  }
  head("kindling_http_connections", "gauge", "Open connections.");
  line("kindling_http_connections", "", http_.connections);
  head("kindling_http_connections_accepted_total", "counter", "Connections that were answered.");
  line("kindling_http_connections_accepted_total", "", http_.accepted);
  head("kindling_http_connections_refused_total", "counter", "Connections that were too many.");
  line("kindling_http_connections_refused_total", "", http_.refused);

  const auto label = [](const ServedModel& model) { return "model=" + label_text(model.name); };
  head("kindling_requests_total", "counter", "Inference requests by HTTP status.");
  for (const auto& model : models_) {
    for (const auto& [status, count] : model->metrics.requests.counts()) {
      line("kindling_requests_total", label(*model) + ",code=\"" + std::to_string(status) + "\"", count);
    }
  }
  head("kindling_queue_depth", "gauge", "Requests that wait for a run of the model.");
  for (const auto& model : models_) line("kindling_queue_depth", label(*model), model->batcher.waiting());
  const auto histogram = [&](const std::string& name, const char* help, Histogram ModelMetrics::*which) {
    head(name, "histogram", help);
    for (const auto& model : models_) (model->metrics.*which).write(out, name, label(*model));
  };
  histogram("kindling_batch_rows", "Rows of a run of the model.", &ModelMetrics::batch_rows);
  histogram("kindling_batch_requests", "Requests in a run of the model.", &ModelMetrics::batch_requests);
  histogram("kindling_request_duration_seconds", "From a request's last byte to its answer.",
            &ModelMetrics::request_time);
  histogram("kindling_queue_duration_seconds", "From a request's entry into the queue to its run.",
            &ModelMetrics::queue_time);
  histogram("kindling_run_duration_seconds", "Of a run of the model.", &ModelMetrics::run_time);
  return out;
}

}  // namespace serve
