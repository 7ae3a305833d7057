"""Hold what traincost makes of the cases against their expected.json.

    PYTHON tests/reading/check_cases.py [KIND ...] [--page] [--out FOLDER]

The reference's own ``check.py``, with today's API and in one process. What is expected otherwise than
in the files there stands in `CHANGED`, with the reason.
Verdicts: pass | incomplete (right runs and hours; settings, scores, status or a message missing) |
wrong (other runs or hours than there are, and counted) | refused (nothing is counted, and it says so).
"""

import argparse
import contextlib
import html
import io
import json
import os
import re
import tempfile

HERE = os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 3, "shared/reference/cases"))


CHANGED_STATUS = {
    # Neither file of a CSVLogger says that training came to its end.
    "lightning-csvlogger": "unknown",
}


def cli(*args):
    from traincost.__main__ import main as traincost

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status = traincost(list(map(str, args)))
        except SystemExit as ended:
            status = ended.code
    return status, said.getvalue()


def text_of(page):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<(style|script|svg).*?</\1>|<[^>]+>", " ", open(page, encoding="utf8").read(), flags=re.S)))

def collection(path, parameters):
    from traincost.reading.collection import read_collection
    from traincost.reading.formats.table import Table

    p = dict(parameters)
    if "|" in p.get("runtime_column", ""):
        p["runtime_column"] = "elapsed" if "duration_" in os.path.basename(path) else p["runtime_column"].split("|")[0]
    table = Table(**p) if p and os.path.isfile(path) else None
    return read_collection(path, require_runs=False, table=table)

def close(a, b, tol): return a is not None and b is not None and abs(a - b) <= max(tol, 1e-6 * abs(b))

def level(v):
    s = str(v).strip()
    if s.lower() in ("true", "false"): return s.lower()
    try: return repr(float(s))
    except ValueError: return s

def match(expected, rows):
    """Pair expected runs with found ones: by id or path, else by runtime."""
    left, pairs = list(rows), []
    for e in expected:
        hit = None
        for i in (str(x).strip("/") for x in [e["id"], *e.get("ids", [])]):
            hit = hit or next((r for r in left if i and (i == r["run_id"] or i == r["path"] or f"/{i}/" in "/" + r["path"] + "/" or f"-{i}/" in r["path"] + "/" or i == f"{r.get('task')}/{r['run_id']}")), None)
        i = str(e["id"])
        if re.fullmatch(r"row \d+", i):  # a row has no name of its own: the one with this time and these settings
            near = [r for r in left if close(r["runtime_s"], e["runtime_s"], e.get("tolerance_s", .01))]
            hit = max(near, key=lambda r: sum(level(r.get(f"config.{k}")) == level(v) for k, v in e["settings"].items()), default=None)
        if hit is not None: left.remove(hit)
        pairs.append((e, hit))
    return pairs, left

