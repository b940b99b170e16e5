#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/quantized/quantized_tensor_impl.h"
#include "aten/sparse/compressed_tensor_impl.h"
#include "aten/sparse/sparse_tensor_impl.h"
#include "c10/core/grad_mode.h"
#include "utils/pickle/bare_pickle.h"
#include "utils/pickle/file.h"
#include "utils/pickle/names.h"
#include "utils/pickle/script.h"
#include "utils/pickle/zip.h"
#include "utils/serialize/config.h"

namespace torch::pickle {
namespace {

using c10::IValue;
using c10::ScalarType;

// Protocol 2, with the opcodes that torch.load(weights_only=True) takes.
class Pickler {
 public:
  explicit Pickler(bool ordered) : ordered_(ordered) {}
  // As TorchScript does.
  Pickler(const std::function<std::string(const IValue&)>& class_name,
          const std::function<IValue(const IValue&)>& state_of)
      : ordered_(false), class_name_(&class_name), state_of_(&state_of) {}

  // Storages that are numbered already.
  void know(std::vector<PickledStorage> storages) {
    storages_ = std::move(storages);
    for (size_t i = 0; i < storages_.size(); ++i) {
      storage_numbers_.emplace(storages_[i].storage.unsafeGetStorageImpl(), i);
    }
  }

  std::string run(const IValue& root) {
    out_ = "\x80\x02";
    left_.push_back({Step::kValue, root, {}});
    while (!left_.empty()) {
      Step step = std::move(left_.back());
      left_.pop_back();
      if (step.kind == Step::kValue) {
        write(step.value);
      } else {
        out_ += step.text;
        if (step.kind == Step::kRemember) remember(step.value);
      }
    }
    out_ += '.';
    return std::move(out_);
  }

  const std::vector<PickledStorage>& storages() const { return storages_; }

 private:
  struct Step {
    enum Kind : uint8_t { kValue, kText, kRemember } kind;
    IValue value;
    std::string text;
  };
  static constexpr size_t kBatch = 1000;

  template <class T>
  void put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void write_int(int64_t value);
  void write_unsigned(uint64_t value);
  void write_double(double value);
  void write_text(std::string_view text);
  // What is no UTF-8, as Python writes bytes: _codecs.encode(text, "latin1").
  void write_bytes(std::string_view bytes);
  void write_bool(bool value) { out_ += value ? '\x88' : '\x89'; }
  void write_global(std::string_view module, std::string_view name);
  void write_ints(c10::IntArrayRef values);
  void write_tensor(const at::Tensor& tensor);
  void write_sparse(const at::Tensor& tensor);
  void write_quantizer(const at::Quantizer& quantizer);
  void write_storage(const c10::Storage& storage, ScalarType dtype, bool untyped);
  void write_hooks() {
    write_global("collections", "OrderedDict");
    out_ += ")R";
  }
  void write_items(c10::ArrayRef<IValue> items, bool pairs);
  void write(const IValue& value);
  // Objects, members of enumerations, and lists and dicts with their types; false for other values.
  bool write_script(const IValue& value);
  void write_class(const IValue& value) {
    const std::string name = (*class_name_)(value);
    const size_t dot = name.rfind('.');
    write_global(name.substr(0, dot), name.substr(dot + 1));
  }

  // What was written before is fetched: true.
  bool fetch(const void* object) {
    const auto found = memo_.find(object);
    if (found == memo_.end()) return false;
    fetch_number(found->second);
    return true;
  }
  void fetch_number(uint32_t number) {
    if (number < 256) {
      out_ += 'h';
      put(static_cast<uint8_t>(number));
    } else {
      out_ += 'j';
      put(number);
    }
  }
  uint32_t next_number() {
    if (memoized_ < 256) {
      out_ += 'q';
      put(static_cast<uint8_t>(memoized_));
    } else {
      out_ += 'r';
      put(memoized_);
    }
    return memoized_++;
  }
  static const void* identity(const IValue& value) { return value.internalToPointer(); }
  void remember(const IValue& value) { memo_.emplace(identity(value), next_number()); }

