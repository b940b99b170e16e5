#include "distributed/process_group/host_backend.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/process_group/rank_local.h"
#include "distributed/process_group/reduce.h"

namespace c10d {
namespace {

using at::Tensor;
using Clock = std::chrono::steady_clock;

// Tags of messages between two ranks, and of operations of all, of which each has two.
constexpr uint32_t kBetweenRanks = 0x80000000u, kMonitored = 0x7FFFFFFFu, kSequences = 1u << 29;

// How long the others are told about an error before this rank acts on it.
constexpr std::chrono::milliseconds kPatience(500);
// How long ranks have to answer how far they are.
constexpr std::chrono::milliseconds kAnswerTime(500);

void check_tensor(const char* op, const char* name, const Tensor& t) {
  TORCH_CHECK(t.defined(), op, ": ", name, " is undefined");
  TORCH_CHECK(t.layout() == c10::kStrided, op, ": ", name, " must be dense, but its layout is ", t.layout());
  TORCH_CHECK(t.is_cpu(), op, ": ", name, " must be on the CPU, but it is on ", t.device());
}

const Tensor& only(const char* op, const char* name, const std::vector<Tensor>& tensors) {
  TORCH_CHECK(tensors.size() == 1, op, ": expected one tensor in ", name, ", but got ", tensors.size());
  check_tensor(op, name, tensors[0]);
  return tensors[0];
}

void check_same(const char* op, const char* name, const Tensor& t, const char* as_name, const Tensor& as) {
  check_tensor(op, name, t);
  TORCH_CHECK(t.scalar_type() == as.scalar_type(), op, ": ", name, " is of ", t.scalar_type(), ", but ", as_name,
              " of ", as.scalar_type());
  TORCH_CHECK(t.numel() == as.numel(), op, ": ", name, " has ", t.numel(), " elements, but ", as_name, " has ",
              as.numel());
}

void check_times(const char* op, const char* name, const Tensor& t, const char* of_name, const Tensor& of, int size) {
  check_tensor(op, name, t);
  TORCH_CHECK(t.scalar_type() == of.scalar_type(), op, ": ", name, " is of ", t.scalar_type(), ", but ", of_name,
              " of ", of.scalar_type());
  TORCH_CHECK(t.numel() == of.numel() * size, op, ": ", name, " must have ", size, " times the ", of.numel(),
              " elements of ", of_name, ", but it has ", t.numel());
}

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

ReduceOp::RedOpType of_engine(const ReduceOp& op) {
  return op.op_ == ReduceOp::AVG || op.op_ == ReduceOp::PREMUL_SUM ? ReduceOp::SUM : op.op_;
}
void before(const ReduceOp& op, Flat& flat) {
  if (op.op_ != ReduceOp::PREMUL_SUM) return;
  flat.own();
  const Tensor& factor = op.supplement_->tensor_factor;
  factor.defined() ? flat.tensor().mul_(factor) : flat.tensor().mul_(op.supplement_->double_factor);
}
void after(const ReduceOp& op, const Tensor& result, int size) {
  if (op.op_ == ReduceOp::AVG) result.div_(size);
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
  return text;
}

class HostBackend::Operation final : public Work {
 public:
  Operation(int rank, const Fingerprint& fingerprint, std::chrono::milliseconds timeout, std::vector<Tensor> outputs,
            Body body, uint64_t record)
      : Work(rank, fingerprint.operation), fingerprint(fingerprint), body(std::move(body)), record(record) {
    outputs_ = std::move(outputs);
    sequence_number_ = fingerprint.sequence;
    timeout_ = timeout;
  }
  using Work::finish;
  void set_source(int rank) { source_rank_ = rank; }

  // "ALLREDUCE number 3 of 10 Float elements (SUM)", "SEND with tag 0 to rank 1"
  std::string describe() const {
    if (!isP2POp(type_)) return c10d::describe(fingerprint);
    std::string text = c10::str(opTypeToString(type_), " with tag ", tag);
    if (peer >= 0) text += c10::str(type_ == OpType::SEND ? " to rank " : " from rank ", peer);
    return text;
  }

