#include "data/datasets/audio.h"

#include <sndfile.h>

#include <algorithm>
#include <cstring>

#include "aten/ops/creation/ops.h"
#include "c10/util/exception.h"
#include "utils/serialize/file_io.h"

namespace torch::data::datasets {

namespace {

// libsndfile reads from mapped memory.
class SoundFile {
 public:
  explicit SoundFile(const std::string& path) : path_(path), file_(path) {
    SF_VIRTUAL_IO io = {
        [](void* self) { return static_cast<sf_count_t>(of(self).file_.size()); },
        [](sf_count_t offset, int whence, void* self) { return of(self).seek(offset, whence); },
        [](void* to, sf_count_t count, void* self) { return of(self).read(to, count); },
        [](const void*, sf_count_t, void*) { return sf_count_t{0}; },
        [](void* self) { return static_cast<sf_count_t>(of(self).at_); },
    };
    sound_ = sf_open_virtual(&io, SFM_READ, &info_, this);
    if (sound_ == nullptr) fail(c10::str("no sound that libsndfile reads (byte ", at_, "): ", sf_strerror(nullptr)));
    if (info_.channels < 1 || info_.channels > 1024 || info_.samplerate < 1) {
      sf_close(sound_);
      fail(c10::str("a sound of ", info_.channels, " channels at ", info_.samplerate, " Hz (byte ", at_, ")"));
    }
  }
  ~SoundFile() { sf_close(sound_); }
  SoundFile(const SoundFile&) = delete;
  SoundFile& operator=(const SoundFile&) = delete;

  const SF_INFO& info() const { return info_; }

  void seek_frame(int64_t frame) {
    if (sf_seek(sound_, frame, SEEK_SET) != frame)
      fail(c10::str("can't go to frame ", frame, ": ", sf_strerror(sound_)));
  }
  // As many frames as there are, up to `count`.
  int64_t read_frames(float* to, int64_t count) {
    const int64_t got = sf_readf_float(sound_, to, count);
    if (sf_error(sound_) != SF_ERR_NO_ERROR) fail(c10::str("reading failed at byte ", at_, ": ", sf_strerror(sound_)));
    return got;
  }
  [[noreturn]] void fail(const std::string& what) const { serialize::throw_format_error(path_ + ": " + what); }

 private:
  static SoundFile& of(void* self) { return *static_cast<SoundFile*>(self); }
  sf_count_t seek(sf_count_t offset, int whence) {
    const auto size = static_cast<sf_count_t>(file_.size());
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? static_cast<sf_count_t>(at_) : size;
    if (offset < -from || offset > size - from) return -1;
    at_ = static_cast<size_t>(from + offset);
    return static_cast<sf_count_t>(at_);
  }
  sf_count_t read(void* to, sf_count_t count) {
    const size_t n = std::min(static_cast<size_t>(std::max<sf_count_t>(count, 0)), file_.size() - at_);
    if (n > 0) std::memcpy(to, file_.data() + at_, n);
    at_ += n;
    return static_cast<sf_count_t>(n);
  }

  const std::string path_;
  serialize::MappedFile file_;
  size_t at_ = 0;
  SF_INFO info_{};
  SNDFILE* sound_ = nullptr;
};

}  // namespace

Audio read_audio(const std::string& path, int64_t frame_offset, int64_t num_frames) {
  TORCH_CHECK_VALUE(frame_offset >= 0 && num_frames >= -1,
                    "read_audio: expected an offset from 0 and a number of frames from -1 on, but got ", frame_offset,
                    " and ", num_frames);
  SoundFile sound(path);
  const int64_t channels = sound.info().channels, all = sound.info().frames;
  TORCH_CHECK_VALUE(frame_offset <= all, "read_audio: ", path, " has ", all, " frames, none from ", frame_offset,
                    " on");
  const int64_t wanted = num_frames < 0 ? all - frame_offset : std::min(num_frames, all - frame_offset);
  if (frame_offset > 0) sound.seek_frame(frame_offset);
  // In pieces, since the header may promise more than there is.
  const int64_t piece = std::max<int64_t>((1 << 16) / channels, 1);
  std::vector<float> interleaved;
  int64_t frames = 0;
  while (frames < wanted) {
    const int64_t count = std::min(wanted - frames, piece);
    interleaved.resize(static_cast<size_t>((frames + count) * channels));
    const int64_t got = sound.read_frames(interleaved.data() + frames * channels, count);
    frames += got;
    if (got < count)
      sound.fail(c10::str("the sound ends at frame ", frame_offset + frames, ", its header promises ", all));
  }
  at::Tensor waveform = at::empty({channels, frames}, at::kFloat);
  float* const to = waveform.mutable_data_ptr<float>();
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < frames; ++i) to[c * frames + i] = interleaved[static_cast<size_t>(i * channels + c)];
  return {waveform, sound.info().samplerate};
}

AudioFolder::AudioFolder(const std::string& root, std::optional<int64_t> sample_rate)
    : folders_(
          std::make_shared<const ClassFolders>(find_class_folders(root, {".wav", ".flac", ".ogg", ".aiff", ".au"}))),
      sample_rate_(sample_rate) {}

Example<> AudioFolder::get(size_t index) {
  TORCH_CHECK_INDEX(index < samples().size(), "AudioFolder: index ", index, " is out of range for ", samples().size(),
                    " sounds");
  const auto& [path, target] = samples()[index];
  const Audio audio = read_audio(path);
  if (sample_rate_ && audio.sample_rate != *sample_rate_)
    serialize::throw_format_error(c10::str(path, ": a sample rate of ", audio.sample_rate,
                                           " Hz (in its header, at byte 0), expected ", *sample_rate_));
  return {audio.waveform, at::full({}, target, at::TensorOptions(at::kLong))};
}

std::optional<size_t> AudioFolder::size() const { return samples().size(); }

}  // namespace torch::data::datasets