  bool ordered_;
  const std::function<std::string(const IValue&)>* class_name_ = nullptr;
  const std::function<IValue(const IValue&)>* state_of_ = nullptr;
  std::string out_;
  std::vector<Step> left_;
  std::unordered_map<const void*, uint32_t> memo_;
  std::unordered_map<std::string, uint32_t> texts_, globals_;
  uint32_t memoized_ = 0;
  bool state_ = false;          // the next value is the state of an object, a plain dict
  std::vector<IValue> states_;  // kept alive: what is written is known by its address
  std::vector<PickledStorage> storages_;
  std::unordered_map<const void*, size_t> storage_numbers_;
};

void Pickler::write_int(int64_t value) {
  if (value >= 0 && value < 256) {
    out_ += 'K';
    put(static_cast<uint8_t>(value));
  } else if (value >= 0 && value < 65536) {
    out_ += 'M';
    put(static_cast<uint16_t>(value));
  } else if (value >= INT32_MIN && value <= INT32_MAX) {
    out_ += 'J';
    put(static_cast<int32_t>(value));
  } else {
    out_ += "\x8a\x08";
    put(value);
  }
}

void Pickler::write_unsigned(uint64_t value) {
  if (value <= INT64_MAX) return write_int(static_cast<int64_t>(value));
  out_ += "\x8a\x09";
  put(value);
  out_ += '\0';
}

void Pickler::write_double(double value) {
  out_ += 'G';
  put(__builtin_bswap64(std::bit_cast<uint64_t>(value)));
}

void Pickler::write_text(std::string_view text) {
  if (!is_text(text)) return write_bytes(text);
  const auto [found, fresh] = texts_.try_emplace(std::string(text), memoized_);
  if (!fresh) return fetch_number(found->second);
  TORCH_CHECK_VALUE(text.size() < 0xffffffff, "pickle: a text of ", text.size(), " bytes is too long");
  out_ += 'X';
  put(static_cast<uint32_t>(text.size()));
  out_ += text;
  next_number();
}

void Pickler::write_bytes(std::string_view bytes) {
  const auto found = texts_.find(std::string(bytes));
  if (found != texts_.end()) return fetch_number(found->second);
  write_global("_codecs", "encode");
  std::string latin1;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) latin1 += static_cast<char>(0xc0 | byte >> 6);
    latin1 += byte < 0x80 ? c : static_cast<char>(0x80 | (byte & 0x3f));
  }
  write_text(latin1);
  write_text("latin1");
  out_ += "\x86R";
  texts_.emplace(bytes, next_number());
}

void Pickler::write_global(std::string_view module, std::string_view name) {
  const std::string both = c10::str("c", module, "\n", name, "\n");
  const auto [found, fresh] = globals_.try_emplace(both, memoized_);
  if (!fresh) return fetch_number(found->second);
  out_ += both;
  next_number();
}

void Pickler::write_ints(c10::IntArrayRef values) {
  if (values.size() == 0) {
    out_ += ')';
    return;
  }
  if (values.size() > 3) out_ += '(';
  for (const int64_t value : values) write_int(value);
  out_ += values.size() == 1 ? '\x85' : values.size() == 2 ? '\x86' : values.size() == 3 ? '\x87' : 't';
}

void Pickler::write_storage(const c10::Storage& storage, ScalarType dtype, bool untyped) {
  const auto [found, fresh] = storage_numbers_.try_emplace(storage.unsafeGetStorageImpl(), storages_.size());
  const auto element = untyped ? 1 : c10::elementSize(dtype);
  if (fresh) {
    storages_.push_back({storage, dtype, untyped});
  } else {
    TORCH_CHECK_VALUE(storages_[found->second].dtype == dtype || storage.nbytes() == 0,
                      "Cannot save multiple tensors or storages that view the same data as different types");
  }
  out_ += '(';
  write_text("storage");
  if (untyped) {
    write_global("torch.storage", "UntypedStorage");
  } else {
    write_global("torch", storage_class_of(dtype));
  }
  write_text(std::to_string(found->second));
  write_text(storage.device().str());
  write_int(static_cast<int64_t>(storage.nbytes() / element));
  out_ += "tQ";
}

