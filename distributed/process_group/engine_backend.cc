#include "distributed/process_group/engine_backend.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/process_group/rank_local.h"

namespace c10d {
namespace {

using at::Tensor;
using Clock = std::chrono::steady_clock;

// How long the others are told that this rank aborts before it does, and, a half of the time that operations have
// within these limits, about an error: who sees a connection end looks for the reason in the store. A busy machine's
// store may take long.
constexpr std::chrono::milliseconds kPatience(500), kMostPatience(1500);
// How long ranks have to answer how far they are.
constexpr std::chrono::milliseconds kAnswerTime(500);

void check_rank(const char* op, const char* name, int64_t rank, int size) {
  TORCH_CHECK(rank >= 0 && rank < size, op, ": ", name, " ", rank, " is no rank of a group of ", size);
}

Fingerprint fingerprint_of(OpType type, const Tensor& t, int64_t count) {
  return {.count = static_cast<uint64_t>(count), .operation = type, .dtype = t.scalar_type()};
}
Fingerprint fingerprint_of(OpType type, const Tensor& t, const ReduceOp& op, int64_t root = -1) {
  Fingerprint result = fingerprint_of(type, t, t.numel());
  result.reduction = op.op_;
  result.root = static_cast<int32_t>(root);
  return result;
}

// Of several tensors of any dtypes: their bytes, and a hash (FNV-1a) of how these are made up.
Fingerprint fingerprint_of(const std::vector<Tensor>& tensors) {
  Fingerprint result{.operation = OpType::COALESCED, .dtype = c10::ScalarType::Byte, .layout = 0xCBF29CE484222325u};
  for (const Tensor& t : tensors) {
    result.count += t.nbytes();
    for (const uint64_t part : {static_cast<uint64_t>(t.scalar_type()), static_cast<uint64_t>(t.numel())}) {
      result.layout = (result.layout ^ part) * 0x100000001B3u;
    }
  }
  return result;
}

void* data_of(const Tensor& t) {
  return t.mutable_data_ptr();
}

// Elements side by side of what is to be read or written, and written back.
class Flat {
 public:
  explicit Flat(const Tensor& t) : tensor_(t), flat_(at::contiguous(t)) {}
  const Tensor& tensor() const { return flat_; }
  Elements elements() const { return {data_of(flat_), static_cast<size_t>(flat_.numel()), flat_.scalar_type()}; }
  // A copy even where the elements lie side by side already.
  void own() {
    if (flat_.is_same(tensor_)) flat_ = at::clone(flat_, c10::MemoryFormat::Contiguous);
  }
  void write_back() {
    if (!flat_.is_same(tensor_)) tensor_.copy_(flat_);
  }

 private:
  Tensor tensor_, flat_;
};

// Room for several tensors as one array.
Tensor room_for(const std::vector<Tensor>& tensors) {
  int64_t count = 0;
  for (const Tensor& t : tensors) count += t.numel();
  return at::empty({count}, tensors[0].options());
}
// Several tensors as one array.
Tensor joined(const std::vector<Tensor>& tensors) {
  Tensor all = room_for(tensors);
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    at::view(at::narrow(all, 0, at, t.numel()), t.sizes()).copy_(t);
    at += t.numel();
  }
  return all;
}
void split_into(const Tensor& all, const std::vector<Tensor>& tensors) {
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    t.copy_(at::view(at::narrow(all, 0, at, t.numel()), t.sizes()));
    at += t.numel();
  }
}

void before(const ReduceOp& op, Flat& flat) {
  if (op.op_ != ReduceOp::PREMUL_SUM) return;
  flat.own();
  const Tensor& factor = op.supplement_->tensor_factor;
  factor.defined() ? flat.tensor().mul_(factor) : flat.tensor().mul_(op.supplement_->double_factor);
}

// Where the parts of a dimension of `total` rows lie, in rows: as given, or equal ones.
std::vector<int64_t> splits(const char* op, const char* name, const std::vector<int64_t>& given, int64_t total,
                            int size) {
  if (given.empty()) {
    TORCH_CHECK(total % size == 0, op, ": the ", total, " rows of ", name, " are no multiple of the ", size, " ranks");
    return std::vector<int64_t>(static_cast<size_t>(size), total / size);
  }
  TORCH_CHECK(given.size() == static_cast<size_t>(size), op, ": expected the sizes of ", size, " parts of ", name,
              ", but got ", given.size());
  int64_t sum = 0;
  for (const int64_t rows : given) {
    TORCH_CHECK(rows >= 0, op, ": a part of ", name, " cannot have ", rows, " rows");
    sum += rows;
  }
  TORCH_CHECK(sum == total, op, ": the parts of ", name, " have ", sum, " rows, but it has ", total);
  return given;
}

}  // namespace

std::string describe(const Fingerprint& f) {
  std::string text = c10::str(opTypeToString(f.operation), " number ", f.sequence);
  if (f.dtype != c10::ScalarType::Undefined)
    text += c10::str(" of ", f.count, " ", c10::toString(f.dtype), " elements");
  if (f.reduction != ReduceOp::UNUSED) text += c10::str(" (", name_of(f.reduction), ")");
  if (f.root >= 0) text += c10::str(" with root ", f.root);
  if (f.layout != 0) text += c10::str(" in tensors of the layout ", f.layout % 1000000);
  return text;
}

