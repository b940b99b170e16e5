#include "compile/cuda/group_source.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "aten/cuda/rows/row_units.h"
#include "c10/util/exception.h"
#include "compile/tape/nest.h"
#include "graph/passes/tensor_info.h"

namespace torch::compiler::cuda {
namespace {

using c10::ScalarType;

constexpr int64_t kVectorBytes = 16;
constexpr int kMostLanes = 8;
constexpr int64_t kMostOfRow = int64_t{1} << 28;

// The name of the function of elements in at::cuda; null where there is none.
const char* function_of(Primitive primitive) {
  // Their kernels are made of other formulas (aten/cuda/special).
  if (primitive == Primitive::kErfinv || primitive == Primitive::kLgamma || primitive == Primitive::kDigamma) {
    return nullptr;
  }
  switch (primitive) {
#define KD_NAME(Tag, loop, operands, parameters, form) \
  case Primitive::k##Tag:                              \
    return #Tag;
    KD_PRIMITIVES(KD_NAME)
#undef KD_NAME
    case Primitive::kConvert:
    case Primitive::kWhere:
      return "";
  }
  return nullptr;
}

// The type of a number that is computed with.
const char* number_type(ScalarType type) {
  switch (type) {
    case ScalarType::Float:
      return "float";
    case ScalarType::Double:
      return "double";
    case ScalarType::Int:
      return "int32_t";
    case ScalarType::Long:
      return "int64_t";
    case ScalarType::Bool:
      return "bool";
    default:
      TORCH_CHECK_VALUE(false, "a group does not compute with ", type);
  }
}
// What lies in memory. Any byte but 0 is a true bool.
const char* element_type(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half:
      return "c10::Half";
    case ScalarType::BFloat16:
      return "c10::BFloat16";
    case ScalarType::Byte:
    case ScalarType::Bool:
      return "uint8_t";
    case ScalarType::Char:
      return "int8_t";
    case ScalarType::Short:
      return "int16_t";
    default:
      return number_type(dtype);
  }
}
// The type with the values that the dtype has.
const char* value_type(ScalarType dtype) {
  return dtype == ScalarType::Bool ? "bool" : element_type(dtype);
}

std::string hexadecimal(uint64_t bits) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
  return text;
}
std::string literal(ScalarType type, const c10::Scalar& value) {
  switch (type) {
    case ScalarType::Float:
      return "__int_as_float(" + hexadecimal(std::bit_cast<uint32_t>(static_cast<float>(value.toDouble()))) + ")";
    case ScalarType::Double:
      return "__longlong_as_double(" + hexadecimal(std::bit_cast<uint64_t>(value.toDouble())) + ")";
    case ScalarType::Bool:
      return value.toBool() ? "true" : "false";
    default: {
      const int64_t n = value.isFloatingPoint() ? static_cast<int64_t>(value.toDouble()) : value.toLong();
      return std::string("static_cast<") + number_type(type) + ">(" + hexadecimal(static_cast<uint64_t>(n)) + "ull)";
    }
  }
}

std::string numbered(const char* name, size_t number) {
  return name + std::to_string(number);
}

// How a kernel finds an operand's elements.
enum class Access : uint8_t {
  kFlat,    ///< element i is the i-th in memory
  kRun,     ///< so are `lanes` neighbours
  kStride,  ///< each by itself
  kOne,     ///< neighbours have one element
  kSame,    ///< all have
};

class Printer {
 public:
  explicit Printer(const Group& group) : group_(group), sizes_(tape::evaluated(group.sizes, {})) {
    std::vector<tape::NestOperand> operands;
    for (const GroupInput& input : group.inputs) add(input.info, operands);
    TORCH_CHECK_VALUE(!group.outputs.empty(), "a group without outputs");
    for (const GroupOutput& output : group.outputs) {
      TORCH_CHECK_VALUE(tape::evaluated(output.info.sizes, {}) == sizes_,
                        "an output of a group has other sizes than it");
      add(output.info, operands);
    }
    size_t fixed = 0;
    if (group.row.has_value()) {
      check_row(*group.row);
      fixed = static_cast<size_t>(group.row->dims);
      source_.row = 1;
      for (size_t d = sizes_.size() - fixed; d < sizes_.size(); ++d) source_.row *= sizes_[d];
    }
    nest_.emplace(sizes_, operands, group.inputs.size(), fixed);
    source_.numel = nest_->numel();
    if (source_.numel == 0) return;
    TORCH_CHECK_VALUE(source_.row <= kMostOfRow, "a group has rows of ", source_.row, " elements");
    choose_access();
  }

