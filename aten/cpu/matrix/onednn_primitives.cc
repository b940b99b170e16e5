#include "aten/cpu/matrix/onednn_primitives.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "aten/cpu/matrix/internal.h"
#include "aten/cpu/matrix/primitive_cache.h"
#include "aten/cpu/support/byte_cache.h"
#include "c10/parallel/parallel.h"
#include "c10/util/exception.h"

namespace at::matrix {
namespace internal {
namespace {

constexpr size_t kBytesOfOnePrimitive = 64 * 1024;

struct KeyHash {
  size_t operator()(const PrimitiveKey& key) const {
    uint64_t h = 0xcbf29ce484222325u;
    for (int64_t v : key) h = (h ^ static_cast<uint64_t>(v)) * 0x100000001b3u, h ^= h >> 29;
    return h;
  }
};

using Cache = cpu::ByteCache<PrimitiveKey, KeyHash>;

// Never destroyed: threads may still run primitives while the process exits. Primitives are made for the threads of their
// lease, and a forked child has one.
Cache& cache() {
  static Cache* const instance = [] {
    pthread_atfork([] { cache().lock(); }, [] { cache().unlock(); }, [] { cache().clear_and_unlock(); });
    return new Cache(size_t{32} << 20);
  }();
  return *instance;
}

struct Stream {
  dnnl_stream_t stream = nullptr;
  ~Stream() {
    if (stream != nullptr) dnnl_stream_destroy(stream);
  }
};

dnnl_stream_t thread_stream() {
  thread_local Stream own;
  if (own.stream == nullptr)
    onednn_check(dnnl_stream_create(&own.stream, onednn_engine(), dnnl_stream_default_flags), "stream");
  return own.stream;
}

// A memory object over the caller's data.
class Memory {
 public:
  Memory(const dnnl_memory_desc_t& layout, void* data) {
    onednn_check(dnnl_memory_create(&memory_, &layout, onednn_engine(), data), "memory");
  }
  ~Memory() {
    if (memory_ != nullptr) dnnl_memory_destroy(memory_);
  }
  Memory(Memory&& other) noexcept : memory_(other.memory_) { other.memory_ = nullptr; }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  dnnl_memory_t get() const { return memory_; }

