// Data sets from files: CIFAR, tables, lines of text and tokenisers.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/testing/files.h"
#include "c10/util/exception.h"
#include "data/datasets/cifar.h"
#include "data/datasets/csv.h"
#include "data/datasets/text_lines.h"
#include "data/text/tokenizers.h"
#include "data/transforms/transforms.h"
#include "utils/serialize/file_error.h"

namespace torch::data {
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

// --- CIFAR ---

std::string cifar_images(int labels, std::initializer_list<int> classes) {
  std::string bytes;
  for (const int c : classes) {
    if (labels == 2) bytes += static_cast<char>(c / 5);
    bytes += static_cast<char>(c);
    for (int i = 0; i < 3072; ++i) bytes += static_cast<char>(i + c);
  }
  return bytes;
}

TEST(CIFAR, ReadsBatches) {
  const std::string root = fresh_folder();
  for (int i = 1; i <= 5; ++i) write_file(root + "/data_batch_" + std::to_string(i) + ".bin", cifar_images(1, {i, 9}));
  write_file(root + "/test_batch.bin", cifar_images(1, {7}));
  datasets::CIFAR10 train(root), test(root, datasets::CIFAR10::Mode::kTest);
  EXPECT_EQ(*train.size(), 10u);
  EXPECT_TRUE(train.is_train());
  EXPECT_EQ(train.images().sizes(), (at::IntArrayRef{10, 3, 32, 32}));
  const Example<> third = train.get(2);
  EXPECT_EQ(third.target.item<int64_t>(), 2);
  EXPECT_EQ(third.data.sizes(), (at::IntArrayRef{3, 32, 32}));
  EXPECT_FLOAT_EQ(third.data.data_ptr<float>()[40], 42.0f / 255);
  EXPECT_EQ(test.get(0).target.item<int64_t>(), 7);
  EXPECT_THROW(test.get(1), c10::IndexError);
  EXPECT_EQ(datasets::CIFAR10::classes()[9], "truck");
  EXPECT_EQ(train.map(transforms::Stack<>()).get_batch({0, 1}).data.sizes(), (at::IntArrayRef{2, 3, 32, 32}));
  write_file(root + "/train.bin", cifar_images(2, {99, 3}));
  datasets::CIFAR100 fine(root), coarse(root, datasets::CIFAR100::Mode::kTrain, true);
  EXPECT_EQ(fine.get(0).target.item<int64_t>(), 99);
  EXPECT_EQ(coarse.get(0).target.item<int64_t>(), 19);
  EXPECT_FLOAT_EQ(fine.get(1).data.data_ptr<float>()[0], 3.0f / 255);
}

TEST(CIFAR, SaysWhatIsWrong) {
  const std::string root = fresh_folder();
  const auto test = [&] { datasets::CIFAR10(root, datasets::CIFAR10::Mode::kTest); };
  EXPECT_HAS(message<IoError>(test), "fetch cifar-10-binary.tar.gz of CIFAR-10");
  EXPECT_HAS(message<IoError>(test), "unpack it in " + root);
  write_file(root + "/test_batch.bin", cifar_images(1, {3, 10}));
  EXPECT_HAS(message<FormatError>(test), "the label of image 1, at byte 3073, is 10, expected one below 10");
  write_file(root + "/test_batch.bin", cifar_images(1, {3}) + "x");
  EXPECT_HAS(message<FormatError>(test), "the file ends at byte 3074");
  write_file(root + "/test_batch.bin", "");
  EXPECT_HAS(message<FormatError>(test), root + "/test_batch.bin");
  write_file(root + "/train.bin", std::string("\x14", 1) + cifar_images(2, {1}).substr(1));
  EXPECT_HAS(message<FormatError>([&] { datasets::CIFAR100 set(root); }), "at byte 0, is 20, expected one below 20");
}

// --- tables ---

std::string table(const std::string& text) {
  const std::string path = fresh_folder() + "/table.csv";
  write_file(path, text);
  return path;
}

TEST(Csv, ReadsNumbersAndTexts) {
  const std::string path = table("\xef\xbb\xbfx,\"y, z\",t\r\n1, 2.5 ,-3e2\r\n\r\n4,+5,\"6\"\n7,8,9");
  const datasets::CsvTable numbers = datasets::read_csv(path);
  EXPECT_EQ(numbers.names, (std::vector<std::string>{"x", "y, z", "t"}));
  ASSERT_EQ(numbers.values.sizes(), (at::IntArrayRef{3, 3}));
  const double expected[] = {1, 2.5, -300, 4, 5, 6, 7, 8, 9};
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(numbers.values.data_ptr<double>()[i], expected[i]);
  const datasets::CsvTexts texts = datasets::read_csv_texts(table("a;b\n\"say \"\"hi\"\"\";\"two\nlines\"\n;\n"),
                                                            datasets::CsvOptions().delimiter(';'));
  EXPECT_EQ(texts.rows, (std::vector<std::vector<std::string>>{{"say \"hi\"", "two\nlines"}, {"", ""}}));
  EXPECT_EQ(datasets::read_csv(table("1,2\n3,4\n"), datasets::CsvOptions().header(false)).values.sizes(),
            (at::IntArrayRef{2, 2}));
  EXPECT_EQ(datasets::read_csv(table("")).values.numel(), 0);
  EXPECT_EQ(datasets::read_csv(table("a,b\n")).values.sizes(), (at::IntArrayRef{0, 2}));
  EXPECT_TRUE(std::isnan(
      datasets::read_csv(table("a,b\n1,\n"), datasets::CsvOptions().missing(NAN)).values.data_ptr<double>()[1]));
}

TEST(Csv, IsADataset) {
  const std::string path = table("price,rooms,area\n10,1,30\n20,2,60\n");
  datasets::CSVDataset houses(path, "price"), last(path);
  EXPECT_EQ(*houses.size(), 2u);
  EXPECT_EQ(houses.names(), (std::vector<std::string>{"rooms", "area"}));
  EXPECT_EQ(houses.get(1).target.item<float>(), 20);
  EXPECT_EQ(houses.get(1).data.data_ptr<float>()[1], 60);
  EXPECT_EQ(last.get(0).target.item<float>(), 30);
  EXPECT_EQ(last.get(0).data.data_ptr<float>()[0], 10);
  EXPECT_THROW(houses.get(2), c10::IndexError);
  EXPECT_THROW(datasets::CSVDataset(path, "colour"), c10::ValueError);
  EXPECT_THROW(datasets::CSVDataset(path, 3), c10::ValueError);
}

TEST(Csv, SaysWhereItIsWrong) {
  const auto wrong = [&](const std::string& text) {
    return message<FormatError>([&] { datasets::read_csv(table(text)); });
  };
  EXPECT_HAS(wrong("a,b\n1,2\n3\n"), "table.csv:3: expected 2 fields, but got 1 (row from byte 8 on)");
  EXPECT_HAS(wrong("a,b\n1,two\n"), "table.csv:2: field 2 is no number: \"two\"");
  EXPECT_HAS(wrong("a,b\n1,\n"), "field 2 is empty");
  EXPECT_HAS(wrong("a,b\n1,1e999\n"), "field 2 is no number");
  EXPECT_HAS(wrong("a,b\n1,\"2\n"), "a quote that does not close (byte 6)");
  EXPECT_HAS(wrong("a,b\n1,\"2\"3\n"), "text behind a closing quote (byte 9)");
  EXPECT_HAS(message<IoError>([] { datasets::read_csv("/nowhere.csv"); }), "/nowhere.csv");
}

// --- texts ---

TEST(TextLines, HaveNoEnds) {
  const std::string path = fresh_folder() + "/lines.txt";
  write_file(path, "one\r\n\ntwo \xc3\xa9\nlast");
  datasets::TextLines lines(path);
  ASSERT_EQ(*lines.size(), 4u);
  EXPECT_EQ(lines.get_batch({0, 1, 2, 3}), (std::vector<std::string>{"one", "", "two \xc3\xa9", "last"}));
  EXPECT_THROW(lines.get(4), c10::IndexError);
  write_file(path, "");
  EXPECT_EQ(*datasets::TextLines(path).size(), 0u);
  EXPECT_THROW(datasets::TextLines("/nowhere.txt"), IoError);
}

TEST(ByteTokenizer, GivesBytes) {
  const text::ByteTokenizer t;
  EXPECT_EQ(t.encode("A\xff"), (std::vector<int64_t>{65, 255}));
  EXPECT_EQ(t.decode({104, 105}), "hi");
  EXPECT_THROW(t.decode({256}), c10::ValueError);
}

TEST(BPETokenizer, SplitsAsGpt2) {
  const auto words = [](std::string_view s) {
    std::vector<std::string> all;
    for (const std::string_view w : text::split_words(s)) all.emplace_back(w);
    return all;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words("Hello world's  end, 12ab!"), (Words{"Hello", " world", "'s", " ", " end", ",", " 12", "ab", "!"}));
  EXPECT_EQ(words("a\n\nb  "), (Words{"a", "\n", "\n", "b", "  "}));
  EXPECT_EQ(words("we'll we'd '' x"), (Words{"we", "'ll", " we", "'d", " ''", " x"}));
  EXPECT_EQ(words(" "), (Words{" "}));
  // Curly quotes, dashes and emoji are signs, a no-break or ideographic space is a space, other alphabets are letters.
  EXPECT_EQ(words("“don’t—wait” …ok"), (Words{"“", "don", "’", "t", "—", "wait", "”", " …", "ok"}));
  EXPECT_EQ(words("a\u00a0b \u00a0 c\u3000\u3000d"),
            (Words{"a", "\u00a0", "b", " \u00a0", " c", "\u3000", "\u3000", "d"}));
  EXPECT_EQ(words("été 日本語x½²٣3 \U0001f600! \U00010400"),
            (Words{"été", " 日本語x", "½²٣3", " \U0001f600!", " \U00010400"}));
  EXPECT_EQ(words("e\u0301a\xff\xe2\x80x"), (Words{"e", "\u0301", "a", "\xff\xe2\x80", "x"}));
  EXPECT_EQ(words(""), Words());
}

TEST(BPETokenizer, MergesTheMostFrequentPairs) {
  // "ab" comes four times, then " ab" three times, then " abc" twice.
  const auto t = text::BPETokenizer::train("abc abc abc ab", 300);
  EXPECT_EQ(t.token_id("ab"), 256);
  EXPECT_EQ(t.encode("ab"), (std::vector<int64_t>{256}));
  EXPECT_EQ(t.encode(" abc").size(), 1u);
  EXPECT_EQ(t.encode("abc"), (std::vector<int64_t>{256, 99}));
  EXPECT_EQ(t.encode("cba"), (std::vector<int64_t>{'c', 'b', 'a'}));
  EXPECT_LT(t.vocab_size(), 300u) << "no pair comes twice any more";
  EXPECT_EQ(t.token_id("zz"), -1);
  EXPECT_THROW(text::BPETokenizer::train("a", 255), c10::ValueError);
  EXPECT_EQ(text::BPETokenizer::train("", 256).encode("x"), (std::vector<int64_t>{'x'}));
}

// Merge by merge in their order, as the files list them.
std::vector<int64_t> slow_encode(const text::BPETokenizer& t, std::string_view text, const std::string& merges) {
  std::vector<int64_t> ids;
  for (const std::string_view word : text::split_words(text)) {
    std::vector<std::string> parts;
    for (const char c : word) parts.emplace_back(1, c);
    for (size_t line = merges.find('\n') + 1; line < merges.size(); line = merges.find('\n', line) + 1) {
      const size_t space = merges.find(' ', line);
      const std::string a = merges.substr(line, space - line),
                        b = merges.substr(space + 1, merges.find('\n', line) - space - 1);
      for (size_t i = 0; i + 1 < parts.size(); ++i)
        if (parts[i] == a && parts[i + 1] == b) {
          parts[i] += b;
          parts.erase(parts.begin() + static_cast<int64_t>(i) + 1);
        }
    }
    for (const std::string& part : parts) ids.push_back(t.token_id(part));
  }
  return ids;
}

TEST(BPETokenizer, MergesInTheOrderOfTheFile) {
  // Only characters that are written as themselves.
  std::string corpus;
  std::mt19937 random(4);
  for (int i = 0; i < 4000; ++i) corpus += "aabcab.-!"[random() % 9];
  const auto t = text::BPETokenizer::train(corpus, 330);
  const std::string root = fresh_folder();
  t.save(root + "/vocab.json", root + "/merges.txt");
  EXPECT_EQ(t.encode(corpus), slow_encode(t, corpus, read_file(root + "/merges.txt")));
}

TEST(BPETokenizer, FilesHoldIt) {
  std::string corpus;
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) corpus += "etaoin shrdlu\n.,'\xc3\xa9"[random() % 20];
  const auto t = text::BPETokenizer::train(corpus, 400);
  EXPECT_EQ(t.vocab_size(), 400u);
  const std::string root = fresh_folder();
  t.save(root + "/vocab.json", root + "/merges.txt");
  EXPECT_EQ(read_file(root + "/merges.txt").substr(0, 14), "#version: 0.2\n");
  EXPECT_HAS(read_file(root + "/vocab.json"), "\"\xc4\xa0\": 32") << "a space is written as U+0120";
  const auto loaded = text::BPETokenizer::load(root + "/vocab.json", root + "/merges.txt");
  std::string any;
  for (int b = 0; b < 256; ++b) any += static_cast<char>(b);
  for (const std::string& s : {corpus.substr(0, 500), any, std::string("shrdlu etaoin, 'tis")}) {
    EXPECT_EQ(loaded.encode(s), t.encode(s));
    EXPECT_EQ(loaded.decode(loaded.encode(s)), s);
  }
  EXPECT_LT(t.encode(corpus).size(), corpus.size() * 3 / 4);
  EXPECT_THROW(loaded.decode({4000}), c10::ValueError);
}

