#include "graph/ir/graph.h"

#include <random>

#include "c10/testing/message_of.h"
#include "graph/ir/test_callables.h"
#include "graph/ir/text.h"
#include "gtest/gtest.h"

namespace {

using c10::testing::message_of;
using namespace torch::graph;
using Kind = Node::Kind;

// f(a, b) = (a + b) * a, and its values by name.
struct Sample {
  Graph graph{"f"};
  Value* a = graph.block().add_input(c10::IntType::get(), "a");
  Value* b = graph.block().add_input(c10::IntType::get(), "b");
  Node* sum = graph.block().append(graph.call(test_callable("test::add"), {a, b}));
  Node* product = graph.block().append(graph.call(test_callable("test::mul"), {sum->result(), a}));
  Sample() { graph.block().set_outputs({product->result()}); }
};

TEST(Graph, KnowsWhereValuesAreUsed) {
  Sample s;
  verify(s.graph);
  EXPECT_EQ(s.a->uses().size(), 2u);
  EXPECT_EQ(s.a->uses()[0], (Use{s.sum, 0}));
  EXPECT_EQ(s.a->uses()[1], (Use{s.product, 1}));
  EXPECT_EQ(s.product->result()->uses()[0].node, s.graph.block().return_node());
  EXPECT_TRUE(s.sum->calls("test::add"));
  EXPECT_FALSE(s.sum->calls("test::ad"));
  EXPECT_FALSE(s.sum->calls("test::add.Tensor"));
  EXPECT_EQ(s.sum->argument("other").value(), s.b);
  s.a->replace_all_uses_with(s.b);
  EXPECT_TRUE(s.a->uses().empty());
  EXPECT_EQ(s.b->uses().size(), 3u);
  verify(s.graph);
  s.graph.block().erase_input(0);
  EXPECT_EQ(s.b->index(), 0u);
  verify(s.graph);
}

TEST(Graph, ValuesBecomeConstants) {
  Sample s;
  s.a->replace_all_uses_with(Operand(c10::IValue(3)));
  EXPECT_EQ(s.sum->operand(0).constant().toInt(), 3);
  s.sum->result()->replace_all_uses_with(Operand(IntExpr(4)));
  verify(s.graph);
  EXPECT_FALSE(s.sum->has_uses());
  EXPECT_EQ(message_of([&] { s.b->replace_all_uses_with(std::vector<Operand>{Operand(s.b)}); }),
            "a value cannot be replaced by a list of itself");
  verify(s.graph);
}

TEST(Graph, NodesWithUsesStay) {
  Sample s;
  EXPECT_EQ(message_of([&] { s.sum->erase(); }), "a node whose results are used cannot be erased");
  EXPECT_NE(message_of([&] { s.graph.block().erase_input(1); }).find("is used"), std::string::npos);
  s.graph.block().set_outputs({Operand(c10::IValue(1))});
  s.product->erase();
  s.sum->erase();
  EXPECT_TRUE(s.graph.block().empty());
  EXPECT_TRUE(s.a->uses().empty());
  verify(s.graph);
}

TEST(Graph, BlocksChangeWhileTheyAreGoneThrough) {
  Sample s;
  int seen = 0;
  for (Node* node : s.graph.block()) {
    ++seen;
    auto copy = s.graph.call(node->callable(), {node->operand(0), node->operand(1)});
    Node* const twin = copy.release();
    twin->move_after(node);
    node->result()->replace_all_uses_with(twin->result());
    node->erase();
  }
  EXPECT_EQ(seen, 2);
  verify(s.graph);
  EXPECT_EQ(
      print(s.graph),
      "graph f(%a: int, %b: int) {\n  %0: int = test::add(%a, %b)\n  %1: int = test::mul(%0, %a)\n  return %1\n}\n");
}

TEST(Graph, OrderOfManyInsertions) {
  Graph graph;
  std::mt19937 random(3);
  std::vector<Node*> order;
  for (int i = 0; i < 2000; ++i) {
    // At the front mostly, where places run out.
    const size_t at = random() % 4 == 0 ? random() % (order.size() + 1) : 0;
    auto made = graph.call(test_callable("test::add"), {Operand(c10::IValue(1)), Operand(c10::IValue(i))});
    Node* node;
    if (at == order.size()) {
      node = graph.block().append(std::move(made));
    } else {
      node = made.release();
      node->move_before(order[at]);
    }
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), node);
  }
  for (int i = 0; i < 5000; ++i) {
    const size_t a = random() % order.size(), b = random() % order.size();
    ASSERT_EQ(order[a]->is_before(order[b]), a < b);
  }
  size_t i = 0;
  for (Node* node : graph.block()) ASSERT_EQ(node, order[i++]);
  EXPECT_TRUE(order.back()->is_before(graph.block().return_node()));
  order[5]->move_after(order[9]);
  EXPECT_TRUE(order[9]->is_before(order[5]));
  EXPECT_TRUE(order[5]->is_before(order[10]));
}

