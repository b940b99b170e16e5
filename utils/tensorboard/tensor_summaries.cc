// Numbers and points: tensors, histograms, curves, meshes.
#include <algorithm>
#include <cmath>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/grad_mode.h"
#include "utils/tensorboard/event.h"
#include "utils/tensorboard/plugin.pb.h"
#include "utils/tensorboard/summary_writer.h"

namespace torch::utils::tensorboard {

using kindling::tensorboard::Event;
using kindling::tensorboard::MeshPluginData;
using kindling::tensorboard::Tensor;

std::vector<double> numbers_of(const at::Tensor& tensor, const char* what) {
  TORCH_CHECK_VALUE(tensor.defined(), "SummaryWriter: ", what, " are an undefined tensor");
  const at::NoGradGuard no_grad;
  at::Tensor rows = at::empty_contiguous(tensor.sizes(), c10::ScalarType::Double);
  at::copy_(rows, tensor);
  const double* data = rows.const_data_ptr<double>();
  return std::vector<double>(data, data + rows.numel());
}

namespace {

// The limits of TensorFlow's histograms: 0, and 1e-12 growing by a tenth up to 1e20, on both sides.
std::vector<double> growing_limits() {
  std::vector<double> above;
  for (double v = 1e-12; v < 1e20; v *= 1.1) above.push_back(v);
  std::vector<double> out;
  out.reserve(2 * above.size() + 1);
  for (size_t i = above.size(); i-- > 0;) out.push_back(-above[i]);
  out.push_back(0);
  out.insert(out.end(), above.begin(), above.end());
  return out;
}

void set_sizes(Tensor& out, c10::IntArrayRef sizes) {
  for (const int64_t size : sizes) out.mutable_shape()->add_dim()->set_size(size);
}

Tensor* floats_of(kindling::tensorboard::Summary::Value& value, c10::IntArrayRef sizes,
                  const std::vector<double>& data) {
  Tensor* out = value.mutable_tensor();
  out->set_dtype(Tensor::FLOAT);
  set_sizes(*out, sizes);
  for (const double x : data) out->add_float_val(static_cast<float>(x));
  return out;
}

std::string pr_curve_event(std::string_view tag, c10::IntArrayRef sizes, const std::vector<double>& rows,
                           int64_t num_thresholds, int64_t step, double wall_time) {
  kindling::tensorboard::PrCurvePluginData about;
  about.set_num_thresholds(static_cast<uint32_t>(num_thresholds));
  Event event = event_at(step, wall_time);
  floats_of(*value_of(event, tag, "pr_curves", about.SerializeAsString()), sizes, rows);
  return event.SerializeAsString();
}

}  // namespace

void SummaryWriter::add_tensor(std::string_view tag, const at::Tensor& tensor, int64_t step, double wall_time) {
  const std::vector<double> data = numbers_of(tensor, "the values");
  Event event = event_at(step, wall_time);
  Tensor* out = value_of(event, tag, "tensor")->mutable_tensor();
  const bool wide = tensor.scalar_type() != c10::ScalarType::Float && tensor.scalar_type() != c10::ScalarType::Half &&
                    tensor.scalar_type() != c10::ScalarType::BFloat16;
  out->set_dtype(wide ? Tensor::DOUBLE : Tensor::FLOAT);
  set_sizes(*out, tensor.sizes());
  for (const double x : data) wide ? out->add_double_val(x) : out->add_float_val(static_cast<float>(x));
  add(event.SerializeAsString());
}

void SummaryWriter::add_histogram(std::string_view tag, const at::Tensor& values, int64_t step, std::string_view bins,
                                  double wall_time) {
  TORCH_CHECK_VALUE(bins == "tensorflow", "SummaryWriter: bins \"", bins, "\" are not supported; \"tensorflow\" are");
  const std::vector<double> data = numbers_of(values, "the values");
  TORCH_CHECK_VALUE(!data.empty(), "The input has no element.");
  const std::vector<double> limits = growing_limits();
  // counts[i] is of [limits[i], limits[i + 1]).
  std::vector<double> counts(limits.size() - 1, 0);
  double low = data[0], high = data[0], sum = 0, squares = 0;
  for (const double x : data) {
    TORCH_CHECK_VALUE(std::isfinite(x), "SummaryWriter: a histogram of values that are not finite");
    low = std::min(low, x);
    high = std::max(high, x);
    sum += x;
    squares += x * x;
    const auto behind = std::upper_bound(limits.begin(), limits.end(), x) - limits.begin();
    // The last range has its upper limit, too; what lies outside of all is not counted.
    if (x == limits.back()) ++counts.back();
    if (behind > 0 && static_cast<size_t>(behind) < limits.size()) ++counts[static_cast<size_t>(behind) - 1];
  }
  const auto full = [](double n) { return n > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), full);
  TORCH_CHECK_VALUE(first != counts.end(), "The histogram is empty, please file a bug report.");
  const auto last = std::find_if(counts.rbegin(), counts.rend(), full).base();
  // TensorBoard has right limits only: an empty range in front shows the leftmost one.
  std::vector<double> shown_limits, shown_counts;
  shown_limits.push_back(limits[static_cast<size_t>(first - counts.begin())]);
  shown_counts.push_back(0);
  for (auto i = first; i != last; ++i) {
    shown_limits.push_back(limits[static_cast<size_t>(i - counts.begin()) + 1]);
    shown_counts.push_back(*i);
  }
  add_histogram_raw(tag, low, high, static_cast<double>(data.size()), sum, squares, shown_limits, shown_counts, step,
                    wall_time);
}

