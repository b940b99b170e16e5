#include "aten/core/printing.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "aten/core/empty.h"
#include "aten/nested/nested_tensor_impl.h"
#include "aten/ops/copy/ops.h"
#include "aten/quantized/quantized_tensor_impl.h"
#include "aten/sparse/compressed_tensor_impl.h"
#include "aten/sparse/sparse_tensor_impl.h"

namespace at {
namespace {

// The elements of one printed block as doubles: of complex ones, the real parts.
struct Block {
  const double* values;
  int64_t row_stride;
  int64_t col_stride;
  int digits;  // of an integral value
};

struct Format {
  double scale = 1;
  int width = 0;
  int precision = 0;
  char style = 'g';  // 'g': integral values, 'f': fixed, 'e': scientific
};

// How the finite ones of `count` numbers print: by the decimal exponents of the largest and the smallest magnitude. `digits`:
// how many an integral value shows before it turns to an exponent.
template <class At>
Format choose_format(int64_t count, int digits, const At& at) {
  bool integral = true;
  double least = INFINITY;
  double most = 0;
  bool any = false;
  for (int64_t i = 0; i < count; ++i) {
    const double magnitude = std::fabs(at(i));
    if (!std::isfinite(magnitude)) continue;
    any = true;
    integral &= magnitude == std::ceil(magnitude);
    least = std::min(least, magnitude);
    most = std::max(most, magnitude);
  }
  auto exponent = [](double magnitude) {
    return magnitude == 0 ? 1 : static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  };
  const int low = any ? exponent(least) : 1;
  const int high = any ? exponent(most) : 1;
  if (integral) {
    return high > 9 ? Format{1, 11, 4, 'e'} : Format{1, high + 1, digits, 'g'};
  }
  if (high - low > 4) {
    return Format{1, std::abs(high) > 99 || std::abs(low) > 99 ? 12 : 11, 4, 'e'};
  }
  if (high > 5 || high < 0) return Format{std::pow(10.0, high - 1), 7, 4, 'f'};
  return Format{1, high == 0 ? 7 : high + 6, 4, 'f'};
}

void append_element(std::string& out, const Block& block, int64_t offset, const Format& format) {
  char text[400];
  const double value = block.values[offset] / format.scale;
  const int width = format.width;
  if (format.style == 'e') {
    std::snprintf(text, sizeof(text), "%*.*e", width, format.precision, value);
  } else if (format.style == 'f') {
    std::snprintf(text, sizeof(text), "%*.*f", width, format.precision, value);
  } else {
    std::snprintf(text, sizeof(text), "%*.*g", width, format.precision, value);
  }
  out += text;
}

// A number that stands alone, whatever the stream's precision: the fewest digits that read back as the same double, and an
// exponent below 10^-4 or from 10^16 on.
std::string floating_text(double value) {
  char text[40] = {};
  char* end = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific).ptr;
  const char* exponent = std::find(text, end, 'e');
  if (exponent != end) {
    const int power = std::atoi(exponent + 1);
    if (power >= -4 && power < 16) end = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed).ptr;
  }
  return std::string(text, end);
}

void append_scale(std::string& out, const Format& format) {
  if (format.scale != 1) out += floating_text(format.scale) + " *\n";
}

Format format_of(const Block& block, int64_t rows, int64_t cols) {
  return choose_format(rows * cols, block.digits, [&](int64_t i) {
    return block.values[i / cols * block.row_stride + i % cols * block.col_stride];
  });
}

