#include "distributed/pipeline/split_backward.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/engine/accumulate_grad.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/node_extras.h"
#include "c10/util/scope_exit.h"

namespace torch::distributed::pipelining {
namespace {

using namespace torch::autograd;

// Of a node that is reached from the results: whether it leads to an input.
using Leads = std::unordered_map<Node*, bool>;

// Without recursion: graphs are as deep as they want.
Leads find_ways(const edge_list& roots, const edge_list& inputs) {
  Leads leads;
  for (const Edge& input : inputs) leads[input.function.get()] = true;
  struct Visit {
    Node* node;
    size_t next;
  };
  std::vector<Visit> stack;
  for (const Edge& root : roots) {
    if (root.is_valid() && leads.emplace(root.function.get(), false).second) stack.push_back({root.function.get(), 0});
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next == top.node->num_outputs()) {
        bool& here = leads.at(top.node);
        for (const Edge* edge = top.node->next_edges_begin(); edge != top.node->next_edges_end(); ++edge) {
          here = here || (edge->is_valid() && leads.at(edge->function.get()));
        }
        stack.pop_back();
        continue;
      }
      const Edge& edge = top.node->next_edge(top.next++);
      if (edge.is_valid() && leads.emplace(edge.function.get(), false).second) {
        stack.push_back({edge.function.get(), 0});
      }
    }
  }
  return leads;
}

}  // namespace

void WeightBackward::run() {
  if (!roots.empty()) {
    Engine::get_default_engine().execute(roots, gradients, /*keep_graph=*/false, /*create_graph=*/false,
                                         /*accumulate_grad=*/true);
  }
  *this = {};
}

std::pair<variable_list, WeightBackward> backward_input(const edge_list& roots, const variable_list& gradients,
                                                        const variable_list& inputs) {
  edge_list targets;
  for (const at::Tensor& input : inputs) targets.push_back(gradient_edge(input));
  const Leads leads = find_ways(roots, targets);
  const auto leads_on = [&](const Edge& edge) { return edge.is_valid() && leads.at(edge.function.get()); };

  WeightBackward rest;
  edge_list through;
  variable_list through_gradients;
  for (size_t i = 0; i < roots.size(); ++i) {
    if (!roots[i].is_valid()) continue;
    (leads_on(roots[i]) ? through : rest.roots).push_back(roots[i]);
    (leads_on(roots[i]) ? through_gradients : rest.gradients).push_back(gradients[i]);
  }
  if (through.empty()) return {variable_list(inputs.size()), std::move(rest)};

  // Nodes between results and inputs that lead to something else, too; those edges, and the gradients that come to
  // them.
  struct Branch {
    NodePtr node;
    std::vector<std::pair<size_t, Edge>> edges;
    std::vector<uint64_t> hooks;
    variable_list gradients;
  };
  std::vector<std::unique_ptr<Branch>> branches;
  std::vector<NodePtr> others;
  for (const auto& [node, is_between] : leads) {
    if (!is_between || node->num_outputs() == 0) continue;
    auto branch = std::make_unique<Branch>();
    for (size_t i = 0; i < node->num_outputs(); ++i) {
      const Edge& edge = node->next_edge(i);
      if (!edge.is_valid() || leads_on(edge)) continue;
      branch->edges.emplace_back(i, edge);
      // What is behind it is made of parameters, and may need their values for its gradients.
      rest.reads_parameters |= dynamic_cast<AccumulateGrad*>(edge.function.get()) == nullptr;
    }
    if (branch->edges.empty()) {
      others.push_back(node->getptr());
      continue;
    }
    branch->node = node->getptr();
    branch->gradients.resize(node->num_inputs());
    branches.push_back(std::move(branch));
  }
  // A node computes the gradients of all valid edges, whatever the pass is asked for.
  for (const auto& branch : branches) {
    Node& node = *branch->node;
    for (const auto& [i, edge] : branch->edges) node.set_next_edge(i, Edge());
    auto& hooks = node.mutable_extras().tensor_hooks;
    for (uint32_t nr = 0; nr < node.num_inputs(); ++nr) {
      branch->hooks.push_back(add_tensor_hook(node, nr, [kept = branch.get(), nr](const at::Tensor& gradient) {
        kept->gradients[nr] = gradient;
        return at::Tensor();
      }));
    }
    // Before the hooks of users, which will run again.
    std::rotate(hooks.begin(), hooks.end() - static_cast<std::ptrdiff_t>(node.num_inputs()), hooks.end());
  }

  variable_list result;
  {
    const auto put_back = c10::make_scope_exit([&] {
      for (const auto& branch : branches) {
        for (const uint64_t key : branch->hooks) remove_tensor_hook(*branch->node, key);
        for (const auto& [i, edge] : branch->edges) branch->node->set_next_edge(i, edge);
      }
    });
    result = Engine::get_default_engine().execute(through, through_gradients, /*keep_graph=*/true,
                                                  /*create_graph=*/false, /*accumulate_grad=*/false, targets);
  }

  // The ways to the inputs have been gone: what remains leads to other leaves only.
  for (const auto& branch : branches) {
    for (size_t i = 0; i < branch->node->num_outputs(); ++i) {
      if (leads_on(branch->node->next_edge(i))) branch->node->set_next_edge(i, Edge());
    }
    for (uint32_t nr = 0; nr < branch->gradients.size(); ++nr) {
      if (!branch->gradients[nr].defined()) continue;
      rest.roots.emplace_back(branch->node, nr);
      rest.gradients.push_back(std::move(branch->gradients[nr]));
    }
  }
  for (const NodePtr& node : others) node->release_variables();
  return {std::move(result), std::move(rest)};
}

}  // namespace torch::distributed::pipelining
