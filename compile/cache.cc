#include "compile/cache.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "c10/core/default_dtype.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "c10/util/small_vector.h"
#include "c10/value/object.h"
#include "compile/training/training.h"
#include "graph/capture/capture.h"
#include "graph/ir/text.h"
#include "utils/logging/logging.h"

namespace torch::compiler {
namespace {

using c10::IValue;
using c10::Stack;
using Words = std::vector<int64_t>;

constexpr size_t kMostReasons = 100;

// What a call's tensors and numbers are, as words: equal words, one entry.
class Key {
 public:
  explicit Key(Words& words) : words_(words) { words_.clear(); }

  // Of what cannot be compiled: why.
  std::string refusal;
  bool requires_grad = false;
  c10::SmallVector<const c10::TensorImpl*, 16> tensors;  // each once

  void thread() {
    const c10::ThreadState& state = c10::thread_state();
    if (state.included.raw() != 0) refusal = "a mode of the thread wants to see its operators (autocast, capture)";
    words_.push_back(static_cast<int64_t>(state.included.raw()) << 32 | static_cast<int64_t>(state.excluded.raw()));
    words_.push_back(int64_t{state.grad_enabled} | int64_t{state.inference} << 1 |
                     static_cast<int64_t>(c10::get_default_dtype_as_scalartype()) << 8);
  }
  // One of the state, which are different ones.
  void of_state(const c10::TensorImpl& t) {
    tensors.push_back(&t);
    ++state_;
    describe(t);
  }
  void tensor(const c10::TensorImpl& t) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i] != &t) continue;
      words_.push_back(~static_cast<int64_t>(i));
      return;
    }
    tensors.push_back(&t);
    describe(t);
  }
  void describe(const c10::TensorImpl& t) {
    const int64_t dims = t.dim();
    const uintptr_t address = reinterpret_cast<uintptr_t>(t.has_storage() ? t.data() : nullptr);
    requires_grad = requires_grad || t.key_set().has(c10::DispatchKey::Autograd);
    if (t.key_set().has(c10::DispatchKey::ForwardAD)) refusal = "an argument has a tangent";
    if (t.is_wrapped_number()) refusal = "an argument stands for a number";
    if ((address & (t.itemsize() - 1)) != 0) refusal = "an argument's memory is not aligned to its elements";
    const size_t at = words_.size();
    words_.resize(at + 2 + t.sizes().size() + t.strides().size());
    int64_t* word = words_.data() + at;
    *word++ = static_cast<int64_t>(t.dtype()) | dims << 16 | static_cast<int64_t>(t.key_set().raw()) << 32;
    *word++ = static_cast<int64_t>(t.layout()) << 16 | static_cast<int64_t>(t.device().type()) << 8 |
              static_cast<int64_t>(t.device().index());
    word = std::copy(t.sizes().begin(), t.sizes().end(), word);
    std::copy(t.strides().begin(), t.strides().end(), word);
  }
  void value(const IValue& v) {
    words_.push_back(static_cast<int64_t>(v.tag()));
    if (v.isTensor()) {
      tensor(*v.unsafe_tensor_impl());
    } else if (v.isInt()) {
      words_.push_back(v.toInt());
    } else if (v.isBool()) {
      words_.push_back(v.toBool());
    } else if (v.isDouble()) {
      const double number = v.toDouble();
      int64_t bits = 0;
      std::memcpy(&bits, &number, sizeof(bits));
      words_.push_back(bits);
    } else if (v.isString()) {
      const std::string& text = v.toStringRef();
      words_.push_back(static_cast<int64_t>(text.size()));
      for (size_t i = 0; i < text.size(); i += 8) {
        int64_t part = 0;
        std::memcpy(&part, text.data() + i, std::min<size_t>(8, text.size() - i));
        words_.push_back(part);
      }
    } else if (v.isList() || v.isTuple()) {
      const auto parts = v.isList() ? v.toListRef() : v.toTupleRef().elementsArrayRef();
      words_.push_back(static_cast<int64_t>(parts.size()));
      for (const IValue& part : parts) value(part);
    } else if (!v.isNone()) {
      refusal = c10::str("an argument is a ", v.tag_name(), ", which a program is not compiled for");
    }
  }
  // Which of the arguments share memory with others, or the state.
  void sharing() {
    for (size_t i = state_; i < tensors.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (!tensors[i]->has_storage() || !tensors[j]->has_storage()) continue;
        if (tensors[i]->storage().get() != tensors[j]->storage().get()) continue;
        words_.push_back(static_cast<int64_t>(i) << 32 | static_cast<int64_t>(j));
        break;
      }
    }
  }

 private:
  Words& words_;
  size_t state_ = 0;  // tensors of it
};

