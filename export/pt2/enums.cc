#include "export/pt2/enums.h"

namespace torch::pt2 {
namespace {

template <class T>
struct Entry {
  int64_t number;
  T value;
};

using enum c10::ScalarType;
constexpr Entry<c10::ScalarType> kDtypes[] = {{1, Byte},
                                              {2, Char},
                                              {3, Short},
                                              {4, Int},
                                              {5, Long},
                                              {6, Half},
                                              {7, Float},
                                              {8, Double},
                                              {9, ComplexHalf},
                                              {10, ComplexFloat},
                                              {11, ComplexDouble},
                                              {12, Bool},
                                              {13, BFloat16},
                                              {28, UInt16},
                                              {29, Float8_e4m3fn},
                                              {30, Float8_e5m2},
                                              {31, Float8_e4m3fnuz},
                                              {32, Float8_e5m2fnuz},
                                              {33, Float8_e8m0fnu},
                                              {34, UInt32},
                                              {35, UInt64}};
constexpr Entry<c10::Layout> kLayouts[] = {{1, c10::Layout::Sparse},    {2, c10::Layout::SparseCsr},
                                           {3, c10::Layout::SparseCsc}, {4, c10::Layout::SparseBsr},
                                           {5, c10::Layout::SparseBsc}, {7, c10::Layout::Strided}};
constexpr Entry<c10::MemoryFormat> kMemoryFormats[] = {{1, c10::MemoryFormat::Contiguous},
                                                       {2, c10::MemoryFormat::ChannelsLast},
                                                       {3, c10::MemoryFormat::ChannelsLast3d},
                                                       {4, c10::MemoryFormat::Preserve}};

template <class T, size_t N>
std::optional<T> value_of(const Entry<T> (&entries)[N], int64_t number) {
  for (const Entry<T>& e : entries) {
    if (e.number == number) return e.value;
  }
  return std::nullopt;
}
template <class T, size_t N>
std::optional<int64_t> number_in(const Entry<T> (&entries)[N], T value) {
  for (const Entry<T>& e : entries) {
    if (e.value == value) return e.number;
  }
  return std::nullopt;
}

}  // namespace

std::optional<c10::ScalarType> dtype_of(int64_t number) {
  return value_of(kDtypes, number);
}
std::optional<c10::Layout> layout_of(int64_t number) {
  return value_of(kLayouts, number);
}
std::optional<c10::MemoryFormat> memory_format_of(int64_t number) {
  return value_of(kMemoryFormats, number);
}
std::optional<int64_t> number_of(c10::ScalarType dtype) {
  return number_in(kDtypes, dtype);
}
std::optional<int64_t> number_of(c10::Layout layout) {
  return number_in(kLayouts, layout);
}
std::optional<int64_t> number_of(c10::MemoryFormat format) {
  return number_in(kMemoryFormats, format);
}

}  // namespace torch::pt2
