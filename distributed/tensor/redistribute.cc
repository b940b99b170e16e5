#include "distributed/tensor/redistribute.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::distributed::tensor {
namespace {

using at::Tensor;
using c10d::ReduceOp;

thread_local CommDebugMode* innermost_mode = nullptr;

// One rank's way from one list of placements to another. `current_` is true of `local_` between any two steps.
class Path {
 public:
  Path(Tensor local, const Spec& from, std::vector<Placement> to)
      : mesh_(from.mesh()),
        sizes_(from.sizes()),
        coordinate_(*mesh_.get_coordinate()),
        current_(from.placements()),
        to_(std::move(to)),
        local_(std::move(local)) {}

  Tensor run() {
    find_direct();
    const size_t n = current_.size();
    for (size_t i = n; i-- > 0;) {
      if (cut_again_[i] || (is_cut(current_[i]) && changes(i) && !leaves_directly_[i])) gather(i);
    }
    for (size_t i = 0; i < n; ++i) {
      if (current_[i].is_replicate() && to_[i].is_shard() && enters_directly_[i]) cut(i);
    }
    for (size_t i = 0; i < n; ++i) {
      if (!current_[i].is_partial() || !changes(i)) continue;
      TORCH_CHECK(!to_[i].is_partial(), "DTensor: cannot redistribute from ", current_[i].str(), " to ", to_[i].str());
      if (to_[i].is_shard() && enters_directly_[i]) {
        reduce_scatter(i);
      } else {
        all_reduce(i);
      }
    }
    for (size_t i = n; i-- > 0;) {
      if (!is_cut(current_[i]) || !changes(i)) continue;
      if (to_[i].is_shard() && enters_directly_[i]) {
        all_to_all(i);
      } else {
        gather(i);
      }
    }
    for (size_t i = 0; i < n; ++i) {
      if (is_cut(to_[i]) && changes(i)) cut(i);
    }
    for (size_t i = 0; i < n; ++i) {
      if (to_[i].is_partial() && changes(i)) make_partial(i);
    }
    return local_;
  }

 private:
  static bool is_cut(const Placement& placement) { return placement.is_shard() || placement.is_strided_shard(); }
  bool changes(size_t i) const { return current_[i] != to_[i]; }
  int64_t parts(size_t i) const { return mesh_.shape()[i]; }
  const DeviceMesh::Group& group(size_t i) const { return mesh_.get_group(static_cast<int64_t>(i)); }

  // Of each dimension of the mesh, whether its part may leave a dimension of the tensor, or enter one, in a step of its
  // own. Where several dimensions of the mesh share one of the tensor, the order of the cuts counts: what lies behind
  // the common beginning of the two orders is made whole from the last to the first, and cut again from the first to
  // the last.
  void find_direct() {
    leaves_directly_.assign(current_.size(), false);
    enters_directly_.assign(current_.size(), false);
    cut_again_.assign(current_.size(), false);
    for (size_t d = 0; d < sizes_.size(); ++d) {
      std::vector<size_t> before = cuts_of(current_, d), after = cuts_of(to_, d);
      while (!before.empty() && !after.empty() && before[0] == after[0] && current_[before[0]] == to_[before[0]]) {
        before.erase(before.begin());
        after.erase(after.begin());
      }
      if (before.size() == 1 && after.empty()) leaves_directly_[before[0]] = current_[before[0]].is_shard();
      if (after.size() == 1 && before.empty()) enters_directly_[after[0]] = true;
      // A part that stays as it is, but lies within, or around, others that do not.
      for (const size_t i : before) {
        if (std::find(after.begin(), after.end(), i) != after.end() && !changes(i)) cut_again_[i] = true;
      }
    }
  }

  static std::vector<size_t> cuts_of(const std::vector<Placement>& placements, size_t d) {
    std::vector<size_t> cuts;
    for (size_t i = 0; i < placements.size(); ++i) {
      if (is_cut(placements[i]) && placements[i].dim() == static_cast<int64_t>(d)) cuts.push_back(i);
    }
    return cuts;
  }

