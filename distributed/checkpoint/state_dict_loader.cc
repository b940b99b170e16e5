#include "distributed/checkpoint/state_dict_loader.h"

#include <map>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "distributed/checkpoint/filesystem.h"
#include "distributed/checkpoint/state_dict_saver.h"
#include "distributed/checkpoint/wire.h"

namespace torch::distributed::checkpoint {

void load(StateDict& state_dict, const LoadOptions& options) {
  TORCH_CHECK_VALUE(options.storage_reader != nullptr || !options.checkpoint_id.empty(),
                    "load: expected a checkpoint_id or a storage_reader");
  const std::shared_ptr<StorageReader> reader = options.storage_reader != nullptr
                                                    ? options.storage_reader
                                                    : std::make_shared<FileSystemReader>(options.checkpoint_id);
  const std::shared_ptr<LoadPlanner> planner =
      options.planner != nullptr ? options.planner : std::make_shared<DefaultLoadPlanner>();
  const detail::Ranks ranks("load", detail::group_of(options.process_group, options.no_dist));
  detail::wait_for_async_save();
  detail::check_names(ranks, state_dict);
  StateDict plain;
  const std::string answer = ranks.reduce_scatter(
      "plan",
      [&] {
        plain = detail::without_objects(state_dict);
        if (!options.checkpoint_id.empty()) reader->reset(options.checkpoint_id);
        const Metadata metadata = reader->read_metadata();
        planner->set_up_planner(plain, metadata, ranks.is_coordinator());
        reader->set_up_storage_reader(metadata, ranks.is_coordinator());
        return detail::to_bytes(reader->prepare_local_plan(planner->create_local_plan()));
      },
      "plan",
      [&](const std::vector<std::string>& texts) {
        std::vector<LoadPlan> plans;
        for (const std::string& text : texts) plans.push_back(detail::load_plan_of(text));
        plans = reader->prepare_global_plan(planner->create_global_plan(std::move(plans)));
        TORCH_CHECK_VALUE(plans.size() == texts.size(), "the planner made ", plans.size(), " plans for ", texts.size(),
                          " ranks");
        std::vector<std::string> answers;
        for (const LoadPlan& plan : plans) answers.push_back(detail::to_bytes(plan));
        return answers;
      });
  ranks.all("read", [&] { reader->read_data(planner->finish_plan(detail::load_plan_of(answer)), *planner); });
  ranks.all("load_state_dict", [&] {
    std::map<std::string, std::shared_ptr<Stateful>> objects;
    for (const auto& [name, value] : state_dict.items()) {
      if (value.object != nullptr) objects[name] = value.object;
    }
    for (const auto& [name, object] : objects) object->load_state_dict(plain.at(name));
  });
  const StateDict given = state_dict;
  for (const auto& [name, value] : given.items()) {
    if (value.object == nullptr) state_dict.set(name, plain.at(name));
  }
}

}  // namespace torch::distributed::checkpoint