thread_local bool EngineBackend::is_gone_ = false;

EngineBackend::Operation::Operation(int rank, const Fingerprint& fingerprint, std::chrono::milliseconds timeout,
                                    std::vector<Tensor> outputs, Body body, uint64_t record)
    : Work(rank, fingerprint.operation), fingerprint(fingerprint), body(std::move(body)), record(record) {
  outputs_ = std::move(outputs);
  sequence_number_ = fingerprint.sequence;
  timeout_ = timeout;
}

std::string EngineBackend::Operation::describe() const {
  if (!isP2POp(type_)) return c10d::describe(fingerprint);
  std::string text = c10::str(opTypeToString(type_), " with tag ", tag);
  if (peer >= 0) text += c10::str(type_ == OpType::SEND ? " to rank " : " from rank ", peer);
  return text;
}

EngineBackend::EngineBackend(std::unique_ptr<Engine> engine, c10::intrusive_ptr<EngineOptions> options,
                             std::unique_ptr<Notice> notice)
    : Backend(engine->rank(), engine->size()),
      engine_(std::move(engine)),
      options_(std::move(options)),
      notice_(std::move(notice)),
      recorder_(FlightRecorder::get()),
      recorder_group_(recorder_->add_group(options_->group_name, options_->group_desc, options_->backend, rank_,
                                           options_->global_ranks_in_group, size_)) {
  if (notice_) watch();
}

EngineBackend::~EngineBackend() {
  if (posting_.valid()) posting_.wait();
  if (notice_) notice_->unwatch();
}

void EngineBackend::watch() {
  notice_->watch({.aborted = [this](const std::string& why) { hear(why); },
                  .status =
                      [this] {
                        const std::lock_guard<std::mutex> lock(mutex_);
                        return c10::str(sequence_, " ", sequence_ == 0 ? "" : describe(last_));
                      },
                  .tick =
                      [this] {
                        if (recorder_->was_signalled()) recorder_->dump_to_file(/*is_error=*/false);
                        look_for_stalls();
                      }});
}

// --- arguments ---

void EngineBackend::check_tensor(const char* op, const char* name, const Tensor& t) const {
  const c10::DeviceType device = engine_->device_type();
  TORCH_CHECK(t.defined(), op, ": ", name, " is undefined");
  TORCH_CHECK(t.layout() == c10::kStrided, op, ": ", name, " must be dense, but its layout is ", t.layout());
  TORCH_CHECK(t.device().type() == device, op, ": ", name, " must be on ",
              device == c10::DeviceType::CPU ? "the CPU" : c10::str("a ", device, " device"), ", but it is on ",
              t.device());
  const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  TORCH_CHECK(impl.has_storage(), op, ": ", name, " has no memory of its own: it is a ", impl.kind());
}

const Tensor& EngineBackend::only(const char* op, const char* name, const std::vector<Tensor>& tensors) const {
  TORCH_CHECK(tensors.size() == 1, op, ": expected one tensor in ", name, ", but got ", tensors.size());
  check_tensor(op, name, tensors[0]);
  return tensors[0];
}

void EngineBackend::check_same(const char* op, const char* name, const Tensor& t, const char* as_name,
                               const Tensor& as) const {
  check_tensor(op, name, t);
  TORCH_CHECK(t.scalar_type() == as.scalar_type(), op, ": ", name, " is of ", t.scalar_type(), ", but ", as_name,
              " of ", as.scalar_type());
  TORCH_CHECK(t.numel() == as.numel(), op, ": ", name, " has ", t.numel(), " elements, but ", as_name, " has ",
              as.numel());
}

void EngineBackend::check_times(const char* op, const char* name, const Tensor& t, const char* of_name,
                                const Tensor& of) const {
  check_tensor(op, name, t);
  TORCH_CHECK(t.scalar_type() == of.scalar_type(), op, ": ", name, " is of ", t.scalar_type(), ", but ", of_name,
              " of ", of.scalar_type());
  TORCH_CHECK(t.numel() == of.numel() * size_, op, ": ", name, " must have ", size_, " times the ", of.numel(),
              " elements of ", of_name, ", but it has ", t.numel());
}

ReduceOp::RedOpType EngineBackend::of_engine(const ReduceOp& op) const {
  if (op.op_ == ReduceOp::PREMUL_SUM || (op.op_ == ReduceOp::AVG && !engine_->averages())) return ReduceOp::SUM;
  return op.op_;
}

void EngineBackend::after(const ReduceOp& op, const Tensor& result) const {
  if (op.op_ == ReduceOp::AVG && !engine_->averages()) result.div_(size_);
}

// --- operations of all ranks ---

// Ranks in errors are the group's; where they are others in the job, the list tells which.
std::string EngineBackend::label() const {
  std::string text = "process group " + options_->group_name;
  const std::vector<uint64_t>& ranks = options_->global_ranks_in_group;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != i) return c10::str(text, " of the ranks ", c10::Join(", ", ranks));
  }
  return text;
}

void EngineBackend::check_usable() const {
  TORCH_CHECK_WITH(DistBackendError, broken_.empty(), label(), ": rank ", rank_, " cannot use it any more: ", broken_);
  TORCH_CHECK_WITH(DistBackendError, !stopping_, label(), " was shut down");
}

