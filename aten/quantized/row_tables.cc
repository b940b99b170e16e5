#include "aten/quantized/row_tables.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/device_parts.h"
#include "c10/parallel/parallel.h"
#include "c10/util/half.h"

namespace at::quantized {
namespace {

// A row of a table.
struct Layout {
  Layout(int bits_, int64_t columns_) : bits(bits_), columns(columns_) {}

  int64_t each() const { return 8 / bits; }
  int64_t bytes() const { return (columns + each() - 1) / each(); }
  int64_t parameter() const { return bits == 8 ? sizeof(float) : sizeof(Half); }
  int64_t width() const { return bytes() + 2 * parameter(); }

  unsigned integer(const uint8_t* row, int64_t column) const {
    return row[column / each()] >> (column % each() * bits) & ((1u << bits) - 1);
  }
  void write(uint8_t* row, const unsigned* q, float scale, float least) const {
    std::fill_n(row, bytes(), uint8_t{0});
    for (int64_t i = 0; i < columns; ++i) {
      row[i / each()] = static_cast<uint8_t>(row[i / each()] | q[i] << (i % each() * bits));
    }
    store(row + bytes(), scale);
    store(row + bytes() + parameter(), least);
  }
  float scale(const uint8_t* row) const { return load(row + bytes()); }
  float least(const uint8_t* row) const { return load(row + bytes() + parameter()); }

  int bits;
  int64_t columns;