uint64_t hash_of(const Words& words) {
  uint64_t h = 0x9e3779b97f4a7c15;
  for (const int64_t w : words) {
    h = (h ^ static_cast<uint64_t>(w)) * 0xff51afd7ed558ccd;
    h ^= h >> 32;
  }
  return h;
}

void append_tensors(const IValue& v, std::vector<at::Tensor>& all) {
  if (v.isTensor()) {
    all.push_back(v.toTensor());
  } else if (v.isList() || v.isTuple()) {
    for (const IValue& part : v.isList() ? v.toListRef() : v.toTupleRef().elementsArrayRef()) append_tensors(part, all);
  }
}

std::vector<int64_t> versions_of(const std::vector<at::Tensor>& tensors) {
  std::vector<int64_t> versions;
  for (const at::Tensor& t : tensors) versions.push_back(t.is_inference() ? 0 : static_cast<int64_t>(t._version()));
  return versions;
}

// What a tensor was when it was taken for a constant. Inference tensors do not count their versions.
struct Snapshot {
  const void* data;
  int64_t version;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

struct Prepared {
  Prepared(std::vector<Snapshot> s, const graph::Graph& graph, const Stack& examples, const ExecutableOptions& options)
      : run(graph, examples, options) {
    if (run.constants() > 0) state = std::move(s);
  }
  Executable run;
  std::vector<Snapshot> state;  // that it has as constants
};

// Where an executable gets an input from: the state's tensors first, then the arguments', each once.
struct Entry {
  Words words;
  uint64_t hash = 0;
  std::vector<size_t> inputs;
  bool plain = false;  // the arguments are the inputs
  mutable std::mutex mutex;
  mutable std::shared_ptr<const Prepared> prepared;
  /// Of which it is made again where state that is constant has changed; null where none is.
  std::unique_ptr<graph::Graph> source;
  c10::intrusive_ptr<TrainingExecutable> training;  // of calls that record gradients
  size_t own_bytes = 0;
  /// Neither: calls of this kind run as they are, and why.
  std::string why;

  std::shared_ptr<const Prepared> latest() const {
    const std::lock_guard<std::mutex> lock(mutex);
    return prepared;
  }
  size_t bytes() const {
    const std::shared_ptr<const Prepared> run = latest();
    return own_bytes + (run != nullptr ? run->run.bytes() : 0) + (training != nullptr ? training->bytes() : 0);
  }
};
using EntryPointer = std::shared_ptr<Entry>;

}  // namespace

struct Cache::Impl {
  Impl(CompileOptions o, State s) : options(std::move(o)), state(std::move(s)) {}

  const CompileOptions options;
  const State state;
  mutable LayerWeights weights;
  mutable std::mutex mutex;
  std::list<EntryPointer> entries;  // the latest used first
  std::unordered_multimap<uint64_t, std::list<EntryPointer>::iterator> by_hash;
  CompileStatistics counts;

