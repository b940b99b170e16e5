#include "tests/fuzz/runner.h"

#include <fnmatch.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "aten/core/tensor.h"
#include "aten/nested/nested_tensor_impl.h"
#include "aten/quantized/quantized_tensor_impl.h"
#include "aten/sparse/compressed_tensor_impl.h"
#include "aten/sparse/sparse_tensor_impl.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/memory/small_object.h"

namespace fuzz {
namespace {

using at::Tensor;
using c10::IValue;

constexpr unsigned kSecondsACall = 20;
constexpr size_t kTextBytes = 1 << 16;

// What a child tells its parent.
struct Shared {
  volatile int number;
  volatile size_t findings;
  int finding_number;
  char text[kTextBytes];
};

// The body in a child, from `first` on, until the first finding.
[[noreturn]] void run_child(Shared& shared, int first, int end, const std::function<std::string(int)>& body) noexcept {
  // Memory that no limit of the allocator sees (vectors, say) is bounded too. The sanitizers reserve far more than they use.
  if (!C10_SANITIZED_ALLOCATION) {
    const rlimit limit{size_t{3} << 30, size_t{3} << 30};
    setrlimit(RLIMIT_DATA, &limit);
  }
  for (int i = first; i < end; ++i) {
    shared.number = i;
    alarm(kSecondsACall);
    const std::string text = body(i);
    if (text.empty()) continue;
    std::strncpy(shared.text, text.c_str(), kTextBytes - 1);
    shared.finding_number = i;
    shared.findings = 1;
    break;
  }
  _exit(0);
}

}  // namespace

std::vector<Finding> run_isolated(int first, int count, size_t maximum, const std::function<std::string(int)>& body) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  TORCH_CHECK(memory != MAP_FAILED, "no shared memory");
  Shared& shared = *static_cast<Shared*>(memory);
  std::vector<Finding> findings;
  const int end = first + count;
  while (first < end && findings.size() < maximum) {
    shared.number = first;
    shared.findings = 0;
    std::fflush(nullptr);  // or the child would print it again
    const pid_t child = fork();
    TORCH_CHECK(child >= 0, "fork failed");
    if (child == 0) run_child(shared, first, end, body);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
    }
    if (shared.findings != 0) {
      findings.push_back({shared.finding_number, shared.text});
      first = shared.finding_number + 1;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      break;
    } else {
      const int number = shared.number;
      std::string what = WIFSIGNALED(status) ? WTERMSIG(status) == SIGALRM ? "did not end within " + std::to_string(kSecondsACall) + " seconds"
                                                                           : std::string("ended by ") + strsignal(WTERMSIG(status))
                                             : "ended with status " + std::to_string(WEXITSTATUS(status));
      findings.push_back({number, std::move(what)});
      first = number + 1;
    }
  }
  munmap(memory, sizeof(Shared));
  return findings;
}

Snapshot::Snapshot(const c10::FunctionSchema& schema, const c10::Stack& arguments) {
  // The schemas do not say so, but these change: the running statistics of normalisation, and rrelu's noise.
  static constexpr const char* kWrittenAnyway[] = {"running_mean", "running_var", "noise", "dst"};
  const bool has_out = std::any_of(schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument& a) { return a.is_out(); });
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    // set_ makes the source's storage larger where it does not reach as far as is asked for; so does set, where that
    // may be self's.
    const bool grown = (schema.base_name() == "set_" && argument.name() == "source") || schema.base_name() == "set";
    // This one changes its weight, as PyTorch's does.
    const bool saturated = schema.base_name() == "_saturate_weight_to_fp16";
    const bool anyway = grown || saturated || std::any_of(std::begin(kWrittenAnyway), std::end(kWrittenAnyway), [&](const char* name) { return argument.name() == name; });
    add(argument, arguments[i], argument.is_write() || anyway, anyway && has_out);
  }
}

void Snapshot::add(const c10::Argument& argument, const IValue& value, bool written, bool unsaid) {
  const bool in_list = argument.shape().list;
  each_tensor(value, [&](const Tensor& t) {
    Entry entry{argument.name(), IValue(t), t.sizes().vec(), t.strides().vec(), t.storage_offset(), nullptr, {}, written, in_list, unsaid};
    if (!t.is_meta()) {
      entry.data = t.storage().data();
      entry.bytes.resize(t.storage().nbytes());
      if (!entry.bytes.empty()) std::memcpy(entry.bytes.data(), entry.data, entry.bytes.size());
    }
    entries_.push_back(std::move(entry));
  });
}

