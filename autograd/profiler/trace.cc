// Profiles as JSON in Chrome's trace format.
#include <unistd.h>

#include <fstream>
#include <ostream>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/profiler/profiler.h"
#include "c10/util/exception.h"

namespace torch::autograd::profiler {
namespace {

void write_text(std::ostream& out, const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  out << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out << '\\' << c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out << "\\u00" << kDigits[c >> 4] << kDigits[c & 15];
    } else {
      out << c;
    }
  }
  out << '"';
}

// Nanoseconds as microseconds.
void write_time(std::ostream& out, int64_t ns) {
  if (ns < 0) out << '-';
  const uint64_t size = ns < 0 ? uint64_t{0} - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  const std::string fraction = std::to_string(size % 1000);
  out << size / 1000 << '.' << std::string(3 - fraction.size(), '0') << fraction;
}

void write_shapes(std::ostream& out, const std::vector<std::vector<int64_t>>& shapes) {
  out << '[';
  for (size_t i = 0; i < shapes.size(); ++i) {
    out << (i == 0 ? "[" : ", [");
    for (size_t d = 0; d < shapes[i].size(); ++d) out << (d == 0 ? "" : ", ") << shapes[i][d];
    out << ']';
  }
  out << ']';
}

bool is_on_cpu(const KinetoEvent& event) {
  return event.deviceType() == c10::DeviceType::CPU;
}
bool is_device_work(const KinetoEvent& event) {
  return !event.is_range() && !is_on_cpu(event) && event.activity() != c10::ActivityKind::kWait;
}

class Writer {
 public:
  Writer(std::ostream& out, uint64_t start_ns) : out_(out), start_ns_(start_ns), pid_(::getpid()) {}

  void write(const ProfilerResult& result, const TraceMetadata& metadata) {
    const std::vector<KinetoEvent>& events = result.events();
    out_ << "{\"traceEvents\": [";
    for (const KinetoEvent& event : events) write_event(event);
    for (const MemoryEvent& event : result.memory_events()) write_memory(event);
    write_arrows(events);
    write_arrows_to_nodes(events);
    write_names(events);
    write_span(result);
    out_ << "\n], \"schemaVersion\": 1, \"displayTimeUnit\": \"ms\"";
    const ProfilerConfig& config = result.config();
    for (const auto& [name, on] : {std::pair("record_shapes", config.report_input_shapes),
                                   std::pair("profile_memory", config.profile_memory),
                                   std::pair("with_stack", config.with_stack),
                                   std::pair("with_flops", config.with_flops),
                                   std::pair("with_modules", config.with_modules)}) {
      if (on) out_ << ", \"" << name << "\": 1";
    }
    for (const auto& [name, value] : metadata) {
      out_ << ", ";
      write_text(out_, name);
      out_ << ": " << value;
    }
    out_ << "}\n";
  }

 private:
  void begin(const char* phase) {
    out_ << (first_ ? "\n" : ",\n") << "{\"ph\": \"" << phase << '"';
    first_ = false;
  }
  // A device is a process of its own, and a stream its thread.
  int64_t process(const KinetoEvent& event) const { return is_on_cpu(event) ? pid_ : event.deviceIndex(); }
  void write_place(const KinetoEvent& event) {
    out_ << ", \"pid\": " << process(event) << ", \"tid\": " << event.deviceResourceId();
  }
  void write_start(const KinetoEvent& event) {
    out_ << ", \"ts\": ";
    write_time(out_, static_cast<int64_t>(event.startNs() - start_ns_));
  }

  void write_event(const KinetoEvent& event) {
    begin("X");
    out_ << ", \"cat\": \"" << event.category() << "\", \"name\": ";
    write_text(out_, event.name());
    write_place(event);
    write_start(event);
    out_ << ", \"dur\": ";
    write_time(out_, static_cast<int64_t>(event.durationNs()));
    out_ << ", \"args\": {";
    if (event.is_range()) {
      out_ << "\"External id\": " << event.correlationId();
      if (is_on_cpu(event)) out_ << ", \"Sequence number\": " << event.sequenceNr();
      if (event.hasShapes()) {
        out_ << ", \"Input Dims\": ";
        write_shapes(out_, event.shapes());
        out_ << ", \"Input Strides\": ";
        write_shapes(out_, event.strides());
        out_ << ", \"Input type\": ";
        write_texts(event.dtypes());
        out_ << ", \"Concrete Inputs\": ";
        write_texts(event.concreteInputs());
      }
      if (event.flops() != 0) out_ << ", \"flops\": " << event.flops();
      if (event.hasModuleHierarchy()) {
        out_ << ", \"Module Hierarchy\": ";
        write_text(out_, joined(event.moduleHierarchy(), "."));
      }
      if (event.hasStack()) {
        out_ << ", \"Call stack\": ";
        write_text(out_, joined(event.stack(), ";"));
      }
    } else {
      if (event.linkedCorrelationId() != 0) out_ << "\"External id\": " << event.linkedCorrelationId() << ", ";
      out_ << "\"correlation\": " << event.correlationId();
      if (!is_on_cpu(event))
        out_ << ", \"device\": " << event.deviceIndex() << ", \"stream\": " << event.deviceResourceId();
      if (event.nBytes() != 0) out_ << ", \"bytes\": " << event.nBytes();
      for (const auto& [name, value] : event.details()) {
        out_ << ", ";
        write_text(out_, name);
        out_ << ": " << value;
      }
    }
    out_ << "}}";
  }

