#include "data/datasets/mnist.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "aten/core/from_blob.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "utils/serialize/file_error.h"

namespace torch::data::datasets {

namespace {

constexpr uint64_t kMaxBytes = uint64_t{4} << 30;

// `offset`: where in the (unpacked) file.
template <class... Parts>
void check_format(bool ok, uint64_t offset, const Parts&... parts) {
  if (!ok) serialize::throw_format_error(c10::str(parts..., " (byte ", offset, ")"));
}

// zlib's reader passes plain files through unchanged.
class GzipReader {
 public:
  explicit GzipReader(const std::string& path) : path_(path) {
    TORCH_CHECK(path.find('\0') == std::string::npos, "a path may not contain a NUL, but there is one behind \"",
                path.c_str(), "\"");
    for (const std::string& candidate : {path, path + ".gz"}) {
      // O_NONBLOCK: a FIFO must not hang us before fstat tells what it is.
      const int fd = ::open(candidate.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
      if (fd < 0) continue;
      path_ = candidate;
      struct stat info;
      const bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
      if (regular) file_ = gzdopen(fd, "rb");
      if (file_ == nullptr) ::close(fd);
      TORCH_CHECK(regular, "Error reading ", path_, ": it is no regular file");
      return;
    }
  }
  ~GzipReader() {
    if (file_ != nullptr) gzclose(file_);
  }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  bool is_open() const { return file_ != nullptr; }
  const std::string& path() const { return path_; }

  // Up to `size` bytes; fewer only at the end. Throws for a damaged file.
  size_t read(void* out, size_t size) {
    size_t done = 0;
    while (done < size) {
      const unsigned wanted = static_cast<unsigned>(size - done < (1u << 30) ? size - done : (1u << 30));
      const int got = gzread(file_, static_cast<char*>(out) + done, wanted);
      int code = Z_OK;
      const char* const text = gzerror(file_, &code);
      // A stream that ends in its middle reads as Z_BUF_ERROR at its end.
      check_format(got >= 0 && (code == Z_OK || code == Z_STREAM_END), at_, "Error reading ", path_, ": ",
                   code == Z_ERRNO ? std::strerror(errno) : text);
      if (got == 0) break;
      done += static_cast<size_t>(got);
      at_ += static_cast<size_t>(got);
    }
    return done;
  }

 private:
  std::string path_;
  gzFile file_ = nullptr;
  uint64_t at_ = 0;
};

class GrowingBlock {
 public:
  GrowingBlock() = default;
  ~GrowingBlock() { std::free(bytes_); }
  GrowingBlock(const GrowingBlock&) = delete;
  GrowingBlock& operator=(const GrowingBlock&) = delete;

  void grow(size_t size) {
    void* const larger = std::realloc(bytes_, size);
    TORCH_CHECK_WITH(OutOfMemoryError, larger != nullptr, "read_idx: can't allocate memory: ", size,
                     " bytes were asked for");
    bytes_ = static_cast<unsigned char*>(larger);
  }
  unsigned char* bytes() const { return bytes_; }
  unsigned char* release() { return std::exchange(bytes_, nullptr); }

