// Apart from writer.cc, so that a program that uses no streams links none.
#include <ostream>

#include "c10/util/exception.h"
#include "export/pt2/pt2.h"

namespace torch {
namespace {

class StreamSink : public serialize::Sink {
 public:
  explicit StreamSink(std::ostream& stream) : stream_(stream) {}
  void write(const void* data, size_t bytes) override {
    stream_.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    TORCH_CHECK(stream_.good(), "save_exported: writing to the stream failed");
  }

 private:
  std::ostream& stream_;
};

}  // namespace

void save_exported(const NamedPrograms& programs, std::ostream& stream) {
  StreamSink sink(stream);
  save_exported(programs, sink);
}
void save_exported(const ExportedProgram& program, std::ostream& stream) {
  save_exported({{"model", &program}}, stream);
}

}  // namespace torch
