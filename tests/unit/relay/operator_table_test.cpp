// The operators of TVM's Relay, as tables in DLCC_TEST_DATA/tables list them: each has a type with TVM's operands and
// attributes, or its name has a remedy.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "frontends/relay/remedies.h"
#include "relay/operator.h"

namespace dlcc {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// The rows of a table after its head. Only columns before one with commas are of interest, and the last one.
std::vector<std::vector<std::string>> rows_of(const fs::path& file) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  while (std::getline(stream, line)) rows.push_back(split(line + " ", ','));
  return rows;
}

bool has_type(const std::string& name) {
  const bool is_dynamic = name.starts_with("dyn.");
  const relay::Operator* op = relay::operators().find(is_dynamic ? name.substr(4) : name);
  return op && (!is_dynamic || !op->values.empty());
}

// TVM lists the axes of these operators as operands, too.
bool lists_attributes_as_operands(const std::string& name) {
  return name == "qnn.add" || name == "qnn.subtract" || name == "qnn.mul";
}

// The operands of TVM: a dyn.* operator has those that decide sizes as well, and at most a roi that dlcc does not read.
void check_operands(const std::string& name, size_t count) {
  const bool is_dynamic = name.starts_with("dyn.");
  const relay::Operator& op = *relay::op(is_dynamic ? name.substr(4) : name);
  const bool has_roi = name == "dyn.image.resize2d", is_slice = name == "dyn.strided_slice";
  const size_t read = count - (has_roi || is_slice ? 1 : 0) - (lists_attributes_as_operands(name) ? 2 : 0);
  const size_t least = op.arguments.size(), most = least + op.values.size();
  CHECK_MESSAGE((least <= read && read <= most),
                name << ": " << count << " operands, here " << least << " to " << most);
}

}  // namespace

TEST_CASE("TVM's operators have types, or remedies") {
  const fs::path folder = fs::path(DLCC_TEST_DATA) / "tables";
  if (std::string(DLCC_TEST_DATA).empty() || !fs::exists(folder)) {
    MESSAGE("skipped: DLCC_TEST_DATA names no folder with tables");
    return;
  }
  std::map<std::string, std::set<std::string>> fields;  // of the attribute structs
  for (const auto& row : rows_of(folder / "relay_attrs.csv")) fields[row.at(0)].insert(row.at(2));
  int typed = 0, refused = 0;
  for (const auto& row : rows_of(folder / "relay_ops.csv")) {
    const std::string& name = row.at(0);
    CAPTURE(name);
    if (!has_type(name)) {
      ++refused;
      CHECK(frontends::relay_text::remedy_for_operator_without_type(name));
      continue;
    }
    ++typed;
    check_operands(name, split(row.back(), ';').size() - (row.back() == " " ? 1 : 0));
    const relay::Operator& op = *relay::op(name.starts_with("dyn.") ? name.substr(4) : name);
    if (name == "qnn.simulated_quantize") continue;  // the table has the fields of a struct of the same name
    for (const std::string& field : fields[row.at(1)]) {
      const bool known = std::ranges::count(op.attributes, field, &relay::Operator::Attribute::name) > 0;
      CHECK_MESSAGE(known, name << " has no attribute " << field);
    }
  }
  MESSAGE("operators: " << typed << " have types, " << refused << " are refused");
  CHECK(typed > 260);
}

}  // namespace dlcc
