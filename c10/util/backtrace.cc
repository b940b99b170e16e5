#include "c10/util/backtrace.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "c10/util/string_util.h"

namespace c10 {
namespace {

// The bytes of a file, for as long as the object lives.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status;
    if (::fstat(file, &status) == 0 && status.st_size > 0) {
      void* data = ::mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (data != MAP_FAILED) {
        data_ = static_cast<const char*>(data);
        size_ = static_cast<size_t>(status.st_size);
      }
    }
    ::close(file);
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // `count` objects at `offset`, or null where the file does not hold them.
  template <class T>
  const T* at(uint64_t offset, uint64_t count = 1) const {
    if (data_ == nullptr || offset > size_ || count > (size_ - offset) / sizeof(T) || offset % alignof(T) != 0) return nullptr;
    return reinterpret_cast<const T*>(data_ + offset);
  }
  std::string text_at(uint64_t offset) const {
    if (data_ == nullptr || offset >= size_) return {};
    const char* start = data_ + offset;
    return std::string(start, std::find(start, data_ + size_, '\0'));
  }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

std::string hex(uint64_t value) {
  char digits[2 + 16 + 1];
  std::snprintf(digits, sizeof(digits), "0x%llx", static_cast<unsigned long long>(value));
  return digits;
}

struct Symbol {
  std::string name;
  uint64_t offset = 0;
};

// The function of an ELF file that covers `address`, from its full symbol table; no name where there is none.
Symbol find_symbol(const MappedFile& file, uint64_t address) {
  const auto* header = file.at<ElfW(Ehdr)>(0);
  if (header == nullptr || std::string(reinterpret_cast<const char*>(header->e_ident), SELFMAG) != ELFMAG) return {};
  const auto* sections = file.at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return {};
  for (size_t s = 0; s < header->e_shnum; ++s) {
    const auto& section = sections[s];
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= header->e_shnum) continue;
    const uint64_t count = section.sh_size / sizeof(ElfW(Sym));
    const auto* symbols = file.at<ElfW(Sym)>(section.sh_offset, count);
    if (symbols == nullptr) return {};
    for (uint64_t i = 0; i < count; ++i) {
      const auto& symbol = symbols[i];
      if ((symbol.st_info & 0xf) != STT_FUNC || address < symbol.st_value || address >= symbol.st_value + symbol.st_size) {
        continue;
      }
      return {file.text_at(sections[section.sh_link].sh_offset + symbol.st_name), address - symbol.st_value};
    }
  }
  return {};
}

std::string describe(void* frame) {
  // The call lies before the address that it returns to.
  const auto address = reinterpret_cast<uintptr_t>(frame) - 1;
  Dl_info info;
  link_map* map = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) {
    return str("? [", frame, "]");
  }
  const uint64_t in_file = address - (map == nullptr ? 0 : map->l_addr);
  const bool is_program = map == nullptr || map->l_name == nullptr || *map->l_name == '\0';
  const std::string place = str(" (", info.dli_fname == nullptr ? "?" : info.dli_fname, " + ", hex(in_file), ")");
  Symbol symbol = find_symbol(MappedFile(is_program ? "/proc/self/exe" : info.dli_fname), in_file);
  if (symbol.name.empty() && info.dli_sname != nullptr) {
    symbol = {info.dli_sname, address - reinterpret_cast<uintptr_t>(info.dli_saddr)};
  }
  if (symbol.name.empty()) return str("?", place);
  return str(demangle(symbol.name.c_str()), " + ", hex(symbol.offset), place);
}

}  // namespace

std::vector<void*> capture_frames(size_t skip, size_t maximum) {
  constexpr size_t kMaxFrames = 256;
  void* frames[kMaxFrames];
  const size_t wanted = std::min(kMaxFrames, maximum < kMaxFrames ? skip + 1 + maximum : kMaxFrames);
  const auto count = static_cast<size_t>(::backtrace(frames, static_cast<int>(wanted)));
  const size_t first = std::min(count, skip + 1);
  return std::vector<void*>(frames + first, frames + count);
}

std::string describe_frames(const std::vector<void*>& frames) {
  std::string out;
  for (size_t i = 0; i < frames.size(); ++i) out += str("frame #", i, ": ", describe(frames[i]), "\n");
  return out;
}

}  // namespace c10
