#include "export/torchscript/load.h"

#include <iterator>
#include <utility>

#include "c10/util/exception.h"
#include "c10/value/custom_class_registry.h"
#include "c10/value/dict.h"
#include "export/torchscript/program.h"
#include "jit/api/typed_value.h"
#include "utils/pickle/values.h"
#include "utils/serialize/file_io.h"

namespace torch::jit {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;
using torch::pickle::ZipFile;
using torch::pickle::ZipPickle;

// What is shared is visited as often as it is mentioned.
constexpr uint64_t kMostVisited = uint64_t{1} << 26;

class Objects final : public torch::pickle::ScriptObjects {
 public:
  Objects(ArchivedProgram& program, const std::shared_ptr<CompilationUnit>& unit) : program_(program), unit_(unit) {}

  std::optional<IValue> make(const std::string& class_name) override {
    const TypePtr found = program_.type(class_name);
    const auto type = found == nullptr ? nullptr : found->cast<c10::ClassType>();
    TORCH_CHECK_VALUE(type != nullptr, "Unknown type name '", class_name, "'");
    // Those of C++ need no unit, which may have them as constants.
    const bool of_program = c10::getCustomClass(class_name) == nullptr;
    return c10::ivalue::Object::create(c10::StrongTypePtr(of_program ? unit_ : nullptr, type), type->numAttributes());
  }

  void set_state(const IValue& value, const IValue& state) override {
    const c10::intrusive_ptr<c10::ivalue::Object> object = value.toObject();
    const c10::ClassTypePtr type = object->type();
    if (Function* restore = type->findMethod("__setstate__")) {
      const auto& arguments = restore->getSchema().arguments();
      TORCH_CHECK_VALUE(arguments.size() == 2, type->qualified_name(), ".__setstate__ takes one argument");
      c10::Stack stack{value, as_declared_(state, arguments[1].type())};
      restore->run(stack);
      return;
    }
    TORCH_CHECK_VALUE(state.isGenericDict(), "the state of an object of ", type->qualified_name(), " is no dict");
    size_t used = 0;
    const c10::impl::GenericDict attributes = state.toGenericDict();
    for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
      const c10::ClassAttribute& attribute = type->getAttribute(slot);
      const auto found = attributes.find(IValue(attribute.getName()));
      TORCH_CHECK_VALUE(found != attributes.end(), "an object of ", type->qualified_name(), " without its attribute '",
                        attribute.getName(), "'");
      ++used;
      IValue own = as_declared_(found->value(), attribute.getType());
      // A tensor that is undefined.
      const bool none = own.isNone() && attribute.getType()->kind() == TypeKind::TensorType;
      TORCH_CHECK_VALUE(none || own.type()->isSubtypeOf(attribute.getType()), "attribute '", attribute.getName(),
                        "' of ", type->qualified_name(), " is of type ", attribute.getType()->annotation_str(),
                        ", but the file has a ", own.type()->annotation_str());
      object->setSlot(slot, std::move(own));
    }
    TORCH_CHECK_VALUE(used == attributes.size(), "an object of ", type->qualified_name(),
                      " with attributes that its class does not have");
  }

  std::optional<IValue> member(const std::string& enumeration, const IValue& value) override {
    const TypePtr found = program_.type(enumeration);
    const auto type = found == nullptr ? nullptr : found->cast<c10::EnumType>();
    TORCH_CHECK_VALUE(type != nullptr, "Unknown type name '", enumeration, "'");
    for (const auto& [name, own] : type->enumNamesValues()) {
      if (own == value) return c10::make_intrusive<c10::ivalue::EnumHolder>(type, name, own);
    }
    TORCH_CHECK_VALUE(false, enumeration, " has no member with the value ", value);
  }

  IValue tagged(const IValue& value, const std::string& type) override {
    return as_declared_(value, program_.type_of(type));
  }

 private:
  // The value as one of the type: lists, dicts and tuples get the types of what they hold from it.
  ArchivedProgram& program_;
  const std::shared_ptr<CompilationUnit>& unit_;
  Retyping as_declared_{kMostVisited};
};

// Extra files may be as large as the archive that packs them says, within reason.
constexpr uint64_t kLargestExtra = uint64_t{1} << 30;

Module load(std::shared_ptr<serialize::FileBytes> bytes, std::optional<c10::Device> device,
            ExtraFilesMap* extra_files) {
  const ZipFile file(std::move(bytes));
  if (!file.is_script()) {
    serialize::throw_format_error(
        c10::str("jit: ", file.origin(), " at byte 0: the zip file has no record constants.pkl: it is no TorchScript"));
  }
  const auto unit = std::make_shared<CompilationUnit>();
  ArchivedProgram program(file, *unit);
  torch::pickle::LoadOptions options;
  options.map_location = device;
  Objects objects(program, unit);
  const auto read = [&](const char* name) {
    ZipPickle pickle(file, name);
    const torch::pickle::Tree tree = pickle.read();
    return torch::pickle::to_value(tree, pickle, options, &objects);
  };
  const IValue constants = read("constants");
  TORCH_CHECK_VALUE(constants.isTuple(), "jit: ", file.origin(), ": constants.pkl holds no tuple");
  program.set_constants(constants.toTupleRef().elements().vec());
  const IValue root = read("data");
  TORCH_CHECK_VALUE(root.isObject() && root.toObjectRef().type()->is_module(), "jit: ", file.origin(),
                    ": data.pkl holds no module");
  program.compile_all();
  if (extra_files != nullptr) {
    for (auto& [name, content] : *extra_files) {
      if (const auto* record = file.zip().find("extra/" + name)) content = file.zip().read(*record, kLargestExtra);
    }
  }
  return Module(root.toObject());
}

std::shared_ptr<serialize::FileBytes> bytes_of(std::istream& in) {
  std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return std::make_shared<serialize::FileBytes>(std::move(all), "stream");
}

}  // namespace

Module load(const std::string& filename, std::optional<c10::Device> device) {
  return load(std::make_shared<serialize::FileBytes>(filename), device, nullptr);
}
Module load(const std::string& filename, std::optional<c10::Device> device, ExtraFilesMap& extra_files, bool) {
  return load(std::make_shared<serialize::FileBytes>(filename), device, &extra_files);
}
Module load(std::istream& in, std::optional<c10::Device> device) {
  return load(bytes_of(in), device, nullptr);
}
Module load(std::istream& in, std::optional<c10::Device> device, ExtraFilesMap& extra_files, bool) {
  return load(bytes_of(in), device, &extra_files);
}

}  // namespace torch::jit