 private:
  void store(uint8_t* to, float value) const {
    if (bits == 8) {
      std::memcpy(to, &value, sizeof value);
    } else {
      const Half half(value);
      std::memcpy(to, &half, sizeof half);
    }
  }
  float load(const uint8_t* from) const {
    if (bits == 8) {
      float value;
      std::memcpy(&value, from, sizeof value);
      return value;
    }
    Half half;
    std::memcpy(&half, from, sizeof half);
    return static_cast<float>(half);
  }
};

constexpr int64_t kGrain = 16384;

int64_t grain_of(int64_t columns) {
  return 1 + kGrain / (columns + 1);
}

// The rows of a table, which may have dimensions before its last.
Layout layout_of(const char* op, const Tensor& table, int bits) {
  TORCH_CHECK(table.scalar_type() == kByte, op, ": expected a weight of dtype Byte, but got ", table.scalar_type());
  TORCH_CHECK(table.dim() >= 1, op, ": expected a weight with rows, but got one of no dimensions");
  const Layout none(bits, 0);
  const int64_t bytes = table.size(-1) - none.width();
  TORCH_CHECK(bytes >= 0, op, ": rows of ", table.size(-1), " bytes have no place for a scale and a least number");
  return Layout(bits, bytes * none.each());
}

int64_t rows_in(const Tensor& t) {
  int64_t rows = 1;
  for (int64_t d = 0; d + 1 < t.dim(); ++d) rows *= t.size(d);
  return rows;
}

DimVector with_last(const Tensor& t, int64_t last) {
  DimVector sizes(t.sizes().begin(), t.sizes().end());
  sizes.back() = last;
  return sizes;
}

void pack_row(const Layout& layout, const float* x, std::pair<float, float> ends, unsigned* q, uint8_t* row) {
  const auto most = static_cast<float>((1 << layout.bits) - 1);
  auto [least, greatest] = ends;
  float scale, inverse;
  if (layout.bits == 8) {
    const float range = greatest - least;
    scale = range / most;
    inverse = most / (range + 1e-8f);  // of rows whose numbers are equal, too
  } else {
    least = static_cast<float>(Half(least));
    scale = static_cast<float>(Half((greatest - least) / most));
    if (scale == 0) scale = 1;
    inverse = 1 / scale;
    if (std::isinf(inverse)) scale = inverse = 1;
  }
  for (int64_t i = 0; i < layout.columns; ++i) {
    const float whole = std::nearbyint((x[i] - least) * inverse);
    q[i] = !(whole > 0) ? 0 : static_cast<unsigned>(std::min(whole, most));
  }
  layout.write(row, q, scale, least);
}

template <class I>
void check_index(const char* op, I index, int64_t at, int64_t rows) {
  TORCH_CHECK(index >= 0 && index < rows, op, ": Index ", at, " is out of bounds: ", index, ", range 0 to ", rows);
}

Tensor checked_indices(const char* op, const char* name, const Tensor& indices) {
  TORCH_CHECK(indices.scalar_type() == kInt || indices.scalar_type() == kLong, op, ": Expect 32 or 64 bit ", name,
              ", but found ", indices.scalar_type(), " instead.");
  return native::dense(indices, kLong);
}

void check_matrix(const char* op, const Tensor& table) {
  TORCH_CHECK(table.dim() == 2, op, ": expected a weight of 2 dimensions, but got ", table.dim());
}

// out += weight * row
void add_row(const Layout& layout, const uint8_t* row, float weight, float* out) {
  const float scale = weight * layout.scale(row), least = weight * layout.least(row);
  if (layout.bits == 8) {
    for (int64_t i = 0; i < layout.columns; ++i) out[i] += scale * static_cast<float>(row[i]) + least;
  } else if (layout.bits == 4) {
    for (int64_t i = 0; i < layout.columns; i += 2) {
      const uint8_t both = row[i / 2];
      out[i] += scale * static_cast<float>(both & 15) + least;
      out[i + 1] += scale * static_cast<float>(both >> 4) + least;
    }
  } else {
    for (int64_t i = 0; i < layout.columns; ++i) out[i] += scale * static_cast<float>(layout.integer(row, i)) + least;
  }
}

// Whether bags are named by offsets, not by rows of indices.
bool has_offsets(const char* op, const Lookup& lookup) {
  const bool given = lookup.offsets.has_value() && lookup.offsets->defined();
  if (lookup.indices.dim() == 2) {
    TORCH_CHECK(!given, op,
                ": input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                "length sequences.");
    return false;
  }
  TORCH_CHECK(lookup.indices.dim() == 1, op, ": expected indices of 1 or 2 dimensions, but got ", lookup.indices.dim());
  TORCH_CHECK(given, op, ": expects offsets to be set for 1D indices.");
  TORCH_CHECK(lookup.offsets->dim() == 1, op, ": expected offsets of 1 dimension, but got ", lookup.offsets->dim());
  TORCH_CHECK(!lookup.last_offset || lookup.offsets->numel() > 0, op,
              ": include_last_offset: expected at least one offset");
  return true;
}

// Where the bags of `count` indices begin, and the end.
std::vector<int64_t> bounds_of(const char* op, const Lookup& lookup) {
  std::vector<int64_t> bounds;
  if (!has_offsets(op, lookup)) {
    for (int64_t bag = 0; bag <= lookup.indices.size(0); ++bag) bounds.push_back(bag * lookup.indices.size(1));
    return bounds;
  }
  const Tensor offsets = checked_indices(op, "offsets", *lookup.offsets);
  const int64_t count = lookup.indices.numel();
  bounds.assign(offsets.const_data_ptr<int64_t>(), offsets.const_data_ptr<int64_t>() + offsets.numel());
  if (!lookup.last_offset) bounds.push_back(count);
  int64_t before = 0;
  for (size_t i = 0; i < bounds.size(); ++i) {
    TORCH_CHECK(bounds[i] >= before && bounds[i] <= count && (i > 0 || bounds.size() == 1 || bounds[i] == 0), op,
                ": offsets must begin with 0, not decrease and lie within the ", count, " indices, but got ", bounds[i],
                " at ", i);
    before = bounds[i];
  }
  return bounds;
}

void check_device(const char* op, const Tensor& table, const char* name, const Tensor& t) {
  TORCH_CHECK(!t.defined() || t.device() == table.device(), op, ": Expected all tensors to be on the same device, but ",
              name, " are on ", t.device(), " and the weight on ", table.device());
}

// Sums of rows of a CUDA tensor.
Tensor sums_on_device(const char* op, const Tensor& table, int bits, int64_t columns, const Lookup& lookup,
                      const Tensor& indices, const Tensor& weights, const Tensor& mapping) {
  device::TableLookup on{.table = table, .bits = bits, .indices = indices, .weights = weights, .mapping = mapping};
  int64_t bags = indices.size(0);
  if (has_offsets(op, lookup)) {
    on.offsets = checked_indices(op, "offsets", *lookup.offsets);
    on.last_offset = lookup.last_offset;
    bags = on.offsets.numel() - (on.last_offset ? 1 : 0);
  } else {
    on.bag = indices.size(1);
  }
  check_device(op, table, "indices", indices);
  check_device(op, table, "offsets", on.offsets);
  check_device(op, table, "per_sample_weights", weights);
  check_device(op, table, "compressed_indices_mapping", mapping);
  const Tensor result = empty_contiguous({bags, columns}, kFloat, table.device());
  device::sums_of_rows(on, result);
  return result;
}

}  // namespace

Tensor pack_rows(const char* op, const Tensor& weight, int bits, const RowRange& range) {
  TORCH_CHECK(weight.scalar_type() == kFloat || weight.scalar_type() == kHalf, op,
              ": expected a weight of dtype Float or Half, but got ", weight.scalar_type());
  TORCH_CHECK(weight.dim() >= 1 && (bits == 8 || weight.dim() == 2), op, ": expected a weight of ",
              bits == 8 ? "at least 1 dimension" : "2 dimensions", ", but got ", weight.dim());
  const Layout layout(bits, weight.size(-1));
  TORCH_CHECK(layout.columns % layout.each() == 0, op, ": only works for the number of columns a multiple of ",
              layout.each(), ", but got ", layout.columns);
  const Tensor x = native::dense(weight, kFloat);
  const int64_t rows = rows_in(x), columns = layout.columns, width = layout.width();
  Tensor given;
  if (range.least_most.has_value()) {
    TORCH_CHECK(range.least_most->dim() == 2 && range.least_most->size(0) == rows && range.least_most->size(1) == 2, op,
                ": 'rowwise_min_max' must be a 2D tensor with shape [num_rows(weight), 2], but its size is ",
                range.least_most->sizes());
    TORCH_CHECK(range.least_most->is_floating_point(), op,
                ": expected rowwise_min_max of a floating-point dtype, but got ", range.least_most->scalar_type());
    given = native::dense(*range.least_most, kFloat);
  }
  std::vector<float> chosen;  // least and most of each row
  if (range.optimized && columns > 0) {
    for (int64_t r = 0; r < rows; ++r) {
      const auto [most, least] = at::choose_qparams_optimized(at::select(at::reshape(x, {rows, columns}), 0, r),
                                                              columns, range.bins, range.ratio, bits);
      chosen.push_back(at::item(least).toFloat());
      chosen.push_back(at::item(most).toFloat());
    }
  }
  if (!weight.is_cpu()) {
    if (!chosen.empty()) {
      const Tensor ends = empty_contiguous({rows, 2}, kFloat);
      std::copy(chosen.begin(), chosen.end(), ends.data_ptr<float>());
      given = at::to(ends, weight.device());
    }
    const Tensor table = device::pack_rows(at::reshape(x, {rows, columns}), given, bits);
    return fresh(at::reshape(table, with_last(weight, width)));
  }
  const Tensor result = empty_contiguous(with_last(weight, width), kByte);
  const float* const numbers = x.const_data_ptr<float>();
  const float* const limits = given.defined()  ? given.const_data_ptr<float>()
                              : chosen.empty() ? nullptr
                                               : chosen.data();
  auto* const out = result.data_ptr<uint8_t>();
  at::parallel_for(0, rows, grain_of(columns), [&](int64_t begin, int64_t end) {
    std::vector<unsigned> q(static_cast<size_t>(columns));
    for (int64_t r = begin; r < end; ++r) {
      const float* const row = numbers + r * columns;
      std::pair<float, float> ends{0, 0};
      if (limits != nullptr) {
        ends = {limits[2 * r], limits[2 * r + 1]};
      } else if (columns > 0) {
        ends = {*std::min_element(row, row + columns), *std::max_element(row, row + columns)};
      }
      pack_row(layout, row, ends, q.data(), out + r * width);
    }
  });
  return fresh(result);
}

Tensor unpack_rows(const char* op, const Tensor& table, int bits) {
  const Layout layout = layout_of(op, table, bits);
  TORCH_CHECK(bits == 8 || table.dim() == 2, op, ": expected a weight of 2 dimensions, but got ", table.dim());
  const Tensor from = native::dense(table),
               result = empty_contiguous(with_last(table, layout.columns), kFloat, table.device());
  if (!table.is_cpu()) {
    device::sums_of_rows({.table = from, .bits = bits}, result);
    return fresh(result);
  }
  const auto* const in = from.const_data_ptr<uint8_t>();
  auto* const out = result.data_ptr<float>();
  at::parallel_for(0, rows_in(from), grain_of(layout.columns), [&](int64_t begin, int64_t end) {
    std::fill(out + begin * layout.columns, out + end * layout.columns, 0.0f);
    for (int64_t r = begin; r < end; ++r) add_row(layout, in + r * layout.width(), 1, out + r * layout.columns);
  });
  return fresh(result);
}

Tensor pack_integers(const Tensor& integers, const Tensor& scales, const Tensor& zero_points, int bits) {
  const Layout layout(bits, integers.size(1));
  const Tensor q = native::dense(integers), scale = native::dense(scales, kFloat),
               zero = native::dense(zero_points, kFloat);
  if (!q.is_cpu()) return fresh(device::make_table(q, scale, at::mul(at::neg(zero), scale), bits));
  const Tensor result = empty_contiguous({q.size(0), layout.width()}, kByte);
  const auto* const in = q.const_data_ptr<uint8_t>();
  auto* const out = result.data_ptr<uint8_t>();
  at::parallel_for(0, q.size(0), grain_of(layout.columns), [&](int64_t begin, int64_t end) {
    std::vector<unsigned> row(static_cast<size_t>(layout.columns));
    for (int64_t r = begin; r < end; ++r) {
      std::copy_n(in + r * layout.columns, layout.columns, row.begin());
      const float step = scale.const_data_ptr<float>()[r];
      layout.write(out + r * layout.width(), row.data(), step, -zero.const_data_ptr<float>()[r] * step);
    }
  });
  return fresh(result);
}

Tensor unpack_integers(const Tensor& table, int64_t columns, int bits) {
  if (!table.is_cpu()) return fresh(device::table_integers(table, columns, bits));
  const Layout layout(bits, columns);
  const Tensor from = native::dense(table), result = empty_contiguous({table.size(0), columns}, kByte);
  for (int64_t r = 0; r < table.size(0); ++r) {
    const uint8_t* const row = from.const_data_ptr<uint8_t>() + r * layout.width();
    for (int64_t i = 0; i < columns; ++i) {
      result.data_ptr<uint8_t>()[r * columns + i] = static_cast<uint8_t>(layout.integer(row, i));
    }
  }
  return fresh(result);
}

Tensor rows_of(const char* op, const Tensor& table, int bits, const Tensor& indices) {
  check_matrix(op, table);
  const Layout layout = layout_of(op, table, bits);
  const Tensor from = native::dense(table), index = checked_indices(op, "indices", indices);
  DimVector sizes(indices.sizes().begin(), indices.sizes().end());
  sizes.push_back(layout.columns);
  const Tensor result = empty_contiguous(sizes, kFloat, table.device());
  if (!table.is_cpu()) {
    check_device(op, table, "indices", index);
    device::sums_of_rows({.table = from, .bits = bits, .indices = index}, result);
    return fresh(result);
  }
  const int64_t* const at = index.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < index.numel(); ++i) check_index(op, at[i], i, table.size(0));
  const auto* const in = from.const_data_ptr<uint8_t>();
  auto* const out = result.data_ptr<float>();
  at::parallel_for(0, index.numel(), grain_of(layout.columns), [&](int64_t begin, int64_t end) {
    std::fill(out + begin * layout.columns, out + end * layout.columns, 0.0f);
    for (int64_t i = begin; i < end; ++i) add_row(layout, in + at[i] * layout.width(), 1, out + i * layout.columns);
  });
  return fresh(result);
}

Tensor sums_of_rows(const char* op, const Tensor& table, int bits, const Lookup& lookup) {
  check_matrix(op, table);
  const Layout layout = layout_of(op, table, bits);
  const Tensor from = native::dense(table), index = checked_indices(op, "indices", lookup.indices);
  const int64_t count = index.numel();
  Tensor weights, mapping;
  if (lookup.weights.has_value() && lookup.weights->defined()) {
    TORCH_CHECK(lookup.weights->is_floating_point(), op,
                ": expected per_sample_weights of a floating-point dtype, but got ", lookup.weights->scalar_type());
    TORCH_CHECK(lookup.weights->numel() == count, op, ": expected per_sample_weights of as many elements as indices, ",
                count, ", but got ", lookup.weights->numel());
    weights = native::dense(*lookup.weights, kFloat);
  }
  if (lookup.mapping.has_value() && lookup.mapping->defined()) {
    TORCH_CHECK(lookup.mapping->scalar_type() == kInt, op,
                ": expected compressed_indices_mapping of dtype Int, but got ", lookup.mapping->scalar_type());
    mapping = native::dense(*lookup.mapping);
  }
  if (!table.is_cpu()) return fresh(sums_on_device(op, from, bits, layout.columns, lookup, index, weights, mapping));
  const std::vector<int64_t> bounds = bounds_of(op, lookup);
  const int64_t bags = static_cast<int64_t>(bounds.size()) - 1;
  const int64_t* const at = index.const_data_ptr<int64_t>();
  if (mapping.defined() && mapping.numel() == 1 && *mapping.const_data_ptr<int32_t>() == 0) mapping = Tensor();
  // Rows, -1 for none.
  std::vector<int64_t> rows(at, at + count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t& row = rows[static_cast<size_t>(i)];
    if (mapping.defined()) {
      check_index(op, row, i, mapping.numel());
      row = mapping.const_data_ptr<int32_t>()[row];
      if (row == -1) continue;
    }
    check_index(op, row, i, table.size(0));
  }
  const Tensor result = empty_contiguous({bags, layout.columns}, kFloat);
  const auto* const in = from.const_data_ptr<uint8_t>();
  auto* const out = result.data_ptr<float>();
  const float* const factors = weights.defined() ? weights.const_data_ptr<float>() : nullptr;
  const int64_t mean_length = 1 + count / std::max<int64_t>(bags, 1);
  at::parallel_for(0, bags, grain_of(layout.columns * mean_length), [&](int64_t begin, int64_t end) {
    for (int64_t bag = begin; bag < end; ++bag) {
      float* const sum = out + bag * layout.columns;
      std::fill_n(sum, layout.columns, 0.0f);
      for (int64_t i = bounds[static_cast<size_t>(bag)]; i < bounds[static_cast<size_t>(bag) + 1]; ++i) {
        const int64_t row = rows[static_cast<size_t>(i)];
        if (row >= 0) add_row(layout, in + row * layout.width(), factors != nullptr ? factors[i] : 1, sum);
      }
    }
  });
  return fresh(result);
}

}  // namespace at::quantized
