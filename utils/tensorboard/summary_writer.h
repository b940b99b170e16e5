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

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "c10/util/array_ref.h"

namespace at {
class Tensor;
}  // namespace at

namespace torch::utils::tensorboard {

// A number, a text, true or false.
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

  std::variant<bool, double, std::string> value;
};

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

// One event file, appended to as events are added; safe to read while it is written. Not for several threads at once.
//
// `step` orders what is shown; `wall_time` is in seconds since 1970, negative for now. Tensors may have any dtype and
// device. Wrong shapes are ValueErrors.
class SummaryWriter {
 public:
  // Makes the folder (and its parents) and a file `events.out.tfevents.TIME.HOST.PID.N` in it. With `purge_step` >= 0,
  // TensorBoard hides what earlier files of the folder hold for that step and later ones: for resumed runs.
  // Throws c10::Error where the folder or the file cannot be made.
  explicit SummaryWriter(const std::string& log_dir, int64_t purge_step = -1);
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

  std::string folder_;
  std::string path_;
  std::string buffer_;
  int fd_ = -1;
  std::map<std::string, std::unique_ptr<SummaryWriter>> below_;
};

}  // namespace torch::utils::tensorboard
