#include "tests/conformance/case_set.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

namespace conformance {
namespace {

namespace fs = std::filesystem;

std::string read_file(const std::string& path, size_t limit) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw BadSet(path + ": no such file");
  const auto size = fs::file_size(path, error);
  if (error) throw BadSet(path + ": " + error.message());
  if (size > limit) throw BadSet(path + ": is larger than " + std::to_string(limit) + " bytes");
  std::string bytes(size, '\0');
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr || std::fread(bytes.data(), 1, size, file.get()) != size) throw BadSet(path + ": cannot be read");
  return bytes;
}

std::string inflate_gzip(const std::string& path, const std::string& packed, size_t limit) {
  z_stream stream = {};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw BadSet(path + ": zlib cannot start");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  std::string piece(size_t{1} << 18, '\0');
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - stream.avail_out);
    if (out.size() > limit) throw BadSet(path + ": unpacks to more than " + std::to_string(limit) + " bytes");
  }
  if (status != Z_STREAM_END) throw BadSet(path + ": is not a whole gzip file");
  return out;
}

uint64_t octal(const std::string& path, std::string_view field) {
  uint64_t value = 0;
  size_t i = 0;
  while (i < field.size() && field[i] == ' ') ++i;
  for (; i < field.size() && field[i] != '\0' && field[i] != ' '; ++i) {
    if (field[i] < '0' || field[i] > '7') throw BadSet(path + ": a damaged archive");
    value = value * 8 + static_cast<uint64_t>(field[i] - '0');
  }
  return value;
}

// The plain files of a tar archive by their last path component.
std::map<std::string, std::string> unpack_tar(const std::string& path, const std::string& tar) {
  constexpr size_t kBlock = 512;
  std::map<std::string, std::string> files;
  for (size_t at = 0; at + kBlock <= tar.size();) {
    const std::string_view header(tar.data() + at, kBlock);
    if (header.find_first_not_of('\0') == std::string_view::npos) return files;
    uint64_t sum = 0;
    for (size_t i = 0; i < kBlock; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
    if (sum != octal(path, header.substr(148, 8))) throw BadSet(path + ": a damaged archive");
    const uint64_t size = octal(path, header.substr(124, 12));
    at += kBlock;
    if (size > tar.size() - at) throw BadSet(path + ": a damaged archive");
    std::string name(header.substr(0, std::min<size_t>(100, header.find('\0'))));
    name = name.substr(name.rfind('/') + 1);
    const char type = header[156];
    if (type == '0' || type == '\0') files[name] = tar.substr(at, size);
    at += (size + kBlock - 1) / kBlock * kBlock;
  }
  throw BadSet(path + ": an archive without an end");
}

bool ends_with(const std::string& s, std::string_view end) {
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

CaseSet::CaseSet(std::string path) : path_(std::move(path)) {
  std::error_code error;
  if (fs::is_directory(path_, error)) return;
  if (!fs::is_regular_file(path_, error)) throw BadSet(path_ + ": no such folder or archive");
  archive_ = true;
  files_ = unpack_tar(path_, inflate_gzip(path_, read_file(path_, kMaxFileBytes), kMaxArchiveBytes));
}

std::vector<std::string> CaseSet::stems(const std::string& ending) const {
  std::vector<std::string> out;
  const auto add = [&](const std::string& file) {
    if (ends_with(file, ending)) out.push_back(file.substr(0, file.size() - ending.size()));
  };
  if (archive_) {
    for (const auto& [file, bytes] : files_) add(file);
  } else {
    std::error_code error;
    for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) add(it->path().filename());
    if (error) throw BadSet(path_ + ": " + error.message());
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool CaseSet::contains(const std::string& file) const {
  std::error_code error;
  return archive_ ? files_.count(file) > 0 : fs::exists(describe(file), error);
}

std::string CaseSet::read(const std::string& file) const {
  if (!archive_) return read_file(describe(file), kMaxFileBytes);
  const auto found = files_.find(file);
  if (found == files_.end()) throw BadSet(describe(file) + ": no such file");
  return found->second;
}

}  // namespace conformance
