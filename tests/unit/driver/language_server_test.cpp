// Conversations with the language server, and positions as its protocol counts them.
#include "driver/language_server.h"

#include <doctest/doctest.h>

#include "driver/text_positions.h"

using namespace dlcc::driver;
using Json = nlohmann::json;

namespace {

constexpr const char* uri = "file:///net.rly";

// An editor with one document.
class Editor {
 public:
  // With the encoding of positions that the editor prefers; "" for one that names none.
  explicit Editor(const std::string& encoding = "") {
    Json params = Json::object();
    if (!encoding.empty()) params["capabilities"]["general"]["positionEncodings"] = {encoding};
    capabilities = request("initialize", params).at("result").at("capabilities");
    notice("initialized", Json::object());
  }

  // The diagnostics of the text.
  Json open(const std::string& text) {
    return diagnostics(notice("textDocument/didOpen", {{"textDocument",
                                                        {{"uri", uri}, {"languageId", "relay"}, {"version", 1},
                                                         {"text", text}}}}));
  }
  Json change(const std::string& text) {
    return diagnostics(notice("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", 2}}},
                                                         {"contentChanges", {{{"text", text}}}}}));
  }

  // What the server shows at a position; "" for nothing.
  std::string hover(int line, int character) {
    const Json result = request("textDocument/hover", {{"textDocument", {{"uri", uri}}},
                                                       {"position", {{"line", line}, {"character", character}}}})
                            .at("result");
    return result.is_null() ? "" : result.at("contents").at("value").get<std::string>();
  }

  Json request(const std::string& method, const Json& params) {
    const std::vector<Json> answers =
        server.handle(Json({{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", method}, {"params", params}}).dump());
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].at("jsonrpc") == "2.0");
    CHECK(answers[0].at("id") == id_);
    return answers[0];
  }
  std::vector<Json> notice(const std::string& method, const Json& params) {
    return server.handle(Json({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}).dump());
  }

  LanguageServer server;
  Json capabilities;

 private:
  static Json diagnostics(const std::vector<Json>& answers) {
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].at("method") == "textDocument/publishDiagnostics");
    CHECK(answers[0].at("params").at("uri") == uri);
    return answers[0].at("params").at("diagnostics");
  }

  int id_ = 0;
};

Json range(int line, int begin, int end) {
  return {{"start", {{"line", line}, {"character", begin}}}, {"end", {{"line", line}, {"character", end}}}};
}

int error_code(const Json& response) { return response.at("error").at("code"); }

}  // namespace

TEST_CASE("an editor shows the problems of a text, and none after they are mended") {
  Editor editor;
  const Json problems = editor.open(
      "def @main(%x: Tensor[(2, 3), float32]) {\n"
      "  nn.relux(%x);\n"
      "  add(%x, %y)\n"
      "}\n");
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].at("range") == range(1, 2, 10));
  CHECK(problems[0].at("severity") == 1);
  CHECK(problems[0].at("code") == "unsupported-operator");
  CHECK(problems[0].at("source") == "dlcc");
  CHECK(problems[0].at("message").get<std::string>().find("\nhelp: did you mean 'nn.relu'?") != std::string::npos);
  CHECK(problems[1].at("range") == range(2, 10, 12));
  CHECK(editor.change("def @main(%x: Tensor[(2, 3), float32]) { add(%x, %x) }\n").empty());
}

TEST_CASE("details of a problem are lines of its message") {
  const Json problems = Editor().open("def @main(%x: Tensor[(2, 3), float32]) { nn.matmul(%x, %x) }\n");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].at("message").get<std::string>().find("\ntensor_a %x           Tensor[(2, 3), float32]\n") !=
        std::string::npos);
}

TEST_CASE("a closed document has no problems") {
  Editor editor;
  CHECK(editor.open("def @main( {").size() == 1);
  const std::vector<Json> answers = editor.notice("textDocument/didClose", {{"textDocument", {{"uri", uri}}}});
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].at("params").at("diagnostics").empty());
  CHECK(error_code(editor.request("textDocument/formatting", {{"textDocument", {{"uri", uri}}}})) == -32602);
}

TEST_CASE("positions are in UTF-16 unless the editor takes UTF-8") {
  // Two bytes and one unit, then four bytes and two units.
  const std::string text = "def @main() { /* \u00e4\U0001F600 */ %y }";
  Editor wide, narrow("utf-8");
  CHECK(wide.capabilities.at("positionEncoding") == "utf-16");
  CHECK(narrow.capabilities.at("positionEncoding") == "utf-8");
  CHECK(wide.open(text)[0].at("range") == range(0, 24, 26));
  CHECK(narrow.open(text)[0].at("range") == range(0, 27, 29));
}

