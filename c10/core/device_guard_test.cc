#include "c10/core/device_guard.h"

#include <string>
#include <vector>

#include "c10/core/event.h"
#include "c10/core/stream_guard.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace c10 {
namespace {

using testing::message_of;

// Four devices of type PrivateUse1 that write down what is asked of them.
struct Log {
  DeviceIndex current = 0;
  StreamId streams[4] = {};
  std::vector<std::string> calls;
};
Log g_log;

struct LoggingGuardImpl final : impl::DeviceGuardImplInterface {
  DeviceType type() const override { return DeviceType::PrivateUse1; }
  Device getDevice() const override { return Device(type(), g_log.current); }
  Device exchangeDevice(Device device) const override {
    const Device before = getDevice();
    setDevice(device);
    return before;
  }
  void setDevice(Device device) const override {
    TORCH_CHECK(device.index() < 4, "no device ", device);
    g_log.current = device.index();
  }
  void uncheckedSetDevice(Device device) const noexcept override { g_log.current = device.index(); }
  DeviceIndex deviceCount() const noexcept override { return 4; }
  Stream getStream(Device device) const override {
    return Stream(Stream::UNSAFE, device, g_log.streams[device.index()]);
  }
  Stream exchangeStream(Stream stream) const override {
    TORCH_CHECK(stream.id() < 100, "no ", stream);
    const Stream before = getStream(stream.device());
    g_log.streams[stream.device_index()] = stream.id();
    return before;
  }
  void record(void** event, const Stream& stream, DeviceIndex, EventFlag) const override {
    if (*event == nullptr) *event = new StreamId(0);
    *static_cast<StreamId*>(*event) = stream.id();
    note("record", stream.id());
  }
  void block(void* event, const Stream& stream) const override {
    note("block", *static_cast<StreamId*>(event) * 100 + stream.id());
  }
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void* event) const override { note("synchronize", *static_cast<StreamId*>(event)); }
  double elapsedTime(void*, void*, DeviceIndex) const override { return 2.5; }
  void destroyEvent(void* event, DeviceIndex) const noexcept override {
    note("destroy", *static_cast<StreamId*>(event));
    delete static_cast<StreamId*>(event);
  }
  static void note(const char* what, StreamId id) { g_log.calls.push_back(str(what, " ", id)); }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, LoggingGuardImpl);

Device device(int index) { return Device(kPrivateUse1, static_cast<DeviceIndex>(index)); }
Stream stream(int index, StreamId id) { return Stream(Stream::UNSAFE, device(index), id); }

TEST(DeviceNames, PrivateUse1IsRenamedOnce) {
  EXPECT_EQ(Device(kPrivateUse1, 1).str(), "privateuseone:1");
  EXPECT_FALSE(is_privateuse1_backend_registered());
  EXPECT_NE(message_of([] { register_privateuse1_backend("cuda"); }).find("another device type"), std::string::npos);
  EXPECT_NE(message_of([] { register_privateuse1_backend("a b"); }).find("letters and '_'"), std::string::npos);
  register_privateuse1_backend("shadow");
  register_privateuse1_backend("shadow");
  EXPECT_NE(message_of([] { register_privateuse1_backend("other"); }).find("has already been set! Current backend: shadow"),
            std::string::npos);
  EXPECT_TRUE(is_privateuse1_backend_registered());
  EXPECT_EQ(get_privateuse1_backend(), "shadow");
  EXPECT_EQ(DeviceTypeName(kPrivateUse1), "SHADOW");
  EXPECT_EQ(Device("shadow:3"), device(3));
  EXPECT_EQ(device(3).str(), "shadow:3");
  EXPECT_NE(message_of([] { Device("privateuseone"); }).find("hpu, mtia, shadow device type"), std::string::npos);
  EXPECT_EQ(Device("mtia:2"), Device(kMTIA, 2));
}

TEST(DeviceGuard, SetsAndRestores) {
  g_log = Log();
  {
    DeviceGuard guard(device(2));
    EXPECT_EQ(g_log.current, 2);
    EXPECT_EQ(guard.original_device(), device(0));
    guard.set_index(3);
    EXPECT_EQ(g_log.current, 3);
    EXPECT_EQ(guard.current_device(), device(3));
    EXPECT_ANY_THROW(guard.set_index(9));
    { EXPECT_EQ(DeviceGuard(Device(kPrivateUse1)).current_device(), device(3)); }  // no index: the current one
    guard.reset_device(Device(kCPU));  // another type: the first is restored
    EXPECT_EQ(g_log.current, 0);
    EXPECT_EQ(guard.current_device(), Device(kCPU));
  }
  EXPECT_EQ(g_log.current, 0);
}

TEST(DeviceGuard, OptionalGuardDoesNothingWithoutADevice) {
  g_log = Log();
  {
    OptionalDeviceGuard guard;
    EXPECT_EQ(guard.current_device(), std::nullopt);
    guard.reset_device(device(1));
    guard.reset_device(device(2));
    EXPECT_EQ(guard.original_device(), device(0));
    EXPECT_EQ(g_log.current, 2);
    OptionalDeviceGuard empty{std::optional<Device>()};
    EXPECT_EQ(empty.original_device(), std::nullopt);
  }
  EXPECT_EQ(g_log.current, 0);
}

