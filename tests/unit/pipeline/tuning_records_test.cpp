// Files of tuning records are read as they were written, or refused with the source location of the defect.
#include "pipeline/tuning_records.h"

#include <doctest/doctest.h>

using namespace dlcc;

namespace {

TuningRecords example() {
  TuningRecords r;
  r.records[{"x86-64", "x86-64-v4", 0x0123456789abcdef}] = {
      "conv", {.winograd_tile_size = 2, .k_unroll = 8}, 0.001, 0.00125};
  r.records[{"aarch64", "generic", 5}] = {"dense", {}, 0.5, 0.5};
  return r;
}

std::string text_with(const std::string& from, const std::string& to) {
  std::string text = example().str();
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string complaint(const std::string& text) {
  Diagnostics d;
  CHECK_FALSE(parse_tuning_records(text, "r.json", d));
  CHECK(d.error_count() == 1);
  return d.str();
}

}  // namespace

TEST_CASE("tuning records are read as they were written") {
  Diagnostics d;
  auto read = parse_tuning_records(example().str(), "r.json", d);
  REQUIRE_MESSAGE(read, d.str());
  CHECK(read->str() == example().str());
  REQUIRE(read->records.size() == 2);
  const TuningRecord& conv = read->records.at({"x86-64", "x86-64-v4", 0x0123456789abcdef});
  CHECK(tensor::str(conv.config) == "winograd_tile_size 2, k_unroll 8");
  CHECK(conv.by_estimate == doctest::Approx(0.00125));
}

TEST_CASE("newer tuning records replace older ones; the order in the file is canonical") {
  TuningRecords newer, all = example();
  newer.records[{"x86-64", "x86-64-v4", 0x0123456789abcdef}] = {"conv", {.panel_width = 48}, 0.002, 0.003};
  newer.records[{"x86-64", "x86-64-v3", 7}] = {"pool", {}, 0.002, 0.003};
  all.add(newer);
  CHECK(all.records.size() == 3);
  CHECK(tensor::str(all.records.at({"x86-64", "x86-64-v4", 0x0123456789abcdef}).config) == "panel_width 48");
  TuningRecords other = newer, old = example();
  old.records.erase({"x86-64", "x86-64-v4", 0x0123456789abcdef});
  other.add(old);
  CHECK(all.str() == other.str());
}

TEST_CASE("tuning records of another version of dlcc are ignored") {
  Diagnostics d;
  auto read =
      parse_tuning_records(R"({"format": "dlcc tuning records", "dlcc": "0.0", "records": [{"new": 1}]})", "r.json", d);
  REQUIRE_MESSAGE(read, d.str());
  CHECK(read->dlcc == "0.0");
  CHECK(read->records.empty());
}

TEST_CASE("files that are not tuning records are refused with line and column") {
  const std::string help = "    help: 'dlcc MODEL -o OBJECT --tune --tuning-records FILE' writes such a file\n";
  CHECK(complaint("") == "r.json:1:1: error[tuning-records]: the file is not JSON\n" + help);
  CHECK(complaint("{\n \"format\": ]") == "r.json:2:12: error[tuning-records]: the file is not JSON\n" + help);
  std::string whole = example().str();
  CHECK(complaint(whole.substr(0, whole.size() / 2)).ends_with("the file is not JSON\n" + help));
  CHECK(complaint("[1e999]").ends_with("a number is too large\n"));
  CHECK(complaint(std::string(100000, '[')).ends_with("the file is not JSON\n" + help));
  CHECK(complaint("[]").ends_with("\"format\" is not \"dlcc tuning records\"\n"));
  CHECK(complaint("{}").ends_with("\"format\" is missing\n"));
  CHECK(complaint(text_with("\"records\"", "\"record\"")).ends_with("\"records\" is missing\n"));
  CHECK(complaint(text_with("{\n \"format\"", "{\n \"more\": 1,\n \"format\"")).ends_with("unknown field \"more\"\n"));
}

TEST_CASE("malformed tuning records are refused with their number") {
  CHECK(complaint(text_with("\"k_unroll\": 8", "\"k_unroll\": 7")) ==
        "r.json: record 2: error[tuning-records]: \"k_unroll\" is none of 2, 8, 16\n");
  CHECK(complaint(text_with("\"k_unroll\": 8", "\"k_unroll\": 8.5")).ends_with("is none of 2, 8, 16\n"));
  CHECK(complaint(text_with("\"k_unroll\": 8", "\"k_unroll\": \"8\"")).ends_with("is none of 2, 8, 16\n"));
  CHECK(complaint(text_with("\"k_unroll\": 8", "\"speed\": 8")).ends_with("there is no tuning parameter \"speed\"\n"));
  CHECK(complaint(text_with("\"config\": {}", "\"config\": null")).ends_with("\"config\" is not an object\n"));
  CHECK(complaint(text_with("0123456789abcdef", "0123456789abcde")).ends_with("16 hexadecimal digits\n"));
  CHECK(complaint(text_with("0123456789abcdef", "-123456789abcdef")).ends_with("16 hexadecimal digits\n"));
  CHECK(complaint(text_with("\"conv\"", "3")).ends_with("\"function\" is not a string\n"));
  CHECK(complaint(text_with("1.25", "-1")).ends_with("\"ms_by_estimate\" is not a non-negative number\n"));
  CHECK(complaint(text_with("\"cpu\": \"generic\",", "")).ends_with("\"cpu\" is missing\n"));
  std::string twice = example().str();
  size_t begin = twice.find("  {"), end = twice.find("  },") + 4;
  CHECK(
      complaint(twice.insert(begin, twice.substr(begin, end - begin) + "\n")).ends_with("the same request and CPU\n"));
}