void Pickler::write_tensor(const at::Tensor& tensor) {
  const ScalarType dtype = tensor.scalar_type();
  const bool quantized = tensor.key_set().has_any(c10::quantized_ks);
  TORCH_CHECK_TYPE(is_quantized(dtype) == quantized, "pickle: a tensor of dtype ", dtype,
                   " without a quantizer cannot be saved");
  TORCH_CHECK_TYPE(!tensor.is_nested(), "pickle: nested tensors cannot be saved");
  if (tensor.layout() != c10::Layout::Strided) return write_sparse(tensor);
  if (tensor.device().is_meta()) {
    write_global("torch._utils", "_rebuild_meta_tensor_no_storage");
    out_ += '(';
    write_global("torch", name_of_dtype(dtype));
    write_ints(tensor.sizes());
    write_ints(tensor.strides());
    write_bool(tensor.requires_grad());
    out_ += "tR";
    return;
  }
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  TORCH_CHECK_TYPE(impl.has_storage(), "pickle: a tensor without a storage (a ", impl.kind(), ") cannot be saved");
  const bool v3 = storage_class_of(dtype).empty();
  write_global("torch._utils", quantized ? "_rebuild_qtensor" : v3 ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
  out_ += '(';
  write_storage(tensor.storage(), dtype, v3);
  write_int(tensor.storage_offset());
  write_ints(tensor.sizes());
  write_ints(tensor.strides());
  if (quantized) write_quantizer(at::quantized::impl_of("pickle", tensor).quantizer());
  write_bool(tensor.requires_grad());
  write_hooks();
  if (v3) write_global("torch", name_of_dtype(dtype));
  out_ += "tR";
}

// Whether gradients are required is not written, nor does Python.
void Pickler::write_sparse(const at::Tensor& tensor) {
  const bool coo = tensor.layout() == c10::Layout::Sparse;
  TORCH_CHECK_TYPE(coo || at::sparse::is_compressed(tensor), "pickle: tensors of layout ", tensor.layout(),
                   " cannot be saved");
  write_global("torch._utils", "_rebuild_sparse_tensor");
  write_global("torch.serialization", "_get_layout");
  write_text(name_of_layout(tensor.layout()));
  out_ += "\x85R(";
  if (coo) {
    const at::SparseTensorImpl& t = at::sparse::impl_of("pickle", tensor);
    write_tensor(t.indices());
    write_tensor(t.values());
  } else {
    const at::SparseCsrTensorImpl& t = at::sparse::compressed_impl_of("pickle", tensor);
    write_tensor(t.compressed());
    write_tensor(t.plain());
    write_tensor(t.values());
  }
  write_global("torch", "Size");
  write_ints(tensor.sizes());
  out_ += "\x85R";
  if (coo) write_bool(at::sparse::impl_of("pickle", tensor).coalesced());
  out_ += "t\x86R";
}

void Pickler::write_quantizer(const at::Quantizer& quantizer) {
  out_ += '(';
  if (quantizer.per_tensor()) {
    write_global("torch", "per_tensor_affine");
    write_double(quantizer.scale);
    write_int(quantizer.zero_point);
  } else {
    write_global("torch", quantizer.scheme == c10::kPerChannelAffine ? "per_channel_affine"
                                                                     : "per_channel_affine_float_qparams");
    write(IValue(quantizer.scales));
    write(IValue(quantizer.zero_points));
    write_int(quantizer.axis);
  }
  out_ += 't';
}

// Whether writing it takes no further steps.
bool is_plain(const IValue& value) {
  return !value.isList() && !value.isGenericDict() && !value.isTuple() && !value.isObject() && !value.isEnum();
}

void Pickler::write_items(c10::ArrayRef<IValue> items, bool pairs) {
  const size_t unit = pairs ? 2 : 1, batch = kBatch * unit;
  const auto end_of = [&](size_t count) { return count == unit ? (pairs ? 's' : 'a') : (pairs ? 'u' : 'e'); };
  if (std::all_of(items.begin(), items.end(), is_plain)) {
    for (size_t begin = 0; begin < items.size(); begin += batch) {
      const size_t count = std::min(batch, items.size() - begin);
      if (count != unit) out_ += '(';
      for (size_t i = begin; i < begin + count; ++i) write(items[i]);
      out_ += end_of(count);
    }
    return;
  }
  // Batches, the last of them first, as the steps are taken from the end.
  for (size_t b = (items.size() + batch - 1) / batch; b-- > 0;) {
    const size_t begin = b * batch, count = std::min(batch, items.size() - begin);
    left_.push_back({Step::kText, {}, std::string(1, end_of(count))});
    for (size_t i = begin + count; i-- > begin;) left_.push_back({Step::kValue, items[i], {}});
    if (count != unit) left_.push_back({Step::kText, {}, "("});
  }
}

// Steps are taken from the end: what comes first is pushed last.
bool Pickler::write_script(const IValue& value) {
  if (value.isObject()) {
    write_class(value);
    out_ += ")\x81";
    remember(value);
    left_.push_back({Step::kText, {}, "b"});
    states_.push_back((*state_of_)(value));
    state_ = true;
    left_.push_back({Step::kValue, states_.back(), {}});
    return true;
  }
  if (value.isEnum()) {
    write_class(value);
    left_.push_back({Step::kRemember, value, "R"});
    left_.push_back({Step::kValue, value.toEnumHolder()->value(), {}});
    return true;
  }
  if (!value.isList() && !value.isGenericDict()) return false;
  const c10::TypePtr type = value.type();
  const c10::TypeKind element = type->containedType(0)->kind();
  const char* plain = !value.isList()                        ? nullptr
                      : element == c10::TypeKind::IntType    ? "build_intlist"
                      : element == c10::TypeKind::FloatType  ? "build_doublelist"
                      : element == c10::TypeKind::BoolType   ? "build_boollist"
                      : element == c10::TypeKind::TensorType ? "build_tensorlist"
                                                             : nullptr;
  write_global("torch.jit._pickle", plain != nullptr ? plain : "restore_type_tag");
  left_.push_back({Step::kRemember, value, plain != nullptr ? "\x85R" : "\x86R"});
  if (plain == nullptr) left_.push_back({Step::kValue, IValue(type->annotation_str()), {}});
  std::vector<IValue> items;
  if (value.isList()) {
    items = value.toListRef().vec();
  } else {
    for (const auto& entry : value.toGenericDict()) {
      items.push_back(entry.key());
      items.push_back(entry.value());
    }
  }
  out_ += value.isList() ? ']' : '}';
  write_items(items, value.isGenericDict());
  return true;
}

void Pickler::write(const IValue& value) {
  if (value.isTensor() || value.isList() || value.isGenericDict() || value.isTuple() || value.isObject() ||
      value.isEnum()) {
    if (fetch(identity(value))) return;
  }
  if (class_name_ != nullptr && !std::exchange(state_, false) && write_script(value)) return;
  if (value.isNone()) {
    out_ += 'N';
  } else if (value.isBool()) {
    write_bool(value.toBool());
  } else if (value.isInt()) {
    write_int(value.toInt());
  } else if (value.isUnsigned()) {
    write_unsigned(value.toUInt());
  } else if (value.isDouble()) {
    write_double(value.toDouble());
  } else if (value.isString()) {
    write_text(value.toStringRef());
  } else if (value.isComplexDouble()) {
    write_global("__builtin__", "complex");
    write_double(value.toComplexDouble().real());
    write_double(value.toComplexDouble().imag());
    out_ += "\x86R";
  } else if (value.isDevice()) {
    write_global("torch", "device");
    write_text(DeviceTypeName(value.toDevice().type(), /*lower_case=*/true));
    if (value.toDevice().has_index()) write_int(value.toDevice().index());
    out_ += value.toDevice().has_index() ? "\x86R" : "\x85R";
  } else if (value.isTensor()) {
    write_tensor(value.toTensor());
    remember(value);
  } else if (value.isStorage()) {
    write_storage(value.toStorage(), ScalarType::Byte, /*untyped=*/true);
  } else if (value.isList()) {
    out_ += ']';
    remember(value);
    write_items(value.toListRef(), /*pairs=*/false);
  } else if (value.isGenericDict()) {
    if (std::exchange(ordered_, false)) {
      write_global("collections", "OrderedDict");
      out_ += ")R";
    } else {
      out_ += '}';
    }
    remember(value);
    std::vector<IValue> items;
    items.reserve(2 * value.toGenericDict().size());
    for (const auto& entry : value.toGenericDict()) {
      items.push_back(entry.key());
      items.push_back(entry.value());
    }
    write_items(items, /*pairs=*/true);
  } else if (value.isTuple()) {
    const auto elements = value.toTupleRef().elementsArrayRef();
    static constexpr const char* kShort[] = {")", "\x85", "\x86", "\x87"};
    const bool is_short = elements.size() <= 3;
    // The empty tuple is not memoized, nor does Python.
    left_.push_back(
        {elements.empty() ? Step::kText : Step::kRemember, value, is_short ? kShort[elements.size()] : "t"});
    for (size_t i = elements.size(); i-- > 0;) left_.push_back({Step::kValue, elements[i], {}});
    if (!is_short) left_.push_back({Step::kText, {}, "("});
  } else {
    TORCH_CHECK_TYPE(false, "pickle: a value of kind ", value.tag_name(), " cannot be saved");
  }
}

// The bytes of a storage on another device, copied here.
at::Tensor copied(const c10::Storage& storage, size_t bytes) {
  const c10::NoGradGuard no_grad;
  const auto size = static_cast<int64_t>(bytes);
  const at::Tensor there(at::TensorImpl::contiguous(storage.impl(), ScalarType::Byte, storage.device(), {size}));
  at::Tensor here = at::empty_contiguous({size}, ScalarType::Byte);
  at::copy_(here, there);
  return here;
}

}  // namespace

