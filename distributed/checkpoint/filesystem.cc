#include "distributed/checkpoint/filesystem.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "aten/core/empty.h"
#include "aten/core/from_blob.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributed/checkpoint/foreign_formats.h"
#include "distributed/checkpoint/index_file.h"
#include "utils/pickle/file.h"
#include "utils/serialize/crc32c.h"
#include "utils/serialize/file_io.h"
#include "utils/serialize/safetensors.h"

namespace torch::distributed::checkpoint {
namespace {

using at::Tensor;
using c10::IValue;
using serialize::throw_format_error;
using serialize::throw_io_error;

constexpr uint64_t kMostIndexBytes = uint64_t{1} << 30;

// --- writing ---

std::string data_name(uint64_t rank, uint64_t number) {
  return c10::str("data-", rank, "-", number, ".safetensors");
}

// The number in a name that data_name() gave.
std::optional<uint64_t> number_of(std::string_view name) {
  const auto number = [&](const char* before) -> std::optional<uint64_t> {
    if (name.substr(0, std::strlen(before)) != before) return std::nullopt;
    name.remove_prefix(std::strlen(before));
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (error != std::errc()) return std::nullopt;
    name.remove_prefix(static_cast<size_t>(end - name.data()));
    return value;
  };
  if (!number("data-")) return std::nullopt;
  const std::optional<uint64_t> value = number("-");
  return name == ".safetensors" ? value : std::nullopt;
}

// What a process that was killed may have left of a file of ours that had no name yet.
bool is_unfinished(std::string_view name) {
  const size_t end = name.rfind(".tmp.");
  return end != std::string_view::npos && (name.substr(0, end) == detail::kIndexName || number_of(name.substr(0, end)));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) {
    errno = error.value();
    throw_io_error("list of folder", folder);
  }
  return names;
}

uint64_t size_of(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) throw_io_error("stat", path);
  return static_cast<uint64_t>(info.st_size);
}

std::vector<uint32_t> checksums_of(const void* data, uint64_t bytes) {
  std::vector<uint32_t> checksums;
  for (uint64_t begin = 0; begin < bytes; begin += kChecksumBlock) {
    checksums.push_back(
        serialize::crc32c(0, static_cast<const char*>(data) + begin, std::min(kChecksumBlock, bytes - begin)));
  }
  return checksums;
}

// Takes what safetensors::save_to writes, the header and then each tensor, and keeps where tensors lie, and checksums.
class DataFile : public serialize::Sink {
 public:
  explicit DataFile(const std::string& path) : file_(path) {}

  void write(const void* data, size_t bytes) override {
    if (written_ == 0) {
      header_.assign(static_cast<const char*>(data), bytes);
    } else if (bytes > 0) {
      checksums_[written_ - header_.size()] = checksums_of(data, bytes);
    }
    file_.write(data, bytes);
    written_ += bytes;
  }
  void commit() { file_.commit(); }

  uint64_t bytes() const { return written_; }
  // Of each tensor in the header.
  std::unordered_map<std::string, StorageInfo> places(const std::string& name) const {
    std::unordered_map<std::string, StorageInfo> places;
    const nlohmann::json header = nlohmann::json::parse(std::string_view(header_).substr(sizeof(uint64_t)));
    for (const auto& [key, tensor] : header.items()) {
      if (key == "__metadata__") continue;
      const auto begin = tensor.at("data_offsets").at(0).get<uint64_t>();
      const auto end = tensor.at("data_offsets").at(1).get<uint64_t>();
      StorageInfo info{.relative_path = name, .offset = header_.size() + begin, .length = end - begin, .checksums = {}};
      if (end > begin) info.checksums = checksums_.at(begin);
      places.emplace(key, std::move(info));
    }
    return places;
  }

 private:
  serialize::AtomicFile file_;
  std::string header_;
  uint64_t written_ = 0;
  std::unordered_map<uint64_t, std::vector<uint32_t>> checksums_;  // by where the tensor begins in the data
};

