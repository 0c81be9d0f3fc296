#include "driver/commands.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace dlcc::driver {
namespace {

// The Levenshtein distance of two words (Wagner and Fischer, "The string-to-string correction problem", JACM 21, 1974).
// `row` is the current row of the table.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (char c : a) {
    size_t diagonal = row[0]++;
    for (size_t k = 1; k < row.size(); ++k)
      diagonal = std::exchange(row[k], std::min({diagonal + (c != b[k - 1]), row[k] + 1, row[k - 1] + 1}));
  }
  return row.back();
}

}  // namespace

std::span<const Command> commands() {
  static constexpr Command list[] = {
      {"check", "report all problems of a model, write nothing", check_command},
      {"inspect", "show inputs, outputs, kernels and memory", inspect_command},
      {"run", "compile in memory and run once", run_command},
      {"verify", "compare the outputs with expected ones", verify_command},
      {"bench", "measure the latency", bench_command},
      {"opt", "run some passes and print the module", opt_command},
      {"ops", "list the operators", ops_command},
      {"targets", "list the targets and their CPUs", targets_command},
  };
  return list;
}

const Command* similar_command(const std::string& word) {
  auto distance = [&](const Command& c) { return edit_distance(word, c.name); };
  auto nearest = std::ranges::min_element(commands(), {}, distance);
  const size_t allowed = std::string_view(nearest->name).size() > 4 ? 2 : 1;
  return distance(*nearest) <= allowed ? &*nearest : nullptr;
}

}  // namespace dlcc::driver
