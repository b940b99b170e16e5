// Images and sounds as data sets.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/testing/files.h"
#include "c10/util/exception.h"
#include "data/datasets/audio.h"
#include "data/datasets/image_folder.h"
#include "data/transforms/transforms.h"
#include "utils/serialize/file_error.h"

namespace torch::data::datasets {
namespace {

using c10::testing::fresh_folder;
using c10::testing::read_file;
using c10::testing::write_file;
using serialize::FormatError;
using serialize::IoError;

template <class E, class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const E& e) {
    return e.msg();
  } catch (const std::exception& e) {
    return std::string("another exception: ") + e.what();
  }
  return "nothing was thrown";
}
#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// Pictures of 7 x 5 pixels, drawn by another program.
std::string file_of(const std::string& name) { return read_file("data/testdata/" + name); }
at::Tensor image(const std::string& name, ImageMode mode = ImageMode::kRGB) {
  return read_image("data/testdata/" + name, mode);
}

int at_pixel(const at::Tensor& image, int64_t c, int64_t y, int64_t x) {
  return image.data_ptr<uint8_t>()[(c * image.size(1) + y) * image.size(2) + x];
}
std::vector<int> colour(int64_t y, int64_t x) {
  return {static_cast<int>(30 * x + 10), static_cast<int>(40 * y + 20), static_cast<int>((x * y * 9 + 5) % 256)};
}

TEST(Png, IsReadInEveryForm) {
  for (const char* name : {"rgb.png", "rgba.png"}) {
    const at::Tensor rgb = image(name);
    ASSERT_EQ(rgb.sizes(), (at::IntArrayRef{3, 5, 7})) << name;
    for (int64_t y = 0; y < 5; ++y)
      for (int64_t x = 0; x < 7; ++x)
        for (int64_t c = 0; c < 3; ++c) EXPECT_EQ(at_pixel(rgb, c, y, x), colour(y, x)[static_cast<size_t>(c)]);
  }
  const at::Tensor rgba = image("rgba.png", ImageMode::kUnchanged);
  ASSERT_EQ(rgba.size(0), 4);
  EXPECT_EQ(at_pixel(rgba, 3, 2, 2), 100);
  EXPECT_EQ(at_pixel(image("palette.png"), 0, 0, 1), 200);
  EXPECT_EQ(at_pixel(image("palette.png"), 1, 1, 1), 255);
  const at::Tensor gray = image("gray.png", ImageMode::kUnchanged);
  ASSERT_EQ(gray.sizes(), (at::IntArrayRef{1, 5, 7}));
  EXPECT_EQ(at_pixel(gray, 0, 0, 2), 33);
  EXPECT_EQ(at_pixel(image("gray.png"), 2, 0, 2), 33);
  EXPECT_NEAR(at_pixel(image("rgb.png", ImageMode::kGray), 0, 1, 0), 39, 1);
  EXPECT_EQ(at_pixel(image("bits.png", ImageMode::kGray), 0, 0, 1), 255);
  EXPECT_EQ(at_pixel(image("bits.png", ImageMode::kGray), 0, 0, 2), 0);
  EXPECT_EQ(at_pixel(image("gray16.png", ImageMode::kGray), 0, 0, 1), 7);  // 1800 of 65535
}

TEST(Jpeg, IsReadInEveryForm) {
  struct Case {
    const char* name;
    std::vector<int> first;  // pixels
  };
  const Case cases[] = {
      {"rgb.jpg", {10, 18, 5, 41, 19, 6, 67, 21, 5, 99, 20, 5}},
      {"subsampled.jpg", {14, 20, 0, 33, 27, 0, 57, 25, 0, 86, 28, 8}},
      {"progressive.jpg", {14, 20, 0, 33, 27, 0, 57, 25, 0, 86, 28, 8}},
      {"cmyk.jpg", {10, 20, 4, 39, 20, 4, 71, 20, 5, 100, 20, 5}},
  };
  for (const Case& c : cases) {
    const at::Tensor rgb = image(c.name);
    ASSERT_EQ(rgb.sizes(), (at::IntArrayRef{3, 5, 7})) << c.name;
    for (int64_t i = 0; i < 12; ++i)
      EXPECT_NEAR(at_pixel(rgb, i % 3, 0, i / 3), c.first[static_cast<size_t>(i)], 2) << c.name;
  }
  const at::Tensor gray = image("gray.jpg", ImageMode::kUnchanged);
  ASSERT_EQ(gray.size(0), 1);
  for (const auto& [x, value] : {std::pair<int64_t, int>{0, 14}, {3, 42}, {6, 70}})
    EXPECT_NEAR(at_pixel(gray, 0, 0, x), value, 2);
  EXPECT_EQ(image("gray.jpg").size(0), 3);
  EXPECT_EQ(image("rgb.jpg", ImageMode::kGray).size(0), 1);
  EXPECT_EQ(image("cmyk.jpg", ImageMode::kUnchanged).size(0), 4);
  EXPECT_NEAR(at_pixel(image("cmyk.jpg", ImageMode::kGray), 0, 0, 3), 42, 3);
}