std::string key_of(const WriteItem& item) {
  if (item.type == WriteItemType::BYTE_IO) return item.index.fqn + "@json";
  std::string key = item.index.fqn + "@";
  const Extents& offsets = item.tensor_data->chunk.offsets;
  for (size_t d = 0; d < offsets.size(); ++d) key += c10::str(d == 0 ? "" : ",", offsets[d]);
  return key;
}

std::vector<WriteResult> write_file(const std::string& path, const std::string& name,
                                    const std::vector<const WriteItem*>& items, SavePlanner& planner) {
  safetensors::NamedTensors tensors;
  for (const WriteItem* item : items) {
    const std::variant<Tensor, IValue> data = planner.resolve_data(*item);
    if (const auto* value = std::get_if<IValue>(&data)) {
      const auto text = std::make_shared<std::string>(detail::value_text(*value));
      tensors.emplace_back(key_of(*item), at::from_blob(
                                              text->data(), {static_cast<int64_t>(text->size())}, [text](void*) {},
                                              at::TensorOptions(c10::kByte)));
      continue;
    }
    const Tensor& tensor = std::get<Tensor>(data);
    TORCH_CHECK_VALUE(tensor.sizes() == c10::IntArrayRef(item->tensor_data->chunk.sizes) &&
                          tensor.scalar_type() == item->tensor_data->properties.dtype,
                      "'", item->index.fqn, "' is planned as a tensor of ",
                      c10::toString(item->tensor_data->properties.dtype), " and sizes ",
                      c10::IntArrayRef(item->tensor_data->chunk.sizes), ", and given as one of ",
                      c10::toString(tensor.scalar_type()), " and sizes ", tensor.sizes());
    tensors.emplace_back(key_of(*item), tensor);
  }
  DataFile file(path);
  safetensors::save_to(tensors, {}, file);
  file.commit();
  const std::unordered_map<std::string, StorageInfo> places = file.places(name);
  std::vector<WriteResult> results;
  for (const WriteItem* item : items) results.push_back({item->index, places.at(key_of(*item)), file.bytes()});
  return results;
}

// --- reading ---

