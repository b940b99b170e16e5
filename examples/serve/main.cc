// Serves models over HTTP on the loopback: files of torch.export, TorchScript and ONNX, JSON and binary requests of the
// Open Inference Protocol, requests joined into batches, metrics, and a page that shows them. README.md says how to
// ask.
//
//   ./bazelw run //examples/serve -- --model=net=net.pt2
//   curl -d '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]}' localhost:8000/v2/models/net/infer
#include <absl/flags/flag.h>
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <set>
#include <thread>

#include "c10/parallel/parallel.h"
#include "c10/util/exception.h"
#include "examples/common/flags.h"
#include "examples/serve/api.h"
#include "examples/serve/load_models.h"

ABSL_FLAG(std::string, model, "",
          "NAME=FILE of a model, or NAME(x:FP32[-1,4]; y:INT64[-1])=FILE of a TorchScript "
          "module with what its inputs are; may be given several times");
ABSL_FLAG(std::string, host, "127.0.0.1", "address to listen on");
ABSL_FLAG(int, port, 8000, "port to listen on; 0: a free one");
ABSL_FLAG(int, max_batch, 16, "rows of dimension 0 that run together; 1: each request alone");
ABSL_FLAG(int, max_delay_us, 0, "microseconds that the first request of a batch waits for others");
ABSL_FLAG(int, max_queue, 256, "requests that wait for a model; more get 429");
ABSL_FLAG(int, workers, 1, "threads that run one model; TorchScript modules that change themselves need 1");
ABSL_FLAG(int, threads, 0, "threads that one run uses; 0: one a processor");
ABSL_FLAG(int, timeout_ms, 10000, "milliseconds for an answer; later ones are 504");
ABSL_FLAG(int, max_body_mb, 64, "MiB of a request's body; more get 413");
ABSL_FLAG(int, max_connections, 200, "connections at a time; more get 503");
ABSL_FLAG(int, read_timeout_ms, 10000, "milliseconds in which a request's head, and then its body, has to come");
ABSL_FLAG(int, idle_timeout_ms, 30000, "milliseconds that a connection may wait for its next request");