TEST(DeviceGuard, ATypeWithoutABackendIsAnError) {
  EXPECT_EQ(message_of([] { DeviceGuard guard{Device(kXPU, 0)}; }).find("Kindling is not linked with support for xpu devices"), 0u);
  EXPECT_FALSE(impl::hasDeviceGuardImpl(kXPU));
  EXPECT_EQ(impl::getDeviceGuardImpl(kMeta)->deviceCount(), 1);
  DeviceGuard cpu{Device(kCPU)};
  EXPECT_EQ(cpu.current_device(), Device(kCPU));
}

TEST(Stream, IsAValue) {
  const Stream s = stream(1, 7);
  const StreamData3 packed = s.pack3();
  EXPECT_EQ(Stream::unpack3(packed.stream_id, packed.device_index, packed.device_type), s);
  EXPECT_EQ(Stream::unpack(s.pack()), s);
  EXPECT_EQ(Stream::unpack(stream(1, -3).pack()), stream(1, -3));
  EXPECT_NE(s.hash(), stream(2, 7).hash());
  EXPECT_NE(s, Stream(Stream::DEFAULT, device(1)));
  EXPECT_EQ(Stream(Stream::DEFAULT, device(1)).id(), 0);
  EXPECT_TRUE(Stream(Stream::DEFAULT, Device(kCPU)).query());
  Stream(Stream::DEFAULT, Device(kCPU)).synchronize();
  EXPECT_NE(message_of([&] { s.native_handle(); }).find("does not support native handles of streams"), std::string::npos);
  EXPECT_ANY_THROW(Stream::unpack3(0, 0, static_cast<DeviceType>(99)));
}

TEST(StreamGuard, SetsStreamAndDevice) {
  g_log = Log();
  {
    StreamGuard guard(stream(1, 5));
    EXPECT_EQ(g_log.current, 1);
    EXPECT_EQ(g_log.streams[1], 5);
    guard.reset_stream(stream(1, 6));
    EXPECT_EQ(g_log.streams[1], 6);
    guard.reset_stream(stream(3, 8));
    EXPECT_EQ(g_log.streams[1], 0);
    EXPECT_EQ(g_log.streams[3], 8);
    EXPECT_EQ(g_log.current, 3);
    EXPECT_EQ(guard.original_device(), device(0));
    EXPECT_EQ(guard.current_stream(), stream(3, 8));
    EXPECT_ANY_THROW(StreamGuard bad(stream(2, 100)));
    EXPECT_EQ(g_log.current, 3);
  }
  EXPECT_EQ(g_log.current, 0);
  EXPECT_EQ(g_log.streams[3], 0);
  OptionalStreamGuard optional;
  EXPECT_EQ(optional.current_stream(), std::nullopt);
  optional.reset_stream(stream(0, 4));
  EXPECT_EQ(g_log.streams[0], 4);
  optional.reset();
  EXPECT_EQ(g_log.streams[0], 0);
}

TEST(StreamGuard, SeveralDevicesAtOnce) {
  g_log = Log();
  {
    const Stream streams[] = {stream(0, 1), stream(2, 9)};
    MultiStreamGuard guard(streams);
    EXPECT_EQ(g_log.streams[0], 1);
    EXPECT_EQ(g_log.streams[2], 9);
    EXPECT_EQ(g_log.current, 0);
  }
  EXPECT_EQ(g_log.streams[2], 0);
  const Stream bad[] = {stream(0, 1), stream(2, 100)};
  EXPECT_ANY_THROW(MultiStreamGuard guard(bad));
  EXPECT_EQ(g_log.streams[0], 0);
  const Stream mixed[] = {stream(0, 1), Stream(Stream::DEFAULT, Device(kCPU))};
  EXPECT_ANY_THROW(MultiStreamGuard guard(mixed));
}

TEST(Event, RecordsBlocksAndIsDestroyed) {
  g_log = Log();
  {
    Event event(kPrivateUse1);
    EXPECT_TRUE(event.query());  // never recorded: happened
    event.block(stream(0, 1));
    EXPECT_TRUE(g_log.calls.empty());
    event.record(stream(0, 2));
    event.recordOnce(stream(0, 3));
    Event moved(std::move(event));
    stream(1, 4).wait(moved);
    moved.synchronize();
    EXPECT_TRUE(moved.was_marked_for_recording());
    EXPECT_EQ(moved.device(), device(0));
    EXPECT_NE(message_of([&] { moved.record(stream(1, 2)); }).find("cannot be recorded on a stream of shadow:1"), std::string::npos);
    EXPECT_ANY_THROW(moved.record(Stream(Stream::DEFAULT, Device(kCPU))));
  }
  EXPECT_EQ(g_log.calls, (std::vector<std::string>{"record 2", "block 204", "synchronize 2", "destroy 2"}));
}

TEST(Event, TakesTimesWhereAsked) {
  Event first(kPrivateUse1, EventFlag::BACKEND_DEFAULT), last(kPrivateUse1, EventFlag::BACKEND_DEFAULT), plain(kPrivateUse1);
  EXPECT_NE(message_of([&] { first.elapsedTime(last); }).find("must be recorded"), std::string::npos);
  first.record(stream(0, 0));
  last.record(stream(0, 0));
  plain.record(stream(0, 0));
  EXPECT_EQ(first.elapsedTime(last), 2.5);
  EXPECT_NE(message_of([&] { first.elapsedTime(plain); }).find("enable_timing=True"), std::string::npos);
}

}  // namespace
}  // namespace c10