  KernelSource print() {
    if (source_.numel == 0) return std::move(source_);
    shape();
    group_.row.has_value() ? row_kernels() : element_kernels();
    return std::move(source_);
  }

 private:
  bool is_output(size_t k) const { return k >= group_.inputs.size(); }

  void add(const graph::TensorInfo& info, std::vector<tape::NestOperand>& operands) {
    TORCH_CHECK_VALUE(register_type(info.dtype) != ScalarType::Undefined, "a group cannot take elements of ",
                      info.dtype);
    operands.push_back(tape::operand_of(info, sizes_, {}));
    dtypes_.push_back(info.dtype);
  }
  void check_row(const RowOperation& row) const {
    const ScalarType type = register_type(row.dtype);
    const bool is_held = type == ScalarType::Float || type == ScalarType::Double;
    TORCH_CHECK_VALUE(is_held && group_.type_of(row.operand) == type && group_.row_begin <= group_.operations.size(),
                      "a group's row is of ", row.dtype, " and reads ", group_.dtype_of(row.operand));
    TORCH_CHECK_VALUE(row.dims > 0 && static_cast<size_t>(row.dims) <= sizes_.size(), "a row of ", row.dims,
                      " dimensions in a group of ", sizes_.size());
  }

  void choose_access() {
    const tape::Nest& nest = *nest_;
    int64_t widest = 1, reach = 0;
    for (size_t k = 0; k < dtypes_.size(); ++k) {
      const auto item = static_cast<int64_t>(c10::elementSize(dtypes_[k]));
      KernelOperand operand{item, false, false, false, {}};
      int64_t last = 0;
      for (size_t d = 0; d < nest.dims(); ++d) {
        operand.strides.push_back(nest.stride(d, k) / item);
        last += (nest.size(d) - 1) * std::abs(operand.strides.back());
      }
      reach = std::max(reach, last);
      if (is_output(k) || !nest.is_same(k)) widest = std::max(widest, item);
      source_.operands.push_back(std::move(operand));
    }
    for (size_t d = 0; d < nest.dims(); ++d) source_.sizes.push_back(nest.size(d));
    source_.wide = reach > INT32_MAX;
    if (source_.row > 0) {
      // As the operator's kernel takes them.
      const auto bytes = static_cast<int64_t>(c10::elementSize(register_type(group_.row->dtype)));
      source_.threads_of_row = at::cuda::lanes_of_rows(source_.numel / source_.row, source_.row, bytes);
      holds_row_ = at::cuda::holds_row(source_.row, source_.threads_of_row, bytes);
      source_.piece = at::cuda::piece_of_rows(source_.row, widest_of_row());
      source_.lanes = source_.piece;
      if (nest.dims() > 1 && nest.run() % source_.lanes != 0) source_.lanes = 1;
    } else {
      source_.lanes = std::min(kMostLanes, static_cast<int>(kVectorBytes / widest));
      // Elements that one thread takes lie in one run; behind the end of the only run they are taken one by one.
      while (nest.dims() > 1 && nest.run() % source_.lanes != 0) source_.lanes /= 2;
    }
    for (size_t k = 0; k < dtypes_.size(); ++k) {
      KernelOperand& operand = source_.operands[k];
      const auto steps_of_lanes = [&] {
        for (size_t d = 1; d < nest.dims(); ++d) {
          if (operand.strides[d] % source_.lanes != 0) return false;
        }
        return true;
      };
      const int64_t next = nest.dims() == 0 ? 0 : operand.strides[0];
      Access access = Access::kStride;
      if (nest.is_flat(k)) {
        access = Access::kFlat;
      } else if (!is_output(k) && nest.is_same(k)) {
        access = Access::kSame;
      } else if (!is_output(k) && next == 0) {
        access = Access::kOne;
      } else if (next == 1 && steps_of_lanes()) {
        access = Access::kRun;
      }
      operand.vector = source_.lanes > 1 && (access == Access::kFlat || access == Access::kRun);
      operand.placed = access != Access::kFlat && access != Access::kSame;
      places_ = places_ || operand.placed;
      has_vectors_ = has_vectors_ || operand.vector;
      access_.push_back(access);
      if (access == Access::kSame) {
        const std::string number = number_type(register_type(dtypes_[k])), at = std::to_string(k);
        once_ += "  const " + number + " x" + at + " = convert<" + number + ">(*p" + at + ");\n";
        parameters_ += ", const " + number + " x" + at;
        members_ += "  " + number + " x" + at + ";\n";
        arguments_ += ", x" + at;
      } else {
        parameters_ += parameter(k);
        members_ += "  " + parameter(k).substr(2) + ";\n";
        arguments_ += ", " + name(k);
      }
    }
    if (source_.piece == 1) return;
    // What the operator reads where it is.
    const RowOperation& row = *group_.row;
    const auto reads = [&](Ref ref) {
      if (ref.kind != Ref::Kind::kInput || !graph::is_row_major(group_.inputs[ref.index].info)) return;
      source_.operands[ref.index].orders = has_order_ = true;
    };
    if (group_.dtype_of(row.operand) == row.dtype) reads(row.operand);
    if (row.weight.has_value()) reads(*row.weight);
    if (row.bias.has_value()) reads(*row.bias);
  }
  // Bytes of an element of the widest tensor that the operator of the row has.
  int64_t widest_of_row() const {
    const RowOperation& row = *group_.row;
    size_t widest = c10::elementSize(row.dtype);
    if (row.weight.has_value()) widest = std::max(widest, c10::elementSize(group_.dtype_of(*row.weight)));
    if (row.bias.has_value()) widest = std::max(widest, c10::elementSize(group_.dtype_of(*row.bias)));
    return static_cast<int64_t>(widest);
  }