namespace {

using examples::fail;

void check_range(const char* name, int value, int least, int most) {
  if (value >= least && value <= most) return;
  fail("--" + std::string(name) + "=" + std::to_string(value) + ": expected " + std::to_string(least) + " to " +
       std::to_string(most));
}

// NAME=FILE or NAME(SIGNATURE)=FILE.
std::vector<serve::LoadedModel> load(const std::string& text) {
  const size_t open = text.find('('), close = text.find(")=");
  const bool declared = open != std::string::npos && close != std::string::npos && open < text.find('=');
  const size_t end = declared ? close + 1 : text.find('=');
  if (end == std::string::npos) fail("--model=" + text + ": expected NAME=FILE");
  const std::string name = text.substr(0, declared ? open : end);
  if (!serve::is_model_name(name)) fail("--model=" + text + ": a name has letters, digits, '.', '_' and '-'");
  try {
    std::optional<serve::Signature> signature;
    if (declared) signature = serve::parse_signature(text.substr(open + 1, close - open - 1));
    return serve::load_models(name, examples::user_path(text.substr(end + 1)),
                              signature.has_value() ? &*signature : nullptr);
  } catch (const c10::Error& error) {
    fail(error.what_without_backtrace());
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

int run(const std::vector<std::string>& models, const sigset_t& ending) {
  if (models.empty()) fail("no --model=NAME=FILE is given (--help says more)");
  serve::HttpOptions http;
  http.host = absl::GetFlag(FLAGS_host);
  http.port = absl::GetFlag(FLAGS_port);
  http.most_connections = static_cast<size_t>(absl::GetFlag(FLAGS_max_connections));
  http.most_body = static_cast<size_t>(absl::GetFlag(FLAGS_max_body_mb)) << 20;
  http.most_bodies = std::max(http.most_bodies, 2 * http.most_body);
  http.read_time = std::chrono::milliseconds(absl::GetFlag(FLAGS_read_timeout_ms));
  http.idle_time = std::chrono::milliseconds(absl::GetFlag(FLAGS_idle_timeout_ms));
  serve::BatchOptions batch;
  batch.most_rows = absl::GetFlag(FLAGS_max_batch);
  batch.most_delay = std::chrono::microseconds(absl::GetFlag(FLAGS_max_delay_us));
  batch.most_waiting = static_cast<size_t>(absl::GetFlag(FLAGS_max_queue));
  batch.workers = absl::GetFlag(FLAGS_workers);
  if (absl::GetFlag(FLAGS_threads) > 0) at::set_num_threads(absl::GetFlag(FLAGS_threads));

  std::vector<std::unique_ptr<serve::ServedModel>> served;
  std::set<std::string> names;
  for (const std::string& text : models) {
    for (serve::LoadedModel& one : load(text)) {
      if (!names.insert(one.name).second) fail("two models have the name '" + one.name + "'");
      served.push_back(std::make_unique<serve::ServedModel>(one.name, std::move(one.model), batch));
      const serve::ModelInfo& info = served.back()->model->info();
      std::printf("%s: %s, %s\n", one.name.c_str(), info.format.c_str(),
                  info.not_batched.empty() ? "batched" : ("not batched: " + info.not_batched).c_str());
    }
  }
  serve::HttpMetrics metrics;
  serve::Api api(std::move(served), std::chrono::milliseconds(absl::GetFlag(FLAGS_timeout_ms)), metrics);
  serve::HttpServer server(
      http, [&](const serve::HttpRequest& request) { return api.handle(request); }, metrics);
  std::printf("serving on http://%s:%d\n", http.host.c_str(), server.port());
  std::fflush(stdout);
  std::thread answering([&] { server.run(); });
  int signal = 0;
  sigwait(&ending, &signal);
  // A second one ends the program at once.
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
  std::printf("%s: answering what was accepted\n", signal == SIGINT ? "SIGINT" : "SIGTERM");
  std::fflush(stdout);
  api.set_stopping();
  server.stop();
  answering.join();
  std::printf("ended\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Before there are threads, so that none of them gets these: this one waits for them.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  const examples::CommandLine line = examples::parse_command_line(argc, argv,
                                                                  "Serves models over HTTP. A page at / shows them.\n\n"
                                                                  "  serve --model=NAME=FILE [--model=NAME=FILE ...]",
                                                                  "model");
  check_range("port", absl::GetFlag(FLAGS_port), 0, 65535);
  check_range("max_batch", absl::GetFlag(FLAGS_max_batch), 1, 1 << 20);
  check_range("max_delay_us", absl::GetFlag(FLAGS_max_delay_us), 0, 10000000);
  check_range("max_queue", absl::GetFlag(FLAGS_max_queue), 1, 1 << 20);
  check_range("workers", absl::GetFlag(FLAGS_workers), 1, 1000);
  check_range("threads", absl::GetFlag(FLAGS_threads), 0, 1000);
  check_range("timeout_ms", absl::GetFlag(FLAGS_timeout_ms), 1, 86400000);
  check_range("max_body_mb", absl::GetFlag(FLAGS_max_body_mb), 1, 4096);
  // cpp-httplib takes no file descriptors from 1024 on.
  check_range("max_connections", absl::GetFlag(FLAGS_max_connections), 1, 900);
  check_range("read_timeout_ms", absl::GetFlag(FLAGS_read_timeout_ms), 1, 86400000);
  check_range("idle_timeout_ms", absl::GetFlag(FLAGS_idle_timeout_ms), 1, 86400000);
  try {
    return examples::finish(run(line.repeated, ending));
  } catch (const std::exception& error) {
    fail(error.what());
  }
}
