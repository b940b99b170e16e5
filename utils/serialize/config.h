// Settings of torch::save and torch::load, by the names of Python's torch.utils.serialization.config and
// torch.serialization.
//
//   torch::utils::serialization::config::save.storage_alignment = 4096;     // storages at pages, for O_DIRECT
//   torch::serialization::set_crc32_options(false);                         // large files, whose file system has sums
//   torch::serialization::set_default_mmap_options(MAP_SHARED);             // writes to tensors go to the file
//
// They are the process's, and are set before threads save and load. They act on files of pickles (torch::save,
// torch::load, torch::pickle); `load.mmap` and `load.mmap_flags` on safetensors files that torch::load reads, too.
#pragma once

#include <cstdint>
#include <optional>

namespace torch {

namespace serialization {

enum class LoadEndianness { NATIVE = 1, LITTLE = 2, BIG = 3 };

}  // namespace serialization

namespace utils::serialization::config {

struct Load {
  /// Whether files are mapped, so that tensors are views of them. Without it they are read whole, and are independent
  /// of the file then. (In Python the default is False.)
  bool mmap = true;
  /// The byte order of files that do not name one, those of PyTorch before 2.1; little where there is none.
  std::optional<torch::serialization::LoadEndianness> endianness;
  /// MAP_PRIVATE: what is written to tensors stays in this process. MAP_SHARED: it goes to the file, which must be
  /// writable, and whose checksums then fit no longer: save such files without.
  int mmap_flags = 2;  // MAP_PRIVATE
};

struct Save {
  /// Whether each record has its checksum, half a second of the processor's for a GB. Without, damage is not noticed,
  /// and other programs may complain when they unzip the file; torch::load and torch.load read it.
  bool compute_crc32 = true;
  /// Where storages begin in the file: at multiples of so many bytes, 1 to 32,768.
  uint64_t storage_alignment = 64;
};

inline Load load;
inline Save save;

}  // namespace utils::serialization::config

namespace serialization {

std::optional<LoadEndianness> get_default_load_endianness();
void set_default_load_endianness(std::optional<LoadEndianness> endianness);
bool get_crc32_options();
void set_crc32_options(bool compute_crc32);
int get_default_mmap_options();
/// Throws c10::ValueError for other flags than MAP_PRIVATE or MAP_SHARED.
void set_default_mmap_options(int flags);

/// While it lives, torch::save of this thread leaves the bytes of storages zero, without reading them, and torch::load
/// leaves those of CPU storages as they come from the allocator (booleans false): to lay a file out that is filled in
/// another pass, and to see what a file holds.
///
///   {
///     torch::serialization::skip_data skip;
///     torch::save(model, "model.pt");
///   }
class skip_data {
 public:
  skip_data();
  ~skip_data();
  skip_data(const skip_data&) = delete;
  skip_data& operator=(const skip_data&) = delete;

  /// Whether one lives in this thread.
  static bool is_on();

 private:
  bool before_;
};

}  // namespace serialization
}  // namespace torch
