#include "utils/profiler/emit_nvtx.h"

#include <memory>
#include <string>

#include "c10/cuda/nvtx.h"
#include "c10/util/exception.h"
#include "utils/profiler/range_text.h"

namespace torch::autograd::profiler {
namespace {

thread_local bool t_on = false;

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& range) {
  std::string text = range.name();
  if (range.seqNr() >= 0) text += ", seq = " + std::to_string(range.seqNr());
  text += detail::sizes_text(range);
  c10::cuda::nvtx::range_push(text.c_str());
  return nullptr;
}

void end(const at::RecordFunction&, at::ObserverContext*) {
  c10::cuda::nvtx::range_pop();
}

}  // namespace

emit_nvtx::emit_nvtx(bool enabled, bool record_shapes) {
  if (!enabled) return;
  TORCH_CHECK(!t_on, "NVTX annotation context manager is not reentrant");
  callback_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&begin, &end).needsInputs(record_shapes));
  t_on = true;
}

emit_nvtx::~emit_nvtx() {
  if (callback_ == at::INVALID_CALLBACK_HANDLE) return;
  at::removeCallback(callback_);
  t_on = false;
}

}  // namespace torch::autograd::profiler
