#include "utils/hub/hub.h"

#include <fcntl.h>
#include <httplib.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>

#include "utils/pickle/file.h"
#include "utils/pickle/zip.h"
#include "utils/progress/progress.h"
#include "utils/serialize/file_io.h"

namespace torch::hub {
namespace {

namespace fs = std::filesystem;

// A connection that breaks after it brought something is made again this often.
constexpr int kMostConnections = 5;
constexpr time_t kConnectSeconds = 30, kReadSeconds = 60;

std::mutex g_mutex;
std::string g_folder;  // of set_dir()

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// With HOME in place of a leading "~".
std::string expanded(const std::string& path) {
  return path == "~" || path.rfind("~/", 0) == 0 ? environment("HOME") + path.substr(1) : path;
}

struct Url {
  std::string scheme, host;  // "http", "127.0.0.1:80"
  std::string path;          // with the query, "/..." at least
};

Url parsed(const std::string& url) {
  const size_t colon = url.find("://");
  Url out;
  out.scheme = url.substr(0, colon == std::string::npos ? 0 : colon);
  for (char& c : out.scheme) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  TORCH_CHECK_VALUE(out.scheme == "http" || out.scheme == "https" || out.scheme == "file",
                    "hub: expected a URL with http://, https:// or file://, got '", url, "'");
  TORCH_CHECK_VALUE(url.find_first_of("\r\n") == std::string::npos, "hub: a URL has no line breaks");
  const std::string rest = url.substr(colon + 3, url.find('#') - colon - 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  out.host = rest.substr(0, std::min(slash, rest.find('?')));
  out.path = rest.substr(out.host.size());
  if (out.path.empty() || out.path[0] != '/') out.path = "/" + out.path;
  TORCH_CHECK_VALUE(out.scheme == "file" ? out.host.empty() || out.host == "localhost" : !out.host.empty(),
                    "hub: the URL '", url, "' has no host, or one that file:// has not");
  return out;
}

std::string decoded(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
        std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// What is downloaded so far, beside where it goes, and which version of which URL it is: lines of a second file.
class Partial {
 public:
  Partial(std::string dst, const std::string& url) : dst_(std::move(dst)), url_(url) {
    path_ = dst_ + ".partial";
    open();
    // Somebody downloads it already, in this process or another: this one does so on its own.
    if (!lock()) {
      ::close(file_);
      static std::atomic<uint64_t> next{0};
      path_ += c10::str(".", ::getpid(), ".", next++);
      resumable_ = false;
      open();
    }
    std::string source;
    if (fs::exists(note())) source = serialize::read_file(note(), 65536);
    const size_t end = source.find('\n');
    if (end != std::string::npos && source.substr(0, end) == url_) version_ = source.substr(end + 1);
    size_ = version_.empty() ? 0 : static_cast<uint64_t>(::lseek(file_, 0, SEEK_END));
    if (size_ == 0) restart("");
  }
  ~Partial() {
    const bool keeps = !done_ && resumable_ && size_ > 0 && !version_.empty();
    if (!keeps) {
      ::unlink(note().c_str());
      if (!done_) ::unlink(path_.c_str());
    }
    ::close(file_);
  }
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;

  uint64_t size() const { return size_; }
  const std::string& version() const { return version_; }

  // Begins anew, with this version of the file.
  void restart(const std::string& version) {
    if (::ftruncate(file_, 0) != 0 || ::lseek(file_, 0, SEEK_SET) != 0) serialize::throw_io_error("truncate", path_);
    size_ = 0;
    version_ = version;
    if (version.empty()) {
      ::unlink(note().c_str());
    } else {
      serialize::write_file(note(), url_ + "\n" + version);
    }
  }
  // False where the file system is full, with errno.
  bool write(const char* data, size_t bytes) {
    while (bytes > 0) {
      const ssize_t n = ::write(file_, data, bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      data += n, bytes -= static_cast<size_t>(n), size_ += static_cast<uint64_t>(n);
    }
    return true;
  }
  std::string hash() {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    TORCH_CHECK(hash && EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1, "hub: OpenSSL has no SHA-256 here");
    char buffer[65536];
    ssize_t n;
    for (off_t at = 0; (n = ::pread(file_, buffer, sizeof buffer, at)) > 0; at += n) {
      EVP_DigestUpdate(hash.get(), buffer, static_cast<size_t>(n));
    }
    if (n < 0) serialize::throw_io_error("read", path_);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned bytes = 0;
    EVP_DigestFinal_ex(hash.get(), digest, &bytes);
    std::string text;
    for (unsigned i = 0; i < bytes; ++i) {
      for (const int nibble : {digest[i] >> 4, digest[i] & 15}) text += "0123456789abcdef"[nibble];
    }
    return text;
  }
  void commit() {
    if (::fsync(file_) != 0) serialize::throw_io_error("sync", path_);
    if (::rename(path_.c_str(), dst_.c_str()) != 0) serialize::throw_io_error("rename", path_);
    done_ = true;
  }

 private:
  void open() {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) serialize::throw_io_error("open", path_);
  }
  // False where somebody else has it, or had it a moment ago and gave the file its own name since it was opened here.
  bool lock() {
    struct stat opened {}, named {};
    return ::flock(file_, LOCK_EX | LOCK_NB) == 0 && ::fstat(file_, &opened) == 0 &&
           ::stat(path_.c_str(), &named) == 0 && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
  }
  std::string note() const { return path_ + ".source"; }

  std::string dst_, url_, path_, version_;
  int file_ = -1;
  uint64_t size_ = 0;
  bool resumable_ = true, done_ = false;
};

// What the server says that identifies this version of the file; "" where it says nothing that parts can be put
// together by.
std::string version_of(const httplib::Response& response) {
  const std::string tag = response.get_header_value("ETag");
  if (!tag.empty()) return tag.rfind("W/", 0) == 0 ? "" : tag;
  return response.get_header_value("Last-Modified");
}

class Bar {
 public:
  explicit Bar(bool shown) : shown_(shown) {}
  void total(uint64_t done, uint64_t bytes) {
    if (!shown_ || bytes == 0) return;
    const auto kilobytes = static_cast<int64_t>((bytes + 1023) / 1024);
    bar_ = std::make_unique<utils::Progress>(kilobytes, stderr, static_cast<int64_t>(done / 1024),
                                             std::max<int64_t>(kilobytes / 4, 1));
  }
  void update(uint64_t done) {
    if (bar_ != nullptr) bar_->update(static_cast<int64_t>((done + 1023) / 1024), "KiB");
  }

 private:
  bool shown_;
  std::unique_ptr<utils::Progress> bar_;
};

// One connection. True when the file is whole, false when the connection broke.
bool fetch(const Url& url, const std::string& text, Partial& partial, Bar& bar, std::string* why) {
  httplib::Client client(url.scheme + "://" + url.host);
  TORCH_CHECK_VALUE(client.is_valid(), "hub: '", text, "' is not a URL");
  client.set_follow_location(true);
  client.set_connection_timeout(kConnectSeconds);
  client.set_read_timeout(kReadSeconds);
  client.set_decompress(false);
  httplib::Headers headers = {{"User-Agent", "torch.hub"}, {"Accept-Encoding", "identity"}};
  const uint64_t had = partial.version().empty() ? 0 : partial.size();
  if (had > 0) {
    headers.emplace("Range", c10::str("bytes=", had, "-"));
    headers.emplace("If-Range", partial.version());
  }
  int status = 0, disk_error = 0;
  std::string reason;
  const auto on_response = [&](const httplib::Response& response) {
    status = response.status;
    reason = response.reason;
    uint64_t start = 0;
    if (status == 206) {
      const std::string range = response.get_header_value("Content-Range");
      if (std::sscanf(range.c_str(), "bytes %lu-", &start) != 1 || start != had) status = 416;
    }
    if (status != 200 && status != 206) return false;
    if (status == 200) partial.restart(version_of(response));
    const uint64_t length = std::strtoull(response.get_header_value("Content-Length").c_str(), nullptr, 10);
    bar.total(partial.size(), length == 0 ? 0 : partial.size() + length);
    return true;
  };
  const auto on_data = [&](const char* data, size_t bytes) {
    if (!partial.write(data, bytes)) {
      disk_error = errno;
      return false;
    }
    bar.update(partial.size());
    return true;
  };
  const httplib::Result result = client.Get(url.path, headers, on_response, on_data);
  if (disk_error != 0) {
    errno = disk_error;
    serialize::throw_io_error("write", "the download of " + text);
  }
  if (status == 416 && had > 0) {  // what is here is no part of the file that the server has now
    partial.restart("");
    return fetch(url, text, partial, bar, why);
  }
  if (status != 0 && status != 200 && status != 206) {
    throw HTTPError(c10::str("HTTP Error ", status, ": ", reason, " (", text, ")"), status);
  }
  if (result) return true;
  *why = httplib::to_string(result.error());
  return false;
}

void copy_file(const std::string& path, Partial& partial, Bar& bar) {
  const serialize::FileBytes bytes(path);
  partial.restart("");
  bar.total(0, bytes.view().size());
  if (!partial.write(bytes.view().data(), bytes.view().size())) serialize::throw_io_error("write", path);
  bar.update(partial.size());
}

// The digits between the first "-" that digits and a "." follow, and that ".".
std::optional<std::string> hash_in(const std::string& name) {
  for (size_t at = name.find('-'); at != std::string::npos; at = name.find('-', at + 1)) {
    const size_t end = std::min(name.find_first_not_of("0123456789abcdef", at + 1), name.size());
    if (end < name.size() && name[end] == '.') return name.substr(at + 1, end - at - 1);
  }
  return std::nullopt;
}

// A file may be a zip file that holds the file that was saved, and nothing else: that is put beside it.
std::string unpacked(const std::string& path, const std::string& folder) {
  const auto bytes = std::make_shared<serialize::FileBytes>(path);
  if (!pickle::is_zip(bytes->view())) return path;
  const pickle::ZipReader zip(bytes);
  if (zip.records().size() != 1) return path;
  const pickle::ZipRecord& record = zip.records()[0];
  const std::string name(record.name.substr(record.name.rfind('/') + 1));
  TORCH_CHECK_VALUE(!name.empty() && name != "." && name != "..", "hub: ", path, " holds a file without a name");
  const std::string inner = folder + "/" + name;
  if (inner == path) {
    throw serialize::FormatError(c10::str("hub: ", path, " holds a file of its own name"), nullptr);
  }
  serialize::write_file(inner, zip.read(record, uint64_t{1} << 40));
  return inner;
}

}  // namespace

std::string get_dir() {
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    if (!g_folder.empty()) return g_folder;
  }
  std::string home = environment("TORCH_HOME");
  if (home.empty()) {
    const std::string cache = environment("XDG_CACHE_HOME");
    home = (cache.empty() ? "~/.cache" : cache) + "/torch";
  }
  return expanded(home) + "/hub";
}

void set_dir(std::string folder) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_folder = expanded(folder);
}

void download_url_to_file(const std::string& url, const std::string& dst, const std::optional<std::string>& hash_prefix,
                          bool progress) {
  const Url parts = parsed(url);
  serialize::check_path(dst);
  const std::string target = expanded(dst);
  Partial partial(target, url);
  Bar bar(progress);
  if (parts.scheme == "file") {
    copy_file(decoded(parts.path), partial, bar);
  } else {
    std::string why;
    for (int connection = 1; !fetch(parts, url, partial, bar, &why); ++connection) {
      if (connection == kMostConnections || partial.size() == 0 || partial.version().empty()) {
        throw serialize::IoError(
            c10::str("hub: the connection broke after ", partial.size(), " bytes of ", url, ": ", why), nullptr);
      }
    }
  }
  if (hash_prefix.has_value()) {
    const std::string hash = partial.hash();
    if (hash.rfind(*hash_prefix, 0) != 0) {
      partial.restart("");
      TORCH_CHECK(false, "invalid hash value (expected \"", *hash_prefix, "\", got \"", hash, "\")");
    }
  }
  partial.commit();
}

c10::IValue load_state_dict_from_url(const std::string& url, const LoadOptions& options) {
  const Url parts = parsed(url);
  const std::string folder = expanded(options.model_dir.value_or(get_dir() + "/checkpoints"));
  std::string name = options.file_name.value_or("");
  if (!options.file_name.has_value()) {
    const std::string path = parts.path.substr(0, parts.path.find('?'));
    name = path.substr(path.rfind('/') + 1);
  }
  TORCH_CHECK_VALUE(!name.empty() && name != "." && name != "..", "hub: '", url,
                    "' does not end in the name of a file");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    errno = error.value();
    serialize::throw_io_error("create folder", folder);
  }
  const std::string path = folder + "/" + name;
  if (!fs::exists(path)) {
    if (options.progress) std::fprintf(stderr, "Downloading: \"%s\" to %s\n", url.c_str(), path.c_str());
    download_url_to_file(url, path, options.check_hash ? hash_in(name) : std::nullopt, options.progress);
  }
  pickle::LoadOptions load;
  load.map_location = options.map_location;
  return pickle::load(unpacked(path, folder), load);
}

}  // namespace torch::hub