def one(kind, spec, item, page):
    path = os.path.join(HERE, kind, item); problems = []; facts = {}
    rc, said = cli("formats", path); facts["formats_rc"] = rc
    try:
        c = collection(path, spec["parameters"])
    except Exception as e:  # refused as a whole
        c = None; facts["refused"] = f"{type(e).__name__}: {str(e)[:240]}"; said += " " + str(e)
    if c is None: runs, gone = [], []
    else:
        runs = [{k: (None if v != v else v) for k, v in r.items()} for r in c.runs.to_dict("records")]
        gone = [{k: (None if v != v else v) for k, v in r.items()} for r in c.excluded.to_dict("records")]
        said += " ".join(c.notes["note"]) if len(c.notes) else ""
    want = spec["runs"]; pairs, strangers = match(want, runs)
    hours = sum(r["runtime_s"] for r in runs) / 3600; want_h = sum(r["runtime_s"] for r in want) / 3600; tol_h = sum(max(r.get("tolerance_s", .01), .01) for r in want) / 3600
    facts |= {"runs": f"{len(runs)} of {len(want)}", "hours": f"{hours:.2f} of {want_h:.2f}", "left_out": f"{len(gone)} of {len(spec['left_out'])}"}
    bad = len(runs) != len(want) or abs(hours - want_h) > tol_h + .02 * want_h
    for e, r in pairs:
        if r is None: continue
        if not close(r["runtime_s"], e["runtime_s"], e.get("tolerance_s", .01)): problems.append(f"runtime of {e['id']}: {r['runtime_s']} for {e['runtime_s']}")
        for k, v in e["settings"].items():
            col = next((x for x in (f"config.{k}", "config." + k.replace(".", "\\."), f"config.{k.split('.')[-1]}", *(x for x in r if x.startswith("config.") and x.endswith(f".{k}"))) if r.get(x) is not None), None)
            if col is None or level(r[col]) != level(v): problems.append(f"setting {k}" + ("" if col is None else f" is {r[col]!r}"))
        for k, v in e["scores"].items():
            col = next((x for x in (f"score.{k}", "score." + k.replace(".", "\\."), f"score.{k.split('.')[-1]}") if r.get(x) is not None), None)
            if col is None or (v is not None and not close(float(r[col]), v, 1e-6)): problems.append(f"score {k}")
        if e["sections"]:
            got = dict(zip(c.sections.loc[c.sections["run"] == runs.index(r), "section"], c.sections.loc[c.sections["run"] == runs.index(r), "seconds"]))
            problems += [f"section {k}" for k, (s, _) in e["sections"].items() if not any(x.split("/")[-1] == k and close(y, s, .03 * s + .01) for x, y in got.items())]
        if e.get("host") is not None and not re.fullmatch(r"host \d+", str(r.get("host"))):
            problems.append("host not shown")
        if e.get("gpu") is not None and r.get("device") != e["gpu"]:
            problems.append("gpu not shown")
        if e.get("devices") is not None and r.get("devices") != float(e["devices"]):
            problems.append("devices not shown")
    unmatched = [e["id"] for e, r in pairs if r is None]
    if unmatched and not bad: problems.append(f"{len(unmatched)} runs under other names")
    lo, _ = match([x for x in spec["left_out"]], gone)
    for e, r in lo:
        if r is None: problems.append(f"{e['status'].split(',')[0]} run not listed")
        elif e["status"].startswith("completed") and r["status"] not in ("completed", CHANGED_STATUS.get(kind)): problems.append(f"called {r['status']}")
        elif e["status"] in ("failed", "killed", "running", "pruned", "queued") and r["status"] != e["status"]: problems.append(f"status {r['status']} for {e['status']}")
    if page and runs:
        out = tempfile.mkdtemp(); p = spec["parameters"]; extra = []
        for k, v in p.items(): extra += ["-p", k, "elapsed" if "duration_" in item else v.split("|")[0]]
        prc, log = cli("page", path, "-o", out, *extra); facts["page_rc"] = prc
        shown = text_of(out + "/profiling.html") if os.path.exists(out + "/profiling.html") else ""
        if prc: problems.append(f"page ends with {prc}")
        problems += [f"page must say /{m}/" for m in spec.get("page_messages", []) if not re.search(m, shown, re.I)]
        problems += [f"page must not say /{m}/" for m in spec.get("page_must_not", []) if re.search(m, shown, re.I)]
    if os.path.exists(os.path.join(tempfile.gettempdir(), "traincost-executed-a-config")): problems.append("EXECUTED A CONFIG")
    problems += [f"must say /{m}/" for m in spec["messages"] if not re.search(m, said, re.I)]
    problems += [f"must not say /{m}/" for m in spec["must_not"] if re.search(m, said, re.I)]
    seen = {}
    for p in problems: seen[re.sub(r"of [\w./-]+:.*| is .*", "", p)] = seen.get(re.sub(r"of [\w./-]+:.*| is .*", "", p), 0) + 1
    facts["missing"] = [f"{k} (x{n})" if n > 1 else k for k, n in seen.items()]
    # A case without any run to count is refused by nature where nothing is counted.
    if not runs and want: verdict = "refused"
    elif bad: verdict = "wrong"
    elif problems: verdict = "incomplete"
    else: verdict = "pass"
    facts["said"] = re.sub(r"\s+", " ", said)[:400]
    return verdict, facts

