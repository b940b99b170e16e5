#include "aten/nested/nested_tensor_impl.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "c10/util/exception.h"

namespace at {
namespace {

DispatchKeySet nested_keys(Device device) {
  TORCH_CHECK_NOT_IMPLEMENTED(device.is_cpu() || device.is_cuda(), "nested tensors are not implemented for ",
                              device.type(), " devices");
  return device.is_cpu() ? DispatchKey::NestedTensorCPU : DispatchKey::NestedTensorCUDA;
}

// Of the tensor, with -1 for sizes in which parts differ. Without parts nothing is known of their dimensions.
DimVector whole_sizes(const NestedShape& shape) {
  DimVector sizes{shape.parts};
  if (shape.parts == 0) return sizes;
  for (int64_t d = 0; d < shape.dims; ++d) sizes.push_back(shape.common_size(d));
  return sizes;
}

}  // namespace

int64_t NestedShape::common_size(int64_t d) const {
  if (parts == 0) return -1;
  for (int64_t i = 1; i < parts; ++i) {
    if (sizes[static_cast<size_t>(i * dims + d)] != sizes[static_cast<size_t>(d)]) return -1;
  }
  return sizes[static_cast<size_t>(d)];
}

int64_t NestedShape::numel() const {
  int64_t sum = 0;
  for (int64_t i = 0; i < parts; ++i) {
    const bool overflow = __builtin_add_overflow(sum, c10::checked_numel(sizes_of(i)), &sum);
    TORCH_CHECK(!overflow, "the parts of a nested tensor have too many elements");
  }
  return sum;
}

bool NestedShape::is_packed() const {
  int64_t next = 0;
  for (int64_t i = 0; i < parts; ++i) {
    const IntArrayRef own = sizes_of(i), steps = strides_of(i);
    int64_t numel = 1;
    bool row_major = true;
    for (int64_t d = dims - 1; d >= 0; --d) {
      row_major &= own[d] == 1 || steps[d] == numel;
      // Beside a size of 0 the others may have any product.
      if (__builtin_mul_overflow(numel, own[d], &numel)) numel = 0;
    }
    if (numel == 0) continue;
    if (!row_major || offsets[static_cast<size_t>(i)] != next) return false;
    next += numel;
  }
  return true;
}

bool NestedShape::is_dense() const {
  std::vector<int64_t> order(static_cast<size_t>(parts));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return offsets[static_cast<size_t>(a)] < offsets[static_cast<size_t>(b)]; });
  int64_t next = 0;
  for (const int64_t i : order) {
    const IntArrayRef own = sizes_of(i), steps = strides_of(i);
    const int64_t numel = c10::checked_numel(own);
    if (numel == 0) continue;
    if (offsets[static_cast<size_t>(i)] != next) return false;
    DimVector inner;
    for (int64_t d = 0; d < dims; ++d) {
      if (own[d] != 1) inner.push_back(d);
    }
    std::sort(inner.begin(), inner.end(), [&](int64_t a, int64_t b) { return steps[a] < steps[b]; });
    int64_t step = 1;
    for (const int64_t d : inner) {
      if (steps[d] != step) return false;
      step *= own[d];
    }
    next += numel;
  }
  return true;
}

NestedTensorImpl::NestedTensorImpl(Tensor buffer, std::shared_ptr<const NestedShape> shape)
    : TensorImpl(nested_keys(buffer.device()), buffer.scalar_type(), buffer.device(), Layout::Strided, {}, {}),
      buffer_(std::move(buffer)),
      shape_(std::move(shape)) {
  TORCH_INTERNAL_ASSERT(buffer_.dim() == 1 && buffer_.is_contiguous());
  const c10::TensorImpl& memory = *buffer_.unsafeGetTensorImpl();
  set_storage(memory.storage());
  set_storage_offset(memory.storage_offset());
  set_version_counter(memory.own_version());
  set_irregular_sizes(whole_sizes(*shape_), shape_->numel(), shape_->is_packed());
}

NestedTensorImpl::NestedTensorImpl(Tensor values, Jagged jagged)
    : TensorImpl(nested_keys(values.device()), values.scalar_type(), values.device(), Layout::Jagged, {}, {}),
      buffer_(std::move(values)),
      jagged_(std::move(jagged)) {
  const c10::TensorImpl& memory = *buffer_.unsafeGetTensorImpl();
  set_storage(memory.storage());
  set_storage_offset(memory.storage_offset());
  set_version_counter(memory.own_version());
  set_jagged_sizes();
}

