#include "distributed/pipeline/pipe.h"

#include <set>
#include <utility>

#include "c10/util/exception.h"

namespace torch::distributed::pipelining {
namespace {

class Cutter {
 public:
  explicit Cutter(const std::map<std::string, SplitPoint>& spec) : spec_(spec) {}

  // The parts of a sequence whose children's names begin with `prefix`. The first and the last may be empty, where it
  // is cut at its edge.
  std::vector<nn::Sequential> cut(const nn::SequentialImpl& sequence, const std::string& prefix) {
    std::vector<nn::Sequential> parts(1);
    auto child = sequence.begin();
    for (const auto& item : sequence.named_children()) {
      const std::string path = prefix + item.key();
      const auto point = spec_.find(path);
      if (point != spec_.end()) found_.insert(path);
      if (point != spec_.end() && point->second == SplitPoint::BEGINNING) parts.emplace_back();
      const auto* const inner = item.value()->as<nn::SequentialImpl>();
      if (inner != nullptr && is_cut_below(path)) {
        std::vector<nn::Sequential> pieces = cut(*inner, path + ".");
        for (size_t i = 0; i < pieces.size(); ++i) {
          if (i > 0) parts.emplace_back();
          if (!pieces[i]->is_empty()) parts.back()->push_back(item.key(), pieces[i]);
        }
      } else {
        parts.back()->push_back(item.key(), *child);
      }
      if (point != spec_.end() && point->second == SplitPoint::END) parts.emplace_back();
      ++child;
    }
    return parts;
  }

  void check_found() const {
    for (const auto& [path, point] : spec_) {
      TORCH_CHECK_VALUE(found_.count(path) != 0, "pipeline: split_spec names ", path,
                        ", which is no module of a Sequential here");
    }
  }

 private:
  bool is_cut_below(const std::string& path) const {
    const auto next = spec_.lower_bound(path + ".");
    return next != spec_.end() && next->first.compare(0, path.size() + 1, path + ".") == 0;
  }

  const std::map<std::string, SplitPoint>& spec_;
  std::set<std::string> found_;
};

}  // namespace

nn::Sequential Pipe::get_stage_module(int64_t stage_index) const {
  TORCH_CHECK_INDEX(stage_index >= 0 && stage_index < num_stages(), "Pipe: there is no stage ", stage_index, " of ",
                    num_stages());
  return stages_[static_cast<size_t>(stage_index)];
}

PipelineStage Pipe::build_stage(int64_t stage_index, c10::Device device, PipelineStageOptions options) const {
  return PipelineStage(get_stage_module(stage_index), stage_index, num_stages(), device, std::move(options));
}

Pipe pipeline(const nn::Sequential& module, const std::map<std::string, SplitPoint>& split_spec) {
  Cutter cutter(split_spec);
  std::vector<nn::Sequential> stages = cutter.cut(*module, "");
  cutter.check_found();
  for (size_t i = 0; i < stages.size(); ++i) {
    TORCH_CHECK_VALUE(!stages[i]->is_empty(), "pipeline: split_spec leaves stage ", i, " without modules");
  }
  return Pipe(std::move(stages));
}

}  // namespace torch::distributed::pipelining
