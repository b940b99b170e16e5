#include "aten/ops/sparse/semi_structured_loops.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "aten/ops/sparse/semi_structured_rows.h"
#include "c10/parallel/parallel.h"
#include "c10/util/exception.h"

namespace at::semi_structured {
namespace {

constexpr int64_t kGrain = 32768;  // elements of a task

// The numbers of groups by which of the elements are not 0, bit i for element i. Fewer than two: the first place is
// that one or, with the third element and the fourth, the last two.
constexpr std::array<uint8_t, 16> kPlacesOfFour{14, 8, 9, 4, 14, 8, 9, 0, 14, 12, 13, 0, 14, 0, 0, 0};
constexpr std::array<uint8_t, 4> kPlacesOfTwo{14, 4, 14, 0};
constexpr uint32_t kNamesOfFour = 1u << 4 | 1u << 8 | 1u << 9 | 1u << 12 | 1u << 13 | 1u << 14,
                   kNamesOfTwo = 1u << 4 | 1u << 14;

template <class Element, class Word, int Group>
struct Kind {
  using ElementType = Element;
  using WordType = Word;
  static constexpr int64_t kGroup = Group, kKept = Group / 2, kPerWord = sizeof(Word) * 2;
  // Without the sign of a floating-point number: -0 is 0.
  static constexpr Element kMagnitude = static_cast<Element>(sizeof(Element) == 1 ? 0xff : Element(-1) / 2);
  static constexpr uint32_t kNames = Group == 4 ? kNamesOfFour : kNamesOfTwo;

  static uint32_t name(const Word* words, int64_t group) {
    return words[group / kPerWord] >> group % kPerWord * 4 & 15;
  }
  static constexpr int first(uint32_t name) { return static_cast<int>(Group == 4 ? name & 3 : name >> 1 & 1); }
  static constexpr int second(uint32_t name) { return static_cast<int>(name >> 2); }
};

template <class F>
void with_kind(const Format& format, const F& f) {
  if (format.group == 2) return f(Kind<uint32_t, uint16_t, 2>());
  if (format.word == ScalarType::Int) return f(Kind<uint8_t, uint32_t, 4>());
  return f(Kind<uint16_t, uint16_t, 4>());
}

int64_t rows_of_a_task(int64_t columns) {
  return std::max<int64_t>(kGrain / std::max<int64_t>(columns, 1), 1);
}

void check_names(const char* op, uint32_t seen, uint32_t names) {
  TORCH_CHECK((seen & ~names) == 0, op, ": the metadata hold numbers that name no places of a group, as ",
              __builtin_ctz(seen & ~names));
}

}  // namespace

Format format_of(const char* op, ScalarType dtype) {
  if (dtype == ScalarType::Float) return {2, 1, 4, ScalarType::Short};
  if (dtype == ScalarType::Char) return {4, 2, 8, ScalarType::Int};
  TORCH_CHECK(dtype == ScalarType::Half || dtype == ScalarType::BFloat16, op,
              ": expected a matrix of dtype Half, BFloat16, Float or Char, but got ", dtype);
  return {4, 2, 4, ScalarType::Short};
}

void compress(const char* op, const Format& format, int64_t rows, int64_t columns, const void* dense, void* values,
              void* words) {
  std::atomic<int64_t> wrong{INT64_MAX};  // the first group with too many
  with_kind(format, [&]<class K>(K) {
    using Element = typename K::ElementType;
    const int64_t groups = columns / K::kGroup, row_words = format.words_of(columns);
    parallel_for(0, rows, rows_of_a_task(columns), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const Element* from = static_cast<const Element*>(dense) + row * columns;
        Element* to = static_cast<Element*>(values) + row * groups * K::kKept;
        auto* const row_of_words = static_cast<typename K::WordType*>(words) + row * row_words;
        std::fill_n(row_of_words, row_words, typename K::WordType{0});
        for (int64_t g = 0; g < groups; ++g, from += K::kGroup, to += K::kKept) {
          uint32_t present = 0;
          for (int i = 0; i < K::kGroup; ++i) present |= static_cast<uint32_t>((from[i] & K::kMagnitude) != 0) << i;
          uint32_t name = 0;
          if constexpr (K::kGroup == 4) {
            name = kPlacesOfFour[present];
          } else {
            name = kPlacesOfTwo[present];
          }
          if (name == 0) {
            int64_t first = wrong.load();
            while (row * groups + g < first && !wrong.compare_exchange_weak(first, row * groups + g)) {
            }
            return;
          }
          to[0] = from[K::first(name)];
          if constexpr (K::kKept == 2) to[1] = from[K::second(name)];
          row_of_words[g / K::kPerWord] |= static_cast<typename K::WordType>(name << g % K::kPerWord * 4);
        }
      }
    });
    const int64_t first = wrong.load();
    if (first == INT64_MAX) return;
    const int64_t row = first / groups, group = first % groups;
    const Element* const from = static_cast<const Element*>(dense) + row * columns + group * K::kGroup;
    const auto count = std::count_if(from, from + K::kGroup, [](Element e) { return (e & K::kMagnitude) != 0; });
    TORCH_CHECK(false, op, ": row ", row, ", group ", group, " (columns ", group * K::kGroup, " to ",
                group * K::kGroup + K::kGroup - 1, ") has ", count, " elements that are not 0, at most ", K::kKept,
                " may be");
  });
}

