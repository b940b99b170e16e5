#include "c10/cuda/allocator_config.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::string error_of(std::string_view text) {
  try {
    parse_allocator_settings(text);
  } catch (const c10::ValueError& error) {
    return error.msg();
  }
  return {};
}

TEST(AllocatorConfig, DefaultsAreThoseOfTheTable) {
  for (const char* text : {"", "  "}) {
    const AllocatorSettings settings = parse_allocator_settings(text);
    EXPECT_FALSE(settings.use_async_backend);
    EXPECT_EQ(settings.max_split_size, AllocatorSettings::kUnlimited);
    EXPECT_EQ(settings.max_non_split_rounding_size, 20 * kMiB);
    EXPECT_EQ(settings.divisions_for(5000), 0u);
    EXPECT_EQ(settings.garbage_collection_threshold, 0);
    EXPECT_EQ(settings.per_process_memory_fraction, 1);
    EXPECT_FALSE(settings.expandable_segments);
    EXPECT_FALSE(settings.release_lock_on_cudamalloc);
    EXPECT_FALSE(settings.pinned_use_cuda_host_register);
    EXPECT_FALSE(settings.pinned_use_background_threads);
    EXPECT_EQ(settings.pinned_num_register_threads, 1u);
    EXPECT_EQ(settings.pinned_reserve_segment_size, 0u);
  }
}

TEST(AllocatorConfig, EveryOptionIsRead) {
  const std::string text =
      "backend:cudaMallocAsync, max_split_size_mb:100 ,roundup_power2_divisions:[256:1, 512:2,1024:4,>:8],"
      "max_non_split_rounding_mb:30,garbage_collection_threshold:0.8,expandable_segments:True,"
      "release_lock_on_cudamalloc:True,per_process_memory_fraction:0.5,pinned_use_cuda_host_register:True,"
      "pinned_num_register_threads:8,pinned_use_background_threads:True,pinned_reserve_segment_size_mb:64,";
  const AllocatorSettings settings = parse_allocator_settings(text);
  EXPECT_EQ(settings.text, text);
  EXPECT_TRUE(settings.use_async_backend);
  EXPECT_EQ(settings.max_split_size, 100 * kMiB);
  EXPECT_EQ(settings.max_non_split_rounding_size, 30 * kMiB);
  EXPECT_EQ(settings.garbage_collection_threshold, 0.8);
  EXPECT_EQ(settings.per_process_memory_fraction, 0.5);
  EXPECT_TRUE(settings.expandable_segments);
  EXPECT_TRUE(settings.release_lock_on_cudamalloc);
  EXPECT_TRUE(settings.pinned_use_cuda_host_register);
  EXPECT_TRUE(settings.pinned_use_background_threads);
  EXPECT_EQ(settings.pinned_num_register_threads, 8u);
  EXPECT_EQ(settings.pinned_reserve_segment_size, 64 * kMiB);
  EXPECT_FALSE(parse_allocator_settings("expandable_segments:False").expandable_segments);
  EXPECT_FALSE(parse_allocator_settings("backend:native").use_async_backend);
}

TEST(AllocatorConfig, DivisionsGoByTheIntervalOfTheSize) {
  const AllocatorSettings list = parse_allocator_settings("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]");
  EXPECT_EQ(list.divisions_for(1), 1u);
  EXPECT_EQ(list.divisions_for(256 * kMiB - 1), 1u);
  EXPECT_EQ(list.divisions_for(256 * kMiB), 2u);
  EXPECT_EQ(list.divisions_for(511 * kMiB), 2u);
  EXPECT_EQ(list.divisions_for(513 * kMiB), 4u);
  EXPECT_EQ(list.divisions_for(1024 * kMiB), 8u);
  EXPECT_EQ(list.divisions_for(size_t{1} << 40), 8u);
  const AllocatorSettings one = parse_allocator_settings("roundup_power2_divisions:4");
  EXPECT_EQ(one.divisions_for(1), 4u);
  EXPECT_EQ(one.divisions_for(size_t{1} << 50), 4u);
  EXPECT_EQ(parse_allocator_settings("roundup_power2_divisions:[64:8]").divisions_for(65 * kMiB), 0u);
}

TEST(AllocatorConfig, SizesRoundUpToTheNextDivision) {
  EXPECT_EQ(roundup_to_power2_division(1200, 4), 1280u);
  for (const size_t size : {1024u, 1280u, 1536u, 1792u, 2048u}) EXPECT_EQ(roundup_to_power2_division(size, 4), size);
  EXPECT_EQ(roundup_to_power2_division(1793, 4), 2048u);
  EXPECT_EQ(roundup_to_power2_division(1200, 0), 1200u);
  EXPECT_EQ(roundup_to_power2_division(1200, 1), 1200u);
  EXPECT_EQ(roundup_to_power2_division(3, 8), 3u);
}