 private:
  dnnl_memory_t memory_ = nullptr;
};

// oneDNN 2 does not look whether it got what it asks for while it makes a primitive: it is only let in where there is far more
// memory than it takes. Throws OutOfMemoryError.
void check_room() {
  constexpr size_t kRoom = size_t{1} << 20;
  void* room = std::malloc(kRoom);
  asm volatile("" : "+r"(room));  // or the compiler would leave both calls out
  if (room == nullptr) onednn_check(dnnl_out_of_memory, "preparation");
  std::free(room);
}

dnnl_primitive_t make_reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
  dnnl_primitive_desc_t descriptor = nullptr;
  onednn_check(dnnl_reorder_primitive_desc_create(&descriptor, &from, onednn_engine(), &to, onednn_engine(), nullptr),
               "reorder descriptor");
  dnnl_primitive_t primitive = nullptr;
  const dnnl_status_t status = dnnl_primitive_create(&primitive, descriptor);
  dnnl_primitive_desc_destroy(descriptor);
  onednn_check(status, "reorder");
  return primitive;
}

void run_reorder(dnnl_primitive_t reorder, dnnl_memory_t from, dnnl_memory_t to) {
  dnnl_exec_arg_t arguments[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  onednn_check(dnnl_primitive_execute(reorder, thread_stream(), 2, arguments), "reorder execution");
}

}  // namespace

void onednn_check(dnnl_status_t status, const char* what) {
  if (status == dnnl_out_of_memory) C10_THROW_ERROR(OutOfMemoryError, "oneDNN ran out of memory in its " + std::string(what));
  TORCH_CHECK(status == dnnl_success, "oneDNN ", what, " failed with status ", static_cast<int>(status));
}

dnnl_engine_t onednn_engine() {
  static const dnnl_engine_t engine = [] {
    // Ours is the only cache, so that its bound is a bound.
    onednn_check(dnnl_set_primitive_cache_capacity(0), "cache capacity");
    dnnl_engine_t made = nullptr;
    onednn_check(dnnl_engine_create(&made, dnnl_cpu, 0), "engine");
    return made;
  }();
  return engine;
}

bool onednn_has_avx512() {
  static const bool has = [] {
    const int isa = dnnl_get_effective_cpu_isa();
    return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  }();
  return has;
}

dnnl_data_type_t onednn_type(Type type) {
  switch (type) {
    case Type::kFloat32:
      return dnnl_f32;
    case Type::kUint8:
      return dnnl_u8;
    case Type::kInt8:
      return dnnl_s8;
    case Type::kInt32:
      return dnnl_s32;
    default:
      return dnnl_bf16;
  }
}

dnnl_memory_desc_t onednn_memory(Type type, int dims, const int64_t* sizes, const int64_t* strides) {
  dnnl_memory_desc_t layout;
  onednn_check(dnnl_memory_desc_init_by_strides(&layout, dims, sizes, onednn_type(type), strides), "memory descriptor");
  return layout;
}

dnnl_memory_desc_t onednn_memory(Type type, std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> strides) {
  return onednn_memory(type, static_cast<int>(sizes.size()), sizes.begin(), strides.begin());
}

dnnl_memory_desc_t onednn_any_memory(Type type, int dims, const int64_t* sizes) {
  dnnl_memory_desc_t layout;
  onednn_check(dnnl_memory_desc_init_by_tag(&layout, dims, sizes, onednn_type(type), dnnl_format_tag_any),
               "memory descriptor");
  return layout;
}

const_dnnl_primitive_attr_t onednn_attributes() {
  static const dnnl_primitive_attr_t attributes = [] {
    dnnl_primitive_attr_t made = nullptr;
    onednn_check(dnnl_primitive_attr_create(&made), "attributes");
    onednn_check(dnnl_primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user), "scratchpad mode");
    return made;
  }();
  return attributes;
}

dnnl_memory_desc_t onednn_query(const_dnnl_primitive_desc_t descriptor, int argument) {
  const dnnl_memory_desc_t* layout = dnnl_primitive_desc_query_md(descriptor, dnnl_query_exec_arg_md, argument);
  TORCH_INTERNAL_ASSERT(layout != nullptr, "oneDNN: no layout of argument ", argument);
  return *layout;
}

Primitive::Primitive(dnnl_primitive_desc_t descriptor, std::initializer_list<Argument> arguments) {
  struct Owner {
    dnnl_primitive_desc_t d;
    ~Owner() { dnnl_primitive_desc_destroy(d); }
  } owner{descriptor};
  scratchpad_ = onednn_query(descriptor, DNNL_ARG_SCRATCHPAD);
  scratchpad_bytes_ = dnnl_memory_desc_get_size(&scratchpad_);
  bytes_ = kBytesOfOnePrimitive;
  slots_.reserve(arguments.size());
  try {
    for (const Argument& a : arguments) {
      Slot slot{a.index, a.output, a.layout, onednn_query(descriptor, a.index), nullptr, 0};
      if (!dnnl_memory_desc_equal(&slot.caller, &slot.inner)) {
        slot.inner_bytes = dnnl_memory_desc_get_size(&slot.inner);
        slot.reorder = a.output ? make_reorder(slot.inner, slot.caller) : make_reorder(slot.caller, slot.inner);
        bytes_ += kBytesOfOnePrimitive;
      }
      slots_.push_back(slot);
    }
    onednn_check(dnnl_primitive_create(&primitive_, descriptor), "primitive");
  } catch (...) {
    for (const Slot& s : slots_)
      if (s.reorder != nullptr) dnnl_primitive_destroy(s.reorder);
    throw;
  }
}

Primitive::~Primitive() {
  for (const Slot& s : slots_)
    if (s.reorder != nullptr) dnnl_primitive_destroy(s.reorder);
  if (primitive_ != nullptr) dnnl_primitive_destroy(primitive_);
}

const dnnl_memory_desc_t& Primitive::layout(int argument) const {
  const auto slot =
      std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.index == argument; });
  TORCH_INTERNAL_ASSERT(slot != slots_.end(), "oneDNN: no argument ", argument);
  return slot->caller;
}