  // --- values ---

  // What a function computes of some neighbours: loads before all of them, then of each, stores behind.
  struct Body {
    std::string loads, each, stores;
    std::set<uint32_t> read;
  };

  std::string ref(Body& body, Ref r) const {
    switch (r.kind) {
      case Ref::Kind::kInput:
        if (body.read.insert(r.index).second) load(body, r.index);
        return numbered("x", r.index);
      case Ref::Kind::kOperation:
        return numbered("v", r.index);
      case Ref::Kind::kRow:
        return "row";
      case Ref::Kind::kConstant:
        break;
    }
    const GroupConstant& constant = group_.constants.at(r.index);
    return literal(constant.type, constant.value);
  }
  void load(Body& body, size_t k) const {
    const std::string at = std::to_string(k), element = element_type(dtypes_[k]);
    const std::string number = number_type(register_type(dtypes_[k]));
    const std::string made = "const " + number + " x" + at + " = convert<" + number + ">(";
    switch (access_[k]) {
      case Access::kSame:
        return;
      case Access::kOne:
        body.loads += "  " + made + "p" + at + "[o" + at + "]);\n";
        return;
      case Access::kStride:
        body.each += "    " + made + "p" + at + "[" + strided(k) + "]);\n";
        return;
      case Access::kFlat:
      case Access::kRun:
        body.loads += "  const Elements<" + element + ", kCount> e" + at + " = load_elements<" + element +
                      ", kCount>(p" + at + " + " + (access_[k] == Access::kFlat ? "i" : "o" + at) + ");\n";
        body.each += "    " + made + "e" + at + "[j]);\n";
        return;
    }
  }
  // Where the j-th neighbour is.
  std::string strided(size_t k) const {
    return numbered("o", k) + " + j * shape.strides[" + std::to_string(place_of(k)) + "][0]";
  }
  std::string name(size_t k) const { return is_output(k) ? numbered("q", k - group_.inputs.size()) : numbered("p", k); }
  std::string parameter(size_t k) const {
    return std::string(", ") + (is_output(k) ? "" : "const ") + element_type(dtypes_[k]) + "* __restrict__ " + name(k);
  }
  // Its row in the table of strides.
  size_t place_of(size_t k) const {
    return static_cast<size_t>(std::count_if(source_.operands.begin(),
                                             source_.operands.begin() + static_cast<std::ptrdiff_t>(k),
                                             [](const KernelOperand& o) { return o.placed; }));
  }

