#include "jit/compiler/evaluator.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/core/tensor_indexing.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/dict.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "jit/api/jit_exception.h"

namespace torch::jit {
namespace {

using at::indexing::TensorIndex;
using c10::IValue;
using c10::Stack;
using c10::impl::GenericDict;
using c10::impl::GenericList;

// Functions call no function that is not compiled yet, so this many stand above each other only where a source does so.
constexpr int kMostCalls = 200;
constexpr int64_t kMostListed = int64_t{1} << 27;

// On its way out of the functions, each of which adds its place.
struct Failure {
  std::string message;
  std::string python_class;  // of what the program raised
  bool raised = false;
  std::vector<std::pair<SourceRange, std::string>> places;  // innermost first
};

IValue convert(IValue value, const Operation& op);

class Evaluator {
 public:
  Evaluator(const Program& program, Stack& arguments, int depth)
      : program_(program), slots_(program.slots), depth_(depth) {
    for (size_t i = 0; i < arguments.size(); ++i) slots_[i] = std::move(arguments[i]);
  }

  IValue run() {
    try {
      TORCH_CHECK(depth_ <= kMostCalls, "more than ", kMostCalls, " functions call each other");
      IValue result;
      block(program_.body, result);
      return result;
    } catch (Failure& failure) {
      failure.places.emplace_back(*place_, program_.name);
      throw;
    } catch (const c10::Error& error) {
      throw Failure{error.what_without_backtrace(), "", false, {{*place_, program_.name}}};
    } catch (const std::exception& error) {
      throw Failure{error.what(), "", false, {{*place_, program_.name}}};
    }
  }

 private:
  enum class Flow { kNext, kBreak, kContinue, kReturn };