// What another rank has said becomes this rank's error with the first call after it.
void EngineBackend::take_in_what_was_heard() {
  std::string why;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    // A call that is refused tells as much as the one that failed on another thread.
    asked_.wait_for(lock, 2 * kMostPatience, [this] { return !is_asking_; });
    if (!broken_.empty()) return;
    why = heard_;
  }
  if (!why.empty()) break_group(why, {});
}

// The operation's device: that of all its tensors.
static std::optional<c10::Device> device_of(OpType type, const std::vector<Tensor>& inputs,
                                            const std::vector<Tensor>& outputs) {
  std::optional<c10::Device> device;
  for (const std::vector<Tensor>* tensors : {&inputs, &outputs}) {
    for (const Tensor& t : *tensors) {
      TORCH_CHECK(!device || *device == t.device(), opTypeToString(type), ": tensors are on ", *device, " and ",
                  t.device());
      device = t.device();
    }
  }
  return device;
}

EngineBackend::OperationPtr EngineBackend::make_operation(const Fingerprint& fingerprint,
                                                          std::chrono::milliseconds timeout,
                                                          std::vector<Tensor> outputs, Body body, uint64_t record) {
  return c10::make_intrusive<Operation>(rank_, fingerprint, timeout, std::move(outputs), std::move(body), record);
}

c10::intrusive_ptr<Work> EngineBackend::start(Fingerprint fingerprint, std::chrono::milliseconds timeout,
                                              const std::vector<Tensor>& inputs, std::vector<Tensor> outputs,
                                              Body body) {
  take_in_what_was_heard();
  const auto device = device_of(fingerprint.operation, inputs, outputs);
  const auto lies_together = [](const Tensor& t) { return t.is_contiguous(); };
  const bool is_contiguous = std::all_of(inputs.begin(), inputs.end(), lies_together) &&
                             std::all_of(outputs.begin(), outputs.end(), lies_together);
  OperationPtr operation;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_usable();
    fingerprint.sequence = sequence_++;
    if (timeout == kUnsetTimeout) timeout = options_->timeout;
    const uint64_t record =
        recorder_->record(recorder_group_, fingerprint.operation, fingerprint.sequence, inputs, outputs, timeout);
    operation = make_operation(fingerprint, timeout, std::move(outputs), std::move(body), record);
    operation->device = device;
    operation->is_contiguous = is_contiguous;
    last_ = fingerprint;
    enqueue(operation);
  }
  carry_on(operation);
  return operation;
}

std::exception_ptr EngineBackend::failed(const Operation& operation, const std::exception& why, double ms) {
  const auto* const known = dynamic_cast<const c10::Error*>(&why);
  const auto* const lost = dynamic_cast<const LostRanksError*>(&why);
  std::string text =
      c10::str(label(), ": ", operation.describe(), " failed on rank ", rank_, " after ", static_cast<int64_t>(ms),
               " ms (of ", operation.getTimeout().count(), "): ", known != nullptr ? known->msg() : why.what());
  break_group(text, lost != nullptr ? Notice::WaitedFor{lost->ranks(), lost->are_gone()} : Notice::WaitedFor());
  try {
    TORCH_CHECK_WITH(DistBackendError, false, text);
  } catch (...) {
    return std::current_exception();
  }
}

// Only the first error of a rank ends anything. What the others say is added to it, and to what fails at the same time.
void EngineBackend::break_group(std::string& why, const Notice::WaitedFor& waited_for) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!broken_.empty()) {
      asked_.wait_for(lock, 2 * kMostPatience, [this] { return !is_asking_; });
      if (why.find(broken_) != std::string::npos) return;
      const bool is_known = why.find(broken_.substr(0, own_words_)) != std::string::npos;
      why += is_known ? broken_.substr(own_words_) : "; the first error of this rank: " + broken_;
      return;
    }
    broken_ = why;
    own_words_ = why.size();
    is_asking_ = notice_ != nullptr;
  }
  const bool is_posted = post(why, waited_for, patience());
  engine_->abort(why);
  recorder_->dump_to_file(/*is_error=*/true);
  if (!notice_) return;
  try {
    why += is_posted ? notice_->others() : "; what the other ranks say is not known: the store does not answer";
  } catch (const c10::Error& e) {
    why += c10::str("; what the other ranks say is not known: ", e.msg());
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    broken_ = why;
    is_asking_ = false;
  }
  asked_.notify_all();
}

std::chrono::milliseconds EngineBackend::patience() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::clamp(options_->timeout / 2, kPatience, kMostPatience);
}

// Whether the others are told now; a store that does not answer is not waited for.
bool EngineBackend::post(const std::string& why, const Notice::WaitedFor& waited_for,
                         std::chrono::milliseconds patience) {
  if (!notice_) return false;
  posting_ = std::async(std::launch::async, [=, this] { notice_->post(why, waited_for, patience); });
  if (posting_.wait_for(patience) != std::future_status::ready) return false;
  try {
    posting_.get();
  } catch (const c10::Error&) {
    return false;
  }
  return true;
}

// Another rank has broken the group. What runs here fails then, and tells more.
void EngineBackend::hear(const std::string& why) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!broken_.empty() || !heard_.empty()) return;
    heard_ = why;
  }
  engine_->abort(why);
  recorder_->dump_to_file(/*is_error=*/true);
}