  // A number of `type` as the dtype has it, held in its wider type again.
  static std::string rounded(const std::string& text, ScalarType type, ScalarType dtype) {
    if (type == dtype) return text;
    const std::string narrow = std::string("convert<") + value_type(dtype) + ">(" + text + ")";
    const ScalarType held = register_type(dtype);
    return held == dtype ? narrow : std::string("convert<") + number_type(held) + ">(" + narrow + ")";
  }

  std::string computed(Body& body, size_t index, const Operation& op) const {
    std::vector<std::string> operands;
    for (const Ref r : op.operands) operands.push_back(ref(body, r));
    if (op.primitive == Primitive::kConvert) {
      const ScalarType from = group_.dtype_of(op.operands[0]);
      return from == op.dtype ? operands[0] : rounded(operands[0], register_type(from), op.dtype);
    }
    if (op.primitive == Primitive::kWhere) return operands[0] + " ? " + operands[1] + " : " + operands[2];
    if (op.type == ScalarType::Bool) return of_truths(op.primitive, operands);
    const std::string number = number_type(op.type), at = std::to_string(index);
    std::string given;
    for (const std::string& operand : operands) given += (given.empty() ? "" : ", ") + operand;
    body.each += "    const " + number + " a" + at + "[] = {" + given + "};\n";
    std::string parameters = "static_cast<const " + number + "*>(nullptr)";
    if (!op.parameters.empty()) {
      parameters = "b" + at;
      body.each += "    const " + number + " b" + at + "[] = {";
      for (size_t i = 0; i < op.parameters.size(); ++i) {
        body.each += (i == 0 ? "" : ", ") + literal(op.type, op.parameters[i]);
      }
      body.each += "};\n";
    }
    const bool predicate = info_of(op.primitive).form == Form::kPredicate;
    return rounded(std::string(function_of(op.primitive)) + "::run(a" + at + ", " + parameters + ")",
                   predicate ? ScalarType::Bool : op.type, op.dtype);
  }
  static std::string of_truths(Primitive primitive, const std::vector<std::string>& operands) {
    switch (primitive) {
      case Primitive::kLogicalAnd:
        return operands[0] + " && " + operands[1];
      case Primitive::kLogicalOr:
        return operands[0] + " || " + operands[1];
      case Primitive::kLogicalXor:
        return operands[0] + " != " + operands[1];
      case Primitive::kLogicalNot:
        return "!" + operands[0];
      default:
        TORCH_CHECK_VALUE(false, "a group's ", info_of(primitive).name, " is not there for Bool");
    }
  }

  // The operations that these values need, but for what the row needs.
  void operations(Body& body, const std::vector<Ref>& values) const {
    std::vector<bool> needed(group_.operations.size());
    const auto mark = [&](Ref r, size_t before) {
      if (r.kind != Ref::Kind::kOperation) return;
      TORCH_CHECK_VALUE(r.index < before, "a group's operation reads what is not there yet");
      needed[r.index] = true;
    };
    for (const Ref r : values) mark(r, needed.size());
    for (size_t i = needed.size(); i-- > 0;) {
      if (!needed[i]) continue;
      for (const Ref r : group_.operations[i].operands) mark(r, i);
    }
    for (size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      const Operation& op = group_.operations[i];
      const PrimitiveInfo& info = info_of(op.primitive);
      TORCH_CHECK_VALUE(function_of(op.primitive) != nullptr, "CUDA kernels of groups do not compute ", info.name);
      TORCH_CHECK_VALUE(op.operands.size() == info.operands && op.parameters.size() == info.parameters, "a group's ",
                        info.name, " has ", op.operands.size(), " operands and ", op.parameters.size(), " parameters");
      const std::string value = computed(body, i, op);
      body.each +=
          "    const " + std::string(number_type(register_type(op.dtype))) + numbered(" v", i) + " = " + value + ";\n";
    }
  }
  // Everything that is written.
  Body outputs(const std::string& begin) const {
    Body body;
    body.each = begin;
    std::vector<Ref> values;
    for (const GroupOutput& output : group_.outputs) values.push_back(output.value);
    operations(body, values);
    for (size_t i = 0; i < group_.outputs.size(); ++i) {
      const size_t k = group_.inputs.size() + i;
      const std::string at = std::to_string(i), element = element_type(dtypes_[k]);
      // By way of bool, where another number than 0 is true.
      std::string value = ref(body, group_.outputs[i].value);
      if (dtypes_[k] == ScalarType::Bool) value = "convert<bool>(" + value + ")";
      value = "convert<" + element + ">(" + value + ")";
      if (access_[k] == Access::kStride) {
        body.each += "    q" + at + "[" + strided(k) + "] = " + value + ";\n";
        continue;
      }
      body.loads += "  Elements<" + element + ", kCount> r" + at + ";\n";
      body.each += "    r" + at + "[j] = " + value + ";\n";
      body.stores += "  store_elements(q" + at + " + " + (access_[k] == Access::kFlat ? "i" : numbered("o", k)) +
                     ", r" + at + ");\n";
    }
    return body;
  }
  std::string text_of(const Body& body) const {
    return offsets() + body.loads + "#pragma unroll\n  for (int j = 0; j < kCount; ++j) {\n" + body.each + "  }\n" +
           body.stores;
  }