TEST(BPETokenizer, ALongWordIsNoTrouble) {
  const auto t = text::BPETokenizer::train("aaaa aaaa aaaaaaaa", 260);
  const std::string word(300000, 'a');
  EXPECT_EQ(t.decode(t.encode(word)), word);
}

TEST(BPETokenizer, SaysWhatIsWrongInFiles) {
  const std::string root = fresh_folder(), vocab = root + "/vocab.json", merges = root + "/merges.txt";
  text::BPETokenizer::train("ab ab ab", 258).save(vocab, merges);
  const std::string good = read_file(vocab);
  const auto load = [&] { text::BPETokenizer::load(vocab, merges); };
  const auto with_merges = [&](const std::string& text) {
    write_file(merges, text);
    return message<FormatError>(load);
  };
  EXPECT_HAS(with_merges("#version: 0.2\na b\nab\n"),
             "merges.txt:3: expected two tokens with a space between (byte 18)");
  EXPECT_HAS(with_merges("x y\n"), "merges.txt:1: the vocabulary lacks");
  EXPECT_HAS(with_merges("a b\na b\n"), "merges.txt:2: this pair stood on a line before");
  EXPECT_HAS(with_merges("\xe2\x82\xac b\n"), "a character that stands for no byte");
  write_file(merges, "");
  const auto with_vocab = [&](const std::string& text) {
    write_file(vocab, text);
    return message<FormatError>(load);
  };
  EXPECT_HAS(with_vocab(""), "expected '{' at byte 0");
  EXPECT_HAS(with_vocab("{\"a\": 1"), "expected '}' at byte 7");
  EXPECT_HAS(with_vocab("{\"a\": 1, \"b"), "a text that does not end");
  EXPECT_HAS(with_vocab("{\"a\": x}"), "expected a number at byte 6");
  EXPECT_HAS(with_vocab("{\"a\": 99999999999999999999}"), "a number that is too large");
  EXPECT_HAS(with_vocab("{\"\\ud800x\": 1}"), "half a surrogate pair");
  EXPECT_HAS(with_vocab("{\"a\": 1}"), "has no token of its own");
  EXPECT_HAS(with_vocab("{\"a\": 1, \"b\": 1}"), "two tokens have the number 1");
  EXPECT_HAS(with_vocab(good + "x"), "more behind the object");
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random());
    const std::string result = with_vocab(bad);  // any outcome but a crash and another exception
    EXPECT_EQ(result.find("another exception"), std::string::npos) << result;
  }
  EXPECT_THROW(text::BPETokenizer::load("/nowhere", merges), IoError);
}

}  // namespace
}  // namespace torch::data
