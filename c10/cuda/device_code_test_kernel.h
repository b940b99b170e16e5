#pragma once

#include <cstdint>

namespace c10::cuda {

/// What n threads did to memory of the device by each operation; `memory` holds 16 values of T.
template <class T>
void add_from_threads(T* memory, int n);
template <class T>
void extremes_from_threads(T* memory, int n);
void multiply_from_threads(double* memory, int n);
void set_from_threads(bool* memory, int n);
/// out[i] = the values of a warp's lanes by each exchange, 5 rows of 32.
template <class T>
void exchange_lanes(T* out);
/// out[i] = i for n elements, by fewer threads.
void number(int* out, int n);

}  // namespace c10::cuda
