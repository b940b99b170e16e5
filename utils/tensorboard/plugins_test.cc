// What goes beyond scalars, read back as protobuf and PNG.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "c10/testing/files.h"
#include "utils/tensorboard/plugin.pb.h"
#include "utils/tensorboard/summary_writer.h"
#include "utils/tensorboard/testing.h"

namespace torch::utils::tensorboard {
namespace {

using c10::testing::fresh_folder;
using kindling::tensorboard::CustomScalarLayout;
using kindling::tensorboard::Event;
using kindling::tensorboard::GraphDef;
using kindling::tensorboard::HParamsPluginData;
using kindling::tensorboard::MeshPluginData;
using kindling::tensorboard::PrCurvePluginData;
using kindling::tensorboard::Summary;
using ::testing::ElementsAre;
using testing::events_of;
using ::testing::HasSubstr;

at::Tensor floats(c10::IntArrayRef sizes, const std::vector<float>& values) {
  at::Tensor t = at::empty_contiguous(sizes, c10::ScalarType::Float);
  EXPECT_EQ(static_cast<size_t>(t.numel()), values.size());
  std::copy(values.begin(), values.end(), t.data_ptr<float>());
  return t;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) out.push_back(entry.path().filename().string());
  return out;
}

// The pixels as RGB.
std::vector<int> pixels_of(const std::string& png, int* height, int* width) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, png.data(), png.size()), 0);
  image.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> bytes(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr), 0);
  *height = static_cast<int>(image.height);
  *width = static_cast<int>(image.width);
  return {bytes.begin(), bytes.end()};
}

Summary::Value first_value(const SummaryWriter& writer, size_t event = 1) {
  const std::vector<Event> events = events_of(writer.path());
  EXPECT_GT(events.size(), event);
  return events.at(event).summary().value(0);
}

TEST(Images, AreWrittenAsPng) {
  SummaryWriter writer(fresh_folder());
  // Red, and green with too much of it.
  writer.add_image("i", floats({3, 1, 2}, {1, 0, 0, 2, 0, -1}), 7);
  writer.add_image("hw", floats({1, 2}, {0.5f, NAN}), 8, -1, "HW");
  writer.flush();
  const auto image = first_value(writer).image();
  EXPECT_EQ(image.height(), 1);
  EXPECT_EQ(image.width(), 2);
  EXPECT_EQ(image.colorspace(), 3);
  int height = 0, width = 0;
  EXPECT_THAT(pixels_of(image.encoded_image_string(), &height, &width), ElementsAre(255, 0, 0, 0, 255, 0));
  EXPECT_THAT(pixels_of(first_value(writer, 2).image().encoded_image_string(), &height, &width),
              ElementsAre(127, 127, 127, 0, 0, 0));
  EXPECT_EQ(events_of(writer.path())[1].step(), 7);
  EXPECT_THROW(writer.add_image("i", floats({2, 1, 1}, {1, 0})), c10::ValueError);
  EXPECT_THROW(writer.add_image("i", floats({1, 1}, {1})), c10::ValueError);
  EXPECT_THROW(writer.add_image("i", floats({3, 1, 0}, {})), c10::ValueError);
  EXPECT_THROW(writer.add_image("i", at::Tensor()), c10::ValueError);
}

TEST(Images, StandInAGridOfEightColumns) {
  SummaryWriter writer(fresh_folder());
  at::Tensor bytes = at::empty_contiguous({9, 1, 1, 1}, c10::ScalarType::Byte);
  for (int i = 0; i < 9; ++i) bytes.data_ptr<uint8_t>()[i] = static_cast<uint8_t>(10 + i);
  writer.add_images("grid", bytes);
  writer.flush();
  int height = 0, width = 0;
  const auto pixels = pixels_of(first_value(writer).image().encoded_image_string(), &height, &width);
  EXPECT_EQ(height, 2);
  EXPECT_EQ(width, 8);
  EXPECT_EQ(pixels[0], 10);
  EXPECT_EQ(pixels[7 * 3], 17);
  EXPECT_EQ(pixels[8 * 3], 18);
  EXPECT_EQ(pixels[9 * 3], 0);
}

