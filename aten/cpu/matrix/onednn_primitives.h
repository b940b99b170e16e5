#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <vector>

#include "oneapi/dnnl/dnnl.h"

#include "aten/cpu/matrix/gemm.h"

// oneDNN primitives, made once for a problem and kept in a cache that is bounded in bytes (primitive_cache.h).

namespace at::matrix::internal {

/// Throws c10::Error naming `what` unless the status is success.
void onednn_check(dnnl_status_t status, const char* what);

/// What f returns; where the C++ library has no memory, OutOfMemoryError.
template <class F>
auto with_memory_errors(const F& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    onednn_check(dnnl_out_of_memory, "preparation");
    throw;
  }
}

/// Whether rows (or, for a transposed matrix, columns) lie a leading dimension apart and are dense within.
inline bool is_row_major(int64_t row, int64_t col, int64_t rows, int64_t cols) {
  return (col == 1 || cols == 1) && (row >= cols || rows == 1);
}
/// That dimension.
inline int64_t leading(int64_t stride, int64_t count, int64_t inner) {
  return count == 1 || stride < inner ? inner : stride;
}

dnnl_engine_t onednn_engine();
/// Which its bfloat16 products need, and its float32 products of any layout.
bool onednn_has_avx512();
dnnl_data_type_t onednn_type(Type type);

/// A dense or strided memory descriptor.
dnnl_memory_desc_t onednn_memory(Type type, std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> strides);
dnnl_memory_desc_t onednn_memory(Type type, int dims, const int64_t* sizes, const int64_t* strides);
/// One whose layout oneDNN chooses.
dnnl_memory_desc_t onednn_any_memory(Type type, int dims, const int64_t* sizes);

/// What identifies a primitive: its kind and every number of its problem.
using PrimitiveKey = std::vector<int64_t>;

/// A primitive with its arguments' layouts. Where oneDNN prefers another layout than the caller's, it is preceded or
/// followed by a reordering copy. Executing is safe from several threads.
class Primitive {
 public:
  /// An argument as the caller has it; `output` is written.
  struct Argument {
    int index;
    dnnl_memory_desc_t layout;
    bool output;
  };
  struct Value {
    int index;
    void* data;
  };

  /// Takes `descriptor` over, which is destroyed.
  Primitive(dnnl_primitive_desc_t descriptor, std::initializer_list<Argument> arguments);
  ~Primitive();
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  /// Runs in a team of the calling thread's ThreadLease.
  void execute(std::initializer_list<Value> values) const;
  /// An estimate of what keeping it costs.
  size_t bytes() const { return bytes_; }
  /// The caller's layout of an argument.
  const dnnl_memory_desc_t& layout(int argument) const;

 private:
  struct Slot {
    int index;
    bool output;
    dnnl_memory_desc_t caller, inner;
    dnnl_primitive_t reorder;  // null where the layouts agree
    size_t inner_bytes;
  };
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<Slot> slots_;
  dnnl_memory_desc_t scratchpad_;
  size_t scratchpad_bytes_ = 0;
  size_t bytes_ = 0;
};

/// The primitive of `key`, made by `make` (null if oneDNN has none for it) when the cache lacks it.
std::shared_ptr<const Primitive> cached_primitive(const PrimitiveKey& key, std::unique_ptr<Primitive> (*make)(const void*),
                                                  const void* context);

/// An attribute that leaves scratch memory to the caller.
const_dnnl_primitive_attr_t onednn_attributes();

/// The primitive's own layout of an argument.
dnnl_memory_desc_t onednn_query(const_dnnl_primitive_desc_t descriptor, int argument);

/// Copies a tensor from one layout to another.
void onednn_reorder(const dnnl_memory_desc_t& from, void* data, const dnnl_memory_desc_t& to, void* result);

/// bfloat16 product of one batch entry; strides as the oneDNN candidate accepts them.
void onednn_multiply_bfloat16(const Gemm& g);
/// c = a b of signed bytes, c of int32; strides as above. False where oneDNN has no such primitive.
bool onednn_multiply_signed_bytes(const Gemm& g);

}  // namespace at::matrix::internal
