// The instructions of ptx.h against what PTX's documentation says of each, by models on the host and by themselves on a
// device.
#include "c10/cuda/ptx_test_kernel.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "c10/cuda/exception.h"
#include "c10/cuda/testing.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

namespace c10::cuda {
namespace {

constexpr unsigned kLanes = 32;

// Memory of the device, a copy of values.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values) : count_(values.size()) {
    C10_CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&memory_), count_ * sizeof(T)));
    C10_CUDA_CHECK(cudaMemcpy(memory_, values.data(), count_ * sizeof(T), cudaMemcpyDefault));
  }
  explicit OnDevice(size_t count) : OnDevice(std::vector<T>(count)) {}
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { C10_CUDA_IGNORE_ERROR(cudaFree(memory_)); }

  T* get() const { return memory_; }
  std::vector<T> values() const {
    std::vector<T> values(count_);
    C10_CUDA_CHECK(cudaMemcpy(values.data(), memory_, count_ * sizeof(T), cudaMemcpyDefault));
    return values;
  }

 private:
  T* memory_ = nullptr;
  size_t count_;
};

template <class To, class From>
To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

TEST(Ptx, MatricesAreLoaded) {
  testing::in_all_orders([] {
    std::vector<uint16_t> elements(4 * 64);
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<uint16_t>(i + 1);
    const OnDevice<uint16_t> matrices(elements);
    for (unsigned count : {1u, 2u, 4u}) {
      for (const bool transposed : {false, true}) {
        OnDevice<uint32_t> out(kLanes * count);
        load_matrices(static_cast<int>(count), transposed, matrices.get(), out.get());
        const auto words = out.values();
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          for (unsigned m = 0; m < count; ++m) {
            const auto element = [&](unsigned row, unsigned column) {
              return uint32_t{elements[m * 64 + (transposed ? column * 8 + row : row * 8 + column)]};
            };
            EXPECT_EQ(words[lane * count + m], element(lane / 4, lane % 4 * 2) | element(lane / 4, lane % 4 * 2 + 1)
                                                                                     << 16)
                << count << ", " << transposed << ", lane " << lane << ", matrix " << m;
          }
        }
      }
    }
  });
}

// Rows and columns of a lane's elements as the documentation numbers them.
struct At {
  unsigned row, column;
};
At of_a16(unsigned lane, unsigned i) {
  return {i < 2 || (i >= 4 && i < 6) ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
At of_b16(unsigned lane, unsigned i) {
  return {lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), lane / 4};
}
At of_a32(unsigned lane, unsigned i) {
  return {i == 0 || i == 2 ? lane / 4 : lane / 4 + 8, i < 2 ? lane % 4 : lane % 4 + 4};
}
At of_b32(unsigned lane, unsigned i) {
  return {i == 0 ? lane % 4 : lane % 4 + 4, lane / 4};
}
At of_c(unsigned lane, unsigned i) {
  return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1)};
}

struct Matrices {
  float a[16][16], b[16][8], c[16][8];
};

uint32_t number_of(Multiplied type, float x) {
  switch (type) {
    case Multiplied::kHalf:
      return bits_of<uint16_t>(Half(x));
    case Multiplied::kBFloat16:
      return bits_of<uint16_t>(BFloat16(x));
    default:
      return bits_of<uint32_t>(x);
  }
}

// c + a * b, by the instruction.
void multiply(Multiplied type, const Matrices& of, float (&result)[16][8]) {
  std::vector<uint32_t> a, b;
  std::vector<float> c;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto word = [&](const auto& matrix, At (*at16)(unsigned, unsigned), At (*at32)(unsigned, unsigned),
                          unsigned r) {
      if (type == Multiplied::kTf32) {
        const At at = at32(lane, r);
        return number_of(type, matrix[at.row][at.column]);
      }
      const At low = at16(lane, 2 * r), high = at16(lane, 2 * r + 1);
      return number_of(type, matrix[low.row][low.column]) | number_of(type, matrix[high.row][high.column]) << 16;
    };
    for (unsigned r = 0; r < 4; ++r) a.push_back(word(of.a, of_a16, of_a32, r));
    for (unsigned r = 0; r < 2; ++r) b.push_back(word(of.b, of_b16, of_b32, r));
    for (unsigned r = 0; r < 4; ++r) c.push_back(of.c[of_c(lane, r).row][of_c(lane, r).column]);
  }
  const OnDevice<uint32_t> on_a(a), on_b(b);
  const OnDevice<float> on_c(c);
  multiply_matrices(type, on_a.get(), on_b.get(), on_c.get());
  const auto d = on_c.values();
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned r = 0; r < 4; ++r) result[of_c(lane, r).row][of_c(lane, r).column] = d[4 * lane + r];
  }
}

// Small multiples of 1/8: every sum is exact in float.
Matrices some_matrices(unsigned seed) {
  Matrices of;
  std::mt19937 random(seed);
  const auto number = [&] { return static_cast<float>(static_cast<int>(random() % 33) - 16) / 8; };
  for (auto& row : of.a) std::generate(std::begin(row), std::end(row), number);
  for (auto& row : of.b) std::generate(std::begin(row), std::end(row), number);
  for (auto& row : of.c) std::generate(std::begin(row), std::end(row), number);
  return of;
}

