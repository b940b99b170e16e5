#include "utils/pickle/sparse.h"

#include <algorithm>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/sparse/compressed_tensor_impl.h"
#include "aten/sparse/sparse_tensor_impl.h"
#include "c10/core/grad_mode.h"
#include "c10/util/safe_numerics.h"
#include "utils/pickle/names.h"

namespace torch::pickle {
namespace {

using c10::IntArrayRef;
using c10::ScalarType;

class Checked {
 public:
  Checked(const Tree& tree, NodeId at, IntArrayRef sizes) : tree_(tree), at_(at), sizes_(sizes) {}

  at::Tensor coordinates(const at::Tensor& indices, const at::Tensor& values, std::optional<bool> coalesced) const;
  at::Tensor compressed(c10::Layout layout, const at::Tensor& compressed, const at::Tensor& plain,
                        const at::Tensor& values) const;
  void check_part(const at::Tensor& part) const;
  void check_sizes() const;

 private:
  [[noreturn]] void fail(const std::string& what) const { tree_.fail(at_, "a sparse tensor of which " + what); }
  void need(bool ok, const char* what) const {
    if (!ok) fail(what);
  }
  static at::Tensor longs(const at::Tensor& indices);

  const Tree& tree_;
  NodeId at_;
  IntArrayRef sizes_;
};

at::Tensor Checked::longs(const at::Tensor& indices) {
  const c10::NoGradGuard no_grad;
  at::Tensor out = at::empty_contiguous(indices.sizes(), ScalarType::Long);
  at::copy_(out, indices);
  return out;
}

void Checked::check_part(const at::Tensor& part) const {
  need(part.layout() == c10::Layout::Strided && !part.is_quantized() && !part.is_nested(), "a part is no dense tensor");
  if (!part.device().is_cpu()) tree_.unsupported(at_, "sparse tensors on other devices than the CPU");
  if (part.nbytes() / 4 > part.storage().nbytes())
    tree_.unsupported(at_, "a sparse tensor of which a part is larger than its storage");
}

void Checked::check_sizes() const {
  need(std::all_of(sizes_.begin(), sizes_.end(), [](int64_t n) { return n >= 0; }), "a size is negative");
  need(sizes_.size() <= static_cast<size_t>(c10::TensorImpl::kMaxDims), "the dimensions are too many");
  // A size of 0 counts as 1, as in every tensor.
  int64_t places = 1;
  bool overflow = false;
  for (const int64_t n : sizes_) overflow |= c10::mul_overflows(places, std::max<int64_t>(n, 1), &places);
  if (overflow) tree_.unsupported(at_, "a sparse tensor of more places than int64 counts");
}

at::Tensor Checked::coordinates(const at::Tensor& indices, const at::Tensor& values,
                                std::optional<bool> coalesced) const {
  need(indices.scalar_type() == ScalarType::Long && indices.dim() == 2, "the indices are no matrix of int64");
  need(values.dim() > 0 && values.size(0) == indices.size(1), "indices and values are not equally many");
  const int64_t dims = indices.size(0), nnz = indices.size(1);
  need(dims <= static_cast<int64_t>(sizes_.size()) && values.sizes().slice(1) == sizes_.slice(static_cast<size_t>(dims)),
       "indices and values do not have its dimensions");
  const bool in_order = coalesced.value_or(nnz < 2);
  need(!in_order || dims > 0 || nnz < 2, "an index comes twice in what is said to be coalesced");
  const at::Tensor numbers = longs(indices);
  const int64_t* const data = numbers.const_data_ptr<int64_t>();
  for (int64_t i = 0; dims > 0 && i < nnz; ++i) {
    bool after = i == 0, before = false;
    for (int64_t d = 0; d < dims; ++d) {
      const int64_t index = data[d * nnz + i];
      if (index < 0 || index >= sizes_[static_cast<size_t>(d)]) {
        fail(c10::str("dimension ", d, " has size ", sizes_[static_cast<size_t>(d)], " and an index ", index));
      }
      if (after || before) continue;
      after = index > data[d * nnz + i - 1];
      before = index < data[d * nnz + i - 1];
    }
    need(after || !in_order, "indices are not in order, or come twice, in what is said to be coalesced");
  }
  return at::sparse::make_sparse(sizes_, indices, values, in_order);
}

at::Tensor Checked::compressed(c10::Layout layout, const at::Tensor& compressed, const at::Tensor& plain,
                               const at::Tensor& values) const {
  const ScalarType dtype = plain.scalar_type();
  need((dtype == ScalarType::Long || dtype == ScalarType::Int) && compressed.scalar_type() == dtype,
       "the indices are neither int32 nor int64");
  const bool blocked = at::SparseCsrTensorImpl::is_blocked(layout);
  need(plain.dim() > 0 && compressed.dim() == plain.dim(), "the indices differ in dimensions");
  const auto batch = static_cast<size_t>(plain.dim() - 1);
  need(sizes_.size() >= batch + 2 && static_cast<size_t>(values.dim()) == sizes_.size() - 1 + (blocked ? 2 : 0),
       "indices and values do not have its dimensions");
  const IntArrayRef batches = sizes_.slice(0, batch);
  need(plain.sizes().slice(0, batch) == batches && compressed.sizes().slice(0, batch) == batches &&
           values.sizes().slice(0, batch) == batches,
       "the batches differ in size");
  const int64_t nnz = plain.size(-1), bounds = compressed.size(-1);
  need(values.size(static_cast<int64_t>(batch)) == nnz, "indices and values are not equally many");
  need(values.sizes().slice(batch + (blocked ? 3 : 1)) == sizes_.slice(batch + 2), "the values differ in size");
  // Rows and columns, of blocks where there are such.
  std::array<int64_t, 2> places = {sizes_[batch], sizes_[batch + 1]};
  for (size_t k = 0; blocked && k < 2; ++k) {
    const int64_t block = values.sizes()[batch + 1 + k];
    need(block > 0 && places[k] % block == 0, "rows and columns are no multiples of the blocks'");
    places[k] /= block;
  }
  if (!at::sparse::by_rows(layout)) std::swap(places[0], places[1]);
  need(bounds > 0 && bounds - 1 == places[0], "the compressed indices are not one more than its rows or columns");
  const at::Tensor begins = longs(compressed), indices = longs(plain);
  const int64_t* begin = begins.const_data_ptr<int64_t>();
  const int64_t* index = indices.const_data_ptr<int64_t>();
  for (int64_t left = begins.numel() / bounds; left > 0; --left, begin += bounds, index += nnz) {
    need(begin[0] == 0 && begin[bounds - 1] == nnz, "the compressed indices do not go from 0 to the number of values");
    for (int64_t r = 0; r + 1 < bounds; ++r) {
      need(begin[r] <= begin[r + 1] && begin[r + 1] <= nnz, "the compressed indices decrease");
      for (int64_t i = begin[r]; i < begin[r + 1]; ++i) {
        if (index[i] < 0 || index[i] >= places[1])
          fail(c10::str("a row or column has ", places[1], " places and an index ", index[i]));
        need(i == begin[r] || index[i - 1] < index[i], "the indices of a row or column are not in order, each once");
      }
    }
  }
  return at::sparse::make_compressed(layout, sizes_, compressed, plain, values);
}

}  // namespace

at::Tensor sparse_tensor(const Tree& tree, NodeId at, c10::Layout layout, const std::vector<at::Tensor>& parts,
                         const std::vector<int64_t>& sizes, std::optional<bool> coalesced) {
  const Checked checked(tree, at, sizes);
  checked.check_sizes();
  for (const at::Tensor& part : parts) checked.check_part(part);
  if (layout == c10::Layout::Sparse && parts.size() == 2) return checked.coordinates(parts[0], parts[1], coalesced);
  if (at::sparse::is_compressed(layout) && parts.size() == 3 && !coalesced.has_value())
    return checked.compressed(layout, parts[0], parts[1], parts[2]);
  tree.fail(at, c10::str("a sparse tensor of layout ", name_of_layout(layout), " of ", parts.size(), " parts"));
}

}  // namespace torch::pickle