  // --- text ---

  void shape() {
    const size_t dims = source_.sizes.size();
    size_t placed = 0;
    for (const KernelOperand& operand : source_.operands) placed += operand.placed;
    std::string& text = source_.functions;
    text = std::string("namespace {\n\nusing namespace at::cuda;\n\nusing Index = ") +
           (source_.wide ? "int64_t" : "int32_t") + ";\n";
    text += "struct Shape {\n  uint32_t numel, row;\n";
    if (places_) {
      if (dims > 1) text += "  FastDivisor sizes[" + std::to_string(dims - 1) + "];\n";
      text += "  Index strides[" + std::to_string(placed) + "][" + std::to_string(std::max<size_t>(dims, 1)) + "];\n";
    }
    text += "};\n\n";
  }

  // Where the elements from i on are.
  std::string offsets() const {
    if (!places_) return "";
    const size_t dims = source_.sizes.size();
    std::string text = "  uint32_t rest = i;\n";
    std::vector<size_t> placed;
    for (size_t k = 0; k < source_.operands.size(); ++k) {
      if (source_.operands[k].placed) placed.push_back(k);
    }
    for (const size_t k : placed) text += "  Index o" + std::to_string(k) + " = 0;\n";
    for (size_t d = 0; d < dims; ++d) {
      const std::string dim = std::to_string(d);
      const bool last = d + 1 == dims;
      text += last ? "  {\n    const auto index = static_cast<Index>(rest);\n"
                   : "  {\n    const uint32_t above = divide(rest, shape.sizes[" + dim +
                         "]);\n    const auto index = static_cast<Index>(rest - above * shape.sizes[" + dim +
                         "].divisor);\n    rest = above;\n";
      for (const size_t k : placed) {
        text += "    o" + std::to_string(k) + " += shape.strides[" + std::to_string(place_of(k)) + "][" + dim +
                "] * index;\n";
      }
      text += "  }\n";
    }
    return text;
  }

  std::string& kernel_of(KernelForm form) { return source_.kernels[static_cast<size_t>(form)]; }
  std::string kernel(const char* bounds, const std::string& loop) const {
    std::string all;
    for (size_t k = 0; k < source_.operands.size(); ++k) all += (k == 0 ? parameter(k).substr(2) : parameter(k));
    return std::string("extern \"C\" __global__ void ") + bounds + kKernel + "(" + all +
           ", const __grid_constant__ Shape shape) {\n" + once_ + loop + "}\n";
  }

  void element_kernels() {
    source_.functions += "template <int kCount>\nKD_DEVICE void elements(const Shape& shape, uint32_t i" + parameters_ +
                         ") {\n" + text_of(outputs("")) + "}\n\n}  // namespace\n\n";
    const std::string count = std::to_string(source_.lanes);
    const std::string first =
        "  const uint32_t first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;\n";
    const std::string tail = "i < shape.numel; i += step) elements<1>(shape, i" + arguments_ + ");\n";
    const std::string single = first + "  for (uint32_t i = first; " + tail;
    kernel_of(KernelForm::kVectors) =
        kernel("", source_.lanes == 1 ? single
                                      : first + "  const uint32_t vectors = shape.numel / " + count +
                                            ";\n  for (uint32_t n = first; n < vectors; n += step) elements<" + count +
                                            ">(shape, n * " + count + arguments_ +
                                            ");\n  for (uint32_t i = vectors * " + count + " + first; " + tail);
    if (has_vectors_) kernel_of(KernelForm::kSingle) = kernel("", single);
  }