TEST(Graph, ListsOfOperands) {
  Graph graph;
  Value* a = graph.block().add_input(c10::IntType::get());
  Value* b = graph.block().add_input(c10::IntType::get());
  Node* list = graph.block().append(
      graph.make(Kind::kTuple, {Operand(std::vector<Operand>{a, c10::IValue(1), std::vector<Operand>{b, a}}), a}));
  list->add_result(c10::AnyType::get());
  graph.block().set_outputs({list->result()});
  EXPECT_EQ(a->uses().size(), 3u);
  verify(graph);
  a->replace_all_uses_with(b);
  EXPECT_EQ(b->uses().size(), 4u);
  verify(graph);
  EXPECT_EQ(print(graph),
            "graph forward(%0: int, %1: int) {\n  %2: Any = tuple([%1, 1, [%1, %1]], %1)\n  return %2\n}\n");
}

TEST(Graph, CopiesAreOfTheirOwn) {
  Sample s;
  Node* branch = s.graph.block().append(s.graph.make(Kind::kIf, {s.a}));
  Value* result = branch->add_result(c10::IntType::get(), "r");
  Block &yes = branch->add_block(), &no = branch->add_block();
  Node* inner = yes.append(s.graph.call(test_callable("test::add"), {s.product->result(), s.b}));
  yes.set_outputs({inner->result()});
  no.set_outputs({s.b});
  s.graph.block().set_outputs({result});
  s.graph.symbols()["s0"] = {2, 9};
  s.a->set_info(TensorInfo{.sizes = {IntExpr::symbol("s0")}});
  verify(s.graph);
  const std::unique_ptr<Graph> copy = s.graph.clone();
  verify(*copy);
  EXPECT_EQ(print(*copy), print(s.graph));
  int nodes = 0;
  copy->for_nodes([&](Node* node) {
    ++nodes;
    EXPECT_EQ(&node->graph(), copy.get());
  });
  EXPECT_EQ(nodes, 4);
  // A node with blocks goes as a whole.
  s.graph.block().set_outputs({s.a});
  branch->erase();
  verify(s.graph);
  EXPECT_EQ(s.product->result()->uses().size(), 0u);
  EXPECT_EQ(copy->block().input(1)->uses().size(), 3u);
}

TEST(Verify, SaysWhatIsWrong) {
  {
    Sample s;
    s.product->move_before(s.sum);
    EXPECT_EQ(message_of([&] { verify(s.graph); }),
              "graph f: a value that is used before it is made in\n  %0: int = test::mul(%1, %a)");
  }
  {
    Sample s;
    s.sum->add_operand(s.a);
    EXPECT_NE(message_of([&] { verify(s.graph); }).find("expected 2 operands, but got 3"), std::string::npos);
  }
  {
    Sample s;
    Node* branch = s.graph.block().append(s.graph.make(Kind::kIf, {s.a}));
    Block& yes = branch->add_block();
    Node* inner = yes.append(s.graph.call(test_callable("test::add"), {s.a, s.b}));
    EXPECT_NE(message_of([&] { verify(s.graph); }).find("expected 2 blocks, but got 1"), std::string::npos);
    branch->add_block();
    verify(s.graph);
    s.graph.block().set_outputs({inner->result()});
    EXPECT_NE(message_of([&] { verify(s.graph); }).find("a block that is not around its user"), std::string::npos);
    branch->add_result(c10::IntType::get());
    s.graph.block().set_outputs({s.a});
    EXPECT_NE(message_of([&] { verify(s.graph); }).find("expected block 0 to have 0 inputs and 1 outputs"),
              std::string::npos);
  }
}

}  // namespace