void NestedTensorImpl::set_jagged_sizes() {
  const size_t ragged = static_cast<size_t>(jagged_.dim - 1);
  DimVector sizes{jagged_.ragged->parts()};
  int64_t numel = jagged_.ragged->total;
  for (size_t d = 0; d < buffer_.sizes().size(); ++d) {
    const int64_t size = buffer_.sizes()[d];
    sizes.push_back(d == ragged ? -1 : size);
    if (d == ragged) continue;
    const bool overflow = __builtin_mul_overflow(numel, size, &numel);
    TORCH_CHECK(!overflow, "the parts of a nested tensor have too many elements");
  }
  set_irregular_sizes(sizes, numel, fills_buffer() && buffer_.is_contiguous());
}

bool NestedTensorImpl::fills_buffer() const {
  if (is_jagged()) {
    return jagged_.ragged->has_no_gaps &&
           jagged_.ragged->total == buffer_.sizes()[static_cast<size_t>(jagged_.dim - 1)];
  }
  return numel() == buffer_.numel() && (is_contiguous() || shape_->is_dense());
}

const std::shared_ptr<const NestedShape>& NestedTensorImpl::shape() const {
  if (!is_jagged()) return shape_;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (shape_ != nullptr) return shape_;
  const RaggedStructure& ragged = *jagged_.ragged;
  const IntArrayRef sizes = buffer_.sizes(), strides = buffer_.strides();
  const size_t dim = static_cast<size_t>(jagged_.dim - 1);
  auto shape = std::make_shared<NestedShape>();
  shape->parts = ragged.parts();
  shape->dims = static_cast<int64_t>(sizes.size());
  for (size_t i = 0; i < ragged.begin.size(); ++i) {
    shape->sizes.insert(shape->sizes.end(), sizes.begin(), sizes.end());
    shape->sizes[i * sizes.size() + dim] = ragged.length[i];
    shape->strides.insert(shape->strides.end(), strides.begin(), strides.end());
    shape->offsets.push_back(ragged.begin[i] * strides[dim]);
  }
  shape_ = std::move(shape);
  return shape_;
}

Tensor NestedTensorImpl::part(int64_t i) const {
  const NestedShape& places = *shape();
  auto impl = TensorImpl::strided(storage(), dtype(), device(), places.sizes_of(i), places.strides_of(i),
                                  storage_offset() + places.offsets[static_cast<size_t>(i)]);
  impl->set_inference(is_inference());
  return Tensor(std::move(impl));
}

std::vector<Tensor> NestedTensorImpl::parts() const {
  std::vector<Tensor> all;
  const int64_t count = part_count();
  all.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) all.push_back(part(i));
  return all;
}

c10::intrusive_ptr<c10::TensorImpl> NestedTensorImpl::shallow_copy() const {
  auto copy = is_jagged() ? c10::make_intrusive<NestedTensorImpl>(buffer_, jagged_)
                          : c10::make_intrusive<NestedTensorImpl>(buffer_, shape_);
  copy->copy_metadata_from(*this);
  return copy;
}

void NestedTensorImpl::shallow_copy_from(const c10::TensorImpl& other) {
  TORCH_CHECK(std::string_view(kind()) != other.kind() || layout() == other.layout(), "a nested tensor of the layout ", layout(),
              " cannot take the data of one of the layout ", other.layout());
  TensorImpl::shallow_copy_from(other);
  const auto& from = static_cast<const NestedTensorImpl&>(other);
  buffer_ = from.buffer_;
  jagged_ = from.jagged_;
  if (is_jagged()) {
    shape_.reset();
    set_jagged_sizes();
    return;
  }
  shape_ = from.shape_;
  set_irregular_sizes(whole_sizes(*shape_), shape_->numel(), shape_->is_packed());
}

void NestedTensorImpl::release_resources() {
  TensorImpl::release_resources();
  buffer_.reset();
  jagged_ = {};
  shape_.reset();
}

// --- structures ---
namespace {

// The structures in use by the tensors that they were made of, which they keep alive, with the versions of these.
struct KnownStructure {
  std::weak_ptr<const RaggedStructure> structure;
  const RaggedStructure* place;
  uint32_t versions[2];
};
using StructureKey = std::pair<const c10::TensorImpl*, const c10::TensorImpl*>;

struct KnownStructures {
  std::mutex mutex;
  std::map<StructureKey, KnownStructure> all;
  int64_t count = 0;
};
KnownStructures& known_structures() {
  static auto* const known = new KnownStructures;
  return *known;
}

StructureKey key_of(const Tensor& offsets, const Tensor& lengths) {
  return {offsets.unsafeGetTensorImpl(), lengths.unsafeGetTensorImpl()};
}

// Foreign memory may begin anywhere.
template <class T>
void read_numbers(const Tensor& t, std::vector<int64_t>* numbers) {
  const char* const data = static_cast<const char*>(t.data_ptr());
  const int64_t stride = t.stride(0) * static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < t.numel(); ++i) {
    T number;
    std::memcpy(&number, data + i * stride, sizeof(T));
    numbers->push_back(static_cast<int64_t>(number));
  }
}

