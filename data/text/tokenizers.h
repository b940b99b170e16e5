#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// Texts as numbers.
namespace torch::data::text {

/// Each byte is a token, 0 to 255.
class ByteTokenizer {
 public:
  std::vector<int64_t> encode(std::string_view text) const;
  /// ValueError for a number that is no byte.
  std::string decode(const std::vector<int64_t>& ids) const;
  size_t vocab_size() const { return 256; }
};

/// Byte pair encoding as in GPT-2: the text is cut into words with their leading space, each word into bytes, and pairs
/// of neighbours are merged in the order in which training found them. Every text can be encoded, and
/// decode(encode(text)) == text.
///
///   auto t = BPETokenizer::train(text, 1000);     t.save("vocab.json", "merges.txt");
///   auto gpt2 = BPETokenizer::load("vocab.json", "merges.txt");     // files as GPT-2's
///
/// Words are cut by GPT-2's pattern: letters, numbers and spaces are those of Unicode 15.1. Bytes that are no UTF-8
/// count as signs.
class BPETokenizer {
 public:
  /// The 256 bytes, and then the most frequent pair merged, until there are `vocab_size` tokens or no pair comes twice.
  /// Of equally frequent pairs the one with the smaller numbers is first. ValueError for a vocab_size below 256.
  static BPETokenizer train(std::string_view text, size_t vocab_size);
  /// From a vocabulary (JSON: token to number) and merges (a pair a line, in order; a first line "#version: ..." is
  /// passed over). Throws serialize::FormatError, with file and offset or line, for damaged files and for merges whose
  /// parts or result the vocabulary has not; IoError for files that can't be read.
  static BPETokenizer load(const std::string& vocab_path, const std::string& merges_path);
  void save(const std::string& vocab_path, const std::string& merges_path) const;

  std::vector<int64_t> encode(std::string_view text) const;
  /// ValueError for a number that no token has.
  std::string decode(const std::vector<int64_t>& ids) const;

  size_t vocab_size() const { return ids_.size(); }
  /// A token's number by its bytes, such as " the" or a special one as "<|endoftext|>", which encode() never gives; -1
  /// where there is none.
  int64_t token_id(std::string_view bytes) const;

 private:
  using Pair = std::pair<int64_t, int64_t>;
  struct PairHash {
    size_t operator()(const Pair& p) const {
      return static_cast<size_t>(p.first) * 0x9e3779b97f4a7c15u ^ static_cast<size_t>(p.second);
    }
  };
  struct Merge {
    size_t rank;
    int64_t result;
  };

  void add_token(std::string bytes, int64_t id);
  void encode_word(std::string_view word, std::vector<int64_t>& ids) const;

  std::unordered_map<std::string, int64_t> ids_;     // by bytes
  std::unordered_map<int64_t, std::string> tokens_;  // and back
  std::unordered_map<Pair, Merge, PairHash> merges_;
  std::vector<Pair> order_;  // of the merges
  std::vector<int64_t> byte_ids_;
};

/// The words that BPETokenizer merges within, in order; together they are the text.
std::vector<std::string_view> split_words(std::string_view text);

}  // namespace torch::data::text
