#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "c10/util/arg.h"
#include "data/datasets/base.h"

namespace torch::data::datasets {

/// How a table is written.
struct CsvOptions {
  TORCH_ARG(char, delimiter) = ',';
  /// Whether the first line has the columns' names.
  TORCH_ARG(bool, header) = true;
  /// What an empty field stands for; without it one is an error.
  TORCH_ARG(std::optional<double>, missing);
};

/// The fields of a table as texts, row by row (RFC 4180: a field in double quotes may hold delimiters, line ends and
/// doubled quotes; lines end with LF or CRLF). FormatError, with file, line and offset, for rows of different lengths
/// and quotes that do not close; IoError for a file that can't be read.
struct CsvTexts {
  std::vector<std::string> names;  ///< empty without header
  std::vector<std::vector<std::string>> rows;
};
CsvTexts read_csv_texts(const std::string& path, const CsvOptions& options = CsvOptions());

/// A table of numbers: float64 [rows, columns]. FormatError for a field that is no number.
struct CsvTable {
  std::vector<std::string> names;
  at::Tensor values;
};
CsvTable read_csv(const std::string& path, const CsvOptions& options = CsvOptions());

/// A table as a dataset: an example's target is the number in one column, its data are those of the others, as float32.
///
///   torch::data::datasets::CSVDataset houses("houses.csv", "price");
///   houses.get(0).data    // [columns - 1]
class CSVDataset : public Dataset<CSVDataset> {
 public:
  /// The column by name, or by number (-1: the last). ValueError where there is none.
  CSVDataset(const std::string& path, std::string_view target, const CsvOptions& options = CsvOptions());
  explicit CSVDataset(const std::string& path, int64_t target = -1, const CsvOptions& options = CsvOptions());

  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;

  /// Of the columns in an example's data.
  const std::vector<std::string>& names() const { return names_; }
  /// float32 [rows, columns - 1] and float32 [rows].
  const at::Tensor& data() const { return data_; }
  const at::Tensor& targets() const { return targets_; }

 private:
  void take(CsvTable table, int64_t target, const std::string& path);

  std::vector<std::string> names_;
  at::Tensor data_, targets_;
};

}  // namespace torch::data::datasets