std::vector<int64_t> numbers_of(const char* op, const char* argument, const Tensor& given) {
  const bool readable = given.device().is_cpu() || given.device().is_cuda();
  TORCH_CHECK_VALUE(given.layout() == Layout::Strided && !given.is_nested() && readable, op, ": ", argument,
                    " must be a dense tensor on the CPU or a CUDA device, but got a ", given.toString());
  // The structure of parts is the host's, wherever it was given.
  const Tensor t = given.is_cpu() ? given : at::to(given, Device(kCPU), given.scalar_type());
  TORCH_CHECK_VALUE(t.dim() == 1, op, ": ", argument, " must be 1D, but got ", t.dim(), "D");
  TORCH_CHECK_TYPE(t.scalar_type() == kLong || t.scalar_type() == kInt, op, ": ", argument,
                   " must be of dtype int64 or int32, but got ", t.scalar_type());
  std::vector<int64_t> numbers;
  numbers.reserve(static_cast<size_t>(t.numel()));
  t.scalar_type() == kLong ? read_numbers<int64_t>(t, &numbers) : read_numbers<int32_t>(t, &numbers);
  return numbers;
}

std::shared_ptr<RaggedStructure> new_structure(const char* op, const Tensor& offsets, const Tensor& lengths) {
  auto result = std::make_shared<RaggedStructure>();
  const std::vector<int64_t> places = numbers_of(op, "offsets", offsets);
  TORCH_CHECK_VALUE(!places.empty(), op, ": offsets must have at least one number, one more than there are parts");
  const size_t parts = places.size() - 1;
  for (size_t i = 0; i < places.size(); ++i) {
    TORCH_CHECK_VALUE(places[i] >= (i == 0 ? 0 : places[i - 1]), op,
                      ": offsets must begin at 0 or above and not decrease, but number ", i, " is ", places[i]);
  }
  if (lengths.defined()) {
    result->length = numbers_of(op, "lengths", lengths);
    TORCH_CHECK_VALUE(result->length.size() == parts, op,
                      ": offsets and lengths batch sizes must match: offsets.shape[0] - 1 = ", parts,
                      ", lengths.shape[0] = ", result->length.size());
  }
  result->begin.assign(places.begin(), places.end() - 1);
  result->has_no_gaps = true;
  for (size_t i = 0; i < parts; ++i) {
    if (!lengths.defined()) result->length.push_back(places[i + 1] - places[i]);
    const int64_t length = result->length[i];
    int64_t end = 0;
    const bool overflow = __builtin_add_overflow(places[i], length, &end);
    TORCH_CHECK_VALUE(length >= 0 && !overflow, op,
                      ": lengths must not be negative, and end within the values, but number ", i, " is ", length);
    result->has_no_gaps &= places[i] == result->total;
    const bool too_many = __builtin_add_overflow(result->total, length, &result->total);
    TORCH_CHECK_VALUE(!too_many, op, ": the lengths have a sum of 2^63 or more");
    result->end = std::max(result->end, end);
    result->longest = std::max(result->longest, length);
    result->shortest = i == 0 ? length : std::min(result->shortest, length);
  }
  result->offsets = offsets;
  result->lengths = lengths;
  return result;
}

}  // namespace

RaggedStructure::~RaggedStructure() {
  if (number == 0) return;
  KnownStructures& known = known_structures();
  const std::lock_guard<std::mutex> lock(known.mutex);
  const auto found = known.all.find(key_of(offsets, lengths));
  if (found != known.all.end() && found->second.place == this) known.all.erase(found);
}