  void row_kernels() {
    const RowOperation& row = *group_.row;
    const std::string number = number_type(register_type(row.dtype));
    std::string& text = source_.functions;
    text += "struct Place {\n  const Shape& shape;\n" + members_ + "\n";
    const auto function_of_elements = [&](const char* name, const std::string& parameter, const std::string& body) {
      text += std::string("  template <int kCount>\n  KD_DEVICE void ") + name + "(uint32_t i, " + parameter +
              ") const {\n" + body + "  }\n";
    };
    Body values;
    operations(values, {row.operand});
    values.each += "    x[j] = " + ref(values, row.operand) + ";\n";
    function_of_elements("values", number + "* x", text_of(values));
    const std::pair<const std::optional<Ref>*, const char*> parts[] = {{&row.weight, "weight"}, {&row.bias, "bias"}};
    for (const auto& [part, name] : parts) {
      std::string text_of_part;
      if (part->has_value()) {
        TORCH_CHECK_VALUE((*part)->kind == Ref::Kind::kInput, "a group's layer_norm has a ", name, " that is no input");
        Body body;
        const std::string value = ref(body, **part);
        body.each += "    x[j] = convert<" + number + ">(" + value + ");\n";
        text_of_part = text_of(body);
      }
      function_of_elements(name, number + "* x", text_of_part);
    }
    const std::string result = rounded("y[j]", register_type(row.dtype), row.dtype);
    function_of_elements("finish", "const " + number + "* y",
                         text_of(outputs("    const " + number + " row = " + result + ";\n")));
    text += "};\n";
    const char* function = row.function == RowFunction::kSoftmax      ? "Softmax<false>"
                           : row.function == RowFunction::kLogSoftmax ? "Softmax<true>"
                                                                      : "LayerNorm";
    const std::string eps = literal(ScalarType::Double, row.eps);
    const std::string in = std::string("{nullptr, ") + (row.weight.has_value() ? "\"\"" : "nullptr") + ", " +
                           (row.bias.has_value() ? "\"\"" : "nullptr") + "}";
    const std::string lanes = std::to_string(source_.threads_of_row);
    text += "constexpr uint32_t kLanes = " + lanes +
            ";\n\ntemplate <int kPiece, int kTogether>\nKD_DEVICE void rows(" +
            "const Place& place) {\n  const uint32_t count = place.shape.numel / place.shape.row, each = " +
            "blockDim.x / kLanes;\n  for (uint32_t r = blockIdx.x * each + threadIdx.x / kLanes; r < count; r += " +
            "gridDim.x * each) {\n    " + function + "::run(GroupRow<" + number +
            ", kLanes, " + (holds_row_ ? "true" : "false") +
            ", Place, kPiece, kTogether>(place, {place.shape.row, " + eps + ", " + in +
            "}, r * place.shape.row, static_cast<int>(threadIdx.x % kLanes), "
            "c10::cuda::dynamic_shared<char>()));\n  }\n}\n\n}  // namespace\n\n";
    const auto loop = [&](int piece, int together) {
      return kernel("__launch_bounds__(256) ", "  rows<" + std::to_string(piece) + ", " + std::to_string(together) +
                                                   ">(Place{shape" + arguments_ + "});\n");
    };
    kernel_of(KernelForm::kVectors) = loop(source_.piece, source_.lanes);
    if (has_vectors_) kernel_of(KernelForm::kSingle) = loop(source_.piece, 1);
    if (has_order_) kernel_of(KernelForm::kOrdered) = loop(1, 1);
  }

  const Group& group_;
  std::vector<int64_t> sizes_;
  std::vector<ScalarType> dtypes_;
  std::optional<tape::Nest> nest_;
  std::vector<Access> access_;
  bool places_ = false, has_vectors_ = false, has_order_ = false, holds_row_ = false;
  KernelSource source_;
  // What is read before all elements; what functions of elements get of it and of the operands.
  std::string once_, parameters_, members_, arguments_;
};

}  // namespace

bool prints(const Lowered& lowered) {
  return std::all_of(lowered.operations.begin(), lowered.operations.end(),
                     [](const Operation& op) { return function_of(op.primitive) != nullptr; });
}

KernelSource print_kernel(const Group& group) {
  return Printer(group).print();
}

}  // namespace torch::compiler::cuda