TEST(AllocatorConfig, WhatItDoesNotUnderstandIsAnErrorThatNamesTheOption) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c : {
           Case{"no_such_option:1", "unrecognized option 'no_such_option'"},
           {"expandable_segments", "expected <option>:<value>, got 'expandable_segments'"},
           {"expandable_segments:", "expandable_segments has no value"},
           {"expandable_segments:true", "expandable_segments must be True or False, got 'true'"},
           {"backend:magic", "backend must be native or cudaMallocAsync, got 'magic'"},
           {"max_split_size_mb:20", "max_split_size_mb must be more than 20, got '20'"},
           {"max_split_size_mb:-1", "max_split_size_mb must be a whole number, got '-1'"},
           {"max_split_size_mb:21x", "max_split_size_mb must be a whole number"},
           {"max_split_size_mb:18446744073709551615", "max_split_size_mb is too large"},
           {"max_split_size_mb:99999999999999999999", "max_split_size_mb must be a whole number"},
           {"garbage_collection_threshold:0", "garbage_collection_threshold must be greater than 0 and less than 1"},
           {"garbage_collection_threshold:1", "garbage_collection_threshold must be greater than 0 and less than 1"},
           {"garbage_collection_threshold:nan", "garbage_collection_threshold must be greater than 0"},
           {"garbage_collection_threshold:x", "garbage_collection_threshold must be a number"},
           {"per_process_memory_fraction:1.5", "per_process_memory_fraction must be between 0 and 1"},
           {"roundup_power2_divisions:3", "roundup_power2_divisions must be 0 or a power of two, got '3'"},
           {"roundup_power2_divisions:[256:1", "a '[' has no ']'"},
           {"roundup_power2_divisions:[256]", "must be a list of size:divisions"},
           {"roundup_power2_divisions:[]", "must be a list of size:divisions"},
           {"roundup_power2_divisions:[300:1]", "must have sizes that are powers of two"},
           {"roundup_power2_divisions:[512:1,256:2]", "must have its sizes in rising order, and '>' last"},
           {"roundup_power2_divisions:[>:1,256:2]", "must have its sizes in rising order, and '>' last"},
           {"roundup_power2_divisions:[256:5]", "must be 0 or a power of two"},
           {"roundup_power2_divisions:[256:1]x", "expected one list in brackets"},
           {"pinned_num_register_threads:3", "pinned_num_register_threads must be a power of two, at most 128"},
           {"pinned_num_register_threads:256", "pinned_num_register_threads must be a power of two, at most 128"},
           {"pinned_use_background_threads:1", "pinned_use_background_threads must be True or False"},
           {",", "expected <option>:<value>, got ''"},
       }) {
    EXPECT_NE(error_of(c.text).find(c.message), std::string::npos) << c.text << " -> " << error_of(c.text);
  }
}

// The first test that asks for the settings in force reads the environment, so all of it is one test.
TEST(AllocatorConfig, SettingsInForceComeFromTheEnvironmentAndCanBeReplaced) {
  ::setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64", 1);
  ::setenv("PYTORCH_ALLOC_CONF", "max_split_size_mb:oops", 1);
  EXPECT_THROW(allocator_settings(), c10::ValueError);
  ::setenv("PYTORCH_ALLOC_CONF", "max_split_size_mb:32", 1);
  EXPECT_EQ(CUDAAllocatorConfig::max_split_size(), 32 * kMiB);
  const AllocatorSettings& before = allocator_settings();
  EXPECT_THROW(setAllocatorSettings("max_split_size_mb:1"), c10::ValueError);
  EXPECT_THROW(setAllocatorSettings("backend:cudaMallocAsync"), c10::Error);
  EXPECT_EQ(CUDAAllocatorConfig::max_split_size(), 32 * kMiB);
  setAllocatorSettings("roundup_power2_divisions:[4:2,>:8]");
  EXPECT_EQ(CUDAAllocatorConfig::max_split_size(), AllocatorSettings::kUnlimited);
  EXPECT_EQ(before.max_split_size, 32 * kMiB);
  EXPECT_EQ(CUDAAllocatorConfig::last_allocator_settings(), "roundup_power2_divisions:[4:2,>:8]");
  const std::vector<size_t> divisions = CUDAAllocatorConfig::roundup_power2_divisions();
  ASSERT_EQ(divisions.size(), 16u);
  EXPECT_EQ(divisions[0], 2u);
  EXPECT_EQ(divisions[1], 2u);
  EXPECT_EQ(divisions[2], 8u);
  EXPECT_EQ(divisions[15], 8u);
}

}  // namespace
}  // namespace c10::cuda::CUDACachingAllocator