PickledValue pickle_script(const IValue& value, const std::function<std::string(const IValue&)>& class_name,
                           const std::function<IValue(const IValue&)>& state_of) {
  Pickler pickler(class_name, state_of);
  std::string bytes = pickler.run(value);
  return {std::move(bytes), pickler.storages()};
}

PickledValue pickle_value(const IValue& value, std::vector<PickledStorage> before) {
  Pickler pickler(/*ordered=*/false);
  pickler.know(std::move(before));
  std::string bytes = pickler.run(value);
  return {std::move(bytes), pickler.storages()};
}

void add_storages(ZipWriter& zip, const std::string& name, const PickledValue& pickle, std::string_view ending) {
  for (size_t i = 0; i < pickle.storages.size(); ++i) {
    const PickledStorage& stored = pickle.storages[i];
    const size_t element = stored.untyped ? 1 : c10::elementSize(stored.dtype);
    const size_t bytes = stored.storage.nbytes() / element * element;
    const std::string record = c10::str(name, "/", i, ending);
    if (serialization::skip_data::is_on()) {
      zip.add(record, nullptr, bytes);
    } else if (stored.storage.device().is_cpu()) {
      zip.add(record, stored.storage.data(), bytes);
    } else {
      zip.add_copy(record, std::string(static_cast<const char*>(copied(stored.storage, bytes).data_ptr()), bytes));
    }
  }
}