def command(kind, spec, i, item):
    d = os.path.join(HERE, kind); args = [os.path.join(d, a) if a == "in" or a.startswith("in/") else a for a in item.split()]; out = tempfile.mkdtemp()
    if spec["command"] == "check": rc, said = cli("check", *args, "--max-slowdown", "5%")
    elif spec["command"] == "plan": rc, said = cli("plan", *args)
    else:
        rc, said = cli("estimate", *args, "-o", out)
        if os.path.exists(out + "/estimation.html"): said += " " + text_of(out + "/estimation.html")
    missing = []
    want = spec.get("exit_status", [0] * len(spec["inputs"]))[i]
    if str(rc) not in str(want).split(" or "): missing.append(f"exit status {rc} for {want}")
    if spec["command"] == "estimate" and "date" in (spec["runs"] or [{}])[0]:
        if "ambiguous" in item:
            if not re.search("ambiguous|day or month|order of day", said, re.I): missing.append("does not say that the dates are ambiguous")
        else:
            from traincost import systems
            try:
                got = systems_dates(args[0]); bad = [f"{r['id']}: {got.get(r['id'])} for {r['date']}" for r in spec["runs"] if str(got.get(r["id"]))[:10] != r["date"] and not ("month" in item and str(got.get(r["id"]))[:7] == r["date"][:7])]
                if bad: missing.append(f"{len(bad)} of {len(spec['runs'])} dates: " + "; ".join(bad[:3]))
            except Exception as e: missing.append(f"{type(e).__name__}: {e}"[:160])
    missing += [f"must say /{m}/" for m in spec["messages"] + spec.get("messages_by_input", {}).get(item, []) if not re.search(m, said, re.I)]
    crash = "a cell of the notebook failed" in said or "Traceback" in said
    return ("wrong" if crash or (missing and spec["command"] == "check") else "incomplete" if missing else "pass"), {"exit": rc, "missing": missing, "said": re.sub(r"\s+", " ", said)[:300]}

def systems_dates(path):
    from traincost import systems
    read = getattr(systems, "read_systems", None) or getattr(systems, "read")
    found = read(path); frame = getattr(found, "frame", None)
    if frame is None: frame = getattr(found, "systems", found[0] if isinstance(found, tuple) else found)
    name = next(x for x in ("name", "system", "id") if x in frame.columns)
    return dict(zip(frame[name], frame["date"].astype(str)))

def main():
    a = argparse.ArgumentParser(); a.add_argument("kinds", nargs="*"); a.add_argument("--page", action="store_true"); a.add_argument("--out", default=HERE); o = a.parse_args()
    results = {}
    for kind in o.kinds or sorted(x for x in os.listdir(HERE) if os.path.exists(os.path.join(HERE, x, "expected.json"))):
        spec = json.load(open(os.path.join(HERE, kind, "expected.json")))
        for i, item in enumerate(spec["inputs"]):
            v, f = one(kind, spec, item, o.page) if spec["command"] == "formats" else command(kind, spec, i, item)
            results.setdefault(kind, {})[item] = {"verdict": v, **f}
            print(f"{kind:26} {item[:46]:46} {v:10} {f.get('runs', '')} runs, {f.get('hours', '')} h, {f.get('left_out', '')} left out {'; '.join(f['missing'])[:200]} {f.get('refused', '')[:120]}", flush=True)
    json.dump(results, open(os.path.join(o.out, "results.json"), "w"), indent=1, ensure_ascii=False)

if __name__ == "__main__": main()