// --- operations that take long ---

std::chrono::milliseconds EngineBackend::default_stall_warning() {
  const auto text = rank_environment("TORCH_DISTRIBUTED_STALL_WARNING_SEC");
  if (!text) return std::chrono::seconds(10);
  char* end = nullptr;
  const double seconds = std::strtod(text->c_str(), &end);
  TORCH_CHECK_VALUE(end != text->c_str() && *end == '\0' && seconds >= 0 && seconds < 1e9,
                    "TORCH_DISTRIBUTED_STALL_WARNING_SEC must be a number of seconds, but is '", *text, "'");
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// One rank asks; all that live answer, whatever they do.
void EngineBackend::look_for_stalls() {
  if (options_->stall_warning.count() == 0) return;
  const auto now = Clock::now();
  std::optional<Question> to_ask, answered;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (question_ && now - question_->asked >= kAnswerTime) {
      answered = std::move(question_);
      question_.reset();
    }
    for (const OperationPtr& operation : running_) {
      if (question_ || operation->is_reported || now - operation->begin < options_->stall_warning) continue;
      operation->is_reported = true;
      const bool is_message = isP2POp(operation->retrieveOpType());
      to_ask = Question{.topic = is_message ? c10::str("record ", operation->record, " of rank ", rank_)
                                            : c10::str("number ", operation->fingerprint.sequence),
                        .operation = operation->describe(),
                        .sequence = std::nullopt,
                        .begin = operation->begin,
                        .asked = now};
      if (!is_message) to_ask->sequence = operation->fingerprint.sequence;
      break;
    }
  }
  try {
    if (to_ask && notice_->ask(to_ask->topic)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      question_ = std::move(to_ask);
    }
    if (answered) warn_of_stall(*answered, notice_->answers(answered->topic));
  } catch (const c10::Error&) {
    // A store that does not answer: there is nothing to say.
  }
}

void EngineBackend::warn_of_stall(const Question& question, const std::vector<std::string>& answers) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - question.begin).count();
  TORCH_WARN(label(), ": rank ", rank_, " waits for ", seconds, " s in ", question.operation,
             who_called(question.sequence, answers));
}

std::string EngineBackend::who_called(std::optional<uint64_t> sequence, const std::vector<std::string>& answers) const {
  std::vector<int> called, silent;
  std::string others;
  for (int rank = 0; rank < size_; ++rank) {
    const std::string& answer = answers[static_cast<size_t>(rank)];
    const std::string last = answer.substr(std::min(answer.size(), answer.find(' ') + 1));
    if (answer.empty()) {
      silent.push_back(rank);
    } else if (sequence && std::strtoull(answer.c_str(), nullptr, 10) > *sequence) {
      called.push_back(rank);
    } else if (sequence || rank != rank_) {
      others += c10::str("; ", sequence ? "not called by " : "", "rank ", rank,
                         last.empty() ? ", which has called nothing of all ranks" : ", which last called ", last);
    }
  }
  std::string text;
  if (!called.empty()) text += c10::str("; called by rank", called.size() == 1 ? " " : "s ", c10::Join(", ", called));
  text += others;
  if (!silent.empty())
    text += c10::str("; no answer from rank", silent.size() == 1 ? " " : "s ", c10::Join(", ", silent));
  return text;
}

c10::intrusive_ptr<Work> EngineBackend::broadcast(std::vector<Tensor>& tensors, const BroadcastOptions& opts) {
  const Tensor t = only("broadcast", "tensors", tensors);
  check_rank("broadcast", "rootRank", opts.rootRank, size_);
  TORCH_CHECK(opts.rootTensor == 0, "broadcast: rootTensor must be 0, but is ", opts.rootTensor);
  return start(fingerprint_of(OpType::BROADCAST, t, ReduceOp::UNUSED, opts.rootRank), opts.timeout, {t}, {t},
               [this, t, root = static_cast<int>(opts.rootRank)](const Engine::Call& call, Operation&) {
                 Flat flat(t);
                 const Elements all = flat.elements();
                 if (all.count != 0) engine_->broadcast(call, all.data, all.bytes(), root);
                 if (rank_ != root) flat.write_back();
               });
}

c10::intrusive_ptr<Work> EngineBackend::allreduce(std::vector<Tensor>& tensors, const AllreduceOptions& opts) {
  const Tensor t = only("allreduce", "tensors", tensors);
  engine_->check_reduction("allreduce", opts.reduceOp, t.scalar_type());
  return start(fingerprint_of(OpType::ALLREDUCE, t, opts.reduceOp), opts.timeout, {t}, {t},
               [this, t, op = opts.reduceOp](const Engine::Call& call, Operation&) {
                 Flat flat(t);
                 before(op, flat);
                 if (t.numel() != 0) engine_->all_reduce(call, flat.elements(), of_engine(op));
                 after(op, flat.tensor());
                 flat.write_back();
               });
}

