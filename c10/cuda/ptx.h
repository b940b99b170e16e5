// Instructions of devices (sm_80 and later) that C++ has no word for: a function for each, by PTX's name, with the text
// for the device and, where kernels are built to run on the host, a model of it. For kernels only.
//
// Of matrices, group = lane / 4 and place = lane % 4 say which elements a lane of the warp holds; a word of two 16-bit
// numbers has the one of the lower column in its lower half (for B: of the lower row). All lanes of the warp run these
// instructions together.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "c10/cuda/launch.h"

#ifdef KD_CUDA_ON_HOST
#include <cmath>

#include "tests/cuda_on_host/simt/instructions.h"
#define KD_PTX [[gnu::always_inline]] inline
#define KD_PTX_SITE , ::simt::Site site = ::simt::Site::current()
#else
#define KD_PTX __device__ __forceinline__
#define KD_PTX_SITE
#endif

#if defined(KD_CUDA_ON_HOST) || defined(__CUDACC__)

namespace c10::cuda::ptx {

/// The thread's number in its warp.
KD_PTX unsigned laneid() {
#ifdef KD_CUDA_ON_HOST
  return simt::lane_index;
#else
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
#endif
}

/// x, and no instruction: what a loop computes from it is computed in each turn, and takes no registers between them.
KD_PTX int anew(int x) {
#ifndef KD_CUDA_ON_HOST
  asm volatile("" : "+r"(x));
#endif
  return x;
}

#ifndef KD_CUDA_ON_HOST
KD_PTX uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
#endif

/// 1, 2 or 4 matrices of 8 x 8 elements of 16 bits from shared memory. Lane 8 * m + i brings the address of row i of
/// matrix m, 16 bytes at a multiple of 16; those of other lanes do not count. r[m]: matrix m's elements
/// (group, 2 * place) and (group, 2 * place + 1).
template <int kCount>
KD_PTX void ldmatrix(uint32_t (&r)[kCount], const void* row KD_PTX_SITE) {
  static_assert(kCount == 1 || kCount == 2 || kCount == 4);
#ifdef KD_CUDA_ON_HOST
  if (simt::lane_index < 8 * kCount) simt::watch::load(row, 16);
  simt::load_matrices(kCount, false, row, r, site);
#else
  const uint32_t address = shared_address(row);
  if constexpr (kCount == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address) : "memory");
  } else if constexpr (kCount == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  }
#endif
}

/// The same, transposed. r[m]: matrix m's elements (2 * place, group) and (2 * place + 1, group).
template <int kCount>
KD_PTX void ldmatrix_trans(uint32_t (&r)[kCount], const void* row KD_PTX_SITE) {
  static_assert(kCount == 1 || kCount == 2 || kCount == 4);
#ifdef KD_CUDA_ON_HOST
  if (simt::lane_index < 8 * kCount) simt::watch::load(row, 16);
  simt::load_matrices(kCount, true, row, r, site);
#else
  const uint32_t address = shared_address(row);
  if constexpr (kCount == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address) : "memory");
  } else if constexpr (kCount == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  }
#endif
}

