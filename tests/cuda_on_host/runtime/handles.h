// Handles that are numbers: nothing lies behind them, none is given twice, and one that was destroyed is known as such.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

namespace cuda_standin {

// No address of x86-64 or AArch64 user space looks like this.
constexpr uintptr_t kFirstHandle = uintptr_t{0xCDA0} << 48;

inline uintptr_t next_handle() {
  static uintptr_t last = kFirstHandle;
  return last += 64;
}

template <class Handle, class Object>
class Table {
 public:
  Handle add(std::unique_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(next_handle());
    object->handle = handle;
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  // Null where there is no such object.
  Object* find(Handle handle) const {
    const auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second.get();
  }
  void erase(Handle handle) { objects_.erase(handle); }
  void clear() { objects_.clear(); }
  size_t size() const { return objects_.size(); }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

 private:
  std::unordered_map<Handle, std::unique_ptr<Object>> objects_;
};

template <class Handle>
bool was_handle(Handle handle) {
  return reinterpret_cast<uintptr_t>(handle) >= kFirstHandle;
}

}  // namespace cuda_standin