 private:
  unsigned char* bytes_ = nullptr;
};

uint32_t big_endian(const unsigned char* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

at::Tensor read_idx(GzipReader& file, int dims, at::ScalarType dtype) {
  TORCH_CHECK_VALUE(dtype == at::kByte || dtype == at::kInt, "read_idx: expected the dtype Byte or Int, but got ",
                    dtype);
  std::array<unsigned char, 4 + 4 * 8> header{};
  const size_t header_size = 4 + 4 * static_cast<size_t>(dims);
  const size_t header_there = file.read(header.data(), header_size);
  check_format(header_there == header_size, header_there, file.path(), " is too short to be an IDX file of ", dims,
               " dimension(s)");
  const uint32_t magic = big_endian(header.data());
  const uint32_t expected_magic = (dtype == at::kByte ? 0x0800u : 0x0c00u) + static_cast<uint32_t>(dims);
  check_format(magic == expected_magic, 0, file.path(), " is not an IDX file of ",
               dtype == at::kByte ? "bytes" : "32-bit integers", " in ", dims,
               " dimension(s): expected magic number ", expected_magic, ", but got ", magic);
  std::vector<int64_t> sizes;
  uint64_t total = dtype == at::kByte ? 1 : 4;
  for (int d = 0; d < dims; ++d) {
    const uint32_t size = big_endian(header.data() + 4 + 4 * d);
    sizes.push_back(size);
    // Each factor is below 2^32 and the product so far at most kMaxBytes = 2^32: no overflow.
    total *= size;
    check_format(total <= kMaxBytes, 4 + 4 * static_cast<uint64_t>(d), file.path(), " says that it holds ", sizes,
                 " elements, more than this reader takes, ", kMaxBytes, " bytes");
  }
  // Memory grows with what was read, so that a header that promises too much costs nothing; and it becomes the
  // tensor's, so that nothing is there twice: the C library moves large blocks without copying them.
  GrowingBlock data;
  size_t have = 0;
  while (have < total) {
    size_t room = have == 0 ? size_t{1} << 16 : have * 2;
    if (room > total) room = static_cast<size_t>(total);
    data.grow(room);
    const size_t got = file.read(data.bytes() + have, room - have);
    have += got;
    check_format(have == room, header_size + have, file.path(), " is too short: its header promises ", total,
                 " bytes of data, but it has ", have);
  }
  unsigned char extra;
  check_format(file.read(&extra, 1) == 0, header_size + total, file.path(), " is longer than its header says, ", total,
               " bytes of data");
  if (total == 0) return at::empty(sizes, dtype);
  if (dtype == at::kInt) {
    for (uint64_t i = 0; i < total; i += 4) {
      const uint32_t number = big_endian(data.bytes() + i);
      std::memcpy(data.bytes() + i, &number, sizeof number);
    }
  }
  return at::from_blob(data.release(), sizes, [](void* block) { std::free(block); }, at::TensorOptions(dtype));
}

std::string join(const std::string& root, const std::string& name) {
  return root.empty() || root.back() == '/' ? root + name : root + '/' + name;
}

at::Tensor read_part(const std::string& root, const std::string& name, const char* what, int dims,
                     const std::string& packed, const std::string& source, at::ScalarType dtype = at::kByte) {
  const std::string path = join(root, name);
  GzipReader file(path);
  TORCH_CHECK(file.is_open(), "Error opening ", what, " file at ", path, ": fetch ", name, packed, " of ", source,
              ", and put it into ", root, packed == ".gz" ? ", as it is or unpacked" : ", unpacked");
  return read_idx(file, dims, dtype);
}

template <typename T>
at::Tensor as_long(const at::Tensor& numbers) {
  at::Tensor out = at::empty(numbers.sizes(), at::kLong);
  std::copy_n(numbers.const_data_ptr<T>(), numbers.numel(), out.mutable_data_ptr<int64_t>());
  return out;
}

}  // namespace

at::Tensor read_idx(const std::string& path, int dims, at::ScalarType dtype) {
  TORCH_CHECK_VALUE(dims >= 1 && dims <= 8, "read_idx: expected 1 to 8 dimensions, but got ", dims);
  GzipReader file(path);
  TORCH_CHECK(file.is_open(), "Error opening ", path, " or ", path, ".gz: ", std::strerror(errno));
  return read_idx(file, dims, dtype);
}

MNIST::MNIST(const std::string& root, Mode mode)
    : MNIST(root, mode, mode == Mode::kTrain ? "train" : "t10k",
            "MNIST (https://ossci-datasets.s3.amazonaws.com/mnist/)") {}

MNIST::MNIST(const std::string& root, Mode mode, const Files& files, const std::string& source) : mode_(mode) {
  const at::Tensor bytes = read_part(root, files.images, "images", 3, files.packed, source);
  const at::Tensor labels = read_part(root, files.labels, "targets", files.rows ? 2 : 1, files.packed, source,
                                      files.rows ? at::kInt : at::kByte);
  TORCH_CHECK(bytes.size(0) == labels.size(0), join(root, files.images), " holds ", bytes.size(0), " images, but ",
              join(root, files.labels), " holds ", labels.size(0), " labels");
  images_ = at::empty({bytes.size(0), 1, bytes.size(1), bytes.size(2)}, at::kFloat);
  const unsigned char* const from = bytes.data_ptr<uint8_t>();
  float* const to = images_.mutable_data_ptr<float>();
  for (int64_t i = 0; i < bytes.numel(); ++i) to[i] = static_cast<float>(from[i]) / 255.0f;
  targets_ = files.rows ? as_long<int32_t>(labels) : as_long<uint8_t>(labels);
}

Example<> MNIST::get(size_t index) {
  TORCH_CHECK_INDEX(index < static_cast<size_t>(images_.size(0)), "MNIST: index ", index, " is out of range for ",
                    images_.size(0), " images");
  return {at::select(images_, 0, static_cast<int64_t>(index)), at::select(targets_, 0, static_cast<int64_t>(index))};
}

std::optional<size_t> MNIST::size() const { return static_cast<size_t>(images_.size(0)); }

}  // namespace torch::data::datasets