  EntryPointer find(const Words& words) {
    const uint64_t hash = hash_of(words);
    const std::lock_guard<std::mutex> lock(mutex);
    if (!entries.empty() && entries.front()->hash == hash && entries.front()->words == words) {
      ++counts.hits;
      return entries.front();
    }
    const auto [first, last] = by_hash.equal_range(hash);
    for (auto at = first; at != last; ++at) {
      if ((*at->second)->words != words) continue;
      ++counts.hits;
      entries.splice(entries.begin(), entries, at->second);
      return entries.front();
    }
    return nullptr;
  }
  void drop_last() {
    const auto last = std::prev(entries.end());
    const auto [first, end] = by_hash.equal_range((*last)->hash);
    for (auto at = first; at != end; ++at) {
      if (at->second != last) continue;
      by_hash.erase(at);
      break;
    }
    entries.erase(last);
  }
  size_t bytes_held() const {
    size_t total = weights.bytes();
    for (const EntryPointer& entry : entries) total += entry->bytes();
    return total;
  }
  // What the arguments of a call are, for people.
  static std::string kinds_of(const std::vector<at::Tensor>& tensors) {
    std::string text;
    for (const at::Tensor& t : tensors) {
      text += c10::str(text.empty() ? "" : ", ", t.scalar_type(), t.sizes(), " strides ", t.strides(), " on ",
                       t.device(), t.requires_grad() ? " requires_grad" : "");
    }
    return text;
  }
  // Before the program is compiled for these.
  void announce(const std::vector<at::Tensor>& tensors) {
    using torch::_logging::Artifact;
    if (!torch::_logging::is_on(Artifact::kGuards) && !torch::_logging::is_on(Artifact::kRecompiles)) return;
    size_t before = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      before = entries.size();
    }
    const std::string kinds = kinds_of(tensors);
    KD_LOG_ARTIFACT(kGuards) << "for " << kinds << "; grad mode " << (c10::thread_state().grad_enabled ? "on" : "off");
    if (before == 0) return;
    KD_LOG_ARTIFACT(kRecompiles) << "compiled again, beside " << before << " that there are, for " << kinds;
  }

  static void announce(const char* what, const Executable& made) {
    const ExecutableReport& report = made.report();
    KD_LOG_ARTIFACT(kFusion) << what << ": " << report.grouped_nodes << " of " << report.nodes << " nodes in "
                             << report.groups << " groups, " << report.layer_nodes << " in " << report.layers
                             << " layers";
    if (!torch::_logging::is_on(torch::_logging::Artifact::kGraphCode)) return;
    std::string text;
    for (const graph::Node* node : made.graph().block()) text += "\n  " + graph::print_node(*node);
    KD_LOG_ARTIFACT(kGraphCode) << what << ":" << text;
  }

  void keep(EntryPointer entry) {
    const std::lock_guard<std::mutex> lock(mutex);
    ++counts.misses;
    const auto [first, last] = by_hash.equal_range(entry->hash);
    for (auto at = first; at != last; ++at) {
      if ((*at->second)->words == entry->words) return;  // another thread was faster
    }
    entries.push_front(std::move(entry));
    by_hash.emplace(entries.front()->hash, entries.begin());
    while (!entries.empty() && (entries.size() > options.max_entries || bytes_held() > options.max_bytes)) {
      drop_last();
      ++counts.evictions;
    }
  }

  // Runs the program as it is, or says that it cannot be compiled.
  void refuse(Stack& stack, const Program& program, const std::string& why, bool always = false) {
    TORCH_CHECK_VALUE(options.eager_fallback || always, "torch::compile: ", why);
    note(why);
    stack = program(stack);
  }
  void note(const std::string& why) {
    KD_LOG_ARTIFACT(kGraphBreaks) << why;
    const std::lock_guard<std::mutex> lock(mutex);
    ++counts.eager_calls;
    if (counts.reasons.size() < kMostReasons &&
        std::find(counts.reasons.begin(), counts.reasons.end(), why) == counts.reasons.end()) {
      counts.reasons.push_back(why);
    }
  }

  void call(Stack& stack, const Program& program) {
    static thread_local Words words;
    Key key(words);
    key.thread();
    for (const auto& [name, tensor] : state.tensors) key.of_state(*tensor.unsafeGetTensorImpl());
    for (const IValue& v : stack) key.value(v);
    key.sharing();
    if (state.modes) state.modes(words);
    if (!key.refusal.empty()) return refuse(stack, program, key.refusal, c10::thread_state().included.raw() != 0);
    if (const EntryPointer entry = find(words)) {
      if (!entry->why.empty()) return refuse(stack, program, entry->why, /*always=*/true);
      return run(*entry, stack);
    }
    announce(tensors_of(stack));
    const bool trains = key.requires_grad && c10::thread_state().grad_enabled && !c10::thread_state().inference;
    trains ? record(Words(words), stack, program) : capture(Words(words), stack, program);
  }

  // The state's, then those of the arguments that are others, each once: as graph::capture() has its inputs.
  std::vector<at::Tensor> tensors_of(const Stack& stack) const {
    std::vector<at::Tensor> once, given;
    for (const auto& [name, tensor] : state.tensors) once.push_back(tensor);
    for (const IValue& v : stack) append_tensors(v, given);
    for (at::Tensor& t : given) {
      const bool known = std::any_of(once.begin(), once.end(), [&](const at::Tensor& o) { return o.is_same(t); });
      if (!known) once.push_back(std::move(t));
    }
    return once;
  }

  void run(const Entry& entry, Stack& stack) const {
    if (entry.training != nullptr) {
      const std::vector<at::Tensor> tensors = tensors_of(stack);
      std::vector<at::Tensor> inputs;
      for (const size_t i : entry.inputs) inputs.push_back(tensors[i]);
      IValue result = (*entry.training)(std::move(inputs));
      stack.clear();
      stack.push_back(std::move(result));
      return;
    }
    if (!entry.plain) {
      const std::vector<at::Tensor> tensors = tensors_of(stack);
      stack.clear();
      for (const size_t i : entry.inputs) stack.emplace_back(tensors[i]);
    }
    if (entry.source == nullptr) return entry.prepared->run(stack);
    const std::shared_ptr<const Prepared> now = up_to_date(entry, stack);
    stack.erase(stack.begin(), stack.begin() + static_cast<std::ptrdiff_t>(now->state.size()));
    now->run(stack);
  }

  // Of an entry with constants, the first of `inputs`: what is prepared for what they are now.
  std::shared_ptr<const Prepared> up_to_date(const Entry& entry, const Stack& inputs) const {
    std::shared_ptr<const Prepared> latest = entry.latest();
    std::vector<Snapshot> now = snapshots(inputs, latest->state.size());
    if (latest->state == now) return latest;
    latest = prepare(*entry.source, inputs, std::move(now));
    const std::lock_guard<std::mutex> lock(entry.mutex);
    return entry.prepared = std::move(latest);
  }
  static std::vector<Snapshot> snapshots(const Stack& inputs, size_t count) {
    std::vector<Snapshot> all;
    for (size_t i = 0; i < count; ++i) {
      const at::Tensor& t = inputs[i].toTensor();
      all.push_back({t.const_data_ptr(), static_cast<int64_t>(t._version())});
    }
    return all;
  }
  std::shared_ptr<const Prepared> prepare(const graph::Graph& graph, const Stack& inputs,
                                          std::vector<Snapshot> constants) const {
    ExecutableOptions wanted;
    wanted.fuse = options.fuse;
    wanted.constants = constants.size();
    wanted.weights = &weights;
    auto prepared = std::make_shared<const Prepared>(std::move(constants), graph, inputs, wanted);
    announce("program", prepared->run);
    return prepared;
  }
  // How many of the inputs, the first ones, are state and may be constants.
  size_t constants_of(const Entry& entry, const Stack& inputs) const {
    size_t count = 0;
    while (options.freeze && count < entry.inputs.size() && entry.inputs[count] < state.tensors.size()) ++count;
    for (size_t i = 0; i < count; ++i) {
      const at::Tensor& t = inputs[i].toTensor();
      if (t.is_inference() || !t.has_storage()) return 0;
    }
    return count;
  }

  static EntryPointer entry_of(Words words) {
    EntryPointer entry = std::make_shared<Entry>();
    entry->words = std::move(words);
    entry->hash = hash_of(entry->words);
    entry->own_bytes = entry->words.size() * sizeof(int64_t) + sizeof(Entry);
    return entry;
  }
  // Of the state's tensors, those with these names, which are in its order.
  std::vector<size_t> state_inputs(const std::vector<std::string>& names) const {
    std::vector<size_t> given;
    for (size_t i = 0; i < state.tensors.size() && given.size() < names.size(); ++i) {
      if (names[given.size()] == state.tensors[i].first) given.push_back(i);
    }
    return given;
  }

  // With a backward pass. What cannot be compiled runs as it is.
  void record(Words words, Stack& stack, const Program& program) {
    const EntryPointer entry = entry_of(std::move(words));
    const size_t tensors = tensors_of(stack).size();
    TrainingOptions wanted;
    wanted.state = state.tensors;
    wanted.executable.fuse = options.fuse;
    TrainingExecutable::Recorded made = TrainingExecutable::record(program, stack, wanted);
    stack = std::move(made.results);
    entry->why = made.why;
    if (made.run == nullptr) {
      note(made.why);
      return keep(entry);
    }
    entry->inputs = state_inputs(made.state);
    for (size_t i = state.tensors.size(); i < tensors; ++i) entry->inputs.push_back(i);
    entry->training = std::move(made.run);
    announce("forward", entry->training->forward());
    announce("backward", entry->training->backward());
    keep(entry);
  }

  void capture(Words words, Stack& stack, const Program& program) {
    const std::vector<at::Tensor> tensors = tensors_of(stack);
    graph::CaptureOptions wanted;
    wanted.state = state.tensors;
    wanted.max_constant_bytes = options.max_constant_bytes;
    std::optional<Stack> results;
    std::optional<graph::Captured> captured;
    const std::vector<int64_t> versions = versions_of(tensors);
    try {
      captured = graph::capture(
          [&](const Stack& inputs) {
            results = program(inputs);
            return *results;
          },
          stack, wanted);
    } catch (const c10::Error& error) {
      // What has written something does not run again.
      if (!options.eager_fallback || versions_of(tensors) != versions) throw;
      note(error.msg());
      stack = program(stack);
      return;
    }
    if (!captured->notes.empty()) {
      const std::string why = "the program's steps depend on elements of tensors: " + captured->notes[0];
      TORCH_CHECK_VALUE(options.eager_fallback, "torch::compile: ", why);
      note(why);
      stack = std::move(*results);
      return;
    }
    const EntryPointer entry = entry_of(std::move(words));
    std::vector<size_t> given = state_inputs(captured->state);
    const size_t inputs = captured->graph->block().input_count();
    const size_t own = inputs - given.size();
    for (size_t i = tensors.size() - own; i < tensors.size(); ++i) given.push_back(i);
    Stack examples;
    for (const size_t i : given) examples.emplace_back(tensors[i]);
    entry->inputs = std::move(given);
    entry->plain = state.tensors.empty() && stack.size() == own &&
                   std::all_of(stack.begin(), stack.end(), [](const IValue& v) { return v.isTensor(); });
    try {
      entry->prepared = prepare(*captured->graph, examples, snapshots(examples, constants_of(*entry, examples)));
    } catch (const c10::Error& error) {
      // A device may not compile what the CPU's groups only look at.
      if (!options.eager_fallback) throw;
      entry->why = error.msg();
      note(entry->why);
      keep(entry);
      stack = std::move(*results);
      return;
    }
    if (!entry->prepared->state.empty()) entry->source = std::move(captured->graph);
    keep(entry);
    stack = std::move(*results);
  }
};

Cache::Cache(CompileOptions options, State state)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(state))) {}
Cache::~Cache() = default;

void Cache::call(Stack& stack, const Program& program) {
  impl_->call(stack, program);
}
CompileStatistics Cache::statistics() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  CompileStatistics all = impl_->counts;
  all.entries = impl_->entries.size();
  all.bytes = impl_->bytes_held();
  for (const EntryPointer& entry : impl_->entries) {
    if (const auto prepared = entry->latest()) all.reports.push_back(prepared->run.report());
    if (entry->training == nullptr) continue;
    all.reports.push_back(entry->training->forward().report());
    all.reports.push_back(entry->training->backward().report());
  }
  return all;
}
void Cache::clear() {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->entries.clear();
  impl_->by_hash.clear();
}

}  // namespace torch::compiler