  const Fingerprint fingerprint;
  Body body;
  const uint64_t record;   // the flight recorder's
  int peer = -1, tag = 0;  // between two ranks
  std::chrono::steady_clock::time_point begin;
  bool is_reported = false;  // as one that takes long
};

HostBackend::HostBackend(std::unique_ptr<Engine> engine, c10::intrusive_ptr<HostOptions> options,
                         std::unique_ptr<Notice> notice)
    : Backend(engine->rank(), engine->size()),
      engine_(std::move(engine)),
      options_(std::move(options)),
      notice_(std::move(notice)),
      recorder_(FlightRecorder::get()),
      recorder_group_(recorder_->add_group(options_->group_name, options_->group_desc, options_->backend, rank_,
                                           options_->global_ranks_in_group, size_)) {
  TORCH_CHECK(options_->threads >= 0, "Options: expected no thread or more, but got ", options_->threads);
  if (notice_) watch();
  for (int i = 0; i < options_->threads; ++i) threads_.emplace_back([this] { serve(); });
}

void HostBackend::watch() {
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

HostBackend::~HostBackend() {
  join_threads();
  if (posting_.valid()) posting_.wait();
  if (notice_) notice_->unwatch();
}

void HostBackend::join_threads() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

// --- operations of all ranks ---

// Ranks in errors are the group's; where they are others in the job, the list tells which.
std::string HostBackend::label() const {
  std::string text = "process group " + options_->group_name;
  const std::vector<uint64_t>& ranks = options_->global_ranks_in_group;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != i) return c10::str(text, " of the ranks ", c10::Join(", ", ranks));
  }
  return text;
}

void HostBackend::check_usable() const {
  TORCH_CHECK_WITH(DistBackendError, broken_.empty(), label(), ": rank ", rank_, " cannot use it any more: ", broken_);
  TORCH_CHECK_WITH(DistBackendError, !stopping_, label(), " was shut down");
}

// What another rank has said becomes this rank's error with the first call after it.
void HostBackend::take_in_what_was_heard() {
  std::string why;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!broken_.empty()) return;
    why = heard_;
  }
  if (!why.empty()) break_group(why, {});
}

c10::intrusive_ptr<Work> HostBackend::start(Fingerprint fingerprint, std::chrono::milliseconds timeout,
                                            const std::vector<Tensor>& inputs, std::vector<Tensor> outputs, Body body) {
  take_in_what_was_heard();
  OperationPtr operation;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_usable();
    fingerprint.sequence = sequence_++;
    if (timeout == kUnsetTimeout) timeout = options_->timeout;
    const uint64_t record =
        recorder_->record(recorder_group_, fingerprint.operation, fingerprint.sequence, inputs, outputs, timeout);
    operation =
        c10::make_intrusive<Operation>(rank_, fingerprint, timeout, std::move(outputs), std::move(body), record);
    last_ = fingerprint;
    if (options_->threads > 0) queue_.push_back(operation);
  }
  options_->threads > 0 ? changed_.notify_all() : run(operation);
  return operation;
}

void HostBackend::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const OperationPtr operation = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    run(operation);
    lock.lock();
  }
}

void HostBackend::run(const OperationPtr& operation) {
  const auto begin = Clock::now();
  const auto ms = [&] { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); };
  operation->begin = begin;
  recorder_->start(operation->record);
  std::exception_ptr error;
  try {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      running_.push_back(operation);
      if (!broken_.empty()) TORCH_CHECK_WITH(DistBackendError, false, broken_);
    }
    const c10::AutoDispatchBelowADInplaceOrView plain;
    Engine::Call call{.deadline = begin + operation->getTimeout()};
    const bool is_between = isP2POp(operation->retrieveOpType());
    call.tag = is_between ? kBetweenRanks | static_cast<uint32_t>(operation->tag)
                          : static_cast<uint32_t>(operation->fingerprint.sequence % kSequences * 2);
    if (!is_between) {
      if (options_->compare_calls) compare_calls(call, operation->fingerprint);
      ++call.tag;
    }
    operation->body(call, *operation);
  } catch (const std::exception& e) {
    error = failed(*operation, e, ms());
  }
  recorder_->end(operation->record, error != nullptr);
  operation->body = nullptr;  // and the tensors that it holds
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase(running_, operation);
  }
  operation->finish(error);
}

