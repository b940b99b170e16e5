// What TensorBoard's plugins show: settings of runs, charts of several scalars, the projector.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "aten/core/tensor.h"
#include "c10/util/string_util.h"
#include "utils/serialize/file_io.h"
#include "utils/tensorboard/event.h"
#include "utils/tensorboard/media.h"
#include "utils/tensorboard/plugin.pb.h"
#include "utils/tensorboard/summary_writer.h"

namespace torch::utils::tensorboard {
namespace {

using kindling::tensorboard::CustomScalarLayout;
using kindling::tensorboard::Event;
using kindling::tensorboard::HParamsPluginData;

void write_whole(const std::string& path, const std::string& text) {
  serialize::AtomicFile file(path);
  file.write(text);
  file.commit();
}

// A tag as the name of one folder.
std::string folder_of(const std::string& tag) {
  std::string out;
  for (const char c : tag) {
    if (c == '%' || c == '/' || c == '\\') {
      char hex[8];
      std::snprintf(hex, sizeof hex, "%%%02x", static_cast<unsigned char>(c));
      out += hex;
    } else {
      out += c;
    }
  }
  return out;
}

// In a protobuf's text form.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + "\"";
}

CustomScalarLayout::Chart chart_of(const CustomChart& chart) {
  CustomScalarLayout::Chart out;
  out.set_title(printable(chart.title));
  if (chart.kind == CustomChart::Kind::kMultiline) {
    for (const std::string& tag : chart.tags) out.mutable_multiline()->add_tag(printable(tag));
    return out;
  }
  TORCH_CHECK_VALUE(chart.tags.size() == 3, "SummaryWriter: a margin chart has three tags (value, lower, upper), not ",
                    chart.tags.size());
  auto* series = out.mutable_margin()->add_series();
  series->set_value(printable(chart.tags[0]));
  series->set_lower(printable(chart.tags[1]));
  series->set_upper(printable(chart.tags[2]));
  return out;
}

// One cell of a table of labels.
std::string cell(const std::string& label) {
  std::string out = printable(label);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return out;
}

std::string row_of(const std::vector<std::string>& labels) {
  std::string out;
  for (size_t i = 0; i < labels.size(); ++i) out += (i > 0 ? "\t" : "") + cell(labels[i]);
  return out + '\n';
}

// With `labels` rows of labels, if any.
void check_points(const at::Tensor& mat, size_t labels) {
  TORCH_CHECK_VALUE(mat.defined() && mat.dim() == 2,
                    "mat should be 2D, where mat.size(0) is the number of data points");
  TORCH_CHECK_VALUE(labels == 0 || static_cast<int64_t>(labels) == mat.size(0),
                    "#labels should equal with #data points");
}

google::protobuf::Value proto_of(const HParam& setting) {
  google::protobuf::Value out;
  if (const bool* b = std::get_if<bool>(&setting.value)) out.set_bool_value(*b);
  if (const double* d = std::get_if<double>(&setting.value)) out.set_number_value(*d);
  if (const std::string* s = std::get_if<std::string>(&setting.value)) out.set_string_value(printable(*s));
  return out;
}

std::string hparams_event(const char* tag, const HParamsPluginData& data, int64_t step) {
  Event event = event_at(step, -1);
  value_of(event, tag, "hparams", data.SerializeAsString());
  return event.SerializeAsString();
}

}  // namespace

void SummaryWriter::add_custom_scalars(const std::vector<CustomCategory>& layout) {
  CustomScalarLayout out;
  for (const CustomCategory& category : layout) {
    auto* c = out.add_category();
    c->set_title(printable(category.title));
    for (const CustomChart& chart : category.charts) *c->add_chart() = chart_of(chart);
  }
  Event event = event_at(0, -1);
  auto* tensor = value_of(event, "custom_scalars__config__", "custom_scalars")->mutable_tensor();
  tensor->set_dtype(kindling::tensorboard::Tensor::STRING);
  tensor->mutable_shape();
  tensor->add_string_val(out.SerializeAsString());
  add(event.SerializeAsString());
}

void SummaryWriter::add_custom_scalars_multilinechart(std::vector<std::string> tags, const std::string& category,
                                                      const std::string& title) {
  add_custom_scalars({{category, {{title, CustomChart::Kind::kMultiline, std::move(tags)}}}});
}

void SummaryWriter::add_custom_scalars_marginchart(std::vector<std::string> tags, const std::string& category,
                                                   const std::string& title) {
  add_custom_scalars({{category, {{title, CustomChart::Kind::kMargin, std::move(tags)}}}});
}

void SummaryWriter::add_hparams(const std::vector<std::pair<std::string, HParam>>& hparams,
                                const std::vector<std::pair<std::string, double>>& metrics, std::string run_name,
                                int64_t step) {
  add_hparams(hparams, metrics, HParamDomain(), std::move(run_name), step);
}

