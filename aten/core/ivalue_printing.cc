// Values as text.
#include <cmath>
#include <cstdio>
#include <string>

#include "aten/core/printing.h"
#include "aten/core/tensor.h"
#include "c10/util/string_util.h"
#include "c10/value/future.h"
#include "c10/value/ivalue.h"
#include "c10/value/object.h"

namespace c10 {
namespace {

// Integral numbers within int64 have no digits after the point nor an exponent, others as many as it takes to read them
// back.
void append_number(std::string& out, double value) {
  const bool integral = std::fabs(value) < 0x1p63 && value == std::trunc(value);
  if (integral) value += 0.0;  // no negative zero
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), integral ? "%.0f." : "%.17g", value);
  out += buffer;
}

void append_complex(std::string& out, complex<double> value) {
  append_number(out, value.real());
  if (value.imag() >= 0 || std::isnan(value.imag())) out += '+';
  append_number(out, value.imag());
  out += 'j';
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\\\"; break;
      case '"': out += "\\\""; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
          out += c;
        } else {
          char buffer[8];
          std::snprintf(buffer, sizeof(buffer), "\\%03o", byte);
          out += buffer;
        }
      }
    }
  }
  out += '"';
}

using Formatter = bool (*)(void* context, std::string& out, const IValue& value);

// What a stream shows, or, with `repr`, an expression that gives the value. `formatter` may write values itself.
class Printer {
 public:
  Printer(std::string& out, bool repr, Formatter formatter = nullptr, void* context = nullptr)
      : out_(out), repr_(repr), formatter_(formatter), context_(context) {}

  void print(const IValue& value) {
    if (formatter_ != nullptr && formatter_(context_, out_, value)) return;
    switch (value.tag()) {
      case IValue::Tag::None: out_ += "None"; break;
      case IValue::Tag::Double: append_number(out_, value.toDouble()); break;
      case IValue::Tag::ComplexDouble: append_complex(out_, value.toComplexDouble()); break;
      case IValue::Tag::Int: out_ += std::to_string(value.toInt()); break;
      case IValue::Tag::UInt:
        out_ += std::to_string(value.toUInt());
        break;
      case IValue::Tag::Bool: out_ += value.toBool() ? "True" : "False"; break;
      case IValue::Tag::String:
        if (repr_) {
          append_quoted(out_, value.toStringView());
        } else {
          out_ += value.toStringView();
        }
        break;
      case IValue::Tag::Device:
        if (repr_) {
          append_quoted(out_, value.toDevice().str());
        } else {
          out_ += value.toDevice().str();
        }
        break;
      case IValue::Tag::Tuple: tuple(value.toTupleRef()); break;
      case IValue::Tag::GenericList: list(value); break;
      case IValue::Tag::GenericDict: dict(value); break;
      case IValue::Tag::Enum: enumerator(*value.toEnumHolder()); break;
      default: other(value);
    }
  }

 private:
  void elements(ArrayRef<IValue> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ", ";
      print(values[i]);
    }
  }
  void tuple(const ivalue::Tuple& tuple) {
    out_ += '(';
    elements(tuple.elementsArrayRef());
    out_ += tuple.size() == 1 ? ",)" : ")";
  }
  // An empty list or dict does not show what it could hold.
  bool annotated(const IValue& value, bool empty) {
    if (!repr_ || !empty) return false;
    out_ += "annotate(" + value.type()->annotation_str() + ", " + (value.isList() ? "[])" : "{})");
    return true;
  }
  void list(const IValue& value) {
    if (annotated(value, value.toListRef().empty())) return;
    out_ += '[';
    elements(value.toListRef());
    out_ += ']';
  }
  void dict(const IValue& value) {
    const auto dict = value.toGenericDict();
    if (annotated(value, dict.empty())) return;
    out_ += '{';
    bool first = true;
    for (const auto& entry : dict) {
      if (!first) out_ += ", ";
      first = false;
      print(entry.key());
      out_ += ": ";
      print(entry.value());
    }
    out_ += '}';
  }
  void enumerator(const ivalue::EnumHolder& value) {
    out_ += repr_ ? value.qualifiedClassName() + "." + value.name() : "Enum<" + value.qualifiedClassName() + "." + value.name() + ">";
  }
  void other(const IValue& value) {
    TORCH_CHECK(!repr_, "repr() not defined on: ", value.tag_name());
    switch (value.tag()) {
      case IValue::Tag::Tensor: out_ += at::to_string(value.toTensor()); break;
      case IValue::Tag::Stream: {
        const Stream stream = value.toStream();
        out_ += str("stream ", stream.id(), " on device ", stream.device());
        break;
      }
      case IValue::Tag::Object: {
        char address[32];
        std::snprintf(address, sizeof(address), "%p", value.internalToPointer());
        out_ += "<" + value.toObjectRef().name() + " object at " + address + ">";
        break;
      }
      default: out_ += value.tag_name();
    }
  }

  std::string& out_;
  bool repr_;
  Formatter formatter_;
  void* context_;
};

}  // namespace

void detail::append_value(std::string& out, const IValue& value) { Printer(out, /*repr=*/false).print(value); }

std::string IValue::repr() const {
  std::string out;
  Printer(out, /*repr=*/true).print(*this);
  return out;
}

void IValue::append_repr(std::string& out, Formatter formatter, void* context) const {
  Printer(out, /*repr=*/true, formatter, context).print(*this);
}

void IValue::dump() const {
  std::string text;
  detail::append_value(text, *this);
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace c10