std::exception_ptr HostBackend::failed(const Operation& operation, const std::exception& why, double ms) {
  const auto* const known = dynamic_cast<const c10::Error*>(&why);
  const auto* const lost = dynamic_cast<const LostRanksError*>(&why);
  std::string text =
      c10::str(label(), ": ", operation.describe(), " failed on rank ", rank_, " after ", static_cast<int64_t>(ms),
               " ms (of ", operation.getTimeout().count(), "): ", known != nullptr ? known->msg() : why.what());
  break_group(text, lost != nullptr ? lost->ranks() : std::vector<int>());
  try {
    TORCH_CHECK_WITH(DistBackendError, false, text);
  } catch (...) {
    return std::current_exception();
  }
}

// Only the first error of a rank ends anything. What the others say is added to it.
void HostBackend::break_group(std::string& why, const std::vector<int>& waited_for) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!broken_.empty()) return;
    broken_ = why;
  }
  const bool is_posted = post(why, waited_for);
  engine_->abort(why);
  recorder_->dump_to_file(/*is_error=*/true);
  if (!notice_) return;
  try {
    why += is_posted ? notice_->others() : "; what the other ranks say is not known: the store does not answer";
  } catch (const c10::Error& e) {
    why += c10::str("; what the other ranks say is not known: ", e.msg());
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  broken_ = why;
}

// Whether the others are told now; a store that does not answer is not waited for.
bool HostBackend::post(const std::string& why, const std::vector<int>& waited_for) {
  if (!notice_) return false;
  posting_ = std::async(std::launch::async, [this, why, waited_for] { notice_->post(why, waited_for); });
  if (posting_.wait_for(kPatience) != std::future_status::ready) return false;
  try {
    posting_.get();
  } catch (const c10::Error&) {
    return false;
  }
  return true;
}

// Another rank has broken the group. What runs here fails then, and tells more.
void HostBackend::hear(const std::string& why) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!broken_.empty() || !heard_.empty()) return;
    heard_ = why;
  }
  engine_->abort(why);
  recorder_->dump_to_file(/*is_error=*/true);
}

// --- operations that take long ---

