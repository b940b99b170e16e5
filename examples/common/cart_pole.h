// A pole on a cart that is pushed left or right (Barto, Sutton and Anderson, 1983): keep it upright.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace examples {

class CartPole {
 public:
  static constexpr int64_t kObservations = 4, kActions = 2, kMaxSteps = 500;

  // The cart in the middle, the pole nearly upright, as torch's default generator has it. Returns what is observed.
  torch::Tensor reset() {
    const torch::Tensor start = torch::rand({kObservations}) * 0.1 - 0.05;
    std::copy_n(start.const_data_ptr<float>(), kObservations, state_);
    steps_ = 0;
    return observe();
  }

  // Pushes left (0) or right (1) for 20 ms. Each step is worth 1.
  torch::Tensor step(int64_t action) {
    constexpr double kGravity = 9.8, kCart = 1.0, kPole = 0.1, kHalfLength = 0.5, kForce = 10, kSeconds = 0.02;
    const double push = action == 1 ? kForce : -kForce, sine = std::sin(state_[2]), cosine = std::cos(state_[2]);
    const double pull = (push + kPole * kHalfLength * state_[3] * state_[3] * sine) / (kCart + kPole);
    const double turn =
        (kGravity * sine - cosine * pull) / (kHalfLength * (4.0 / 3.0 - kPole * cosine * cosine / (kCart + kPole)));
    const double speed_up = pull - kPole * kHalfLength * turn * cosine / (kCart + kPole);
    state_[0] += kSeconds * state_[1];
    state_[1] += kSeconds * speed_up;
    state_[2] += kSeconds * state_[3];
    state_[3] += kSeconds * turn;
    ++steps_;
    return observe();
  }

  // The pole leans more than 12 degrees, or the cart has left the track.
  bool fallen() const { return std::abs(state_[0]) > 2.4 || std::abs(state_[2]) > 12 * 3.14159265358979 / 180; }
  bool done() const { return fallen() || steps_ >= kMaxSteps; }
  int64_t steps() const { return steps_; }
  double position() const { return state_[0]; }
  double angle() const { return state_[2]; }

 private:
  // Position, speed, angle, turning speed.
  torch::Tensor observe() const { return torch::tensor({state_[0], state_[1], state_[2], state_[3]}, torch::kFloat); }

  double state_[kObservations] = {};
  int64_t steps_ = 0;
};

}  // namespace examples