c10::intrusive_ptr<Work> EngineBackend::allreduce_coalesced(std::vector<Tensor>& tensors,
                                                            const AllreduceCoalescedOptions& opts) {
  const char* const op = "allreduce_coalesced";
  TORCH_CHECK(!tensors.empty(), op, ": expected one tensor or more");
  int64_t count = 0;
  for (const Tensor& t : tensors) {
    check_tensor(op, "a tensor", t);
    TORCH_CHECK(t.scalar_type() == tensors[0].scalar_type(), op, ": tensors are of ", t.scalar_type(), " and ",
                tensors[0].scalar_type());
    count += t.numel();
  }
  engine_->check_reduction(op, opts.reduceOp, tensors[0].scalar_type());
  Fingerprint fingerprint = fingerprint_of(OpType::ALLREDUCE_COALESCED, tensors[0], opts.reduceOp);
  fingerprint.count = static_cast<uint64_t>(count);
  return start(fingerprint, opts.timeout, tensors, tensors,
               [this, tensors, reduction = opts.reduceOp](const Engine::Call& call, Operation&) {
                 Flat flat(joined(tensors));
                 before(reduction, flat);
                 if (flat.tensor().numel() != 0) engine_->all_reduce(call, flat.elements(), of_engine(reduction));
                 after(reduction, flat.tensor());
                 split_into(flat.tensor(), tensors);
               });
}

c10::intrusive_ptr<Work> EngineBackend::reduce(std::vector<Tensor>& tensors, const ReduceOptions& opts) {
  const Tensor t = only("reduce", "tensors", tensors);
  check_rank("reduce", "rootRank", opts.rootRank, size_);
  TORCH_CHECK(opts.rootTensor == 0, "reduce: rootTensor must be 0, but is ", opts.rootTensor);
  engine_->check_reduction("reduce", opts.reduceOp, t.scalar_type());
  return start(
      fingerprint_of(OpType::REDUCE, t, opts.reduceOp, opts.rootRank), opts.timeout, {t}, {t},
      [this, t, op = opts.reduceOp, root = static_cast<int>(opts.rootRank)](const Engine::Call& call, Operation&) {
        Flat flat(t);
        if (rank_ != root) flat.own();  // which keeps its elements
        before(op, flat);
        if (t.numel() != 0) engine_->reduce(call, flat.elements(), of_engine(op), root);
        if (rank_ != root) return;
        after(op, flat.tensor());
        flat.write_back();
      });
}

c10::intrusive_ptr<Work> EngineBackend::_allgather_base(Tensor& output, Tensor& input, const AllgatherOptions& opts) {
  check_tensor("_allgather_base", "input", input);
  check_times("_allgather_base", "output", output, "input", input);
  return start(fingerprint_of(OpType::_ALLGATHER_BASE, input, input.numel()), opts.timeout, {input}, {output},
               [this, input, output](const Engine::Call& call, Operation&) {
                 const Flat in(input);
                 Flat all(output);
                 const Elements own = in.elements();
                 if (own.count != 0) engine_->all_gather(call, own.data, own.bytes(), all.elements().data);
                 all.write_back();
               });
}

c10::intrusive_ptr<Work> EngineBackend::allgather(std::vector<std::vector<Tensor>>& outputs,
                                                  std::vector<Tensor>& inputs, const AllgatherOptions& opts) {
  const Tensor input = only("allgather", "inputs", inputs);
  TORCH_CHECK(outputs.size() == 1, "allgather: expected one list of outputs, but got ", outputs.size());
  TORCH_CHECK(outputs[0].size() == static_cast<size_t>(size_), "allgather: expected ", size_, " outputs, but got ",
              outputs[0].size());
  for (const Tensor& t : outputs[0]) check_same("allgather", "an output", t, "the input", input);
  return start(fingerprint_of(OpType::ALLGATHER, input, input.numel()), opts.timeout, inputs, outputs[0],
               [this, input, parts = outputs[0]](const Engine::Call& call, Operation&) {
                 const Flat flat(input);
                 const Elements in = flat.elements();
                 if (in.count == 0) return;
                 const Tensor all = at::empty({input.numel() * size_}, input.options());
                 engine_->all_gather(call, in.data, in.bytes(), data_of(all));
                 split_into(all, parts);
               });
}

c10::intrusive_ptr<Work> EngineBackend::allgather_coalesced(std::vector<std::vector<Tensor>>& outputs,
                                                            std::vector<Tensor>& inputs, const AllgatherOptions& opts) {
  const char* const op = "allgather_coalesced";
  TORCH_CHECK(!inputs.empty(), op, ": expected one input or more");
  TORCH_CHECK(outputs.size() == static_cast<size_t>(size_), op, ": expected ", size_, " lists of outputs, but got ",
              outputs.size());
  std::vector<Tensor> all_outputs;
  for (const std::vector<Tensor>& of_rank : outputs) {
    TORCH_CHECK(of_rank.size() == inputs.size(), op, ": expected ", inputs.size(), " outputs of a rank, but got ",
                of_rank.size());
    for (size_t i = 0; i < inputs.size(); ++i) check_same(op, "an output", of_rank[i], "its input", inputs[i]);
    all_outputs.insert(all_outputs.end(), of_rank.begin(), of_rank.end());
  }
  int64_t count = 0;
  for (const Tensor& t : inputs) {
    check_same(op, "an input", t, "itself", t);
    TORCH_CHECK(t.scalar_type() == inputs[0].scalar_type(), op, ": inputs are of ", t.scalar_type(), " and ",
                inputs[0].scalar_type());
    count += t.numel();
  }
  return start(fingerprint_of(OpType::ALLGATHER_COALESCED, inputs[0], count), opts.timeout, inputs, all_outputs,
               [this, inputs, all_outputs, count](const Engine::Call& call, Operation&) {
                 if (count == 0) return;
                 const Tensor in = joined(inputs), all = at::empty({count * size_}, in.options());
                 engine_->all_gather(call, data_of(in), in.nbytes(), data_of(all));
                 split_into(all, all_outputs);
               });
}

