// Writes event files that TensorBoard shows: `tensorboard --logdir=DIR`.
//
//   torch::utils::tensorboard::SummaryWriter writer("runs/first");
//   writer.add_scalar("loss/train", 1.25, 100);
//   writer.add_text("sample", "to be or not", 100);
//   writer.add_image("digit", image, 100);                       // a tensor [C, H, W]
//   writer.add_graph(*net, input);
//   writer.add_hparams({{"lr", 0.1}, {"optimizer", "sgd"}}, {{"hparam/accuracy", 0.97}});
//
// Names and defaults are those of Python's torch.utils.tensorboard.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "c10/util/arg.h"
#include "c10/util/array_ref.h"

namespace at {
class Tensor;
}  // namespace at

namespace torch::utils::tensorboard {

// A number, a text, true or false; std::nullopt for a setting without a value.
struct HParam {
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  HParam(T number) {
    if constexpr (std::is_same_v<T, bool>) {
      value = number;
    } else {
      value = static_cast<double>(number);
    }
  }
  HParam(std::string text) : value(std::move(text)) {}
  HParam(const char* text) : value(std::string(text)) {}
  HParam(std::nullopt_t) {}

  std::variant<std::monostate, bool, double, std::string> value;
};
// The values that a setting can take, by its name: {{"lr", {0.1, 0.01}}, {"optimizer", {"sgd", "adam"}}}.
using HParamDomain = std::map<std::string, std::vector<HParam>>;

// A chart of add_custom_scalars: one line a tag, or a line within a margin (value, lower, upper).
struct CustomChart {
  enum class Kind : uint8_t { kMultiline, kMargin };
  std::string title;
  Kind kind = Kind::kMultiline;
  std::vector<std::string> tags;
};
struct CustomCategory {
  std::string title;
  std::vector<CustomChart> charts;
};

struct SummaryWriterOptions {
  // Where the event file is made. Empty: a new folder below runs/ by the time, the host's name and `comment`, such as
  // runs/May04_22-14-54_laptopLR_0.1; a comment beside a log_dir has no effect.
  TORCH_ARG(std::string, log_dir);
  TORCH_ARG(std::string, comment);
  // From 0: TensorBoard hides what earlier files of the folder hold for that step and later ones, for resumed runs.
  TORCH_ARG(int64_t, purge_step) = -1;
  // That many waiting events are written at once; 0 or less for any number.
  TORCH_ARG(int64_t, max_queue) = 10;
  // Events are written when the last writing was that long ago; 0 or less for every event at once.
  TORCH_ARG(int64_t, flush_secs) = 120;
  // Ends the names of all event files.
  TORCH_ARG(std::string, filename_suffix);
};

// One event file, appended to as events are added; safe to read while it is written. Not for several threads at once.
//
// An event waits in memory until an add_...() finds that max_queue of them, flush_secs seconds or 64 KiB are together,
// or until flush(), close() or destruction. Between calls nothing is written, as there is no thread that would: flush()
// before a long pause.
//
// `step` orders what is shown; `wall_time` is in seconds since 1970, negative for now. Tensors may have any dtype and
// device. Wrong shapes are ValueErrors.
class SummaryWriter {
 public:
  // Makes the folder (and its parents) and a file `events.out.tfevents.TIME.HOST.PID.N` with the suffix in it.
  // Throws c10::Error where the folder or the file cannot be made.
  //
  //   SummaryWriter writer(SummaryWriterOptions().comment("LR_0.1").flush_secs(30));
  explicit SummaryWriter(SummaryWriterOptions options = {});
  explicit SummaryWriter(const std::string& log_dir, int64_t purge_step = -1)
      : SummaryWriter(SummaryWriterOptions().log_dir(log_dir).purge_step(purge_step)) {}
  ~SummaryWriter();  // flushes; errors are ignored there, so call flush() to see them
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  void add_scalar(std::string_view tag, double value, int64_t step = 0, double wall_time = -1);
  // Several lines in one chart; each has a file of its own below the folder.
  void add_scalars(const std::string& main_tag, const std::map<std::string, double>& values, int64_t step = 0,
                   double wall_time = -1);
  // Shown as Markdown.
  void add_text(std::string_view tag, std::string_view text, int64_t step = 0, double wall_time = -1);
  // Numbers of any shape, for the time series of tensors.
  void add_tensor(std::string_view tag, const at::Tensor& tensor, int64_t step = 0, double wall_time = -1);

  // Counts of finite values in `bins` >= 1 equal ranges between their minimum and maximum.
  void add_histogram(std::string_view tag, c10::ArrayRef<double> values, int64_t step, int bins = 64,
                     double wall_time = -1);
  // The same in ranges whose limits grow by a tenth each, as TensorFlow's do ("tensorflow"). Refuses values that are
  // not finite and empty tensors.
  void add_histogram(std::string_view tag, const at::Tensor& values, int64_t step = 0,
                     std::string_view bins = "tensorflow", double wall_time = -1);
  // What was counted elsewhere: bucket_counts[i] values between bucket_limits[i - 1] and bucket_limits[i].
  void add_histogram_raw(std::string_view tag, double min, double max, double num, double sum, double sum_squares,
                         c10::ArrayRef<double> bucket_limits, c10::ArrayRef<double> bucket_counts, int64_t step = 0,
                         double wall_time = -1);