void onednn_reorder(const dnnl_memory_desc_t& from, void* data, const dnnl_memory_desc_t& to, void* result) {
  struct Destroy {
    void operator()(dnnl_primitive_t primitive) const { dnnl_primitive_destroy(primitive); }
  };
  const std::unique_ptr<dnnl_primitive, Destroy> reorder(make_reorder(from, to));
  const Memory source(from, data), target(to, result);
  run_reorder(reorder.get(), source.get(), target.get());
  onednn_check(dnnl_stream_wait(thread_stream()), "wait");
}

void Primitive::execute(std::initializer_list<Value> values) const {
  size_t bytes = (scratchpad_bytes_ + 63) / 64 * 64;
  for (const Slot& s : slots_) bytes += (s.inner_bytes + 63) / 64 * 64;
  Scratch scratch(bytes + 64);
  char* free_memory = scratch.as<char>();
  auto take = [&](size_t size) {
    char* result = free_memory;
    free_memory += (size + 63) / 64 * 64;
    return result;
  };
  std::vector<Memory> memories;
  memories.reserve(2 * slots_.size() + 1);
  std::vector<dnnl_exec_arg_t> arguments;
  arguments.reserve(slots_.size() + 1);
  memories.emplace_back(scratchpad_, take(scratchpad_bytes_));
  arguments.push_back({DNNL_ARG_SCRATCHPAD, memories.back().get()});
  struct Copy {
    dnnl_primitive_t reorder;
    dnnl_memory_t from, to;
  };
  std::vector<Copy> after;
  for (const Slot& s : slots_) {
    void* data = nullptr;
    for (const Value& v : values)
      if (v.index == s.index) data = v.data;
    TORCH_INTERNAL_ASSERT(data != nullptr, "oneDNN: argument ", s.index, " is missing");
    memories.emplace_back(s.caller, data);
    dnnl_memory_t outer = memories.back().get();
    if (s.reorder == nullptr) {
      arguments.push_back({s.index, outer});
      continue;
    }
    memories.emplace_back(s.inner, take(s.inner_bytes));
    dnnl_memory_t inner = memories.back().get();
    arguments.push_back({s.index, inner});
    if (s.output) after.push_back({s.reorder, inner, outer});
    else run_reorder(s.reorder, outer, inner);
  }
  onednn_check(dnnl_primitive_execute(primitive_, thread_stream(), static_cast<int>(arguments.size()), arguments.data()),
               "execution");
  for (const Copy& c : after) run_reorder(c.reorder, c.from, c.to);
  onednn_check(dnnl_stream_wait(thread_stream()), "wait");
}

std::shared_ptr<const Primitive> cached_primitive(const PrimitiveKey& key, std::unique_ptr<Primitive> (*make)(const void*),
                                                  const void* context) {
  return cache().find<Primitive>(key, [&]() -> std::shared_ptr<const Primitive> {
    check_room();
    return make(context);
  });
}

