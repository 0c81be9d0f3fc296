#include "driver/language_server.h"

#include <algorithm>
#include <stdexcept>

#include "driver/hover.h"
#include "driver/text_positions.h"
#include "frontends/frontend.h"
#include "frontends/relay/format.h"
#include "support/version.h"

namespace dlcc::driver {

using Json = nlohmann::json;

namespace {

// Numbers of the protocol.
constexpr int no_json = -32700, invalid_request = -32600, unknown_method = -32601, invalid_params = -32602,
              internal_error_code = -32603, not_initialized = -32002;
constexpr int whole_texts = 1;  // each change of a document sends all of its text
constexpr int log_as_error = 1;

// An error response.
struct Refusal : std::runtime_error {
  Refusal(int code, const std::string& message) : std::runtime_error(message), code(code) {}
  int code;
};

Json error_response(const Json& id, int code, const std::string& message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
}

Json to_json(TextPositions::Position p) { return {{"line", p.line}, {"character", p.character}}; }

Json range(TextPositions::Position begin, TextPositions::Position end) {
  return {{"start", to_json(begin)}, {"end", to_json(end)}};
}

int severity_number(Severity s) { return s == Severity::error ? 1 : s == Severity::warning ? 2 : 3; }

Json to_json(const Diagnostic& d, const TextPositions& positions) {
  const SourceLocation& at = d.location;
  std::string message = d.message;
  for (const std::string& line : d.details) message += "\n" + line;
  if (!d.help.empty()) message += "\nhelp: " + d.help;
  return {{"range",
           range(positions.position(at.line, at.column), positions.position(at.line, std::max(at.end, at.column + 1)))},
          {"severity", severity_number(d.severity)},
          {"code", diagnostic_name(d.id)},
          {"source", "dlcc"},
          {"message", message}};
}

}  // namespace

std::vector<Json> LanguageServer::handle(std::string_view bytes) {
  answers_.clear();
  const Json message = Json::parse(bytes, nullptr, false);
  if (message.is_discarded()) return {error_response(nullptr, no_json, "the message is no JSON")};
  if (!message.is_object()) return {error_response(nullptr, invalid_request, "the message is no object")};
  const bool is_request = message.contains("id");
  const Json id = is_request ? message["id"] : Json();
  auto refuse = [&](int code, const std::string& why) {
    if (is_request)
      answers_ = {error_response(id, code, why)};
    else
      notify("window/logMessage", {{"type", log_as_error}, {"message", why}});
  };
  try {
    if (is_request && !message.contains("method")) return {};  // a response: the server has asked nothing
    const std::string method = message.at("method");
    const Json params = message.value("params", Json::object());
    if (is_request)
      answers_.push_back({{"jsonrpc", "2.0"}, {"id", id}, {"result", result_of(method, params)}});
    else
      take_notice(method, params);
  } catch (const Refusal& r) {
    refuse(r.code, r.what());
  } catch (const Json::exception& e) {
    refuse(invalid_params, std::string("the parameters are not those of the protocol: ") + e.what());
  } catch (const std::exception& e) {
    refuse(internal_error_code, std::string("internal error: ") + e.what());
  }
  return std::move(answers_);
}

Json LanguageServer::result_of(const std::string& method, const Json& params) {
  if (state_ == State::created && method != "initialize") throw Refusal(not_initialized, "'initialize' comes first");
  if (state_ == State::shut_down) throw Refusal(invalid_request, "no request may follow 'shutdown'");
  if (method == "initialize") return initialize(params);
  if (method == "shutdown") {
    state_ = State::shut_down;
    return nullptr;
  }
  const bool formats = method == "textDocument/formatting";
  if (!formats && method != "textDocument/hover") throw Refusal(unknown_method, "dlcc does not answer " + method);
  const std::string uri = params.at("textDocument").at("uri");
  const auto document = documents_.find(uri);
  if (document == documents_.end()) throw Refusal(invalid_params, "this document is not open: " + uri);
  return formats ? format(document->second) : hover(uri, document->second, params.at("position"));
}

void LanguageServer::take_notice(const std::string& method, const Json& params) {
  if (method == "exit") {
    exit_status_ = state_ == State::shut_down ? 0 : 1;
  } else if (state_ != State::running) {
    return;  // as the protocol demands
  } else if (method == "textDocument/didOpen") {
    const Json& document = params.at("textDocument");
    open(document.at("uri"), document.at("text"), document.at("version"));
  } else if (method == "textDocument/didChange") {
    const Json& document = params.at("textDocument");
    const Json& changes = params.at("contentChanges");
    if (!changes.empty()) open(document.at("uri"), changes.back().at("text"), document.at("version"));
  } else if (method == "textDocument/didClose") {
    close(params.at("textDocument").at("uri"));
  }
}

Json LanguageServer::initialize(const Json& params) {
  if (state_ != State::created) throw Refusal(invalid_request, "'initialize' comes once");
  const Json encodings = params.value("/capabilities/general/positionEncodings"_json_pointer, Json::array());
  counts_bytes_ = std::ranges::count(encodings, Json("utf-8")) > 0;
  state_ = State::running;
  return {{"capabilities",
           {{"positionEncoding", counts_bytes_ ? "utf-8" : "utf-16"},
            {"textDocumentSync", {{"openClose", true}, {"change", whole_texts}}},
            {"documentFormattingProvider", true},
            {"hoverProvider", true}}},
          {"serverInfo", {{"name", "dlcc"}, {"version", version}}}};
}

// Edits that lay a document out; null if it cannot be read.
Json LanguageServer::format(const Document& document) const {
  Diagnostics diagnostics;
  const auto formatted = frontends::format_relay(document.text, "", diagnostics);
  if (!formatted) return nullptr;
  if (*formatted == document.text) return Json::array();
  const TextPositions positions(document.text, counts_bytes_);
  return Json::array({{{"range", range({}, positions.end())}, {"newText", *formatted}}});
}

Json LanguageServer::hover(const std::string& uri, const Document& document, const Json& position) const {
  const size_t offset = TextPositions(document.text, counts_bytes_)
                            .offset({position.at("line").get<int64_t>(), position.at("character").get<int64_t>()});
  const std::string about = describe_word(document.text, offset, uri, document.module ? &*document.module : nullptr);
  if (about.empty()) return nullptr;
  return {{"contents", {{"kind", "plaintext"}, {"value", about}}}};
}

// A new text of a document: checks it and sends its problems.
void LanguageServer::open(const std::string& uri, std::string text, const Json& version) {
  Document& document = documents_[uri] = {std::move(text)};
  Diagnostics diagnostics;
  document.module = frontends::import_relay(document.text, {.file = uri}, diagnostics);
  const TextPositions positions(document.text, counts_bytes_);
  Json problems = Json::array();
  for (const Diagnostic& d : diagnostics.list()) problems.push_back(to_json(d, positions));
  notify("textDocument/publishDiagnostics", {{"uri", uri}, {"version", version}, {"diagnostics", problems}});
}

void LanguageServer::close(const std::string& uri) {
  documents_.erase(uri);
  notify("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}});
}

void LanguageServer::notify(const std::string& method, Json params) {
  answers_.push_back({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

}  // namespace dlcc::driver
