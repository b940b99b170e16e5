#include "distributed/checkpoint/state_dict_saver.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "distributed/checkpoint/filesystem.h"
#include "distributed/checkpoint/wire.h"
#include "distributed/process_group/init.h"
#include "distributed/process_group/rank_local.h"

namespace torch::distributed::checkpoint {
namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;
using FuturePtr = c10::intrusive_ptr<c10::ivalue::Future>;
using detail::Ranks;

// Global plans of this rank, by what they were made of.
struct PlanCache {
  struct Entry {
    std::string local_plan;  // with the planner's key
    uint64_t number = 0;     // which the coordinator gave it
    SavePlan plan;
    std::vector<SavePlan> all_plans;  // the coordinator's
    Metadata metadata;                // the coordinator's
  };
  static constexpr size_t kMost = 4;
  std::mutex mutex;
  std::deque<Entry> entries;
};

uint64_t random_number() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32 | device()) | 1;
}

class Saving {
 public:
  Saving(const SaveOptions& options, const Group& group)
      : ranks_("save", group), writer_(options.storage_writer), planner_(options.planner) {
    TORCH_CHECK_VALUE(writer_ != nullptr || !options.checkpoint_id.empty(),
                      "save: expected a checkpoint_id or a storage_writer");
    if (writer_ == nullptr) writer_ = std::make_shared<FileSystemWriter>(options.checkpoint_id);
    if (planner_ == nullptr) planner_ = std::make_shared<DefaultSavePlanner>();
    checkpoint_id_ = options.checkpoint_id;
  }

  const Ranks& ranks() const { return ranks_; }

  Metadata run(const std::function<StateDict()>& make_state) {
    std::string local_plan;
    SavePlan own;
    PlanCache& cache = c10d::RankLocal<PlanCache>::get();
    const std::lock_guard<std::mutex> lock(cache.mutex);
    const PlanCache::Entry* known = nullptr;
    const std::string answer = ranks_.all_reduce(
        "plan",
        [&] {
          planner_->set_up_planner(make_state(), ranks_.is_coordinator());
          if (!checkpoint_id_.empty()) writer_->reset(checkpoint_id_);
          writer_->set_up_storage_writer(ranks_.is_coordinator());
          own = writer_->prepare_local_plan(planner_->create_local_plan());
          local_plan = planner_->plan_cache_key();
          if (!local_plan.empty()) local_plan += "\n" + detail::to_bytes(own);
          for (const PlanCache::Entry& entry : cache.entries) {
            if (!local_plan.empty() && entry.local_plan == local_plan) known = &entry;
          }
          return known == nullptr ? std::string() : std::to_string(known->number);
        },
        "plan",
        [&](const std::vector<std::string>& numbers) {
          const bool is_known = known != nullptr && known->all_plans.size() == numbers.size() &&
                                std::all_of(numbers.begin(), numbers.end(),
                                            [&](const std::string& n) { return n == std::to_string(known->number); });
          return std::string(is_known ? "known" : "new");
        });
    if (answer != "known") known = plan(std::move(local_plan), own, cache);
    SavePlan final_plan = known->plan;
    std::vector<SavePlan> all_plans = known->all_plans;
    Metadata metadata = known->metadata;
    final_plan.storage_data = ranks_.reduce_scatter(
        "plan", [] { return std::string(); }, "plan",
        [&](const std::vector<std::string>&) {
          std::vector<std::string> data;
          for (const SavePlan& p : writer_->prepare_global_plan(std::move(all_plans))) data.push_back(p.storage_data);
          return data;
        });
    try {
      ranks_.all_reduce(
          kWrite,
          [&] {
            return detail::to_bytes(writer_->write_data(planner_->finish_plan(std::move(final_plan)), *planner_));
          },
          kFinish,
          [&](const std::vector<std::string>& texts) {
            std::vector<std::vector<WriteResult>> results;
            for (const std::string& text : texts) results.push_back(detail::results_of(text));
            writer_->finish(metadata, results);
            return std::string();
          });
    } catch (const CheckpointException& e) {
      if (e.step() == kWrite) writer_->discard();
      throw;
    }
    return ranks_.is_coordinator() ? std::move(metadata) : Metadata();
  }

 private:
  static constexpr const char *kWrite = "write", *kFinish = "finish";

  // Makes the global plan, and keeps it.
  const PlanCache::Entry* plan(std::string local_plan, const SavePlan& own, PlanCache& cache) {
    PlanCache::Entry entry;
    const std::string answer = ranks_.reduce_scatter(
        "plan", [&] { return detail::to_bytes(own); }, "plan",
        [&](const std::vector<std::string>& texts) {
          std::vector<SavePlan> plans;
          for (const std::string& text : texts) plans.push_back(detail::save_plan_of(text));
          std::tie(entry.all_plans, entry.metadata) = planner_->create_global_plan(std::move(plans));
          TORCH_CHECK_VALUE(entry.all_plans.size() == texts.size(), "the planner made ", entry.all_plans.size(),
                            " plans for ", texts.size(), " ranks");
          const uint64_t number = random_number();
          std::vector<std::string> answers;
          for (const SavePlan& p : entry.all_plans) {
            detail::WireWriter out;
            out.number(number);
            out.text(detail::to_bytes(p));
            answers.push_back(out.take());
          }
          return answers;
        });
    detail::WireReader in(answer);
    entry.number = in.number();
    entry.plan = detail::save_plan_of(in.text());
    entry.local_plan = std::move(local_plan);
    // Without a key it is never found again, and is the first to go.
    std::erase_if(cache.entries, [&](const PlanCache::Entry& e) { return e.local_plan == entry.local_plan; });
    if (cache.entries.size() == PlanCache::kMost) cache.entries.pop_front();
    cache.entries.push_back(std::move(entry));
    return &cache.entries.back();
  }