TEST(Audio, IsWrittenAsWav) {
  SummaryWriter writer(fresh_folder());
  EXPECT_THROW(writer.add_audio("a", floats({2, 2}, {0, 1, 2, 3})), c10::ValueError);
  EXPECT_THROW(writer.add_audio("a", floats({}, {1})), c10::ValueError);
  writer.add_audio("a", floats({1, 3}, {0, 1, -2}), 1, 8000);
  writer.flush();
  const auto audio = first_value(writer).audio();
  EXPECT_EQ(audio.sample_rate(), 8000);
  EXPECT_EQ(audio.length_frames(), 3);
  EXPECT_EQ(audio.encoded_audio_string().substr(36),
            std::string("data\x06\0\0\0", 8) + std::string("\0\0\xff\x7f\x01\x80", 6));
}

// numpy.histogram of [0, 1, 1, -3] in TensorFlow's ranges.
TEST(Histograms, OfTensorsHaveGrowingRanges) {
  SummaryWriter writer(fresh_folder());
  writer.add_histogram("h", floats({2, 2}, {0, 1, 1, -3}), 5);
  writer.add_histogram_raw("raw", 0, 2, 3, 4, 5, std::vector<double>{1, 2}, std::vector<double>{2, 1});
  writer.flush();
  const auto h = first_value(writer).histogram();
  EXPECT_EQ(h.min(), -3);
  EXPECT_EQ(h.max(), 1);
  EXPECT_EQ(h.num(), 4);
  EXPECT_EQ(h.sum(), -1);
  EXPECT_EQ(h.sum_squares(), 11);
  ASSERT_EQ(h.bucket_limit_size(), h.bucket_size());
  EXPECT_EQ(h.bucket(0), 0);
  EXPECT_EQ(h.bucket(1), 1);
  EXPECT_LE(h.bucket_limit(0), -3);
  EXPECT_GE(h.bucket_limit(1), -3);
  EXPECT_EQ(h.bucket(h.bucket_size() - 1), 2);
  EXPECT_NEAR(h.bucket_limit(1) / h.bucket_limit(0), 1 / 1.1, 1e-9);
  double total = 0;
  for (const double n : h.bucket()) total += n;
  EXPECT_EQ(total, 4);
  EXPECT_THAT(first_value(writer, 2).histogram().bucket(), ElementsAre(2, 1));
  EXPECT_THROW(writer.add_histogram("h", floats({0}, {})), c10::ValueError);
  EXPECT_THROW(writer.add_histogram("h", floats({1}, {NAN})), c10::ValueError);
  EXPECT_THROW(writer.add_histogram("h", floats({1}, {1}), 0, "fd"), c10::ValueError);
  EXPECT_THROW(writer.add_histogram_raw("h", 0, 0, 0, 0, 0, std::vector<double>{1}, {}), c10::ValueError);
}