  // The sizes that the ranks along dimension i of the mesh share, were theirs whole.
  std::vector<int64_t> whole_sizes(size_t i) const {
    std::vector<Placement> others = current_;
    others[i] = Replicate();
    return sizes_at(mesh_, others, sizes_, coordinate_);
  }

  static Tensor padded(const Tensor& t, int64_t dim, int64_t size) {
    if (t.size(dim) == size) return t.contiguous();
    std::vector<int64_t> sizes = t.sizes().vec();
    sizes[static_cast<size_t>(dim)] = size;
    Tensor result = at::zeros(sizes, t.options());
    at::narrow(result, dim, 0, t.size(dim)).copy_(t);
    return result;
  }

  // One tensor of each rank along dimension i, of the same sizes.
  Tensor gathered(size_t i, const Tensor& mine) {
    count_collective("all_gather");
    std::vector<int64_t> sizes = mine.sizes().vec();
    sizes.insert(sizes.begin(), parts(i));
    Tensor input = mine, output = at::empty(sizes, mine.options());
    group(i)->_allgather_base(output, input)->wait();
    return output;
  }

  void gather(size_t i) {
    const Placement placement = current_[i];
    const int64_t d = placement.dim(), n = whole_sizes(i)[static_cast<size_t>(d)], pieces = placement.split_factor();
    const auto part = [&](int64_t q) {
      int64_t size = 0;
      for (int64_t k = 0; k < pieces; ++k) size += piece_of(piece_of(n, pieces, k).size, parts(i), q).size;
      return size;
    };
    int64_t largest = 0;
    for (int64_t q = 0; q < parts(i); ++q) largest = std::max(largest, part(q));
    const Tensor all = gathered(i, padded(local_, d, largest));
    if (d == 0 && pieces == 1 && largest * parts(i) == n) {
      std::vector<int64_t> sizes = local_.sizes().vec();
      sizes[0] = n;
      local_ = at::view(all, sizes);
    } else {
      std::vector<Tensor> in_order;
      std::vector<int64_t> taken(static_cast<size_t>(parts(i)), 0);
      for (int64_t k = 0; k < pieces; ++k) {
        for (int64_t q = 0; q < parts(i); ++q) {
          const int64_t size = piece_of(piece_of(n, pieces, k).size, parts(i), q).size;
          int64_t& begin = taken[static_cast<size_t>(q)];
          in_order.push_back(at::narrow(at::select(all, 0, q), d, begin, size));
          begin += size;
        }
      }
      local_ = at::cat(in_order, d);
    }
    current_[i] = Replicate();
  }

  void all_reduce(size_t i) {
    count_collective("all_reduce");
    c10d::AllreduceOptions options;
    options.reduceOp = current_[i].reduce_op();
    std::vector<Tensor> tensors{at::clone(local_, at::MemoryFormat::Contiguous)};
    group(i)->allreduce(tensors, options)->wait();
    local_ = tensors[0];
    current_[i] = Replicate();
  }

  void reduce_scatter(size_t i) {
    count_collective("reduce_scatter");
    const int64_t d = to_[i].dim(), n = local_.size(d), chunk = piece_of(n, parts(i), 0).size;
    std::vector<Tensor> chunks;
    for (int64_t q = 0; q < parts(i); ++q) {
      const Piece piece = piece_of(n, parts(i), q);
      chunks.push_back(padded(at::narrow(local_, d, piece.offset, piece.size), d, chunk));
    }
    Tensor input = at::stack(chunks), output = at::empty_like(chunks[0]);
    c10d::ReduceScatterOptions options;
    options.reduceOp = current_[i].reduce_op();
    group(i)->_reduce_scatter_base(output, input, options)->wait();
    local_ = at::narrow(output, d, 0, piece_of(n, parts(i), coordinate_[i]).size).contiguous();
    current_[i] = to_[i];
  }

