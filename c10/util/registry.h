// Objects by name, made by what registered itself before main.
//
//   C10_DECLARE_REGISTRY(ReaderRegistry, Reader, const std::string&);      // in a header
//   C10_DEFINE_REGISTRY(ReaderRegistry, Reader, const std::string&);       // in one source
//   C10_REGISTER_CLASS(ReaderRegistry, PngReader, PngReader);              // beside the class
//   std::unique_ptr<Reader> r = ReaderRegistry()->Create("PngReader", path);   // null for an unknown name
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "c10/macros/macros.h"
#include "c10/util/exception.h"

namespace c10 {

/// The higher of two that register for one name is taken; two of one priority are an error.
enum RegistryPriority { REGISTRY_FALLBACK = 1, REGISTRY_DEFAULT = 2, REGISTRY_PREFERRED = 3 };

template <class SrcType, class ObjectPtrType, class... Args>
class Registry {
 public:
  using Creator = std::function<ObjectPtrType(Args...)>;

  /// Throws c10::Error where `key` was registered with the same priority.
  void Register(const SrcType& key, Creator creator, RegistryPriority priority = REGISTRY_DEFAULT) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) {
      TORCH_CHECK(found->second.priority != priority, "Key already registered with the same priority: ", key);
      if (found->second.priority > priority) return;
    }
    entries_[key] = {std::move(creator), priority};
  }
  void Register(const SrcType& key, Creator creator, const std::string& help,
                RegistryPriority priority = REGISTRY_DEFAULT) {
    Register(key, std::move(creator), priority);
    std::lock_guard<std::mutex> lock(mutex_);
    help_[key] = help;
  }
  bool Has(const SrcType& key) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return entries_.count(key) != 0;
  }
  ObjectPtrType Create(const SrcType& key, Args... args) const {
    Creator creator;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const auto found = entries_.find(key);
      if (found == entries_.end()) return nullptr;
      creator = found->second.creator;
    }
    return creator(args...);
  }
  std::vector<SrcType> Keys() const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<SrcType> keys;
    for (const auto& entry : entries_) keys.push_back(entry.first);
    return keys;
  }
  const char* HelpMessage(const SrcType& key) const {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = help_.find(key);
    return found == help_.end() ? nullptr : found->second.c_str();
  }

 private:
  struct Entry {
    Creator creator;
    RegistryPriority priority;
  };
  mutable std::mutex mutex_;
  std::unordered_map<SrcType, Entry> entries_;
  std::unordered_map<SrcType, std::string> help_;
};

template <class SrcType, class ObjectPtrType, class... Args>
class Registerer {
 public:
  using Target = Registry<SrcType, ObjectPtrType, Args...>;
  Registerer(const SrcType& key, Target* registry, typename Target::Creator creator, const std::string& help = "") {
    registry->Register(key, std::move(creator), help);
  }
  Registerer(const SrcType& key, RegistryPriority priority, Target* registry, typename Target::Creator creator,
             const std::string& help = "") {
    registry->Register(key, std::move(creator), help, priority);
  }
  template <class Derived>
  static ObjectPtrType DefaultCreator(Args... args) {
    return ObjectPtrType(new Derived(args...));
  }
};

}  // namespace c10

#define KD_DECLARE_REGISTRY_(name, key, pointer, ...)                       \
  ::c10::Registry<key, pointer __VA_OPT__(, ) __VA_ARGS__>* name();         \
  using Registerer##name = ::c10::Registerer<key, pointer __VA_OPT__(, ) __VA_ARGS__>
#define KD_DEFINE_REGISTRY_(name, key, pointer, ...)                                      \
  ::c10::Registry<key, pointer __VA_OPT__(, ) __VA_ARGS__>* name() {                      \
    static auto* registry = new ::c10::Registry<key, pointer __VA_OPT__(, ) __VA_ARGS__>; \
    return registry;                                                                      \
  }                                                                                       \
  static_assert(true)
#define C10_DECLARE_TYPED_REGISTRY(name, SrcType, ObjectType, PtrType, ...) \
  KD_DECLARE_REGISTRY_(name, SrcType, PtrType<ObjectType> __VA_OPT__(, ) __VA_ARGS__)
#define C10_DEFINE_TYPED_REGISTRY(name, SrcType, ObjectType, PtrType, ...) \
  KD_DEFINE_REGISTRY_(name, SrcType, PtrType<ObjectType> __VA_OPT__(, ) __VA_ARGS__)
#define C10_DECLARE_REGISTRY(name, ObjectType, ...) \
  KD_DECLARE_REGISTRY_(name, std::string, std::unique_ptr<ObjectType> __VA_OPT__(, ) __VA_ARGS__)
#define C10_DEFINE_REGISTRY(name, ObjectType, ...) \
  KD_DEFINE_REGISTRY_(name, std::string, std::unique_ptr<ObjectType> __VA_OPT__(, ) __VA_ARGS__)
#define C10_DECLARE_SHARED_REGISTRY(name, ObjectType, ...) \
  KD_DECLARE_REGISTRY_(name, std::string, std::shared_ptr<ObjectType> __VA_OPT__(, ) __VA_ARGS__)
#define C10_DEFINE_SHARED_REGISTRY(name, ObjectType, ...) \
  KD_DEFINE_REGISTRY_(name, std::string, std::shared_ptr<ObjectType> __VA_OPT__(, ) __VA_ARGS__)
#define C10_REGISTER_TYPED_CREATOR(name, key, ...) \
  static Registerer##name C10_ANONYMOUS_VARIABLE(g_##name)(key, name(), ##__VA_ARGS__)
#define C10_REGISTER_TYPED_CLASS(name, key, ...)                    \
  static Registerer##name C10_ANONYMOUS_VARIABLE(g_##name)(         \
      key, name(), Registerer##name::DefaultCreator<__VA_ARGS__>, #__VA_ARGS__)
#define C10_REGISTER_CREATOR(name, key, ...) C10_REGISTER_TYPED_CREATOR(name, #key, __VA_ARGS__)
#define C10_REGISTER_CLASS(name, key, ...) C10_REGISTER_TYPED_CLASS(name, #key, __VA_ARGS__)
#define C10_REGISTER_CLASS_WITH_PRIORITY(name, key, priority, ...)  \
  static Registerer##name C10_ANONYMOUS_VARIABLE(g_##name)(         \
      #key, priority, name(), Registerer##name::DefaultCreator<__VA_ARGS__>, #__VA_ARGS__)
