#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/datasets/base.h"
#include "data/datasets/folder.h"

namespace torch::data::datasets {

/// A sound: float32 [channels, frames] in [-1, 1].
struct Audio {
  at::Tensor waveform;
  int64_t sample_rate;
};

/// Reads a WAV file (or any other that libsndfile knows): `num_frames` frames from `frame_offset` on, -1 for all.
/// Memory grows with the sound that is really there.
///
/// Throws serialize::IoError for a file that can't be read and serialize::FormatError, with the file, the frame and
/// libsndfile's reason, for one that is no sound or is cut short; ValueError for numbers below 0 and an offset beyond
/// the end.
Audio read_audio(const std::string& path, int64_t frame_offset = 0, int64_t num_frames = -1);

/// Sounds in folders that are named after their classes. Examples are the waveform and the number of the class, int64.
/// Depend on
/// //data:audio.
class AudioFolder : public Dataset<AudioFolder> {
 public:
  /// `sample_rate`: what all files must have, if it is given.
  explicit AudioFolder(const std::string& root, std::optional<int64_t> sample_rate = std::nullopt);

  /// IndexError out of range; what read_audio throws; FormatError for another sample rate.
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;

  const std::vector<std::string>& classes() const { return folders_->classes; }
  const std::vector<std::pair<std::string, int64_t>>& samples() const { return folders_->samples; }

 private:
  std::shared_ptr<const ClassFolders> folders_;
  std::optional<int64_t> sample_rate_;
};

}  // namespace torch::data::datasets