void append_matrix(std::string& out, const Block& block, int64_t rows, int64_t cols, int64_t line_size, int indent) {
  const Format format = format_of(block, rows, cols);
  const int64_t cell = format.width + 1;
  const int64_t fit = std::max<int64_t>((line_size - indent) / cell, 1);
  const std::string margin(indent, ' ');
  for (int64_t first = 0; first < cols; first += fit) {
    const int64_t last = std::min(first + fit, cols);
    if (fit < cols) {
      if (first != 0) out += '\n';
      out += str("Columns ", first + 1, " to ", last, margin);
    }
    append_scale(out, format);
    for (int64_t r = 0; r < rows; ++r) {
      // As PyTorch prints them: the first row of a slice stands one column before the others, also that of a matrix below
      // a scale, which moves the rows of a slice by one.
      if (format.scale != 1) {
        out += margin;
        if (r > 0) out += ' ';
      } else if (r > 0) {
        out += margin;
      }
      for (int64_t c = first; c < last; ++c) {
        if (c != first) out += ' ';
        append_element(out, block, r * block.row_stride + c * block.col_stride, format);
      }
      out += '\n';
    }
  }
}

// The number of a 0-dim tensor of integers or bools, which a double may not hold.
std::string integer_text(const Tensor& tensor) {
  if (tensor.scalar_type() == ScalarType::UInt64) {
    const Scalar value = at::item(tensor);
    if (value.type() == ScalarType::UInt64) return str(value);
  }
  Tensor value = empty_contiguous({}, ScalarType::Long);
  at::copy_(value, tensor);
  return str(*static_cast<const int64_t*>(value.data_ptr()));
}

// A contiguous copy of `from` as doubles.
Tensor doubles_of(const Tensor& from) {
  Tensor copy = empty_contiguous(from.sizes(), ScalarType::Double);
  AutoDispatchBelowAutograd below;
  at::copy_(copy, from);
  return copy;
}

// The numbers that a quantized tensor stands for.
Tensor numbers_of(const Tensor& tensor) {
  const Quantizer& quantizer = quantized::impl_of("to_string", tensor).quantizer();
  const Tensor numbers = doubles_of(quantized::integers("to_string", tensor));
  double* const values = static_cast<double*>(numbers.data_ptr());
  const auto set = [&](int64_t i, double scale, double zero_point) {
    values[i] = static_cast<float>(values[i] - zero_point) * static_cast<float>(scale);
  };
  if (quantizer.per_tensor()) {
    for (int64_t i = 0; i < tensor.numel(); ++i) set(i, quantizer.scale, static_cast<double>(quantizer.zero_point));
    return numbers;
  }
  TORCH_CHECK(quantizer.axis >= 0 && quantizer.axis < tensor.dim(), "to_string: the channels of a quantized tensor are "
              "those of dimension ", quantizer.axis, ", which it does not have");
  const Tensor scales = doubles_of(quantizer.scales), zeros = doubles_of(quantizer.zero_points);
  int64_t inner = 1;
  for (int64_t d = quantizer.axis + 1; d < tensor.dim(); ++d) inner *= tensor.size(d);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const int64_t channel = i / inner % scales.numel();
    set(i, static_cast<const double*>(scales.data_ptr())[channel],
        static_cast<const double*>(zeros.data_ptr())[channel]);
  }
  return numbers;
}

std::string quantizer_text(const Tensor& tensor, int64_t line_size) {
  const Quantizer& quantizer = quantized::impl_of("to_string", tensor).quantizer();
  if (quantizer.per_tensor()) {
    return str(", qscheme: per_tensor_affine, scale: ", quantizer.scale, ", zero_point: ", quantizer.zero_point);
  }
  const char* const name =
      quantizer.scheme == kPerChannelAffine ? "per_channel_affine" : "per_channel_affine_float_qparams";
  return str(", qscheme: ", name, ", scales: ", to_string(quantizer.scales, line_size), ", zero_points: ",
             to_string(quantizer.zero_points, line_size), ", axis: ", quantizer.axis);
}

}  // namespace

