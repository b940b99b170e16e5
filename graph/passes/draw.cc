#include "graph/passes/draw.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "graph/ir/text.h"

namespace torch::graph {
namespace {

constexpr int kLetter = 7, kLine = 16, kHeight = 40, kBetween = 30, kApart = 20, kMargin = 20;
constexpr size_t kLongest = 60;  // letters in a box

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // XML has no other control characters, and the text no other encoding than ASCII.
        out += (static_cast<unsigned char>(c) < 0x20 && c != '\n') || static_cast<unsigned char>(c) >= 0x7f ? '?' : c;
    }
  }
  return out;
}
std::string shortened(std::string text) {
  if (text.size() > kLongest) text = text.substr(0, kLongest - 3) + "...";
  return text;
}

struct Box {
  std::string name, sizes, whole;
  const char* fill = "#eef3fb";
  size_t layer = 0;
  double order = 0;
  int x = 0, width = 0;
  std::vector<size_t> from;
};

std::string sizes_of(const Value& value) {
  const TensorInfo* info = value.info();
  if (info == nullptr) return "";
  std::string text = std::string(c10::toString(info->dtype)) + " [";
  for (size_t i = 0; i < info->sizes.size(); ++i) text += (i > 0 ? ", " : "") + info->sizes[i].str();
  return text + "]";
}

class Drawing {
 public:
  Drawing(const Graph& graph, const DrawOptions& options) : graph_(graph), options_(options) {}

  std::string run() {
    const Block& block = graph_.block();
    for (size_t i = 0; i < block.input_count(); ++i) {
      const Value* input = block.input(i);
      Box box;
      box.name = input->name().empty() ? "input " + std::to_string(i) : input->name();
      box.sizes = sizes_of(*input);
      box.whole = box.name + ": " + input->type()->str();
      box.fill = "#e6f5e6";
      boxes_of_[input] = add(std::move(box));
    }
    walk(block, std::nullopt);
    Box end;
    end.name = "return";
    end.whole = "return";
    end.fill = "#fbeeee";
    for (const Operand& operand : block.outputs()) uses(operand, end);
    add(std::move(end));
    arrange();
    return written();
  }

 private:
  size_t add(Box box) {
    TORCH_CHECK_VALUE(boxes_.size() < options_.max_nodes, "graph ", graph_.name(), " has more than ",
                      options_.max_nodes, " nodes, the most that are drawn");
    for (const size_t from : box.from) box.layer = std::max(box.layer, boxes_[from].layer + 1);
    box.name = shortened(std::move(box.name));
    box.sizes = shortened(std::move(box.sizes));
    box.width = static_cast<int>(std::max(box.name.size(), box.sizes.size()) + 2) * kLetter;
    boxes_.push_back(std::move(box));
    return boxes_.size() - 1;
  }
  void uses(const Operand& operand, Box& box) const {
    operand.for_values([&](const Value* v) {
      const auto found = boxes_of_.find(v);
      if (found == boxes_of_.end()) return;
      if (std::find(box.from.begin(), box.from.end(), found->second) == box.from.end())
        box.from.push_back(found->second);
    });
  }

  void walk(const Block& block, std::optional<size_t> owner) {
    for (const Node* node : block) {
      Box box;
      box.whole = print_node(*node);
      if (node->kind() == Node::Kind::kCall) {
        box.name = toString(node->callable().schema().operator_name());
        if (box.name.rfind("aten::", 0) == 0) box.name = box.name.substr(6);
      } else {
        // The text's own word for it.
        const size_t at = box.whole.find(" = ");
        box.name = box.whole.substr(at == std::string::npos ? 0 : at + 3);
        box.name = box.name.substr(0, box.name.find('('));
        box.fill = "#f6f1e4";
      }
      for (size_t i = 0; i < node->result_count() && box.sizes.empty(); ++i) box.sizes = sizes_of(*node->result(i));
      for (const Operand& operand : node->operands()) uses(operand, box);
      if (box.from.empty() && owner.has_value()) box.from.push_back(*owner);
      const size_t own = add(std::move(box));
      for (size_t i = 0; i < node->result_count(); ++i) boxes_of_[node->result(i)] = own;
      if (node->block_count() == 0) continue;
      Box exit;
      exit.name = "end of " + boxes_[own].name;
      exit.whole = boxes_[own].whole;
      exit.fill = boxes_[own].fill;
      for (size_t b = 0; b < node->block_count(); ++b) {
        for (size_t i = 0; i < node->block(b).input_count(); ++i) boxes_of_[node->block(b).input(i)] = own;
        walk(node->block(b), own);
        for (const Operand& operand : node->block(b).outputs()) uses(operand, exit);
      }
      if (exit.from.empty()) exit.from.push_back(own);
      const size_t end = add(std::move(exit));
      for (size_t i = 0; i < node->result_count(); ++i) boxes_of_[node->result(i)] = end;
    }
  }

