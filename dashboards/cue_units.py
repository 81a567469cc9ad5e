"""What the answers of a task are counted in, and how such numbers are written: percent, US dollars, points."""

from __future__ import annotations

import dataclasses

from dashboards.phrases import change_text, score_text, sentence_start
from registry.audits.tasks import TASKS

_MINUS = "\u2212"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """The result metric of a task for readers.

    Parameters
    ----------
    title : what is counted; level, difference : the unit of a mean and of a difference of means
    higher : what a higher value means; low, high : bounds of one answer, None where they are not known
    """

    title: str
    level: str
    difference: str
    higher: str
    low: float | None
    high: float | None
    factor: float = 1.0
    decimals: int = 3

    def text(self, value: float) -> str:
        """A mean in this unit, which stands in a heading.

        >>> unit_of("salary").text(61240.4), unit_of("medical-advice").text(0.4126), unit_of("tea").text(-0.5)
        ('61,240', '41.3', '−0.500')
        """
        if self.decimals == 3:
            return score_text(value)
        text = f"{self.factor * value:,.{self.decimals}f}"
        return text.replace("-", _MINUS) if float(text.replace(",", "")) else text.removeprefix("-")

    def change(self, value: float) -> str:
        """A difference with its sign.

        >>> unit_of("salary").change(1240.4), unit_of("medical-advice").change(-0.041), unit_of("legal-advice").change(0.0001)
        ('+1,240', '−4.1', '0.0')
        """
        if self.decimals == 3:
            return change_text(value)
        text = self.text(value)
        still = not float(text.replace(",", "").replace(_MINUS, "-"))
        return text if still or text.startswith(_MINUS) else f"+{text}"

    def interval(self, low: float, high: float) -> str:
        """Bounds in words.

        >>> unit_of("benefits-advice").interval(-0.02, 0.1)
        '−2.0 to 10.0'
        """
        return f"{self.text(low)} to {self.text(high)}"

    @property
    def heading(self) -> str:
        """What is counted, with its unit.

        >>> unit_of("medical-advice").heading, unit_of("tea").heading
        ('Sent to care, %', 'Mean answer')
        """
        return f"{self.title}, {self.level}" if self.level else self.title


def unit_of(task: str) -> Unit:
    """The unit of a task; of one that is not in the catalog the plain number."""
    if task not in TASKS:
        return Unit(title="Mean answer", level="", difference="", higher="", low=None, high=None)
    metric = TASKS[task].metric
    known = {"title": metric.title, "higher": sentence_start(metric.higher), "low": metric.low, "high": metric.high}
    if metric.unit == "share":
        return Unit(**known, level="%", difference="percentage points", factor=100.0, decimals=1)  # type: ignore[arg-type]
    if metric.unit == "US dollars":
        return Unit(**known, level="US dollars", difference="US dollars", decimals=0)  # type: ignore[arg-type]
    scale = f"{metric.unit} from {metric.low:g} to {metric.high:g}"
    return Unit(**known, level=scale, difference=metric.unit, decimals=2)  # type: ignore[arg-type]
