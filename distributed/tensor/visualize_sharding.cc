#include "distributed/tensor/visualize_sharding.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "c10/core/device.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::distributed::tensor::debug {
namespace {

using Range = std::pair<int64_t, int64_t>;  // first element and number

std::string range_text(const char* name, const Range& range) {
  const int64_t last = range.first + range.second - 1;
  return last == range.first ? c10::str(name, " ", last) : c10::str(name, " ", range.first, "-", last);
}

}  // namespace

std::string visualize_sharding(const DTensor& tensor, const std::string& header) {
  const Spec& spec = *tensor.spec();
  TORCH_CHECK_VALUE(spec.dim() == 1 || spec.dim() == 2,
                    "visualize_sharding: expected a DTensor of one or two dimensions, but got ", spec.dim());
  for (const Placement& placement : spec.placements()) {
    TORCH_CHECK_NOT_IMPLEMENTED(!placement.is_strided_shard(), "visualize_sharding: the parts of ", placement.str(),
                                " are no blocks");
  }
  if (tensor.numel() == 0) return "";
  const DeviceMesh& mesh = spec.mesh();
  std::map<std::pair<Range, Range>, std::string> cells;  // by rows and columns
  std::map<Range, size_t> rows, columns;                 // to the width of a column
  std::string device = c10::DeviceTypeName(mesh.device_type(), /*lower_case=*/true);
  for (size_t place = 0; place < mesh.mesh().size(); ++place) {
    std::vector<int64_t> coordinate(mesh.shape().size()), offsets;
    size_t rest = place;
    for (size_t d = coordinate.size(); d-- > 0; rest /= static_cast<size_t>(mesh.shape()[d])) {
      coordinate[d] = static_cast<int64_t>(rest % static_cast<size_t>(mesh.shape()[d]));
    }
    const std::vector<int64_t> sizes = sizes_at(mesh, spec.placements(), spec.sizes(), coordinate, &offsets);
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) continue;
    const bool flat = spec.dim() == 1;
    const Range row = flat ? Range{0, 1} : Range{offsets[0], sizes[0]};
    const Range column = flat ? Range{offsets[0], sizes[0]} : Range{offsets[1], sizes[1]};
    std::string& cell = cells[{row, column}];
    cell += c10::str(cell.empty() ? "" : ", ", device, ":", mesh.mesh()[place]);
    rows[row] = 0;
    columns[column] = std::max({columns[column], cell.size(), range_text("Col", column).size()});
  }
  size_t names = 0;
  for (const auto& [row, unused] : rows) names = std::max(names, range_text("Row", row).size());
  std::string text = header.empty() ? "" : header + "\n";
  const auto add_line = [&](const std::string& name, const auto& cell_of) {
    std::string line = name + std::string(names - name.size(), ' ');
    for (const auto& [column, width] : columns) {
      const std::string cell = cell_of(column);
      line += "  " + cell + std::string(width - cell.size(), ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_line("", [](const Range& column) { return range_text("Col", column); });
  for (const auto& [row, unused] : rows) {
    add_line(range_text("Row", row), [&, at = row](const Range& column) { return cells[{at, column}]; });
  }
  return text;
}

}  // namespace torch::distributed::tensor::debug