  Flow block(const std::vector<Step>& steps, IValue& result) {
    for (const Step& one : steps) {
      if (const Flow flow = step(one, result); flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
  }

  Flow step(const Step& one, IValue& result) {
    place_ = &one.range;
    switch (one.kind) {
      case Step::Kind::kEvaluate:
        value(*one.value);
        return Flow::kNext;
      case Step::Kind::kAssign:
        assign(one.target, value(*one.value));
        return Flow::kNext;
      case Step::Kind::kIf:
        return block(value(*one.value).toBool() ? one.body : one.other, result);
      case Step::Kind::kWhile:
        while (value(*one.value).toBool()) {
          const Flow flow = block(one.body, result);
          if (flow == Flow::kReturn) return flow;
          if (flow == Flow::kBreak) break;
        }
        return Flow::kNext;
      case Step::Kind::kFor: {
        Flow last = Flow::kNext;
        for_each(*one.value, [&](IValue element) {
          assign(one.target, std::move(element));
          last = block(one.body, result);
          return last == Flow::kNext || last == Flow::kContinue;
        });
        return last == Flow::kReturn ? last : Flow::kNext;
      }
      case Step::Kind::kReturn:
        if (one.value != nullptr) result = value(*one.value);
        return Flow::kReturn;
      case Step::Kind::kRaise:
        throw Failure{one.value == nullptr ? "" : value(*one.value).toStringRef(), one.text, true, {}};
      case Step::Kind::kBreak:
        return Flow::kBreak;
      case Step::Kind::kContinue:
        return Flow::kContinue;
      case Step::Kind::kNoGrad: {
        const c10::AutoGradMode mode(value(*one.value).toBool());
        return block(one.body, result);
      }
    }
    return Flow::kNext;
  }

  void assign(const Target& target, IValue value) {
    if (!target.is_tuple) {
      slots_[target.slot] = std::move(value);
      return;
    }
    const c10::ArrayRef<IValue> parts = value.isTuple() ? value.toTupleRef().elementsArrayRef() : value.toListRef();
    TORCH_CHECK_VALUE(parts.size() == target.parts.size(), "Expected ", target.parts.size(),
                      " elements in a list but found ", parts.size());
    for (size_t i = 0; i < parts.size(); ++i) assign(target.parts[i], parts[i]);
  }

  // Calls f(element) as long as it returns true.
  template <class F>
  void for_each(const Operation& op, const F& f) {
    if (op.kind == Operation::Kind::kRange) {
      const int64_t start = value(*op.inputs[0]).toInt(), stop = value(*op.inputs[1]).toInt(),
                    step = value(*op.inputs[2]).toInt();
      TORCH_CHECK_VALUE(step != 0, "range() arg 3 must not be zero");
      int64_t i = start;
      while (step > 0 ? i < stop : i > stop) {
        if (!f(IValue(i)) || __builtin_add_overflow(i, step, &i)) return;
      }
      return;
    }
    const IValue list = value(op);
    const size_t count = list.toListRef().size();
    for (size_t i = 0; i < count; ++i) {
      TORCH_CHECK_INDEX(i < list.toListRef().size(), "list index out of range");
      if (!f(list.toListRef()[i])) return;
    }
  }
  // A list of what is gone through.
  std::vector<IValue> listed(const Operation& op) {
    std::vector<IValue> all;
    for_each(op, [&](IValue element) {
      TORCH_CHECK(static_cast<int64_t>(all.size()) < kMostListed, "a list of more than ", kMostListed, " elements");
      all.push_back(std::move(element));
      return true;
    });
    return all;
  }
  static IValue list_of(std::vector<IValue> values, const c10::TypePtr& type) {
    const GenericList list(type->containedType(0));
    for (const IValue& one : values) list.push_back(one);
    return list;
  }

  IValue value(const Operation& op) {
    using Kind = Operation::Kind;
    switch (op.kind) {
      case Kind::kConstant:
        return op.constant;
      case Kind::kLoad:
        return slots_[op.slot];
      case Kind::kCall:
      case Kind::kCallFunction:
        return call(op);
      case Kind::kTuple:
        return op.type->expectRef<c10::TupleType>().is_named()
                   ? IValue(c10::ivalue::Tuple::createNamed(inputs(op), op.type))
                   : IValue(c10::ivalue::Tuple::create(inputs(op)));
      case Kind::kList:
        return list_of(inputs(op), op.type);
      case Kind::kDict:
        return dict(op);
      case Kind::kTupleGet:
        return value(*op.inputs[0]).toTupleRef().elements().at(op.slot);
      case Kind::kTupleSlice: {
        const IValue tuple = value(*op.inputs[0]);
        const auto parts = tuple.toTupleRef().elementsArrayRef().slice(op.slot, op.end - op.slot);
        return c10::ivalue::Tuple::create(parts);
      }
      case Kind::kAttribute:
        return value(*op.inputs[0]).toObjectRef().getSlot(op.slot);
      case Kind::kMember: {
        const auto member = value(*op.inputs[0]).toEnumHolder();
        return op.constant.toStringRef() == "name" ? IValue(member->name()) : member->value();
      }
      case Kind::kConditional:
        return value(*op.inputs[value(*op.inputs[0]).toBool() ? 1 : 2]);
      case Kind::kAnd:
        return value(*op.inputs[0]).toBool() && value(*op.inputs[1]).toBool();
      case Kind::kOr:
        return value(*op.inputs[0]).toBool() || value(*op.inputs[1]).toBool();
      case Kind::kConvert: {
        IValue from = value(*op.inputs[0]);
        place_ = &op.range;
        return convert(std::move(from), op);
      }
      case Kind::kIndex: {
        const at::Tensor self = value(*op.inputs[0]).toTensor();
        const std::vector<TensorIndex> where = indices(op, op.inputs.size());
        place_ = &op.range;
        return at::indexing::get_item(self, where);
      }
      case Kind::kIndexPut:
        return index_put(op);
      case Kind::kIsInstance:
        return value(*op.inputs[0]).type()->isSubtypeOf(op.type_tested);
      case Kind::kRange:
        return list_of(listed(op), op.type);
      case Kind::kEnumerate:
        return enumerate(op);
      case Kind::kZip:
        return zip(op);
      case Kind::kComprehension:
        return comprehension(op);
      case Kind::kPrint: {
        std::string line;
        for (size_t i = 0; i < op.inputs.size(); ++i)
          line += (i > 0 ? " " : "") + detail::text_of(value(*op.inputs[i]));
        line += '\n';
        std::fwrite(line.data(), 1, line.size(), stdout);
        return {};
      }
      case Kind::kSlice:
      case Kind::kEllipsis:
        break;
    }
    TORCH_CHECK(false, "an index stands where a value is wanted");
  }

  std::vector<IValue> inputs(const Operation& op) {
    std::vector<IValue> values;
    values.reserve(op.inputs.size());
    for (const OperationPtr& input : op.inputs) values.push_back(value(*input));
    return values;
  }

  IValue call(const Operation& op) {
    Stack stack = inputs(op);
    place_ = &op.range;
    if (op.program != nullptr) return Evaluator(*op.program, stack, depth_ + 1).run();
    if (op.kind == Operation::Kind::kCallFunction) {
      op.function->run(stack);
    } else {
      op.callables[0].call(stack);
    }
    if (stack.size() == 1) return std::move(stack[0]);
    if (stack.empty()) return {};
    return op.type->expectRef<c10::TupleType>().is_named() ? c10::ivalue::Tuple::createNamed(std::move(stack), op.type)
                                                           : c10::ivalue::Tuple::create(std::move(stack));
  }

  IValue dict(const Operation& op) {
    const GenericDict result(op.type->containedType(0), op.type->containedType(1));
    for (size_t i = 0; i + 1 < op.inputs.size(); i += 2) {
      const IValue key = value(*op.inputs[i]);
      result.insert_or_assign(key, value(*op.inputs[i + 1]));
    }
    return result;
  }

  IValue enumerate(const Operation& op) {
    int64_t i = value(*op.inputs[1]).toInt();
    std::vector<IValue> all = listed(*op.inputs[0]);
    for (IValue& one : all) one = c10::ivalue::Tuple::create({IValue(i++), one});
    return list_of(std::move(all), op.type);
  }
  IValue zip(const Operation& op) {
    std::vector<std::vector<IValue>> lists;
    size_t count = static_cast<size_t>(-1);
    for (const OperationPtr& input : op.inputs) {
      lists.push_back(listed(*input));
      count = std::min(count, lists.back().size());
    }
    std::vector<IValue> all(count);
    for (size_t i = 0; i < count; ++i) {
      std::vector<IValue> parts;
      for (const auto& list : lists) parts.push_back(list[i]);
      all[i] = c10::ivalue::Tuple::create(std::move(parts));
    }
    return list_of(std::move(all), op.type);
  }
  IValue comprehension(const Operation& op) {
    const bool is_dict = op.type->kind() == c10::TypeKind::DictType;
    const GenericList list(op.type->containedType(0));
    const GenericDict dict(is_dict ? op.type->containedType(0) : c10::StringType::get(),
                           is_dict ? op.type->containedType(1) : op.type);
    for_each(*op.inputs[0], [&](IValue element) {
      assign(op.target, std::move(element));
      if (op.has_condition && !value(*op.inputs.back()).toBool()) return true;
      if (is_dict) {
        const IValue key = value(*op.inputs[2]);
        dict.insert_or_assign(key, value(*op.inputs[1]));
      } else {
        list.push_back(value(*op.inputs[1]));
      }
      return true;
    });
    return is_dict ? IValue(dict) : IValue(list);
  }

  // The indices among the inputs, from the second on.
  std::vector<TensorIndex> indices(const Operation& op, size_t end) {
    std::vector<TensorIndex> all;
    for (size_t i = 1; i < end; ++i) {
      const Operation& one = *op.inputs[i];
      if (one.kind == Operation::Kind::kEllipsis) {
        all.emplace_back(at::indexing::Ellipsis);
      } else if (one.kind == Operation::Kind::kSlice) {
        const auto bound = [&](size_t k) {
          const IValue v = value(*one.inputs[k]);
          return v.isNone() ? std::optional<int64_t>() : v.toInt();
        };
        const auto start = bound(0), stop = bound(1), step = bound(2);
        all.emplace_back(at::indexing::Slice(start, stop, step));
      } else {
        const IValue v = value(one);
        if (v.isNone()) {
          all.emplace_back(at::indexing::None);
        } else if (v.isInt()) {
          all.emplace_back(v.toInt());
        } else if (v.isBool()) {
          all.emplace_back(v.toBool());
        } else {
          all.emplace_back(v.toTensor());
        }
      }
    }
    return all;
  }
  IValue index_put(const Operation& op) {
    const IValue self = value(*op.inputs[0]);
    const std::vector<TensorIndex> where = indices(op, op.inputs.size() - 1);
    const IValue from = value(*op.inputs.back());
    place_ = &op.range;
    if (from.isTensor()) {
      at::indexing::set_item(self.toTensor(), where, from.toTensor());
    } else {
      at::indexing::set_item(self.toTensor(), where, from.toScalar());
    }
    return {};
  }

  const Program& program_;
  std::vector<IValue> slots_;
  int depth_;
  SourceRange nowhere_;
  const SourceRange* place_ = &nowhere_;
};

IValue convert(IValue value, const Operation& op) {
  if (value.isNone()) return value;
  const auto number = [&] { return value.isTensor() ? value.toTensor().item() : value.toScalar(); };
  switch (op.conversion) {
    case Conversion::kNone:
      return value;
    case Conversion::kToFloat:
      return number().toDouble();
    case Conversion::kToInt:
      return number().toLong();
    case Conversion::kToScalar:
      return number();
    case Conversion::kToBool:
      return number().toBool();
    case Conversion::kToComplex:
      return number().toComplexDouble();
    case Conversion::kToDevice:
      return c10::Device(value.toStringRef());
    case Conversion::kRepeat:
    case Conversion::kTupleToList: {
      const GenericList list(op.type->containedType(0));
      if (op.conversion == Conversion::kTupleToList) {
        for (const IValue& part : value.toTupleRef().elements()) list.push_back(part);
      } else {
        for (size_t i = 0; i < op.slot; ++i) list.push_back(value);
      }
      return list;
    }
  }
  return value;
}

}  // namespace

void run_program(const Program& program, Stack& stack) {
  try {
    IValue result = Evaluator(program, stack, 1).run();
    stack.clear();
    stack.push_back(std::move(result));
  } catch (const Failure& failure) {
    std::string text =
        "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call "
        "last):\n";
    for (auto place = failure.places.rbegin(); place != failure.places.rend(); ++place) {
      std::string shown = place->first.str();
      const size_t line_end = shown.find('\n');
      if (line_end != std::string::npos) shown.insert(line_end, ", in " + place->second);
      text += shown;
    }
    text += (failure.python_class.empty() ? "RuntimeError" : failure.python_class) + ": " + failure.message + "\n";
    if (!failure.raised) throw std::runtime_error(text);
    throw JITException(text, failure.python_class.empty() ? std::optional<std::string>() : failure.python_class,
                       failure.message);
  }
}

}  // namespace torch::jit
