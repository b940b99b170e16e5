#include "tests/recorded/families.h"

namespace recorded {

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"amp", replay_amp, {"operators", "dtype", "rows", "output", "loss", "grad_parameters", "unscaled", "scale", "growth_tracker", "parameters", "state_dict", "errors"}},
      {"nn_functional", replay_nn_functional, {"then", "outputs", "grad_inputs", "changed"}},
      {"lr_schedules", replay_lr_schedules, {"lrs", "momenta", "state_dict_after_9", "bad_cooldown_best"}},
      {"nn_modules",
       replay_nn_modules,
       {"then", "state_dict_keys", "parameters", "buffers", "outputs", "grad_inputs", "grad_parameters",
        "buffers_after"},
       // Copies of a layer draw numbers that Python does not draw, so initial parameters are inputs there, some without
       // effect.
       [](const Json& one, const std::string& field) {
         return field == "parameters" && text_of(one, "class", "").rfind("Transformer", 0) == 0;
       }},
      {"optim",
       replay_optim,
       {"trajectory", "state_dict", "losses", "closure_calls", "state", "averaged", "n_averaged", "state_dict_keys",
        "after_update_bn"}},
  };
  return all;
}

}  // namespace recorded