namespace {

// Both strides kept as they are: oneDNN takes row-major and transposed matrices without a copy.
void fix_strides(int64_t rows, int64_t cols, int64_t* row, int64_t* col) {
  if (*col == 1 || cols == 1) {
    *col = 1;
    if (rows == 1) *row = cols;
  } else {
    *row = 1;
    if (cols == 1) *col = rows;
  }
}

PrimitiveKey matmul_key(const Gemm& g, bool adds) {
  constexpr int64_t kMatmul = 1;
  return {kMatmul, static_cast<int64_t>(g.type), g.m, g.n, g.k, g.a.row, g.a.col, g.b.row, g.b.col, g.c_row,
          adds ? g.add.row : -1, adds ? g.add.col : -1, at::get_num_threads()};
}

std::unique_ptr<Primitive> make_matmul(const void* context) {
  const Gemm& g = *static_cast<const Gemm*>(context);
  const dnnl_memory_desc_t a = onednn_memory(g.type, {g.m, g.k}, {g.a.row, g.a.col});
  const dnnl_memory_desc_t b = onednn_memory(g.type, {g.k, g.n}, {g.b.row, g.b.col});
  // Sums of bytes.
  const dnnl_memory_desc_t c = onednn_memory(g.type == Type::kInt8 ? Type::kInt32 : g.type, {g.m, g.n}, {g.c_row, 1});
  const bool bias = g.add.data != nullptr;
  const dnnl_memory_desc_t bias_layout = onednn_memory(g.type, {1, g.n}, {g.n, 1});
  dnnl_matmul_desc_t matmul;
  onednn_check(dnnl_matmul_desc_init(&matmul, &a, &b, bias ? &bias_layout : nullptr, &c), "matmul");
  dnnl_primitive_desc_t descriptor = nullptr;
  const dnnl_status_t status = dnnl_primitive_desc_create(&descriptor, &matmul, onednn_attributes(), onednn_engine(), nullptr);
  if (status == dnnl_unimplemented) return nullptr;
  onednn_check(status, "matmul descriptor");
  if (bias)
    return std::make_unique<Primitive>(
        descriptor, std::initializer_list<Primitive::Argument>{
                        {DNNL_ARG_SRC, a, false}, {DNNL_ARG_WEIGHTS, b, false}, {DNNL_ARG_BIAS, bias_layout, false}, {DNNL_ARG_DST, c, true}});
  return std::make_unique<Primitive>(descriptor, std::initializer_list<Primitive::Argument>{
                                                     {DNNL_ARG_SRC, a, false}, {DNNL_ARG_WEIGHTS, b, false}, {DNNL_ARG_DST, c, true}});
}

}  // namespace

void onednn_multiply_bfloat16(const Gemm& given) {
  Gemm g = given;
  // A row of unit factors is the primitive's bias; anything else goes by way of float32, where one rounding is kept.
  const bool bias = g.add.data != nullptr && g.add.row == 0 && g.add.col == 1 && g.beta.real == 1;
  if (g.alpha.real != 1 || (g.add.data != nullptr && !bias)) return kConverting.run(given);
  fix_strides(g.m, g.k, &g.a.row, &g.a.col);
  fix_strides(g.k, g.n, &g.b.row, &g.b.col);
  const std::shared_ptr<const Primitive> primitive = cached_primitive(matmul_key(g, bias), make_matmul, &g);
  if (primitive == nullptr) return kConverting.run(given);
  void* a = const_cast<void*>(g.a.data);
  void* b = const_cast<void*>(g.b.data);
  if (bias)
    primitive->execute({{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_BIAS, const_cast<void*>(g.add.data)}, {DNNL_ARG_DST, g.c}});
  else
    primitive->execute({{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, g.c}});
}

bool onednn_multiply_signed_bytes(const Gemm& given) {
  Gemm g = given;
  fix_strides(g.m, g.k, &g.a.row, &g.a.col);
  fix_strides(g.k, g.n, &g.b.row, &g.b.col);
  const std::shared_ptr<const Primitive> primitive = cached_primitive(matmul_key(g, false), make_matmul, &g);
  if (primitive == nullptr) return false;
  void* const a = const_cast<void*>(g.a.data);
  void* const b = const_cast<void*>(g.b.data);
  primitive->execute({{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, g.c}});
  return true;
}

}  // namespace internal

PrimitiveCacheStats primitive_cache_stats() {
  return internal::cache().stats();
}
void set_primitive_cache_limit(size_t bytes) {
  internal::cache().set_limit(bytes);
}
void clear_primitive_cache() {
  internal::cache().clear();
}

}  // namespace at::matrix