  void all_to_all(size_t i) {
    count_collective("all_to_all");
    const int64_t from = current_[i].dim(), into = to_[i].dim();
    const std::vector<int64_t> whole = whole_sizes(i);
    const Piece mine = piece_of(whole[static_cast<size_t>(into)], parts(i), coordinate_[i]);
    std::vector<Tensor> inputs, outputs;
    for (int64_t q = 0; q < parts(i); ++q) {
      const Piece theirs = piece_of(whole[static_cast<size_t>(into)], parts(i), q);
      inputs.push_back(at::narrow(local_, into, theirs.offset, theirs.size).contiguous());
      std::vector<int64_t> sizes = local_.sizes().vec();
      sizes[static_cast<size_t>(into)] = mine.size;
      sizes[static_cast<size_t>(from)] = piece_of(whole[static_cast<size_t>(from)], parts(i), q).size;
      outputs.push_back(at::empty(sizes, local_.options()));
    }
    group(i)->alltoall(outputs, inputs)->wait();
    local_ = at::cat(outputs, from);
    current_[i] = to_[i];
  }

  void cut(size_t i) {
    const Placement placement = to_[i];
    const int64_t d = placement.dim(), n = local_.size(d), pieces = placement.split_factor();
    std::vector<Tensor> mine;
    for (int64_t k = 0; k < pieces; ++k) {
      const Piece outer = piece_of(n, pieces, k), inner = piece_of(outer.size, parts(i), coordinate_[i]);
      mine.push_back(at::narrow(local_, d, outer.offset + inner.offset, inner.size));
    }
    local_ = mine.size() == 1 ? mine[0].contiguous() : at::cat(mine, d);
    current_[i] = placement;
  }

  void make_partial(size_t i) {
    const ReduceOp::RedOpType op = to_[i].reduce_op();
    if (coordinate_[i] != 0) {
      if (op == ReduceOp::SUM || op == ReduceOp::BXOR) local_ = at::zeros_like(local_);
      if (op == ReduceOp::PRODUCT) local_ = at::ones_like(local_);
    }
    current_[i] = to_[i];
  }

  const DeviceMesh mesh_;
  const at::IntArrayRef sizes_;
  const std::vector<int64_t> coordinate_;
  std::vector<Placement> current_;
  const std::vector<Placement> to_;
  Tensor local_;
  std::vector<bool> leaves_directly_, enters_directly_, cut_again_;
};

}  // namespace

CommDebugMode::CommDebugMode() : outer_(std::exchange(innermost_mode, this)) {}
CommDebugMode::~CommDebugMode() {
  innermost_mode = outer_;
}

int64_t CommDebugMode::get_total_counts() const {
  int64_t total = 0;
  for (const auto& [name, count] : counts_) total += count;
  return total;
}

void count_collective(const char* name) {
  for (CommDebugMode* mode = innermost_mode; mode != nullptr; mode = mode->outer_) ++mode->counts_[name];
}

at::Tensor redistribute_local(const Tensor& local, const Spec& from, const std::vector<Placement>& to) {
  if (from.placements() == to || !from.mesh().get_coordinate()) return local;
  return Path(local, from, normalized(from.mesh(), to, from.dim())).run();
}

double transition_cost(const Placement& from, const Placement& to, double bytes, int64_t parts) {
  constexpr double kSecondsPerMessage = 20e-6, kBytesPerSecond = 5e9, kCopied = 1e-12;
  if (from == to) return 0;
  const double p = static_cast<double>(parts), moved = bytes * (p - 1) / p;
  const auto collective = [&](double messages, double sent) {
    return messages * kSecondsPerMessage + sent / kBytesPerSecond;
  };
  if (from.is_partial()) {
    if (to.is_partial()) return std::numeric_limits<double>::infinity();
    return to.is_replicate() ? collective(2, 2 * moved)
           : to.is_shard()   ? collective(1, moved)
                             : collective(2, 2 * moved);
  }
  if (from.is_replicate()) return kCopied * (1 + bytes / p);
  // A shard becomes partial only by way of the whole.
  if (to.is_replicate() || to.is_partial() || to.is_strided_shard() || from.is_strided_shard())
    return collective(1, moved);
  return collective(1, moved / p);
}

}  // namespace torch::distributed::tensor
