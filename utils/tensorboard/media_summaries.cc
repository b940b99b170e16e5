// Pictures and sounds.
#include <algorithm>
#include <cmath>

#include "aten/core/tensor.h"
#include "utils/plot/png.h"
#include "utils/tensorboard/event.h"
#include "utils/tensorboard/media.h"
#include "utils/tensorboard/summary_writer.h"

namespace torch::utils::tensorboard {

std::string Picture::png() const {
  return plot::encode_png(pixels.data(), height, width, channels);
}

Picture picture_of(const at::Tensor& tensor, std::string_view dataformats, int64_t columns, bool square) {
  TORCH_CHECK_VALUE(tensor.defined() && static_cast<size_t>(tensor.dim()) == dataformats.size(),
                    "size of input tensor and input format are different. tensor shape: (",
                    tensor.defined() ? tensor.sizes() : c10::IntArrayRef(), "), input_format: ", dataformats);
  for (const char c : dataformats) {
    TORCH_CHECK_VALUE(std::count(dataformats.begin(), dataformats.end(), c) == 1,
                      "You can not use the same dimension shordhand twice. input_format: ", dataformats);
  }
  // Size and step of a named dimension in rows of the tensor; 1 and 0 where there is none.
  struct Dimension {
    int64_t size = 1, step = 0;
  };
  const auto named = [&](char name) {
    Dimension out;
    const size_t at = dataformats.find(name);
    if (at == std::string_view::npos) return out;
    out = {tensor.size(static_cast<int64_t>(at)), 1};
    for (size_t d = at + 1; d < dataformats.size(); ++d) out.step *= tensor.size(static_cast<int64_t>(d));
    return out;
  };
  const Dimension n = named('N'), c = named('C'), h = named('H'), w = named('W');
  const bool known = dataformats.find_first_not_of("NCHW") == std::string_view::npos &&
                     dataformats.find('H') != std::string_view::npos && dataformats.find('W') != std::string_view::npos;
  TORCH_CHECK_VALUE(known, "SummaryWriter: \"", dataformats, "\" are no dimensions of an image");
  TORCH_CHECK_VALUE(c.size == 1 || c.size == 3 || c.size == 4, "SummaryWriter: an image has 1, 3 or 4 channels, not ",
                    c.size);
  TORCH_CHECK_VALUE(n.size > 0, "SummaryWriter: no images");
  const double scale = tensor.scalar_type() == c10::ScalarType::Byte ? 1 : 255;
  const std::vector<double> data = numbers_of(tensor, "the pixels");
  columns = std::min(columns, n.size);
  const int64_t rows = square ? columns : (n.size + columns - 1) / columns;
  Picture out;
  out.height = rows * h.size;
  out.width = columns * w.size;
  out.channels = c.size == 1 ? 3 : c.size;
  out.pixels.assign(static_cast<size_t>(out.height * out.width * out.channels), 0);
  for (int64_t i = 0; i < n.size; ++i) {
    for (int64_t y = 0; y < h.size; ++y) {
      for (int64_t x = 0; x < w.size; ++x) {
        const int64_t to = ((i / columns * h.size + y) * out.width + i % columns * w.size + x) * out.channels;
        for (int64_t k = 0; k < out.channels; ++k) {
          const int64_t from = i * n.step + y * h.step + x * w.step + (c.size == 1 ? 0 : k * c.step);
          const double value = data[static_cast<size_t>(from)] * scale;
          out.pixels[static_cast<size_t>(to + k)] =
              std::isnan(value) ? uint8_t{0} : static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
        }
      }
    }
  }
  return out;
}

void SummaryWriter::add_images(std::string_view tag, const at::Tensor& images, int64_t step, double wall_time,
                               std::string_view dataformats) {
  add_image(tag, images, step, wall_time, dataformats);
}

void SummaryWriter::add_image(std::string_view tag, const at::Tensor& image, int64_t step, double wall_time,
                              std::string_view dataformats) {
  const Picture picture = picture_of(image, dataformats);
  kindling::tensorboard::Event event = event_at(step, wall_time);
  auto* out = value_of(event, tag)->mutable_image();
  out->set_height(static_cast<int32_t>(picture.height));
  out->set_width(static_cast<int32_t>(picture.width));
  out->set_colorspace(static_cast<int32_t>(picture.channels));
  out->set_encoded_image_string(picture.png());
  add(event.SerializeAsString());
}

void SummaryWriter::add_audio(std::string_view tag, const at::Tensor& samples, int64_t step, int64_t sample_rate,
                              double wall_time) {
  // Dimensions of size 1 do not count.
  const bool line = samples.defined() && samples.dim() > 0 &&
                    std::count_if(samples.sizes().begin(), samples.sizes().end(), [](int64_t n) { return n != 1; }) == 1;
  TORCH_CHECK_VALUE(line, "add_audio: input tensor should be 1 dimensional., got ",
                    samples.defined() ? samples.sizes() : c10::IntArrayRef());
  const std::vector<double> data = numbers_of(samples, "the samples");
  TORCH_CHECK_VALUE(sample_rate > 0 && sample_rate <= 1'000'000, "SummaryWriter: a sample rate of ", sample_rate);
  TORCH_CHECK_VALUE(data.size() <= (size_t{1} << 30), "SummaryWriter: ", data.size(), " samples are too many");
  std::string wav;
  const auto put = [&](uint64_t value, int bytes) {
    for (; bytes > 0; --bytes, value >>= 8) wav += static_cast<char>(value & 0xff);
  };
  const uint64_t bytes = 2 * data.size(), rate = static_cast<uint64_t>(sample_rate);
  wav += "RIFF";
  put(36 + bytes, 4);
  wav += "WAVEfmt ";
  put(16, 4);  // bytes that follow
  put(1, 2);   // PCM
  put(1, 2);   // channels
  put(rate, 4);
  put(2 * rate, 4);
  put(2, 2);   // bytes a frame
  put(16, 2);  // bits
  wav += "data";
  put(bytes, 4);
  for (const double x : data) {
    const double level = std::isnan(x) ? 0 : std::clamp(x, -1.0, 1.0) * 32767;
    put(static_cast<uint16_t>(static_cast<int16_t>(level)), 2);
  }
  kindling::tensorboard::Event event = event_at(step, wall_time);
  auto* audio = value_of(event, tag)->mutable_audio();
  audio->set_sample_rate(static_cast<float>(sample_rate));
  audio->set_num_channels(1);
  audio->set_length_frames(static_cast<int64_t>(data.size()));
  audio->set_encoded_audio_string(std::move(wav));
  audio->set_content_type("audio/wav");
  add(event.SerializeAsString());
}

}  // namespace torch::utils::tensorboard
