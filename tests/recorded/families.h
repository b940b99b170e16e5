// The families of recordings that can be replayed.
#pragma once

#include <string>
#include <vector>

#include "tests/recorded/check.h"

namespace recorded {

struct Family {
  const char* name;
  // Replays one case. Exceptions count as failures.
  void (*replay)(const Json& one, Check& check);
  // The fields of a case, at any depth, that hold results: an error planted in one must make the case fail.
  std::vector<const char*> results;
  // Where a field of that name is not one in this case.
  bool (*except)(const Json& one, const std::string& field) = nullptr;
};

const std::vector<Family>& families();

// Whether a case of "errors" is one that C++ refuses before the program runs, or its message has numbers next to those
// that are recorded.
bool mentions_other_numbers(const Json& one);

void replay_amp(const Json& one, Check& check);
void replay_errors(const Json& one, Check& check);
void replay_func(const Json& one, Check& check);
void replay_nn_functional(const Json& one, Check& check);
void replay_libtorch_text(const Json& one, Check& check);
void replay_lr_schedules(const Json& one, Check& check);
void replay_distributions(const Json& one, Check& check);
void replay_data(const Json& one, Check& check);
void replay_optim(const Json& one, Check& check);
void replay_printing(const Json& one, Check& check);
void replay_autograd(const Json& one, Check& check);
void replay_init(const Json& one, Check& check);
void replay_nn_modules(const Json& one, Check& check);
void replay_nn_utils(const Json& one, Check& check);
void replay_special(const Json& one, Check& check);
void replay_spectral(const Json& one, Check& check);
void replay_vmap_ops(const Json& one, Check& check);
void replay_windows(const Json& one, Check& check);

}  // namespace recorded
