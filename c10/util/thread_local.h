// C10_DEFINE_TLS_static(int, depth): a variable of each thread, read and written through ThreadLocal's get, * and ->.
#pragma once

namespace c10 {

template <class Type>
class ThreadLocal {
 public:
  using Accessor = Type* (*)();
  explicit ThreadLocal(Accessor accessor) : accessor_(accessor) {}
  ThreadLocal(const ThreadLocal&) = delete;
  ThreadLocal& operator=(const ThreadLocal&) = delete;
  Type& get() { return *accessor_(); }
  Type& operator*() { return get(); }
  Type* operator->() { return &get(); }

 private:
  Accessor accessor_;
};

}  // namespace c10

#define C10_DEFINE_TLS_static(Type, Name)     \
  static ::c10::ThreadLocal<Type> Name([] {   \
    static thread_local Type value;           \
    return &value;                            \
  })
#define C10_DECLARE_TLS_class_static(Class, Type, Name) static ::c10::ThreadLocal<Type> Name
#define C10_DEFINE_TLS_class_static(Class, Type, Name) \
  ::c10::ThreadLocal<Type> Class::Name([] {            \
    static thread_local Type value;                    \
    return &value;                                     \
  })