c10::intrusive_ptr<Work> EngineBackend::allgather_into_tensor_coalesced(std::vector<Tensor>& outputs,
                                                                        std::vector<Tensor>& inputs,
                                                                        const AllgatherOptions& opts) {
  const char* const op = "allgather_into_tensor_coalesced";
  TORCH_CHECK(!inputs.empty() && outputs.size() == inputs.size(), op, ": expected as many outputs as inputs, but got ",
              outputs.size(), " and ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_tensor(op, "an input", inputs[i]);
    check_times(op, "an output", outputs[i], "its input", inputs[i]);
  }
  return start(fingerprint_of(inputs), opts.timeout, inputs, outputs,
               [this, inputs, outputs](const Engine::Call& call, Operation&) {
                 std::vector<Flat> flat_inputs, flat_outputs;
                 std::vector<Engine::Gathered> parts;
                 for (size_t i = 0; i < inputs.size(); ++i) {
                   if (inputs[i].numel() == 0) continue;
                   const Elements in = flat_inputs.emplace_back(inputs[i]).elements();
                   parts.push_back({in.data, in.bytes(), flat_outputs.emplace_back(outputs[i]).elements().data});
                 }
                 if (!parts.empty()) engine_->all_gather_together(call, parts);
                 for (Flat& out : flat_outputs) out.write_back();
               });
}

c10::intrusive_ptr<Work> EngineBackend::gather(std::vector<std::vector<Tensor>>& outputs, std::vector<Tensor>& inputs,
                                               const GatherOptions& opts) {
  const Tensor input = only("gather", "inputs", inputs);
  check_rank("gather", "rootRank", opts.rootRank, size_);
  std::vector<Tensor> parts;
  if (rank_ == opts.rootRank) {
    TORCH_CHECK(outputs.size() == 1 && outputs[0].size() == static_cast<size_t>(size_), "gather: expected one list of ",
                size_, " outputs on the root, but got ", outputs.size(), " lists",
                outputs.empty() ? std::string() : c10::str(", the first of ", outputs[0].size()));
    parts = outputs[0];
    for (const Tensor& t : parts) check_same("gather", "an output", t, "the input", input);
  } else {
    TORCH_CHECK(outputs.empty(), "gather: expected no outputs beside the root, but got ", outputs.size(), " lists");
  }
  Fingerprint fingerprint = fingerprint_of(OpType::GATHER, input, ReduceOp::UNUSED, opts.rootRank);
  return start(fingerprint, opts.timeout, inputs, parts,
               [this, input, parts, root = static_cast<int>(opts.rootRank)](const Engine::Call& call, Operation&) {
                 const Flat flat(input);
                 const Elements in = flat.elements();
                 if (in.count == 0) return;
                 const Tensor all = rank_ == root ? at::empty({input.numel() * size_}, input.options()) : Tensor();
                 engine_->gather(call, in.data, in.bytes(), all.defined() ? data_of(all) : nullptr, root);
                 if (all.defined()) split_into(all, parts);
               });
}

c10::intrusive_ptr<Work> EngineBackend::scatter(std::vector<Tensor>& outputs, std::vector<std::vector<Tensor>>& inputs,
                                                const ScatterOptions& opts) {
  const Tensor output = only("scatter", "outputs", outputs);
  check_rank("scatter", "rootRank", opts.rootRank, size_);
  std::vector<Tensor> parts;
  if (rank_ == opts.rootRank) {
    TORCH_CHECK(inputs.size() == 1 && inputs[0].size() == static_cast<size_t>(size_), "scatter: expected one list of ",
                size_, " inputs on the root, but got ", inputs.size(), " lists",
                inputs.empty() ? std::string() : c10::str(", the first of ", inputs[0].size()));
    parts = inputs[0];
    for (const Tensor& t : parts) check_same("scatter", "an input", t, "the output", output);
  } else {
    TORCH_CHECK(inputs.empty(), "scatter: expected no inputs beside the root, but got ", inputs.size(), " lists");
  }
  return start(fingerprint_of(OpType::SCATTER, output, ReduceOp::UNUSED, opts.rootRank), opts.timeout, parts, {output},
               [this, output, parts, root = static_cast<int>(opts.rootRank)](const Engine::Call& call, Operation&) {
                 Flat flat(output);
                 const Elements out = flat.elements();
                 if (out.count == 0) return;
                 const Tensor all = parts.empty() ? Tensor() : joined(parts);
                 engine_->scatter(call, all.defined() ? data_of(all) : nullptr, out.data, out.bytes(), root);
                 flat.write_back();
               });
}