namespace nested {

std::shared_ptr<const RaggedStructure> ragged_structure(const char* op, const Tensor& offsets, const Tensor& lengths) {
  TORCH_CHECK(offsets.defined(), op, ": expected offsets to be a tensor, but got None");
  KnownStructures& known = known_structures();
  const uint32_t versions[] = {offsets.unsafeGetTensorImpl()->version(),
                               lengths.defined() ? lengths.unsafeGetTensorImpl()->version() : 0};
  // Structures end without the lock, which their end takes.
  std::shared_ptr<const RaggedStructure> there;
  {
    const std::lock_guard<std::mutex> lock(known.mutex);
    const auto found = known.all.find(key_of(offsets, lengths));
    if (found != known.all.end() && std::equal(versions, versions + 2, found->second.versions)) {
      there = found->second.structure.lock();
    }
  }
  if (there != nullptr) return there;
  const std::shared_ptr<RaggedStructure> made = new_structure(op, offsets, lengths);
  const std::lock_guard<std::mutex> lock(known.mutex);
  KnownStructure& place = known.all[key_of(offsets, lengths)];
  if (std::equal(versions, versions + 2, place.versions)) there = place.structure.lock();
  if (there != nullptr) return there;  // another thread was faster
  made->number = ++known.count;
  place = {made, made.get(), {versions[0], versions[1]}};
  return made;
}

Tensor make_jagged(const char* op, const Tensor& values, Jagged jagged) {
  TORCH_CHECK(!values.is_nested(), op, ": expected values to be a tensor, but got a nested one");
  TORCH_CHECK_NOT_IMPLEMENTED(values.layout() == Layout::Strided && !values.is_quantized(), op,
                              ": expected the values to be a dense tensor, but got a ", values.toString());
  TORCH_CHECK_VALUE(jagged.dim >= 1, op, ": Expected jagged_dim >=1, but got ", jagged.dim, ".");
  TORCH_CHECK_INDEX(jagged.dim <= values.dim(), op, ": the ragged dimension ", jagged.dim,
                    " is out of range for values of ", values.dim(), " dimension(s)");
  const int64_t size = values.sizes()[static_cast<size_t>(jagged.dim - 1)];
  TORCH_CHECK_VALUE(jagged.ragged->end <= size, op, ": offsets and lengths reach to ", jagged.ragged->end,
                    ", beyond the values, which have size ", size, " in the ragged dimension");
  const int64_t parts = jagged.ragged->parts();
  TORCH_CHECK_VALUE(parts == 0 || !jagged.longest.has_value() || *jagged.longest >= jagged.ragged->longest, op,
                    ": max_seqlen is ", jagged.longest.value_or(0), ", but a part has length ", jagged.ragged->longest);
  TORCH_CHECK_VALUE(parts == 0 || !jagged.shortest.has_value() || *jagged.shortest <= jagged.ragged->shortest, op,
                    ": min_seqlen is ", jagged.shortest.value_or(0), ", but a part has length ",
                    jagged.ragged->shortest);
  auto impl = c10::make_intrusive<NestedTensorImpl>(plain(values), std::move(jagged));
  impl->set_inference(values.is_inference());
  return Tensor(std::move(impl));
}

std::string size_text(const Tensor& t) {
  if (t.layout() != Layout::Jagged) return c10::str(t.sizes());
  const Jagged& jagged = impl_of("size", t).jagged();
  std::string text;
  for (int64_t d = 0; d < t.dim(); ++d) {
    const int64_t size = t.sizes()[static_cast<size_t>(d)];
    text +=
        (d == 0 ? "(" : ", ") + (d == jagged.dim ? "j" + std::to_string(jagged.ragged->number) : std::to_string(size));
  }
  return text + ")";
}

namespace {

Tensor longs(IntArrayRef sizes, const std::vector<int64_t>& numbers) {
  const Tensor t = empty_contiguous(sizes, kLong);
  std::copy(numbers.begin(), numbers.end(), static_cast<int64_t*>(t.data_ptr()));
  return t;
}

}  // namespace

Tensor matrix_of(const NestedShape& shape, const std::vector<int64_t>& numbers) {
  return longs({shape.parts, shape.dims}, numbers);
}

Tensor vector_of(const std::vector<int64_t>& numbers) {
  return longs({static_cast<int64_t>(numbers.size())}, numbers);
}

NestedTensorImpl& impl_of(const char* op, const Tensor& t) {
  TORCH_CHECK(t.is_nested(), op, ": expected a nested tensor, but got a dense one of size ", t.sizes());
  return static_cast<NestedTensorImpl&>(*t.unsafeGetTensorImpl());
}

Tensor plain(const Tensor& t) {
  return Tensor(t.unsafeGetTensorImpl()->shallow_copy());
}

Tensor make_nested(const Tensor& buffer, std::shared_ptr<const NestedShape> shape) {
  const Tensor memory = plain(buffer);
  auto impl = c10::make_intrusive<NestedTensorImpl>(memory, std::move(shape));
  impl->set_inference(buffer.is_inference());
  return Tensor(std::move(impl));
}

std::shared_ptr<const NestedShape> packed_shape(int64_t parts, int64_t dims, std::vector<int64_t> sizes) {
  auto shape = std::make_shared<NestedShape>();
  shape->parts = parts;
  shape->dims = dims;
  shape->sizes = std::move(sizes);
  shape->strides.resize(shape->sizes.size());
  int64_t next = 0;
  for (int64_t i = 0; i < parts; ++i) {
    shape->offsets.push_back(next);
    const IntArrayRef own = shape->sizes_of(i);
    const int64_t numel = c10::checked_numel(own);  // throws where what follows would overflow
    int64_t step = 1;
    for (int64_t d = dims - 1; d >= 0; --d) {
      shape->strides[static_cast<size_t>(i * dims + d)] = step;
      step *= own[d];
    }
    next += numel;
  }
  return shape;
}

}  // namespace nested
}  // namespace at
