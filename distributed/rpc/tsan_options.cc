// gRPC's library is not compiled for ThreadSanitizer, which would take what the library does under locks of its own for
// races. What passes through it is handed over under our locks, too, so ours are still found.
extern "C" const char* __tsan_default_options() {  // NOLINT: the sanitizer's name
  return "ignore_noninstrumented_modules=1";
}
