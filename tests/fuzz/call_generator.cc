#include "tests/fuzz/call_generator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "c10/core/cpu_generator.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"

namespace fuzz {
namespace {

using at::Tensor;
using c10::Argument;
using c10::IValue;
using c10::ScalarType;
using c10::ArgumentShape;
using c10::TypeKind;
using Sizes = std::vector<int64_t>;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

// splitmix64: the same numbers with every library.
class Random {
 public:
  explicit Random(uint64_t state) : state_(state) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool percent(int64_t chance) { return below(100) < chance; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int64_t>(values.size()))];
  }

 private:
  uint64_t state_;
};

uint64_t hash(const std::string& text) {
  uint64_t h = 14695981039346656037u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
bool any_of(const std::string& text, std::initializer_list<const char*> values) {
  return std::any_of(values.begin(), values.end(), [&](const char* value) { return text == value; });
}

// What the tensors of a call have to do with each other, guessed from the operator's name.
enum class Relation { kSame, kMatrix, kBatchMatrix, kImage, kLoss, kEmbedding, kAttention };

class Generator {
 public:
  Generator(const c10::FunctionSchema& schema, uint64_t seed, uint64_t number, Temper temper)
      : schema_(schema), random_(hash(schema.qualified_name()) ^ (seed * 0x9e3779b97f4a7c15u) ^ (number << 20)) {
    for (int i = 0; i < 3; ++i) random_.next();
    tame_ = temper == Temper::kTame;
    const int64_t mood = temper == Temper::kTame ? 0 : random_.below(100);
    wild_percent_ = mood < 45 ? 0 : mood < 85 ? 25 : 80;
    on_meta_ = temper == Temper::kMixed && random_.percent(6);
    differentiable_ = temper == Temper::kMixed && random_.percent(20);
    dtype_ = random_.percent(60) ? random_.pick({ScalarType::Float, ScalarType::Float, ScalarType::Double}) : any_dtype();
    list_length_ = random_.between(1, 3);
    choose_relation();
  }

  c10::Stack generate() {
    c10::Stack stack;
    for (const Argument& argument : schema_.arguments()) stack.push_back(argument_value(argument));
    return stack;
  }

 private:
  ScalarType any_dtype() {
    if (!tame_ && random_.percent(12)) {
      return random_.pick({ScalarType::UInt16, ScalarType::UInt32, ScalarType::UInt64, ScalarType::Float8_e4m3fn,
                           ScalarType::Float8_e5m2, ScalarType::Float8_e8m0fnu, ScalarType::ComplexHalf,
                           ScalarType::BComplex32, ScalarType::Bits8, ScalarType::Bits16, ScalarType::UInt4,
                           ScalarType::Float4_e2m1fn_x2, ScalarType::QInt8});
    }
    return random_.pick({ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int, ScalarType::Long,
                         ScalarType::Half, ScalarType::Float, ScalarType::Double, ScalarType::ComplexFloat,
                         ScalarType::ComplexDouble, ScalarType::Bool, ScalarType::BFloat16});
  }
  int64_t small_size() { return random_.percent(6) ? 0 : random_.between(1, 4); }
  int64_t wild_integer() {
    return random_.pick<int64_t>({-1, 0, 1, -2, 2, 3, 7, 100, rank(), -rank() - 1, -100, int64_t{1} << 31, (int64_t{1} << 31) - 1,
                                  int64_t{1} << 40, -(int64_t{1} << 40), int64_t{1} << 62, kMax, kMax - 1, kMin, kMin + 1});
  }
  int64_t rank() const { return static_cast<int64_t>(base_.size()); }
  bool wild() { return random_.percent(wild_percent_); }

  void choose_relation() {
    const std::string name = schema_.base_name();
    if (any_of(name, {"mm", "addmm", "addmm_", "mv", "addmv", "addmv_", "dot", "vdot", "inner", "linear", "matmul", "_addmm_activation",
                      "addr", "addr_", "chain_matmul", "linalg_multi_dot", "matrix_power", "linalg_matrix_power"})) {
      relation_ = Relation::kMatrix;
      base_ = {small_size(), small_size()};
    } else if (any_of(name, {"bmm", "baddbmm", "baddbmm_", "addbmm", "addbmm_", "bilinear"})) {
      relation_ = Relation::kBatchMatrix;
      base_ = {small_size(), small_size(), small_size()};
    } else if (contains(name, "attention")) {
      relation_ = Relation::kAttention;
      base_ = {small_size(), small_size(), small_size(), small_size()};
    } else if (contains(name, "conv") || contains(name, "pool") || contains(name, "upsample") || contains(name, "pad") ||
               contains(name, "norm") || contains(name, "col2im") || contains(name, "im2col") || contains(name, "pixel") ||
               contains(name, "channel") || contains(name, "dropout")) {
      relation_ = Relation::kImage;
      int64_t dims = contains(name, "1d") ? 1 : contains(name, "3d") ? 3 : contains(name, "2d") ? 2 : random_.between(1, 3);
      base_ = {random_.between(1, 2), random_.pick<int64_t>({1, 2, 4, 4})};
      for (int64_t d = 0; d < dims; ++d) base_.push_back(random_.percent(4) ? 0 : random_.between(2, 7));
      if (random_.percent(15)) base_.erase(base_.begin());
    } else if (contains(name, "loss") || contains(name, "cross_entropy")) {
      relation_ = Relation::kLoss;
      base_ = {small_size(), small_size()};
      if (random_.percent(30)) base_.push_back(small_size());
      if (random_.percent(20)) base_.push_back(small_size());
    } else if (contains(name, "embedding")) {
      relation_ = Relation::kEmbedding;
      base_ = {random_.between(1, 4), random_.between(1, 4)};
    } else {
      const int64_t r = random_.pick<int64_t>({0, 1, 1, 2, 2, 2, 3, 3, 4, 5});
      for (int64_t d = 0; d < r; ++d) base_.push_back(small_size());
      if (r >= 2 && random_.percent(20)) base_[r - 1] = base_[r - 2];
      broadcast_ = random_.percent(30);
    }
    inner_ = small_size();
  }

  Sizes wild_sizes() {
    Sizes sizes = base_;
    switch (random_.below(7)) {
      case 0:
        if (!sizes.empty()) sizes[static_cast<size_t>(random_.below(rank()))] = 0;
        break;
      case 1:
        if (!sizes.empty()) sizes[static_cast<size_t>(random_.below(rank()))] += random_.between(1, 3);
        break;
      case 2:
        sizes.insert(sizes.begin(), small_size());
        break;
      case 3:
        if (!sizes.empty()) sizes.pop_back();
        break;
      case 4:  // no elements, and yet a dimension that nothing may walk through
        sizes = {0, random_.pick<int64_t>({int64_t{1} << 40, int64_t{1} << 31, int64_t{1} << 55})};
        if (random_.percent(50)) std::swap(sizes[0], sizes[1]);
        if (random_.percent(40)) sizes.insert(sizes.begin() + 1, small_size());
        break;
      case 5: {  // as many dimensions as a tensor may have, or nearly
        const int64_t r = random_.pick<int64_t>({64, 64, 63, 62, 33});
        while (static_cast<int64_t>(sizes.size()) < r) {
          sizes.insert(sizes.begin() + random_.below(static_cast<int64_t>(sizes.size()) + 1), random_.percent(4) ? 2 : 1);
        }
        break;
      }
      default: {
        sizes.clear();
        const int64_t r = random_.between(0, 6);
        for (int64_t d = 0; d < r; ++d) sizes.push_back(random_.between(0, 3));
      }
    }
    return sizes;
  }

  Sizes fitting_sizes(const std::string& name) {
    Sizes sizes = base_;
    const auto at = [&](size_t d) { return d < base_.size() ? base_[d] : int64_t{1}; };
    switch (relation_) {
      case Relation::kMatrix:
        if (schema_.base_name() == "linear" && name == "weight") return {inner_, at(1)};
        if (any_of(schema_.base_name(), {"dot", "vdot"})) return {at(0)};
        if (any_of(name, {"mat2", "other", "tensor2"})) return {at(1), inner_};
        if (name == "vec1") return {at(0)};
        if (any_of(name, {"vec", "vec2", "weight"})) return {at(1)};
        if (name == "bias") return {inner_};
        if (name == "self" && schema_.argument_index("mat2")) {
          if (schema_.argument_index("mat1")) return random_.percent(50) ? Sizes{at(0), inner_} : Sizes{inner_};
        }
        if (name == "self" && contains(schema_.base_name(), "addmv")) return {at(0)};
        return sizes;
      case Relation::kBatchMatrix:
        if (any_of(name, {"batch2", "mat2"})) return {at(0), at(2), inner_};
        if (name == "self" && schema_.argument_index("batch2")) {
          return contains(schema_.base_name(), "addbmm") && !contains(schema_.base_name(), "baddbmm") ? Sizes{at(1), inner_}
                                                                                           : Sizes{at(0), at(1), inner_};
        }
        return sizes;
      case Relation::kAttention:
        if (any_of(name, {"key", "value"})) sizes[2] = inner_;
        if (name == "attn_mask") return {at(2), inner_};
        return sizes;
      case Relation::kImage: {
        const int64_t channels = at(base_.size() == 1 ? 0 : 1);
        if (any_of(name, {"bias", "running_mean", "running_var", "mean", "var"})) return {contains(schema_.base_name(), "conv") ? inner_ : channels};
        if (name == "weight") {
          if (!contains(schema_.base_name(), "conv")) return {channels};
          Sizes kernel(base_.size());
          for (int64_t& k : kernel) k = random_.between(1, 3);
          kernel[0] = contains(schema_.base_name(), "transpose") ? channels : inner_;
          if (kernel.size() > 1) kernel[1] = contains(schema_.base_name(), "transpose") ? inner_ : channels;
          return kernel;
        }
        return sizes;
      }
      case Relation::kLoss:
        if (name == "weight") return {at(1)};
        if (name == "target" && schema_.argument_index("ignore_index")) {
          Sizes target = base_;
          if (target.size() > 1 && random_.percent(85)) target.erase(target.begin() + 1);
          return target;
        }
        if (name == "target" && random_.percent(20)) return {at(0)};
        return sizes;
      case Relation::kEmbedding:
        if (any_of(name, {"indices", "offsets", "per_sample_weights"})) {
          Sizes indices;
          const int64_t r = random_.between(0, 2);
          for (int64_t d = 0; d < r; ++d) indices.push_back(small_size());
          return indices;
        }
        return sizes;
      case Relation::kSame:
        break;
    }
    if (any_of(name, {"index", "indices"}) && contains(schema_.base_name(), "index") && random_.percent(70)) return {small_size()};
    if (any_of(name, {"index", "indices", "src", "source"}) && random_.percent(50)) {
      for (int64_t& size : sizes) size = std::min(size, random_.between(1, 4));
      return sizes;
    }
    if (any_of(name, {"repeats", "boundaries", "bins", "end", "start", "steps", "tensor_indices_or_sections"}) && random_.percent(60)) {
      return random_.percent(50) ? Sizes{} : Sizes{small_size()};
    }
    if (contains(name, "vec")) return {base_.empty() ? int64_t{1} : base_.back()};
    if (broadcast_) {
      for (int64_t& size : sizes) {
        if (random_.percent(25)) size = 1;
      }
      if (!sizes.empty() && random_.percent(25)) sizes.erase(sizes.begin());
    }
    return sizes;
  }

  ScalarType fitting_dtype(const std::string& name) {
    if (any_of(name, {"index", "indices", "offsets", "sorter", "repeats", "target_lengths", "input_lengths", "min_indices"})) {
      return random_.percent(85) ? ScalarType::Long : ScalarType::Int;
    }
    if (name == "target" && schema_.argument_index("ignore_index")) return random_.percent(85) ? ScalarType::Long : dtype_;
    if (any_of(name, {"mask", "condition"})) return random_.percent(90) ? ScalarType::Bool : ScalarType::Byte;
    if (any_of(schema_.base_name(), {"bincount", "one_hot", "gcd", "lcm", "repeat_interleave"}) && random_.percent(80)) return ScalarType::Long;
    if (contains(schema_.base_name(), "bitwise") && !c10::isIntegralType(dtype_, true) && random_.percent(80)) return ScalarType::Int;
    return random_.percent(90) ? dtype_ : any_dtype();
  }

  template <class T>
  void fill_integers(T* data, int64_t count, int64_t limit, int extremes) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t value = random_.below(std::max<int64_t>(limit, 1));
      if (extremes != 0 && random_.percent(extremes)) value = wild_integer();
      data[i] = static_cast<T>(value);
    }
  }
  template <class T>
  void fill_floats(T* data, int64_t count, int extremes) {
    for (int64_t i = 0; i < count; ++i) {
      double value = static_cast<double>(random_.between(-2000, 2000)) / 1000.0;
      if (extremes != 0 && random_.percent(extremes)) {
        value = random_.pick<double>({0.0, -0.0, INFINITY, -INFINITY, NAN, 1e38, -1e38, 1e-40, 65504.0});
      }
      data[i] = T(static_cast<float>(value));
    }
  }

  // Fills the whole storage, also what the tensor does not show. `limit`: integers are below it.
  void fill(const Tensor& t, int64_t limit, int extremes) {
    if (t.is_meta()) return;
    const int64_t bytes = static_cast<int64_t>(t.storage().nbytes());
    void* data = t.storage().data();
    switch (t.scalar_type()) {
      case ScalarType::Byte: return fill_integers(static_cast<uint8_t*>(data), bytes, limit, extremes);
      case ScalarType::Char: return fill_integers(static_cast<int8_t*>(data), bytes, limit, extremes);
      case ScalarType::Bool: return fill_integers(static_cast<bool*>(data), bytes, 2, 0);
      case ScalarType::Short: return fill_integers(static_cast<int16_t*>(data), bytes / 2, limit, extremes);
      case ScalarType::Int: return fill_integers(static_cast<int32_t*>(data), bytes / 4, limit, extremes);
      case ScalarType::Long: return fill_integers(static_cast<int64_t*>(data), bytes / 8, limit, extremes);
      case ScalarType::Half: return fill_floats(static_cast<c10::Half*>(data), bytes / 2, extremes);
      case ScalarType::BFloat16: return fill_floats(static_cast<c10::BFloat16*>(data), bytes / 2, extremes);
      case ScalarType::Float:
      case ScalarType::ComplexFloat: return fill_floats(static_cast<float*>(data), bytes / 4, extremes);
      case ScalarType::Double:
      case ScalarType::ComplexDouble:
        return fill_floats(static_cast<double*>(data), bytes / 8, extremes);
      default:
        return fill_integers(static_cast<uint8_t*>(data), bytes, 256, 0);
    }
  }

  Tensor strided(const Sizes& sizes, const Sizes& strides, int64_t offset, ScalarType dtype, c10::Device device) {
    int64_t last = offset;
    bool empty = false;
    for (size_t d = 0; d < sizes.size(); ++d) {
      empty = empty || sizes[d] == 0;
      if (!empty) last += (sizes[d] - 1) * strides[d];
    }
    const Tensor whole = at::empty_contiguous({(empty ? offset : last) + 1}, dtype, device);
    return Tensor(c10::TensorImpl::strided(whole.unsafeGetTensorImpl()->storage(), dtype, device, sizes, strides, offset));
  }

  Tensor tensor(const Sizes& sizes, ScalarType dtype, c10::Device device, bool is_wild) {
    const int64_t style = random_.below(100);
    const bool huge = std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size > 1000; });
    const bool many = sizes.size() > 8;  // gaps would multiply
    if (sizes.empty() || huge || style < 55 || (many && style >= 75)) return at::empty_contiguous(sizes, dtype, device);
    Sizes strides(sizes.size());
    int64_t step = 1, offset = 0;
    if (style < 75) {  // transposed
      std::vector<size_t> order(sizes.size());
      for (size_t d = 0; d < order.size(); ++d) order[d] = d;
      for (size_t d = order.size(); d > 1; --d) std::swap(order[d - 1], order[static_cast<size_t>(random_.below(static_cast<int64_t>(d)))]);
      for (const size_t d : order) {
        strides[d] = step;
        step *= std::max<int64_t>(sizes[d], 1);
      }
    } else {  // with gaps, or showing elements more than once
      for (size_t d = sizes.size(); d-- > 0;) {
        step *= random_.pick<int64_t>({1, 1, 2, 3});
        strides[d] = step;
        step *= std::max<int64_t>(sizes[d], 1);
      }
      if (style >= 92 || is_wild) strides[static_cast<size_t>(random_.below(static_cast<int64_t>(sizes.size())))] = random_.percent(80) ? 0 : 1;
      offset = random_.below(4);
    }
    return strided(sizes, strides, offset, dtype, device);
  }

  // An output that shares memory with an earlier argument.
  Tensor overlapping() {
    const Tensor& other = made_[static_cast<size_t>(random_.below(static_cast<int64_t>(made_.size())))];
    const Sizes sizes(other.sizes().begin(), other.sizes().end());
    const auto view = [&](const Sizes& s, const Sizes& strides, int64_t offset) {
      return Tensor(c10::TensorImpl::strided(other.unsafeGetTensorImpl()->storage(), other.scalar_type(), other.device(), s, strides, offset));
    };
    if (random_.percent(40) || sizes.empty()) return other;
    Sizes strides(other.strides().begin(), other.strides().end());
    switch (random_.below(3)) {
      case 0: {  // the other way round
        Sizes turned(sizes.rbegin(), sizes.rend());
        std::reverse(strides.begin(), strides.end());
        return view(turned, strides, other.storage_offset());
      }
      case 1: {  // a part of it, from its second row on
        Sizes part = sizes;
        if (part[0] < 2) return other;
        --part[0];
        return view(part, strides, other.storage_offset() + strides[0]);
      }
      default: {  // all of its storage, as a line
        const int64_t elements = static_cast<int64_t>(other.storage().nbytes() / other.itemsize());
        return view({elements}, {1}, 0);
      }
    }
  }

  IValue tensor_value(const Argument& argument) {
    const std::string& name = argument.name();
    const bool is_wild = wild();
    if (argument.is_out()) {
      if (!made_.empty() && random_.percent(is_wild ? 40 : 5)) return IValue(overlapping());
      if (random_.percent(50)) return IValue(at::empty_contiguous({0}, random_.percent(85) ? dtype_ : any_dtype(), device(false)));
    }
    if (is_wild && random_.percent(10)) return IValue();
    const bool wild_shape = is_wild && random_.percent(55);
    const ScalarType dtype = is_wild && random_.percent(25) ? any_dtype() : fitting_dtype(name);
    c10::Device on = device(is_wild);
    Sizes sizes = wild_shape ? wild_sizes() : fitting_sizes(name);
    if (on.type() == c10::DeviceType::Meta && is_wild && random_.percent(20)) {
      sizes = {random_.pick<int64_t>({int64_t{1} << 40, int64_t{1} << 31, 3}), random_.pick<int64_t>({int64_t{1} << 18, 2, 3})};
    }
    Tensor t = tensor(sizes, dtype, on, is_wild);
    int64_t limit = any_of(name, {"index", "indices", "target"}) ? index_limit() : 6;
    fill(t, limit, is_wild ? random_.pick<int>({0, 5, 30}) : random_.percent(10) && !c10::isIntegralType(dtype, true) ? 10 : 0);
    if (differentiable_ && (t.is_floating_point() || t.is_complex()) && random_.percent(argument.is_write() ? 10 : 70)) t.set_requires_grad(true);
    made_.push_back(t);
    return IValue(t);
  }

  int64_t index_limit() {
    int64_t limit = 4;
    for (const int64_t size : made_.empty() ? at::IntArrayRef(base_) : made_[0].sizes()) limit = std::min(limit, std::max<int64_t>(size, 1));
    if (relation_ == Relation::kLoss && base_.size() > 1) limit = base_[1];
    return limit;
  }

  c10::Device device(bool is_wild) {
    const bool meta = on_meta_ != (is_wild && random_.percent(12));
    return c10::Device(meta ? c10::DeviceType::Meta : c10::DeviceType::CPU);
  }

  IValue tensor_list(const Argument& argument) {
    int64_t length = list_length_;
    if (wild()) length = random_.pick<int64_t>({0, 0, 1, 2, 5});
    std::vector<IValue> list;
    for (int64_t i = 0; i < length; ++i) {
      if (argument.shape().element_optional && random_.percent(30)) {
        list.emplace_back();
      } else {
        list.push_back(tensor_value(argument));
      }
    }
    return IValue(std::move(list));
  }

  int64_t fitting_integer(const std::string& name, bool in_list) {
    if (any_of(name, {"dim", "dims", "dim0", "dim1", "dim2", "axis0", "axis1", "start_dim", "end_dim", "dimension", "source", "destination",
                      "dims_self", "dims_other", "axis", "batch_dim"})) {
      const int64_t r = std::max<int64_t>(rank(), 1);
      return random_.between(-r, r - 1);
    }
    if (name == "reduction") return random_.between(0, 2);
    if (any_of(name, {"stride", "dilation", "groups"})) return random_.pick<int64_t>({1, 1, 1, 2, 3});
    if (any_of(name, {"kernel_size", "output_size", "steps", "bins", "num_classes", "k"})) return random_.between(1, 4);
    if (contains(name, "padding")) return random_.between(0, 2);
    if (any_of(name, {"pad", "start", "end", "diagonal", "offset", "shifts", "decimals", "low"})) return random_.between(-2, 3);
    if (in_list && any_of(name, {"normalized_shape"})) return base_.empty() ? 1 : base_.back();
    return random_.between(0, 4);
  }

  IValue integer_list(const Argument& argument) {
    const std::string& name = argument.name();
    const bool is_wild = wild();
    Sizes list;
    const int fixed = argument.shape().list_size;
    if (name == "normalized_shape" && !is_wild) {
      const int64_t count = base_.empty() ? 0 : random_.between(1, rank());
      return IValue(Sizes(base_.end() - count, base_.end()));
    }
    if (any_of(name, {"size", "shape", "sizes"}) && random_.percent(50) && !is_wild) return IValue(base_);
    int64_t length = fixed > 0 ? (random_.percent(75) ? fixed : 1) : any_of(name, {"size", "shape", "repeats", "stride", "sizes"}) ? rank() : random_.between(0, std::max<int64_t>(rank(), 1));
    if (fixed > 0 && (any_of(name, {"dim", "dims", "shifts"}))) length = random_.between(0, std::max<int64_t>(rank(), 1));
    if (relation_ == Relation::kImage && fixed <= 0) length = std::max<int64_t>(rank() - 2, 1) * (name == "pad" ? 2 : 1);
    if (is_wild && random_.percent(40)) length = random_.between(0, 7);
    const bool dims = any_of(name, {"dim", "dims"});
    for (int64_t i = 0; i < length; ++i) {
      list.push_back(is_wild && random_.percent(60) ? wild_integer()
                     : dims && random_.percent(80)  ? i
                                                    : fitting_integer(name, true));
    }
    if (dims && list.size() > 1 && random_.percent(50)) std::reverse(list.begin(), list.end());
    return IValue(std::move(list));
  }

  IValue scalar() {
    const bool is_wild = wild();
    switch (random_.below(is_wild ? 8 : 5)) {
      case 0: return IValue(random_.between(-3, 5));
      case 1: return IValue(static_cast<double>(random_.between(-3000, 3000)) / 1000);
      case 2: return IValue(1);
      case 3: return IValue(0.5);
      case 4: return random_.percent(30) ? IValue(true) : IValue(2);
      case 5: return IValue(wild_integer());
      case 6: return IValue(c10::complex<double>(1.5, random_.percent(50) ? -2.0 : 0.0));
      default: return IValue(wild_number());
    }
  }
  double wild_number() {
    return random_.pick<double>({0.0, -0.0, -1.0, 1.5, INFINITY, -INFINITY, NAN, 1e308, -1e308, 1e19, -1e19, 5e-324, 1e-40});
  }

  IValue string(const Argument& argument) {
    if (argument.name() == "filename") return IValue("/dev/null");  // no file is made, none grows
    if (wild()) return IValue(random_.pick<const char*>({"", "bogus", "\xff\xfe", "->", "reflect", "sum", "i,j->", "ij,jk->ik...", "...", "ii->i"}));
    const std::string& name = argument.name();
    if (name == "reduce") return IValue(random_.pick<const char*>({"sum", "prod", "mean", "amax", "amin", "add", "multiply"}));
    if (name == "rounding_mode") return IValue(random_.pick<const char*>({"floor", "trunc"}));
    if (name == "approximate") return IValue(random_.pick<const char*>({"none", "tanh"}));
    if (name == "mode") return IValue(random_.pick<const char*>({"constant", "reflect", "replicate", "circular", "complete", "reduced"}));
    if (name == "indexing") return IValue(random_.pick<const char*>({"ij", "xy"}));
    if (name == "padding") return IValue(random_.pick<const char*>({"same", "valid"}));
    if (contains(name, "side")) return IValue(random_.pick<const char*>({"left", "right"}));
    if (name == "equation") {
      return IValue(random_.pick<const char*>({"ij,jk->ik", "ij->ji", "i,i->", "...i,...i->...", "ii->i", "ij,ij", "abc,abd->cd", "i->"}));
    }
    return IValue("none");
  }

  IValue argument_value(const Argument& argument) {
    const c10::ArgumentShape type = argument.shape();
    if (argument.default_text().has_value() && random_.percent(wild_percent_ >= 80 ? 15 : 45)) return *argument.default_value();
    if (type.optional && random_.percent(35)) return IValue();
    if (wild() && random_.percent(2)) return IValue("a value of another type");
    if (type.list) return list_value(argument);
    switch (type.kind) {
      case TypeKind::TensorType: return tensor_value(argument);
      case TypeKind::NumberType: return scalar();
      case TypeKind::IntType: return IValue(wild() ? wild_integer() : fitting_integer(argument.name(), false));
      case TypeKind::FloatType:
        if (wild()) return IValue(wild_number());
        return IValue(static_cast<double>(random_.between(0, 1000)) / (argument.name() == "eps" ? 1e6 : 1000.0));
      case TypeKind::ComplexType: return IValue(c10::complex<double>(0.5, 1));
      case TypeKind::BoolType: return IValue(random_.percent(50));
      case TypeKind::StringType: return string(argument);
      case TypeKind::ScalarTypeType:
        if (wild()) return IValue(random_.between(-1, 40));
        return IValue(random_.percent(60) ? dtype_ : any_dtype());
      case TypeKind::LayoutType: return wild() ? IValue(random_.between(-1, 9)) : IValue(int64_t{0});
      case TypeKind::DeviceObjType:
        if (wild()) return IValue(c10::Device(random_.pick({c10::DeviceType::Meta, c10::DeviceType::CUDA, c10::DeviceType::CPU})));
        return IValue(c10::Device(on_meta_ ? c10::DeviceType::Meta : c10::DeviceType::CPU));
      case TypeKind::MemoryFormatType: return IValue(random_.between(wild() ? -1 : 0, wild() ? 9 : 3));
      case TypeKind::GeneratorType:
        return random_.percent(70) ? IValue() : IValue(IValue::Tag::Generator, at::make_generator<at::CPUGeneratorImpl>(7).getIntrusivePtr());
      case TypeKind::StorageType:
        if (made_.empty()) return IValue();
        return IValue(IValue::Tag::Storage, c10::intrusive_ptr<c10::StorageImpl>(made_[0].unsafeGetTensorImpl()->storage()));
      case TypeKind::DimnameType: return IValue("N");
      default: return IValue();
    }
  }

  IValue list_value(const Argument& argument) {
    switch (argument.shape().kind) {
      case TypeKind::TensorType: return tensor_list(argument);
      case TypeKind::IntType: return integer_list(argument);
      case TypeKind::BoolType: {
        const int count = wild() ? static_cast<int>(random_.below(5)) : std::max(argument.shape().list_size, 0);
        std::vector<bool> list;
        for (int i = 0; i < count; ++i) list.push_back(random_.percent(60));
        return IValue(std::move(list));
      }
      case TypeKind::FloatType: {
        std::vector<double> list;
        const int64_t count = random_.between(0, 3);
        for (int64_t i = 0; i < count; ++i) list.push_back(wild() ? wild_number() : 0.5 * static_cast<double>(i + 1));
        return IValue(std::move(list));
      }
      case TypeKind::NumberType: {
        std::vector<IValue> list;
        const int64_t count = wild() ? random_.between(0, 4) : list_length_;
        for (int64_t i = 0; i < count; ++i) list.push_back(scalar());
        return IValue(std::move(list));
      }
      default: return IValue(std::vector<IValue>());
    }
  }

  const c10::FunctionSchema& schema_;
  Random random_;
  bool tame_ = false;
  int64_t wild_percent_ = 0;
  bool on_meta_ = false;
  bool differentiable_ = false;
  bool broadcast_ = false;
  ScalarType dtype_ = ScalarType::Float;
  Relation relation_ = Relation::kSame;
  Sizes base_;
  int64_t inner_ = 1;
  int64_t list_length_ = 1;
  std::vector<Tensor> made_;
};

