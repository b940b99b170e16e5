// Tensors in memory that several processes read and write.
//
//   torch::Tensor weights = torch::zeros({1000});
//   torch::multiprocessing::share_memory_(weights);
//   if (fork() == 0) { weights[0] = 1; _exit(0); }                          // the parent sees it
//
//   std::string name = torch::multiprocessing::share_by_name(weights);      // to any other process, as text
//   torch::Tensor same = torch::multiprocessing::open_by_name(name);        // there
//
// Shared memory has no file: the kernel frees it when the last process that holds it lets go or ends, SIGKILL included
// (aten/extension/shared_memory.h says how). Writes are not ordered between processes: who writes while others read
// needs a queue, a barrier or an atomic of its own.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "aten/core/tensor.h"
#include "c10/value/ivalue.h"

namespace torch::multiprocessing {

/// {"file_descriptor", "file_system"}.
std::set<std::string> get_all_sharing_strategies();
/// How tensors are shared that this process moves to shared memory from now on. "file_descriptor", the default: each
/// keeps a descriptor open, of which a process may have as many as `ulimit -n` says. "file_system": each has a name, of
/// which the system has kernel.shmmni. The name of that strategy is PyTorch's; no file system holds them here.
std::string get_sharing_strategy();
/// Throws c10::ValueError for another strategy.
void set_sharing_strategy(std::string_view strategy);

/// Moves the storage of `tensor` to shared memory, for all tensors over it, and returns `tensor`. Nothing happens where
/// it is there already, and for CUDA tensors. Throws c10::Error for tensors on other devices and without a storage.
at::Tensor& share_memory_(at::Tensor& tensor);
/// Whether the tensor's storage is in shared memory; true for CUDA tensors.
bool is_shared(const at::Tensor& tensor);

/// A name that other processes of this user, in the same IPC namespace, open the tensor by: its memory, dtype, sizes,
/// strides and whether it requires a gradient. Letters, digits and "_:,;" only. It is good as long as some process
/// holds the memory. The storage moves to named shared memory first. Throws c10::ValueError where the storage is shared
/// by descriptor, since processes that have it would not follow, and for what Queue::put() refuses.
///
///   share_by_name(torch::zeros({2, 3}))    // "kindling_0_9c0f...:6;0;2,3;3,1;0"
std::string share_by_name(const at::Tensor& tensor);
/// The tensor of a name. Throws c10::ValueError for what is no name, c10::Error where nobody holds the memory any more.
at::Tensor open_by_name(const std::string& name);

/// Sends a value with its tensors through a connected Unix socket, whose messages are whole (SOCK_SEQPACKET or
/// SOCK_DGRAM). Values are None, numbers, texts, devices, and lists, tuples and dicts of values; tensors are dense ones
/// on the CPU, and go to shared memory, where the receiver finds them: nothing is copied. Tensors over one storage come
/// out over one storage. Waits while the socket is full.
///
/// Throws c10::TypeError for other values, c10::NotImplementedError for other tensors, c10::Error for a tensor that
/// requires a gradient and is no leaf, c10::ValueError for more than 250 storages by descriptor and for tensors of two
/// dtypes over one storage, c10::Error with the system's reason where the socket refuses. Then nothing is sent.
void send(int socket, const c10::IValue& value);
/// What was sent. Waits for it. Throws c10::Error where the other end is closed, for a message that is not of send(),
/// and for one whose memory, shared by name, ended with its sender.
c10::IValue receive(int socket);
/// The same; none where there is no message yet.
std::optional<c10::IValue> try_receive(int socket);

/// A message that has not been received holds its memory, unless that is shared by name: then this process does. Waits,
/// `timeout` at most, until all such messages of this process have been received, and says whether they have. For
/// processes that send by name and end.
bool wait_until_received(std::chrono::milliseconds timeout);

}  // namespace torch::multiprocessing
