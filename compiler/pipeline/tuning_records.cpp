#include "pipeline/tuning_records.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "support/files.h"

namespace dlcc {
namespace {

using Json = nlohmann::ordered_json;
using tensor::TuningParameter;

constexpr const char* format = "dlcc tuning records";

Json json_of(const tensor::TuningConfig& config) {
  Json object = Json::object();
  for (const TuningParameter& p : tensor::tuning_parameters())
    if (auto value = config.*p.value) object[p.name] = *value;
  return object;
}

struct Malformed {  // thrown after a diagnostic; caught in parse_tuning_records
};

class Reader {
 public:
  Reader(const std::string& path, Diagnostics& diagnostics) : path_(path), diagnostics_(diagnostics) {}

  TuningRecords records_in(std::string_view text) {
    Json file = parse(text);
    if (!file.is_object() || string_in(file, "format") != format) fail(fmt::format("\"format\" is not \"{}\"", format));
    TuningRecords all;
    all.dlcc = string_in(file, "dlcc");
    const Json& list = field(file, "records");
    if (!list.is_array()) fail("\"records\" is not a list");
    if (all.dlcc != version) return all;
    expect_fields(file, {"format", "dlcc", "records"});
    for (const Json& item : list) {
      location_.node = fmt::format("record {}", ++number_);
      if (!all.records.insert(record(item)).second) fail("an earlier record has the same request and CPU");
    }
    return all;
  }

 private:
  [[noreturn]] void fail(std::string message, std::string help = "") {
    diagnostics_.error(DiagnosticId::tuning_records, location_, std::move(message), {}, std::move(help));
    throw Malformed();
  }

  Json parse(std::string_view text) {
    try {
      return Json::parse(text);
    } catch (const Json::parse_error& e) {
      std::string_view before = text.substr(0, std::min(e.byte > 0 ? e.byte - 1 : 0, text.size()));
      location_.line = static_cast<int>(std::ranges::count(before, '\n')) + 1;
      location_.column = static_cast<int>(before.size() - (before.rfind('\n') + 1)) + 1;
      fail("the file is not JSON", "'dlcc MODEL -o OBJECT --tune --tuning-records FILE' writes such a file");
    } catch (const Json::out_of_range&) {
      fail("a number is too large");
    }
  }

  std::pair<TuningKey, TuningRecord> record(const Json& item) {
    if (!item.is_object()) fail("a record is not an object");
    expect_fields(item, {"target", "cpu", "request", "function", "config", "ms", "ms_by_estimate"});
    return {{string_in(item, "target"), string_in(item, "cpu"), hash_in(item, "request")},
            {string_in(item, "function"), config_in(item), number_in(item, "ms") * 1e-3,
             number_in(item, "ms_by_estimate") * 1e-3}};
  }

  void expect_fields(const Json& object, const std::vector<std::string_view>& known) {
    for (const auto& [name, value] : object.items())
      if (!std::ranges::count(known, name)) fail(fmt::format("unknown field \"{}\"", name));
  }

  const Json& field(const Json& object, const char* name) {
    auto it = object.find(name);
    if (it == object.end()) fail(fmt::format("\"{}\" is missing", name));
    return *it;
  }

  std::string string_in(const Json& object, const char* name) {
    const Json& value = field(object, name);
    if (!value.is_string()) fail(fmt::format("\"{}\" is not a string", name));
    return value.get<std::string>();
  }

  double number_in(const Json& object, const char* name) {
    const Json& value = field(object, name);
    if (!value.is_number() || value.get<double>() < 0) fail(fmt::format("\"{}\" is not a non-negative number", name));
    return value.get<double>();
  }

  uint64_t hash_in(const Json& object, const char* name) {
    std::string text = string_in(object, name);
    uint64_t hash = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
    if (text.size() != 16 || error != std::errc() || end != text.data() + text.size())
      fail(fmt::format("\"{}\" is not a string of 16 hexadecimal digits", name));
    return hash;
  }

  tensor::TuningConfig config_in(const Json& object) {
    const Json& chosen = field(object, "config");
    if (!chosen.is_object()) fail("\"config\" is not an object");
    tensor::TuningConfig config;
    for (const auto& [name, value] : chosen.items()) {
      auto parameters = tensor::tuning_parameters();
      auto p = std::ranges::find(parameters, name, &TuningParameter::name);
      if (p == parameters.end()) fail(fmt::format("there is no tuning parameter \"{}\"", name));
      auto same = [&](int64_t admitted) { return value.is_number_integer() && value == admitted; };
      auto it = std::ranges::find_if(p->values, same);
      if (it == p->values.end()) fail(fmt::format("\"{}\" is none of {}", name, fmt::join(p->values, ", ")));
      config.*p->value = *it;
    }
    return config;
  }

  std::string path_;
  SourceLocation location_{.file = path_};
  Diagnostics& diagnostics_;
  int number_ = 0;
};

}  // namespace

void TuningRecords::add(const TuningRecords& newer) {
  for (const auto& [key, record] : newer.records) records.insert_or_assign(key, record);
}

std::string TuningRecords::str() const {
  Json list = Json::array();
  for (const auto& [key, record] : records)
    list.push_back({{"target", key.target},
                    {"cpu", key.cpu},
                    {"request", fmt::format("{:016x}", key.request)},
                    {"function", record.function},
                    {"config", json_of(record.config)},
                    {"ms", record.seconds * 1e3},
                    {"ms_by_estimate", record.by_estimate * 1e3}});
  return Json{{"format", format}, {"dlcc", dlcc}, {"records", std::move(list)}}.dump(1, ' ', false,
                                                                                     Json::error_handler_t::replace) +
         "\n";
}

std::optional<TuningRecords> parse_tuning_records(std::string_view text, const std::string& path,
                                                  Diagnostics& diagnostics) {
  try {
    return Reader(path, diagnostics).records_in(text);
  } catch (const Malformed&) {
    return std::nullopt;
  }
}

std::optional<TuningRecords> read_tuning_records(const std::string& path, Diagnostics& diagnostics) {
  auto bytes = read_file(path, diagnostics);
  if (!bytes) return std::nullopt;
  return parse_tuning_records({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, path, diagnostics);
}

}  // namespace dlcc
