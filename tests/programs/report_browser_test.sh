#!/usr/bin/env bash
# The page of a report in headless Chromium: no script errors, nothing outside of the window, legible contrasts, marks
# that can be tapped and reached by keys, a sortable table; wide and narrow, light and dark, with and without a
# measurement, with hostile names. Skipped without Chromium.
# report_browser_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
dlcc=$(realpath "$1") source=$(realpath "$2") work=$3
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  { echo "there is no Chromium to open the pages in (Debian: apt-get install chromium)"; exit 77; }
rm -rf "$work"
mkdir -p "$work/profile"
work=$(realpath "$work")
cd "$work"
digits=$source/examples/digits/digits.onnx

# Writes the page with two more scripts: the first collects errors, the last one checks the page.
# with_checks PAGE WIDTH DARK
with_checks() {
  local first='<head><script>const pageErrors = []; onerror = (message) => { pageErrors.push(message); };</script>'
  local last="<script>const EXPECTED = {width: $2, dark: $3};"
  sed "s|<head>|$first|; \|</body>|d; \|</html>|d" "$1"
  printf '%s\n' "$last"
  cat "$source/tests/programs/report_checks.js"
  printf '</script>\n</body>\n</html>\n'
}

# check PAGE WIDTH light|dark: in a frame, as a window of Chromium is at least 500 pixels wide.
check() {
  local scheme=1 dark=false name="$1 $2 $3" result
  [ "$3" = light ] || scheme=0 dark=true
  with_checks "$1.html" "$2" "$dark" >checked.html
  cat >frame.html <<FRAME
<!doctype html>
<pre id="result"></pre>
<script>onmessage = (event) => { document.getElementById("result").textContent = event.data; };</script>
<iframe src="checked.html" style="border: 0; width: $2px; height: 900px"></iframe>
FRAME
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
    --blink-settings=preferredColorScheme=$scheme --window-size=1300,1000 --virtual-time-budget=5000 --dump-dom \
    "file://$work/frame.html" >dom.html 2>browser.txt || { cat browser.txt; echo "$name: the browser failed"; exit 1; }
  result=$(sed -n '/<pre id="result">/,/<\/pre>/p' dom.html)
  [[ $result == *'<pre id="result">all checks passed</pre>'* ]] || { echo "$name: ${result:-no result}"; exit 1; }
  echo "ok $name"
}

LC_ALL=C sed 's#probabilities#</script><b>x#g; s#conv1#<i>\&"#g' "$digits" >hostile.onnx
"$dlcc" hostile.onnx -o hostile.o --report hostile.html
"$dlcc" bench "$digits" --runs 20 --html measured.html >bench.txt
"$dlcc" "$source/tests/programs/layers.rly" -o layers.o --report layers.html
echo 'def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }' >no_arena.rly
"$dlcc" no_arena.rly -o no_arena.o --report no_arena.html
echo 'def @main(%x: Tensor[(4), float32]) { %x }' >no_kernel.rly
"$dlcc" bench no_kernel.rly --runs 20 --html no_kernel.html >bench.txt
for page in hostile measured layers no_arena no_kernel; do
  for width in 390 1200; do
    for scheme in light dark; do check $page $width $scheme; done
  done
done

# A page whose script fails must fail the check.
sed 's|^function showHead.*|&\n  noSuchFunction();|' layers.html >broken.html
if (check broken 1200 light) >/dev/null; then echo "an error of a script is not noticed"; exit 1; fi