std::chrono::milliseconds HostBackend::default_stall_warning() {
  const auto text = rank_environment("TORCH_DISTRIBUTED_STALL_WARNING_SEC");
  if (!text) return std::chrono::seconds(10);
  char* end = nullptr;
  const double seconds = std::strtod(text->c_str(), &end);
  TORCH_CHECK_VALUE(end != text->c_str() && *end == '\0' && seconds >= 0 && seconds < 1e9,
                    "TORCH_DISTRIBUTED_STALL_WARNING_SEC must be a number of seconds, but is '", *text, "'");
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// One rank asks; all that live answer, whatever they do.
void HostBackend::look_for_stalls() {
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

void HostBackend::warn_of_stall(const Question& question, const std::vector<std::string>& answers) const {
  std::vector<int> called, silent;
  std::string others;
  for (int rank = 0; rank < size_; ++rank) {
    const std::string& answer = answers[static_cast<size_t>(rank)];
    const std::string last = answer.substr(std::min(answer.size(), answer.find(' ') + 1));
    if (answer.empty()) {
      silent.push_back(rank);
    } else if (question.sequence && std::strtoull(answer.c_str(), nullptr, 10) > *question.sequence) {
      called.push_back(rank);
    } else if (question.sequence || rank != rank_) {
      others += c10::str("; ", question.sequence ? "not called by " : "", "rank ", rank,
                         last.empty() ? ", which has called nothing of all ranks" : ", which last called ", last);
    }
  }
  std::string text = c10::str(label(), ": rank ", rank_, " waits for ",
                              std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - question.begin).count(),
                              " s in ", question.operation);
  if (!called.empty()) text += c10::str("; called by rank", called.size() == 1 ? " " : "s ", c10::Join(", ", called));
  text += others;
  if (!silent.empty())
    text += c10::str("; no answer from rank", silent.size() == 1 ? " " : "s ", c10::Join(", ", silent));
  TORCH_WARN(text);
}

// All calls are the same if each is its left neighbour's.
void HostBackend::compare_calls(const Engine::Call& call, const Fingerprint& mine) {
  if (size_ == 1) return;
  Fingerprint theirs;
  const int left = (rank_ + size_ - 1) % size_;
  static_assert(std::is_trivially_copyable_v<Fingerprint>);
  engine_->send_receive(call, &mine, (rank_ + 1) % size_, &theirs, left, sizeof mine);
  TORCH_CHECK_WITH(DistBackendError, theirs == mine, "the ranks do not call the same: rank ", rank_, " called ",
                   describe(mine), ", and rank ", left, " called ", describe(theirs));
}

c10::intrusive_ptr<Work> HostBackend::broadcast(std::vector<Tensor>& tensors, const BroadcastOptions& opts) {
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

c10::intrusive_ptr<Work> HostBackend::allreduce(std::vector<Tensor>& tensors, const AllreduceOptions& opts) {
  const Tensor t = only("allreduce", "tensors", tensors);
  check_reducible("allreduce", opts.reduceOp, t.scalar_type());
  return start(fingerprint_of(OpType::ALLREDUCE, t, opts.reduceOp), opts.timeout, {t}, {t},
               [this, t, op = opts.reduceOp](const Engine::Call& call, Operation&) {
                 Flat flat(t);
                 before(op, flat);
                 if (t.numel() != 0) engine_->all_reduce(call, flat.elements(), of_engine(op));
                 after(op, flat.tensor(), size_);
                 flat.write_back();
               });
}

c10::intrusive_ptr<Work> HostBackend::allreduce_coalesced(std::vector<Tensor>& tensors,
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
  check_reducible(op, opts.reduceOp, tensors[0].scalar_type());
  Fingerprint fingerprint = fingerprint_of(OpType::ALLREDUCE_COALESCED, tensors[0], opts.reduceOp);
  fingerprint.count = static_cast<uint64_t>(count);
  return start(fingerprint, opts.timeout, tensors, tensors,
               [this, tensors, reduction = opts.reduceOp](const Engine::Call& call, Operation&) {
                 Flat flat(joined(tensors));
                 before(reduction, flat);
                 if (flat.tensor().numel() != 0) engine_->all_reduce(call, flat.elements(), of_engine(reduction));
                 after(reduction, flat.tensor(), size_);
                 split_into(flat.tensor(), tensors);
               });
}

c10::intrusive_ptr<Work> HostBackend::reduce(std::vector<Tensor>& tensors, const ReduceOptions& opts) {
  const Tensor t = only("reduce", "tensors", tensors);
  check_rank("reduce", "rootRank", opts.rootRank, size_);
  TORCH_CHECK(opts.rootTensor == 0, "reduce: rootTensor must be 0, but is ", opts.rootTensor);
  check_reducible("reduce", opts.reduceOp, t.scalar_type());
  return start(
      fingerprint_of(OpType::REDUCE, t, opts.reduceOp, opts.rootRank), opts.timeout, {t}, {t},
      [this, t, op = opts.reduceOp, root = static_cast<int>(opts.rootRank)](const Engine::Call& call, Operation&) {
        Flat flat(t);
        if (rank_ != root) flat.own();  // which keeps its elements
        before(op, flat);
        if (t.numel() != 0) engine_->reduce(call, flat.elements(), of_engine(op), root);
        if (rank_ != root) return;
        after(op, flat.tensor(), size_);
        flat.write_back();
      });
}

c10::intrusive_ptr<Work> HostBackend::_allgather_base(Tensor& output, Tensor& input, const AllgatherOptions& opts) {
  check_tensor("_allgather_base", "input", input);
  check_times("_allgather_base", "output", output, "input", input, size_);
  return start(fingerprint_of(OpType::_ALLGATHER_BASE, input, input.numel()), opts.timeout, {input}, {output},
               [this, input, output](const Engine::Call& call, Operation&) {
                 const Flat in(input);
                 Flat all(output);
                 const Elements own = in.elements();
                 if (own.count != 0) engine_->all_gather(call, own.data, own.bytes(), all.elements().data);
                 all.write_back();
               });
}

c10::intrusive_ptr<Work> HostBackend::allgather(std::vector<std::vector<Tensor>>& outputs, std::vector<Tensor>& inputs,
                                                const AllgatherOptions& opts) {
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

c10::intrusive_ptr<Work> HostBackend::allgather_coalesced(std::vector<std::vector<Tensor>>& outputs,
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

c10::intrusive_ptr<Work> HostBackend::allgather_into_tensor_coalesced(std::vector<Tensor>& outputs,
                                                                      std::vector<Tensor>& inputs,
                                                                      const AllgatherOptions& opts) {
  const char* const op = "allgather_into_tensor_coalesced";
  TORCH_CHECK(!inputs.empty() && outputs.size() == inputs.size(), op, ": expected as many outputs as inputs, but got ",
              outputs.size(), " and ", inputs.size());
  uint64_t bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_tensor(op, "an input", inputs[i]);
    check_times(op, "an output", outputs[i], "its input", inputs[i], size_);
    bytes += inputs[i].nbytes();
  }
  return start({.count = bytes, .operation = OpType::COALESCED, .dtype = c10::ScalarType::Byte}, opts.timeout, inputs,
               outputs, [this, inputs, outputs](const Engine::Call& call, Operation&) {
                 for (size_t i = 0; i < inputs.size(); ++i) {
                   const Flat in(inputs[i]);
                   Flat out(outputs[i]);
                   if (in.elements().count == 0) continue;
                   engine_->all_gather(call, in.elements().data, in.elements().bytes(), out.elements().data);
                   out.write_back();
                 }
               });
}

c10::intrusive_ptr<Work> HostBackend::gather(std::vector<std::vector<Tensor>>& outputs, std::vector<Tensor>& inputs,
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

c10::intrusive_ptr<Work> HostBackend::scatter(std::vector<Tensor>& outputs, std::vector<std::vector<Tensor>>& inputs,
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

c10::intrusive_ptr<Work> HostBackend::reduce_scatter_parts(OpType type, const Tensor& output,
                                                           const std::vector<Tensor>& inputs,
                                                           const ReduceScatterOptions& opts) {
  return start(fingerprint_of(type, output, opts.reduceOp), opts.timeout, inputs, {output},
               [this, output, inputs, op = opts.reduceOp](const Engine::Call& call, Operation&) {
                 if (output.numel() == 0) return;
                 Flat all(joined(inputs)), out(output);  // a copy: an engine may change it
                 before(op, all);
                 engine_->reduce_scatter(call, all.elements(), out.elements(), of_engine(op));
                 after(op, out.tensor(), size_);
                 out.write_back();
               });
}

c10::intrusive_ptr<Work> HostBackend::reduce_scatter(std::vector<Tensor>& outputs,
                                                     std::vector<std::vector<Tensor>>& inputs,
                                                     const ReduceScatterOptions& opts) {
  const Tensor output = only("reduce_scatter", "outputs", outputs);
  check_reducible("reduce_scatter", opts.reduceOp, output.scalar_type());
  TORCH_CHECK(inputs.size() == 1 && inputs[0].size() == static_cast<size_t>(size_),
              "reduce_scatter: expected one list of ", size_, " inputs, but got ", inputs.size(), " lists",
              inputs.empty() ? std::string() : c10::str(", the first of ", inputs[0].size()));
  for (const Tensor& t : inputs[0]) check_same("reduce_scatter", "an input", t, "the output", output);
  return reduce_scatter_parts(OpType::REDUCE_SCATTER, output, inputs[0], opts);
}

c10::intrusive_ptr<Work> HostBackend::_reduce_scatter_base(Tensor& output, Tensor& input,
                                                           const ReduceScatterOptions& opts) {
  check_tensor("_reduce_scatter_base", "output", output);
  check_times("_reduce_scatter_base", "input", input, "output", output, size_);
  check_reducible("_reduce_scatter_base", opts.reduceOp, output.scalar_type());
  return reduce_scatter_parts(OpType::_REDUCE_SCATTER_BASE, output, {input}, opts);
}

c10::intrusive_ptr<Work> HostBackend::reduce_scatter_tensor_coalesced(std::vector<Tensor>& outputs,
                                                                      std::vector<Tensor>& inputs,
                                                                      const ReduceScatterOptions& opts) {
  const char* const name = "reduce_scatter_tensor_coalesced";
  TORCH_CHECK(!outputs.empty() && outputs.size() == inputs.size(), name,
              ": expected as many outputs as inputs, but got ", outputs.size(), " and ", inputs.size());
  uint64_t bytes = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_tensor(name, "an output", outputs[i]);
    check_times(name, "an input", inputs[i], "its output", outputs[i], size_);
    check_reducible(name, opts.reduceOp, outputs[i].scalar_type());
    bytes += outputs[i].nbytes();
  }
  Fingerprint fingerprint{.count = bytes, .operation = OpType::COALESCED, .dtype = c10::ScalarType::Byte};
  fingerprint.reduction = opts.reduceOp.op_;
  return start(fingerprint, opts.timeout, inputs, outputs,
               [this, outputs, inputs, op = opts.reduceOp](const Engine::Call& call, Operation&) {
                 for (size_t i = 0; i < outputs.size(); ++i) {
                   if (outputs[i].numel() == 0) continue;
                   Flat all(inputs[i]), out(outputs[i]);
                   all.own();
                   before(op, all);
                   engine_->reduce_scatter(call, all.elements(), out.elements(), of_engine(op));
                   after(op, out.tensor(), size_);
                   out.write_back();
                 }
               });
}

c10::intrusive_ptr<Work> HostBackend::alltoall_base(Tensor& output, Tensor& input,
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

c10::intrusive_ptr<Work> HostBackend::alltoall(std::vector<Tensor>& outputs, std::vector<Tensor>& inputs,
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

c10::intrusive_ptr<Work> HostBackend::barrier(const BarrierOptions& opts) {
  return start({.operation = OpType::BARRIER}, opts.timeout, {}, {},
               [this](const Engine::Call& call, Operation&) { engine_->barrier(call); });
}

// --- operations between two ranks ---

c10::intrusive_ptr<Work> HostBackend::start_between(OpType type, const Tensor& tensor, int peer, int tag, Body body) {
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
    operation = c10::make_intrusive<Operation>(rank_, Fingerprint{.operation = type}, options_->timeout,
                                               std::move(outputs), std::move(body), record);
    operation->peer = peer;
    operation->tag = tag;
    if (options_->threads > 0) queue_on_line(operation);
  }
  options_->threads > 0 ? changed_.notify_all() : run(operation);
  return operation;
}

void HostBackend::queue_on_line(const OperationPtr& operation) {
  const Line line(operation->retrieveOpType(), operation->peer, operation->tag);
  std::deque<OperationPtr>& waiting = lines_[line];
  waiting.push_back(operation);
  if (waiting.size() > 1) return;
  ready_lines_.push_back(line);
  // A message waits for another rank: no other may wait for it.
  if (idle_line_threads_ < ready_lines_.size()) threads_.emplace_back([this] { serve_lines(); });
}

void HostBackend::serve_lines() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++idle_line_threads_;
    changed_.wait(lock, [&] { return stopping_ || !ready_lines_.empty(); });
    --idle_line_threads_;
    if (ready_lines_.empty()) return;
    const Line line = ready_lines_.front();
    ready_lines_.pop_front();
    std::deque<OperationPtr>& waiting = lines_[line];
    while (!waiting.empty()) {
      const OperationPtr operation = waiting.front();
      lock.unlock();
      run(operation);
      lock.lock();
      waiting.pop_front();
    }
    lines_.erase(line);
  }
}

c10::intrusive_ptr<Work> HostBackend::send(std::vector<Tensor>& tensors, int to, int tag) {
  const Tensor t = only("send", "tensors", tensors);
  check_rank("send", "the destination", to, size_);
  TORCH_CHECK(to != rank_, "send: rank ", rank_, " cannot send to itself");
  return start_between(OpType::SEND, t, to, tag, [this, t, to](const Engine::Call& call, Operation&) {
    const Flat flat(t);
    engine_->send(call, flat.elements().data, flat.elements().bytes(), to);
  });
}

c10::intrusive_ptr<Work> HostBackend::recv(std::vector<Tensor>& tensors, int from, int tag) {
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

c10::intrusive_ptr<Work> HostBackend::recvAnysource(std::vector<Tensor>& tensors, int tag) {
  const Tensor t = only("recvAnysource", "tensors", tensors);
  return start_between(OpType::RECVANYSOURCE, t, -1, tag, [this, t](const Engine::Call& call, Operation& operation) {
    Flat flat(t);
    operation.set_source(engine_->receive_any(call, flat.elements().data, flat.elements().bytes()));
    flat.write_back();
  });
}

void HostBackend::monitoredBarrier(const BarrierOptions& opts, bool wait_all_ranks) {
  std::chrono::milliseconds timeout = opts.timeout;
  take_in_what_was_heard();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_usable();
    if (timeout == kUnsetTimeout) timeout = options_->timeout;
  }
  const Engine::Call call{.tag = kMonitored, .deadline = Clock::now() + timeout};
  char message = 0;
  if (rank_ != 0) {
    try {
      engine_->send(call, &message, 1, 0);
      engine_->receive(call, &message, 1, 0);
    } catch (const c10::Error& e) {
      TORCH_CHECK_WITH(DistBackendError, false, "[Rank ", rank_,
                       "]: rank 0 did not pass monitoredBarrier, or found a rank that ", "did not: ", e.msg());
    }
    return;
  }
  std::vector<bool> is_here(static_cast<size_t>(size_));
  std::string why;
  for (int here = 1; here < size_ && why.empty(); ++here) {
    try {
      is_here[static_cast<size_t>(engine_->receive_any(call, &message, 1))] = true;
    } catch (const c10::Error& e) {
      why = e.msg();
    }
  }
  std::vector<int> missing;
  for (int rank = 1; rank < size_ && (missing.empty() || wait_all_ranks); ++rank) {
    if (!is_here[static_cast<size_t>(rank)]) missing.push_back(rank);
  }
  if (!missing.empty()) {
    std::string text = c10::str("[Rank 0]: Rank", missing.size() == 1 ? " " : "s ", c10::Join(", ", missing),
                                " failed to pass monitoredBarrier in ", timeout.count(), " ms: ", why);
    const std::string message_of_error = text;
    break_group(text, missing);
    TORCH_CHECK_WITH(DistBackendError, false, message_of_error);
  }
  for (int rank = 1; rank < size_; ++rank) engine_->send(call, &message, 1, rank);
}

// --- the group ---

void HostBackend::setTimeout(std::chrono::milliseconds timeout) {
  TORCH_CHECK(timeout.count() > 0, "setTimeout: expected a positive time, but got ", timeout.count(), " ms");
  const std::lock_guard<std::mutex> lock(mutex_);
  options_->timeout = timeout;
}

uint64_t HostBackend::getSequenceNumberForGroup() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sequence_;
}

void HostBackend::abort_because(const std::string& reason) {
  const std::string why = c10::str("rank ", rank_, " called abort()", reason.empty() ? "" : ": ", reason);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!broken_.empty()) return;
    broken_ = why;
  }
  post(why, {});
  engine_->abort(why);
}

void HostBackend::shutdown() {
  join_threads();
}

}  // namespace c10d
