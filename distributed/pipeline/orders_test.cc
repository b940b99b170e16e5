#include "distributed/pipeline/orders.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/pipeline/actions.h"
#include "distributed/pipeline/simulator.h"

namespace torch::distributed::pipelining {
namespace {

using Type = ComputationType;

struct Known {
  const char* name;
  std::function<PipelineOrder(int64_t ranks, int64_t microbatches)> make;
  int64_t stages_per_rank;
  // For how many microbatches it is made.
  std::function<bool(int64_t ranks, int64_t microbatches)> takes;
  // How long each rank is not busy where F, I and W take 1, and where that is claimed.
  std::function<double(int64_t ranks)> bubble;
  std::function<bool(int64_t ranks, int64_t microbatches)> has_bubble;
  std::function<int64_t(int64_t rank, int64_t ranks, int64_t microbatches)> memory;
};

int64_t round_of(int64_t ranks, int64_t n) {
  return n / std::max<int64_t>(1, n / ranks);
}

std::vector<Known> known() {
  const auto always = [](int64_t, int64_t) { return true; };
  const auto enough = [](int64_t ranks, int64_t n) { return n >= ranks; };
  const auto multiple = [](int64_t ranks, int64_t n) { return n % ranks == 0; };
  const auto stages = [](int64_t ranks, int64_t n) { return n >= 2 * ranks; };
  const auto rounds = [](int64_t ranks, int64_t n) { return n % std::max<int64_t>(1, n / ranks) == 0; };
  const auto fill_and_drain = [](int64_t ranks) { return 3.0 * static_cast<double>(ranks - 1); };
  std::vector<Known> all;
  all.push_back(
      {"gpipe", gpipe_order, 1, always, fill_and_drain, always, [](int64_t, int64_t, int64_t n) { return n; }});
  all.push_back({"1f1b", one_forward_one_backward_order, 1, enough, fill_and_drain, always,
                 [](int64_t rank, int64_t ranks, int64_t) { return ranks - rank; }});
  for (const int64_t v : {1, 2, 3}) {
    all.push_back({"interleaved 1f1b", [v](int64_t p, int64_t n) { return interleaved_1f1b_order(p, v, n); }, v, rounds,
                   fill_and_drain, multiple,
                   [v](int64_t rank, int64_t ranks, int64_t n) {
                     return (v - 1) * round_of(ranks, n) + 2 * (ranks - 1 - rank) + 1;
                   }});
    all.push_back({"looped bfs", [v](int64_t p, int64_t n) { return looped_bfs_order(p, v, n); }, v, always,
                   fill_and_drain, enough, [v](int64_t, int64_t, int64_t n) { return v * n; }});
    all.push_back({"interleaved zero bubble",
                   [v](int64_t p, int64_t n) { return interleaved_zero_bubble_order(p, v, n); }, v, rounds,
                   [](int64_t ranks) { return static_cast<double>(ranks - 1); }, multiple,
                   [v](int64_t, int64_t ranks, int64_t n) { return (v - 1) * round_of(ranks, n) + ranks; }});
  }
  all.push_back({"zbv", zbv_order, 2, enough, [](int64_t ranks) { return static_cast<double>(ranks - 1); }, stages,
                 [](int64_t, int64_t ranks, int64_t) { return 2 * ranks; }});
  all.push_back({"dual pipe v", dual_pipe_v_order, 2, stages,
                 [](int64_t ranks) { return 2.0 * static_cast<double>(ranks - 1); }, always,
                 [](int64_t, int64_t ranks, int64_t) { return 2 * ranks + 1; }});
  return all;
}

// Once each, in the order of microbatches, with what they need before them; said without the library's own check.
// Returns the first action that is not so, or "".
std::string first_wrong(const PipelineOrder& order, int64_t stages, int64_t n) {
  struct Done {
    int64_t forwards = 0, backwards = 0, weights = 0;
  };
  std::vector<Done> done(static_cast<size_t>(stages));
  for (const std::vector<Action>& row : order) {
    for (const Action& action : row) {
      const bool is_pair = action.computation_type == Type::OVERLAP_F_B;
      for (size_t i = 0; i < (is_pair ? 2 : 1); ++i) {
        const Action& part = is_pair ? action.sub_actions[i] : action;
        Done& stage = done.at(static_cast<size_t>(part.stage_index));
        const Type type = part.computation_type;
        bool is_right = true;
        if (type == Type::FORWARD) is_right = part.microbatch_index == stage.forwards++;
        if (type == Type::FULL_BACKWARD || type == Type::BACKWARD_INPUT) {
          is_right = part.microbatch_index == stage.backwards++ && stage.backwards <= stage.forwards;
        }
        if (type == Type::FULL_BACKWARD || type == Type::BACKWARD_WEIGHT) {
          is_right = is_right && part.microbatch_index == stage.weights++ && stage.weights <= stage.backwards;
        }
        if (!is_right) return to_string(part);
      }
    }
  }
  for (const Done& stage : done) {
    if (stage.forwards != n || stage.backwards != n || stage.weights != n) return "the end";
  }
  return "";
}

TEST(OrdersTest, AllKnownSchedulesRunWithTheBubbleAndTheMemoryThatIsDocumented) {
  int64_t checked = 0, with_formula = 0;
  for (const Known& schedule : known()) {
    for (int64_t ranks = 1; ranks <= 8; ++ranks) {
      for (int64_t n = 1; n <= 32; ++n) {
        SCOPED_TRACE(c10::str(schedule.name, " of ", schedule.stages_per_rank, " stages on each of ", ranks,
                              " ranks with ", n, " microbatches"));
        if (!schedule.takes(ranks, n)) {
          EXPECT_THROW(schedule.make(ranks, n), c10::ValueError);
          continue;
        }
        const PipelineOrder order = schedule.make(ranks, n);
        ASSERT_EQ(order.size(), static_cast<size_t>(ranks));
        EXPECT_EQ(first_wrong(order, ranks * schedule.stages_per_rank, n), "");
        const Simulation plain = simulate(order);
        const PipelineOrder with_messages = add_communication(order);
        const Simulation lowered = simulate(with_messages);
        EXPECT_EQ(plain.step_time, lowered.step_time);
        for (int64_t rank = 0; rank < ranks; ++rank) {
          const SimulatedRank& simulated = plain.ranks[static_cast<size_t>(rank)];
          EXPECT_EQ(simulated.busy, static_cast<double>(3 * n * schedule.stages_per_rank));
          EXPECT_LE(simulated.peak_activations, schedule.memory(rank, ranks, n)) << "rank " << rank;
          if (!schedule.has_bubble(ranks, n)) continue;
          ++with_formula;
          EXPECT_EQ(plain.bubble(static_cast<size_t>(rank)), schedule.bubble(ranks)) << "rank " << rank;
          if (schedule.name == std::string("zbv")) {
            EXPECT_EQ(plain.waiting(static_cast<size_t>(rank)), 0) << "rank " << rank;
          }
        }
        // Text and back.
        EXPECT_EQ(parse_csv(to_csv(with_messages)), with_messages);
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 2000);
  EXPECT_GT(with_formula, 5000);
}

TEST(OrdersTest, BubblesOfUnequalTimesAreAsDocumented) {
  CostModel costs;
  costs.forward = 4;
  costs.backward_input = 5;
  costs.backward_weight = 3;
  for (int64_t ranks = 1; ranks <= 8; ++ranks) {
    for (const int64_t n : {2 * ranks, 3 * ranks}) {
      const auto expect = [&](const PipelineOrder& order, double bubble) {
        const Simulation simulation = simulate(order, costs);
        for (size_t rank = 0; rank < order.size(); ++rank)
          EXPECT_EQ(simulation.bubble(rank), bubble) << ranks << " ranks";
      };
      const auto behind = static_cast<double>(ranks - 1);
      expect(gpipe_order(ranks, n), behind * (4 + 8));
      expect(one_forward_one_backward_order(ranks, n), behind * (4 + 8));
      for (const int64_t v : {1, 2, 3}) {
        expect(interleaved_1f1b_order(ranks, v, n), behind * (4 + 8));
        expect(looped_bfs_order(ranks, v, n), behind * (4 + 8));
        expect(interleaved_zero_bubble_order(ranks, v, n), behind * (4 + 5 - 3));
      }
    }
  }
}

TEST(OrdersTest, AreWhatThePapersDraw) {
  EXPECT_EQ(to_csv(gpipe_order(2, 2)), "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  EXPECT_EQ(to_csv(one_forward_one_backward_order(2, 3)), "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  EXPECT_EQ(to_csv(interleaved_1f1b_order(2, 2, 2)),
            "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n");
  EXPECT_EQ(to_csv(looped_bfs_order(2, 2, 2)), "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n1F0,1F1,3F0,3F1,3B0,3B1,1B0,1B1\n");
  EXPECT_EQ(to_csv(interleaved_zero_bubble_order(2, 1, 2)), "0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1I0,1F1,1I1,1W0,1W1\n");
  EXPECT_EQ(to_csv(zbv_order(1, 2)), "0F0,1F0,1I0,1W0,0F1,0I0,0W0,1F1,1I1,1W1,0I1,0W1\n");
  EXPECT_EQ(to_csv(dual_pipe_v_order(1, 2)), "0F0,1F0,0F1,1B0,(1F1;0B0)OVERLAP_F_B,1B1,0I1,0W1\n");
}

TEST(OrdersTest, ArgumentsThatMakeNoScheduleThrow) {
  EXPECT_THROW(gpipe_order(0, 4), c10::ValueError);
  EXPECT_THROW(gpipe_order(2, 0), c10::ValueError);
  EXPECT_THROW(looped_bfs_order(2, 0, 4), c10::ValueError);
  EXPECT_THROW(one_forward_one_backward_order(4, 3), c10::ValueError);
  EXPECT_THROW(interleaved_1f1b_order(4, 2, 11), c10::ValueError);  // two rounds
  EXPECT_NO_THROW(interleaved_1f1b_order(4, 2, 10));
  EXPECT_NO_THROW(interleaved_1f1b_order(4, 2, 3));
  EXPECT_THROW(zbv_order(4, 3), c10::ValueError);
  EXPECT_THROW(dual_pipe_v_order(2, 3), c10::ValueError);
}

TEST(OrdersTest, MessagesAreSentAtOnceAndReceivedEarly) {
  EXPECT_EQ(to_csv(add_communication(one_forward_one_backward_order(2, 2))),
            "0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0RECV_B1,0B0,0B1,0REDUCE_GRAD\n"
            "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1REDUCE_GRAD\n");
  // Between two stages of one rank there are none.
  const std::string zbv = to_csv(add_communication(zbv_order(2, 2)));
  EXPECT_EQ(zbv.find("1SEND_F"), std::string::npos);
  EXPECT_NE(zbv.find("0SEND_F1"), std::string::npos);
  // A receiver that takes microbatches in another order than they are sent in.
  const PipelineOrder crossed = parse_csv("0F0,0F1\n1F1,1F0\n");
  EXPECT_EQ(to_csv(add_communication(crossed)), "0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F0,1RECV_F1,1F1,1F0\n");
  EXPECT_THROW(add_communication(add_communication(crossed)), c10::ValueError);
  EXPECT_EQ(to_csv(forward_only(dual_pipe_v_order(1, 2))), "0F0,1F0,0F1,1F1\n");
}

TEST(ActionsTest, AreReadAsTheyAreWritten) {
  for (const char* text : {"0F0", "12B345", "3I1", "3W1", "1UNSHARD", "1RESHARD", "2SEND_F0", "2RECV_F10", "0SEND_B1",
                           "0RECV_B1", "7REDUCE_GRAD", "(0F3;3B1)OVERLAP_F_B", "(0F3;3I1)OVERLAP_F_B"}) {
    EXPECT_EQ(to_string(parse_action(text)), text);
  }
  EXPECT_EQ(parse_action(" 0F1\t"), make_action(0, Type::FORWARD, 1));
  const PipelineOrder order = parse_csv("0F0,,0F1\r\n,\n1F0\n");
  EXPECT_EQ(to_csv(order), "0F0,0F1\n\n1F0\n");
  EXPECT_EQ(parse_csv("0F0,0F1"), parse_csv("0F0,0F1\n"));
  EXPECT_TRUE(parse_csv("").empty());
}

TEST(ActionsTest, TextThatIsNoScheduleThrows) {
  for (const char* text : {"",
                           "F0",
                           "0",
                           "0F",
                           "F",
                           "0X1",
                           "0F-1",
                           "0F1x",
                           "-1F0",
                           "0UNSHARD1",
                           "0SEND_F",
                           "0OVERLAP_F_B",
                           "0OVERLAP_F_B1",
                           "()OVERLAP_F_B",
                           "(0F1)OVERLAP_F_B",
                           "(0F1;1B0",
                           "(0F1;1B0)",
                           "(0F1;1F0)OVERLAP_F_B",
                           "(1B0;0F1)OVERLAP_F_B",
                           "(0F1;1B0;2B0)OVERLAP_F_B",
                           "((0F1;1B0)OVERLAP_F_B;1B0)OVERLAP_F_B",
                           "99999999999999999999F0",
                           "65536F0",
                           "0F16777216",
                           "0F99999999999999999999999999",
                           "0f1",
                           "0F1 0F2"}) {
    EXPECT_THROW(parse_action(text), c10::ValueError) << text;
  }
  try {
    parse_csv("0F0,0F1\n1F0,1Q1\n");
    FAIL();
  } catch (const c10::ValueError& e) {
    EXPECT_NE(e.msg().find("row 2, cell 2"), std::string::npos) << e.msg();
    EXPECT_NE(e.msg().find("1Q1"), std::string::npos) << e.msg();
  }
}

// What is read is a schedule or a ValueError, and the simulator takes it or throws one.
void expect_harmless(const std::string& text) {
  try {
    simulate(parse_csv(text));
  } catch (const c10::ValueError&) {
  }
}

TEST(ActionsTest, HostileTextThrowsValueErrors) {
  const std::string text = to_csv(add_communication(dual_pipe_v_order(2, 4)));
  for (size_t length = 0; length < text.size(); ++length) expect_harmless(text.substr(0, length));
  uint32_t random = 1;
  const auto draw = [&](uint32_t end) {
    random = random * 1664525u + 1013904223u;
    return (random >> 8) % end;
  };
  const std::string alphabet = "0123456789FBIWSENDRCV_(;),\n\r\t \xff";
  for (int i = 0; i < 3000; ++i) {
    std::string changed = text;
    for (uint32_t k = 0; k <= draw(3); ++k) {
      const size_t at = draw(static_cast<uint32_t>(changed.size()));
      switch (draw(3)) {
        case 0:
          changed[at] = alphabet[draw(static_cast<uint32_t>(alphabet.size()))];
          break;
        case 1:
          changed.erase(at, 1 + draw(8));
          break;
        default:
          changed.insert(at, std::string(1 + draw(30), alphabet[draw(static_cast<uint32_t>(alphabet.size()))]));
      }
    }
    expect_harmless(changed);
  }
  expect_harmless(std::string(100000, '('));
  expect_harmless(std::string(100000, ','));
  expect_harmless("65535F16777215\n");
  EXPECT_THROW(check_order(parse_csv("65535F16777215\n")), c10::ValueError);
}

void expect_error(const std::string& csv, const std::vector<std::string>& words) {
  try {
    simulate(parse_csv(csv));
    FAIL() << csv;
  } catch (const c10::ValueError& e) {
    for (const std::string& word : words) EXPECT_NE(e.msg().find(word), std::string::npos) << e.msg();
  }
}

TEST(SimulatorTest, SaysWhatIsWrongWithASchedule) {
  expect_error("", {"nothing is computed"});
  expect_error("0F0,0F0\n", {"expected 1 forwards", "got 2"});
  expect_error("0F0,0F0\n1F1,1F0\n", {"microbatch 0 of stage 0", "2 forwards"});
  expect_error("0F0\n0F1\n", {"stage 0 is on ranks 0 and 1"});
  expect_error("0F0,0F2\n", {"forwards", "but got 2"});
  expect_error("0F0\n2F0\n", {"forwards", "but got 2"});
  expect_error("0F0,0F1,0B0\n", {"microbatch 1 of stage 0", "0 B"});
  expect_error("0F0,0I0\n", {"one B, or one I and one W"});
  expect_error("0F0,0W0,0B0\n", {"one B, or one I and one W"});
  expect_error("0F0,0W0,0I0\n", {"cannot go on", "rank 0 waits at 0W0 (its action 1) for 0I0"});
  expect_error("0B0,0F0\n", {"rank 0 waits at 0B0 (its action 0) for 0F0"});
  // Each waits for the other.
  expect_error("0F0,0B0,0F1,0B1\n1F1,1F0,1B0,1B1\n",
               {"rank 0 waits at 0B0 (its action 1) for 1SEND_B0", "rank 1 waits at 1F1 (its action 0) for 0SEND_F1"});
  expect_error("0F0,0SEND_F0\n1F0\n", {"does not receive"});
  expect_error("0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F1,1RECV_F0,1F0,1F1\n", {"in that order"});
  expect_error("0F0\n1RECV_F0,1F0\n", {"does not receive"});
  expect_error("0F0,0SEND_F0,1RECV_F0,1F0\n", {"between stages of the same rank"});
  expect_error("0F0,0SEND_B0\n", {"no stage is on the other side of 0SEND_B0"});
  expect_error("0F0,0SEND_F0,0F1,0SEND_F0\n1RECV_F0,1F0,1RECV_F0,1F1\n", {"once for each of 2 microbatches"});
  expect_error("0SEND_F0,0F0\n1RECV_F0,1F0\n", {"rank 0 waits at 0SEND_F0", "for 0F0"});
  expect_error("0F0,1UNSHARD\n", {"stage 1 computes nothing"});
}

TEST(SimulatorTest, TakesTimesAndLinksAsDocumented) {
  // 1F1B with a backward of 2: 3 of 19 units.
  const auto order = one_forward_one_backward_order(4, 16);
  CostModel costs;
  costs.backward_input = 2;
  costs.backward_weight = 0;
  EXPECT_DOUBLE_EQ(simulate(order, costs).bubble_ratio(), 3.0 / 19);
  // A message that is waited for: there and back.
  costs.forward = 10;
  costs.backward_input = 20;
  costs.link = {.latency = 1, .overhead = 0.5, .bandwidth = 100};
  costs.message_bytes = 200;
  const auto two = add_communication(gpipe_order(2, 1));
  // The first receive is posted at 0: the sender knows when it is done. The gradient's is posted at 10.
  EXPECT_DOUBLE_EQ(simulate(two, costs).step_time, 10 + 3.5 + 10 + 20 + 3.5 + 20);
  // Both sides at once: 2 latencies.
  const auto late = parse_csv("0F0,0SEND_F0\n1F0\n");
  EXPECT_THROW(simulate(late, costs), c10::ValueError);
  const auto at_once = parse_csv("0UNSHARD,0F0,0SEND_F0\n1UNSHARD,1RECV_F0,1F0\n");
  costs.duration = [](const Action& action) {
    return action.computation_type == Type::UNSHARD && action.stage_index == 1 ? 10.0 : 5.0;
  };
  EXPECT_DOUBLE_EQ(simulate(at_once, costs).step_time, 10 + 2 + 0.5 + 2 + 5);
  // A slow link: messages follow each other at its pace, and the last of them ends the step.
  costs.duration = nullptr;
  costs.forward = 1;
  costs.link = {.latency = 0, .overhead = 0, .bandwidth = 100};
  costs.message_bytes = 500;
  EXPECT_DOUBLE_EQ(simulate(forward_only(gpipe_order(2, 4)), costs).step_time, 1 + 4 * 5 + 1);
  // Sizes by message.
  costs.bytes = [](const Action& send) { return send.microbatch_index == 3 ? 500.0 : 0.0; };
  EXPECT_DOUBLE_EQ(simulate(forward_only(gpipe_order(2, 4)), costs).step_time, 4 + 5 + 1);
  costs.duration = [](const Action&) { return -1.0; };
  EXPECT_THROW(simulate(order, costs), c10::ValueError);
}

TEST(SimulatorTest, DrawsAllRanks) {
  const std::string svg = to_svg(simulate(dual_pipe_v_order(2, 4)));
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_NE(svg.find("rank 1"), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  size_t boxes = 0;
  for (size_t at = svg.find("<rect"); at != std::string::npos; at = svg.find("<rect", at + 1)) ++boxes;
  size_t parts = 0;
  for (const auto& row : dual_pipe_v_order(2, 4)) {
    for (const Action& action : row) parts += action.computation_type == Type::OVERLAP_F_B ? 2 : 1;
  }
  EXPECT_EQ(boxes, parts);
  EXPECT_EQ(to_svg(Simulation{}).rfind("<svg", 0), 0u);
}

}  // namespace
}  // namespace torch::distributed::pipelining