TEST(PrCurve, CountsAtEveryThreshold) {
  SummaryWriter writer(fresh_folder());
  writer.add_pr_curve("pr", floats({4}, {1, 0, 1, 0}), floats({4}, {0.9f, 0.6f, 0.4f, 0.1f}), 2, 3);
  writer.flush();
  const auto value = first_value(writer);
  PrCurvePluginData about;
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "pr_curves");
  ASSERT_TRUE(about.ParseFromString(value.metadata().plugin_data().content()));
  EXPECT_EQ(about.num_thresholds(), 3u);
  EXPECT_EQ(value.tensor().shape().dim(0).size(), 6);
  EXPECT_EQ(value.tensor().shape().dim(1).size(), 3);
  const std::vector<float> rows(value.tensor().float_val().begin(), value.tensor().float_val().end());
  EXPECT_THAT(rows, ElementsAre(2, 1, 0,      // true positives
                                2, 1, 0,      // false positives
                                0, 1, 2,      // true negatives
                                0, 1, 2,      // false negatives
                                0.5, 0.5, 0,  // precision
                                1, 0.5, 0));  // recall
  const at::Tensor two = floats({2}, {2, 1}), shares = floats({2}, {1, 0.5f});
  writer.add_pr_curve_raw("raw", two, two, two, two, shares, shares, 4, 2);
  writer.flush();
  const auto raw = first_value(writer, 2);
  ASSERT_TRUE(about.ParseFromString(raw.metadata().plugin_data().content()));
  EXPECT_EQ(about.num_thresholds(), 2u);
  EXPECT_EQ(raw.tensor().shape().dim(1).size(), 2);
  EXPECT_THAT(raw.tensor().float_val(), ElementsAre(2, 1, 2, 1, 2, 1, 2, 1, 1, 0.5f, 1, 0.5f));
  EXPECT_THROW(writer.add_pr_curve_raw("raw", two, two, two, two, shares, floats({1}, {1})), c10::ValueError);
  EXPECT_THROW(writer.add_pr_curve("pr", floats({1}, {1}), floats({1}, {1.5f})), c10::ValueError);
  EXPECT_THROW(writer.add_pr_curve("pr", floats({1}, {1}), floats({2}, {1, 0})), c10::ValueError);
}

TEST(Mesh, HasOneValueAComponent) {
  SummaryWriter writer(fresh_folder());
  writer.add_mesh("m", floats({1, 2, 3}, {0, 0, 0, 1, 2, 3}), at::Tensor(), floats({1, 1, 3}, {0, 1, 0}));
  writer.flush();
  const std::vector<Event> events = events_of(writer.path());
  ASSERT_EQ(events[1].summary().value_size(), 2);
  EXPECT_EQ(events[1].summary().value(0).tag(), "m_VERTEX");
  const auto& faces = events[1].summary().value(1);
  EXPECT_EQ(faces.tag(), "m_FACE");
  MeshPluginData about;
  ASSERT_TRUE(about.ParseFromString(faces.metadata().plugin_data().content()));
  EXPECT_EQ(about.name(), "m");
  EXPECT_EQ(about.content_type(), MeshPluginData::FACE);
  EXPECT_EQ(about.components(), 1u << MeshPluginData::VERTEX | 1u << MeshPluginData::FACE);
  EXPECT_THAT(about.shape(), ElementsAre(1, 1, 3));
  EXPECT_THAT(faces.tensor().float_val(), ElementsAre(0, 1, 0));
  EXPECT_THROW(writer.add_mesh("m", floats({3}, {0, 0, 0}), at::Tensor(), at::Tensor()), c10::ValueError);
}

TEST(CustomScalars, AreALayout) {
  SummaryWriter writer(fresh_folder());
  writer.add_custom_scalars({{"losses",
                              {{"both", CustomChart::Kind::kMultiline, {"loss/.*"}},
                               {"band", CustomChart::Kind::kMargin, {"mean", "low", "high"}}}}});
  writer.flush();
  const auto value = first_value(writer);
  EXPECT_EQ(value.tag(), "custom_scalars__config__");
  CustomScalarLayout layout;
  ASSERT_TRUE(layout.ParseFromString(value.tensor().string_val(0)));
  ASSERT_EQ(layout.category(0).chart_size(), 2);
  EXPECT_EQ(layout.category(0).chart(0).multiline().tag(0), "loss/.*");
  EXPECT_EQ(layout.category(0).chart(1).margin().series(0).lower(), "low");
  EXPECT_THROW(writer.add_custom_scalars_marginchart({"one"}), c10::ValueError);
}

