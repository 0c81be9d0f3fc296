"""Checks a report's page and JSON: check_report.py PAGE.html REPORT.json [measured]

The page is well-formed, refers to nothing outside of it and has the data of REPORT.json; the data has the keys that
docs/REPORTS.md lists, with those of a measurement if one is expected, and agrees with itself.
"""
import html.parser
import json
import re
import sys

VOID = {"meta", "input", "link", "br"}

KEYS = {
    "": "format dlcc_version model provenance target totals operators dims inputs outputs estimate steps arena",
    "target": "name cpu_levels threads",
    "totals": "parameters macs weights_bytes weights_file_bytes code_bytes flash_bytes arena_bytes arena_align_bytes "
              "stack_bytes steps estimated_us",
    "estimate": "cpu_level cores clock_ghz flops_per_cycle_and_core gflops gigabytes_per_second",
    "dims": "name identifier low high multiple size",
    "inputs": "name identifier dtype shape bytes first_position last_position",
    "outputs": "name identifier dtype shape bytes first_position last_position",
    "steps": "step position node kernel remark macs flops bytes bytes_read bytes_written scratch_bytes reads writes "
             "estimated_us estimated_percent",
    "arena": "bytes live_bound_bytes positions peak_position peak_live_bytes buffers",
    "arena.buffers": "name dtype stored_shape scratch offset_bytes bytes first_position last_position in_place_of",
    "measured": "cpu date runs profiled_calls min_ms median_ms p95_ms p99_ms max_ms histogram peak_gflops "
                "bandwidth_gigabytes_per_second bandwidth_buffer_bytes steps_us gflops percent_of_floor",
    "steps.measured": "median_us min_us percent gflops gigabytes_per_second percent_of_floor",
}


class Page(html.parser.HTMLParser):
    """Collects the texts of the scripts, and fails on an element that does not end where it should."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.scripts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"these elements do not end: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> at {self.getpos()} inside of {self.open}"
        self.open.pop()

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += text


def check_keys(report, measured):
    for path, names in KEYS.items():
        if "measured" in path and not measured:
            continue
        nodes = [report]
        for part in path.split(".") if path else []:
            children = [node[part] for node in nodes if part in node]
            nodes = [item for child in children for item in (child if isinstance(child, list) else [child])]
        expected = set(names.split())
        for node in nodes:
            optional = {"measured"} if measured and path in ("", "steps") else set()
            assert set(node) - optional == expected, f"keys of '{path}': {set(node) ^ expected}"
    assert ("measured" in report) == measured


def check_consistency(report):
    totals, steps, arena = report["totals"], report["steps"], report["arena"]
    assert totals["steps"] == len(steps)
    assert totals["macs"] == sum(step["macs"] for step in steps)
    assert abs(100 - sum(step["estimated_percent"] for step in steps)) < 1e-6
    assert totals["arena_bytes"] == arena["bytes"]
    assert max(b["offset_bytes"] + b["bytes"] for b in arena["buffers"]) <= arena["bytes"]
    assert arena["live_bound_bytes"] <= arena["bytes"] and arena["peak_live_bytes"] <= arena["bytes"]
    assert totals["flash_bytes"] >= totals["code_bytes"] + totals["weights_bytes"] > 0
    assert totals["stack_bytes"] > 0


def main(page_path, json_path, measured=None):
    text = open(page_path, encoding="utf-8").read()
    page = Page(text)
    assert not [tag for tag, attributes in page.tags if tag in ("link", "img", "iframe") or "src" in attributes]
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text), "a reference to another file"
    report = json.loads(page.scripts[0])
    assert report == json.load(open(json_path, encoding="utf-8"))
    check_keys(report, measured is not None)
    check_consistency(report)


main(*sys.argv[1:])