const std::vector<std::string> kNames = {"rgb.png",         "rgba.png",   "gray.png", "palette.png",
                                         "bits.png",        "gray16.png", "rgb.jpg",  "subsampled.jpg",
                                         "progressive.jpg", "gray.jpg",   "cmyk.jpg"};

TEST(Images, CutShortAreErrors) {
  for (const std::string& name : kNames) {
    const std::string good = file_of(name);
    for (size_t n = 0; n < good.size() - 2; ++n) {
      const std::string text = message<FormatError>([&] { decode_image(good.substr(0, n), ImageMode::kRGB, name); });
      ASSERT_EQ(text.rfind(name, 0), 0u) << text << " at " << n;
      ASSERT_NE(text.find("byte "), std::string::npos) << text;
    }
  }
}

TEST(Images, DamagedDoNoHarm) {
  std::mt19937 random(1);
  for (const std::string& name : kNames) {
    const std::string good = file_of(name);
    for (int i = 0; i < 300; ++i) {
      std::string bad = good;
      for (int k = 0; k < 1 + i % 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
      const std::string text = message<FormatError>([&] { decode_image(bad, ImageMode::kRGB, name); });
      EXPECT_EQ(text.find("another exception"), std::string::npos) << text;
    }
  }
}

TEST(Images, HeadersThatPromiseTooMuchCostNothing) {
  c10::reset_peak_cpu_memory_stats();
  std::string jpeg = file_of("rgb.jpg");
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  for (size_t i = 5; i < 9; ++i) jpeg[frame + i] = '\xfe';  // height and width
  EXPECT_HAS(message<FormatError>([&] { decode_image(jpeg); }), "claims 65278 x 65278 pixels");
  // A PNG of the same kind needs its checksum: libpng looks at it first.
  EXPECT_HAS(message<FormatError>([&] {
               decode_image(std::string(
                   "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0\0\0\0\0\0\0", 33));
             }),
             "damaged PNG image");
  EXPECT_LT(c10::cpu_memory_stats().peak_allocated_bytes, 1 << 20);
  EXPECT_HAS(message<FormatError>([] { decode_image("GIF89a"); }), "neither a JPEG nor a PNG");
  EXPECT_HAS(message<IoError>([] { read_image("/nowhere.png"); }), "/nowhere.png");
}

TEST(ImageFolder, FindsClasses) {
  const std::string root = fresh_folder();
  for (const char* folder : {"/dog", "/cat", "/cat/more"}) mkdir((root + folder).c_str(), 0700);
  write_file(root + "/cat/b.PNG", file_of("rgb.png"));
  write_file(root + "/cat/a.jpeg", file_of("rgb.jpg"));
  write_file(root + "/cat/more/c.jpg", file_of("gray.jpg"));
  write_file(root + "/cat/notes.txt", "x");
  write_file(root + "/dog/d.png", file_of("gray.png"));
  ImageFolder images(root);
  EXPECT_EQ(images.classes(), (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(*images.size(), 4u);
  EXPECT_EQ(images.samples()[0].first, root + "/cat/a.jpeg");
  EXPECT_EQ(images.get(3).target.item<int64_t>(), 1);
  EXPECT_EQ(images.map(transforms::Stack<>()).get_batch({0, 1, 2, 3}).data.sizes(), (at::IntArrayRef{4, 3, 5, 7}));
  EXPECT_THROW(images.get(4), c10::IndexError);
  mkdir((root + "/fish").c_str(), 0700);
  EXPECT_HAS(message<IoError>([&] { ImageFolder again(root); }), "Found no valid file for the class fish");
  EXPECT_HAS(message<IoError>([&] { ImageFolder again(root + "/fish"); }), "Couldn't find any class folder");
  EXPECT_HAS(message<IoError>([&] { ImageFolder again(root + "/nowhere"); }), root + "/nowhere");
}

// --- sounds ---

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// 16 bits, little-endian, frame by frame.
std::string wav(uint16_t channels, uint32_t rate, const std::vector<int16_t>& samples, uint32_t promised = 0) {
  const auto size = promised != 0 ? promised : static_cast<uint32_t>(samples.size() * 2);
  std::string bytes = "RIFF";
  append<uint32_t>(bytes, 36 + size);
  bytes += "WAVEfmt ";
  append<uint32_t>(bytes, 16);
  append<uint16_t>(bytes, 1);
  append<uint16_t>(bytes, channels);
  append<uint32_t>(bytes, rate);
  append<uint32_t>(bytes, rate * channels * 2);
  append<uint16_t>(bytes, static_cast<uint16_t>(channels * 2));
  append<uint16_t>(bytes, 16);
  bytes += "data";
  append<uint32_t>(bytes, size);
  for (const int16_t s : samples) append(bytes, s);
  return bytes;
}

TEST(Audio, ReadsFramesAsChannels) {
  const std::string path = fresh_folder() + "/a.wav";
  write_file(path, wav(2, 8000, {0, 16384, -16384, 8192, 32767, -32768}));
  const Audio audio = read_audio(path);
  EXPECT_EQ(audio.sample_rate, 8000);
  ASSERT_EQ(audio.waveform.sizes(), (at::IntArrayRef{2, 3}));
  const float expected[] = {0, -0.5f, 32767.0f / 32768, 0.5f, 0.25f, -1};
  for (size_t i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(audio.waveform.data_ptr<float>()[i], expected[i]);
  EXPECT_FLOAT_EQ(read_audio(path, 1, 1).waveform.data_ptr<float>()[1], 0.25f);
  EXPECT_EQ(read_audio(path, 1, 100).waveform.size(1), 2);
  EXPECT_EQ(read_audio(path, 3).waveform.size(1), 0);
  EXPECT_THROW(read_audio(path, 4), c10::ValueError);
  EXPECT_THROW(read_audio(path, -1), c10::ValueError);
}

TEST(Audio, SaysWhatIsWrong) {
  const std::string root = fresh_folder(), path = root + "/a.wav";
  const auto read = [&] { read_audio(path); };
  EXPECT_HAS(message<IoError>(read), path);
  write_file(path, "RIFFxx");
  EXPECT_HAS(message<FormatError>(read), path + ": no sound that libsndfile reads (byte ");
  c10::reset_peak_cpu_memory_stats();
  write_file(path, wav(1, 8000, {1, 2, 3}, 0x7ffffff0));
  const std::string text = message<FormatError>(read);  // libsndfile may cut the number down itself
  EXPECT_EQ(text.find("another exception"), std::string::npos) << text;
  EXPECT_LT(c10::cpu_memory_stats().peak_allocated_bytes, 1 << 20);
  const std::string good = wav(2, 8000, std::vector<int16_t>(100, 7));
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    std::string bad = good;
    bad[random() % 60] = static_cast<char>(random());
    write_file(path, bad);
    EXPECT_EQ(message<FormatError>(read).find("another exception"), std::string::npos);
  }
}

TEST(AudioFolder, FindsClasses) {
  const std::string root = fresh_folder();
  for (const char* word : {"/no", "/yes"}) {
    mkdir((root + word).c_str(), 0700);
    write_file(root + word + "/1.wav", wav(1, 16000, {1, 2, 3}));
  }
  AudioFolder sounds(root, 16000);
  EXPECT_EQ(sounds.classes(), (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(sounds.get(1).target.item<int64_t>(), 1);
  EXPECT_EQ(sounds.get(1).data.sizes(), (at::IntArrayRef{1, 3}));
  EXPECT_HAS(message<FormatError>([&] { AudioFolder(root, 8000).get(0); }), "a sample rate of 16000 Hz");
}

}  // namespace
}  // namespace torch::data::datasets
