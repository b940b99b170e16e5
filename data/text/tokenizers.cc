#include "data/text/tokenizers.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "c10/util/exception.h"
#include "data/text/vocabulary_files.h"
#include "utils/serialize/file_io.h"
#include "utils/serialize/utf8.h"

namespace torch::data::text {

std::vector<int64_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<int64_t> ids;
  ids.reserve(text.size());
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

std::string ByteTokenizer::decode(const std::vector<int64_t>& ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const int64_t id : ids) {
    TORCH_CHECK_VALUE(id >= 0 && id < 256, "ByteTokenizer: ", id, " is no byte");
    text.push_back(static_cast<char>(id));
  }
  return text;
}

namespace {

enum class Kind { kSpace, kLetter, kDigit, kOther };

struct CodeRange {
  uint32_t first, last;
};
#include "data/text/unicode_ranges.inc"

template <size_t N>
bool contains(const CodeRange (&ranges)[N], uint32_t code) {
  const CodeRange* found =
      std::lower_bound(ranges, ranges + N, code, [](const CodeRange& range, uint32_t c) { return range.last < c; });
  return found != ranges + N && found->first <= code;
}

// Unicode's White_Space above ASCII: the categories Z and the control character "next line".
bool is_wide_space(uint32_t code) {
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
         code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

struct Character {
  Kind kind;
  size_t length;  // in bytes
};

// What a text that is not empty begins with. A byte that is no UTF-8 is a character of its own.
Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char u = byte(0);
  if (u < 128) {
    if (u == ' ' || (u >= '\t' && u <= '\r')) return {Kind::kSpace, 1};
    if ((u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z')) return {Kind::kLetter, 1};
    return {u >= '0' && u <= '9' ? Kind::kDigit : Kind::kOther, 1};
  }
  const size_t n = serialize::utf8_length(text);
  if (n == 0) return {Kind::kOther, 1};
  uint32_t code = u & (0x7fu >> n);
  for (size_t i = 1; i < n; ++i) code = code << 6 | (byte(i) & 0x3fu);
  if (contains(kLetters, code)) return {Kind::kLetter, n};
  if (contains(kNumbers, code)) return {Kind::kDigit, n};
  return {is_wide_space(code) ? Kind::kSpace : Kind::kOther, n};
}

// 's, 't, 're, 've, 'm, 'll, 'd at the beginning; 0 where there is none.
size_t contraction(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.substr(0, ending.size()) == ending) return ending.size();
  return 0;
}

size_t word_length(std::string_view text) {
  if (const size_t n = contraction(text)) return n;
  const size_t space = text[0] == ' ' && text.size() > 1 && first_of(text.substr(1)).kind != Kind::kSpace ? 1 : 0;
  const Character first = first_of(text.substr(space));
  size_t n = space + first.length, last = first.length;
  while (n < text.size()) {
    const Character next = first_of(text.substr(n));
    if (next.kind != first.kind) break;
    n += last = next.length;
  }
  // Of several spaces the last one belongs to the word behind them.
  return first.kind == Kind::kSpace && n < text.size() && n > last ? n - last : n;
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t n = word_length(text);
    words.push_back(text.substr(0, n));
    text.remove_prefix(n);
  }
  return words;
}

void BPETokenizer::add_token(std::string bytes, int64_t id) {
  tokens_[id] = bytes;
  ids_[std::move(bytes)] = id;
}

BPETokenizer BPETokenizer::train(std::string_view text, size_t vocab_size) {
  TORCH_CHECK_VALUE(vocab_size >= 256,
                    "BPETokenizer: expected a vocab_size of at least 256, one for each byte, but got ", vocab_size);
  BPETokenizer t;
  for (int b = 0; b < 256; ++b) {
    t.add_token(std::string(1, static_cast<char>(b)), b);
    t.byte_ids_.push_back(b);
  }
  // Each different word once.
  struct Word {
    std::vector<int64_t> ids;
    int64_t count;
  };
  std::map<std::string_view, int64_t> counts;
  for (const std::string_view word : split_words(text)) ++counts[word];
  std::vector<Word> words;
  for (const auto& [word, count] : counts) words.push_back({ByteTokenizer().encode(word), count});

  std::unordered_map<Pair, int64_t, PairHash> pair_counts;
  std::unordered_map<Pair, std::set<size_t>, PairHash> where;
  // The most frequent first, then the smaller numbers; entries whose count has changed are passed over.
  using Entry = std::tuple<int64_t, int64_t, int64_t>;
  std::priority_queue<Entry> candidates;
  const auto add = [&](const Pair& pair, int64_t count, size_t word) {
    const int64_t now = pair_counts[pair] += count;
    if (count > 0) where[pair].insert(word);
    candidates.emplace(now, -pair.first, -pair.second);
  };
  for (size_t w = 0; w < words.size(); ++w)
    for (size_t i = 0; i + 1 < words[w].ids.size(); ++i) add({words[w].ids[i], words[w].ids[i + 1]}, words[w].count, w);

  while (t.ids_.size() < vocab_size && !candidates.empty()) {
    const auto [count, first, second] = candidates.top();
    candidates.pop();
    const Pair best(-first, -second);
    if (pair_counts[best] != count) continue;
    if (count < 2) break;
    const int64_t id = static_cast<int64_t>(t.ids_.size());
    const std::string bytes = t.tokens_[best.first] + t.tokens_[best.second];
    const auto known = t.ids_.find(bytes);  // the same bytes, merged in another way before
    const int64_t result = known == t.ids_.end() ? id : known->second;
    if (known == t.ids_.end()) t.add_token(bytes, id);
    t.merges_[best] = {t.order_.size(), result};
    t.order_.push_back(best);
    const std::set<size_t> affected = std::move(where[best]);
    where.erase(best);
    for (const size_t w : affected) {
      Word& word = words[w];
      for (size_t i = 0; i + 1 < word.ids.size(); ++i) add({word.ids[i], word.ids[i + 1]}, -word.count, w);
      std::vector<int64_t> merged;
      for (size_t i = 0; i < word.ids.size(); ++i) {
        const bool here = i + 1 < word.ids.size() && Pair(word.ids[i], word.ids[i + 1]) == best;
        merged.push_back(here ? result : word.ids[i]);
        i += here;
      }
      word.ids = std::move(merged);
      for (size_t i = 0; i + 1 < word.ids.size(); ++i) add({word.ids[i], word.ids[i + 1]}, word.count, w);
    }
  }
  return t;
}

BPETokenizer BPETokenizer::load(const std::string& vocab_path, const std::string& merges_path) {
  BPETokenizer t;
  for (auto& [bytes, id] : read_vocabulary(vocab_path)) {
    if (!t.tokens_.emplace(id, bytes).second)
      serialize::throw_format_error(c10::str(vocab_path, ": two tokens have the number ", id));
    t.ids_.emplace(std::move(bytes), id);
  }
  for (int b = 0; b < 256; ++b) {
    const auto found = t.ids_.find(std::string(1, static_cast<char>(b)));
    if (found == t.ids_.end())
      serialize::throw_format_error(c10::str(vocab_path, ": the byte ", b, " has no token of its own"));
    t.byte_ids_.push_back(found->second);
  }
  for (const WrittenMerge& merge : read_merges(merges_path)) {
    const auto a = t.ids_.find(merge.first), b = t.ids_.find(merge.second),
               both = t.ids_.find(merge.first + merge.second);
    if (a == t.ids_.end() || b == t.ids_.end() || both == t.ids_.end())
      serialize::throw_format_error(
          c10::str(merges_path, ":", merge.line, ": the vocabulary lacks one of these tokens or what they make"));
    const Pair pair(a->second, b->second);
    if (!t.merges_.emplace(pair, Merge{t.order_.size(), both->second}).second)
      serialize::throw_format_error(c10::str(merges_path, ":", merge.line, ": this pair stood on a line before"));
    t.order_.push_back(pair);
  }
  return t;
}

void BPETokenizer::save(const std::string& vocab_path, const std::string& merges_path) const {
  std::vector<std::pair<std::string, int64_t>> vocabulary(ids_.begin(), ids_.end());
  std::sort(vocabulary.begin(), vocabulary.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  write_vocabulary(vocab_path, vocabulary);
  std::vector<std::pair<std::string, std::string>> merges;
  for (const Pair& pair : order_) merges.emplace_back(tokens_.at(pair.first), tokens_.at(pair.second));
  write_merges(merges_path, merges);
}

// The pair of the lowest rank is merged, the leftmost of equal ones first, until none is left.
void BPETokenizer::encode_word(std::string_view word, std::vector<int64_t>& ids) const {
  struct Part {
    int64_t id;
    size_t previous, next;  // kEnd outside
  };
  constexpr size_t kEnd = SIZE_MAX;
  std::vector<Part> parts(word.size());
  for (size_t i = 0; i < word.size(); ++i)
    parts[i] = {byte_ids_[static_cast<unsigned char>(word[i])], i == 0 ? kEnd : i - 1,
                i + 1 == word.size() ? kEnd : i + 1};
  // Rank, place, and the pair as it was; one that has changed since is passed over.
  using Entry = std::tuple<size_t, size_t, int64_t, int64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  const auto look_at = [&](size_t i) {
    if (i == kEnd || parts[i].next == kEnd) return;
    const auto found = merges_.find({parts[i].id, parts[parts[i].next].id});
    if (found != merges_.end()) queue.emplace(found->second.rank, i, parts[i].id, parts[parts[i].next].id);
  };
  for (size_t i = 0; i < parts.size(); ++i) look_at(i);
  while (!queue.empty()) {
    const auto [rank, i, first, second] = queue.top();
    queue.pop();
    const size_t next = parts[i].next;
    if (parts[i].id != first || next == kEnd || parts[next].id != second) continue;
    parts[i].id = merges_.at({first, second}).result;
    parts[i].next = parts[next].next;
    if (parts[i].next != kEnd) parts[parts[i].next].previous = i;
    parts[next].id = -1;  // gone
    look_at(i);
    look_at(parts[i].previous);
  }
  for (size_t i = 0; i != kEnd && i < parts.size(); i = parts[i].next) ids.push_back(parts[i].id);
}

std::vector<int64_t> BPETokenizer::encode(std::string_view text) const {
  std::vector<int64_t> ids;
  for (const std::string_view word : split_words(text)) encode_word(word, ids);
  return ids;
}

std::string BPETokenizer::decode(const std::vector<int64_t>& ids) const {
  std::string text;
  for (const int64_t id : ids) {
    const auto found = tokens_.find(id);
    TORCH_CHECK_VALUE(found != tokens_.end(), "BPETokenizer: no token has the number ", id);
    text += found->second;
  }
  return text;
}

int64_t BPETokenizer::token_id(std::string_view bytes) const {
  const auto found = ids_.find(std::string(bytes));
  return found == ids_.end() ? -1 : found->second;
}

}  // namespace torch::data::text