/// d += a * b, of a 16 x 16 and a 16 x 8 matrix of halves, added up in float.
///   a[0]: (group, 2 * place) and the next   a[1]: 8 rows below   a[2], a[3]: 8 columns on from a[0], a[1]
///   b[0]: (2 * place, group) and the next   b[1]: 8 rows below
///   d[0], d[1]: (group, 2 * place) and the next   d[2], d[3]: 8 rows below
KD_PTX void mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2] KD_PTX_SITE) {
#ifdef KD_CUDA_ON_HOST
  simt::multiply_matrices(simt::Multiplied::kHalf, d, a, b, site);
#else
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/// The same, of bfloat16.
KD_PTX void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2] KD_PTX_SITE) {
#ifdef KD_CUDA_ON_HOST
  simt::multiply_matrices(simt::Multiplied::kBFloat16, d, a, b, site);
#else
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/// d += a * b, of a 16 x 8 and an 8 x 8 matrix of floats without their 13 last bits (cvt_rna_tf32).
///   a[0]: (group, place)   a[1]: 8 rows below   a[2], a[3]: 4 columns on from a[0], a[1]
///   b[0]: (place, group)   b[1]: 4 rows below   d: as above
KD_PTX void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2] KD_PTX_SITE) {
#ifdef KD_CUDA_ON_HOST
  simt::multiply_matrices(simt::Multiplied::kTf32, d, a, b, site);
#else
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/// Begins to copy `bytes` (0 to 16) from global memory, and zeros up to 16, to shared memory; both addresses are
/// multiples of 16. The copy is one of the thread's group that cp_async_commit_group closes. It is done, for the thread
/// itself, behind cp_async_wait_group, and for others behind a barrier after that.
KD_PTX void cp_async_16(void* to, const void* from, unsigned bytes = 16 KD_PTX_SITE) {
#ifdef KD_CUDA_ON_HOST
  if (bytes > 0) simt::watch::load(from, bytes);
  simt::watch::store(to, 16);
  simt::start_copy(to, from, bytes, 16, site);
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
#endif
}
/// The same of 4 bytes, at multiples of 4.
KD_PTX void cp_async_4(void* to, const void* from, unsigned bytes = 4 KD_PTX_SITE) {
#ifdef KD_CUDA_ON_HOST
  if (bytes > 0) simt::watch::load(from, bytes);
  simt::watch::store(to, 4);
  simt::start_copy(to, from, bytes, 4, site);
#else
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" : : "r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
#endif
}
KD_PTX void cp_async_commit_group() {
#ifdef KD_CUDA_ON_HOST
  simt::commit_copies();
#else
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
/// Waits for the thread's groups but the kLeft last.
template <int kLeft>
KD_PTX void cp_async_wait_group() {
#ifdef KD_CUDA_ON_HOST
  simt::wait_for_copies(kLeft);
#else
  asm volatile("cp.async.wait_group %0;" : : "n"(kLeft) : "memory");
#endif
}

/// 2^x, to some 2^-22 of it; what is below the normal numbers counts as 0.
KD_PTX float ex2_approx(float x) {
#ifdef KD_CUDA_ON_HOST
  constexpr float kLeast = 0x1p-126f;
  const float power = std::exp2(std::fabs(x) < kLeast ? 0.0f : x);
  return power < kLeast ? 0.0f : power;
#else
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#endif
}

/// Two numbers in a word, rounded to the nearest.
KD_PTX uint32_t cvt_rn_f16x2(float low, float high) {
#ifdef KD_CUDA_ON_HOST
  const __half2_raw both = __floats2half2_rn(low, high);
  return both.x | static_cast<uint32_t>(both.y) << 16;
#else
  uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#endif
}
KD_PTX uint32_t cvt_rn_bf16x2(float low, float high) {
#ifdef KD_CUDA_ON_HOST
  const __nv_bfloat162_raw both = __floats2bfloat162_rn(low, high);
  return both.x | static_cast<uint32_t>(both.y) << 16;
#else
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#endif
}

/// A float rounded to 10 bits behind the point, ties away from 0.
KD_PTX uint32_t cvt_rna_tf32(float x) {
#ifdef KD_CUDA_ON_HOST
  constexpr uint32_t kHalfOfLast = 0x1000, kKept = 0xffffe000u;
  const auto bits = __builtin_bit_cast(uint32_t, x);
  return std::isfinite(x) ? (bits + kHalfOfLast) & kKept : bits;
#else
  uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
  return rounded;
#endif
}

/// sum + the four products of bytes of `a` with signed bytes of `b`, wrapping.
KD_PTX uint32_t dp4a_u32_s32(uint32_t a, uint32_t b, uint32_t sum) {
#ifdef KD_CUDA_ON_HOST
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<uint32_t>(static_cast<int32_t>(a >> (8 * i) & 255) * static_cast<int8_t>(b >> (8 * i) & 255));
  }
  return sum;
#else
  uint32_t result;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
#endif
}

}  // namespace c10::cuda::ptx

#endif
#undef KD_PTX
#undef KD_PTX_SITE