  void write_texts(const std::vector<std::string>& texts) {
    out_ << '[';
    for (size_t i = 0; i < texts.size(); ++i) {
      if (i != 0) out_ << ", ";
      write_text(out_, texts[i]);
    }
    out_ << ']';
  }

  static std::string joined(const std::vector<std::string>& texts, const char* between) {
    std::string out;
    for (const std::string& text : texts) out += (out.empty() ? "" : between) + text;
    return out;
  }

  void write_memory(const MemoryEvent& event) {
    begin("i");
    out_ << ", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": " << pid_
         << ", \"tid\": " << event.thread << ", \"ts\": ";
    write_time(out_, static_cast<int64_t>(event.time_ns - start_ns_));
    out_ << ", \"args\": {\"Total Reserved\": 0, \"Total Allocated\": " << event.total_allocated
         << ", \"Bytes\": " << event.bytes << ", \"Device Id\": " << static_cast<int>(event.device.index())
         << ", \"Device Type\": " << static_cast<int>(event.device.type())
         << ", \"Addr\": " << reinterpret_cast<uintptr_t>(event.address) << "}}";
  }

  // The time that was measured.
  void write_span(const ProfilerResult& result) {
    begin("X");
    out_ << ", \"cat\": \"Trace\", \"name\": \"PyTorch Profiler (0)\", \"pid\": \"Spans\", \"tid\": \"PyTorch "
            "Profiler\", \"ts\": 0.000, \"dur\": ";
    write_time(out_, static_cast<int64_t>(result.trace_end_ns() - result.trace_start_ns()));
    out_ << ", \"args\": {\"Op count\": 0}}";
  }

  void write_arrow(const char* phase, const KinetoEvent& at, const char* kind = "ac2g", uint64_t id = 0) {
    begin(phase);
    out_ << ", \"id\": " << (id != 0 ? id : at.correlationId());
    write_place(at);
    write_start(at);
    out_ << ", \"cat\": \"" << kind << "\", \"name\": \"" << kind << '"';
    if (*phase == 'f') out_ << ", \"bp\": \"e\"";
    out_ << '}';
  }

  // From the call to all that it caused.
  void write_arrows(const std::vector<KinetoEvent>& events) {
    std::unordered_map<uint64_t, const KinetoEvent*> calls;
    for (const KinetoEvent& event : events) {
      if (!event.is_range() && event.activity() == c10::ActivityKind::kCall)
        calls.emplace(event.correlationId(), &event);
    }
    std::set<uint64_t> begun;
    for (const KinetoEvent& event : events) {
      if (!is_device_work(event)) continue;
      const auto call = calls.find(event.correlationId());
      if (call == calls.end()) continue;
      if (begun.insert(event.correlationId()).second) write_arrow("s", *call->second);
      write_arrow("f", event);
    }
  }

  // From the operator that made a node of the backward pass, the innermost of its number, to the node.
  void write_arrows_to_nodes(const std::vector<KinetoEvent>& events) {
    std::unordered_map<int64_t, const KinetoEvent*> operators;
    for (const KinetoEvent& event : events) {
      if (!event.is_range() || !is_on_cpu(event) || event.sequenceNr() < 0) continue;
      if (event.scope() == static_cast<uint8_t>(at::RecordScope::FUNCTION)) {
        operators[event.sequenceNr()] = &event;
      } else if (event.scope() == static_cast<uint8_t>(at::RecordScope::BACKWARD_FUNCTION)) {
        const auto found = operators.find(event.sequenceNr());
        if (found == operators.end()) continue;
        const uint64_t id = event.correlationId();
        write_arrow("s", *found->second, "fwdbwd", id);
        write_arrow("f", event, "fwdbwd", id);
      }
    }
  }

  void write_name(const char* what, int64_t process, int64_t thread, const std::string& name) {
    begin("M");
    out_ << ", \"name\": \"" << what << "\", \"pid\": " << process << ", \"tid\": " << thread << ", \"args\": {\""
         << (std::string(what) == "process_labels" ? "labels" : "name") << "\": ";
    write_text(out_, name);
    out_ << "}}";
  }

  void write_names(const std::vector<KinetoEvent>& events) {
    std::set<std::pair<int64_t, int64_t>> places;
    std::set<int64_t> processes;
    for (const KinetoEvent& event : events) {
      const bool on_cpu = is_on_cpu(event);
      const c10::Device device(event.deviceType(), static_cast<c10::DeviceIndex>(event.deviceIndex()));
      const std::string number = std::to_string(event.deviceResourceId());
      if (processes.insert(process(event)).second) {
        const std::string label = on_cpu             ? "CPU"
                                  : device.is_cuda() ? "GPU " + std::to_string(event.deviceIndex())
                                                     : device.str();
        write_name("process_name", process(event), 0, on_cpu ? "program" : label);
        write_name("process_labels", process(event), 0, label);
      }
      if (places.emplace(process(event), event.deviceResourceId()).second) {
        write_name("thread_name", process(event), event.deviceResourceId(), (on_cpu ? "thread " : "stream ") + number);
      }
    }
  }

  std::ostream& out_;
  const uint64_t start_ns_;
  const int64_t pid_;
  bool first_ = true;
};

}  // namespace

void ProfilerResult::write(std::ostream& out, const TraceMetadata& metadata) const {
  Writer(out, start_ns_).write(*this, metadata);
}

void ProfilerResult::save(const std::string& path) const {
  std::ofstream file(path);
  write(file);
  file.close();
  TORCH_CHECK(!file.fail(), "the profile could not be written to ", path);
}

}  // namespace torch::autograd::profiler
