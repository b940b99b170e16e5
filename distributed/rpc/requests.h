// How requests are sent and answered. Not for users.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distributed/rpc/agent.h"
#include "distributed/rpc/rref.h"

namespace torch::distributed::rpc {

/// Sends a request in autograd context `autograd` (0: none). The future is of the value of the answer.
FuturePtr request_value(const std::shared_ptr<RRefContext>& context, worker_id_t to, MessagePtr message, float timeout,
                        int64_t autograd);
/// A call's function and arguments as a message to `to`, and what else `more` says.
MessagePtr call_message(const std::shared_ptr<RRefContext>& context, MessageType type, worker_id_t to,
                        const std::string& function, const Args& args, std::vector<int64_t> more = {});

/// Whether the calling thread runs a function of another worker.
bool in_function();

/// Answers the requests of other workers.
class RequestHandler final : public RequestCallback {
 public:
  /// Answers those that are in shutdown().
  using Join = std::function<FuturePtr(const Message&)>;
  /// Before the agent is started.
  void serve(std::shared_ptr<RRefContext> context, Join join) {
    context_ = std::move(context);
    join_ = std::move(join);
  }
  void operator()(const MessagePtr& request, const Answer& answer) override;

 private:
  void run_function(const MessagePtr& request, const Answer& answer);

  std::shared_ptr<RRefContext> context_;
  Join join_;
};

}  // namespace torch::distributed::rpc