// Which bytes of two groups their kept elements are.
template <class K>
constexpr PairTable pair_table() {
  PairTable table{};
  constexpr size_t size = sizeof(typename K::ElementType), group = size * K::kGroup;
  for (size_t numbers = 0; numbers < 256; ++numbers) {
    for (uint8_t& byte : table[numbers]) byte = 0x80;
    for (size_t half = 0; half < 2; ++half) {
      const auto name = static_cast<uint32_t>(numbers >> 4 * half & 15);
      const int places[] = {K::first(name), K::second(name)};
      for (size_t e = 0; e < K::kKept; ++e) {
        for (size_t b = 0; b < size; ++b) {
          table[numbers][half * group + static_cast<size_t>(places[e]) * size + b] =
              static_cast<uint8_t>((half * K::kKept + e) * size + b);
        }
      }
    }
  }
  return table;
}

// Of a byte, the numbers that it has, one bit each.
constexpr uint32_t names_of(uint8_t numbers) {
  return 1u << (numbers & 15) | 1u << (numbers >> 4);
}

void expand(const char* op, const Kept& matrix, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
            void* dense) {
  with_kind(matrix.format, [&]<class K>(K) {
    using Element = typename K::ElementType;
    static constexpr PairTable kTable = pair_table<K>();
    const int64_t width = column_end - column, first_group = column / K::kGroup, groups = width / K::kGroup,
                  row_kept = matrix.format.kept_of(matrix.columns), row_words = matrix.format.words_of(matrix.columns);
    std::atomic<uint32_t> seen{0};
    parallel_for(row, row_end, rows_of_a_task(width), [&](int64_t begin, int64_t end) {
      uint32_t names = 0;
      for (int64_t r = begin; r < end; ++r) {
        const auto* const from = static_cast<const Element*>(matrix.values) + r * row_kept + first_group * K::kKept;
        const auto* const words = static_cast<const typename K::WordType*>(matrix.words) + r * row_words;
        // Bytes lie as numbers do, as words have their lowest bits first.
        const uint8_t* const numbers = reinterpret_cast<const uint8_t*>(words) + first_group / 2;
        Element* const to = static_cast<Element*>(dense) + (r - row) * width;
        const int64_t pairs = groups / 2;
        for (int64_t i = 0; i < pairs; ++i) names |= names_of(numbers[i]);
        expand_pairs(kTable, sizeof(Element) == 1, numbers, pairs, from, to);
        if (groups % 2 == 0) continue;
        const uint32_t name = numbers[pairs] & 15;
        names |= 1u << name;
        Element* const last = to + (groups - 1) * K::kGroup;
        std::fill_n(last, K::kGroup, Element{0});
        last[K::first(name)] = from[(groups - 1) * K::kKept];
        if constexpr (K::kKept == 2) last[K::second(name)] = from[(groups - 1) * K::kKept + 1];
      }
      seen.fetch_or(names);
    });
    check_names(op, seen.load(), K::kNames);
  });
}

void gather(const char* op, const Format& format, int64_t rows, int64_t columns, const void* dense, const void* words,
            void* values) {
  with_kind(format, [&]<class K>(K) {
    using Element = typename K::ElementType;
    const int64_t groups = columns / K::kGroup, row_words = format.words_of(columns);
    std::atomic<uint32_t> seen{0};
    parallel_for(0, rows, rows_of_a_task(columns), [&](int64_t begin, int64_t end) {
      uint32_t names = 0;
      for (int64_t row = begin; row < end; ++row) {
        const Element* from = static_cast<const Element*>(dense) + row * columns;
        Element* to = static_cast<Element*>(values) + row * groups * K::kKept;
        const auto* const row_of_words = static_cast<const typename K::WordType*>(words) + row * row_words;
        for (int64_t g = 0; g < groups; ++g, from += K::kGroup, to += K::kKept) {
          const uint32_t name = K::name(row_of_words, g);
          names |= 1u << name;
          to[0] = from[K::first(name)];
          if constexpr (K::kKept == 2) to[1] = from[K::second(name)];
        }
      }
      seen.fetch_or(names);
    });
    check_names(op, seen.load(), K::kNames);
  });
}

uint16_t greedy_tile(const float (&tile)[16]) {
  std::array<int, 16> order;
  for (int i = 0; i < 16; ++i) order[static_cast<size_t>(i)] = i;
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const bool first = std::isnan(tile[a]), second = std::isnan(tile[b]);
    if (first != second) return first;
    return !first && tile[a] != tile[b] ? tile[a] > tile[b] : a < b;
  });
  int rows[4] = {}, columns[4] = {};
  uint32_t chosen = 0;
  for (const int i : order) {
    if (rows[i / 4] == 2 || columns[i % 4] == 2) continue;
    ++rows[i / 4];
    ++columns[i % 4];
    chosen |= 1u << i;
  }
  return static_cast<uint16_t>(chosen);
}

}  // namespace at::semi_structured
