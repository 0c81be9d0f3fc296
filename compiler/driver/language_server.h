// A server of the Language Server Protocol 3.17 for Relay text
// (https://microsoft.github.io/language-server-protocol): an editor shows the problems of a text while it is written,
// lays it out, and tells the types of variables and what operators do.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/ir.h"

namespace dlcc::driver {

// The conversation with one editor. All texts come from the editor; no file is read.
class LanguageServer {
 public:
  // The messages that answer a message of the editor: the response to a request, and notifications. A message that is
  // no JSON, an unknown request and one without its parameters are answered by an error.
  std::vector<nlohmann::json> handle(std::string_view message);

  // Set when the editor has ended the conversation: 0 if it asked for the shutdown before, as it should, else 1.
  std::optional<int> exit_status() const { return exit_status_; }

 private:
  using Json = nlohmann::json;
  enum class State : uint8_t { created, running, shut_down };
  struct Document {
    std::string text;
    std::optional<relay::Module> module = {};  // typed; empty if the text has errors
  };

  Json result_of(const std::string& method, const Json& params);
  void take_notice(const std::string& method, const Json& params);
  Json initialize(const Json& params);
  Json format(const Document&) const;
  Json hover(const std::string& uri, const Document&, const Json& position) const;
  void open(const std::string& uri, std::string text, const Json& version);
  void close(const std::string& uri);
  void notify(const std::string& method, Json params);

  State state_ = State::created;
  bool counts_bytes_ = false;                  // positions count bytes of UTF-8, else units of UTF-16
  std::map<std::string, Document> documents_;  // the open ones, by URI
  std::vector<Json> answers_;                  // to the current message
  std::optional<int> exit_status_;
};

}  // namespace dlcc::driver