void SummaryWriter::add_histogram_raw(std::string_view tag, double min, double max, double num, double sum,
                                      double sum_squares, c10::ArrayRef<double> bucket_limits,
                                      c10::ArrayRef<double> bucket_counts, int64_t step, double wall_time) {
  TORCH_CHECK_VALUE(bucket_limits.size() == bucket_counts.size(),
                    "len(bucket_limits) != len(bucket_counts), see the document.");
  Event event = event_at(step, wall_time);
  auto* h = value_of(event, tag)->mutable_histogram();
  h->set_min(min);
  h->set_max(max);
  h->set_num(num);
  h->set_sum(sum);
  h->set_sum_squares(sum_squares);
  for (const double limit : bucket_limits) h->add_bucket_limit(limit);
  for (const double count : bucket_counts) h->add_bucket(count);
  add(event.SerializeAsString());
}

void SummaryWriter::add_pr_curve(std::string_view tag, const at::Tensor& labels, const at::Tensor& predictions,
                                 int64_t step, int64_t num_thresholds, double wall_time) {
  add_pr_curve(tag, labels, predictions, step, num_thresholds, at::Tensor(), wall_time);
}

void SummaryWriter::add_pr_curve(std::string_view tag, const at::Tensor& labels, const at::Tensor& predictions,
                                 int64_t step, int64_t num_thresholds, const at::Tensor& weights, double wall_time) {
  TORCH_CHECK_VALUE(num_thresholds >= 2, "SummaryWriter: a curve of ", num_thresholds, " thresholds");
  // weird, value > 127 breaks protobuf: so PyTorch says, and so it is there.
  const int64_t n = std::min<int64_t>(num_thresholds, 127);
  const std::vector<double> truth = numbers_of(labels, "the labels"),
                            guess = numbers_of(predictions, "the predictions");
  const std::vector<double> weight =
      weights.defined() ? numbers_of(weights, "the weights") : std::vector<double>(truth.size(), 1.0);
  TORCH_CHECK_VALUE(truth.size() == guess.size() && truth.size() == weight.size(), "SummaryWriter: ", truth.size(),
                    " labels, ", guess.size(), " predictions and ", weight.size(), " weights");
  const auto count = static_cast<size_t>(n);
  std::vector<double> rows(6 * count, 0);
  double *tp = rows.data(), *fp = tp + n, *tn = fp + n, *fn = tn + n, *precision = fn + n, *recall = precision + n;
  for (size_t i = 0; i < truth.size(); ++i) {
    TORCH_CHECK_VALUE(guess[i] >= 0 && guess[i] <= 1, "SummaryWriter: the prediction ", guess[i],
                      " is not from 0 to 1");
    const auto bucket = static_cast<int64_t>(std::floor(guess[i] * static_cast<double>(n - 1)));
    tp[bucket] += truth[i] * weight[i];
    fp[bucket] += (1 - truth[i]) * weight[i];
  }
  // Those at this threshold and above.
  for (int64_t i = n - 1; i-- > 0;) {
    tp[i] += tp[i + 1];
    fp[i] += fp[i + 1];
  }
  constexpr double kLeast = 1e-7;
  for (int64_t i = 0; i < n; ++i) {
    tn[i] = fp[0] - fp[i];
    fn[i] = tp[0] - tp[i];
    precision[i] = tp[i] / std::max(kLeast, tp[i] + fp[i]);
    recall[i] = tp[i] / std::max(kLeast, tp[i] + fn[i]);
  }
  add(pr_curve_event(tag, {6, n}, rows, n, step, wall_time));
}