  // One picture as PNG: floating-point values from 0 to 1, or uint8. `dataformats` names the dimensions: "CHW", "HWC"
  // or "HW"; 1 (grey), 3 or 4 channels.
  void add_image(std::string_view tag, const at::Tensor& image, int64_t step = 0, double wall_time = -1,
                 std::string_view dataformats = "CHW");
  // Several in a grid of 8 columns: "NCHW" or "NHWC".
  void add_images(std::string_view tag, const at::Tensor& images, int64_t step = 0, double wall_time = -1,
                  std::string_view dataformats = "NCHW");
  // Samples from -1 to 1, one channel, as WAV.
  void add_audio(std::string_view tag, const at::Tensor& samples, int64_t step = 0, int64_t sample_rate = 44100,
                 double wall_time = -1);

  // Precision and recall at `num_thresholds` thresholds from labels (0 or 1) and predictions (0 to 1), each weighted.
  void add_pr_curve(std::string_view tag, const at::Tensor& labels, const at::Tensor& predictions, int64_t step = 0,
                    int64_t num_thresholds = 127, double wall_time = -1);
  void add_pr_curve(std::string_view tag, const at::Tensor& labels, const at::Tensor& predictions, int64_t step,
                    int64_t num_thresholds, const at::Tensor& weights, double wall_time = -1);
  // The same from what was counted elsewhere: six tensors [n], an element for each of the
  // thresholds, the lowest first.
  void add_pr_curve_raw(std::string_view tag, const at::Tensor& true_positive_counts,
                        const at::Tensor& false_positive_counts, const at::Tensor& true_negative_counts,
                        const at::Tensor& false_negative_counts, const at::Tensor& precision, const at::Tensor& recall,
                        int64_t step = 0, int64_t num_thresholds = 127, double wall_time = -1);

  // Points [B, N, 3] in space, with colors [B, N, 3] from 0 to 255 and triangles [B, M, 3] of points' numbers, which
  // may be undefined. `config` is JSON for three.js.
  void add_mesh(std::string_view tag, const at::Tensor& vertices, const at::Tensor& colors, const at::Tensor& faces,
                std::string_view config = "", int64_t step = 0, double wall_time = -1);

  // Rows [N, D] for the projector, with one label a row (may be empty) and a picture [N, C, H, W] a row (may be
  // undefined). Written beside the event file.
  void add_embedding(const at::Tensor& mat, c10::ArrayRef<std::string> metadata, const at::Tensor& label_img,
                     int64_t step = 0, const std::string& tag = "default");
  void add_embedding(const at::Tensor& mat, c10::ArrayRef<std::string> metadata = {}, int64_t step = 0,
                     const std::string& tag = "default");
  // With several labels a row, under the names that stand in metadata_header: as many as each row of `metadata` has.
  void add_embedding(const at::Tensor& mat, const std::vector<std::vector<std::string>>& metadata,
                     const std::vector<std::string>& metadata_header, const at::Tensor& label_img, int64_t step = 0,
                     const std::string& tag = "default");
  void add_embedding(const at::Tensor& mat, const std::vector<std::vector<std::string>>& metadata,
                     const std::vector<std::string>& metadata_header, int64_t step = 0,
                     const std::string& tag = "default");

  // Which scalars stand in one chart.
  void add_custom_scalars(const std::vector<CustomCategory>& layout);
  void add_custom_scalars_multilinechart(std::vector<std::string> tags, const std::string& category = "default",
                                         const std::string& title = "untitled");
  void add_custom_scalars_marginchart(std::vector<std::string> tags, const std::string& category = "default",
                                      const std::string& title = "untitled");

  // A run's settings and what came of them, as a run of its own below the folder (`run_name`, default the time).
  void add_hparams(const std::vector<std::pair<std::string, HParam>>& hparams,
                   const std::vector<std::pair<std::string, double>>& metrics, std::string run_name = "",
                   int64_t step = 0);
  // With the values that the settings can take. TypeError for a name that is not among `hparams` and for values of
  // another type than it has there.
  void add_hparams(const std::vector<std::pair<std::string, HParam>>& hparams,
                   const std::vector<std::pair<std::string, double>>& metrics,
                   const HParamDomain& hparam_domain_discrete, std::string run_name = "", int64_t step = 0);

  // The recorded operations that `outputs` came from, and the tensors they began with, by name ("layer.weight" stands
  // in the box "layer"). Shown are operations that gradients go through.
  void add_graph(c10::ArrayRef<at::Tensor> outputs, const std::vector<std::pair<std::string, at::Tensor>>& named);
  // The graph of model.forward(input), which is called once.
  template <typename Model, typename Input>
  void add_graph(Model& model, const Input& input) {
    std::vector<std::pair<std::string, std::remove_cvref_t<decltype(model.parameters()[0])>>> named;
    for (const auto& item : model.named_parameters()) named.emplace_back(item.key(), item.value());
    const auto output = model.forward(input);
    add_graph(c10::ArrayRef<std::remove_cvref_t<decltype(output)>>(&output, 1), named);
  }

  // Writes what is buffered to the file. Throws c10::Error where that fails.
  void flush();
  void close() { flush(); }

  const std::string& path() const { return path_; }
  const std::string& get_logdir() const { return folder_; }

 private:
  void add(std::string_view serialized);
  // `metadata`: lines of the labels' file, the header's included.
  void write_embedding(const at::Tensor& mat, const std::string& metadata, const at::Tensor& label_img, int64_t step,
                       const std::string& tag);

  SummaryWriterOptions options_;
  std::string folder_;
  std::string path_;
  std::string buffer_;
  int64_t waiting_ = 0;  // events in it
  std::chrono::steady_clock::time_point written_;
  int fd_ = -1;
  std::map<std::string, std::unique_ptr<SummaryWriter>> below_;
};

}  // namespace torch::utils::tensorboard