TEST(HParams, AreARunOfTheirOwn) {
  SummaryWriter writer(fresh_folder());
  writer.add_hparams({{"lr", 0.5}, {"batch", 32}, {"nesterov", true}, {"optimizer", "sgd"}},
                     {{"hparam/accuracy", 0.75}}, "first");
  const std::string folder = writer.get_logdir() + "/first";
  const std::vector<std::string> files = files_in(folder);
  ASSERT_EQ(files.size(), 1u);
  const std::vector<Event> events = events_of(folder + "/" + files[0]);
  ASSERT_EQ(events.size(), 5u);
  HParamsPluginData experiment, start, end;
  const auto content = [&](size_t i) { return events[i].summary().value(0).metadata().plugin_data().content(); };
  ASSERT_TRUE(experiment.ParseFromString(content(1)) && start.ParseFromString(content(2)) &&
              end.ParseFromString(content(3)));
  EXPECT_EQ(events[1].summary().value(0).tag(), "_hparams_/experiment");
  EXPECT_EQ(experiment.experiment().hparam_infos(0).name(), "lr");
  EXPECT_EQ(experiment.experiment().hparam_infos(2).type(), HParamsPluginData::BOOL);
  EXPECT_EQ(experiment.experiment().metric_infos(0).name().tag(), "hparam/accuracy");
  EXPECT_EQ(start.session_start().hparams().at("batch").number_value(), 32);
  EXPECT_EQ(start.session_start().hparams().at("optimizer").string_value(), "sgd");
  EXPECT_EQ(end.session_end().status(), HParamsPluginData::SessionEnd::SUCCESS);
  EXPECT_EQ(events[4].summary().value(0).simple_value(), 0.75f);
}

TEST(HParams, SayWhichValuesTheyCanTake) {
  SummaryWriter writer(fresh_folder());
  writer.add_hparams({{"lr", 0.5}, {"nesterov", true}, {"optimizer", "sgd"}, {"seed", std::nullopt}}, {{"m", 1}},
                     {{"lr", {0.5, 0.25}}, {"nesterov", {true, false}}, {"optimizer", {"sgd", "adam"}}}, "r", 7);
  const std::string folder = writer.get_logdir() + "/r";
  const std::vector<Event> events = events_of(folder + "/" + files_in(folder).at(0));
  HParamsPluginData experiment, start;
  const auto content = [&](size_t i) { return events.at(i).summary().value(0).metadata().plugin_data().content(); };
  ASSERT_TRUE(experiment.ParseFromString(content(1)) && start.ParseFromString(content(2)));
  for (size_t i = 1; i < events.size(); ++i) EXPECT_EQ(events[i].step(), 7);
  const auto& infos = experiment.experiment().hparam_infos();
  ASSERT_EQ(infos.size(), 4);
  EXPECT_EQ(infos[0].domain_discrete().values(1).number_value(), 0.25);
  EXPECT_FALSE(infos[1].domain_discrete().values(1).bool_value());
  EXPECT_EQ(infos[2].domain_discrete().values(1).string_value(), "adam");
  EXPECT_EQ(infos[3].type(), HParamsPluginData::UNSET);
  EXPECT_FALSE(infos[3].has_domain_discrete());
  EXPECT_EQ(start.session_start().hparams().count("seed"), 0u);
  EXPECT_THROW(writer.add_hparams({{"lr", 0.5}}, {}, HParamDomain{{"lr", {"a"}}}), c10::TypeError);
  EXPECT_THROW(writer.add_hparams({{"lr", 0.5}}, {}, HParamDomain{{"momentum", {0.5}}}), c10::TypeError);
}

TEST(Scalars, OfOneChartHaveFilesOfTheirOwn) {
  SummaryWriter writer(fresh_folder());
  writer.add_scalars("loss", {{"train", 1}, {"test", 2}}, 3);
  writer.add_scalars("loss", {{"train", 0.5}}, 4);
  writer.flush();
  const std::string folder = writer.get_logdir() + "/loss_train";
  const std::vector<Event> events = events_of(folder + "/" + files_in(folder).at(0));
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].summary().value(0).tag(), "loss");
  EXPECT_EQ(events[2].summary().value(0).simple_value(), 0.5f);
}