TEST(Ptx, MatricesAreMultiplied) {
  unsigned seed = 0;
  testing::in_all_orders([&seed] {
    for (const Multiplied type : {Multiplied::kHalf, Multiplied::kBFloat16, Multiplied::kTf32}) {
      const Matrices of = some_matrices(++seed);
      float result[16][8];
      multiply(type, of, result);
      for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) {
          double expected = of.c[i][j];
          for (int k = 0; k < (type == Multiplied::kTf32 ? 8 : 16); ++k)
            expected += static_cast<double>(of.a[i][k]) * of.b[k][j];
          EXPECT_EQ(result[i][j], expected) << static_cast<int>(type) << ": " << i << ", " << j;
        }
      }
    }
  });
}

TEST(Ptx, ProductsKeepWhatIsNotFinite) {
  testing::in_all_orders([] {
    for (const Multiplied type : {Multiplied::kHalf, Multiplied::kBFloat16, Multiplied::kTf32}) {
      Matrices of = some_matrices(9);
      of.a[3][5] = std::numeric_limits<float>::quiet_NaN();
      of.b[1][6] = std::numeric_limits<float>::infinity();
      float result[16][8];
      multiply(type, of, result);
      for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) EXPECT_EQ(std::isfinite(result[i][j]), i != 3 && j != 6) << i << ", " << j;
      }
    }
  });
}

TEST(Ptx, CopiesGoToSharedMemory) {
  testing::in_all_orders([] {
    std::vector<float> numbers(4 * 64);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i + 1);
    const OnDevice<float> from(numbers), to(numbers.size()), words_to(64);
    for (unsigned bytes : {0u, 4u, 8u, 16u}) {
      copy_to_shared(from.get(), bytes, to.get(), words_to.get());
      const auto copied = to.values(), words = words_to.values();
      for (size_t i = 0; i < 64; ++i) {
        const size_t source = 63 - i;
        for (size_t k = 0; k < 4; ++k) {
          const bool is_copied = source < 32 || k < bytes / 4;
          EXPECT_EQ(copied[4 * i + k], is_copied ? numbers[4 * source + k] : 0.0f) << bytes << ": " << i << ", " << k;
        }
        EXPECT_EQ(words[i], source % 3 == 0 ? 0.0f : numbers[4 * source + 1]) << i;
      }
    }
  });
}

TEST(Ptx, NumbersAreConverted) {
  testing::in_all_orders([] {
    const float infinity = std::numeric_limits<float>::infinity();
    // Among them numbers halfway between two of each kind.
    std::vector<float> x = {0.0f,
                            1.0f,
                            -2.5f,
                            1.00390625f,
                            1.01171875f,
                            1.0f + 0x1p-11f,
                            1.0f + 3 * 0x1p-11f,
                            1.0f + 0x1p-12f,
                            3.0f,
                            -130.0f,
                            127.5f,
                            128.0f,
                            -infinity,
                            7e4f,
                            0x1p-20f,
                            -0.3f};
    const int n = static_cast<int>(x.size()) - 1;
    const OnDevice<float> numbers(x), powers(x.size());
    const OnDevice<uint32_t> halves(x.size()), bfloats(x.size()), tf32(x.size());
    convert_numbers(numbers.get(), n, halves.get(), bfloats.get(), tf32.get(), powers.get());
    const auto h = halves.values(), b = bfloats.values(), t = tf32.values();
    const auto p = powers.values();
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      SCOPED_TRACE(x[i]);
      EXPECT_EQ(h[i], bits_of<uint16_t>(Half(x[i])) | uint32_t{bits_of<uint16_t>(Half(x[i + 1]))} << 16);
      EXPECT_EQ(b[i], bits_of<uint16_t>(BFloat16(x[i])) | uint32_t{bits_of<uint16_t>(BFloat16(x[i + 1]))} << 16);
      if (std::isfinite(x[i])) EXPECT_EQ(t[i], (bits_of<uint32_t>(x[i]) + 0x1000u) & 0xffffe000u);
      const float expected = std::exp2(x[i]) < std::numeric_limits<float>::min() ? 0.0f : std::exp2(x[i]);
      if (std::isinf(expected)) {
        EXPECT_EQ(p[i], expected);
      } else {
        EXPECT_NEAR(p[i], expected, 0x1p-21 * expected);
      }
    }
  });
}

TEST(Ptx, ProductsOfBytesAreAddedUp) {
  testing::in_all_orders([] {
    const std::vector<uint32_t> a = {0x01020304, 0xffffffff, 0xff000080, 0xffffffff, 0};
    const std::vector<uint32_t> b = {0x01010101, 0x80808080, 0x7f00ff01, 0x7f7f7f7f, 0x80808080};
    const std::vector<uint32_t> before = {5, 0, 0, 0x7fffffff, 7};
    const OnDevice<uint32_t> on_a(a), on_b(b), sums(before);
    add_products_of_bytes(static_cast<int>(a.size()), on_a.get(), on_b.get(), sums.get());
    EXPECT_EQ(sums.values(),
              (std::vector<uint32_t>{15, 0u - 4 * 255 * 128, 255 * 127 + 128, 0x7fffffffu + 4 * 255 * 127, 7}));
  });
}

}  // namespace
}  // namespace c10::cuda
