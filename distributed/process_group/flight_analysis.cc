#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/process_group/flight_recorder.h"

namespace c10d {
namespace {

using Json = nlohmann::json;

std::string names(const std::vector<int64_t>& ranks) {
  return c10::str(ranks.size() == 1 ? "rank " : "ranks ", c10::Join(", ", ranks));
}

// A call as others are to make it: "gloo:all_reduce of [4] Float"
std::string call_of(const Json& entry) {
  std::string text = entry.at("profiling_name").get<std::string>();
  const Json& sizes = entry.at("input_sizes");
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += c10::str(i == 0 ? " of " : ", ", sizes[i].dump(), " ", entry.at("input_dtypes").at(i).get<std::string>());
  }
  return text;
}
// Whose sizes differ from rank to rank.
bool has_own_sizes(const std::string& call) {
  return call.find(":all_to_all") != std::string::npos;
}

struct Rank {
  int64_t enqueued = -1, completed = -1;
  std::map<int64_t, std::string> calls;
  std::vector<std::string> waits;  // messages that are not done
};
struct Group {
  std::string description;
  std::vector<int64_t> members;
  std::map<int64_t, Rank> ranks;  // of which there is a file
};

void read(const std::string& text, std::map<std::string, Group>& groups) {
  try {
    const Json dump = Json::parse(text);
    const int64_t rank = dump.at("rank").get<int64_t>();
    std::map<int64_t, Rank*> by_id;
    for (const auto& [id, config] : dump.at("pg_config").items()) {
      Group& group = groups[config.at("name").get<std::string>()];
      group.description = config.at("desc").get<std::string>();
      group.members = Json::parse(config.at("ranks").get<std::string>()).get<std::vector<int64_t>>();
      Rank& own = group.ranks[rank];
      const Json& status = dump.at("pg_status").at(id);
      own.enqueued = std::max(own.enqueued, status.at("last_enqueued_collective").get<int64_t>());
      own.completed = std::max(own.completed, status.at("last_completed_collective").get<int64_t>());
      by_id[std::stoll(id)] = &own;
    }
    for (const Json& entry : dump.at("entries")) {
      Rank& own = *by_id.at(entry.at("pg_id").get<int64_t>());
      if (!entry.at("is_p2p").get<bool>()) {
        own.calls[entry.at("collective_seq_id").get<int64_t>()] = call_of(entry);
      } else if (entry.at("state") != "completed") {
        own.waits.push_back(call_of(entry));
      }
    }
  } catch (const std::exception& e) {
    TORCH_CHECK_VALUE(false, "analyze_flights: this is no flight recorder's file: ", e.what());
  }
}

std::string call_at(const Rank& rank, int64_t number) {
  const auto found = rank.calls.find(number);
  return c10::str("number ", number, found == rank.calls.end() ? "" : " (" + found->second + ")");
}

void describe(const std::string& name, const Group& group, std::string& out) {
  std::vector<int64_t> missing;
  int64_t most = -1, least_completed = INT64_MAX;
  for (const int64_t member : group.members) {
    if (!group.ranks.contains(member)) missing.push_back(member);
  }
  for (const auto& [r, rank] : group.ranks) {
    most = std::max(most, rank.enqueued);
    least_completed = std::min(least_completed, rank.completed);
  }
  const std::string label = c10::str("process group ", name, " (", group.description, "): ");
  if (!missing.empty()) out += c10::str(label, "no file of ", names(missing), "\n");
  std::map<int64_t, std::vector<int64_t>> behind;
  const Rank* first = nullptr;
  for (const auto& [r, rank] : group.ranks) {
    if (rank.enqueued < most) behind[rank.enqueued].push_back(r);
    if (rank.enqueued == most && first == nullptr) first = &rank;
  }
  for (const auto& [last, ranks] : behind) {
    const Rank& rank = group.ranks.at(ranks[0]);
    out += c10::str(label, names(ranks), ranks.size() == 1 ? " is" : " are", " behind: ",
                    last < 0 ? "no collective called" : "the last collective called is " + call_at(rank, last),
                    ", others have called ", call_at(*first, most), "\n");
  }
  // The first number at which calls differ.
  std::set<int64_t> numbers;
  for (const auto& [r, rank] : group.ranks) {
    for (const auto& [number, call] : rank.calls) numbers.insert(number);
  }
  for (const int64_t number : numbers) {
    std::map<std::string, std::vector<int64_t>> calls;
    for (const auto& [r, rank] : group.ranks) {
      const auto found = rank.calls.find(number);
      if (found == rank.calls.end()) continue;
      const std::string& call = found->second;
      calls[has_own_sizes(call) ? call.substr(0, call.find(' ')) : call].push_back(r);
    }
    if (calls.size() < 2) continue;
    out += c10::str(label, "calls of number ", number, " differ:");
    for (const auto& [call, ranks] : calls) out += c10::str(" ", call, " on ", names(ranks), ";");
    out.back() = '\n';
    break;
  }
  for (const auto& [r, rank] : group.ranks) {
    if (!rank.waits.empty())
      out += c10::str(label, "rank ", r, " waits in ", rank.waits[0],
                      rank.waits.size() > 1 ? c10::str(" and ", rank.waits.size() - 1, " more") : "", "\n");
  }
  if (behind.empty() && most > least_completed && !group.ranks.empty())
    out += c10::str(label, "all of ", group.ranks.size(), " have called ", call_at(*first, most),
                    ", and not all are done with it\n");
}

}  // namespace

std::string analyze_flights(const std::vector<std::string>& dumps) {
  std::map<std::string, Group> groups;
  for (const std::string& dump : dumps) read(dump, groups);
  std::string out;
  for (const auto& [name, group] : groups) describe(name, group, out);
  return out.empty() ? "no rank is behind\n" : out;
}

}  // namespace c10d
