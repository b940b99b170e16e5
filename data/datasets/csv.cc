#include "data/datasets/csv.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "utils/serialize/file_io.h"

namespace torch::data::datasets {

namespace {

// Walks through the fields of a table.
class Fields {
 public:
  Fields(const std::string& path, char delimiter)
      : path_(path), delimiter_(delimiter), file_(path), text_(file_.bytes()) {
    TORCH_CHECK_VALUE(delimiter != '"' && delimiter != '\n' && delimiter != '\r',
                      "read_csv: a quote or a line end can't be the delimiter");
    if (text_.substr(0, 3) == "\xef\xbb\xbf") at_ = 3;  // a byte order mark
  }

  // The next row into `row`; false at the end. Empty lines are passed over.
  bool next_row(std::vector<std::string_view>& row) {
    row.clear();
    unquoted_.clear();
    while (at_ < text_.size() && end_of_line()) {
    }
    if (at_ == text_.size()) return false;
    row_line_ = line_;
    row_start_ = at_;
    while (true) {
      row.push_back(field());
      if (at_ < text_.size() && text_[at_] == delimiter_) {
        ++at_;
        continue;
      }
      if (at_ == text_.size() || end_of_line()) return true;
      fail("text behind a closing quote", at_);
    }
  }

  [[noreturn]] void fail(const std::string& what, size_t offset) const {
    serialize::throw_format_error(c10::str(path_, ":", line_, ": ", what, " (byte ", offset, ")"));
  }
  [[noreturn]] void fail_in_row(const std::string& what) const {
    serialize::throw_format_error(c10::str(path_, ":", row_line_, ": ", what, " (row from byte ", row_start_, " on)"));
  }
  size_t bytes() const { return text_.size(); }

 private:
  bool end_of_line() {
    if (text_[at_] == '\n') {
      ++at_;
    } else if (text_.substr(at_, 2) == "\r\n") {
      at_ += 2;
    } else {
      return false;
    }
    ++line_;
    return true;
  }

  std::string_view field() {
    if (at_ == text_.size() || text_[at_] != '"') {
      size_t end = at_;
      while (end < text_.size() && text_[end] != delimiter_ && text_[end] != '\n' && text_.substr(end, 2) != "\r\n")
        ++end;
      const std::string_view plain = text_.substr(at_, end - at_);
      at_ = end;
      return plain;
    }
    const size_t opening = at_++;
    const size_t start = at_;
    bool doubled = false;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') continue;
      if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') {
        const std::string_view inside = text_.substr(start, at_++ - start);
        return doubled ? without_doubled_quotes(inside) : inside;
      }
      doubled = true;
      ++at_;
    }
    fail("a quote that does not close", opening);
  }

  std::string_view without_doubled_quotes(std::string_view inside) {
    auto text = std::make_unique<std::string>();
    for (size_t i = 0; i < inside.size(); ++i) {
      text->push_back(inside[i]);
      if (inside[i] == '"') ++i;
    }
    unquoted_.push_back(std::move(text));
    return *unquoted_.back();
  }

  const std::string path_;
  const char delimiter_;
  serialize::MappedFile file_;
  std::string_view text_;
  size_t at_ = 0, line_ = 1, row_start_ = 0, row_line_ = 1;
  std::vector<std::unique_ptr<std::string>> unquoted_;  // of the current row
};

// Calls `with_row(fields)` for each row behind the header, whose names are returned.
template <class F>
std::vector<std::string> each_row(Fields& fields, const CsvOptions& options, const F& with_row) {
  std::vector<std::string> names;
  std::vector<std::string_view> row;
  if (options.header() && fields.next_row(row)) names.assign(row.begin(), row.end());
  size_t columns = names.size();
  while (fields.next_row(row)) {
    if (columns == 0) columns = row.size();
    if (row.size() != columns) fields.fail_in_row(c10::str("expected ", columns, " fields, but got ", row.size()));
    with_row(row);
  }
  return names;
}

double number_of(std::string_view text, const CsvOptions& options, const Fields& fields, size_t column) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (text.empty()) {
    if (options.missing()) return *options.missing();
    fields.fail_in_row(c10::str("field ", column + 1, " is empty; CsvOptions().missing(x) takes it as x"));
  }
  if (text.size() > 1 && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fields.fail_in_row(c10::str("field ", column + 1, " is no number: \"", std::string(text.substr(0, 40)), '"'));
  return value;
}

}  // namespace

CsvTexts read_csv_texts(const std::string& path, const CsvOptions& options) {
  Fields fields(path, options.delimiter());
  CsvTexts table;
  table.names = each_row(fields, options, [&](const std::vector<std::string_view>& row) {
    table.rows.emplace_back(row.begin(), row.end());
  });
  return table;
}

CsvTable read_csv(const std::string& path, const CsvOptions& options) {
  Fields fields(path, options.delimiter());
  std::vector<double> values;
  int64_t rows = 0;
  CsvTable table;
  table.names = each_row(fields, options, [&](const std::vector<std::string_view>& row) {
    for (size_t i = 0; i < row.size(); ++i) values.push_back(number_of(row[i], options, fields, i));
    ++rows;
  });
  const int64_t columns =
      rows > 0 ? static_cast<int64_t>(values.size()) / rows : static_cast<int64_t>(table.names.size());
  table.values = at::empty({rows, columns}, at::kDouble);
  std::copy(values.begin(), values.end(), table.values.mutable_data_ptr<double>());
  return table;
}

CSVDataset::CSVDataset(const std::string& path, std::string_view target, const CsvOptions& options) {
  TORCH_CHECK_VALUE(options.header(), "CSVDataset: a target by name needs a header");
  CsvTable table = read_csv(path, options);
  const auto found = std::find(table.names.begin(), table.names.end(), target);
  TORCH_CHECK_VALUE(found != table.names.end(), "CSVDataset: ", path, " has no column \"", std::string(target),
                    "\", but ", table.names);
  const int64_t column = found - table.names.begin();
  take(std::move(table), column, path);
}

CSVDataset::CSVDataset(const std::string& path, int64_t target, const CsvOptions& options) {
  take(read_csv(path, options), target, path);
}

void CSVDataset::take(CsvTable table, int64_t target, const std::string& path) {
  const int64_t columns = table.values.size(1);
  const int64_t column = target < 0 ? target + columns : target;
  TORCH_CHECK_VALUE(column >= 0 && column < columns, "CSVDataset: ", path, " has ", columns, " columns, no column ",
                    target);
  const at::Tensor values = at::_to_copy(table.values, at::TensorOptions(at::kFloat));
  targets_ = at::contiguous(at::select(values, 1, column));
  data_ = at::cat({at::slice(values, 1, 0, column), at::slice(values, 1, column + 1, columns)}, 1);
  names_ = std::move(table.names);
  if (!names_.empty()) names_.erase(names_.begin() + column);
}

Example<> CSVDataset::get(size_t index) {
  TORCH_CHECK_INDEX(index < static_cast<size_t>(data_.size(0)), "CSVDataset: index ", index, " is out of range for ",
                    data_.size(0), " rows");
  return {at::select(data_, 0, static_cast<int64_t>(index)), at::select(targets_, 0, static_cast<int64_t>(index))};
}
std::optional<size_t> CSVDataset::size() const { return static_cast<size_t>(data_.size(0)); }

}  // namespace torch::data::datasets