c10::intrusive_ptr<Work> EngineBackend::reduce_scatter_parts(OpType type, const Tensor& output,
                                                             const std::vector<Tensor>& inputs,
                                                             const ReduceScatterOptions& opts) {
  return start(fingerprint_of(type, output, opts.reduceOp), opts.timeout, inputs, {output},
               [this, output, inputs, op = opts.reduceOp](const Engine::Call& call, Operation&) {
                 if (output.numel() == 0) return;
                 Flat all(inputs.size() == 1 ? inputs[0] : joined(inputs)), out(output);
                 before(op, all);
                 engine_->reduce_scatter(call, all.elements(), out.elements(), of_engine(op));
                 after(op, out.tensor());
                 out.write_back();
               });
}

c10::intrusive_ptr<Work> EngineBackend::reduce_scatter(std::vector<Tensor>& outputs,
                                                       std::vector<std::vector<Tensor>>& inputs,
                                                       const ReduceScatterOptions& opts) {
  const Tensor output = only("reduce_scatter", "outputs", outputs);
  engine_->check_reduction("reduce_scatter", opts.reduceOp, output.scalar_type());
  TORCH_CHECK(inputs.size() == 1 && inputs[0].size() == static_cast<size_t>(size_),
              "reduce_scatter: expected one list of ", size_, " inputs, but got ", inputs.size(), " lists",
              inputs.empty() ? std::string() : c10::str(", the first of ", inputs[0].size()));
  for (const Tensor& t : inputs[0]) check_same("reduce_scatter", "an input", t, "the output", output);
  return reduce_scatter_parts(OpType::REDUCE_SCATTER, output, inputs[0], opts);
}

c10::intrusive_ptr<Work> EngineBackend::_reduce_scatter_base(Tensor& output, Tensor& input,
                                                             const ReduceScatterOptions& opts) {
  check_tensor("_reduce_scatter_base", "output", output);
  check_times("_reduce_scatter_base", "input", input, "output", output);
  engine_->check_reduction("_reduce_scatter_base", opts.reduceOp, output.scalar_type());
  return reduce_scatter_parts(OpType::_REDUCE_SCATTER_BASE, output, {input}, opts);
}

c10::intrusive_ptr<Work> EngineBackend::reduce_scatter_tensor_coalesced(std::vector<Tensor>& outputs,
                                                                        std::vector<Tensor>& inputs,
                                                                        const ReduceScatterOptions& opts) {
  const char* const name = "reduce_scatter_tensor_coalesced";
  TORCH_CHECK(!outputs.empty() && outputs.size() == inputs.size(), name,
              ": expected as many outputs as inputs, but got ", outputs.size(), " and ", inputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_tensor(name, "an output", outputs[i]);
    check_times(name, "an input", inputs[i], "its output", outputs[i]);
    engine_->check_reduction(name, opts.reduceOp, outputs[i].scalar_type());
  }
  Fingerprint fingerprint = fingerprint_of(outputs);
  fingerprint.reduction = opts.reduceOp.op_;
  return start(fingerprint, opts.timeout, inputs, outputs,
               [this, outputs, inputs, op = opts.reduceOp](const Engine::Call& call, Operation&) {
                 std::vector<Flat> flat_inputs, flat_outputs;
                 std::vector<Engine::Scattered> parts;
                 for (size_t i = 0; i < outputs.size(); ++i) {
                   if (outputs[i].numel() == 0) continue;
                   before(op, flat_inputs.emplace_back(inputs[i]));
                   parts.push_back({flat_inputs.back().elements(), flat_outputs.emplace_back(outputs[i]).elements()});
                 }
                 if (!parts.empty()) engine_->reduce_scatter_together(call, parts, of_engine(op));
                 for (Flat& out : flat_outputs) {
                   after(op, out.tensor());
                   out.write_back();
                 }
               });
}

c10::intrusive_ptr<Work> EngineBackend::alltoall_base(Tensor& output, Tensor& input,
                                                      std::vector<int64_t>& output_split_sizes,
                                                      std::vector<int64_t>& input_split_sizes,
                                                      const AllToAllOptions& opts) {
  const char* const op = "alltoall_base";
  check_tensor(op, "output", output);
  check_tensor(op, "input", input);
  TORCH_CHECK(output.scalar_type() == input.scalar_type(), op, ": the output is of ", output.scalar_type(),
              ", but the input of ", input.scalar_type());
  TORCH_CHECK(output.dim() > 0 && input.dim() > 0, op, ": tensors must have rows");
  const std::vector<int64_t> from = splits(op, "the input", input_split_sizes, input.size(0), size_);
  const std::vector<int64_t> to = splits(op, "the output", output_split_sizes, output.size(0), size_);
  const auto row_bytes = [](const Tensor& t) {
    return t.size(0) == 0 ? 0 : t.nbytes() / static_cast<size_t>(t.size(0));
  };
  std::vector<size_t> in_bytes, out_bytes;
  for (const int64_t rows : from) in_bytes.push_back(static_cast<size_t>(rows) * row_bytes(input));
  for (const int64_t rows : to) out_bytes.push_back(static_cast<size_t>(rows) * row_bytes(output));
  // Of sizes that each pair of ranks has for itself.
  return start(fingerprint_of(OpType::ALLTOALL_BASE, input, int64_t{0}), opts.timeout, {input}, {output},
               [this, input, output, in_bytes, out_bytes](const Engine::Call& call, Operation&) {
                 const Flat in(input);
                 Flat out(output);
                 engine_->all_to_all(call, in.elements().data, in_bytes, out.elements().data, out_bytes);
                 out.write_back();
               });
}