void SummaryWriter::add_hparams(const std::vector<std::pair<std::string, HParam>>& hparams,
                                const std::vector<std::pair<std::string, double>>& metrics,
                                const HParamDomain& hparam_domain_discrete, std::string run_name, int64_t step) {
  for (const auto& [name, values] : hparam_domain_discrete) {
    const auto setting =
        std::find_if(hparams.begin(), hparams.end(), [&name = name](const auto& h) { return h.first == name; });
    const bool fits = setting != hparams.end() && std::all_of(values.begin(), values.end(), [&](const HParam& v) {
                        return v.value.index() == setting->second.value.index();
                      });
    TORCH_CHECK_TYPE(fits, "parameter: hparam_domain_discrete[", name,
                     "] should be a list of same type as hparam_dict[", name, "].");
  }
  // By the index of HParam's variant.
  constexpr HParamsPluginData::DataType kTypes[] = {HParamsPluginData::UNSET, HParamsPluginData::BOOL,
                                                    HParamsPluginData::FLOAT64, HParamsPluginData::STRING};
  HParamsPluginData experiment, start, end;
  for (const auto& [name, setting] : hparams) {
    auto* info = experiment.mutable_experiment()->add_hparam_infos();
    info->set_name(printable(name));
    info->set_type(kTypes[setting.value.index()]);
    if (const auto domain = hparam_domain_discrete.find(name); domain != hparam_domain_discrete.end()) {
      info->mutable_domain_discrete();
      for (const HParam& v : domain->second) *info->mutable_domain_discrete()->add_values() = proto_of(v);
    }
    if (std::holds_alternative<std::monostate>(setting.value)) continue;
    (*start.mutable_session_start()->mutable_hparams())[printable(name)] = proto_of(setting);
  }
  start.mutable_session_start();
  for (const auto& [tag, number] : metrics) {
    experiment.mutable_experiment()->add_metric_infos()->mutable_name()->set_tag(printable(tag));
  }
  end.mutable_session_end()->set_status(HParamsPluginData::SessionEnd::SUCCESS);
  if (run_name.empty()) {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    run_name = std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count());
  }
  SummaryWriter run(folder_ + "/" + run_name);
  run.add(hparams_event("_hparams_/experiment", experiment, step));
  run.add(hparams_event("_hparams_/session_start_info", start, step));
  run.add(hparams_event("_hparams_/session_end_info", end, step));
  for (const auto& [tag, number] : metrics) run.add_scalar(tag, number, step);
  run.flush();
}

void SummaryWriter::add_embedding(const at::Tensor& mat, c10::ArrayRef<std::string> metadata, int64_t step,
                                  const std::string& tag) {
  add_embedding(mat, metadata, at::Tensor(), step, tag);
}

void SummaryWriter::add_embedding(const at::Tensor& mat, c10::ArrayRef<std::string> metadata,
                                  const at::Tensor& label_img, int64_t step, const std::string& tag) {
  check_points(mat, metadata.size());
  std::string lines;
  for (const std::string& label : metadata) lines += row_of({label});
  write_embedding(mat, lines, label_img, step, tag);
}

void SummaryWriter::add_embedding(const at::Tensor& mat, const std::vector<std::vector<std::string>>& metadata,
                                  const std::vector<std::string>& metadata_header, int64_t step,
                                  const std::string& tag) {
  add_embedding(mat, metadata, metadata_header, at::Tensor(), step, tag);
}

void SummaryWriter::add_embedding(const at::Tensor& mat, const std::vector<std::vector<std::string>>& metadata,
                                  const std::vector<std::string>& metadata_header, const at::Tensor& label_img,
                                  int64_t step, const std::string& tag) {
  check_points(mat, metadata.size());
  std::string lines;
  if (!metadata.empty()) lines = row_of(metadata_header);
  for (const std::vector<std::string>& labels : metadata) {
    TORCH_CHECK_VALUE(labels.size() == metadata_header.size(),
                      "len of header must be equal to the number of columns in metadata");
    lines += row_of(labels);
  }
  write_embedding(mat, lines, label_img, step, tag);
}

void SummaryWriter::write_embedding(const at::Tensor& mat, const std::string& metadata, const at::Tensor& label_img,
                                    int64_t step, const std::string& tag) {
  const int64_t rows = mat.size(0), columns = mat.size(1);
  TORCH_CHECK_VALUE(!label_img.defined() || (label_img.dim() == 4 && label_img.size(0) == rows),
                    "#images should equal with #data points");
  char number[32];
  std::snprintf(number, sizeof number, "%05lld", static_cast<long long>(step));
  const std::string folder = c10::str(number, "/", folder_of(tag));
  make_folders(folder_ + "/" + folder);
  const std::vector<double> data = numbers_of(mat, "the points");
  std::string table;
  for (int64_t i = 0; i < rows * columns; ++i) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", data[static_cast<size_t>(i)]);
    table += text;
    table += (i + 1) % columns == 0 ? '\n' : '\t';
  }
  write_whole(folder_ + "/" + folder + "/tensors.tsv", table);
  std::string config = c10::str("embeddings {\ntensor_name: ", in_quotes(c10::str(tag, ":", number)),
                                "\ntensor_path: ", in_quotes(folder + "/tensors.tsv"), "\n");
  if (!metadata.empty()) {
    write_whole(folder_ + "/" + folder + "/metadata.tsv", metadata);
    config += c10::str("metadata_path: ", in_quotes(folder + "/metadata.tsv"), "\n");
  }
  if (label_img.defined()) {
    const auto side = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(rows))));
    write_whole(folder_ + "/" + folder + "/sprite.png", picture_of(label_img, "NCHW", side, /*square=*/true).png());
    config += c10::str("sprite {\nimage_path: ", in_quotes(folder + "/sprite.png"),
                       "\nsingle_image_dim: ", label_img.size(3), "\nsingle_image_dim: ", label_img.size(2), "\n}\n");
  }
  const std::string path = folder_ + "/projector_config.pbtxt";
  const std::string before = ::access(path.c_str(), F_OK) == 0 ? serialize::read_file(path) : std::string();
  write_whole(path, before + config + "}\n");
}

}  // namespace torch::utils::tensorboard
