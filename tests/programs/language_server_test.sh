#!/usr/bin/env bash
# dlcc lsp as an editor starts it: messages with headers on standard input and output, and how it ends.
# language_server_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
source "$(dirname "$0")/begin.sh"

message() {  # JSON
  printf 'Content-Length: %d\r\n\r\n%s' "${#1}" "$1"
}

serve() {  # STATUS: runs the server with the file in.txt
  local status=0
  timeout 60 "$dlcc" lsp --stdio --clientProcessId=1 <in.txt >out.txt 2>err.txt || status=$?
  [ $status = "$1" ] || fail "status $status instead of $1: $(cat err.txt)"
}

initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
open='{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a.rly","version":3,"text":"def @main() { nn.relux(1f) }\n"}}}'
shutdown='{"jsonrpc":"2.0","id":2,"method":"shutdown"}'
exit='{"jsonrpc":"2.0","method":"exit"}'

{ message "$initialize"; message "$open"; message "$shutdown"; message "$exit"; } >in.txt
serve 0
[ ! -s err.txt ] || fail "messages on standard error: $(cat err.txt)"
tr -d '\r' <out.txt | grep -c 'Content-Length: [0-9]*$' | grep -qx 3 || fail "not three messages: $(cat out.txt)"
grep -q '"code":"unsupported-operator".*"version":3' out.txt || fail "no diagnostics: $(cat out.txt)"
length=$(head -1 out.txt | tr -dc 0-9)
[ "$(head -c $((19 + ${#length} + length)) out.txt | tail -c 1)" = '}' ] || fail "the header's length is wrong: $(cat out.txt)"
echo "a conversation"

printf 'content-type: x\r\nCONTENT-LENGTH:%d\n\n%s' ${#exit} "$exit" >in.txt
serve 1  # without a shutdown
: >in.txt
serve 0
message "$initialize" >in.txt
serve 0
echo "the end of the input"

for bad in '{"jsonrpc":"2.0"}' '\n' 'Content-Length: many\r\n\r\n' 'Content-Length: 9\r\n\r\n{}' \
    'Content-Length: 99999999999999\r\n\r\n' 'Content-Length: 9'; do
  printf "$bad" >in.txt
  serve 1
  grep -q '^standard input: error\[cannot-read-file\]: ' err.txt || fail "'$bad': $(cat err.txt)"
done
echo "input of another kind"
