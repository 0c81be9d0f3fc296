// Packing problems of real networks, from the folder DLCC_TEST_DATA: the CSV files of minimalloc (id, lower, upper,
// size in bytes; the capacity is part of the file's name) and Glow's traces of allocations. Every packing must be valid
// and need at most the capacity that is known to suffice.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "packing.h"

using namespace dlcc::lower;
namespace fs = std::filesystem;

namespace {

struct ProblemInstance {
  std::string name;
  std::vector<LiveBuffer> buffers;
  int64_t capacity = 0;
};

std::optional<fs::path> collection() {
  const char* folder = std::getenv("DLCC_TEST_DATA");
  if (folder && *folder && fs::is_directory(fs::path(folder) / "memplan")) return fs::path(folder) / "memplan";
  MESSAGE("skipped: DLCC_TEST_DATA names no folder with memplan/");
  return {};
}

ProblemInstance read_minimalloc(const fs::path& file) {
  ProblemInstance problem{file.filename().string(), {}, std::stoll(file.stem().extension().string().substr(1))};
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  REQUIRE(line == "id,lower,upper,size");
  while (std::getline(in, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream fields(line);
    std::string id;
    LiveBuffer b{};
    fields >> id >> b.lower >> b.upper >> b.size;
    REQUIRE(!fields.fail());
    problem.buffers.push_back(b);
  }
  return problem;
}

std::vector<ProblemInstance> read_glow(const fs::path& file) {
  std::vector<ProblemInstance> problems;
  std::map<int64_t, size_t> live;
  int64_t time = 0, alignment = 1;
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string key;
    fields >> key;
    if (key == "MODEL") {
      problems.emplace_back();
      fields >> problems.back().name;
      live.clear();
      time = 0;
    } else if (key == "ALIGN") {
      fields >> alignment;
    } else if (key == "ALLOC") {
      int64_t id = 0, size = 0;
      fields >> id >> size;
      live[id] = problems.back().buffers.size();
      problems.back().buffers.push_back({size, time++, -1, alignment});
    } else if (key == "FREE") {
      int64_t id = 0;
      fields >> id;
      problems.back().buffers[live.at(id)].upper = time++;
    } else if (key == "MEM") {
      fields >> problems.back().capacity;
    }
  }
  return problems;
}

}  // namespace

TEST_CASE("minimalloc's packing problems fit their known capacities") {
  const auto folder = collection();
  if (!folder) return;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(*folder / "minimalloc")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE(!files.empty());
  for (const fs::path& file : files) {
    const ProblemInstance problem = read_minimalloc(file);
    CAPTURE(problem.name);
    const Packing packing = pack_buffers(problem.buffers);
    CHECK(is_valid(problem.buffers, packing));
    CHECK(packing.bytes <= problem.capacity);
    std::printf("memplan %-20s %4zu buffers: %7lld of %7lld bytes (%.3f), live bound %lld\n", problem.name.c_str(),
                problem.buffers.size(), static_cast<long long>(packing.bytes), static_cast<long long>(problem.capacity),
                static_cast<double>(packing.bytes) / static_cast<double>(problem.capacity),
                static_cast<long long>(live_bound(problem.buffers)));
  }
}

TEST_CASE("Glow's allocation traces fit their known capacities") {
  const auto folder = collection();
  if (!folder) return;
  const std::vector<ProblemInstance> problems = read_glow(*folder / "glow" / "MemoryAllocatorTestModels.txt");
  REQUIRE(problems.size() > 10);
  int within = 0;
  for (const ProblemInstance& problem : problems) {
    CAPTURE(problem.name);
    const Packing packing = pack_buffers(problem.buffers);
    CHECK(is_valid(problem.buffers, packing));
    within += packing.bytes <= problem.capacity;
    if (packing.bytes > problem.capacity)
      std::printf("memplan %-36s %4zu buffers: %9lld of %9lld bytes, live bound %lld\n", problem.name.c_str(),
                  problem.buffers.size(), static_cast<long long>(packing.bytes),
                  static_cast<long long>(problem.capacity), static_cast<long long>(live_bound(problem.buffers)));
  }
  std::printf("memplan glow: %d of %zu traces within Glow's figure\n", within, problems.size());
  CHECK(within == static_cast<int>(problems.size()));
}
