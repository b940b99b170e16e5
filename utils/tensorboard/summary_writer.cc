#include "utils/tensorboard/summary_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "c10/util/string_util.h"
#include "utils/serialize/file_error.h"
#include "utils/serialize/utf8.h"
#include "utils/tensorboard/event.h"
#include "utils/tensorboard/record.h"

namespace torch::utils::tensorboard {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;

double now() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since_1970).count();
}

std::string host_name() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return host;
}

std::string local_time(const char* format) {
  const std::time_t seconds = std::time(nullptr);
  std::tm fields = {};
  ::localtime_r(&seconds, &fields);
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, format, &fields));
}

}  // namespace

void make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    TORCH_CHECK(::mkdir(part.c_str(), 0777) == 0 || errno == EEXIST, "SummaryWriter: cannot make the folder ", part,
                ": ", std::strerror(errno));
    if (end == std::string::npos) return;
  }
}

kindling::tensorboard::Event event_at(int64_t step, double wall_time) {
  kindling::tensorboard::Event event;
  event.set_wall_time(wall_time < 0 ? now() : wall_time);
  event.set_step(step);
  return event;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t n = serialize::utf8_length(text);
    out += n > 0 ? text.substr(0, n) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(n > 0 ? n : 1);
  }
  return out;
}

kindling::tensorboard::Summary::Value* value_of(kindling::tensorboard::Event& event, std::string_view tag,
                                                std::string_view plugin, std::string content) {
  auto* value = event.mutable_summary()->add_value();
  value->set_tag(printable(tag));
  if (!plugin.empty()) {
    auto* data = value->mutable_metadata()->mutable_plugin_data();
    data->set_plugin_name(std::string(plugin));
    data->set_content(std::move(content));
  }
  return value;
}

SummaryWriter::SummaryWriter(SummaryWriterOptions options) : options_(std::move(options)), folder_(options_.log_dir()) {
  const std::string host = host_name();
  if (folder_.empty()) folder_ = "runs/" + local_time("%b%d_%H-%M-%S") + "_" + host + options_.comment();
  serialize::check_path(folder_);
  serialize::check_path(options_.filename_suffix());
  make_folders(folder_);
  const double started = now();
  for (int n = 0; fd_ < 0; ++n) {
    char time[24];
    std::snprintf(time, sizeof time, "%010lld", static_cast<long long>(started));
    path_ = c10::str(folder_, "/events.out.tfevents.", time, ".", host, ".", ::getpid(), ".", n,
                     options_.filename_suffix());
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    TORCH_CHECK(fd_ >= 0 || errno == EEXIST, "SummaryWriter: cannot make ", path_, ": ", std::strerror(errno));
  }
  kindling::tensorboard::Event first = event_at(0, started);
  first.set_file_version("brain.Event:2");
  add(first.SerializeAsString());
  if (options_.purge_step() >= 0) {
    kindling::tensorboard::Event purge = event_at(options_.purge_step(), started);
    purge.mutable_session_log()->set_status(kindling::tensorboard::SessionLog::START);
    add(purge.SerializeAsString());
  }
  flush();
}

SummaryWriter::~SummaryWriter() {
  try {
    flush();
  } catch (const c10::Error&) {
  }
  ::close(fd_);
}

void SummaryWriter::add(std::string_view serialized) {
  append_record(buffer_, serialized);
  ++waiting_;
  const bool full = buffer_.size() >= kBufferBytes || (options_.max_queue() > 0 && waiting_ >= options_.max_queue());
  if (full || std::chrono::steady_clock::now() - written_ >= std::chrono::seconds(options_.flush_secs())) flush();
}

void SummaryWriter::flush() {
  for (const auto& [name, writer] : below_) writer->flush();
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int reason = errno;
      buffer_.erase(0, done);
      TORCH_CHECK(false, "SummaryWriter: cannot write to ", path_, ": ", std::strerror(reason));
    }
    done += static_cast<size_t>(n);
  }
  buffer_.clear();
  waiting_ = 0;
  written_ = std::chrono::steady_clock::now();
}

void SummaryWriter::add_scalar(std::string_view tag, double value, int64_t step, double wall_time) {
  kindling::tensorboard::Event event = event_at(step, wall_time);
  value_of(event, tag)->set_simple_value(static_cast<float>(value));
  add(event.SerializeAsString());
}

void SummaryWriter::add_scalars(const std::string& main_tag, const std::map<std::string, double>& values, int64_t step,
                                double wall_time) {
  for (const auto& [tag, value] : values) {
    std::unique_ptr<SummaryWriter>& writer = below_[main_tag + "/" + tag];
    std::string folder = main_tag + "_" + tag;
    std::replace(folder.begin(), folder.end(), '/', '_');
    if (writer == nullptr) {
      SummaryWriterOptions options = options_;
      writer = std::make_unique<SummaryWriter>(options.log_dir(folder_ + "/" + folder).purge_step(-1));
    }
    writer->add_scalar(main_tag, value, step, wall_time);
  }
}

void SummaryWriter::add_text(std::string_view tag, std::string_view text, int64_t step, double wall_time) {
  kindling::tensorboard::Event event = event_at(step, wall_time);
  auto* tensor = value_of(event, std::string(tag) + "/text_summary", "text")->mutable_tensor();
  tensor->set_dtype(kindling::tensorboard::Tensor::STRING);
  tensor->mutable_shape()->add_dim()->set_size(1);
  tensor->add_string_val(printable(text));
  add(event.SerializeAsString());
}

void SummaryWriter::add_histogram(std::string_view tag, c10::ArrayRef<double> values, int64_t step, int bins,
                                  double wall_time) {
  TORCH_CHECK_VALUE(bins >= 1 && bins <= 100'000, "SummaryWriter: a histogram of ", bins, " bins");
  double low = INFINITY, high = -INFINITY, sum = 0, squares = 0, count = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
    sum += v;
    squares += v * v;
    ++count;
  }
  if (count == 0) low = high = 0;
  kindling::tensorboard::Event event = event_at(step, wall_time);
  auto* h = value_of(event, tag)->mutable_histogram();
  h->set_min(low);
  h->set_max(high);
  h->set_num(count);
  h->set_sum(sum);
  h->set_sum_squares(squares);
  // Halves first: the difference of two finite values may overflow.
  const double half_width = (high / 2 - low / 2) / bins;
  for (int i = 0; i < bins; ++i) {
    h->add_bucket_limit(i + 1 == bins ? high : low + 2 * half_width * (i + 1));
    h->add_bucket(0);
  }
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    const double position = half_width > 0 ? (x / 2 - low / 2) / half_width : 0;
    const int i = std::clamp(static_cast<int>(std::ceil(position)) - 1, 0, bins - 1);
    h->set_bucket(i, h->bucket(i) + 1);
  }
  add(event.SerializeAsString());
}

}  // namespace torch::utils::tensorboard