std::string to_string(const Tensor& tensor, int64_t line_size) {
  if (!tensor.defined()) return "[ Tensor (undefined) ]";
  if (tensor.layout() == Layout::Sparse) {
    const SparseTensorImpl& impl = sparse::impl_of("to_string", tensor);
    return str("[ ", tensor.toString(), "{}\nindices:\n", to_string(impl.indices(), line_size), "\nvalues:\n",
               to_string(impl.values(), line_size), "\nsize:\n", tensor.sizes(), "\n]");
  }
  if (sparse::is_compressed(tensor)) {
    const SparseCsrTensorImpl& impl = sparse::compressed_impl_of("to_string", tensor);
    const bool rows = sparse::by_rows(tensor.layout());
    return str("[ ", tensor.toString(), "{}\n", rows ? "crow_indices:\n" : "ccol_indices:\n",
               to_string(impl.compressed(), line_size), rows ? "\ncol_indices:\n" : "\nrow_indices:\n",
               to_string(impl.plain(), line_size), "\nvalues:\n", to_string(impl.values(), line_size), "\nsize:\n",
               tensor.sizes(), "\n]");
  }
  if (tensor.is_nested()) {
    std::string parts;
    for (const Tensor& part : nested::impl_of("to_string", tensor).parts()) {
      parts += (parts.empty() ? "" : ",\n") + to_string(part, line_size);
    }
    return "nested_tensor([\n" + parts + "\n])";
  }
  std::string out;
  std::string kind = str("[ ", tensor.toString(), "{");
  for (int64_t d = 0; d < tensor.dim(); ++d) kind += str(d == 0 ? "" : ",", tensor.size(d));
  kind += "}";
  if (tensor.is_quantized()) kind += quantizer_text(tensor, line_size);
  kind += " ]";
  if (tensor.numel() == 0 || tensor.is_meta()) return kind;

  // A contiguous copy in double precision. As libtorch's stream does, unlike Python's text, it shows of a complex number the
  // real part alone, and the copy warns of it.
  const Tensor copy = tensor.is_quantized() ? numbers_of(tensor) : doubles_of(tensor);
  const double* values = static_cast<const double*>(copy.data_ptr());
  const int64_t rank = tensor.dim();
  // Integers print all of theirs.
  const int digits = isIntegralType(tensor.scalar_type(), /*includeBool=*/true) ? 9 : 6;
  auto block_at = [&](int64_t offset, int64_t row_stride) {
    return Block{values + offset, row_stride, 1, digits};
  };
  if (rank == 0) {
    out += digits > 6 ? integer_text(tensor) : floating_text(values[0]);
    out += '\n';
  } else if (rank == 1) {
    const Block block = block_at(0, 1);
    const Format format = format_of(block, tensor.size(0), 1);
    append_scale(out, format);
    for (int64_t i = 0; i < tensor.size(0); ++i) {
      append_element(out, block, i, format);
      out += '\n';
    }
  } else {
    const int64_t rows = tensor.size(-2);
    const int64_t cols = tensor.size(-1);
    if (rank == 2) {
      append_matrix(out, block_at(0, cols), rows, cols, line_size, 0);
    } else {
      // The first index runs fastest.
      DimVector slice(rank - 2);
      const int64_t slices = tensor.numel() / (rows * cols);
      for (int64_t s = 0; s < slices; ++s) {
        if (s != 0) out += '\n';
        out += '(';
        int64_t offset = 0;
        for (int64_t d = 0; d < rank - 2; ++d) {
          out += str(slice[d] + 1, ",");
          offset = offset * tensor.size(d) + slice[d];
        }
        out += ".,.) = \n";
        append_matrix(out, block_at(offset * rows * cols, cols), rows, cols, line_size, 1);
        for (int64_t d = 0; d < rank - 2 && ++slice[d] == tensor.size(d); ++d) slice[d] = 0;
      }
    }
  }
  return out + kind;
}

std::ostream& print(std::ostream& stream, const Tensor& tensor, int64_t line_size) {
  return stream << to_string(tensor, line_size);
}

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor) {
  return print(stream, tensor, 80);
}

void print(const Tensor& tensor, int64_t linesize) {
  print(std::cout, tensor, linesize);
}

void Tensor::print() const {
  const std::string text = defined() ? str("[", toString(), " ", sizes(), "]") : std::string("[UndefinedTensor]");
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace at