std::string Snapshot::difference(bool after_error) const {
  for (const Entry& entry : entries_) {
    const Tensor t = entry.tensor.toTensor();
    const bool moved = t.is_meta() ? entry.data != nullptr : t.storage().data() != entry.data || t.storage().nbytes() != entry.bytes.size();
    const bool reshaped = t.sizes() != at::IntArrayRef(entry.sizes) || t.strides() != at::IntArrayRef(entry.strides) || t.storage_offset() != entry.offset;
    const bool is_output = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) { return other.written && other.tensor.unsafe_tensor_impl() == entry.tensor.unsafe_tensor_impl(); });
    if (is_output && (moved || reshaped || !after_error)) continue;
    // The tensors of a list change one after the other, and one that cannot change does not undo the others. What the schema
    // does not say is written (statistics, noise) is, before an out= argument is refused.
    if (entry.written && (entry.in_list || entry.unsaid)) continue;
    if (reshaped) return "argument " + entry.name + " has another geometry";
    if (moved) {
      const bool by_written = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) { return other.written && other.data == entry.data; });
      if (by_written) continue;
      return "argument " + entry.name + " has other memory";
    }
    // An output may be what is written without a word.
    const bool by_unsaid = std::any_of(entries_.begin(), entries_.end(),
                                       [&](const Entry& other) { return other.unsaid && other.data == entry.data; });
    if (by_unsaid) continue;
    const bool shared = !after_error && std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) { return other.written && other.data == entry.data; });
    if (shared || entry.bytes.empty()) continue;
    if (std::memcmp(entry.data, entry.bytes.data(), entry.bytes.size()) != 0) return "argument " + entry.name + " has other values";
  }
  return "";
}

void limit_memory() {
  // Blocks that earlier calls left in the allocator's pools count as reserved.
  if (c10::cpu_memory_stats().reserved_bytes > (int64_t{512} << 20)) c10::empty_cpu_cache();
  c10::set_cpu_memory_limit(c10::cpu_memory_stats().reserved_bytes + (int64_t{64} << 20));
}

namespace {

// What is wrong with the memory of a strided tensor; empty where nothing is.
std::string memory_problem(const Tensor& t) {
  int64_t last = t.storage_offset();
  if (last < 0) return "a result's storage offset is negative";
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) < 0 || t.stride(d) < 0) return "a result has a negative size or stride";
    last += t.numel() == 0 ? 0 : (t.size(d) - 1) * t.stride(d);
  }
  if (t.numel() == 0) return "";
  // Elements of a few bits share bytes.
  const auto each = static_cast<size_t>(at::quantized::elements_per_byte(t.scalar_type()));
  if ((static_cast<size_t>(last) / each + 1) * t.itemsize() > t.storage().nbytes()) return "a result reaches beyond its storage";
  if (!t.is_meta() && t.storage().nbytes() <= (1 << 20)) {
    const volatile unsigned char* bytes = static_cast<const unsigned char*>(t.storage().data());
    for (size_t i = 0; i < t.storage().nbytes(); i += 16) (void)bytes[i];
    (void)bytes[t.storage().nbytes() - 1];
  }
  return "";
}

}  // namespace

std::string check_results(const c10::Stack& results) {
  std::string problem;
  const auto check = [&](const Tensor& t) {
    if (problem.empty()) problem = memory_problem(t);
  };
  for (const IValue& value : results) {
    each_tensor(value, [&](const Tensor& t) {
      if (t.is_nested()) {
        for (const Tensor& part : at::nested::impl_of("fuzz", t).parts()) check(part);
        return;
      }
      if (at::sparse::is_compressed(t)) {
        const at::SparseCsrTensorImpl& parts = at::sparse::compressed_impl_of("fuzz", t);
        check(parts.compressed());
        check(parts.plain());
        check(parts.values());
        return;
      }
      if (!t.is_sparse()) return check(t);
      const at::SparseTensorImpl& parts = at::sparse::impl_of("fuzz", t);
      check(parts.indices());
      check(parts.values());
    });
  }
  return problem;
}

bool matches(const std::string& glob, const std::string& name) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; }

}  // namespace fuzz