std::string text_of(at::IntArrayRef values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

template <class T>
std::string first_values(const Tensor& t) {
  std::string text = " storage {";
  const int64_t count = static_cast<int64_t>(t.storage().nbytes() / sizeof(T));
  for (int64_t i = 0; i < std::min<int64_t>(count, 12); ++i) {
    text += (i ? ", " : "") + c10::str(static_cast<const T*>(t.storage().data())[i]);
  }
  return text + (count > 12 ? ", ...}" : "}");
}

std::string text_of(const Tensor& t) {
  std::string text = std::string(c10::toString(t.scalar_type())) + text_of(t.sizes());
  if (!t.is_contiguous() || t.storage_offset() != 0) {
    text += " strides " + text_of(t.strides()) + " offset " + std::to_string(t.storage_offset());
  }
  if (t.is_meta()) return text + " on meta";
  if (t.requires_grad()) text += " requires_grad";
  switch (t.scalar_type()) {
    case ScalarType::Long: return text + first_values<int64_t>(t);
    case ScalarType::Int: return text + first_values<int>(t);
    case ScalarType::Float: return text + first_values<float>(t);
    case ScalarType::Double: return text + first_values<double>(t);
    case ScalarType::Bool: return text + first_values<bool>(t);
    default: return text;
  }
}

std::string text_of(const IValue& value) {
  if (value.isNone()) return "None";
  if (value.isTensor()) return text_of(value.toTensor());
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isDouble()) return c10::str(value.toDouble());
  if (value.isString()) return "\"" + value.toStringRef() + "\"";
  if (value.isDevice()) return value.toDevice().str();
  if (value.isIntList()) return text_of(at::IntArrayRef(value.toIntVector()));
  std::string text;
  if (value.isBoolList()) {
    for (const bool element : value.toBoolVector()) text += element ? "True " : "False ";
  } else if (value.isDoubleList()) {
    for (const double element : value.toDoubleVector()) text += c10::str(element) + " ";
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) text += "\n        " + text_of(element);
  } else {
    return std::string(value.tag_name());
  }
  return "[" + text + "]";
}

}  // namespace

c10::Stack generate_call(const c10::FunctionSchema& schema, uint64_t seed, uint64_t number, Temper temper) {
  return Generator(schema, seed, number, temper).generate();
}

std::string describe(const c10::FunctionSchema& schema, const c10::Stack& arguments) {
  std::string text = schema.str();
  for (size_t i = 0; i < arguments.size() && i < schema.arguments().size(); ++i) {
    text += "\n    " + schema.arguments()[i].name() + " = " + text_of(arguments[i]);
  }
  return text;
}

}  // namespace fuzz
