// The numbers that a compiled program comes with: constant bytes, wherever they lie.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torch::aot {

/// Bytes that outlive every program that reads them. Shared by any number of them.
class Weights {
 public:
  /// Memory of the caller, 64-byte aligned, which must outlive this object.
  Weights(const void* data, size_t bytes) : data_(static_cast<const char*>(data)), bytes_(bytes) {}
  /// A file, mapped and read as it is needed; several processes share its pages. Throws std::runtime_error that names
  /// the file where it cannot be opened or mapped.
  static Weights map(const char* path);
  ~Weights();
  Weights(Weights&& other) noexcept;
  Weights& operator=(Weights&& other) noexcept;
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  const char* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  const char* data_ = nullptr;
  size_t bytes_ = 0;
  bool mapped_ = false;
};

/// FNV-1a over 64-bit words (Fowler, Noll, Vo), the last filled up with zeros: tells weights of another program apart,
/// and files that are damaged; no protection against somebody who means to deceive.
uint64_t hash_of(const void* data, size_t bytes);

/// Throws std::invalid_argument that names `program` where the weights are not those that it was compiled with.
void check_weights(const char* program, const Weights& weights, size_t bytes, uint64_t hash);

}  // namespace torch::aot