class InputFile {
 public:
  explicit InputFile(const std::string& path) : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) serialize::throw_open_error(path);
  }
  ~InputFile() { ::close(fd_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  void read(uint64_t offset, char* out, uint64_t bytes) const {
    while (bytes > 0) {
      const ssize_t n = ::pread(fd_, out, std::min<uint64_t>(bytes, uint64_t{1} << 30), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw_io_error("read", path_);
      if (n == 0)
        throw_format_error(c10::str("checkpoint: ", path_, " ends at byte ", offset, ", before its data does"));
      out += n;
      offset += static_cast<uint64_t>(n);
      bytes -= static_cast<uint64_t>(n);
    }
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const int fd_;
};

// Bytes of a stored chunk, read in blocks, each of which is checked as a whole. Parts of one block that follow each
// other take one read.
class ChunkReader {
 public:
  // Counts in `bytes_read`. All that it is given must outlive it.
  ChunkReader(const InputFile& file, const StorageInfo& info, const std::string& name, uint64_t& bytes_read)
      : file_(file), info_(info), name_(name), bytes_read_(bytes_read) {}

  // The bytes [begin, begin + bytes) of the chunk.
  void read(uint64_t begin, uint64_t bytes, char* out) {
    while (bytes > 0) {
      const uint64_t block = begin / kChecksumBlock, first = block * kChecksumBlock;
      const uint64_t size = std::min(kChecksumBlock, info_.length - first);
      const uint64_t n = std::min(bytes, first + size - begin);
      if (n == size) {
        load(block, out, size);
      } else {
        if (block != block_) {
          buffer_.resize(kChecksumBlock);
          block_ = kNone;
          load(block, buffer_.data(), size);
          block_ = block;
        }
        std::memcpy(out, buffer_.data() + (begin - first), n);
      }
      begin += n;
      out += n;
      bytes -= n;
    }
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  void load(uint64_t block, char* out, uint64_t size) {
    file_.read(info_.offset + block * kChecksumBlock, out, size);
    bytes_read_ += size;
    if (!info_.checksums.empty() && serialize::crc32c(0, out, size) != info_.checksums[block]) {
      throw_format_error(
          c10::str("checkpoint: ", file_.path(), " is damaged: bytes ", info_.offset + block * kChecksumBlock, " to ",
                   info_.offset + block * kChecksumBlock + size, ", of '", name_, "', do not have their checksum"));
    }
  }

  const InputFile& file_;
  const StorageInfo& info_;
  const std::string& name_;
  std::string buffer_;
  uint64_t block_ = kNone;
  uint64_t& bytes_read_;
};

// Reads the elements of an item, row by row, into `out`, which is as large.
void read_elements(ChunkReader& reader, const Extents& chunk, const ReadItem& item, uint64_t element, char* out) {
  // Dimensions that are read whole are part of the row.
  size_t outer = chunk.size();
  uint64_t row = element, row_begin = 0;
  std::vector<uint64_t> strides(chunk.size());
  uint64_t stride = element;
  for (size_t d = chunk.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= static_cast<uint64_t>(chunk[d]);
  }
  while (outer > 0) {
    --outer;
    row_begin += static_cast<uint64_t>(item.storage_offsets[outer]) * strides[outer];
    row *= static_cast<uint64_t>(item.lengths[outer]);
    if (item.lengths[outer] != chunk[outer]) break;
  }
  Extents at(outer, 0);
  while (true) {
    uint64_t begin = row_begin;
    for (size_t d = 0; d < outer; ++d) begin += static_cast<uint64_t>(item.storage_offsets[d] + at[d]) * strides[d];
    reader.read(begin, row, out);
    out += row;
    size_t d = outer;
    while (d > 0 && ++at[d - 1] == item.lengths[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

void check_booleans(const char* data, uint64_t bytes, const std::string& path, const std::string& name) {
  for (uint64_t i = 0; i < bytes; ++i) {
    if (static_cast<unsigned char>(data[i]) > 1) {
      throw_format_error(c10::str("checkpoint: ", path, ": '", name, "' is boolean and holds ",
                                  static_cast<int>(static_cast<unsigned char>(data[i]))));
    }
  }
}

bool is_plain(const Tensor& tensor) {
  return tensor.is_cpu() && tensor.layout() == c10::Layout::Strided && tensor.is_contiguous() && !tensor.is_conj() &&
         !tensor.is_neg();
}

const StorageInfo& place_of(const Metadata& metadata, const ReadItem& item) {
  const auto found = metadata.storage_data.find(item.storage_index);
  TORCH_CHECK_VALUE(found != metadata.storage_data.end(), "'", item.storage_index.fqn,
                    "' has no chunk that the plan asks for");
  return found->second;
}

// Checks that the item asks for elements that the chunk has.
void check_item(const ChunkStorageMetadata& chunk, const ReadItem& item) {
  const size_t dims = chunk.sizes.size();
  bool fits = item.storage_offsets.size() == dims && item.lengths.size() == dims;
  for (size_t d = 0; fits && d < dims; ++d) {
    fits = item.storage_offsets[d] >= 0 && item.lengths[d] > 0 && item.storage_offsets[d] <= chunk.sizes[d] &&
           item.lengths[d] <= chunk.sizes[d] - item.storage_offsets[d];
  }
  TORCH_CHECK_VALUE(fits, "the plan asks for elements of '", item.storage_index.fqn, "' that its chunk has not");
}

}  // namespace

// --- FileSystemWriter ---

FileSystemWriter::FileSystemWriter(std::string path, FileSystemWriterOptions options)
    : path_(std::move(path)), options_(options) {
  TORCH_CHECK_VALUE(options_.thread_count >= 1, "FileSystemWriter: thread_count is ", options_.thread_count,
                    ", expected at least 1");
}

void FileSystemWriter::set_up_storage_writer(bool is_coordinator) {
  TORCH_CHECK_VALUE(!path_.empty(), "FileSystemWriter: the path is empty");
  serialize::check_path(path_);
  written_.clear();
  if (!is_coordinator) return;
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) {
    errno = error.value();
    throw_io_error("create of folder", path_);
  }
  TORCH_CHECK_VALUE(options_.overwrite || ::access(file(detail::kIndexName).c_str(), F_OK) != 0,
                    "FileSystemWriter: ", path_, " has a checkpoint, which overwrite(false) keeps");
}

std::vector<SavePlan> FileSystemWriter::prepare_global_plan(std::vector<SavePlan> plans) {
  // Numbers that no file has: what the present index names stays as it is.
  uint64_t first = 1;
  for (const std::string& name : names_in(path_)) {
    if (const std::optional<uint64_t> number = number_of(name)) first = std::max(first, *number + 1);
  }
  for (size_t rank = 0; rank < plans.size(); ++rank) plans[rank].storage_data = c10::str(rank, " ", first);
  return plans;
}

std::vector<WriteResult> FileSystemWriter::write_data(const SavePlan& plan, SavePlanner& planner) {
  const size_t space = plan.storage_data.find(' ');
  const uint64_t rank = std::stoull(plan.storage_data.substr(0, space));
  const uint64_t first = std::stoull(plan.storage_data.substr(space + 1));
  // What goes into each file: the largest items first, each to the file that has least.
  std::vector<const WriteItem*> sorted;
  for (const WriteItem& item : plan.items) sorted.push_back(&item);
  std::stable_sort(sorted.begin(), sorted.end(), [](const WriteItem* a, const WriteItem* b) {
    return a->tensor_storage_size().value_or(0) > b->tensor_storage_size().value_or(0);
  });
  const size_t count = !options_.single_file_per_rank
                           ? sorted.size()
                           : std::min(sorted.size(), static_cast<size_t>(options_.thread_count));
  std::vector<std::vector<const WriteItem*>> files(count);
  std::vector<int64_t> load(count, 0);
  for (const WriteItem* item : sorted) {
    const auto least = static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    files[least].push_back(item);
    load[least] += item->tensor_storage_size().value_or(0) + 1;
  }
  for (size_t i = 0; i < count; ++i) written_.push_back(data_name(rank, first + i));
  std::vector<std::vector<WriteResult>> results(count);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(options_.thread_count));
  const auto write = [&](size_t thread) {
    try {
      for (size_t i = thread; i < count; i += static_cast<size_t>(options_.thread_count)) {
        results[i] = write_file(file(written_[i]), written_[i], files[i], planner);
      }
    } catch (...) {
      errors[thread] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min(count, errors.size()); ++t) threads.emplace_back(write, t);
  write(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  std::vector<WriteResult> all;
  for (std::vector<WriteResult>& part : results) {
    all.insert(all.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
  }
  return all;
}

void FileSystemWriter::finish(Metadata& metadata, const std::vector<std::vector<WriteResult>>& results) {
  for (const std::vector<WriteResult>& of_rank : results) {
    for (const WriteResult& result : of_rank) {
      metadata.storage_data[result.index] = result.storage_data;
      metadata.files[result.storage_data.relative_path] = result.file_bytes;
    }
  }
  const auto remove_data = [&](bool (*goes)(bool is_new)) {
    for (const std::string& name : names_in(path_)) {
      if (number_of(name) && goes(metadata.files.count(name) != 0)) ::unlink(file(name).c_str());
    }
  };
  const std::string text = detail::index_text(metadata);
  try {
    for (const auto& [name, bytes] : metadata.files) {
      const uint64_t there = size_of(file(name));
      if (there != bytes) {
        throw_format_error(
            c10::str("checkpoint: ", file(name), " has ", there, " bytes where ", bytes, " were written"));
      }
    }
    serialize::write_file(file(detail::kIndexName), text);
  } catch (const c10::Error&) {
    // An error of the last step, the folder's sync, comes when the new index is there already.
    std::error_code error;
    const bool is_there = std::filesystem::exists(file(detail::kIndexName), error) &&
                          serialize::read_file(file(detail::kIndexName), kMostIndexBytes) == text;
    if (!is_there) remove_data([](bool is_new) { return is_new; });
    throw;
  }
  remove_data([](bool is_new) { return !is_new; });
  for (const std::string& name : names_in(path_)) {
    if (is_unfinished(name)) ::unlink(file(name).c_str());
  }
}

void FileSystemWriter::discard() {
  for (const std::string& name : written_) ::unlink(file(name).c_str());
  written_.clear();
}

// --- FileSystemReader ---

FileSystemReader::FileSystemReader(std::string path) : path_(std::move(path)) {}

Metadata FileSystemReader::read_metadata() {
  TORCH_CHECK_VALUE(!path_.empty(), "FileSystemReader: the path is empty");
  serialize::check_path(path_);
  struct stat info;
  if (::stat(path_.c_str(), &info) != 0) throw_io_error("open of checkpoint", path_);
  whole_.clear();
  if (!S_ISDIR(info.st_mode)) {
    encoding_ = Encoding::kWhole;
    detail::WholeFile whole = detail::read_whole_file(path_);
    whole_ = std::move(whole.values);
    return std::move(whole.metadata);
  }
  const auto has = [&](const char* name) { return ::access(file(name).c_str(), F_OK) == 0; };
  encoding_ = Encoding::kElements;
  if (has(detail::kIndexName)) {
    const std::string path = file(detail::kIndexName);
    return detail::parse_index(serialize::read_file(path, kMostIndexBytes), path);
  }
  if (has(detail::kDcpMetadataName)) {
    encoding_ = Encoding::kTorchSave;
    return detail::read_dcp_metadata(file(detail::kDcpMetadataName));
  }
  if (std::optional<Metadata> metadata = detail::read_safetensors_metadata(path_)) return std::move(*metadata);
  throw_format_error(c10::str("checkpoint: ", path_, " has no ", detail::kIndexName,
                              ", which is written last: there is no checkpoint, or one that was not finished"));
}

void FileSystemReader::set_up_storage_reader(const Metadata& metadata, bool /*is_coordinator*/) {
  metadata_ = metadata;
  chunks_.clear();
  for (const auto& [name, stored] : metadata_.state_dict_metadata) {
    const auto* tensor = std::get_if<TensorStorageMetadata>(&stored);
    if (tensor == nullptr) continue;
    for (const ChunkStorageMetadata& chunk : tensor->chunks)
      chunks_.emplace(MetadataIndex{name, chunk.offsets}, &chunk);
  }
  bytes_read_ = 0;
}

LoadPlan FileSystemReader::prepare_local_plan(LoadPlan plan) {
  if (encoding_ == Encoding::kWhole) return plan;
  std::map<std::string, uint64_t> ends;
  for (const ReadItem& item : plan.items) {
    const StorageInfo& info = place_of(metadata_, item);
    uint64_t& end = ends[info.relative_path];
    end = std::max(end, info.offset + info.length);
  }
  for (const auto& [name, end] : ends) {
    const uint64_t bytes = size_of(file(name));
    const auto exact = metadata_.files.find(name);
    if (exact != metadata_.files.end() ? bytes != exact->second : bytes < end) {
      throw_format_error(c10::str("checkpoint: ", file(name), " has ", bytes, " bytes where ",
                                  exact != metadata_.files.end() ? exact->second : end, " are expected"));
    }
  }
  return plan;
}

void FileSystemReader::read_data(const LoadPlan& plan, LoadPlanner& planner) {
  const c10::NoGradGuard no_grad;
  std::vector<std::pair<const StorageInfo*, const ReadItem*>> items;
  for (const ReadItem& item : plan.items) items.emplace_back(&place_of(metadata_, item), &item);
  std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
    const int order = a.first->relative_path.compare(b.first->relative_path);
    return order != 0 ? order < 0 : a.first->offset < b.first->offset;
  });
  std::unique_ptr<InputFile> input;
  std::optional<ChunkReader> reader;  // of the current chunk
  const StorageInfo* current = nullptr;
  IValue unpacked;
  for (const auto& [info, item] : items) {
    const std::string& name = item->storage_index.fqn;
    if (encoding_ == Encoding::kWhole) {
      unpacked = whole_.at(name);
    } else if (info != current) {
      if (current == nullptr || current->relative_path != info->relative_path) {
        input = std::make_unique<InputFile>(file(info->relative_path));
      }
      reader.emplace(*input, *info, name, bytes_read_);
    }
    const auto whole = [&] {
      std::string bytes(info->length, '\0');
      reader->read(0, info->length, bytes.data());
      return bytes;
    };
    const std::string where =
        encoding_ == Encoding::kWhole ? path_ : c10::str(input->path(), " at byte ", info->offset);
    if (encoding_ == Encoding::kTorchSave && info != current) {
      unpacked = torch::pickle::load(std::make_shared<serialize::FileBytes>(whole(), where),
                                     {.map_location = c10::Device(c10::kCPU), .verify = true});
    }
    current = info;
    if (item->type == LoadItemType::BYTE_IO) {
      planner.load_bytes(*item, encoding_ == Encoding::kElements ? detail::parse_value(whole(), where) : unpacked);
      continue;
    }
    const auto& stored = std::get<TensorStorageMetadata>(metadata_.state_dict_metadata.at(name));
    const auto found = chunks_.find(item->storage_index);
    TORCH_CHECK_VALUE(found != chunks_.end(), "'", name, "' has no chunk that the plan asks for");
    const ChunkStorageMetadata& chunk = *found->second;
    check_item(chunk, *item);
    const Tensor target = planner.resolve_tensor(*item);
    TORCH_CHECK_VALUE(target.sizes() == c10::IntArrayRef(item->lengths), "'", name, "' is read as sizes ",
                      c10::IntArrayRef(item->lengths), " into a tensor of sizes ", target.sizes());
    if (encoding_ != Encoding::kElements) {
      if (!unpacked.isTensor() || unpacked.toTensor().sizes() != c10::IntArrayRef(chunk.sizes)) {
        throw_format_error(c10::str("checkpoint: ", where, " is not the chunk of '", name, "' of sizes ",
                                    c10::IntArrayRef(chunk.sizes)));
      }
      Tensor part = unpacked.toTensor();
      for (size_t d = 0; d < item->lengths.size(); ++d) {
        part = at::narrow(part, static_cast<int64_t>(d), item->storage_offsets[d], item->lengths[d]);
      }
      target.copy_(part);
      planner.commit_tensor(*item, target);
      continue;
    }
    const c10::ScalarType dtype = stored.properties.dtype;
    const bool is_direct = target.scalar_type() == dtype && is_plain(target);
    const Tensor part = is_direct ? target : at::empty_contiguous(item->lengths, dtype);
    char* const out = static_cast<char*>(part.mutable_data_ptr());
    read_elements(*reader, chunk.sizes, *item, c10::elementSize(dtype), out);
    if (dtype == c10::kBool) check_booleans(out, part.nbytes(), input->path(), name);
    if (is_direct) {
      target.unsafeGetTensorImpl()->bump_version();
    } else {
      target.copy_(part);
    }
    planner.commit_tensor(*item, target);
  }
}

}  // namespace torch::distributed::checkpoint
