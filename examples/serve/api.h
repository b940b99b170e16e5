// What the server answers: the Open Inference Protocol (KServe v2) with binary tensors, metrics, and a page.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "examples/serve/http_server.h"
#include "examples/serve/served_model.h"

namespace serve {

class Api {
 public:
  Api(std::vector<std::unique_ptr<ServedModel>> models, std::chrono::milliseconds timeout, HttpMetrics& http);

  /// From any number of threads. Never throws.
  HttpReply handle(const HttpRequest& request);
  /// From now on the server is not ready, though it answers.
  void set_stopping() { stopping_ = true; }

 private:
  HttpReply route(const HttpRequest& request);
  HttpReply model_route(const HttpRequest& request, const std::vector<std::string_view>& parts);
  HttpReply infer(ServedModel& model, const HttpRequest& request);
  HttpReply infer_or_throw(ServedModel& model, const HttpRequest& request, Clock::time_point begin);
  ServedModel* find(std::string_view name) const;
  std::string metrics_text() const;

  std::vector<std::unique_ptr<ServedModel>> models_;
  const std::chrono::milliseconds timeout_;
  HttpMetrics& http_;
  std::atomic<bool> stopping_{false};
};

/// Whether a name can stand in paths and labels: letters, digits, '.', '_' and '-', 1 to 100.
bool is_model_name(std::string_view name);

}  // namespace serve
