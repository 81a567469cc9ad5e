"""``doctor``: is everything as it should be."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.commands.shared import Exit, HomeOption, JsonOption, home_of, print_json, print_text

_MARKS = {"ok": "ok     ", "warning": "warning", "failed": "FAILED "}


def doctor(
    within: Annotated[
        float, typer.Option("--within", min=1, max=600, help="Seconds in all; what takes longer counts as failed.")
    ] = 20.0,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> int:
    """Look whether everything is as it should be: versions, ledger, MLflow, Prefect, keys, endpoints, disk, clocks.

    No model is asked, and nothing is changed: one small file is put into the MLflow server's artifact store and removed again.
    Each line says what was found and, when it is not well, what to do.
    Exit code 0: all is well; 3: there are warnings; 2: something failed.

    Example: spiritlevel doctor --json
    """
    from flows.doctor import examined

    place = home_of(home)
    place.prepare_environment()
    examination = examined(place, patience_s=within)
    if as_json:
        findings = [
            {"check": one.check, "state": one.state, "said": one.said, "todo": one.todo} for one in examination.findings
        ]
        print_json({"state": examination.state, "home": str(place.path), "findings": findings})
    else:
        for one in examination.findings:
            print_text(f"{_MARKS[one.state]}  {one.check}: {one.said}")
            if one.todo and one.state != "ok":
                print_text(f"         -> {one.todo}")
    codes = {"ok": Exit.OK, "warning": Exit.INCONCLUSIVE, "failed": Exit.BAD_INPUT}
    return int(codes[examination.state])