c10::intrusive_ptr<Work> EngineBackend::alltoall(std::vector<Tensor>& outputs, std::vector<Tensor>& inputs,
                                                 const AllToAllOptions& opts) {
  const auto size = static_cast<size_t>(size_);
  TORCH_CHECK(outputs.size() == size && inputs.size() == size, "alltoall: expected ", size_,
              " inputs and outputs, but got ", inputs.size(), " and ", outputs.size());
  std::vector<size_t> in_bytes, out_bytes;
  for (size_t i = 0; i < size; ++i) {
    check_tensor("alltoall", "an input", inputs[i]);
    check_tensor("alltoall", "an output", outputs[i]);
    TORCH_CHECK(
        inputs[i].scalar_type() == inputs[0].scalar_type() && outputs[i].scalar_type() == inputs[0].scalar_type(),
        "alltoall: all tensors must be of ", inputs[0].scalar_type(), ", the first input's dtype");
    in_bytes.push_back(inputs[i].nbytes());
    out_bytes.push_back(outputs[i].nbytes());
  }
  return start(fingerprint_of(OpType::ALLTOALL, inputs[0], int64_t{0}), opts.timeout, inputs, outputs,
               [this, inputs, outputs, in_bytes, out_bytes](const Engine::Call& call, Operation&) {
                 const Tensor in = joined(inputs), out = room_for(outputs);
                 engine_->all_to_all(call, data_of(in), in_bytes, data_of(out), out_bytes);
                 split_into(out, outputs);
               });
}

c10::intrusive_ptr<Work> EngineBackend::barrier(const BarrierOptions& opts) {
  return start({.operation = OpType::BARRIER}, opts.timeout, {}, {},
               [this](const Engine::Call& call, Operation&) { engine_->barrier(call); });
}

// --- operations between two ranks ---

c10::intrusive_ptr<Work> EngineBackend::start_between(OpType type, const Tensor& tensor, int peer, int tag, Body body) {
  TORCH_CHECK(tag >= 0, opTypeToString(type), ": a tag cannot be negative, but is ", tag);
  take_in_what_was_heard();
  OperationPtr operation;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_usable();
    std::vector<Tensor> inputs, outputs;
    (type == OpType::SEND ? inputs : outputs).push_back(tensor);
    const uint64_t record =
        recorder_->record(recorder_group_, type, messages_++, inputs, outputs, options_->timeout, peer);
    operation =
        make_operation(Fingerprint{.operation = type}, options_->timeout, std::move(outputs), std::move(body), record);
    operation->device = tensor.device();
    operation->is_contiguous = tensor.is_contiguous();
    operation->peer = peer;
    operation->tag = tag;
    enqueue(operation);
  }
  carry_on(operation);
  return operation;
}

c10::intrusive_ptr<Work> EngineBackend::send(std::vector<Tensor>& tensors, int to, int tag) {
  const Tensor t = only("send", "tensors", tensors);
  check_rank("send", "the destination", to, size_);
  TORCH_CHECK(to != rank_, "send: rank ", rank_, " cannot send to itself");
  return start_between(OpType::SEND, t, to, tag, [this, t, to](const Engine::Call& call, Operation&) {
    const Flat flat(t);
    engine_->send(call, flat.elements().data, flat.elements().bytes(), to);
  });
}

c10::intrusive_ptr<Work> EngineBackend::recv(std::vector<Tensor>& tensors, int from, int tag) {
  const Tensor t = only("recv", "tensors", tensors);
  check_rank("recv", "the source", from, size_);
  TORCH_CHECK(from != rank_, "recv: rank ", rank_, " cannot receive from itself");
  return start_between(OpType::RECV, t, from, tag, [this, t, from](const Engine::Call& call, Operation& operation) {
    Flat flat(t);
    engine_->receive(call, flat.elements().data, flat.elements().bytes(), from);
    flat.write_back();
    operation.set_source(from);
  });
}

c10::intrusive_ptr<Work> EngineBackend::recvAnysource(std::vector<Tensor>& tensors, int tag) {
  const Tensor t = only("recvAnysource", "tensors", tensors);
  return start_between(OpType::RECVANYSOURCE, t, -1, tag, [this, t](const Engine::Call& call, Operation& operation) {
    Flat flat(t);
    operation.set_source(engine_->receive_any(call, flat.elements().data, flat.elements().bytes()));
    flat.write_back();
  });
}

// --- the group ---

void EngineBackend::setTimeout(std::chrono::milliseconds timeout) {
  TORCH_CHECK(timeout.count() > 0, "setTimeout: expected a positive time, but got ", timeout.count(), " ms");
  const std::lock_guard<std::mutex> lock(mutex_);
  options_->timeout = timeout;
}

uint64_t EngineBackend::getSequenceNumberForGroup() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sequence_;
}

void EngineBackend::abort_because(const std::string& reason) {
  const std::string why = c10::str("rank ", rank_, " called abort()", reason.empty() ? "" : ": ", reason);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!broken_.empty()) return;
    broken_ = why;
    own_words_ = why.size();
  }
  post(why, {}, kPatience);
  engine_->abort(why);
}

}  // namespace c10d