  // Boxes of a layer stand where their operands do, on average; then side by side.
  void arrange() {
    std::map<size_t, std::vector<size_t>> layers;
    for (size_t i = 0; i < boxes_.size(); ++i) layers[boxes_[i].layer].push_back(i);
    for (auto& [layer, members] : layers) {
      for (const size_t i : members) {
        Box& box = boxes_[i];
        box.order = static_cast<double>(i) * 1e-6;
        if (box.from.empty()) continue;
        double sum = 0;
        for (const size_t from : box.from) sum += boxes_[from].x + boxes_[from].width / 2.0;
        box.order = sum / static_cast<double>(box.from.size());
      }
      std::sort(members.begin(), members.end(), [&](size_t a, size_t b) {
        return boxes_[a].order != boxes_[b].order ? boxes_[a].order < boxes_[b].order : a < b;
      });
      int x = kMargin;
      for (const size_t i : members) {
        Box& box = boxes_[i];
        const int wanted = box.from.empty() ? x : static_cast<int>(box.order) - box.width / 2;
        box.x = std::max(x, wanted);
        x = box.x + box.width + kApart;
        width_ = std::max(width_, box.x + box.width + kMargin);
      }
    }
    height_ = static_cast<int>(layers.empty() ? 0 : layers.rbegin()->first + 1) * (kHeight + kBetween) + 2 * kMargin;
  }
  static int y_of(const Box& box) { return kMargin + static_cast<int>(box.layer) * (kHeight + kBetween); }

  std::string written() const {
    const auto n = [](int v) { return std::to_string(v); };
    std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + n(width_) + "\" height=\"" + n(height_) +
                      "\" font-family=\"monospace\" font-size=\"12\">\n<title>" + escaped(graph_.name()) + "</title>\n";
    for (const Box& box : boxes_) {
      const int x = box.x + box.width / 2, y = y_of(box);
      for (const size_t i : box.from) {
        const Box& from = boxes_[i];
        const int fx = from.x + from.width / 2, fy = y_of(from) + kHeight, bend = kBetween / 2;
        out += "<path d=\"M" + n(fx) + " " + n(fy) + " C" + n(fx) + " " + n(fy + bend) + " " + n(x) + " " +
               n(y - bend) + " " + n(x) + " " + n(y) + "\" fill=\"none\" stroke=\"#888\"/>\n";
      }
    }
    for (const Box& box : boxes_) {
      const int y = y_of(box), middle = box.x + box.width / 2;
      out += "<g><title>" + escaped(box.whole) + "</title><rect x=\"" + n(box.x) + "\" y=\"" + n(y) + "\" width=\"" +
             n(box.width) + "\" height=\"" + n(kHeight) + "\" rx=\"4\" fill=\"" + box.fill + "\" stroke=\"#555\"/>";
      out += "<text x=\"" + n(middle) + "\" y=\"" + n(y + kLine) + "\" text-anchor=\"middle\">" + escaped(box.name) +
             "</text>";
      if (!box.sizes.empty()) {
        out += "<text x=\"" + n(middle) + "\" y=\"" + n(y + 2 * kLine) + "\" text-anchor=\"middle\" fill=\"#666\">" +
               escaped(box.sizes) + "</text>";
      }
      out += "</g>\n";
    }
    return out + "</svg>\n";
  }

  const Graph& graph_;
  const DrawOptions& options_;
  std::vector<Box> boxes_;
  std::map<const Value*, size_t> boxes_of_;
  int width_ = 2 * kMargin, height_ = 0;
};

}  // namespace

std::string draw(const Graph& graph, const DrawOptions& options) {
  return Drawing(graph, options).run();
}

}  // namespace torch::graph