void add_pickle(ZipWriter& zip, const std::string& name, const PickledValue& pickle) {
  zip.add_copy(name + ".pkl", pickle.bytes);
  add_storages(zip, name, pickle);
}

void save(const IValue& value, serialize::Sink& sink, bool ordered) {
  Pickler pickler(ordered);
  std::string bytes = pickler.run(value);
  const PickledValue pickle{std::move(bytes), pickler.storages()};
  const auto& config = torch::utils::serialization::config::save;
  const std::string alignment = std::to_string(config.storage_alignment);
  ZipWriter zip(sink, "archive", {config.compute_crc32, config.storage_alignment});
  zip.add("data.pkl", pickle.bytes.data(), pickle.bytes.size());
  zip.add(".format_version", "1", 1);
  zip.add(".storage_alignment", alignment.data(), alignment.size());
  zip.add("byteorder", "little", 6);
  add_storages(zip, "data", pickle);
  zip.add("version", "3\n", 2);
  zip.finish();
}

void save(const IValue& value, const std::string& path, bool ordered) {
  serialize::AtomicFile file(path);
  save(value, file, ordered);
  file.commit();
}

}  // namespace torch::pickle

namespace torch::jit {

std::vector<char> pickle(const c10::IValue& value, std::vector<at::Tensor>* /*tensor_table*/) {
  torch::pickle::Pickler pickler(false);
  const std::string text = pickler.run(value);
  TORCH_CHECK_NOT_IMPLEMENTED(pickler.storages().empty(),
                              "torch::jit::pickle: the value holds tensors; torch::pickle_save writes such");
  return std::vector<char>(text.begin(), text.end());
}

}  // namespace torch::jit
