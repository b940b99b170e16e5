// Values that come later: ivalue::Future, from another thread, and ivalue::Await, when they are first wanted.
//
//   auto future = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
//   auto doubled = future->then([](c10::ivalue::Future& f) { return c10::IValue(f.value().toInt() * 2); }, c10::IntType::get());
//   future->markCompleted(21);   // from any thread
//   doubled->wait();
//   doubled->value();            // 42
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "c10/value/ivalue.h"
#include "c10/value/type.h"

namespace c10::ivalue {

// Thread-safe.
struct Future final : detail::Aggregate {
  using Callback = std::function<void(Future&)>;

  explicit Future(TypePtr type, std::vector<Device> devices = {}) : type_(std::move(type)), devices_(std::move(devices)) {}
  ~Future() override;

  // Waits until it is completed, with a value or an error.
  void wait();
  // The same; throws what it was completed with, if that was an error.
  void waitAndThrow();
  // Completes it and runs the callbacks, in the order in which they were added, on this thread. Throws where it is completed
  // already; an error of a callback goes to standard error.
  void markCompleted(IValue value);
  void markCompleted() { markCompleted(IValue()); }
  void setError(std::exception_ptr error);
  // Does nothing where it is completed already.
  void setErrorIfNeeded(std::exception_ptr error);

  // The value; throws where it is not completed, and the error where it is one.
  IValue value() const;
  const IValue& constValue() const;
  bool completed() const;
  bool hasValue() const;
  bool hasError() const;
  std::exception_ptr exception_ptr() const;
  // What the error says. Throws where there is none.
  std::string tryRetrieveErrorMessage() const;

  // Runs `callback` when it is completed, on the thread that completes it; now, if it is.
  void addCallback(Callback callback, bool uses_future = true);
  // A future of what `callback` gives, or of the error that it throws.
  intrusive_ptr<Future> then(std::function<IValue(Future&)> callback, TypePtr type);
  // A future of what the future gives that `callback` gives.
  intrusive_ptr<Future> thenAsync(std::function<intrusive_ptr<Future>(Future&)> callback, TypePtr type);
  intrusive_ptr<Future> createInstance(TypePtr type) const { return make_intrusive<Future>(std::move(type), devices_); }

  const TypePtr& elementType() const { return type_; }
  TypePtr type() const { return FutureType::create(type_); }
  const std::vector<Device>& devices() const { return devices_; }
  void surrender(std::vector<IValue>& into) override;

 private:
  bool complete(IValue value, std::exception_ptr error);
  void run(const Callback& callback) noexcept;

  mutable std::mutex mutex_;
  std::condition_variable finished_;
  bool completed_ = false;
  IValue value_;
  std::exception_ptr error_;
  std::vector<Callback> callbacks_;
  TypePtr type_;
  std::vector<Device> devices_;
};

// Of all: a list of the futures once each has a value, or the first error.
intrusive_ptr<Future> collectAll(const List<intrusive_ptr<Future>>& futures);
// Of the first that is completed.
intrusive_ptr<Future> collectAny(const List<intrusive_ptr<Future>>& futures);

// A value that a function computes when it is first wanted. For one thread at a time.
struct Await final : detail::Aggregate {
  Await(TypePtr type, std::function<IValue()> compute) : type_(std::move(type)), compute_(std::move(compute)) {}
  explicit Await(TypePtr type) : type_(std::move(type)) {}
  ~Await() override;
  // Computes the value unless it is there. Throws what the function throws; the next wait tries again.
  IValue wait();
  // The value; throws where it has not been waited for.
  IValue value() const;
  void setFn(std::function<IValue()> compute) { compute_ = std::move(compute); }
  void markCompleted(IValue value);
  bool completed() const { return completed_; }
  void setArgs(std::vector<IValue> args) { args_ = std::move(args); }
  std::vector<IValue>& args() { return args_; }
  const TypePtr& elementType() const { return type_; }
  TypePtr type() const { return AwaitType::create(type_); }
  void surrender(std::vector<IValue>& into) override;

 private:
  TypePtr type_;
  std::function<IValue()> compute_;
  bool completed_ = false;
  IValue value_;
  std::vector<IValue> args_;
};

}  // namespace c10::ivalue

namespace c10 {
inline IValue::IValue(intrusive_ptr<ivalue::Future> value) : IValue(Tag::Future, std::move(value)) {}
inline IValue::IValue(intrusive_ptr<ivalue::Await> value) : IValue(Tag::Await, std::move(value)) {}
inline intrusive_ptr<ivalue::Future> IValue::toFuture() const { return shared<ivalue::Future>(Tag::Future); }
inline intrusive_ptr<ivalue::Await> IValue::toAwait() const { return shared<ivalue::Await>(Tag::Await); }
}  // namespace c10