TEST_CASE("a document is laid out by one edit, and by none if its layout is right") {
  Editor editor;
  const Json params = {{"textDocument", {{"uri", uri}}}, {"options", {{"tabSize", 4}}}};
  editor.open("def @main(%x:int32)->int32{%x+1}\n// the end");
  const Json edits = editor.request("textDocument/formatting", params).at("result");
  REQUIRE(edits.size() == 1);
  CHECK(edits[0].at("newText") == "def @main(%x: int32) -> int32 { %x + 1 }\n\n// the end\n");
  CHECK(edits[0].at("range").at("start") == Json({{"line", 0}, {"character", 0}}));
  CHECK(edits[0].at("range").at("end") == Json({{"line", 1}, {"character", 10}}));
  editor.change(edits[0].at("newText"));
  CHECK(editor.request("textDocument/formatting", params).at("result") == Json::array());
  editor.change("def @main(");
  CHECK(editor.request("textDocument/formatting", params).at("result").is_null());
}

TEST_CASE("an editor shows the types of variables and functions, and what an operator does") {
  Editor editor;
  CHECK(editor.open("def @id[A](%x: A) -> A { %x }\n"
                    "def @main(%x: Tensor[(2, 3), float32], %t: (int32, bool)) {\n"
                    "  %0 = nn.relu(add(%x, 1f));\n"
                    "  let %sum = sum(%0, axis=[1]); // %0 = 2\n"
                    "  %1 = @id(%sum) + %sum;\n"
                    "  (%1, %t.1, match (Some(3)) { Some(%k) => %k, None => 0 })\n"
                    "}\n")
            .empty());
  CHECK(editor.hover(0, 12) == "%x: A");
  CHECK(editor.hover(2, 20) == "%x: Tensor[(2, 3), float32]");
  CHECK(editor.hover(2, 3) == "%0: Tensor[(2, 3), float32]");
  CHECK(editor.hover(3, 18) == "%0: Tensor[(2, 3), float32]");
  CHECK(editor.hover(3, 8) == "%sum: Tensor[(2), float32]");
  CHECK(editor.hover(5, 4) == "%1: Tensor[(2), float32]");
  CHECK(editor.hover(5, 8) == "%t: (int32, bool)");
  CHECK(editor.hover(5, 43) == "%k: int32");
  CHECK(editor.hover(4, 9) == "@id: fn [A](A) -> A");
  CHECK(editor.hover(2, 8).starts_with("nn.relu(data)\n"));
  CHECK(editor.hover(3, 14).starts_with("sum("));
  CHECK(editor.hover(6, 0).empty());
  CHECK(editor.hover(100, 100).empty());
  editor.change("def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%y) }");
  CHECK(editor.hover(0, 11).empty());  // a text with errors has no types
  CHECK(editor.hover(0, 44).starts_with("nn.relu(data)\n"));
}

TEST_CASE("what is no message of the protocol is answered by an error") {
  LanguageServer fresh;
  CHECK(error_code(fresh.handle("{").at(0)) == -32700);
  CHECK(error_code(fresh.handle("[]").at(0)) == -32600);
  CHECK(error_code(fresh.handle(R"({"id": 1, "method": "textDocument/hover"})").at(0)) == -32002);
  CHECK(fresh.handle(R"({"method": "textDocument/didOpen", "params": {}})").empty());

  Editor editor;
  CHECK(error_code(editor.request("initialize", Json::object())) == -32600);
  CHECK(error_code(editor.request("textDocument/rename", Json::object())) == -32601);
  CHECK(error_code(editor.request("textDocument/hover", Json::object())) == -32602);
  CHECK(error_code(editor.server.handle(R"({"id": 9, "method": 3})").at(0)) == -32602);
  CHECK(editor.server.handle(R"({"id": 9, "result": null})").empty());
  const std::vector<Json> logged = editor.notice("textDocument/didOpen", {{"textDocument", 3}});
  REQUIRE(logged.size() == 1);
  CHECK(logged[0].at("method") == "window/logMessage");
}

TEST_CASE("the status tells whether the editor asked for the shutdown before the exit") {
  Editor good, bad;
  CHECK(good.request("shutdown", Json::object()).at("result").is_null());
  CHECK(error_code(good.request("textDocument/hover", Json::object())) == -32600);
  CHECK(!good.server.exit_status());
  good.notice("exit", Json::object()), bad.notice("exit", Json::object());
  CHECK(good.server.exit_status() == 0);
  CHECK(bad.server.exit_status() == 1);
}

TEST_CASE("positions behind the end of a line or text are that end") {
  using Position = TextPositions::Position;
  const TextPositions positions("ab\r\ncd", true), empty("", true), ends("a\n", true);
  CHECK(positions.position(1, 100) == Position{0, 2});
  CHECK(positions.position(3, 1) == Position{1, 2});
  CHECK(positions.position(0, 0) == Position{0, 0});
  CHECK(positions.offset({0, 100}) == 2);
  CHECK(positions.offset({1, 1}) == 5);
  CHECK(positions.offset({-1, 0}) == 0);
  CHECK(positions.offset({5, 0}) == 6);
  CHECK(empty.end() == Position{0, 0});
  CHECK(ends.end() == Position{1, 0});
}
