// A connection's socket with limits of time and size.
#pragma once

#include <httplib.h>

#include <chrono>
#include <string>

#include "examples/serve/batcher.h"

namespace serve {

/// What waits on the other side of a socket.
enum class Readable : uint8_t { kData, kNothing, kStopped };

/// Reads and writes one connection. Reading fails once the deadline has passed or the limit of bytes is reached,
/// however slowly the bytes come. What is written goes out in one piece, by flush() or before the next wait. Takes the
/// socket, which must not block, and closes it.
class SocketStream final : public httplib::Stream {
 public:
  explicit SocketStream(int socket);
  ~SocketStream() override;
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  /// Until when reading may take; of a request's head and then its body.
  void set_read_limit(Clock::time_point deadline, size_t bytes);
  void set_write_time(std::chrono::milliseconds time) { write_time_ = time; }

  /// Bytes that were received and not read.
  size_t buffered() const { return end_ - begin_; }
  /// Whether data comes within the time; kStopped as soon as `stop` is readable.
  Readable wait_for_data(std::chrono::milliseconds time, int stop) const;
  bool flush();
  /// Of what was read since set_read_limit.
  size_t bytes_read() const { return bytes_read_; }
  bool timed_out() const { return timed_out_; }
  bool too_long() const { return too_long_; }
  bool has_written() const { return has_written_; }
  /// Ends the connection so that what was written arrives though the other side may still send: waits for its end, at
  /// most this long.
  void linger(std::chrono::milliseconds time);

  bool is_readable() const override { return buffered() > 0; }
  bool is_writable() const override { return true; }
  ssize_t read(char* data, size_t size) override;
  ssize_t write(const char* data, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  bool wait(short events, Clock::time_point deadline) const;

  int socket_;
  std::string in_, out_;
  size_t begin_ = 0, end_ = 0;  // of what in_ holds
  Clock::time_point deadline_;
  size_t limit_ = 0, bytes_read_ = 0;
  std::chrono::milliseconds write_time_{10000};
  bool timed_out_ = false, too_long_ = false, broken_ = false, has_written_ = false;
};

}  // namespace serve
