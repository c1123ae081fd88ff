# SPDX-License-Identifier: GPL-2.0-only
"""A table that a person reads, a JSON file, a picture."""
import json
import os

RESULTS = "/run/lab/results"
COUNTS = ("packets", "posts", "cqes", "events", "mmios", "commands", "SEND", "WRITE", "READ",
          "push", "payload")
COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#9d755d", "#e45756", "#72b7b2", "#bab0ac")


def line(row, system, r):
    """One line as soon as a row has been measured."""
    found = " or ".join(f"{m:.0f}" for m in r["modes"]) if len(r["modes"]) > 1 else ""
    print(f"  {row:20} {system:18} {r['iops']:8.0f} IOPS ({r['least']:.0f} to {r['most']:.0f}) "
          f"{r['mean_us']:9.1f} us mean {r['p99_us']:9.1f} us p99"
          + (f"  two modes: {found}" if found else ""), flush=True)


def table_rows(results):
    systems = list(dict.fromkeys(s for by in results["rows"].values() for s in by))
    wide = max(12, *(len(s) + 1 for s in systems))
    print(f"\nIOPS, the median of {results['rounds']} rounds\n{'':20}" +
          "".join(f"{s:>{wide}}" for s in systems))
    for row, by in results["rows"].items():
        print(f"{row:20}" + "".join(f"{by[s]['iops']:{wide}.0f}" if s in by else f"{'-':>{wide}}"
                                    for s in systems))


def table_counts(results):
    print(f"\nof each request, both sides together\n{'':20}{'':18}" +
          "".join(f"{c:>9}" for c in COUNTS))
    for row, by in results["counts"].items():
        for system, c in by.items():
            print(f"{row:20}{system:18}" +
                  "".join(f"{c[k]:9.2f}" if k in c else f"{'-':>9}" for k in COUNTS))


def table_aims(results):
    print(f"\n{'':20} {'':16} {'against':18} {'':8} {'reached':>8} {'median':>8} {'aim':>8}")
    for a in results["aims"]:
        aim = "-" if a["aim"] is None else ("<= " if a["most"] else ">= ") + f"{a['aim']:.2f}"
        short = "" if a["met"] else "  short"
        print(f"{a['row']:20} {a['system']:16} {a['against']:18} {a['field']:8} "
              f"{a['reached']:8.2f} {a['median']:8.2f} {aim:>8}{short}")
    print("reached: against the faster mode of the other side; median: against its median")


def aims(results, wanted):
    """Ratios: (row, system, against, field, bound), a negative bound is one from above."""
    found = []
    for row, system, against, field, bound in wanted:
        by = results["rows"].get(row, {})
        a, b = by.get(system), by.get(against)
        if not a or not b:
            continue
        # the faster mode of the other one, whatever is measured: it has more or takes less
        faster = b["faster"] if field == "iops" else b[field] * b["iops"] / max(1, b["faster"])
        ratio = a[field] / max(1e-9, faster)
        most = bound is not None and bound < 0
        limit = None if bound is None else abs(bound)
        found.append({"row": row, "system": system, "against": against, "field": field,
                      "reached": ratio, "median": a[field] / max(1e-9, b[field]), "aim": limit,
                      "most": most,
                      "met": limit is None or (ratio <= limit if most else ratio >= limit)})
    return found


def save(results, name):
    os.makedirs(RESULTS, exist_ok=True)
    with open(f"{RESULTS}/{name}.json", "w", encoding="ascii") as f:
        json.dump(results, f, indent=1)
    with open(f"{RESULTS}/{name}.svg", "w", encoding="ascii") as f:
        f.write(picture(results))


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def picture(results):
    """Bars of each row, relative to the fastest of it; the range of the rounds as a line."""
    systems = list(dict.fromkeys(s for by in results["rows"].values() for s in by))
    colour = {s: COLOURS[i % len(COLOURS)] for i, s in enumerate(systems)}
    y, out = 60 + 18 * ((len(systems) + 3) // 4), []
    for i, s in enumerate(systems):
        x, top = 20 + 210 * (i % 4), 48 + 18 * (i // 4)
        out.append(f'<rect x="{x}" y="{top - 10}" width="12" height="12" fill="{colour[s]}"/>'
                   f'<text x="{x + 18}" y="{top}">{escape(s)}</text>')
    for row, by in results["rows"].items():
        top = max(r["most"] for r in by.values()) or 1
        out.append(f'<text x="20" y="{y + 11}" font-weight="bold">{escape(row)}</text>')
        for s, r in by.items():
            bar, least, most = (560 * r[k] / top for k in ("iops", "least", "most"))
            out.append(f'<rect x="200" y="{y}" width="{bar:.1f}" height="12" fill="{colour[s]}"/>'
                       f'<line x1="{200 + least:.1f}" x2="{200 + most:.1f}" y1="{y + 6}" '
                       f'y2="{y + 6}" stroke="black"/>'
                       f'<text x="{206 + most:.1f}" y="{y + 10}">{r["iops"]:.0f}</text>')
            y += 15
        y += 9
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="860" height="{y + 20}" '
            f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" '
            f'fill="white"/><text x="20" y="24" font-size="15">{escape(results["title"])}</text>\n'
            + "\n".join(out) + "\n</svg>\n")
