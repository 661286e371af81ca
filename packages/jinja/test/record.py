#!/usr/bin/python3
"""The oracle: what real Jinja2 makes of templates.

  record.py            re-records the expectations in cases/*.json
  record.py --live     answers JSON lines {"template", "args"} with {"text"} or {"error", "message"}

Uses SandboxedEnvironment with its defaults; extends, include and import find the templates
given as "templates" in the case.
"""
import json
import re
import sys
import warnings
from pathlib import Path

import jinja2
from jinja2.sandbox import SandboxedEnvironment

warnings.simplefilter("ignore")
HERE = Path(__file__).parent / "cases"
ADDRESS = re.compile(r"at 0x[0-9a-f]{6,}", re.I)


def answer(case, fixture):
    loader = jinja2.DictLoader(case["templates"]) if "templates" in case else None
    env = SandboxedEnvironment(loader=loader, autoescape=case.get("autoescape", False))
    args = case.get("args", fixture)
    try:
        text = env.from_string(case["template"]).render(json.loads(json.dumps(args)))
        return {"text": ADDRESS.sub("at 0x7f0000000000", text)}
    except Exception as error:
        return {"error": type(error).__name__}
    except RecursionError:
        return {"error": "RecursionError"}


def record():
    fixture = json.loads((HERE / "fixture.json").read_text())
    for path in sorted(HERE.glob("*.json")):
        if path.name == "fixture.json":
            continue
        cases = json.loads(path.read_text())
        for case in cases:
            case["expect"] = answer(case, fixture)
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
        path.write_text("[\n" + lines + "\n]\n")
        print(path.name, len(cases), file=sys.stderr)


def live():
    fixture = json.loads((HERE / "fixture.json").read_text())
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), fixture)), flush=True)


if __name__ == "__main__":
    live() if "--live" in sys.argv else record()
