"""Build pages with the oldest dependencies allowed, or the newest: ``dependency_ends.py oldest``.

An environment of its own is made in a temporary folder, and the tests of what answers say run in it.
Oldest is the lower bound of each requirement in pyproject.toml, newest what the index has today,
without constraints. Exit status 1 where anything fails.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("explore", "formats", "test")
DEMO = "notebooks/runs/demo-sweep"
COMMANDS = (
    ("page", DEMO, "-f", "params/demo.yaml", "-o", "{out}/demo-sweep"),
    ("compare", f"{DEMO}-control", f"{DEMO}-once", "-o", "{out}/demo-sweep-once"),
    ("estimate", "params/milestones.yaml", "-f", "params/milestones-card.yaml", "-o", "{out}/milestones"),
    ("publish", "notebooks/tour.ipynb", "-o", "{out}/tour"),
    ("check", f"{DEMO}-control", f"{DEMO}-once", "--max-slowdown", "50%"),
    ("index", DEMO, "-o", "{out}/index"),
    ("site", "{out}"),
)
TESTS = ("tests/results/test_result.py", "tests/results/test_card.py", "tests/test_interface.py")


def oldest(project):
    """Return the lower bound of each requirement as a constraint.

    >>> oldest({"dependencies": ["numpy>=2.0"], "optional-dependencies": dict.fromkeys(EXTRAS, [])})
    ['numpy==2.0']
    """
    wanted = [*project["dependencies"], *(x for e in EXTRAS for x in project["optional-dependencies"][e])]
    return [re.sub(r"(\[.*\])?>=", "==", entry) for entry in wanted]


def main():
    """Make the environment, and run all in it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("end", choices=("oldest", "newest"))
    end = parser.parse_args().end
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command):
        print("$", *command, flush=True)
        subprocess.run(command, cwd=ROOT, env=environment, check=True)

    with tempfile.TemporaryDirectory(prefix="dependency-ends-") as folder:
        subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
        python, bounds = f"{folder}/venv/bin/python", Path(folder, "bounds.txt")
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        bounds.write_text("\n".join(oldest(project) if end == "oldest" else []), encoding="utf-8")
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, "-c", str(bounds), "-e", f".[{','.join(EXTRAS)}]")
        try:
            for command in COMMANDS:
                run(python, "-m", "traincost", *(part.format(out=folder) for part in command))
            # Warnings of other versions than the pinned ones are theirs.
            run(
                python,
                "-m",
                "pytest",
                "-q",
                "-n",
                "2",
                "-o",
                "filterwarnings=default",
                "-m",
                "not slow",
                *TESTS,
            )
        except subprocess.CalledProcessError as problem:
            sys.exit(f"with the {end} dependencies: {' '.join(problem.cmd)} ended with {problem.returncode}")


if __name__ == "__main__":
    main()