void SummaryWriter::add_pr_curve_raw(std::string_view tag, const at::Tensor& true_positive_counts,
                                     const at::Tensor& false_positive_counts, const at::Tensor& true_negative_counts,
                                     const at::Tensor& false_negative_counts, const at::Tensor& precision,
                                     const at::Tensor& recall, int64_t step, int64_t num_thresholds, double wall_time) {
  TORCH_CHECK_VALUE(num_thresholds >= 2, "SummaryWriter: a curve of ", num_thresholds, " thresholds");
  std::vector<double> rows;
  for (const at::Tensor* row : {&true_positive_counts, &false_positive_counts, &true_negative_counts,
                                &false_negative_counts, &precision, &recall}) {
    const std::vector<double> data = numbers_of(*row, "the counts");
    TORCH_CHECK_VALUE(row->dim() == 1 && row->sizes() == true_positive_counts.sizes(),
                      "SummaryWriter: the rows of a curve have one dimension and one size, but there are ",
                      true_positive_counts.sizes(), " and ", row->sizes());
    rows.insert(rows.end(), data.begin(), data.end());
  }
  add(pr_curve_event(tag, {6, true_positive_counts.size(0)}, rows, std::min<int64_t>(num_thresholds, 127), step,
                     wall_time));
}

void SummaryWriter::add_mesh(std::string_view tag, const at::Tensor& vertices, const at::Tensor& colors,
                             const at::Tensor& faces, std::string_view config, int64_t step, double wall_time) {
  struct Part {
    const at::Tensor& tensor;
    MeshPluginData::ContentType type;
    const char* name;
  };
  const Part parts[] = {{vertices, MeshPluginData::VERTEX, "VERTEX"},
                        {faces, MeshPluginData::FACE, "FACE"},
                        {colors, MeshPluginData::COLOR, "COLOR"}};
  uint32_t components = 0;
  for (const Part& part : parts) {
    if (part.type != MeshPluginData::VERTEX && !part.tensor.defined()) continue;
    TORCH_CHECK_VALUE(part.tensor.defined() && part.tensor.dim() == 3 && part.tensor.size(2) == 3,
                      "SummaryWriter: ", part.name, " of a mesh has the shape [batch, number, 3]");
    components |= 1u << part.type;
  }
  Event event = event_at(step, wall_time);
  for (const Part& part : parts) {
    if (!part.tensor.defined()) continue;
    MeshPluginData about;
    about.set_name(printable(tag));
    about.set_content_type(part.type);
    about.set_json_config(printable(config));
    about.set_components(components);
    for (const int64_t size : part.tensor.sizes()) about.add_shape(static_cast<int32_t>(size));
    floats_of(*value_of(event, std::string(tag) + "_" + part.name, "mesh", about.SerializeAsString()),
              part.tensor.sizes(), numbers_of(part.tensor, "the points"));
  }
  add(event.SerializeAsString());
}

}  // namespace torch::utils::tensorboard
