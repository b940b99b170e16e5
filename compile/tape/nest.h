// The elements of some tensors in one order, the same for all of them, as runs that are as long as they can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace torch::compiler::tape {

/// What expressions are for these values of their symbols.
std::vector<int64_t> evaluated(const std::vector<graph::IntExpr>& list, const std::map<std::string, int64_t>& symbols);

/// How an operand moves along.
struct NestOperand {
  std::vector<int64_t> strides;  ///< bytes, one a dimension; 0 where it has one element for all
  int64_t item = 0;              ///< bytes of an element
};

/// How a tensor moves along in a group of these sizes. Throws ValueError for one that does not broadcast to them.
NestOperand operand_of(const graph::TensorInfo& info, const std::vector<int64_t>& sizes,
                       const std::map<std::string, int64_t>& symbols);

class Nest {
 public:
  /// Dimensions may be gone through in another order than they have, but for the last `fixed`: the memory of the
  /// operand `leader` decides.
  Nest(const std::vector<int64_t>& sizes, const std::vector<NestOperand>& operands, size_t leader, size_t fixed);

  int64_t numel() const { return numel_; }
  /// Elements of a run, along which each operand has one stride.
  int64_t run() const { return sizes_.empty() ? 1 : sizes_[0]; }
  size_t dims() const { return sizes_.size(); }
  /// Of a dimension that is left, the innermost first.
  int64_t size(size_t dim) const { return sizes_[dim]; }
  int64_t stride(size_t dim, size_t operand) const { return strides_[dim][operand]; }
  int64_t run_stride(size_t operand) const { return strides_.empty() ? 0 : strides_[0][operand]; }
  /// Whether its elements lie one behind the other.
  bool is_flat(size_t operand) const;
  /// Whether it has one element for all.
  bool is_same(size_t operand) const;
  /// After so many elements it comes again, all its elements being gone through; 0 where it does not.
  int64_t period(size_t operand) const;

  /// Where element `index` of an operand is.
  int64_t offset(size_t operand, int64_t index) const;
  /// f(offset, how many, how many before) of the runs that the elements [index, index + count) are in.
  template <class F>
  void for_runs(size_t operand, int64_t index, int64_t count, const F& f) const {
    for (int64_t done = 0; done < count;) {
      const int64_t left = run() - (index + done) % run(), n = left < count - done ? left : count - done;
      f(offset(operand, index + done), n, done);
      done += n;
    }
  }

 private:
  int64_t numel_ = 1;
  std::vector<int64_t> sizes_;                 // innermost first
  std::vector<std::vector<int64_t>> strides_;  // by dimension, then operand
  std::vector<int64_t> items_;
};

}  // namespace torch::compiler::tape
