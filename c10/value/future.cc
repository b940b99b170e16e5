#include "c10/value/future.h"

#include <cstdio>
#include <memory>

#include "c10/util/atomic.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"

namespace c10::ivalue {
namespace {

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "Unknown Exception Type";
  }
}

void drop_one(IValue value) noexcept {
  std::vector<IValue> values;
  values.push_back(std::move(value));
  detail::drop_values(std::move(values));
}

}  // namespace

// --- Future ---

Future::~Future() { drop_one(std::move(value_)); }

void Future::surrender(std::vector<IValue>& into) { into.push_back(std::move(value_)); }

void Future::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  finished_.wait(lock, [&] { return completed_; });
}

void Future::waitAndThrow() {
  wait();
  if (const std::exception_ptr error = exception_ptr()) std::rethrow_exception(error);
}

// What a callback throws has no other place to go to.
void Future::run(const Callback& callback) noexcept {
  try {
    callback(*this);
  } catch (...) {
    std::fprintf(stderr, "Got the following error when running the callback: %s\n", message_of(std::current_exception()).c_str());
  }
}

bool Future::complete(IValue value, std::exception_ptr error) {
  std::vector<Callback> callbacks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (completed_) return false;
    completed_ = true;
    value_ = std::move(value);
    error_ = std::move(error);
    callbacks.swap(callbacks_);
    finished_.notify_all();
  }
  for (const Callback& callback : callbacks) run(callback);
  return true;
}

void Future::markCompleted(IValue value) {
  TORCH_CHECK(complete(std::move(value), nullptr),
              "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once.");
}

void Future::setError(std::exception_ptr error) {
  const std::string what = message_of(error);
  TORCH_CHECK(complete(IValue(), std::move(error)), "Error already set on this Future, or it has a value; the new error is: ", what);
}

void Future::setErrorIfNeeded(std::exception_ptr error) { complete(IValue(), std::move(error)); }

IValue Future::value() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(completed_, "the Future has no value yet: wait for it first");
  if (error_) std::rethrow_exception(error_);
  return value_;
}

const IValue& Future::constValue() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(completed_, "the Future has no value yet: wait for it first");
  TORCH_CHECK(!error_, "value() accessor should only be used when future is not completed with an error, but future had the "
              "following error: ", message_of(error_));
  return value_;
}

bool Future::completed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return completed_;
}

bool Future::hasValue() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return completed_ && !error_;
}

bool Future::hasError() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return error_ != nullptr;
}

std::exception_ptr Future::exception_ptr() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return error_;
}

std::string Future::tryRetrieveErrorMessage() const {
  const std::exception_ptr error = exception_ptr();
  TORCH_CHECK(error, "No error present on the future.");
  return message_of(error);
}

void Future::addCallback(Callback callback, bool) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!completed_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  run(callback);
}

intrusive_ptr<Future> Future::then(std::function<IValue(Future&)> callback, TypePtr type) {
  auto result = createInstance(std::move(type));
  addCallback([result, callback = std::move(callback)](Future& parent) {
    IValue value;
    try {
      value = callback(parent);
    } catch (...) {
      result->setError(std::current_exception());
      return;
    }
    result->markCompleted(std::move(value));
  });
  return result;
}

intrusive_ptr<Future> Future::thenAsync(std::function<intrusive_ptr<Future>(Future&)> callback, TypePtr type) {
  auto result = createInstance(std::move(type));
  addCallback([result, callback = std::move(callback)](Future& parent) {
    intrusive_ptr<Future> inner;
    try {
      inner = callback(parent);
    } catch (...) {
      result->setError(std::current_exception());
      return;
    }
    inner->addCallback([result](Future& done) {
      const std::exception_ptr error = done.exception_ptr();
      error ? result->setError(error) : result->markCompleted(done.value());
    });
  });
  return result;
}

intrusive_ptr<Future> collectAll(const List<intrusive_ptr<Future>>& futures) {
  const TypePtr element = futures.empty() ? TypePtr(AnyType::get()) : futures.get(0)->type();
  auto result = make_intrusive<Future>(ListType::create(element));
  if (futures.empty()) {
    result->markCompleted(IValue(futures));
    return result;
  }
  const auto left = std::make_shared<Atomic<int64_t>>(static_cast<int64_t>(futures.size()));
  for (const intrusive_ptr<Future>& future : futures.vec()) {
    future->addCallback([result, left, futures](Future& done) {
      if (const std::exception_ptr error = done.exception_ptr()) {
        result->setErrorIfNeeded(error);
      } else if (left->fetch_add(-1) == 1) {
        result->markCompleted(IValue(futures));
      }
    });
  }
  return result;
}

intrusive_ptr<Future> collectAny(const List<intrusive_ptr<Future>>& futures) {
  auto result = make_intrusive<Future>(futures.empty() ? TypePtr(NoneType::get()) : futures.get(0)->elementType());
  if (futures.empty()) {
    result->markCompleted(IValue());
    return result;
  }
  const auto first = std::make_shared<Atomic<int64_t>>(1);
  for (const intrusive_ptr<Future>& future : futures.vec()) {
    future->addCallback([result, first](Future& done) {
      if (first->fetch_add(-1) != 1) return;
      const std::exception_ptr error = done.exception_ptr();
      error ? result->setError(error) : result->markCompleted(done.value());
    });
  }
  return result;
}

// --- Await ---

Await::~Await() {
  detail::drop_values(std::move(args_));
  drop_one(std::move(value_));
}

void Await::surrender(std::vector<IValue>& into) {
  into.push_back(std::move(value_));
  into.insert(into.end(), args_.begin(), args_.end());
  args_.clear();
}

IValue Await::wait() {
  if (!completed_) {
    TORCH_CHECK(compute_, "Incompleted Await: fn can't be None");
    markCompleted(compute_());
    args_.clear();
  }
  return value_;
}

IValue Await::value() const {
  TORCH_CHECK(completed_, "Await must be completed");
  return value_;
}

void Await::markCompleted(IValue value) {
  value_ = std::move(value);
  completed_ = true;
}

}  // namespace c10::ivalue