  const Ranks ranks_;
  std::shared_ptr<StorageWriter> writer_;
  std::shared_ptr<SavePlanner> planner_;
  std::string checkpoint_id_;
};

// The asynchronous save of a rank.
class Background {
 public:
  ~Background() { wait(); }

  // On the save's own thread, in what its future calls, the save is done.
  void wait() {
    if (!thread_.joinable()) return;
    thread_.get_id() == std::this_thread::get_id() ? thread_.detach() : thread_.join();
  }

  FuturePtr start(std::function<void()> work) {
    wait();
    // The process' rank is never destroyed; a program ends when what it saves is saved.
    [[maybe_unused]] static const int at_exit = std::atexit([] { c10d::RankLocal<Background>::get().wait(); });
    const auto future = c10::make_intrusive<c10::ivalue::Future>(c10::NoneType::get());
    thread_ = std::thread([work = std::move(work), future, rank = c10d::current_rank()]() mutable {
      const c10d::RankScope scope(std::move(rank));
      std::exception_ptr error;
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
      work = nullptr;
      if (error) {
        future->setError(error);
      } else {
        future->markCompleted();
      }
    });
    return future;
  }

  // The deadline of the ranks' other operations: a program that fails waits for a save no longer than for these.
  static std::optional<std::chrono::milliseconds> timeout_of(const c10d::ProcessGroup& group) {
    try {
      return group.getBackend(c10::DeviceType::CPU)->getBackendOptions()->timeout;
    } catch (const c10::NotImplementedError&) {
      return std::nullopt;  // an engine of somebody else's, without options
    }
  }

  // A group of all ranks, for saves beside which other things happen.
  Group group() {
    if (!c10d::is_initialized()) return nullptr;
    const Group all = c10d::get_default_group();
    if (default_group_ != all) {
      group_ = c10d::new_group(std::nullopt, {.timeout = timeout_of(*all)});
      default_group_ = all;
    }
    return group_;
  }

 private:
  std::thread thread_;
  Group default_group_, group_;
};

}  // namespace

namespace detail {

void wait_for_async_save() {
  c10d::RankLocal<Background>::get().wait();
}

Group group_of(const Group& group, bool no_dist) {
  if (no_dist) return nullptr;
  if (group != nullptr) return group;
  return c10d::is_initialized() ? c10d::get_default_group() : nullptr;
}

void check_names(const Ranks& ranks, const StateDict& state_dict) {
  ranks.all_reduce(
      "comparison of names",
      [&] {
        WireWriter out;
        out.number(state_dict.size());
        for (const StateDict::Item& item : state_dict.items()) out.text(item.first);
        return out.take();
      },
      "comparison of names",
      [](const std::vector<std::string>& texts) {
        std::vector<std::set<std::string>> of_ranks;
        std::set<std::string> all;
        for (const std::string& text : texts) {
          WireReader in(text);
          std::set<std::string> names;
          for (size_t n = in.count(); n > 0; --n) names.insert(in.text());
          all.insert(names.begin(), names.end());
          of_ranks.push_back(std::move(names));
        }
        std::string lacking;
        for (size_t rank = 0; rank < of_ranks.size(); ++rank) {
          if (of_ranks[rank].size() == all.size()) continue;
          lacking += c10::str(lacking.empty() ? "" : "; ", "rank ", rank, " lacks ");
          const char* between = "";
          for (const std::string& name : all) {
            if (of_ranks[rank].count(name) != 0) continue;
            lacking += c10::str(between, "'", name, "'");
            between = ", ";
          }
        }
        TORCH_CHECK_VALUE(lacking.empty(), "the ranks' state dicts have different names: ", lacking);
        return std::string();
      });
}

StateDict without_objects(const StateDict& state_dict) {
  std::map<std::string, std::shared_ptr<Stateful>> objects;
  for (const auto& [name, value] : state_dict.items()) {
    if (value.object != nullptr) objects[name] = value.object;
  }
  StateDict plain = state_dict;
  for (const auto& [name, object] : objects) plain.set(name, object->state_dict());
  return plain;
}

}  // namespace detail

Metadata save(const StateDict& state_dict, const SaveOptions& options) {
  Saving saving(options, detail::group_of(options.process_group, options.no_dist));
  detail::wait_for_async_save();
  detail::check_names(saving.ranks(), state_dict);
  return saving.run([&] { return detail::without_objects(state_dict); });
}

FuturePtr async_save(const StateDict& state_dict, const AsyncSaveOptions& options) {
  Background& background = c10d::RankLocal<Background>::get();
  background.wait();
  const bool is_default = options.process_group == nullptr && !options.no_dist;
  const auto saving = std::make_shared<Saving>(
      SaveOptions{
          .checkpoint_id = options.checkpoint_id, .storage_writer = options.storage_writer, .planner = options.planner},
      is_default ? background.group() : detail::group_of(options.process_group, options.no_dist));
  detail::check_names(saving->ranks(), state_dict);
  const std::shared_ptr<AsyncStager> stager =
      options.stager != nullptr ? options.stager : std::make_shared<BlockingAsyncStager>();
  StateDict staged;
  saving->ranks().all("staging", [&] { staged = stager->stage(detail::without_objects(state_dict)); });
  FuturePtr future =
      background.start([saving, staged = std::move(staged), stager] { saving->run([&] { return staged; }); });
  if (stager->should_synchronize_after_execute()) stager->synchronize_staging();
  return future;
}

}  // namespace torch::distributed::checkpoint