TEST(Embeddings, StandBesideTheEventFile) {
  SummaryWriter writer(fresh_folder());
  const std::vector<std::string> labels = {"one", "two\tand more"};
  writer.add_embedding(floats({2, 2}, {1, 2, 3, 4.5}), labels, floats({2, 1, 1, 1}, {0, 1}), 3, "a/b");
  writer.add_embedding(floats({1, 1}, {1}));
  const std::string folder = writer.get_logdir();
  EXPECT_EQ(c10::testing::read_file(folder + "/00003/a%2fb/tensors.tsv"), "1\t2\n3\t4.5\n");
  EXPECT_EQ(c10::testing::read_file(folder + "/00003/a%2fb/metadata.tsv"), "one\ntwo and more\n");
  int height = 0, width = 0;
  pixels_of(c10::testing::read_file(folder + "/00003/a%2fb/sprite.png"), &height, &width);
  EXPECT_EQ(height, 2);
  EXPECT_EQ(width, 2);
  const std::string config = c10::testing::read_file(folder + "/projector_config.pbtxt");
  EXPECT_THAT(config, HasSubstr("tensor_name: \"a/b:00003\""));
  EXPECT_THAT(config, HasSubstr("tensor_path: \"00000/default/tensors.tsv\""));
  EXPECT_THROW(writer.add_embedding(floats({1}, {1})), c10::ValueError);
  EXPECT_THROW(writer.add_embedding(floats({1, 1}, {1}), labels), c10::ValueError);
  writer.add_embedding(floats({2, 1}, {1, 2}), {{"a", "x y"}, {"b", "z\tw"}}, {"name", "kind"}, 4);
  EXPECT_EQ(c10::testing::read_file(folder + "/00004/default/metadata.tsv"), "name\tkind\na\tx y\nb\tz w\n");
  EXPECT_THROW(writer.add_embedding(floats({2, 1}, {1, 2}), {{"a", "x"}, {"b"}}, {"name", "kind"}), c10::ValueError);
  EXPECT_THROW(writer.add_embedding(floats({1, 1}, {1}), {{"a"}, {"b"}}, {"name"}), c10::ValueError);
}

struct Scale {
  at::Tensor weight = floats({2}, {1, 2}).set_requires_grad(true);
  struct Item {
    at::Tensor tensor;
    std::string key() const { return "layer.weight"; }
    at::Tensor value() const { return tensor; }
  };
  std::vector<at::Tensor> parameters() const { return {weight}; }
  std::vector<Item> named_parameters() const { return {{weight}}; }
  at::Tensor forward(const at::Tensor& input) const { return at::add(at::mul(weight, input), weight); }
};

TEST(Graph, ShowsOperationsAndParameters) {
  SummaryWriter writer(fresh_folder());
  Scale model;
  writer.add_graph(model, floats({2}, {3, 4}));
  writer.flush();
  GraphDef graph;
  ASSERT_TRUE(graph.ParseFromString(events_of(writer.path()).at(1).graph_def()));
  ASSERT_EQ(graph.node_size(), 4);
  EXPECT_EQ(graph.node(0).name(), "layer/weight");
  EXPECT_EQ(graph.node(0).op(), "Parameter");
  EXPECT_EQ(graph.node(0).attr().at("_output_shapes").list().shape(0).dim(0).size(), 2);
  EXPECT_EQ(graph.node(1).op(), "Mul");
  EXPECT_THAT(graph.node(1).input(), ElementsAre("layer/weight"));
  EXPECT_THAT(graph.node(2).input(), ElementsAre("Mul_0", "layer/weight"));
  EXPECT_THAT(graph.node(3).input(), ElementsAre("Add_0"));
  const at::Tensor plain = floats({1}, {1});
  EXPECT_THROW(writer.add_graph({plain}, {}), c10::ValueError);
}

}  // namespace
}  // namespace torch::utils::tensorboard
